import numpy as np
import pytest

from crowdassay import simulate
from crowdassay.errors import ParameterError
from crowdassay.estimators.select import deal, keep
from support.problems import random_labels


def test_every_items_labels_spread_evenly_and_every_workers_nearly():
    labels, _ = simulate(np.random.default_rng(0), n_items=300, n_workers=30, labels_per_item=7)
    fold = deal(labels, 5, np.random.default_rng(1))
    by_item = np.bincount(labels.label_item * 5 + fold, minlength=1500).reshape(300, 5)
    by_worker = np.bincount(labels.worker.astype(int) * 5 + fold, minlength=150).reshape(30, 5)
    assert np.ptp(by_item, axis=1).max() <= 1
    assert np.ptp(by_worker, axis=1).max() <= 6
    assert np.ptp(np.bincount(fold)) <= 0.02 * labels.n_labels


def test_the_same_seed_deals_the_same_folds():
    labels = random_labels(0)
    deals = [deal(labels, 3, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(deals[0], deals[1])
    assert (deals[0] != deals[2]).any()


def test_what_is_kept_shares_vocabularies_and_gold():
    labels = random_labels(0, gold=2)
    chosen = np.arange(labels.n_labels) % 2 == 0
    half = keep(labels, chosen)
    assert half.n_labels == chosen.sum()
    assert (half.n_items, half.n_workers, half.n_classes) == (labels.n_items, labels.n_workers, labels.n_classes)
    np.testing.assert_array_equal(half.gold, labels.gold)


@pytest.mark.parametrize("folds", [1, 10**6])
def test_nonsense_folds_are_refused(folds):
    with pytest.raises(ParameterError, match="folds"):
        deal(random_labels(0), folds, np.random.default_rng(0))
