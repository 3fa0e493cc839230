from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay.errors import DataError
from crowdassay.labels import labels as labels_module
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import MAX_CLASSES
from support.problems import random_labels

WORDS = {"items": pa.array(["a", "b"]), "workers": pa.array(["x", "y"]), "classes": pa.array(["no", "yes"])}


def test_labels_are_sorted_by_item_and_keep_their_order_within():
    labels = Labels.from_codes(np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0]), np.array([0, 1, 1, 0]), **WORDS)
    assert labels.starts.tolist() == [0, 2, 4]
    assert labels.worker.tolist() == [1, 0, 1, 0]
    assert labels.label.tolist() == [1, 0, 0, 1]
    assert labels.label_item.tolist() == [0, 0, 1, 1]
    assert labels.votes().tolist() == [[1, 1], [1, 1]]


def test_labels_are_frozen():
    labels = random_labels(0)
    with pytest.raises(ValueError, match="read-only"):
        labels.label[0] = 1
    with pytest.raises(AttributeError):
        labels.label = labels.label.copy()


def test_repr_says_what_is_inside():
    assert repr(random_labels(0)).startswith("Labels(")
    assert "12 items, 6 workers, 3 classes: c0, c1, c2" in repr(random_labels(0))


@pytest.mark.parametrize(("item", "worker", "label"), [([2], [0], [0]), ([0], [2], [0]), ([0], [0], [-1])])
def test_codes_outside_the_vocabularies_are_refused(item, worker, label):
    with pytest.raises(DataError, match="codes must lie between"):
        Labels.from_codes(np.array(item), np.array(worker), np.array(label), **WORDS)


def test_no_labels_is_an_error():
    empty = np.array([], np.int64)
    with pytest.raises(DataError, match="No labels found"):
        Labels.from_codes(empty, empty, empty, **WORDS)


def test_free_text_is_not_taken_for_classes():
    many = pa.array([str(c) for c in range(MAX_CLASSES + 1)])
    one = np.array([0])
    with pytest.raises(DataError, match="free text"):
        Labels.from_codes(one, one, one, items=WORDS["items"], workers=WORDS["workers"], classes=many)


def test_gold_must_fit():
    with pytest.raises(DataError, match="Gold"):
        random_labels(0).with_gold(np.array([0]))
    with pytest.raises(DataError, match="Gold"):
        random_labels(0).with_gold(np.full(12, 3))


@pytest.mark.parametrize(("classes", "numeric"), [(["1", "2.5"], True), (["1", "two"], False), (["1", "nan"], False)])
def test_numeric_classes(classes, numeric):
    one = np.array([0])
    labels = Labels.from_codes(one, one, one, items=WORDS["items"], workers=WORDS["workers"], classes=pa.array(classes))
    assert labels.numeric is numeric


def test_sorting_is_stable_and_leaves_the_callers_arrays_alone():
    generator = np.random.default_rng(0)
    item, worker, label = generator.integers(0, 300, 5000), generator.integers(0, 40, 5000), generator.integers(0, 3, 5000)
    names = {"items": pa.array(range(300)), "workers": pa.array(range(40)), "classes": pa.array(["a", "b", "c"])}
    order = np.argsort(item, kind="stable")
    shuffled = Labels.from_codes(item, worker, label, **names)
    given = (item[order].astype(np.int32), worker[order].astype(np.int32), label[order].astype(np.int16))
    for labels in (shuffled, Labels.from_codes(*given, **names)):
        np.testing.assert_array_equal(labels.worker, worker[order])
        np.testing.assert_array_equal(labels.label, label[order])
        np.testing.assert_array_equal(labels.label_item, item[order])
    assert all(array.flags.writeable for array in (item, worker, label, *given))


def test_votes_are_the_same_however_many_labels_there_are(monkeypatch):
    labels = random_labels(1, n_items=50)
    expected = np.zeros((labels.n_items, labels.n_classes), int)
    np.add.at(expected, (labels.label_item, labels.label), 1)
    for long in (1, 1 << 18):
        monkeypatch.setattr(labels_module, "COMPILED_LABELS", long)
        np.testing.assert_array_equal(labels.votes(), expected)


def test_codes_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="differ in length: 2 items, 1 worker, 2 labels"):
        Labels.from_codes(np.array([0, 1]), np.array([0]), np.array([0, 1]), **WORDS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": np.array([0, 2])}, "one more place in starts"),
        ({"starts": np.array([0, 2, 5])}, "must rise from 0"),
        ({"starts": np.array([0, 5, 4])}, "must rise from 0"),
        ({"label": np.array([0, 1, 0], np.int16)}, "must rise from 0"),
        ({"worker": np.array([0, 1, 0, 2], np.int32)}, "worker codes must lie between 0 and 1"),
        ({"label": np.array([0, -1, 0, 1], np.int16)}, "label codes must lie between 0 and 1"),
        ({"worker": np.zeros(4)}, "array of whole numbers"),
        ({"gold": np.array([0], np.int32)}, "2 gold codes"),
        ({"gold": np.array([0, 2], np.int32)}, "gold codes must lie between -1 and 1"),
    ],
)
def test_what_kernels_would_stumble_over_is_refused(change, message):
    labels = Labels.from_codes(np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0]), np.array([0, 1, 1, 0]), **WORDS)
    with pytest.raises(DataError, match=message):
        replace(labels, **change)


@pytest.mark.parametrize("gold", [[0, 1], np.array([0.5, 1.0]), np.array([0, 2]), np.array([0])])
def test_gold_that_is_no_code_for_each_item_is_refused(gold):
    labels = Labels.from_codes(np.array([1, 0]), np.array([1, 1]), np.array([0, 1]), **WORDS)
    with pytest.raises(DataError, match="Gold must hold one code for each of 2 items"):
        labels.with_gold(gold)


def test_codes_must_be_whole_numbers():
    with pytest.raises(DataError, match="item codes must be a one-dimensional array of whole numbers"):
        Labels.from_codes([1, 0], np.array([1, 1]), np.array([0, 1]), **WORDS)
