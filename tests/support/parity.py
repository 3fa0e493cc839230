"""Two results of the same labels must say the same, table by table and word by word, wherever the labels were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.results.summary import summarise

TABLES = ("labels", "posterior", "workers", "items")
PLACE = ("engine", "seconds", "import_report")  # of a summary, what may differ


def arrow(frame):
    return frame.toArrow() if hasattr(frame, "toArrow") else frame


def same_result(found, expected, atol=1e-6, method="x"):
    """Compare every table column by column, the notes, the summary and the items to label next."""
    tied = dict(zip(*(expected.labels_table()[name].to_pylist() for name in ("item", "tied")), strict=True))
    for name in TABLES:
        same_table(arrow(found.frame(name, kind="pyarrow")), arrow(expected.frame(name, kind="pyarrow")), name, atol, tied)
    same_table(found.insight.next_table(), expected.insight.next_table(), "next", max(atol, 1e-6), tied)
    same_table(found.insight.confusion_table(), expected.insight.confusion_table(), "confusion", max(atol, 1e-6), tied)
    one, other = (summarise(result, method) for result in (found, expected))
    assert list(one) == list(other)
    for name in one:
        if name not in PLACE:
            same_value(one[name], other[name], name, atol)


def same_table(found: pa.Table, expected: pa.Table, where: str, atol: float, tied: dict) -> None:
    assert found.column_names == expected.column_names, where
    keys = (
        [name for name in ("item", "worker", "true", "observed") if name in found.column_names]
        if where != "posterior"
        else ["item"]
    )
    found, expected = (table.sort_by([(name, "ascending") for name in keys]) for table in (found, expected))
    assert found.num_rows == expected.num_rows, where
    ties = np.array([tied.get(item, False) for item in expected["item"].to_pylist()]) if "item" in keys else None
    for name in found.column_names:
        one, other = found[name].to_pylist(), expected[name].to_pylist()
        what = f"{where}.{name}"
        if any(isinstance(value, float) for value in other):
            np.testing.assert_allclose(np.array(one, float), np.array(other, float), atol=atol, rtol=atol, err_msg=what)
        elif name in ("label", "standing") and ties is not None:
            different = [
                pair for pair, tie in zip(zip(one, other, strict=True), ties, strict=True) if pair[0] != pair[1] and not tie
            ]
            assert not different, (what, different[:5])
        else:
            assert [str(value) for value in one] == [str(value) for value in other], what


def same_value(one, other, name, atol):
    if isinstance(other, float):
        np.testing.assert_allclose(one, other, rtol=atol, atol=atol, err_msg=name)
    elif isinstance(other, dict):
        assert one.keys() == other.keys(), name
        for key in other:
            same_value(one[key], other[key], f"{name}.{key}", atol)
    elif isinstance(other, (list, tuple)) and other and isinstance(other[0], dict):
        assert len(one) == len(other), name
        for n, (this, that) in enumerate(zip(one, other, strict=True)):
            same_value(this, that, f"{name}.{n}", atol)
    elif isinstance(other, list) and other and isinstance(other[0], float):
        np.testing.assert_allclose(one, other, rtol=max(atol, 1e-6), err_msg=name)
    else:
        assert one == other, name
