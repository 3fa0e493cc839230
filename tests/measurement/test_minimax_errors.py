"""Errors of the paper's tables, against a parametric bootstrap, and the test of invariance."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import DawidSkene, Labels, MinimaxEntropy
from crowdassay.errors import DataError, ParameterError
from crowdassay.measurement.minimax_errors import minimax_errors

invariance = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "invariance.py"))["invariance"]
TABLE = np.array([[0.5, -0.5], [-0.5, 0.5]])


def make(item, worker, label, n_items, n_workers):
    names = [pa.array([f"{kind}{i:03d}" for i in range(size)]) for kind, size in (("i", n_items), ("w", n_workers))]
    return Labels.from_codes(item, worker, label, items=names[0], workers=names[1], classes=pa.array(["0", "1"]))


@pytest.mark.slow
def test_errors_of_workers_equal_a_parametric_bootstrap_and_those_of_items_cover():
    rng = np.random.default_rng(0)
    n_items, n_workers, each, beta = 120, 15, 8, 6.0
    item = np.repeat(np.arange(n_items), each)
    worker = np.concatenate([rng.permutation(n_workers)[:each] for _ in range(n_items)])
    sigma = rng.normal(1.5, 0.4, n_workers)[:, None, None] * TABLE
    fits, errors, hits = [], [], []
    for n in range(40):
        tau = rng.normal(0, beta**-0.5, (n_items, 2, 2))
        tau -= tau.mean(axis=2, keepdims=True)
        truth = rng.integers(2, size=n_items)
        logit = sigma[worker, truth[item]] + tau[item, truth[item]]
        label = (logit + rng.gumbel(size=logit.shape)).argmax(axis=1)
        fit = MinimaxEntropy(alpha=1.0, beta=beta, starts=1).fit(make(item, worker, label, n_items, n_workers))
        fits.append(fit.result_.sigma)
        if n < 8:
            found = minimax_errors(fit)
            errors.append(found.sigma)
            hits.append(np.abs(fit.result_.tau - tau) < 1.96 * found.tau)
    ratio = np.mean(errors, axis=0) / np.std(fits, axis=0)
    assert 0.85 < np.median(ratio) < 1.2
    assert 0.9 < np.mean(hits) < 1.0
    assert found.workers().column_names == ["worker", "class", "label", "sigma", "standard_error"]
    assert found.items().num_rows == n_items * 4


def test_information_is_the_hessian_of_the_objective():
    rng = np.random.default_rng(1)
    item, worker = np.repeat(np.arange(12), 4), np.tile(np.arange(4), 12)
    fit = MinimaxEntropy(alpha=1.0, item_structure="none").fit(make(item, worker, rng.integers(2, size=48), 12, 4))
    result = fit.result_

    def objective(sigma):
        log_p = sigma - np.log(np.exp(sigma).sum(axis=2, keepdims=True))
        per = log_p[result.labels.worker][np.arange(48), :, result.labels.label]
        joint = np.zeros((12, 2))
        np.add.at(joint, result.labels.label_item, per)
        return (np.log(np.exp(joint + np.log(0.5)).sum(axis=1))).sum() - 0.5 * (sigma**2).sum()

    size, step = 16, 1e-4
    start = result.sigma.ravel()
    hessian = np.empty((size, size))
    for a in range(size):
        for b in range(size):
            total = 0.0
            for one, two, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
                point = start.copy()
                point[a] += one * step
                point[b] += two * step
                total += sign * objective(point.reshape(4, 2, 2))
            hessian[a, b] = total / (4 * step**2)
    # Rows of a table that move together change nothing but the penalty; errors leave that direction out.
    centre = np.kron(np.eye(8), np.eye(2) - 0.5)
    variance = centre @ np.linalg.inv(-hessian) @ centre
    np.testing.assert_allclose(minimax_errors(fit).sigma.ravel(), np.sqrt(np.diag(variance)), rtol=0.01)


def test_other_fits_have_no_such_errors():
    labels = (list("aabb"), list("xyxy"), [0, 0, 1, 1])
    with pytest.raises(ParameterError, match="MinimaxEntropy"):
        minimax_errors(DawidSkene().fit(labels))
    with pytest.raises(ParameterError, match="plain penalty"):
        minimax_errors(MinimaxEntropy(population=True).fit(labels))


@pytest.mark.slow
@pytest.mark.parametrize("crossed", [False, True])
def test_invariance_holds_for_rasch_and_fails_where_items_turn_round(crossed):
    rng = np.random.default_rng(2)
    n_items, n_workers = 60, 30
    item, worker = np.repeat(np.arange(n_items), n_workers), np.tile(np.arange(n_workers), n_items)
    easy, able = rng.normal(0.5, 1, n_items), rng.normal(0, 1, n_workers)
    logit = easy[item] + able[worker]
    if crossed:  # half of the items are hard for the able and easy for the others
        logit = np.where(item % 2 == 0, logit, easy[item] - 0.3 * able[worker])
    right = (rng.random(len(item)) < 1 / (1 + np.exp(-logit))).astype(np.int64)
    found = invariance(make(item, worker, right, n_items, n_workers), np.ones(n_items, np.int64), resamples=39, rng=rng)
    if crossed:
        assert found.p <= 0.05
        assert found.interaction > 0.3
    else:
        assert found.p > 0.05
        assert found.statistic == pytest.approx(found.expected, rel=0.5)


def test_invariance_needs_right_and_wrong_answers():
    labels = make(np.arange(4), np.zeros(4, np.int64), np.ones(4, np.int64), 4, 1)
    with pytest.raises(DataError, match="All labels are right"):
        invariance(labels, np.ones(4, np.int64), rng=np.random.default_rng(0))
