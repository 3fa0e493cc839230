"""The public surface: small, sorted, quick to import, and free of extras."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from mkdocs_click._docs import make_command_docs

import crowdassay
from crowdassay.cli.main import COMMANDS, cli

CORE_ONLY = """
import sys
import crowdassay
heavy = {"numba", "duckdb", "pandas", "polars", "sklearn", "scipy", "pyarrow", "rich"} & set(sys.modules)
assert not heavy, heavy
"""


def test_names_are_sorted_and_load():
    assert crowdassay.__all__ == sorted(crowdassay.__all__)
    for name in crowdassay.__all__:
        assert getattr(crowdassay, name).__module__.startswith("crowdassay")
    assert set(crowdassay.__all__) <= set(dir(crowdassay))


def test_the_list_of_names_is_found_in_a_zip_file(tmp_path):
    package = Path(crowdassay.__file__).parent
    with ZipFile(tmp_path / "package.zip", "w") as zipped:
        for name in ("__init__.py", "__init__.pyi", "version.py", "errors.py", "read_options.py"):
            zipped.write(package / name, f"crowdassay/{name}")
    code = "import crowdassay; crowdassay.CrowdassayError; print('.zip' in crowdassay.__file__, len(crowdassay.__all__))"
    path = {**os.environ, "PYTHONPATH": str(tmp_path / "package.zip")}
    done = subprocess.run([sys.executable, "-c", code], check=True, env=path, capture_output=True, text=True)
    assert done.stdout.split() == ["True", str(len(crowdassay.__all__))]


def test_the_import_loads_nothing_heavy():
    subprocess.run([sys.executable, "-c", CORE_ONLY], check=True)


def test_help_loads_nothing_heavy():
    code = CORE_ONLY.replace("import crowdassay", "from crowdassay.cli.main import cli")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_command_loads_by_its_name_and_is_in_the_documentation():
    assert list(COMMANDS) == sorted(COMMANDS)
    for name in COMMANDS:
        assert cli.get_command(None, name).name == name
    assert cli.get_command(None, "nonsense") is None
    page = "\n".join(make_command_docs("crowdassay", cli, depth=1, style="plain"))
    assert all(f"crowdassay {name} [OPTIONS]" in page for name in COMMANDS)


def test_a_command_loads_only_its_own_module():
    code = """
import sys
from crowdassay.cli.main import run
from crowdassay.cli.running import Ending
run(sys.argv[1:], Ending())
loaded = {name.rpartition(".")[2] for name in sys.modules if name.startswith("crowdassay.cli.")}
assert loaded - {"main", "options", "outputs", "running", "start"} == {*sys.argv[1:2]} - {"--help"}, loaded
"""
    for arguments in (["--help"], ["simulate", "--help"]):
        subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL)


def test_an_unknown_name_is_an_attribute_error():
    try:
        crowdassay.nonsense  # noqa: B018
    except AttributeError as error:
        assert "nonsense" in str(error)  # noqa: PT017
    else:
        raise AssertionError("an unknown name was found")
