from __future__ import annotations

import datetime
import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdassay.errors import DataError
from crowdassay.labels.encode import code_column, recode


def decoded(column):
    codes, words = code_column(column, "item")
    return [None if code < 0 else words[int(code)].as_py() for code in codes]


@given(st.lists(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=5), max_size=4))
def test_text_comes_back_unless_blank(chunks):
    column = pa.chunked_array(chunks, pa.string())
    codes, words = code_column(column, "item")
    expected = [None if value is None or not value.strip() else value for value in column.to_pylist()]
    # Arrow and Python disagree on a few control characters; what Arrow trims must at least be no printable text.
    for code, wanted in zip(codes, expected, strict=True):
        assert (code < 0 and not (wanted or "").strip("\x1c\x1d\x1e\x1f\x85").strip()) or words[int(code)].as_py() == wanted
    seen = [code for code in dict.fromkeys(codes.tolist()) if code >= 0]
    assert seen == sorted(seen), "codes are numbered by first appearance"
    assert len(set(words.to_pylist())) == len(words)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())])
def test_all_kinds_of_text_become_plain_text(kind):
    codes, words = code_column(pa.array(["b", None, " ", "a", "b"], kind), "item")
    assert words.type == pa.string()
    assert codes.tolist() == [0, -1, -1, 1, 0]


@pytest.mark.parametrize(
    "values", [[3, None, 1], [True, None, False], [datetime.date(2020, 1, 2), None], [2**62 + 1, 2**62 + 2]]
)
def test_typed_columns_keep_their_type(values):
    column = pa.array(values)
    codes, words = code_column(column, "item")
    assert words.type == column.type
    assert decoded(column) == values
    assert (codes < 0).sum() == values.count(None)


def test_whole_floats_become_whole_numbers():
    codes, words = code_column(pa.array([2.0, float("nan"), None, -0.0, 0.0, 2.0]), "item")
    assert words.type == pa.int64()
    assert words.to_pylist() == [2, 0]
    assert codes.tolist() == [0, -1, -1, 1, 1, 0]


def test_other_floats_become_the_shortest_text():
    assert decoded(pa.array([2.0, 0.1, None, float("nan")])) == ["2", "0.1", None, None]
    assert decoded(pa.array([0.1], pa.float32())) == ["0.1"]
    assert decoded(pa.array([2.0**60])) == ["1.152921504606847e+18"], "digits that a float has lost are not made up"


def test_half_floats_binary_text_and_uuids_are_understood():
    assert decoded(pa.array(np.array([1, 2], np.float16))) == [1, 2]
    assert decoded(pa.array([b"a"])) == ["a"]
    name = uuid.UUID(int=5)
    assert decoded(pa.array([name.bytes, None, name.bytes], pa.uuid())) == [str(name), None, str(name)]


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([{"a": 1}]), pa.array([b"\xff"])])
def test_nested_values_and_bytes_are_refused(column):
    with pytest.raises(DataError, match="The worker column holds"):
        code_column(column, "worker")


def test_nothing_but_nulls():
    assert code_column(pa.array([None, None]), "item")[0].tolist() == [-1, -1]
    assert len(code_column(pa.chunked_array([], pa.string()), "item")[0]) == 0


def test_recode_forgets_unused_values_and_renumbers():
    codes, words = recode(np.array([2, 0, 2], np.int32), pa.array(["a", "b", "c"]))
    assert codes.tolist() == [0, 1, 0]
    assert words.to_pylist() == ["c", "a"]
