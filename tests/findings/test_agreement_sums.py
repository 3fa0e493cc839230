"""What agreement is computed from is what plain loops over the same labels give, in whatever chunks."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay.findings import sums
from crowdassay.findings.agreement_sums import LEAST_SHARED, PAIRS_SHOWN, positions, sum_lots, sum_pairs, sum_workers
from crowdassay.findings.coefficients import MARGINS
from support import plain_agreement
from support.problems import random_labels


@pytest.fixture(params=[(0, 2), (1, 3), (2, 5)])
def labels(request):
    seed, n_classes = request.param
    labels = random_labels(seed, n_items=40, n_classes=n_classes, gold=3)
    assert labels.repeat_weight.min() < 1, "no label is repeated, so the test shows less"
    return replace(labels, classes=pa.array([str(k * k) for k in range(n_classes)]))


@pytest.fixture(params=["whole", "cut"])
def cut(request, monkeypatch):
    """Look at all labels together, or in blocks, chunks and ranges of a few."""
    if request.param == "cut":
        monkeypatch.setattr(sums, "LEAST_BLOCK", 30)
        monkeypatch.setattr(sums, "CELLS_IN_CACHE", 1)
        monkeypatch.setattr(sums, "FEWEST_IN_CHUNK", 11)
        monkeypatch.setattr("crowdassay.findings.sums.MOST_MET", 5)


def arrays(labels):
    weight = np.array(labels.repeat_weight)
    return labels.starts, labels.worker, labels.label, weight, labels.workers_each


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_sums_by_lot_and_by_worker(labels, level, cut):
    n_lots, n_classes, nominal = 7, labels.n_classes, level == "nominal"
    x, lot = positions(labels, level), np.random.default_rng(0).integers(n_lots, size=labels.n_items)
    found, apart = sum_lots(labels, level, x, lot, n_lots)
    classes = plain_agreement.count_classes(labels.starts, labels.label, np.array(labels.repeat_weight), n_classes)
    expected = np.zeros((n_lots, 6, n_classes)), np.zeros(n_lots), np.zeros((n_lots, n_classes, n_classes))
    distances = np.zeros(labels.n_items)
    plain_agreement.add_items(*arrays(labels), *classes, lot, x, nominal, *expected, distances)
    np.testing.assert_allclose(found.classes, expected[0], atol=1e-10)
    np.testing.assert_allclose(found.spread, expected[1], atol=1e-10)
    np.testing.assert_allclose(apart, distances, atol=1e-10)
    if level == "ordinal":
        np.testing.assert_allclose(found.full, expected[2], atol=1e-10)
    margin = found.classes.sum(axis=0)[MARGINS]
    shared = labels.workers_each > 1
    observed = (apart[shared] / (labels.workers_each[shared] - 1)).sum()
    each = np.empty((labels.n_workers, 5))
    plain_agreement.compare_workers(
        *arrays(labels), *classes, distances, x, nominal, margin, observed, 0, each
    )  # fmt: skip
    np.testing.assert_allclose(sum_workers(labels, margin, level, x, apart), each, rtol=1e-9, atol=1e-10)


def test_kappas_of_pairs(labels, cut):
    found = sum_pairs(labels, np.random.default_rng(0))
    starts, worker, label, weight, _ = arrays(labels)
    order, item = np.argsort(worker, kind="stable"), labels.label_item
    by_worker = np.append(0, np.cumsum(np.bincount(worker, minlength=labels.n_workers)))
    numbers, slope = np.zeros(5), np.zeros((labels.n_items, 2))
    high, low = np.full((2, PAIRS_SHOWN, 6), -np.inf)
    plain_agreement.compare_pairs(
        starts, worker, label, weight, by_worker, order, item, labels.n_classes, LEAST_SHARED, labels.n_workers,
        numbers, slope, high, low,
    )  # fmt: skip
    assert (found.pairs, found.undefined, found.few) == tuple(numbers[:3].astype(int))
    assert found.pairs > 0
    assert (found.shared, found.weighted) == pytest.approx(tuple(numbers[3:]))
    np.testing.assert_allclose(found.slope, slope, atol=1e-10)
    shown = min(found.pairs, PAIRS_SHOWN)
    np.testing.assert_allclose(found.most, high[:shown, 1:])
    np.testing.assert_allclose(found.least, low[:shown, 1:])
