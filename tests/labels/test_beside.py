"""Times, durations and texts stay with the labels and items they belong to."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import Assay
from crowdassay.errors import DataError
from crowdassay.labels.files import read_labels
from crowdassay.labels.join import join_items, take_items


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
