import numpy as np
import pytest

from crowdassay.labels import many_labels
from crowdassay.labels.many_labels import count_votes, sort_by_item


@pytest.mark.parametrize(("n_labels", "n_items"), [(1, 1), (10, 3), (5, 4000), (30_000, 257), (30_000, 256), (30_000, 7000)])
def test_sorts_by_item_and_counts_votes_as_numpy_does(monkeypatch, n_labels, n_items):
    monkeypatch.setattr(many_labels, "ROWS_A_THREAD", 1000)  # several threads
    generator = np.random.default_rng(0)
    item = generator.integers(0, n_items, n_labels).astype(np.int32)
    worker, label = generator.integers(0, 99, n_labels).astype(np.int32), generator.integers(0, 7, n_labels).astype(np.int16)
    order, sizes = np.argsort(item, kind="stable"), np.bincount(item, minlength=n_items)
    starts, who, what = sort_by_item(item, n_items, worker, label)
    np.testing.assert_array_equal(starts, np.append(0, np.cumsum(sizes)))
    np.testing.assert_array_equal(who, worker[order])
    np.testing.assert_array_equal(what, label[order])
    votes = np.zeros((n_items, 7), int)
    np.add.at(votes, (item, label), 1)
    np.testing.assert_array_equal(count_votes(starts, what, 7), votes)
