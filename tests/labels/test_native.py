from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdassay.errors import DataError
from crowdassay.labels.native import frame_columns, ordered_values, sequence_column


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, "a", None, float("nan"), 2.0, pd.NA], ["1", "a", None, None, "2", None]),
        (np.array([1, "a", None], object), ["1", "a", None]),
        (pd.Series([1, "a", pd.NA, None, np.nan], dtype=object), ["1", "a", None, None, None]),
        ([2**70, 1], [str(2**70), "1"]),
        (np.array(["x", "y"]), ["x", "y"]),
        (pl.Series([1, None]), [1, None]),
        (("a", "b"), ["a", "b"]),
        (range(2), [0, 1]),
        (pa.array([1]), [1]),
    ],
)
def test_sequences(values, expected):
    assert sequence_column(values, "item").to_pylist() == expected


@pytest.mark.parametrize("values", ["abc", {"a": 1}, np.ones((2, 2)), 1, None])
def test_what_is_no_flat_sequence(values):
    with pytest.raises(DataError, match="The items must be"):
        sequence_column(values, "item")


@pytest.mark.parametrize("make", [list, lambda x: np.array(x, object), lambda x: pd.Series(x, dtype=object)])
def test_half_a_surrogate_pair_is_no_text(make):
    with pytest.raises(DataError, match=r"Row 2 holds half of a surrogate pair \('\\ud800'\)"):
        sequence_column(make(["a", "\ud800"]), "item")


def test_what_is_no_frame():
    assert frame_columns([1, 2], ("item",), {}) is None
    assert frame_columns({"item": [1]}, ("item",), {}) is None


def test_only_ordered_categories_give_an_order():
    values = ["b", "a"]
    assert ordered_values(pa.array(values)) is None
    assert ordered_values(pa.Array.from_pandas(pd.Categorical(values))) is None
    assert ordered_values(pa.Array.from_pandas(pd.Categorical(values, ["c", "b", "a"], ordered=True))) == ["c", "b", "a"]
    assert ordered_values(pa.Array.from_pandas(pd.Categorical(["a"], ["a", ""], ordered=True))) is None
