import numpy as np
import pytest

from crowdassay import simulate
from crowdassay.errors import ParameterError


def test_shape_and_seed():
    labels, truth = simulate(np.random.default_rng(1), n_items=50, n_workers=9, n_classes=4, labels_per_item=3)
    again, same = simulate(np.random.default_rng(1), n_items=50, n_workers=9, n_classes=4, labels_per_item=3)
    assert (labels.n_items, labels.n_workers, labels.n_classes, labels.n_labels) == (50, 9, 4, 150)
    np.testing.assert_array_equal(labels.label, again.label)
    np.testing.assert_array_equal(truth, same)


@pytest.mark.parametrize("each", [2, 8])
def test_no_worker_labels_an_item_twice(each):
    labels, _ = simulate(np.random.default_rng(2), n_items=300, n_workers=9, labels_per_item=each)
    pairs = labels.label_item * 9 + labels.worker
    assert len(np.unique(pairs)) == labels.n_labels


def test_skill_makes_labels_right_and_spammers_guess():
    def share(**options):
        labels, truth = simulate(np.random.default_rng(3), n_items=4000, worker_spread=0.0, item_spread=0.0, **options)
        return (truth[labels.label_item] == labels.label).mean()

    assert share(skill=2.0) == pytest.approx(1 / (1 + np.exp(-2.0)), abs=0.01)
    assert share(skill=2.0, spammers=1.0) == pytest.approx(0.5, abs=0.01)


def test_ordinal_labels_stay_near_the_truth():
    labels, truth = simulate(
        np.random.default_rng(4), n_items=2000, n_classes=5, structure="ordinal", worker_spread=0, item_spread=0
    )
    distance = np.abs(truth[labels.label_item] - labels.label)
    counts = np.bincount(distance, minlength=5)
    assert (np.diff(counts) < 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {"n_items": 0},
        {"n_items": 2.5},
        {"n_items": None},
        {"n_items": 10**12},
        {"n_items": 10**13},
        {"n_workers": 10**11},
        {"n_classes": 1},
        {"n_classes": 1001},
        {"labels_per_item": 30},
        {"labels_per_item": 2.5},
        {"spammers": 2.0},
        {"spammers": float("nan")},
        {"worker_spread": -1.0},
        {"worker_spread": float("nan")},
        {"item_spread": 1e308},
        {"skill": float("inf")},
        {"skill": "high"},
    ],
    ids=str,
)
def test_nonsense_is_refused(options):
    with pytest.raises(ParameterError, match=r"^[^\n]*\.$"):
        simulate(np.random.default_rng(0), **options)


def test_what_would_not_fit_into_memory_is_said(monkeypatch):
    monkeypatch.setattr("crowdassay.checks.simulate.available_memory", lambda: 10**6)
    with pytest.raises(ParameterError, match=r"would take 4\.8 MB of memory, and there are 1 MB; draw fewer"):
        simulate(np.random.default_rng(0), n_items=20_000, n_workers=30)


@pytest.mark.parametrize("generator", [0, None, np.random.RandomState(0)], ids=str)
def test_only_a_generator_draws(generator):
    with pytest.raises(ParameterError, match="default_rng"):
        simulate(generator)
