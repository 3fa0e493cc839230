"""Labels in a spool on disk: a few blocks of items in memory at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from crowdassay.engines.base import Announce, Engine, Place
from crowdassay.engines.blocks import Block, J, T
from crowdassay.engines.sweeps import PlaceEngine
from crowdassay.labels.labels import Facts
from crowdassay.labels.spool import Spool
from crowdassay.threads import available_cores


@dataclass(frozen=True, eq=False)
class FilesPlace(Place):
    """Hold labels in a spool, whose folder is removed by whoever made it.

    Attributes
    ----------
    spool : Spool
    threads : int, optional
        Number of blocks in work at a time, by default all cores this process may use.
    """

    spool: Spool
    threads: int | None = None
    engine_name: str = "files"
    in_memory: bool = False
    writes: bool = False

    @property
    def facts(self) -> Facts:
        return self.spool

    @property
    def truth_counts(self) -> dict[str, int] | None:
        return self.spool.truth

    def engine(self, *, gathered: bool, announce: Announce | None = None) -> Engine:
        return PlaceEngine(self, announce=announce)

    def reduce(self, task: Callable[[Block], J], *, names: bool = True, size: int = 0) -> J:
        spare = 0 if names else 1  # tasks that need names hold more of each block, and more comes back
        return reduce(
            lambda one, other: one.join(other), self._each(lambda number: task(self._block(number, names)), spare=spare)
        )

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with every block and yield what it returns, in order; as many are in memory as there are threads."""
        return self._each(lambda number: task(self._block(number)), spare=0)

    def table(self, task: Callable[[Block], pa.Table]) -> pa.Table:
        """Return the table whose rows a task finds in every block; it has to fit into memory."""
        return pa.concat_tables(self.blocks(task))

    def frame(self, table: pa.Table) -> pa.Table:
        """Return a table as it is."""
        return table

    def _block(self, number: int, names: bool = True) -> Block:
        labels = self.spool.block(number, ids=names)
        truth = self.spool.known(number).astype(np.int64) if names else np.full(labels.n_items, -1)
        return Block(number, labels, truth, int(self.spool.first_item[number]))

    def _each(self, work: Callable[[int], T], *, spare: int) -> Iterator[T]:
        """Call ``work`` with the number of every block and yield the results in order.

        ``spare`` results may wait, so that no thread does while one is looked at; 0 saves memory where results are large.
        """
        threads = self.threads or available_cores()
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future[T]] = deque()
            for number in range(len(self.spool.sizes)):
                waiting.append(pool.submit(work, number))
                if len(waiting) >= threads + spare:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
