"""The files engine: labels in a spool on disk, a few blocks of items in memory at a time, sums in a fixed order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.engines.base import Counts, Sums, Weights
from crowdassay.engines.gather import Wanted, join, take
from crowdassay.engines.light import is_light
from crowdassay.engines.local import SMALL, LocalEngine
from crowdassay.io.spool import Spool
from crowdassay.model.family import Model
from crowdassay.threads import available_cores

T = TypeVar("T")


class FilesEngine:
    """Sweep labels that lie in a spool.

    Each block of items goes through a local engine of its own; the blocks are those of the spool and their sums are added in
    block order, so that the answer is the same to the last bit whatever the number of threads.

    Parameters
    ----------
    spool : Spool
    threads : int, optional
        Number of blocks in work at a time, by default all cores this process may use; one more may be waiting.
    warm : bool, optional
        Keep each item's coordinates between sweeps, in a file beside the spool. Without, items start from zero each time;
        None decides as `LocalEngine` does, by the number of labels and the strength of the items' penalty.
    item_tolerance, item_steps, announce
        As for `LocalEngine`.
    """

    def __init__(
        self,
        spool: Spool,
        *,
        threads: int | None = None,
        warm: bool | None = None,
        item_tolerance: float = 1e-10,
        item_steps: int = 100,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.spool, self.warm, self.threads = spool, warm, threads or available_cores()
        self.n_items, self.n_workers = spool.n_items, len(spool.workers)
        self.n_classes, self.n_labels = len(spool.classes), spool.n_labels
        self._options: dict[str, Any] = {"item_tolerance": item_tolerance, "item_steps": item_steps}
        self._announce = announce
        self.loose = 0.0  # an item tolerance that does while the workers still move, set by solvers
        self._state = spool.folder / "coordinates.f64"
        self._kept = 0  # numbers that the state file holds for each item; 0 for none

    @property
    def worker_counts(self) -> IntArray:
        """Number of labels of each worker, shape (n_workers,)."""
        return self.spool.worker_counts

    def restart(self) -> None:
        """Forget the items' coordinates."""
        self._kept = 0

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities."""

        def work(number: int) -> tuple[float, FloatArray, FloatArray]:
            part = self._local(number).count(log_p, log_prior, weights)
            return part.objective, part.counts, part.totals

        return Counts(*self._add(work))

    def sweep(self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Sums:
        """Fit every item at the worker tables ``sigma`` and return the sums."""
        keeps = model.item is not None and self.warm is not False and not self._light(model)

        def work(number: int) -> tuple[float, FloatArray, FloatArray]:
            engine = self.at_block(number, model)
            engine.loose = self.loose
            part = engine.sweep(model, sigma, log_prior, weights)
            if keeps:
                self._keep(number, engine.coordinates(model))
            return part.objective, part.gradient, part.totals

        sums = Sums(*self._add(work))
        self._kept = model.item.size if keeps and model.item else self._kept
        return sums

    def gather(self, wanted: Wanted) -> Labels:
        """Return the labels of a few items of all blocks."""

        def work(number: int) -> Labels:
            labels = self.spool.block(number)
            return take(labels, wanted.rows(labels, int(self.spool.first_item[number])))

        return join(self.each(work))

    def at_block(self, number: int, model: Model | None = None, *, ids: bool = False) -> LocalEngine:
        """Return a local engine that holds one block, its items where the last sweep left them."""
        light = model is not None and self._light(model)
        engine = self._local(number, ids=ids, light=light)
        if model is not None and model.item is not None and self._kept == model.item.size and not light:
            first, last = self.spool.first_item[[number, number + 1]]
            kept = np.fromfile(self._state, np.float64, (last - first) * self._kept, offset=first * self._kept * 8)
            engine.restart(kept.reshape(-1, self._kept))
        return engine

    def each(self, work: Callable[[int], T], *, spare: int = 1) -> Iterator[T]:
        """Call ``work`` with the number of every block and yield the results in order, few at a time in memory.

        ``spare`` results may wait, so that no thread does while one is looked at; 0 saves memory where results are large.
        """
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Future[T]] = deque()
            for number in range(len(self.spool.sizes)):
                waiting.append(pool.submit(work, number))
                if len(waiting) >= self.threads + spare:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _local(self, number: int, *, ids: bool = False, light: bool = False) -> LocalEngine:
        labels, announce = self.spool.block(number, ids=ids), self._announce if number == 0 else None
        return BlockEngine(labels, light=light, threads=1, warm=self.warm is not False, announce=announce, **self._options)

    def _light(self, model: Model) -> bool:
        """Whether items go without coordinates, decided for all blocks alike and as in memory."""
        if self.warm or (self.warm is None and self.n_labels <= SMALL):
            return False
        return is_light(model, self.spool.longest)

    def _keep(self, number: int, coordinates: FloatArray) -> None:
        self._state.touch()
        with self._state.open("r+b") as file:
            file.seek(int(self.spool.first_item[number]) * coordinates.shape[1] * 8)
            coordinates.tofile(file)

    def _add(self, work: Callable[[int], tuple[float, FloatArray, FloatArray]]) -> tuple[float, FloatArray, FloatArray]:
        objective, totals = 0.0, np.zeros(self.n_classes)
        sums = np.zeros((self.n_workers, self.n_classes, self.n_classes))
        for part in self.each(work):
            objective += part[0]
            sums += part[1]
            totals += part[2]
        return objective, sums, totals


class BlockEngine(LocalEngine):
    """A local engine that takes all its items as one block, since it is one of many already.

    ``light`` says whether items go without coordinates; None lets the block decide for itself.
    """

    def __init__(self, labels: Labels, *, light: bool | None = None, **options: Any) -> None:
        super().__init__(labels, **options)
        self._blocks = self._counted = [(0, labels.n_items)]
        self._all_light = light

    def _light(self, model: Model) -> bool:
        return super()._light(model) if self._all_light is None else self._all_light
