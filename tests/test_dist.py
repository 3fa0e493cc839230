"""What is uploaded at a release works where nothing else of the project is."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from crowdassay import __version__

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, **options)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """An environment with nothing in it but the wheel; what it depends on is borrowed from the one that runs the tests."""
    place = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", place)
    [wheel] = built.glob("*.whl")
    python = place / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    home = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())
    (home / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place


def clean():
    """Nothing of this environment; kernels run as the Python they are written in, as compiling all of them takes a minute."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "NUMBA_DISABLE_JIT": "1"}


def test_the_wheel_holds_the_package_and_nothing_else(built):
    [wheel] = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"crowdassay", f"crowdassay-{__version__}.dist-info"}
    assert {"report.html", "py.typed", "registry.json", "constants.json", "001.sql", "page.html"} <= {
        name.rpartition("/")[2] for name in names
    }


def test_the_archive_holds_what_it_takes_to_test_and_build(built):
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        names = {name.split("/", 1)[1] for name in held.getnames() if "/" in name}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "examples/labels.csv"} <= names
    assert "tests/test_dist.py" in names
    assert not any(name.startswith((".venv", "results", "dist")) for name in names)


def test_the_demo_runs_from_the_wheel(installed, tmp_path):
    command = installed / "bin" / "crowdassay"
    place = run(installed / "bin" / "python", "-c", "import crowdassay; print(crowdassay.__file__)", env=clean(), cwd=tmp_path)
    assert Path(place.stdout.strip()).is_relative_to(installed)
    run(command, "simulate", "--story", "reviews", "--out", "reviews", env=clean(), cwd=tmp_path)
    options = ("--truth", "reviews/truth.csv", "--out", "results", "--report", "results/report.html")
    said = run(command, "aggregate", "reviews/labels.csv", *options, env=clean(), cwd=tmp_path)
    assert "Against the truth of 480 items" in said.stdout
    assert "<h1>" in (tmp_path / "results" / "report.html").read_text()


def test_version_changes_and_citation_agree():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == __version__
    assert cited["license"] == "Apache-2.0"
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
