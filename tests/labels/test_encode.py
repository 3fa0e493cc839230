from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdassay import as_labels
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.encode import encode


def encoded(rows, **options):
    item, worker, label = (pa.array(column) for column in zip(*rows, strict=True))
    return encode(item, worker, label, **options)


def decoded(labels):
    """Rows of labels in item order."""
    items, workers, classes = (v.to_pylist() for v in (labels.items, labels.workers, labels.classes))
    triples = zip(labels.label_item, labels.worker, labels.label, strict=True)
    return [(items[i], workers[w], classes[k]) for i, w, k in triples]


IDS = st.text(min_size=1, max_size=4).filter(lambda text: text.isprintable() and text.strip())


@pytest.mark.slow
@given(st.lists(st.tuples(IDS, IDS, st.sampled_from(["no", "yes", "maybe"])), min_size=1, max_size=30))
def test_rows_come_back(rows):
    labels = encoded(rows, classes=["no", "maybe", "yes"])
    first_seen = list(dict.fromkeys(item for item, _, _ in rows))
    assert decoded(labels) == sorted(rows, key=lambda row: first_seen.index(row[0]))
    assert labels.workers.to_pylist() == list(dict.fromkeys(worker for _, worker, _ in rows))
    assert labels.report.rows_kept == labels.report.rows_read == len(rows)


def test_missing_values_are_counted_once_by_the_first_reason():
    rows = [("a", "w", "x"), (None, None, "x"), ("a", " ", None), ("b", "v", ""), ("b", "v", "y"), ("a", "v", "y")]
    report = encoded(rows).report
    assert report.dropped == {"missing item": 1, "missing worker": 1, "missing label": 1}
    assert (report.rows_read, report.rows_kept) == (6, 3)
    assert report.notes == ()


def test_values_seen_only_in_dropped_rows_leave_no_trace():
    labels = encoded([("b", None, "z"), ("a", "w", "x"), ("b", "w", "y")])
    assert labels.items.to_pylist() == ["a", "b"]
    assert labels.classes.to_pylist() == ["x", "y"]


def test_a_note_when_most_rows_are_dropped():
    rows = [("a", "w", "x"), ("a", "v", "y"), *[("a", "u", None)] * 3]
    with pytest.raises(DataError, match=r"More than half of the 5 rows .*missing label: 3.*allow_drops=True"):
        encoded(rows)
    report = encoded(rows, allow_drops=True).report
    assert "More than half of the rows were dropped (missing label: 3)" in report.notes[0]


@pytest.mark.parametrize("rows", [[(None, "w", "x")], [("a", "w", None), ("a", "", "x")]])
def test_nothing_left(rows):
    with pytest.raises(DataError, match="No labels found"):
        encoded(rows)


def test_no_rows_at_all():
    with pytest.raises(DataError, match="No labels found"):
        encode(*[pa.array([], pa.string())] * 3)


REPEATED = [("a", "w", "x"), ("a", "v", "x"), ("a", "w", "y"), ("b", "w", "y"), ("a", "v", "x"), ("a", "w", "x")]


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("keep", [("a", "w", "x"), ("a", "v", "x"), ("a", "w", "y"), ("a", "v", "x"), ("a", "w", "x"), ("b", "w", "y")]),
        ("first", [("a", "w", "x"), ("a", "v", "x"), ("b", "w", "y")]),
        ("last", [("a", "v", "x"), ("a", "w", "x"), ("b", "w", "y")]),
    ],
)
def test_repeats(policy, kept):
    labels = encoded(REPEATED, repeats=policy)
    report = labels.report
    assert decoded(labels) == kept
    assert (report.repeats, report.conflicts, report.repeats_policy) == (3, 1, policy)
    assert report.rows_read == report.rows_kept + sum(report.dropped.values())
    assert any("worker 'w' on item 'a'" in note for note in report.notes)


def test_repeats_as_an_error_name_the_first_pair():
    with pytest.raises(DataError, match=r"worker 'w' on item 'a'.*3 such rows.*`repeats`"):
        encoded(REPEATED, repeats="error")
    assert encoded(REPEATED[1:4], repeats="error").report.repeats == 0


def test_labels_equal_as_numbers_do_not_conflict():
    assert encoded([("a", "w", "1"), ("a", "w", "1.0"), ("b", "w", "2")]).report.conflicts == 0


def test_unknown_policy():
    with pytest.raises(ParameterError, match="'keep', 'first', 'last', 'error', not 'newest'"):
        as_labels(tuple(zip(*REPEATED, strict=True)), repeats="newest")


def test_columns_of_different_length():
    with pytest.raises(DataError, match="2 items, 1 worker"):
        encode(pa.array(["a", "b"]), pa.array(["w"]), pa.array(["x", "y"]))


def test_source_columns_and_frame_are_recorded():
    labels = encoded(REPEATED, source="answers.csv", columns={"item": "task"}, frame="polars")
    assert (labels.report.source, labels.report.columns, labels.frame) == ("answers.csv", {"item": "task"}, "polars")


def test_free_text_as_label_is_refused():
    with pytest.raises(DataError, match="1001 different values"):
        encoded([(f"i{n}", "w", f"text {n}") for n in range(1001)])
