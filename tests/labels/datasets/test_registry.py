"""The registry holds true facts: about itself, and about the real data where they are present."""

import csv
import json
import os
import re
from pathlib import Path

import pytest

from crowdassay.labels.datasets.registry import checksum, entries

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[4] / "shared" / "data"))
KNOWN = entries()


def test_the_datasets_of_the_paper_and_ten_more_can_be_fetched():
    ready = {name for name, entry in KNOWN.items() if entry.raw}
    assert {"bluebirds", "rte", "temp", "web_search"} <= ready
    assert len(ready) >= 14


@pytest.mark.parametrize("name", KNOWN)
def test_an_entry_is_whole(name):
    entry = KNOWN[name]
    assert entry.kind in {"binary", "multiclass", "ordinal"}
    assert (entry.kind == "binary") == (len(entry.classes) == 2)
    assert len(entry.class_names) in {0, len(entry.classes)}
    assert 0 < entry.truth_items <= entry.items <= entry.labels
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", entry.repository)
    assert entry.paper
    assert entry.licence
    if entry.raw:
        assert re.fullmatch(r"[0-9a-f]{40}", entry.raw.commit)
        assert re.fullmatch(r"[0-9a-f]{64}", entry.raw.labels_sha256)
        assert re.fullmatch(r"[0-9a-f]{64}", entry.raw.truth_sha256)
        assert len(entry.raw.label_edges) in {0, len(entry.classes) - 1}
        assert list(entry.raw.label_edges) == sorted(entry.raw.label_edges)


@pytest.mark.parametrize("name", KNOWN)
def test_facts_and_checksums_are_those_of_the_real_data(name):
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"the dataset {name} is not at hand: set CROWDASSAY_DATA to the folder that holds it")
    entry, meta = KNOWN[name], json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    for key in ("kind", "items", "workers", "labels", "truth_items", "source", "paper"):
        assert getattr(entry, key) == meta[key], key
    assert list(entry.classes) == [str(value) for value in meta["classes"]]
    assert entry.licence_note == meta["license_note"]
    if entry.raw:
        assert checksum(rows(folder / "labels.csv")) == entry.raw.labels_sha256
        assert checksum(rows(folder / "truth.csv")) == entry.raw.truth_sha256


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]
