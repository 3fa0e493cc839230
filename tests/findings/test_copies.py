"""Copies are found by the answers that nobody else gives; those who are right together are left alone."""

import numpy as np
import pytest

from crowdassay import Assay, as_labels


def crowd(seed, accuracies, n_items=200, n_classes=3):
    """Return items, workers, labels and the truth, everybody labelling everything with the accuracy given."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(n_classes, size=n_items)
    right = generator.random((len(accuracies), n_items)) < np.array(accuracies)[:, None]
    other = (truth + generator.integers(1, n_classes, size=right.shape)) % n_classes
    label = np.where(right, truth, other)
    item, worker = np.tile(np.arange(n_items), len(accuracies)), np.repeat(np.arange(len(accuracies)), n_items)
    return item, worker, label.ravel(), truth


def insight_of(item, worker, label):
    return Assay().fit(as_labels((item, [f"w{i}" for i in worker], label))).result_.insight


@pytest.mark.parametrize("seed", range(4))
def test_two_who_are_right_where_many_are_wrong_are_no_copies(seed):
    """W20: the best two of a mediocre crowd give the same answers as the truth does."""
    found = insight_of(*crowd(seed, [0.98, 0.98] + [0.7] * 6)[:3])
    assert found.copies[0] == []
    assert not any(reason.kind == "copy" for reasons in found.reasons for reason in reasons)


def test_two_who_give_one_answer_are_no_copies():
    """W20: what both always say is a habit."""
    item, worker, label, _ = crowd(0, [0.85] * 8)
    label = np.where(worker < 2, 1, label)
    assert insight_of(item, worker, label).copies[0] == []


@pytest.mark.parametrize("seed", range(4))
def test_an_exact_copy_of_eighty_answers_is_found_and_said(seed):
    """W20: 80 of 80 identical, a quarter of them unlike the others, was kept."""
    item, worker, label, _ = crowd(seed, [0.75] * 6, n_items=80)
    label = np.concatenate([label, label[worker == 0]])
    item, worker = np.concatenate([item, np.arange(80)]), np.concatenate([worker, np.full(80, 6)])
    found = insight_of(item, worker, label)
    assert [(pair.worker, pair.other) for pair in found.copies[0]] == [(0, 6)]
    left = found.copies[0][0].left[0]
    assert f"left the others {left} times; w6 gave the same answer {left} of these times, " in found.evidence[0]
    assert f"w0 gave the same answer {left} of these times" in found.evidence[6]
    assert found.looks_like[0] == "w6"


@pytest.mark.parametrize(("n_items", "others"), [(60, 0.6), (200, 0.6), (200, 0.7)])
def test_two_who_know_better_than_a_poor_crowd_are_not_called_copies(n_items, others):
    """W20: where the others are often wrong, nothing tells two who are right from a worker and a copy; that is said."""
    found = insight_of(*crowd(0, [1.0, 1.0] + [others] * 6, n_items=n_items, n_classes=2)[:3])
    assert [(pair.worker, pair.other, pair.may_be_right) for pair in found.copies[0]] == [(0, 1, True)]
    assert not any(reason.kind == "copy" for reasons in found.reasons for reason in reasons)
    assert found.looks_like[:2] == ["w1", "w0"]
    assert [note for note in found.notes if "column looks_like" in note] == [
        "Same answers: 2 workers; 1 pair leaves the others together, with the same answers, more often than chance and habit "
        "explain (column looks_like); they are copies, or both are right where the others are wrong."
    ]


def test_the_classes_that_are_known_tell_copies_from_those_who_are_right():
    item, worker, label, truth = crowd(0, [0.6] * 7, n_classes=2)
    label = np.where(worker == 1, label[worker == 0][item], label)
    labels = as_labels((item, [f"w{i}" for i in worker], label))
    (pair,) = Assay().fit(labels).result_.insight.copies[0]
    (told,) = Assay().fit(labels.with_gold(truth)).result_.insight.copies[0]
    assert (pair.worker, pair.other, told.worker, told.other) == (0, 1, 0, 1)
    assert pair.may_be_right
    assert not told.may_be_right


def seldom_wrong(seed, *, copied):
    """Return items, workers and labels of a good crowd; the last worker may be a copy of the first, who is right in 97 %."""
    generator = np.random.default_rng(seed)
    item, worker, label, _ = crowd(seed, [0.97, *generator.uniform(0.8, 0.95, 11)], n_items=300)
    kept = np.where(worker == 0, item < 120, generator.random(len(item)) < 0.4)
    item, worker, label = item[kept], worker[kept], label[kept]
    again = worker == 0 if copied else np.zeros(len(item), bool)
    return np.r_[item, item[again]], np.r_[worker, np.full(again.sum(), 12)], np.r_[label, label[again]]


def test_copies_of_a_worker_who_seldom_leaves_the_others_are_shown_and_not_accused():
    """W20: three matches where the others are left tell too little, a hundred and twenty of the same answers enough."""
    shown = 0
    for seed in range(12):
        found = insight_of(*seldom_wrong(seed, copied=True))
        if any(pair.by_all for pair in found.copies[0]):
            (pair,) = found.copies[0]
            assert (pair.worker, pair.other, pair.may_be_right) == (0, 12, True)
            assert not any(reason.kind == "copy" for reasons in found.reasons for reason in reasons)
            assert found.looks_like[0] == "w12"
            shown += 1
        assert insight_of(*seldom_wrong(seed, copied=False)).copies[0] == []
    assert shown >= 4
