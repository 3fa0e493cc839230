"""The rules on cells are the same as Arrow expressions and as SQL."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from crowdassay.errors import DataError
from crowdassay.labels.cells import (
    DUCKDB_BLANK,
    MISSING_COUNTS,
    WITHOUT,
    blank,
    blank_as_null,
    missing_rows,
    refuse_nul,
    without,
    without_bound,
)

SIGNS = [chr(code) for code in range(1, 0x3100) if not 0xD800 <= code <= 0xDFFF]


def test_the_same_cells_are_blank_in_memory_and_in_duckdb():
    texts = pa.array(["", "  ", "x ", " x", *SIGNS, *(f" {sign} " for sign in SIGNS)])
    connection = duckdb.connect()
    connection.register("cells", pa.table({"label": texts}))
    found = connection.sql(f"SELECT {blank_as_null('label', DUCKDB_BLANK)} IS NULL AS none FROM cells").to_arrow_table()["none"]
    assert found.to_pylist() == blank(texts).to_pylist()
    assert found.to_pylist()[:4] == [True, True, False, False]


@pytest.mark.parametrize("missing", [("-1",), ("-1.0", "skip"), ("01",), ("1e2",), (".5", "n/a")])
def test_the_same_labels_stand_for_none_in_memory_and_in_duckdb(missing):
    texts = pa.array(
        ["-1", "-1.0", "-01", "skip", "01", "1", "1.", "100", "1e2", "+100", "0.5", ".50", "n/a", "N/A", " -1", "x"]
    )
    connection = duckdb.connect()
    connection.register("cells", pa.table({"label": texts}))
    found = connection.sql(f"SELECT {WITHOUT.format('label')} AS label FROM cells", params=without_bound(missing))
    assert found.to_arrow_table()["label"].to_pylist() == without(texts, missing).to_pylist()


def test_a_row_misses_the_first_value_that_it_misses():
    rows = pa.table(
        {"item": ["a", None, None, "a", "a"], "worker": ["w", None, "w", None, "w"], "label": ["x", None, "x", "x", None]}
    )
    connection = duckdb.connect()
    connection.register("raw", rows)
    counts = connection.sql(f"SELECT {MISSING_COUNTS} FROM raw").to_arrow_table().to_pylist()[0]
    assert missing_rows(counts) == {"missing item": 2, "missing worker": 1, "missing label": 1}


def test_nul_is_refused_and_named():
    refuse_nul(pa.array([1, 2]), "item")
    refuse_nul(pa.array(["a", None]), "item")
    with pytest.raises(DataError, match=r"The worker 'b\\x00' in line 3 of 'a.csv' holds a NUL byte; remove it"):
        refuse_nul(pa.chunked_array([["a"], ["b\0", "c\0"]]), "worker", " in line 3 of 'a.csv'")
