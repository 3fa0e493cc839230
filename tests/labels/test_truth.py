from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.encode import encode
from crowdassay.labels.truth import match_truth


def labels_of(items=("1", "2", "3"), classes=("no", "yes"), values=None):
    column = pa.array([(values or classes)[n % len(values or classes)] for n in range(len(items))])
    return encode(pa.array(list(items)), pa.array(["w"] * len(items)), column, classes=classes)


TRUTH = {"2": "yes", "9": "no"}
EXPECTED = [-1, 1, -1], {"items": 1, "unknown_items": 1}


@pytest.mark.parametrize(
    "truth",
    [
        TRUTH,
        {2: "yes", 9: "no"},
        {2: "yes", "9": "no", "x": None, None: "no"},
        pd.Series({2: "yes", 9: "no"}),
        pd.DataFrame({"item": [2, 9, 2], "truth": ["yes", "no", "yes"]}),
        pd.DataFrame({"item": [2.0, 9.0, np.nan], "truth": ["yes", "no", "yes"]}),
        pl.DataFrame({"task": ["2", "9"], "gold": ["yes", "no"]}),
        pl.LazyFrame({"task": ["2", "9"], "gold": ["yes", "no"]}),
        pa.table({"item": ["2", "9"], "label": ["yes", "no"]}),
    ],
)
def test_every_kind_of_truth(truth):
    codes, counts = match_truth(labels_of(), truth)
    assert codes.dtype == np.int32
    assert (codes.tolist(), counts) == EXPECTED


def test_files(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("question,truth\n2,yes\n9,no\n")
    for truth in (path, str(path)):
        codes, counts = match_truth(labels_of([1, 2, 3]), truth)
        assert (codes.tolist(), counts) == EXPECTED


@pytest.mark.parametrize(
    ("classes", "known", "code"),
    [
        (["1", "2"], 2, 1),
        (["1", "2"], "2.0", 1),
        (["1", "2"], 2.0, 1),
        ([1, 2], "2", 1),
        ([False, True], "True", 1),
        (["False", "True"], True, 1),
    ],
)
def test_labels_are_compared_as_text_and_as_numbers(classes, known, code):
    labels = encode(pa.array(["a", "b"]), pa.array(["w", "w"]), pa.array(classes))
    assert match_truth(labels, {"b": known})[0].tolist() == [-1, code]


def test_codes_with_leading_zeros_are_not_numbers():
    labels = labels_of(classes=("01", "02"))
    with pytest.raises(DataError, match="the label '1'"):
        match_truth(labels, {"1": "1"})


def test_conflicts_name_the_item_and_both_labels():
    truth = pa.table({"item": ["2", "7", "2"], "label": ["yes", "no", "no"]})
    with pytest.raises(DataError, match=r"The gold gives item '2' different labels \('yes', 'no'\); keep one"):
        match_truth(labels_of(), truth, what="gold")
    unlabelled = pa.table({"item": ["2", "7", "7"], "label": ["yes", "red", "blue"]})
    with pytest.raises(DataError, match=r"item '7' different labels \('red', 'blue'\)"):
        match_truth(labels_of(), unlabelled)


def test_the_same_label_written_twice_is_no_conflict():
    labels = labels_of(classes=("1", "2"))
    assert match_truth(labels, pa.table({"item": ["3", "3"], "label": ["2", "2.0"]}))[0].tolist() == [-1, -1, 1]


def test_a_label_that_is_no_class():
    with pytest.raises(DataError, match=r"item '1' the label 'maybe'.*\('no', 'yes'\).*`classes`"):
        match_truth(labels_of(), {"2": "no", "1": "maybe"})
    assert match_truth(labels_of(), {"2": "no", "9": "maybe"})[1] == {"items": 1, "unknown_items": 1}


def test_no_item_in_common():
    with pytest.raises(DataError, match=r"None of the 2 truth items appears.*'x1'.*'1'.*written the same way\?"):
        match_truth(labels_of(), {"x1": "no", "x2": "red"})


def test_no_truth_at_all():
    with pytest.raises(DataError, match="The gold holds no item with a label"):
        match_truth(labels_of(), {"1": None}, what="gold")
    with pytest.raises(DataError, match="holds no item"):
        match_truth(labels_of(), {})


def test_what_cannot_be_truth():
    with pytest.raises(DataError, match="from a list"):
        match_truth(labels_of(), ["yes", "no"])
    with pytest.raises(ColumnError, match="rename it 'truth'"):
        match_truth(labels_of(), pa.table({"item": ["1"], "x": ["yes"]}))


def test_agrees_with_a_dictionary_on_many_rows():
    rng = np.random.default_rng(3)
    items = rng.permutation(3000)[:1000]
    labels = encode(pa.array(items), pa.array(np.zeros(1000, int)), pa.array(rng.integers(0, 3, 1000)))
    truth = {int(item): int(item) % 3 for item in rng.permutation(3000)[:2000]}
    codes, counts = match_truth(labels, truth)
    assert codes.tolist() == [truth.get(item, -1) for item in labels.items.to_pylist()]
    assert counts["items"] + counts["unknown_items"] == 2000
