"""The files engine: labels in a spool on disk, a few blocks of items in memory at a time, sums in a fixed order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Ability, Counts, Sums, Weights
from crowdassay.engines.gather import ItemSelection, join, take
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.memory.weak_items import has_weak_items
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model
from crowdassay.threads import available_cores

if TYPE_CHECKING:
    from crowdassay.labels.spool import Spool  # Parquet is slow to load

T = TypeVar("T")


class FilesEngine:
    """Sweep labels that lie in a spool.

    Each block of items goes through a local engine of its own; the blocks are those of the spool and their sums are added in
    block order, so that the answer is the same to the last bit whatever the number of threads. Items carry nothing from sweep
    to sweep.

    Parameters
    ----------
    spool : Spool
    threads : int, optional
        Number of blocks in work at a time, by default all cores this process may use; one more may be waiting.
    item_tolerance, item_steps, announce
        As for `LocalEngine`.
    """

    gathered = False
    can: frozenset[Ability] = frozenset()
    xp = np

    def __init__(
        self,
        spool: Spool,
        *,
        threads: int | None = None,
        item_tolerance: float = 1e-10,
        item_steps: int = 100,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.spool, self.threads, self.announce = spool, threads, announce
        self.n_items, self.n_workers = spool.n_items, len(spool.workers)
        self.n_classes, self.n_labels = len(spool.classes), spool.n_labels
        self._options: dict[str, Any] = {"item_tolerance": item_tolerance, "item_steps": item_steps}

    @property
    def worker_counts(self) -> IntArray:
        """Number of labels of each worker, shape (n_workers,)."""
        return self.spool.worker_counts

    @property
    def class_counts(self) -> IntArray:
        """Number of labels of each class, and of items known to have it, shape (n_classes,)."""
        return self.spool.class_counts

    def restart(self) -> None:
        """There is nothing to forget."""

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities."""

        def work(number: int) -> tuple[float, FloatArray, FloatArray]:
            part = self._local(number).count(log_p, log_prior, weights)
            return part.objective, part.counts, part.totals

        return Counts(*self._add(work))

    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items of all blocks."""
        blocks = range(len(self.spool.sizes))
        firsts = self.spool.first_item
        blocks_from = ((self.spool.block(number), int(firsts[number])) for number in blocks)
        return join(take(labels, selection.rows(labels, first)) for labels, first in blocks_from)

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        """Fit every item at the worker tables ``sigma`` and return the sums."""
        weak_items = has_weak_items(model, self.spool.longest)

        def work(number: int) -> tuple[float, FloatArray, FloatArray]:
            part = self._local(number, weak_items=weak_items).sweep(model, sigma, log_prior, weights, item_tol)
            return part.objective, part.gradient, part.totals

        return Sums(*self._add(work))

    def _local(self, number: int, *, weak_items: bool = False) -> LocalEngine:
        announce = self.announce if number == 0 else None
        return BlockEngine(self.spool.block(number), weak_items=weak_items, threads=1, announce=announce, **self._options)

    def _add(self, work: Callable[[int], tuple[float, FloatArray, FloatArray]]) -> tuple[float, FloatArray, FloatArray]:
        objective, totals = 0.0, np.zeros(self.n_classes)
        sums = np.zeros((self.n_workers, self.n_classes, self.n_classes))
        for part in each_block(work, len(self.spool.sizes), self.threads):
            objective += part[0]
            sums += part[1]
            totals += part[2]
        return objective, sums, totals


def each_block(work: Callable[[int], T], n_blocks: int, threads: int | None, *, spare: int = 1) -> Iterator[T]:
    """Call ``work`` with the number of every block and yield the results in order, few at a time in memory.

    ``spare`` results may wait, so that no thread does while one is looked at; 0 saves memory where results are large.
    """
    threads = threads or available_cores()
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[T]] = deque()
        for number in range(n_blocks):
            waiting.append(pool.submit(work, number))
            if len(waiting) >= threads + spare:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class BlockEngine(LocalEngine):
    """A local engine that takes all its items as one block, since it is one of many already; they carry nothing between sweeps.

    ``weak_items`` says whether the items' tables stay small, which is decided for all blocks alike.
    """

    def __init__(self, labels: Labels, *, weak_items: bool, **options: Any) -> None:
        super().__init__(labels, gathered=False, **options)
        self._blocks = self._counted = [(0, labels.n_items)]
        self._all_weak = weak_items

    def _has_weak_items(self, model: Model) -> bool:
        return self._all_weak and model.item is not None
