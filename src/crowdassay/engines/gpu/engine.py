"""The engine on a GPU: labels live there or pass over it, and sums of the size of the workers come back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Ability, Announce, Counts, Engine, ItemEngine, Sums, Weights
from crowdassay.engines.blocks import ItemSelection
from crowdassay.engines.gpu.device import (
    CLAMP,
    FINER,
    Array,
    array_module,
    contrasts,
    for_kernels,
    launch,
    log_odds,
    missing,
    rows_of,
    to_host,
    unpack,
)
from crowdassay.engines.gpu.layout import Group, Layout, Listing, gather_items, lay_out, list_items
from crowdassay.engines.gpu.store import OnGpu, choose_store
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.labels.labels import Facts, Labels, Vocabularies
from crowdassay.labels.report import ImportReport
from crowdassay.models.family import Model
from crowdassay.statistics import log_softmax

LAUNCH_BLOCKS, LAUNCH_THREADS = 4096, 128  # of a launch, and of a block in which every item has a thread of its own
SHARED_BYTES = 46 * 1024  # bytes of a block's own memory
MOST_THREAD_LABELS = 32  # of an item that one thread takes


@dataclass(frozen=True, eq=False)
class _ArrayFacts(Vocabularies):
    """The facts of labels that are arrays without names; see `Facts`."""

    n_items: int
    n_labels: int
    longest: int
    n_gold: int
    workers: pa.Array
    classes: pa.Array
    worker_counts: IntArray
    class_counts: IntArray
    report: ClassVar[ImportReport] = ImportReport()
    frame: ClassVar[str] = "pyarrow"


class GpuEngine(ItemEngine):
    """Sweep labels on a GPU, in single precision with sums in fixed point; see `crowdassay.engines.kernels.gpu`.

    The answer does not change from run to run, nor with where the labels are: `crowdassay.engines.gpu.store`. Arrays go in and
    come out where they are: NumPy's in the machine's memory, CuPy's on the GPU.

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
        Called with a sentence when something takes time that the caller may not expect.
    """

    labels: Labels | None = None
    can = frozenset({Ability.WEIGHTS, Ability.GPU, Ability.POOL})

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
        announce: Announce | None = None,
    ) -> None:
        self.xp = xp = array_module()
        n_items = len(worker) // starts if isinstance(starts, int) else len(starts) - 1
        self.store = choose_store(len(worker), n_items, n_workers, n_classes, announce)
        self.item_tolerance, self.item_steps, self.announce = item_tolerance, item_steps, announce
        if not isinstance(starts, int):
            lengths = starts[1:] - starts[:-1]
            longest = int(lengths.max())
            if int(lengths.min()) == longest:
                starts = longest
        else:
            longest = starts
        self.layout: Layout = lay_out(
            xp, self._tally, self.store.keep, worker, label, starts, n_workers, n_classes, MOST_THREAD_LABELS
        )
        known = None if gold is None or not bool((gold >= 0).any()) else gold
        class_counts = np.asarray(to_host(self.layout.label_counts.sum(axis=0)))
        if known is not None:
            class_counts = class_counts + np.bincount(to_host(known[known >= 0]), minlength=n_classes)
        self.facts: Facts = _ArrayFacts(
            n_items, len(worker), longest, 0 if known is None else int((known >= 0).sum()), pa.nulls(n_workers),
            pa.nulls(n_classes), to_host(self.layout.label_counts.sum(axis=1)), class_counts,
        )  # fmt: skip
        self._most = int(self.worker_counts.max())
        self._gold = None if known is None else self._in_groups(known, np.int16)
        self._given: list[Array] | None = None
        self._state: list[Array] | None = None

    @classmethod
    def of(cls, labels: Labels, **options: Any) -> Self:
        """Lay labels out for the GPU."""
        engine = cls(
            labels.worker, labels.label, labels.starts, labels.n_workers, labels.n_classes, gold=labels.gold, **options
        )
        engine.labels = engine.facts = labels
        return engine

    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items; of arrays on the GPU, without names."""
        if self.labels is not None:
            return selection.take(self.labels)
        return gather_items(self.layout, self._gold, selection, self.n_classes, self.xp)

    def to_host(self, array: Array) -> FloatArray:
        return to_host(array)

    def set_weights(self, weights: FloatArray) -> None:
        self._given = self._in_groups(weights, np.float32)

    def restart(self, coordinates: FloatArray | None = None) -> None:
        """Forget the items' coordinates; they are not given back to the GPU, which finds them anew."""
        self._state = None

    def keep_items(self) -> None:
        """The GPU always keeps the items' coordinates between sweeps."""

    def coordinates(self, model: Model) -> FloatArray:
        """Return the items' coordinates of the last sweep, (n_items, size)."""
        if model.item is None:
            return np.zeros((self.n_items, 0))
        rows = self.store.xp.empty((self.n_items, model.item.size), np.float32)
        rows = np.asarray(to_host(self._as_came(self._item_state(model.item.size), rows)), float)
        if not model.item.free:
            return rows
        tables = np.zeros((self.n_items, self.n_classes, self.n_classes))  # the kernels keep log odds
        tables[:, :, 1:] = rows.reshape(self.n_items, self.n_classes, -1)
        return model.item.coordinates(tables)

    def count(
        self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, posterior: FloatArray | None = None
    ) -> Counts:
        seen = self.layout.label_counts
        by_label = self.xp.asarray(log_p).transpose(0, 2, 1)  # the true class last
        exact = log_odds(by_label)
        rounded = exact.astype(np.float32)
        objective, totals, counts = self._count(rounded, log_prior, weights, posterior)
        objective += float(self.xp.sum(seen * self.xp.where(seen > 0, by_label[:, :, 0], 0.0)))
        # What rounding the tables has moved, to first order.
        objective += float(self.xp.sum(counts.transpose(0, 2, 1)[:, :, 1:] * (exact - rounded)))
        return Counts(objective, _like(counts, log_p), _like(totals, log_p))

    def pool(
        self, tables: FloatArray, voice: FloatArray, offset: FloatArray, bias: FloatArray, law: tuple[float, ...]
    ) -> tuple[FloatArray, FloatArray]:
        """Judge all items by a pool; see `crowdassay.solvers.assay.pool` for what goes in.

        The ``law`` of what labels are worth: the weight of the vote, the correlation, and from how many labels on logits grow
        and how fast.

        Returns
        -------
        posterior : array of shape (n_items, n_classes)
        counts : array of shape (n_workers, n_classes, n_classes)
            Expected number of labels by worker, true class and observed class.
        """
        module = np if isinstance(tables, np.ndarray) else self.store.xp
        posterior = module.empty((self.n_items, self.n_classes))
        xp, n_classes = self.xp, self.n_classes
        rows = xp.empty((self.n_workers, n_classes, n_classes), np.float32)
        rows[:, :, :-1] = log_odds(xp.asarray(tables).transpose(0, 2, 1))
        rows[:, :, -1] = xp.asarray(voice)[:, None]
        told = np.concatenate([offset, bias, law])
        counts = self._count(rows, told, Weights.FREE, posterior, pooled=True)[2]
        return posterior, _like(counts, tables)

    def _count(
        self, rows: Array, log_prior: FloatArray, weights: Weights, posterior: FloatArray | None, *, pooled: bool = False
    ) -> tuple[float, Array, Array]:
        """Return the objective, the class totals and the expected counts, from rows by worker and observed class."""
        from crowdassay.engines.kernels.gpu import make_counter  # noqa: PLC0415  numba loads on first use

        xp, n_classes = self.xp, self.n_classes
        scale = 2.0 ** (61 - math.ceil(math.log2(self._most)))  # a worker's sum of weights in 64 bits
        sums = xp.zeros((2, self.layout.n_places, n_classes, n_classes), np.int64)
        listing = self._listing
        objective, totals = self._pass(
            lambda team, _: make_counter(n_classes, team, pooled), rows, rows.shape[2], log_prior, weights, scale,
            sums.ravel() if listing is None else xp.zeros(0, np.int64), posterior, listing=listing,
        )  # fmt: skip
        if listing is not None:
            listing.collect(n_classes, scale, sums.ravel())
        coarse, fine = (self.layout.by_worker(part, xp) / scale for part in sums)
        return objective, totals, xp.ascontiguousarray((coarse + fine / FINER).transpose(0, 2, 1))

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        return self._sweep(model, sigma, log_prior, weights, self.item_steps, None, item_tol)

    def sweep_items(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights, steps: int
    ) -> tuple[Sums, FloatArray]:
        module = np if isinstance(sigma, np.ndarray) else self.store.xp
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
        item_tol: float = 0.0,
    ) -> Sums:
        xp, n_classes, basis = self.xp, self.n_classes, model.item
        tables = xp.asarray(sigma)
        if basis is None or basis.size == 0:
            log_p = log_softmax(tables)
            sums = self.count(log_p, log_prior, weights, posterior).as_sums(log_p)
            return Sums(sums.objective, _like(sums.gradient, sigma), _like(sums.totals, sigma))
        from crowdassay.engines.kernels.gpu import make_solver  # noqa: PLC0415  numba loads on first use

        free, shape = contrasts(basis)
        weak_items = n_classes > 2 and model.has_weak_items(self.facts.longest)  # two classes have one equation each
        tolerance = max(self.item_tolerance, item_tol) if weak_items else self.item_tolerance
        exact = xp.clip(log_odds(tables), -CLAMP, CLAMP)
        rounded = xp.exp(exact).astype(np.float32)
        item = (for_kernels(xp.asarray(shape)), np.float32(model.beta), steps, np.float32(tolerance))
        n_values = n_classes * (n_classes - 1)
        scale = 2.0 ** (30 - math.ceil(math.log2(self.layout.busiest)))  # a place's sum of differences in 32 bits
        sums = xp.zeros(self.layout.n_places * (n_values // 2), np.int64)
        objective, totals = self._pass(
            lambda team, kept: make_solver(n_classes, basis.size, free, weak_items, team, kept), rounded,
            n_values, log_prior, weights, scale, sums, posterior, item, self._item_state(basis.size),
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
        make: Callable[[bool, bool], Any],
        entries: Array,
        n_values: int,
        log_prior: FloatArray,
        weights: Weights,
        scale: float,
        sums: Array,
        posterior: FloatArray | None,
        item: tuple[Any, ...] = (),
        states: list[Array] | None = None,
        listing: Listing | None = None,
    ) -> tuple[float, Array]:
        """Run a kernel over all groups of items, with rows of ``n_values`` entries and the arguments of an item block.

        Return the objective and the class totals; fill ``sums``, and the posterior where one is given.
        """
        xp, groups, n_classes = self.xp, self.layout.groups, self.n_classes
        if self.announce is not None:  # once
            self.announce("Preparing the kernels for the graphics card ...")
            self.announce = None
        rows = xp.ascontiguousarray(self.layout.by_place(rows_of(xp, entries, n_values), xp)).ravel()
        exact_prior = xp.asarray(log_prior, float)
        prior = exact_prior.astype(np.float32)
        partial = xp.zeros((LAUNCH_BLOCKS, 1 + n_classes))
        shared = [for_kernels(array) for array in (rows, prior, sums, partial)]
        per_item = None if posterior is None else self._item_arrays(n_classes)
        given = self._given if weights == Weights.GIVEN else None
        parts = {"gold": self._gold, "given": given, "state": states, "found": per_item}
        present = {name: arrays for name, arrays in parts.items() if arrays is not None}
        absent = {"gold": xp.zeros(0, np.int16), "given": xp.zeros((0, 0), np.float32), "found": xp.zeros((0, 0), np.float32)}
        absent = {name: for_kernels(array) for name, array in absent.items()}
        batches = [
            {"codes": group.codes, "starts": group.starts} | {name: arrays[at] for name, arrays in present.items()}
            for at, group in enumerate(groups)
        ]
        rows_out = for_kernels(xp.zeros(0, np.float32) if listing is None else listing.rows)
        for at, batch, stream in self.store.visit(batches, tuple(name for name in ("state", "found") if name in present)):
            here = absent | {name: for_kernels(array) for name, array in batch.items()}
            keeps, blocks, threads, room = _launch_of(groups[at], n_values if item else 0)
            launch(
                make(groups[at].threads > 1, keeps), blocks, threads, room, stream,
                here["codes"], here["starts"], groups[at].length, groups[at].n_items, *shared[:2], int(weights), here["gold"],
                here["given"], np.float32(scale), *shared[2:], here["found"],
                *([*item, here["state"]] if item else [rows_out, 0 if listing is None else listing.firsts[at]]),
            )  # fmt: skip
        if posterior is not None and per_item is not None:
            self._fill(posterior, per_item)
        total = partial.sum(axis=0)
        total[0] += total[1:] @ (exact_prior - prior)[:n_classes]
        return float(total[0]), total[1:]

    @cached_property
    def _listing(self) -> Listing | None:
        """Which items each worker has labelled; only where all labels are on the GPU."""
        if not isinstance(self.store, OnGpu):
            return None
        return list_items(self.xp, self.layout, self.n_classes)

    def _tally(self, codes: Array, counts: Array) -> None:
        from crowdassay.engines.kernels.gpu_item import tally  # noqa: PLC0415  numba loads on first use

        if len(codes):
            blocks = min(LAUNCH_BLOCKS, -(-len(codes) // LAUNCH_THREADS))
            launch(tally, blocks, LAUNCH_THREADS, 0, None, for_kernels(codes), for_kernels(counts))

    def _item_state(self, size: int) -> list[Array]:
        if self._state is None or len(self._state[0]) != size:
            self._state = self._item_arrays(size)
            for array in self._state:
                array.fill(0)
        return self._state

    def _item_arrays(self, size: int) -> list[Array]:
        """Return an array (size, n_items) for each group."""
        return [self.store.empty((size, group.n_items)) for group in self.layout.groups]

    def _fill(self, posterior: FloatArray, arrays: list[Array]) -> None:
        """Write probabilities that groups have found into an array (n_items, n_classes)."""
        near = isinstance(posterior, np.ndarray) == (self.store.xp is np)
        rows = self._as_came(arrays, posterior if near else self.store.xp.empty(posterior.shape))
        rows /= rows.sum(axis=1, keepdims=True)
        if not near:
            posterior[:] = to_host(rows)

    def _in_groups(self, values: Array, dtype: DTypeLike) -> list[Array]:
        """Take the rows of items apart into columns of groups."""
        rows, xp = self.store.bring(values), self.store.xp
        return [self.store.keep(xp.ascontiguousarray(rows[group.items].T, dtype=dtype)) for group in self.layout.groups]

    def _as_came(self, columns: list[Array], rows: Array) -> Array:
        """Turn columns of groups into rows in the order of the labels, and return them."""
        for group, part in zip(self.layout.groups, columns, strict=True):
            rows[group.items] = part.T
        return rows


@dataclass(frozen=True, eq=False)
class GpuPlace(MemoryPlace):
    """Hold labels in memory and on a GPU; without a usable GPU, say so in a sentence and do without."""

    @property
    def engine_name(self) -> str:
        return "gpu"

    def engine(self, *, gathered: bool, announce: Announce | None = None) -> Engine:
        """Return an engine on the GPU; labels that are few are fitted as everywhere, without it."""
        reason = missing()
        if reason is not None:
            if announce is not None:
                announce(reason)
            else:
                warnings.warn(reason, stacklevel=2)
        if gathered or reason is not None:
            return super().engine(gathered=gathered, announce=announce)
        return GpuEngine.of(self.labels, announce=announce)


def _launch_of(group: Group, n_values: int) -> tuple[bool, int, int, int]:
    """Return whether threads keep rows of so many values, blocks, threads of a block, and bytes of its shared memory."""
    if group.threads > 1:
        return False, min(LAUNCH_BLOCKS, group.n_items), group.threads, 0
    wanted = 4 * n_values * group.length
    keeps = 0 < 32 * wanted <= SHARED_BYTES
    threads = min(LAUNCH_THREADS, SHARED_BYTES // wanted // 32 * 32) if keeps else LAUNCH_THREADS
    return keeps, min(LAUNCH_BLOCKS, -(-group.n_items // threads)), threads, wanted * threads if keeps else 0


def _like(array: Array, model: FloatArray) -> FloatArray:
    """Bring an array to where another is."""
    return to_host(array) if isinstance(model, np.ndarray) else array
