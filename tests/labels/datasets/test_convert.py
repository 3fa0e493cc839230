"""Each raw format, written by hand in the shape of the published files."""

import pytest

from crowdassay.errors import DataError
from crowdassay.labels.datasets.registry import RAW_READERS, Raw, checksum, convert, entries

LABELS = [("a", "w1", "1"), ("a", "w2", "0"), ("b", "w2", "1"), ("b", "w2", "0")]
TRUTH = [("a", "1"), ("b", "0")]

SAME = {
    "item-worker-label-tsv": ["a\t31\t1\r\na\t4\t0\r\nb\t4\t1\r\nb\t4\t0\r\n", "a\t1\r\na\t1\r\nb\t0\r\n"],
    "item-worker-label-csv": ["item,worker,label\na,31,1\na,4,0\nb,4,1\nb,4,0\n", "item,truth\na,1\nb,0\n"],
    "worker-item-label-truth-csv": ["X9,a,1,1,12\nX3,a,0,1,5\nX3,b,1,0,7\nX3,b,0,0,8\n"],
    "annotation-worker-item-label-truth-tsv": [
        "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold\nQ1\tX9\ta\t1\t1\nQ2\tX3\ta\t0\t1\nQ3\tX3\tb\t1\t0\nQ4\tX3\tb\t0\t0\n"
    ],
    "yaml-flags": ["39: {a: true}\n97: {a: false,\n  b: true, b: false}\n", "{a: true,\n    b: false}\n"],
}


def raw(layout, **options):
    return Raw("someone/somewhere", "0" * 40, ("labels.txt", "truth.txt"), layout, "", "", **options)


def test_every_format_has_an_example_and_a_dataset():
    assert set(SAME) == set(RAW_READERS) == {entry.raw.format for entry in entries().values() if entry.raw}


@pytest.mark.parametrize("layout", SAME)
def test_every_format_gives_the_same_rows(layout):
    assert convert(raw(layout), SAME[layout]) == (LABELS, TRUTH)


def test_scores_go_into_bins_and_an_edge_goes_up():
    scores = "h\th\th\th\th\n" + "".join(f"Q\tX\ti{score}\t{score}\t{score}.5\n" for score in (-7, 0, 19, 20, 39, 100))
    given = raw("annotation-worker-item-label-truth-tsv", label_edges=(20, 40), truth_edges=(19.5, 39.5))
    labels, truth = convert(given, [scores])
    assert [label for _, _, label in labels] == ["0", "0", "0", "1", "1", "2"]
    assert [label for _, label in truth] == ["0", "0", "1", "1", "2", "2"]


def test_a_score_that_is_no_number_is_an_error():
    given = raw("item-worker-label-tsv", label_edges=(1.0,))
    with pytest.raises(DataError, match=r"A score is no number: .*'many'"):
        convert(given, ["a\tx\tmany\n", "a\t1\n"])


def test_a_class_left_out_goes_with_its_items():
    texts = ["a\tx\t1\nb\tx\t1\na\ty\t3\nc\tz\t3\nb\tz\t2\n", "a\t1\nb\t3\nc\t2\nd\t1\n"]
    assert convert(raw("item-worker-label-tsv", leave_out="3"), texts) == ([("a", "w1", "1")], [("a", "1")])


def test_truth_without_labels_is_left_out():
    assert convert(raw("item-worker-label-tsv"), ["a\tx\t1\n", "b\t0\na\t1\n"]).truth == [("a", "1")]


def test_a_short_row_is_an_error():
    with pytest.raises(DataError, match="Row 2 has 2 columns where 3 are needed"):
        convert(raw("item-worker-label-tsv"), ["a\tx\t1\na\tx\n", "a\t1\n"])


def test_the_checksum_forgets_the_order_but_no_row():
    assert checksum(LABELS) == checksum(LABELS[::-1])
    assert checksum(LABELS) != checksum([*LABELS, LABELS[0]])
    assert checksum(LABELS) != checksum([*LABELS[1:], ("a", "w1", "0")])
