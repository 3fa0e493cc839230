"""Times, durations and texts stay with the labels and items they belong to."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import Assay
from crowdassay.errors import DataError
from crowdassay.labels.files import read_labels
from crowdassay.labels.ingest import spool_files
from crowdassay.labels.join import join_items, take_items
from crowdassay.read_options import ReadOptions
from support.exports import rows_of


@pytest.fixture
def timed(tmp_path):
    rows = [f"i{n % 4},w{n % 3},{'xy'[n % 2]},{100 + n},{n / 2},text {n % 4}" for n in range(12)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["item,worker,label,timestamp,duration,shows", *rows]))
    return read_labels(path, text_column="shows")


def test_items_are_taken_and_put_together_with_what_goes_with_them(timed):
    assert timed.time.tolist() == [100, 104, 108, 101, 105, 109, 102, 106, 110, 103, 107, 111]
    two = take_items(timed, np.array([3, 1]))
    assert two.time.tolist() == [103, 107, 111, 101, 105, 109]
    assert two.duration.tolist() == [1.5, 3.5, 5.5, 0.5, 2.5, 4.5]
    assert two.item_text.to_pylist() == ["text 3", "text 1"]
    both = join_items([two, take_items(timed, np.array([0]))])
    assert (both.time.tolist()[-3:], both.item_text.to_pylist()[-1]) == ([100, 104, 108], "text 0")
    assert join_items([two, replace(two, time=None)]).time is None
    parts = [take_items(timed, np.array([row]), named=False) for row in (0, 2)]
    assert join_items(parts).time.tolist() == [100, 104, 108, 102, 106, 110]


def test_lengths_are_checked(timed):
    for name, wrong in (("time", np.zeros(3)), ("duration", np.zeros(3)), ("item_text", pa.array(["x"]))):
        with pytest.raises(DataError, match="one for each"):
            replace(timed, **{name: wrong})


def test_the_default_is_fitted_to_labels_with_times(timed):
    assert Assay().fit(timed).result_.labels.time is not None


@pytest.mark.parametrize("zone", [" UTC", " GMT", "UTC"])
def test_times_whose_zone_is_a_word_are_read_alike_on_every_engine(tmp_path, zone):
    path = tmp_path / "a.csv"
    rows = [f"i1,ann,x,2017-09-22 15:59:18{zone}", f"i1,ann,y,2017-09-21 19:43:04{zone}", f"i1,bob,x,2017-09-22 15:59:19{zone}"]
    path.write_text("\n".join(["item,worker,label,created_at", *rows]) + "\n")
    labels = read_labels(path)
    assert sorted(labels.time.tolist()) == [1506022984, 1506095958, 1506095959]
    assert not any("could not be read" in note for note in labels.report.notes)
    options = ReadOptions(repeats="last", time_column="created_at")
    assert rows_of(read_labels(path, repeats="last")) == [("i1", "ann", "x"), ("i1", "bob", "x")]
    (tmp_path / "spool").mkdir()
    assert spool_files([path], tmp_path / "spool", options, memory=10**9, threads=1).n_labels == 2
    path.write_text(path.read_text().replace(f"15:59:19{zone}", "15:59:19"))
    for read in (
        lambda: read_labels(path, repeats="last"),
        lambda: spool_files([path], tmp_path / "spool", options, memory=10**9, threads=1),
    ):
        with pytest.raises(DataError, match="have a time zone and some have none"):
            read()
