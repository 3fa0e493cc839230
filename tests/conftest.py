"""The real data, where present."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from crowdassay.labels.labels import Labels

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def pytest_configure() -> None:
    """Restore Ctrl-C for the processes that tests start: they inherit that a shell in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def real() -> Callable[[str], tuple[Labels, np.ndarray]]:
    """Return a loader of real data: labels and truth codes; skips where the data are missing."""

    from crowdassay.labels.files import read_labels
    from crowdassay.labels.truth import match_truth

    def load(name: str) -> tuple[Labels, np.ndarray]:
        folder = DATA / name
        if not folder.is_dir():
            pytest.skip(f"the dataset {name} is not at hand: set CROWDASSAY_DATA to the folder that holds it")
        labels = read_labels(folder / "labels.csv")
        return labels, match_truth(labels, folder / "truth.csv", what="truth")[0]

    return load


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Debian's Chromium without a window; skips where it, or what drives it, is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as running:
        window = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield window
        window.close()


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The URL of a PostgreSQL server, one for all tests; skips where the wheel that brings one is missing."""
    from support.databases import postgres

    with postgres() as url:
        yield url


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line; return the exit code, standard output and standard error."""
    from crowdassay.cli.main import main

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call
