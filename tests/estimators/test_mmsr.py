import numpy as np
import pytest

from crowdassay import MMSR, as_labels
from crowdassay.errors import ParameterError
from crowdassay.estimators.eigenvectors import skill_accuracy, worker_agreement
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def draw(seed, accuracy, n_items=1500, n_classes=3, share=0.6):
    generator = np.random.default_rng(seed)
    truth = generator.integers(n_classes, size=n_items)
    item, worker = (index.ravel() for index in np.indices((n_items, len(accuracy))))
    wrong = (truth[item] + generator.integers(1, n_classes, len(item))) % n_classes
    label = np.where(generator.random(len(item)) < np.asarray(accuracy)[worker], truth[item], wrong)
    kept = generator.random(len(item)) < share
    return as_labels((item[kept].tolist(), worker[kept].tolist(), label[kept].tolist())), truth


def accuracies(mmsr):
    n_classes = mmsr.result_.labels.n_classes
    odds = np.exp(mmsr.skills_) / (n_classes - 1)
    found = odds / (1 + odds)
    return found[np.argsort(mmsr.result_.labels.workers.to_pylist())]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_recovers_accuracies(n_classes):
    truth = np.linspace(0.55, 0.9, 10)
    labels, _ = draw(0, truth, n_classes=n_classes)
    assert np.abs(accuracies(MMSR().fit(labels)) - truth).max() < 0.05


def test_workers_worse_than_chance_count_against():
    truth = [0.2, 0.3, 0.8, 0.8, 0.75, 0.9, 0.7]
    labels, _ = draw(1, truth, n_classes=2)
    found = accuracies(MMSR().fit(labels))
    assert np.abs(found - truth).max() < 0.06


def test_copies_of_a_poor_worker_are_ignored():
    """Three workers copy each other: their pairs say that they are excellent, and trimming leaves those pairs out."""
    honest = [0.8, 0.75, 0.85, 0.7, 0.8, 0.75, 0.8]
    labels, truth = draw(2, [*honest, 0.45, 0.45, 0.45], share=1.0)
    label = labels.label.copy()
    copied = np.flatnonzero(labels.worker == 7)
    for other in (8, 9):
        label[labels.worker == other] = label[copied]
    columns = (labels.label_item.tolist(), labels.worker.tolist(), label.tolist())
    trimmed, plain = (MMSR(trim=trim).fit(as_labels(columns)) for trim in (3, 0))
    assert np.abs(accuracies(trimmed)[7:] - 0.45).max() < 0.08
    assert np.abs(accuracies(plain)[7:] - 0.45).min() > 0.15
    assert error_rate(trimmed.result_.winners, truth) <= error_rate(plain.result_.winners, truth)


def test_agreement_of_pairs():
    labels = as_labels((list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 1]))
    found = worker_agreement(labels).toarray()
    np.testing.assert_allclose(found[:2, :2], [[0, 2 * 2 / 3 - 1], [2 * 2 / 3 - 1, 0]])
    doubled = as_labels((list("aabbcc") * 2, list("xyxyxy") * 2, [0, 0, 1, 1, 0, 1] * 2))
    np.testing.assert_allclose(worker_agreement(doubled).toarray(), found)


def test_known_items_count_as_a_worker():
    labels, truth = draw(3, [0.9, 0.9, 0.6, 0.6], n_items=400, share=1.0)
    known = np.full(labels.n_items, -1)
    known[::2] = truth[::2]
    blind, told = MMSR().fit(labels), MMSR().fit(labels.with_gold(known))
    assert np.abs(accuracies(told) - [0.9, 0.9, 0.6, 0.6]).max() < 0.08
    assert error_rate(told.result_.winners, truth) < error_rate(blind.result_.winners, truth)


def test_accuracies_stay_off_certainty():
    p = skill_accuracy(np.array([-5.0, 0.0, 5.0]), 3, 100)
    np.testing.assert_allclose(p, [0.1 * 2 / 3, 1 / 3, (0.9 * 2 + 1) / 3])


@pytest.mark.parametrize("trim", [-1, 0.5])
def test_nonsense_is_refused(trim):
    with pytest.raises(ParameterError, match="trim"):
        MMSR(trim=trim).fit(random_labels(0))


def test_workers_who_share_no_item_get_equal_weights():
    found = MMSR().fit((["a", "b", "b"], ["x", "y", "y"], ["no", "yes", "yes"]))
    assert found.labels_["label"].to_pylist() == ["no", "yes"]
    assert np.ptp(found.result_.accuracy) == pytest.approx(0.0)


def test_strong_agreement_counts_more_for_the_sign_than_weak():
    """Worker 4 agrees a little more often than by chance with three and never with two: against them."""
    generator = np.random.default_rng(0)
    truth = generator.integers(2, size=24)
    weak = np.where(np.arange(24) < 13, truth, 1 - truth)  # right on 13 of 24
    rows = [(j, i, int(truth[j])) for i in range(4) for j in range(24) if i < 2 or j < 13]
    rows += [(j, 4, int(1 - weak[j] if j < 6 else weak[j])) for j in range(24)]
    item, worker, label = (list(column) for column in zip(*rows, strict=True))
    mmsr = MMSR().fit(as_labels((item, worker, label)))
    assert mmsr.skills_[4] < 0 < mmsr.skills_[0]
