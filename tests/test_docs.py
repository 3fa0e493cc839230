"""Documentation cannot drift: its code runs, its lists are complete."""

import re
import runpy
import shutil
from pathlib import Path

import pytest

from conftest import DATA
from crowdassay.cli.main import main
from crowdassay.estimators.methods import METHODS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def cases(language):
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page, language))
    ]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("CROWDASSAY_DATA", str(DATA))
    return tmp_path


@pytest.mark.parametrize("block", cases("python"))
def test_python_runs(block, workplace, capsys):
    if "load_dataset(" in block and not DATA.is_dir():
        pytest.skip("the data are not at hand: set CROWDASSAY_DATA to the folder that holds them")
    exec(compile(block, "documentation", "exec"), {})
    expected = [line[2:] for line in block.splitlines() if line.startswith("# ") and line[2:3] in "[('0123456789-"]
    assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.parametrize("block", cases("console"))
def test_commands_print_what_they_are_said_to(block, workplace, capsys):
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, *expected = part.rstrip().splitlines()
        if command.split()[0] == "make":
            assert re.search(rf"^{command.split()[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
            continue
        assert command.split()[0] == "crowdassay"
        with pytest.raises(SystemExit) as stopped:
            main(command.split()[1:])
        printed = capsys.readouterr()
        assert not stopped.value.code, printed.err
        pattern = ".*".join(re.escape(piece) for piece in "\n".join(expected).split("..."))
        if expected:
            assert re.fullmatch(pattern, printed.out.rstrip(), flags=re.S), printed.out


def test_the_example_is_what_its_command_makes(tmp_path):
    command = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    arguments = re.search(r"crowdassay (simulate .*?)`", command, flags=re.S).group(1).split()
    arguments[arguments.index("--out") + 1] = str(tmp_path)
    with pytest.raises(SystemExit):
        main(arguments)
    for name in ("labels.csv", "truth.csv"):
        assert (tmp_path / name).read_bytes() == (ROOT / "examples" / name).read_bytes()


def test_the_architecture_page_has_a_bullet_for_every_file():
    files = runpy.run_path(str(ROOT / "docs" / "files.py"))
    assert files["PAGE"].read_text(encoding="utf-8") == files["page"](), "run: python docs/files.py"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name):
    text = (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")
    assert f"`--method {name}`" in text
    assert "$$" in text
    assert f"methods/{name}.md" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
