"""The engine on a graphics card: labels and worker tables live there, and sums of the size of the workers come back."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.engines.base import Counts, Sums, Weights
from crowdassay.engines.gpu_card import Array, array_module, check_memory, launch, put, to_host
from crowdassay.engines.gpu_layout import Layout, lay_out
from crowdassay.kernels.gpu_tables import CLAMP, contrasts, log_odds, rows_of, unpack
from crowdassay.model.family import Model

BLOCKS, THREADS = 4096, 128  # of a launch, and of a block in which every item has a thread of its own
SHARED = 46 * 1024  # bytes of a block's own memory
MOST_LABELS = 32  # of an item that one thread takes
FINER = 2.0**20  # units of the small weights, see `crowdassay.kernels.gpu`


class GpuEngine:
    """Sweep labels held on a graphics card, in single precision with sums in fixed point; see `crowdassay.kernels.gpu`.

    The answer does not change from run to run. Arrays go in and come out where they are: NumPy's in the machine's memory,
    CuPy's on the card.

    Parameters
    ----------
    worker, label : array of shape (n_labels,)
        Codes, item by item.
    starts : array of shape (n_items + 1,), or int
        Where each item begins; or the number of labels that every item has.
    n_workers, n_classes : int
    gold : array of shape (n_items,), optional
        Known class of an item, -1 where unknown.
    item_tolerance : float
        An item stops when a Newton step promises to raise the objective by less than half of this.
    item_steps : int
        Passes over an item's labels allowed in one sweep.
    announce : callable, optional
        Called with a sentence when kernels have to be compiled.
    """

    labels: Labels | None = None

    def __init__(
        self,
        worker: Array,
        label: Array,
        starts: Array | int,
        n_workers: int,
        n_classes: int,
        *,
        gold: Array | None = None,
        item_tolerance: float = 1e-9,
        item_steps: int = 100,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.xp = xp = array_module()
        self.n_labels, self.n_workers, self.n_classes = len(worker), n_workers, n_classes
        self.n_items = len(worker) // starts if isinstance(starts, int) else len(starts) - 1
        check_memory(self.n_labels, self.n_items, n_workers, n_classes)
        self.item_tolerance, self.item_steps, self.announce = item_tolerance, item_steps, announce
        places = starts if isinstance(starts, int) else put(starts)
        longest = min(MOST_LABELS, SHARED // (32 * 4 * n_classes * (n_classes - 1)))
        self.layout: Layout = lay_out(xp, self._tally, put(worker), put(label), places, n_workers, n_classes, longest)
        self._most = int(self.worker_counts.max())
        self._gold = xp.zeros(0, np.int16)
        if gold is not None and bool((gold >= 0).any()):
            self._gold = self._in_order(xp.asarray(gold).astype(np.int16))
        self._given = xp.zeros((n_classes, 1), np.float32)
        self._state: Array | None = None
        self._compiled: set[tuple[Any, ...]] = set()

    @classmethod
    def of(cls, labels: Labels, **options: Any) -> Self:
        """Put labels on the card."""
        engine = cls(
            labels.worker, labels.label, labels.starts, labels.n_workers, labels.n_classes, gold=labels.gold, **options
        )
        engine.labels = labels
        return engine

    @property
    def worker_counts(self) -> IntArray:
        return np.asarray(to_host(self.layout.label_counts.sum(axis=1)))

    def hold(self, weights: FloatArray) -> None:
        """Keep class weights (n_items, n_classes) for sweeps with `Weights.GIVEN`."""
        self._given = self.xp.ascontiguousarray(self._in_order(self.xp.asarray(weights, np.float32)).T)

    def restart(self) -> None:
        """Forget the items' coordinates."""
        self._state = None

    def coordinates(self, model: Model) -> FloatArray:
        """Return the items' coordinates of the last sweep, (n_items, size)."""
        if model.item is None:
            return np.zeros((self.n_items, 0))
        rows = np.asarray(to_host(self._as_came(self._item_state(model))), float)
        if not model.item.free:
            return rows
        tables = np.zeros((self.n_items, self.n_classes, self.n_classes))  # the kernels keep log odds
        tables[:, :, 1:] = rows.reshape(self.n_items, self.n_classes, -1)
        return model.item.coordinates(tables)

    def count(
        self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, posterior: FloatArray | None = None
    ) -> Counts:
        """Run an E-step with worker tables of log probabilities; fill ``posterior`` (n_items, n_classes) if given."""
        from crowdassay.kernels.gpu import make_counter  # noqa: PLC0415  numba loads on first use

        xp, n_classes, seen = self.xp, self.n_classes, self.layout.label_counts
        by_label = xp.asarray(log_p).transpose(0, 2, 1)  # the true class last
        exact = log_odds(by_label)
        rounded = exact.astype(np.float32)
        scale = 2.0 ** (61 - math.ceil(math.log2(self._most)))  # a worker's sum of weights in 64 bits
        sums = xp.zeros((2, self.layout.n_places, n_classes, n_classes), np.int64)
        objective, totals = self._pass(
            ("count",), lambda team: make_counter(n_classes, team), rounded, n_classes - 1, log_prior, weights, scale,
            sums.ravel(), (), posterior,
        )  # fmt: skip
        coarse, fine = (self.layout.by_worker(part, xp) / scale for part in sums)
        counts = xp.ascontiguousarray((coarse + fine / FINER).transpose(0, 2, 1))
        objective += float(xp.sum(seen * xp.where(seen > 0, by_label[:, :, 0], 0.0)))
        # What rounding the tables has moved, to first order.
        objective += float(xp.sum(counts.transpose(0, 2, 1)[:, :, 1:] * (exact - rounded)))
        return Counts(objective, _like(counts, log_p), _like(totals, log_p))

    def sweep(self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Sums:
        """Fit every item at the worker tables ``sigma`` and return the sums."""
        return self._sweep(model, sigma, log_prior, weights, self.item_steps, None)

    def posteriors(self, model: Model, sigma: FloatArray, log_prior: FloatArray) -> tuple[Sums, FloatArray]:
        """Return the sums and the class probabilities (n_items, n_classes) with every item at its optimum."""
        return self._with_posterior(model, sigma, log_prior, Weights.FREE, self.item_steps)

    def e_step(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE
    ) -> tuple[Sums, FloatArray]:
        """Return the same with the items' coordinates as they are: the second half of Algorithm 1."""
        return self._with_posterior(model, sigma, log_prior, weights, 1)

    def _with_posterior(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights, steps: int
    ) -> tuple[Sums, FloatArray]:
        module = np if isinstance(sigma, np.ndarray) else self.xp
        posterior = module.empty((self.n_items, self.n_classes))
        return self._sweep(model, sigma, log_prior, weights, steps, posterior), posterior

    def _sweep(
        self,
        model: Model,
        sigma: FloatArray,
        log_prior: FloatArray,
        weights: Weights,
        steps: int,
        posterior: FloatArray | None,
    ) -> Sums:
        xp, n_classes, basis = self.xp, self.n_classes, model.item
        tables = xp.asarray(sigma)
        if basis is None or basis.size == 0:
            shifted = tables - tables.max(axis=2, keepdims=True)
            log_p = shifted - xp.log(xp.exp(shifted).sum(axis=2, keepdims=True))
            counts = self.count(log_p, log_prior, weights, posterior)
            observed = xp.asarray(counts.counts)
            gradient = observed - observed.sum(axis=2, keepdims=True) * xp.exp(log_p)
            return Sums(counts.objective, _like(gradient, sigma), _like(counts.totals, sigma))
        from crowdassay.kernels.gpu import make_solver  # noqa: PLC0415  numba loads on first use

        free, shape = contrasts(basis)
        exact = xp.clip(log_odds(tables), -CLAMP, CLAMP)
        rounded = xp.exp(exact).astype(np.float32)
        item = (
            xp.asarray(shape), np.float32(model.beta), steps, np.float32(self.item_tolerance), self._item_state(model),
        )  # fmt: skip
        n_values = n_classes * (n_classes - 1)
        scale = 2.0 ** (30 - math.ceil(math.log2(self.layout.busiest)))  # a place's sum of differences in 32 bits
        sums = xp.zeros(self.layout.n_places * (n_values // 2), np.int64)
        objective, totals = self._pass(
            ("solve", basis.size, free), lambda team: make_solver(n_classes, basis.size, free, team), rounded, n_values,
            log_prior, weights, scale, sums, item, posterior,
        )  # fmt: skip
        places = unpack(xp, sums).reshape(-1, n_classes, n_classes - 1)
        values = self.layout.by_worker(places, xp) / scale
        objective += float(xp.sum(values * (exact - xp.log(rounded.astype(float)))))  # as in `count`
        gradient = xp.empty((self.n_workers, n_classes, n_classes))
        gradient[:, :, 1:] = values
        gradient[:, :, 0] = -values.sum(axis=2)
        return Sums(objective, _like(gradient, sigma), _like(totals, sigma))

    def _pass(
        self,
        name: tuple[Any, ...],
        make: Callable[[bool], Any],
        entries: Array,
        n_values: int,
        log_prior: FloatArray,
        weights: Weights,
        scale: float,
        sums: Array,
        item: tuple[Any, ...],
        posterior: FloatArray | None,
    ) -> tuple[float, Array]:
        """Run a kernel over all groups of items, with rows of ``n_values`` entries and the arguments of an item block.

        Return the objective and the class totals; fill ``sums``, and the posterior where one is given.
        """
        xp, layout, n_classes = self.xp, self.layout, self.n_classes
        rows = xp.ascontiguousarray(layout.by_place(rows_of(xp, entries, n_values), xp)).ravel()
        partial = xp.zeros((BLOCKS, 1 + n_classes))
        found = xp.empty((0 if posterior is None else n_classes, self.n_items), np.float32)
        exact_prior = xp.asarray(log_prior, float)
        prior = exact_prior.astype(np.float32)
        for group in layout.groups:
            team = group.threads > 1
            if (name, team) not in self._compiled and self.announce is not None:
                self.announce("Compiling the kernels for the graphics card ...")
            self._compiled.add((name, team))
            kept = 4 * n_values * group.length if item else 0  # bytes of shared memory that a thread needs
            threads = group.threads if team else min(THREADS, max(32, SHARED // max(kept, 1) // 32 * 32))
            blocks = min(BLOCKS, group.n_items if team else -(-group.n_items // threads))
            launch(
                make(team), blocks, threads, 0 if team else kept * threads,
                group.codes, group.starts, group.length, group.first, group.n_items, rows, prior, int(weights), self._gold,
                self._given, np.float32(scale), sums, partial, found, *item,
            )  # fmt: skip
        if posterior is not None:
            posterior[:] = self._probabilities(found, posterior)
        total = partial.sum(axis=0)
        total[0] += total[1:] @ (exact_prior - prior)
        return float(total[0]), total[1:]

    def _tally(self, codes: Array, size: int) -> Array:
        from crowdassay.kernels.gpu import tally  # noqa: PLC0415  numba loads on first use

        counts = self.xp.zeros(size, np.int64)
        if len(codes):
            launch(tally, min(BLOCKS, -(-len(codes) // THREADS)), THREADS, 0, codes, counts)
        return counts

    def _item_state(self, model: Model) -> Array:
        size = model.item.size if model.item else 0
        if self._state is None or len(self._state) != size:
            self._state = self.xp.zeros((size, self.n_items), np.float32)
        return self._state

    def _probabilities(self, found: Array, like: FloatArray) -> FloatArray:
        weights = self._as_came(found)
        weights = (to_host(weights) if isinstance(like, np.ndarray) else weights).astype(float)
        return weights / weights.sum(axis=1, keepdims=True)

    def _in_order(self, values: Array) -> Array:
        """Put the rows of items into the order of the layout."""
        return values if self.layout.order is None else values[self.layout.order]

    def _as_came(self, columns: Array) -> Array:
        """Turn columns in the order of the layout into rows in the order of the labels."""
        if self.layout.order is None:
            return columns.T
        rows = self.xp.empty((columns.shape[1], columns.shape[0]), columns.dtype)
        rows[self.layout.order] = columns.T
        return rows


def _like(array: Array, model: FloatArray) -> FloatArray:
    """Bring an array to where another is."""
    return to_host(array) if isinstance(model, np.ndarray) else array
