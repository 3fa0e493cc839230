"""Conformance suite for engines: wherever the labels are, the sums are those of the local engine.

``check_engine(make)`` runs every check; ``make`` takes `Labels` and returns an engine that holds them. Each check fails with
an `AssertionError` in words. An engine may keep its items' coordinates between sweeps or not, and it may stop an item where
the local engine stops it or go on to the optimum: sums are compared with the local engine's at both tolerances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import Engine, Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.assay import Assay
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.dawid_skene import DawidSkene
from crowdassay.estimators.minimax import MinimaxEntropy
from crowdassay.estimators.votes import MajorityVote
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model
from crowdassay.models.structures import STRUCTURES, resolve
from crowdassay.statistics import log_softmax

Make = Callable[[Labels], Engine]
OBJECTIVE_TOLERANCE = 1e-9  # relative
SUMS_TOLERANCE = 1e-6  # of a worker's table
AT_OPTIMUM = 1e-20  # an item tolerance that makes the local engine go on until an item's objective rises no more


def problems() -> dict[str, Labels]:
    """Return small labels of every shape an engine must take, by name."""
    ragged = _ragged()
    gold = np.full(ragged.n_items, -1)
    gold[[0, 3, -1]] = [1, 2, 0]
    return {
        "binary": simulate(np.random.default_rng(0), n_items=16, n_workers=5, n_classes=2, item_spread=0.3)[0],
        "three classes": simulate(np.random.default_rng(1), n_items=16, n_workers=5, n_classes=3, item_spread=0.3)[0],
        "ragged": ragged,
        "gold": ragged.with_gold(gold),
    }


def check_sizes(make: Make) -> None:
    """The engine knows how many items, workers, classes and labels there are, and how many labels each worker gave."""
    for name, labels in problems().items():
        engine = make(labels)
        for size in ("n_items", "n_workers", "n_classes", "n_labels"):
            assert getattr(engine, size) == getattr(labels, size), f"{name}: {size} is wrong"
        counts = np.bincount(labels.worker, minlength=labels.n_workers)
        assert np.array_equal(engine.worker_counts, counts), f"{name}: worker_counts are wrong"


def check_counts(make: Make) -> None:
    """An E-step gives the same expected counts, from the posterior and from the votes."""
    for name, labels in problems().items():
        engine, local = make(labels), LocalEngine(labels)
        log_p, log_prior = log_softmax(_tables(labels)), np.log(np.arange(1.0, labels.n_classes + 1) / 10)
        for weights in (Weights.FREE, Weights.VOTES):
            counted, expected = (one.count(log_p, log_prior, weights) for one in (engine, local))
            where = f"{name}, {weights.name}"
            _same(counted.objective, [expected.objective], f"{where}: the objective of a count")
            _close(counted.counts, [expected.counts], f"{where}: the expected counts")
            _close(counted.totals, [expected.totals], f"{where}: the totals of a count")


def check_sweeps(make: Make) -> None:
    """A sweep from items at rest gives the same sums, for every structure, with items and without."""
    for name, labels in problems().items():
        engine, locals_ = make(labels), _local_engines(labels)
        sigma, log_prior = _tables(labels), np.zeros(labels.n_classes)
        for structure in STRUCTURES:
            worker = resolve(structure, labels.n_classes).basis()
            for item in (worker, None):
                model = Model(worker, item, 1.0, 2.0)
                for weights in (Weights.FREE, Weights.VOTES):
                    for one in (engine, *locals_):
                        one.restart()
                    swept, *expected = (one.sweep(model, sigma, log_prior, weights) for one in (engine, *locals_))
                    where = f"{name}, {structure}, {'with' if item else 'without'} items, {weights.name}"
                    _same(swept.objective, [sums.objective for sums in expected], f"{where}: the objective of a sweep")
                    _close(swept.gradient, [sums.gradient for sums in expected], f"{where}: the gradient")
                    _close(swept.totals, [sums.totals for sums in expected], f"{where}: the totals of a sweep")


def check_again(make: Make) -> None:
    """The same sweep twice, the items forgotten in between, gives the same bits."""
    labels = problems()["ragged"]
    engine, basis = make(labels), resolve("nominal", labels.n_classes).basis()
    model, sigma = Model(basis, basis, 1.0, 2.0), _tables(labels)
    first = engine.sweep(model, sigma, np.zeros(labels.n_classes))
    engine.restart()
    second = engine.sweep(model, sigma, np.zeros(labels.n_classes))
    assert first.objective == second.objective, "the same sweep gave two objectives"
    assert np.array_equal(first.gradient, second.gradient), "the same sweep gave two gradients"


def check_fits(make: Make) -> None:
    """Estimators end where they end on the local engine: the same objective, and the same most probable classes."""
    methods: tuple[Estimator, ...] = (
        MajorityVote(),
        Assay(),
        DawidSkene(prior="uniform", max_iter=30),
        DawidSkene(smoothing=0.1, max_iter=30),
        MinimaxEntropy(starts=1, max_iter=12),
        MinimaxEntropy(starts=1, max_iter=12, item_structure="none"),
        MinimaxEntropy(starts=1, max_iter=12, structure="ordinal"),
    )
    for name, labels in problems().items():
        engine = make(labels)
        for method in methods:
            engine.restart()
            # Labels that are many are fitted in another way than few: the local engine takes the way of this one.
            fitted, *expected = (method.solve(one) for one in (engine, *_local_engines(labels, gathered=engine.gathered)))
            where = f"{name}, {method}"
            objectives = [solution.objective for solution in expected if solution.objective is not None]
            assert (fitted.objective is None) == (not objectives), f"{where}: one fit has an objective, one has none"
            if fitted.objective is not None:
                _same(fitted.objective, objectives, f"{where}: the objective of the fit")
            assert fitted.predict is not None and expected[0].predict is not None, f"{where}: nothing predicts the items"  # noqa: PT018
            posteriors = [
                predict(LocalEngine(labels, gathered=False)).posterior for predict in (fitted.predict, expected[0].predict)
            ]
            top = np.sort(posteriors[1], axis=1)
            clear = top[:, -1] - top[:, -2] > 1e-4
            same = posteriors[0].argmax(axis=1) == posteriors[1].argmax(axis=1)
            assert same[clear].all(), f"{where}: {int((~same[clear]).sum())} items got another label"


ENGINE_CHECKS = (check_sizes, check_counts, check_sweeps, check_again, check_fits)


def check_engine(make: Make) -> None:
    """Run every check on engines made by ``make(labels)``."""
    for check in ENGINE_CHECKS:
        check(make)


def _ragged() -> Labels:
    """An item and a worker with one label each, an item with very many, pairs that repeat, a class never chosen."""
    generator = np.random.default_rng(2)
    sizes = generator.integers(1, 6, 14)
    sizes[0], sizes[5] = 1, 40
    item = np.repeat(np.arange(14), sizes)
    worker = generator.integers(6, size=len(item))
    worker[-1] = 6
    items, workers, classes = (pa.array([f"{name}{n}" for n in range(size)]) for name, size in (("i", 14), ("w", 7), ("c", 4)))
    label = generator.integers(3, size=len(item))
    labels = Labels.from_codes(item, worker, label, items=items, workers=workers, classes=classes[:3])
    return replace(labels, classes=classes)


def _tables(labels: Labels) -> FloatArray:
    noise = np.random.default_rng(3).normal(size=(labels.n_workers, labels.n_classes, labels.n_classes))
    return noise + np.eye(labels.n_classes)


def _local_engines(labels: Labels, *, gathered: bool | None = None) -> tuple[LocalEngine, LocalEngine]:
    """The local engine as it is, and one that takes every item to its optimum."""
    return LocalEngine(labels, gathered=gathered), LocalEngine(labels, gathered=gathered, item_tolerance=AT_OPTIMUM)


def _same(value: float, expected: list[float], what: str) -> None:
    gap = min(abs(value - one) / max(abs(one), 1.0) for one in expected)
    assert gap <= OBJECTIVE_TOLERANCE, f"{what} is {value!r}, not {expected[0]!r}"


def _close(sums: FloatArray, expected: list[FloatArray], what: str) -> None:
    assert sums.shape == expected[0].shape, f"{what} have the shape {sums.shape}, not {expected[0].shape}"
    gap = min(float(np.abs(sums - one).max(initial=0.0)) for one in expected)
    assert gap <= SUMS_TOLERANCE, f"{what} are off by {gap:.1e}"
