"""Intervals hold what they should as often as they say."""

from dataclasses import replace

import numpy as np
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, OneCoin, as_labels
from crowdassay.findings.intervals import accuracy_interval, confusion_interval, difficulty_interval, share_interval
from support.crowds import draw_workers

# What is softer about the classes knows less about the workers.
WIDTHS = [(DawidSkene(smoothing=0.5), 0.27), (Assay(), 0.5), (MajorityVote(), 0.5)]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "widest"), WIDTHS, ids=["dawid-skene", "assay", "majority"])
def test_accuracy_intervals_cover_the_true_accuracy(method, widest, monkeypatch):
    monkeypatch.setattr("crowdassay.findings.insight.spread_of", lambda _: 0.0)  # simulated crowds are as the models say
    inside, width = [], []
    for seed in range(12):
        labels, _, accuracy = draw_workers(np.random.default_rng(seed), n_items=300, n_workers=30, n_classes=3)
        found = method.fit(labels).result_.insight
        inside.append((found.low <= accuracy) & (accuracy <= found.high))
        width.append(found.high - found.low)
    assert 0.91 <= np.mean(inside) <= 0.99
    assert np.mean(width) < widest


def test_confusion_intervals_cover_the_true_tables(monkeypatch):
    monkeypatch.setattr("crowdassay.findings.insight.spread_of", lambda _: 0.0)
    inside = []
    for seed in range(6):
        labels, _, accuracy = draw_workers(np.random.default_rng(seed), n_items=300, n_workers=20, n_classes=3)
        share, low, high, counts = DawidSkene(smoothing=0.5).fit(labels).result_.insight.confusion()
        truth = np.where(np.eye(3, dtype=bool), accuracy[:, None, None], (1 - accuracy[:, None, None]) / 2)
        inside.append((low <= truth) & (truth <= high))
        np.testing.assert_allclose(counts.sum(axis=(1, 2)), np.bincount(labels.worker))
        assert ((low <= share) & (share <= high)).all()
    assert 0.92 <= np.mean(inside) <= 0.99


def test_known_classes_count_in_full_and_unknown_ones_not_at_all():
    labels = as_labels((list("abcd"), ["w"] * 4, [0, 1, 0, 1]))
    known = MajorityVote().fit(labels.with_gold(np.array([0, 1, 0, 0]))).result_
    share, low, high, effective = accuracy_interval(np.array([4.0]), np.array([3.0]), np.array([0.0]), 0.7)
    assert share.tolist() == [0.75]
    assert effective.tolist() == [4.0]
    assert (low, high) == share_interval(np.array([0.75]), np.array([4.0]))
    assert known.insight.effective.tolist() == [4.0]
    blank = replace(known, posterior=np.full((4, 2), 0.5))
    assert blank.insight.effective.tolist() == [0.0]


def test_effective_labels_are_the_information_left_when_classes_are_unknown(monkeypatch):
    monkeypatch.setattr("crowdassay.findings.insight.spread_of", lambda _: 0.0)
    # With the other workers fixed, the likelihood of one worker's accuracy has this curvature at its maximum.
    labels, _, _ = draw_workers(np.random.default_rng(0), n_items=2000, n_workers=8, n_classes=2, low=0.7)
    result = OneCoin().fit(labels).result_
    p, item = result.accuracy, labels.label_item
    sign = np.where(labels.label == 1, 1.0, -1.0)
    odds = np.bincount(item, sign * np.log(p / (1 - p))[labels.worker], labels.n_items)
    effective = result.insight.effective
    for i in range(3):
        mine = labels.worker == i
        others = 1 / (1 + np.exp(-(odds[item[mine]] - sign[mine] * np.log(p[i] / (1 - p[i])))))
        a = np.where(labels.label[mine] == 1, others, 1 - others)
        slope = (2 * a - 1) / (p[i] * a + (1 - p[i]) * (1 - a))
        assert effective[i] == pytest.approx((slope**2).sum() * p[i] * (1 - p[i]), rel=0.02)


def test_share_interval_is_jeffreys_and_holds_the_share():
    shares = np.array([0.0, 0.5, 1.0])
    low, high = share_interval(shares, np.array([10.0, 0.0, 10.0]))
    assert low[0] == 0.0
    assert high[2] == 1.0
    assert ((low <= shares) & (shares <= high)).all()
    assert high[0] == pytest.approx(0.2172, abs=1e-4)  # Brown, Cai and DasGupta 2001, table 5: n = 10, x = 0


def test_difficulty_intervals_cover_the_share_of_wrong_answers():
    generator = np.random.default_rng(1)
    wrong = generator.uniform(0.05, 0.45, 400)
    errors = generator.binomial(15, wrong)
    votes = np.column_stack([15 - errors, errors])
    posterior = np.column_stack([np.ones(400), np.zeros(400)])
    low, high = difficulty_interval(votes, posterior)
    assert 0.92 <= np.mean((low <= wrong) & (wrong <= high)) <= 0.99
    unsure = difficulty_interval(votes[:1], np.array([[0.5, 0.5]]))
    assert unsure[1] - unsure[0] > high[0] - low[0]


def test_what_may_be_off_together_stays_however_many_labels_there_are():
    """W22: a worker's unsure labels are right or wrong together, as far as datasets have shown."""
    n = np.array([1e2, 1e4, 1e6])
    _, low, high, effective = accuracy_interval(n, 0.8 * n, 0.1 * n, 0.7)
    assert high[2] - low[2] == pytest.approx(2 * 1.96 * 0.7 * 0.1, rel=0.03)
    assert effective[2] == pytest.approx(0.8 * 0.2 / 0.07**2, rel=0.01)
    sure = accuracy_interval(n, 0.8 * n, 0 * n, 0.7)
    assert sure[3].tolist() == n.tolist()


@pytest.mark.parametrize("name", ["trec", "reuters", "face_sentiment", "rte"])
def test_intervals_hold_on_real_data_what_they_promise(name, real):
    """W22: intervals for 95 workers in 100 held for 67 on trec, 79 on reuters, 82 on face_sentiment and 91 on rte."""
    labels, truth = real(name)
    found = Assay().fit(labels).result_.insight
    known = truth[labels.label_item] >= 0
    n = np.bincount(labels.worker[known], minlength=labels.n_workers)
    right = np.bincount(labels.worker[known], (labels.label == truth[labels.label_item])[known], labels.n_workers)
    judged = (n >= 20) & found.estimable
    share = right[judged] / n[judged]
    assert np.mean((found.low[judged] <= share) & (share <= found.high[judged])) >= 0.86
    seen = np.zeros_like(found.counts)
    np.add.at(seen, (labels.worker[known], truth[labels.label_item[known]], labels.label[known]), 1.0)
    mass, (_, low, high, _) = seen.sum(axis=2, keepdims=True), found.confusion()
    judged = np.broadcast_to((mass >= 20) & found.estimable[:, None, None], seen.shape)
    cells = (seen / np.maximum(mass, 1))[judged]
    assert np.mean((low[judged] <= cells) & (cells <= high[judged])) >= 0.9


def test_a_cell_that_may_hold_no_label_has_a_limit_of_zero_and_one_beside_nothing_of_one():
    """W22: 500 labels of which one is the class beside with probability 0.4 are no proof that there is any."""
    counts, unsure = np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    counts[0, 0], unsure[0, 0] = [499.6, 0.4], [0.24, 0.24]
    counts[0, 1] = [10.0, 30.0]  # known for sure
    share, low, high = confusion_interval(counts, unsure, 0.0)
    assert (low[0, 0, 1], high[0, 0, 0]) == (0.0, 1.0)
    assert share[0, 0, 1] < high[0, 0, 1] < 0.02
    assert 0 < low[0, 1, 0] < 0.25 < high[0, 1, 0] < 1
