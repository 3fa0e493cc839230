"""The Spark engine: blocks of items on a cluster, one job a sweep, sums of the size of the workers on the driver."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Ability, Counts, Sums, Weights
from crowdassay.engines.gather import ItemSelection, join
from crowdassay.engines.memory.weak_items import has_weak_items
from crowdassay.engines.spark.copies import MISSING, FromCopies, LeaveCopies
from crowdassay.engines.spark.data import SparkLabels
from crowdassay.engines.spark.session import is_connect, run
from crowdassay.engines.spark.tasks import (
    CODES,
    GATHERED,
    SUMS,
    Gather,
    Sweep,
    add,
    block_labels,
    block_number,
    read_sums,
    rows_of,
)
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model
from crowdassay.statistics import log_softmax

DIRECT_BYTES = 64 * 10**6  # sums of all partitions that the driver collects and adds by itself
SHARD_BYTES = 4 * 10**6
MOST_MISSED = 3  # sweeps that may find a copy missing before copies are no longer looked for


class SparkEngine:
    """Sweep labels that are in Spark.

    The tables travel to the executors with the function that reads them; every partition returns its sums. Where those of
    all partitions together are large, executors add them, each a range of workers, and the driver collects one table. Sums
    are added in the order of the blocks, so that the same partitions give the same bits. Items carry nothing from sweep to
    sweep: a lost executor costs the partitions it held and nothing else.

    Parameters
    ----------
    data : SparkLabels
    direct_bytes : int
        Size of all partitions' sums up to which the driver adds them.
    """

    gathered = False
    can: frozenset[Ability] = frozenset()
    xp = np

    def __init__(self, data: SparkLabels, *, direct_bytes: int = DIRECT_BYTES) -> None:
        self.data, self.direct_bytes = data, direct_bytes
        self.n_items, self.n_workers = data.n_items, len(data.workers)
        self.n_classes, self.n_labels = len(data.classes), data.n_labels
        self._codes, self._numbers = data.blocks.select(*CODES), data.blocks.select("block")
        self._token, self._copied, self._missed = uuid.uuid4().hex, False, 0

    @property
    def worker_counts(self) -> IntArray:
        """Number of labels of each worker, shape (n_workers,)."""
        return self.data.worker_counts

    @property
    def class_counts(self) -> IntArray:
        """Number of labels of each class, and of items known to have it, shape (n_classes,)."""
        return self.data.class_counts

    def restart(self) -> None:
        """There is nothing to forget."""

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities."""
        return Counts(*self._run(Sweep(log_p, log_prior, weights, None)))

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        """Fit every item at the worker tables ``sigma`` and return the sums."""
        if model.item is not None:
            weak_items = has_weak_items(model, self.data.longest)
            return Sums(*self._run(Sweep(sigma, log_prior, weights, model, weak_items=weak_items, item_tol=item_tol)))
        log_p = log_softmax(sigma)
        sums = self.count(log_p, log_prior, weights)
        return Sums(sums.objective, sums.counts - sums.counts.sum(axis=2, keepdims=True) * np.exp(log_p), sums.totals)

    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items of all blocks, on the driver; steps are counted within blocks."""
        task = Gather(selection, self.n_workers, self.n_classes)
        rows = sorted(rows_of(run(lambda: self._codes.mapInArrow(task, GATHERED).toArrow()).to_batches()), key=block_number)
        names = {"workers": self.data.workers, "classes": self.data.classes}
        return join(block_labels(row, self.n_workers, self.n_classes, **names) for row in rows)

    def _run(self, task: Sweep) -> tuple[float, FloatArray, FloatArray]:
        objective, totals, sums = read_sums(self._from_copies(task) or self._reduce(self._codes, task))
        return objective, sums.reshape(task.tables.shape), totals

    def _from_copies(self, task: Sweep) -> pa.Table | None:
        """Run a task on copies of the blocks, leaving some where there are none; None where that does not serve."""
        if self.data.folder is not None or self._missed > MOST_MISSED:
            return None
        if self._copied:
            table = self._by_number(task)
            if MISSING not in table["shard"].to_pylist():
                return table
            self._missed += 1
        self.data.copies.add(self._token)
        self._copied = True
        return self._reduce(self._codes, task, partial(LeaveCopies, self._token))

    def _by_number(self, task: Sweep) -> pa.Table:
        """Run a task on copies of the blocks, of which Spark brings the numbers alone."""
        from_copies = partial(FromCopies, self._token)
        if is_connect(self._numbers) or not self._is_small(task):
            return self._reduce(self._numbers, task, from_copies)
        return run(lambda: pa.Table.from_batches(self._held.mapPartitions(from_copies(task).run).collect()))

    @cached_property
    def _held(self) -> Any:
        """The numbers where the blocks are, for plain jobs: to plan a query takes Spark longer than many a sweep."""
        numbers, context = self._numbers.rdd.map(itemgetter(0)), self.data.blocks.sparkSession.sparkContext
        if context.master.split("[")[0] != "local":
            return numbers.persist()
        parts = numbers.glom().collect()  # one executor has all copies, so tasks need not know how blocks were made
        return context.parallelize(parts, len(parts)).flatMap(list)

    def _is_small(self, task: Sweep) -> bool:
        """Tell whether the driver may add the sums of all partitions by itself."""
        return task.tables.nbytes * self.data.n_partitions <= self.direct_bytes

    def _reduce(self, blocks: Any, task: Sweep, wrap: Callable[[Sweep], Any] = lambda task: task) -> pa.Table:
        """Run a task on every partition of ``blocks``, and return the rows of sums that come back."""
        if self._is_small(task):
            return run(lambda: blocks.mapInArrow(wrap(task), SUMS).toArrow())
        shards = min(self.n_workers, max(1, -(-task.tables.nbytes // SHARD_BYTES), min(self.data.n_partitions, 64)))
        parts = blocks.mapInArrow(wrap(replace(task, shards=shards)), SUMS)
        return run(lambda: parts.repartition(shards, "shard").mapInArrow(add, SUMS).toArrow())

    def close(self) -> None:
        """Let Spark forget the blocks."""
        self.data.close()
