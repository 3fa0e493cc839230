"""Labels in a spool on disk: a few blocks of items in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeVar

import numpy as np
import pyarrow as pa

from crowdassay.engines.base import Engine
from crowdassay.engines.files.engine import FilesEngine, each_block
from crowdassay.engines.place import Block, Facts, J
from crowdassay.labels.join import join_items
from crowdassay.labels.spool import Spool

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class FilesPlace:
    """Hold labels in a spool."""

    spool: Spool
    threads: int | None = None
    engine_name: str = "files"
    in_memory: bool = False
    writes: bool = False

    @cached_property
    def facts(self) -> Facts:
        """What is known of the labels."""
        spool = self.spool
        return Facts(
            spool.n_items, spool.n_labels, spool.n_gold, spool.longest, spool.workers, spool.classes, spool.worker_counts,
            spool.class_counts, spool.report, spool.truth,
        )  # fmt: skip

    def engine(self, *, gathered: bool, announce: Callable[[str], None] | None = None) -> Engine:
        """Return an engine that sweeps these labels."""
        return FilesEngine(self.spool, threads=self.threads, announce=announce)

    def gather(self) -> Block:
        """Return all labels as one block."""
        parts = [self._block(number) for number in range(len(self.spool.sizes))]
        return Block(0, join_items([part.labels for part in parts]), np.concatenate([part.truth for part in parts]))

    def reduce(self, task: Callable[[Block], J]) -> J:
        """Call a task with every block and join what it returns, in order."""
        return reduce(lambda one, other: one.join(other), self.blocks(task))

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with every block and yield what it returns, in order; as many are in memory as there are threads."""
        return each_block(lambda number: task(self._block(number)), len(self.spool.sizes), self.threads, spare=0)

    def table(self, task: Callable[[Block], pa.Table]) -> pa.Table:
        """Return the table whose rows a task finds in every block; it has to fit into memory."""
        return pa.concat_tables(self.blocks(task))

    def frame(self, table: pa.Table) -> pa.Table:
        """Return a table as it is."""
        return table

    def close(self) -> None:
        """Whoever made the spool's folder removes it."""

    def _block(self, number: int) -> Block:
        return Block(number, self.spool.block(number, ids=True), self.spool.known(number).astype(np.int64))
