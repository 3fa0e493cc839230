"""The local engine: labels in memory, blocks of items on threads, sums in a fixed order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import (
    GATHERED_LABELS,
    QUICK_CELLS,
    Ability,
    Announce,
    Counts,
    ItemEngine,
    ItemSums,
    ScaledSums,
    Sums,
    Weights,
)
from crowdassay.engines.blocks import ItemSelection, block_edges, code_cells
from crowdassay.engines.confusion import average_worker
from crowdassay.engines.kernels import small
from crowdassay.engines.memory.weak_items import ItemOutputs, WeakItemCoordinates, sweep_weak_items
from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Facts, Labels, shares, tally
from crowdassay.models.family import Model
from crowdassay.statistics import log_softmax
from crowdassay.threads import available_cores

LEAST_COUNTED = 131072  # labels of a block for a thread where items are only predicted, a few nanoseconds a label
LEAST_EFFECTS_BLOCK = 2048  # where effects are integrated out: an item costs far more there than elsewhere
EFFECT_NEWTON_STEPS = 25
UNROLLED_LABELS = 30_000  # labels from which compiling for the very number of classes pays
UNROLLED_CLASSES = 8  # classes up to which it does
SILENT_SECONDS = 0.5  # seconds after which a wait for the compiler is announced

Block = Callable[[int, int, FloatArray, FloatArray], float]


class LocalEngine(ItemEngine):
    """Sweep labels held in memory.

    Items are cut into blocks by the data alone, each block sums into its own buffer, and buffers are added in block order:
    the answer is the same to the last bit whatever the number of threads.

    Parameters
    ----------
    labels : Labels
    threads : int, optional
        Number of threads, by default all cores this process may use.
    warm : bool, optional
        Keep each item's coordinates between sweeps, ``n_items * rank`` numbers. Without, items start from zero each time. By
        default they are kept where the labels are few.
    gathered : bool, optional
        See `crowdassay.engines.base.Engine`; by default they are up to `GATHERED_LABELS`.
    item_tolerance : float
        An item stops when a Newton step promises to raise the objective by less than half of this.
    item_steps : int
        Passes over an item's labels allowed in one sweep.
    announce : callable, optional
        Called with a sentence when the first use of a kernel has to wait for the compiler.
    """

    can = frozenset({Ability.LABELS, Ability.WEIGHTS, Ability.EFFECTS})

    def __init__(
        self,
        labels: Labels,
        *,
        threads: int | None = None,
        warm: bool | None = None,
        gathered: bool | None = None,
        item_tolerance: float = 1e-10,
        item_steps: int = 100,
        announce: Announce | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ParameterError(f"threads must be at least 1, not {threads}.")
        self.labels, self.announce = labels, announce
        self.facts: Facts = labels
        self.gathered = labels.n_labels <= GATHERED_LABELS if gathered is None else gathered
        self._in_numpy = self.gathered and labels.n_labels <= small.FEW_LABELS  # without a wait for the compiler
        self.warm, self._kept = (self.gathered if warm is None else warm), bool(warm)
        self.threads = threads or available_cores()
        self.item_tolerance, self.item_steps = item_tolerance, item_steps
        self._given = np.zeros((1, self.n_classes))
        self._state: FloatArray | None = None
        self._judged: tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]] | None = None
        self._compiled: set[str] = set()
        self._pool = ThreadPoolExecutor(self.threads)  # starts threads when they are needed

    def gather(self, selection: ItemSelection) -> Labels:
        return selection.take(self.labels)

    def set_weights(self, weights: FloatArray) -> None:
        self._given = np.ascontiguousarray(weights)

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        return block_edges(self.labels)

    @cached_property
    def _counted(self) -> list[tuple[int, int]]:
        return block_edges(self.labels, LEAST_COUNTED)

    @cached_property
    def cells(self) -> NDArray[np.uint32]:
        """Worker and class of every label in one number, shape (n_labels,)."""
        return code_cells(self.labels)

    @cached_property
    def classes(self) -> tuple[int, ...] | IntArray:
        """As many entries as there are classes, by which kernels know their number.

        A tuple makes the compiler unroll all loops over classes, twice as fast where they are few. It compiles anew for every
        number of classes, though, and that pays only on many labels.
        """
        few = self.n_classes <= UNROLLED_CLASSES and self.n_labels > UNROLLED_LABELS
        return tuple(range(self.n_classes)) if few else np.arange(self.n_classes)

    def restart(self, coordinates: FloatArray | None = None) -> None:
        self._state = coordinates

    def keep_items(self) -> None:
        self.warm = self._kept = True

    def count(
        self,
        log_p: FloatArray,
        log_prior: FloatArray,
        weights: Weights = Weights.FREE,
        posterior: FloatArray | None = None,
    ) -> Counts:
        if self._in_numpy:
            held = shares(self.labels.votes()) if weights == Weights.VOTES else self._given
            objective, counts, totals, kept = small.count(
                self.labels, log_p, log_prior, None if weights == Weights.FREE else held
            )
            if posterior is not None:
                posterior[:] = kept
            return Counts(objective, counts, totals)
        from crowdassay.engines.kernels import count  # noqa: PLC0415  numba loads on first use

        data, n_classes, log_p = self.labels, self.n_classes, np.ascontiguousarray(log_p)
        p = np.exp(log_p.transpose(0, 2, 1), order="C").reshape(-1, n_classes)
        out = np.empty((0, n_classes)) if posterior is None else posterior

        def block(first: int, last: int, counts: FloatArray, totals: FloatArray) -> float:
            return count.count_items(
                self.classes, data.starts, data.worker, data.label, self.cells, data.gold, first, last, log_p, p, log_prior,
                int(weights), self._given, counts.reshape(-1, n_classes), totals, out,
            )  # fmt: skip

        objective, counts, totals = self._run("count", block, edges=self._counted)
        return Counts(objective, np.ascontiguousarray(counts.transpose(0, 2, 1)), totals)

    def tally(self, weights: FloatArray) -> FloatArray:
        if self._in_numpy:
            return tally(self.labels, weights)
        from crowdassay.engines.kernels import count  # noqa: PLC0415  numba loads on first use

        weights = np.ascontiguousarray(weights, np.float64)

        def block(first: int, last: int, counts: FloatArray, totals: FloatArray) -> float:
            count.tally_items(self.labels.starts, self.cells, first, last, weights, counts.reshape(-1, self.n_classes))
            return 0.0

        return np.ascontiguousarray(self._run("tally", block, edges=self._counted)[1].transpose(0, 2, 1))

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        if self._has_weak_items(model):
            return sweep_weak_items(self, model, log_softmax(sigma), log_prior, weights, max(self.item_tolerance, item_tol))
        return self._solve(model, sigma, log_prior, weights)

    def posteriors(self, model: Model, sigma: FloatArray, log_prior: FloatArray) -> tuple[Sums, FloatArray]:
        if self._has_weak_items(model):
            log_p, posterior = log_softmax(sigma), np.empty((self.n_items, self.n_classes))
            assert model.item is not None
            average = np.exp(log_softmax(average_worker(sigma, self.worker_counts)))  # whom most will ask about
            outputs = ItemOutputs(average, np.empty((0, model.item.size)), np.empty(self.n_items))
            sums = sweep_weak_items(self, model, log_p, log_prior, Weights.FREE, self.item_tolerance, posterior, outputs)
            self._judged = log_p, log_prior, (average, outputs.difficulty)
            return sums, posterior
        return super().posteriors(model, sigma, log_prior)

    def sweep_items(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights, steps: int
    ) -> tuple[Sums, FloatArray]:
        posterior = np.empty((self.n_items, self.n_classes))
        return self._solve(model, sigma, log_prior, weights, posterior, steps), posterior

    def integrate(
        self, p: FloatArray, log_prior: FloatArray, *, anchor: float, precision: float, effects: FloatArray
    ) -> ItemSums:
        """Find the posterior of every item with its effects integrated out; see `crowdassay.engines.kernels.random_items`.

        Parameters
        ----------
        p : ndarray of shape (n_workers, n_classes, n_classes)
            Workers' probabilities of an answer (last axis) by true class.
        log_prior : ndarray of shape (n_classes,)
        anchor : float
            Share of the votes in the class weights of the sums.
        precision : float
            Of the normal prior on every component of an effect.
        effects : ndarray of shape (n_items, n_classes, n_classes)
            Where each item starts; overwritten with its best effects by true class.
        """
        data, size = self.labels, self.n_classes
        if self._in_numpy and small.has_few_effects(data):
            objective, sums, totals, spread, posterior = small.integrate(
                data, p, log_prior, anchor, precision, EFFECT_NEWTON_STEPS, effects
            )
        else:
            from crowdassay.engines.kernels.random_items import integrate_items  # noqa: PLC0415  numba loads on first use

            posterior, p = np.empty((self.n_items, size)), np.ascontiguousarray(p)

            def block(first: int, last: int, sums: FloatArray, totals: FloatArray) -> float:
                return integrate_items(
                    data.starts, data.worker, data.label, data.gold, first, last, p, log_prior, anchor, precision,
                    EFFECT_NEWTON_STEPS, effects, sums, totals[:size], totals[size:], posterior,
                )  # fmt: skip

            edges = block_edges(data, LEAST_EFFECTS_BLOCK)
            objective, sums, totals = self._run("integrate", block, (size, 2 * size + 1), edges, n_totals=size + 2)
            totals, spread = totals[:size], totals[size:]
        observed, expected, variance = sums[:, :, :size], sums[:, :, size:-1], sums[:, :, -1]
        return ItemSums(objective, observed, expected, variance, totals, spread / self.n_items, posterior)

    def scaled(
        self,
        parameters: FloatArray,
        log_scale: FloatArray,
        weights: Weights = Weights.FREE,
        *,
        log_prior: FloatArray | None = None,
        plain: bool = False,
    ) -> ScaledSums:
        """Pass over items that scale their workers' tables; see `crowdassay.engines.kernels.scaled`.

        Parameters
        ----------
        parameters : ndarray of shape (n_workers, n_classes, n_classes) or (n_workers, 1)
            A table, or one ability, for each worker.
        log_scale : ndarray of shape (n_items,)
        weights : Weights
        log_prior : ndarray of shape (n_classes,), optional
            Without, all classes are equally likely.
        plain : bool
            Of tables, return observed minus expected counts, without the items' scales, instead of the gradient.
        """
        from crowdassay.engines.kernels.scaled import scale_abilities, scale_items  # noqa: PLC0415  numba loads on first use

        data, slope = self.labels, np.empty(self.n_items)
        posterior = np.empty((self.n_items, self.n_classes))
        log_prior = np.full(self.n_classes, -np.log(self.n_classes)) if log_prior is None else log_prior
        parameters, log_scale = np.ascontiguousarray(parameters), np.ascontiguousarray(log_scale)
        tables = parameters.ndim == 3
        kernel: Callable[..., float] = scale_items if tables else scale_abilities
        options = (plain,) if tables else ()

        def block(first: int, last: int, gradient: FloatArray, totals: FloatArray) -> float:
            return kernel(
                data.starts, data.worker, data.label, data.gold, first, last, parameters, log_scale, log_prior,
                int(weights), self._given, *options, gradient, totals, slope, posterior,
            )  # fmt: skip

        objective, gradient, _ = self._run("tables" if tables else "abilities", block, parameters.shape[1:])
        return ScaledSums(objective, gradient, slope, posterior)

    def coordinates(self, model: Model) -> FloatArray:
        """Return the items' coordinates of the last pass that kept them, (n_items, size), or weak ones to be computed."""
        if self._has_weak_items(model) and self._judged is not None:
            log_p, log_prior, seen = self._judged
            coordinates = WeakItemCoordinates(self.labels, model, log_p, log_prior, self.item_tolerance, self.threads, seen)
            return cast(FloatArray, coordinates)
        return self._item_state(model).copy()

    def _item_state(self, model: Model) -> FloatArray:
        size = model.item.size if model.item else 0
        if self._state is None or self._state.shape[1] != size:
            self._state = np.zeros((self.n_items, size))
        return self._state

    def _solve(
        self,
        model: Model,
        sigma: FloatArray,
        log_prior: FloatArray,
        weights: Weights,
        posterior: FloatArray | None = None,
        max_steps: int | None = None,
    ) -> Sums:
        data, basis = self.labels, model.item
        if basis is None:
            log_p = log_softmax(sigma)
            return self.count(log_p, log_prior, weights, posterior).as_sums(log_p)
        from crowdassay.engines.kernels import compiled  # noqa: PLC0415  numba loads on first use

        out = np.empty((0, self.n_classes)) if posterior is None else posterior
        # A last pass keeps what it finds even where sweeps start from zero.
        state = self._item_state(model) if self.warm or posterior is not None else np.empty((0, basis.size))
        exp_sigma = np.empty_like(sigma)

        def block(first: int, last: int, gradient: FloatArray, totals: FloatArray) -> float:
            return compiled.solve_items(
                data.starts, data.worker, data.label, data.gold, first, last, exp_sigma, log_prior,
                basis.columns, basis.offsets, basis.widths, model.beta, int(weights), self._given,
                max_steps or self.item_steps, self.item_tolerance, state, gradient, totals, out,
            )  # fmt: skip

        with self._waiting("exp"):
            compiled.floored_exp(sigma, exp_sigma)
        return Sums(*self._run("solve", block))

    def _has_weak_items(self, model: Model) -> bool:
        """Whether items go without coordinates between sweeps, their tables staying small.

        Few items of few classes keep theirs: a pass takes no time, and one kernel less is compiled.
        """
        spared = self.gathered and self.n_labels * self.n_classes**2 <= QUICK_CELLS
        return not self._kept and not (self.warm and spared) and model.has_weak_items(self.labels.longest)

    def _run(
        self,
        kernel: str,
        block: Block,
        cells: tuple[int, ...] | None = None,
        edges: list[tuple[int, int]] | None = None,
        n_totals: int | None = None,
    ) -> tuple[float, FloatArray, FloatArray]:
        """Run ``block`` over all blocks of items at once and add what they return, in block order."""
        shape, size = (self.n_workers, *(cells or (self.n_classes, self.n_classes))), n_totals or self.n_classes
        if kernel not in self._compiled:
            with self._waiting(kernel):  # an empty range: nothing but the compilation
                block(0, 0, np.zeros(shape), np.zeros(size))

        def work(edge: tuple[int, int]) -> tuple[float, FloatArray, FloatArray]:
            sums, totals = np.zeros(shape), np.zeros(size)
            return block(*edge, sums, totals), sums, totals

        objective, sums, totals = 0.0, np.zeros(shape), np.zeros(size)
        blocks = edges or self._blocks
        for part in self._pool.map(work, blocks) if min(self.threads, len(blocks)) > 1 else map(work, blocks):
            objective += part[0]
            sums += part[1]
            totals += part[2]
        return objective, sums, totals

    @contextmanager
    def _waiting(self, kernel: str) -> Iterator[None]:
        """Announce once that kernels are being compiled if the first use of one does not return at once."""
        timer = threading.Timer(SILENT_SECONDS, self._say)
        if kernel not in self._compiled and self.announce is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()
        self._compiled.add(kernel)

    def _say(self) -> None:
        if self.announce is not None:
            self.announce("Compiling the kernels, once after installation ...")
            self.announce = None
