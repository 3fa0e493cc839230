"""The notebooks run, show what they have stored, and the pages of the documentation are made from them."""

import ast
import contextlib
import io
import runpy
import shutil
import subprocess
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from IPython.lib.pretty import pretty

from crowdassay.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PATHS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def run_cell(source, names):
    """Run a cell in this process, which has everything loaded, and return what it prints and what its last line is."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    return printed.getvalue(), None if value is None else pretty(value)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A copy of the examples, in which the command runs in this process."""

    def in_process(arguments, **_):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main(arguments[1:])
        return subprocess.CompletedProcess(arguments, stopped.value.code, out.getvalue(), err.getvalue())

    monkeypatch.setattr(subprocess, "run", in_process)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples" / "notebooks")
    with pd.option_context(
        "display.max_colwidth", 50, "display.width", 80, "display.max_columns", 20
    ):  # notebooks set their own
        yield


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_a_notebook_shows_what_it_has_stored(path, place):
    notebook, names = nbformat.read(path, as_version=4), {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        printed, shown = run_cell(cell.source, names)
        stored = "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")
        assert printed == stored, cell.source
        results = [output.data["text/plain"] for output in cell.outputs if output.output_type == "execute_result"]
        assert results == ([] if shown is None else [shown]), cell.source
        assert not [output for output in cell.outputs if output.output_type == "error" or output.get("name") == "stderr"]


@pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])
def test_its_page_is_made_from_it(path):
    made = runpy.run_path(str(ROOT / "docs" / "notebooks.py"))
    page = (ROOT / "docs" / "notebooks" / f"{path.stem}.md").read_text(encoding="utf-8")
    assert page == made["page"](nbformat.read(path, as_version=4), path.name), "run: make notebooks"


def test_there_is_one_for_each_of_four_people():
    assert [path.stem for path in PATHS] == ["data_scientist", "manager_of_annotators", "model_judges", "platform_engineer"]
