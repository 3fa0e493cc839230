"""Every command says and writes what it said and wrote before; a change is a diff of `expected/` that somebody reviews.

`CROWDASSAY_GOLDEN=write .venv/bin/python -m pytest tests/golden` writes the transcripts anew. Of real datasets only digests are
kept, because the data are not ours to copy.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import DATA
from support.golden_cases import CASES, DATASET_COMMANDS, DATASETS, copy_dataset, write_examples
from support.golden_transcript import transcript

EXPECTED = Path(__file__).with_name("expected")


def compare(name: str, text: str) -> None:
    """Compare a transcript with the one kept, or keep it."""
    path = EXPECTED / f"{name}.txt"
    if os.environ.get("CROWDASSAY_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_commands_on_the_examples(name, run, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    pytest.importorskip("jinja2")
    write_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    compare(name, transcript(run, tmp_path, CASES[name], set(tmp_path.iterdir()), digest_only=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_commands_on_a_dataset(name, run, tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    if not (DATA / name).is_dir():
        pytest.skip(f"the dataset {name} is not at hand: set CROWDASSAY_DATA to the folder that holds it")
    copy_dataset(DATA / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    compare(f"dataset-{name}", transcript(run, tmp_path, DATASET_COMMANDS, set(tmp_path.iterdir()), digest_only=True))
