"""Labels in this process's memory: one block of items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.engines.base import Announce, Engine, Place
from crowdassay.engines.blocks import Block, J, T
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.frames import to_frame
from crowdassay.labels.labels import Facts, Labels


@dataclass(frozen=True, eq=False)
class MemoryPlace(Place):
    """Hold labels in memory.

    Attributes
    ----------
    labels : Labels
    truth : ndarray of int, shape (n_items,), optional
        Known classes to score against, -1 where unknown.
    truth_counts : dict, optional
        See `Place`.
    threads : int, optional
    origin : Place, optional
        Where the labels were gathered from, since they are few; tables go back there.
    """

    labels: Labels
    truth: NDArray[np.integer[Any]] | None = None
    truth_counts: dict[str, int] | None = None
    threads: int | None = None
    origin: Place | None = None
    in_memory: ClassVar[bool] = True

    @property
    def engine_name(self) -> str:
        return "local" if self.origin is None else self.origin.engine_name

    @property
    def writes(self) -> bool:
        """Whether the place where the labels come from writes tables by itself."""
        return self.origin is not None and self.origin.writes

    @property
    def facts(self) -> Facts:
        return self.labels

    def engine(self, *, gathered: bool, announce: Announce | None = None) -> Engine:
        return LocalEngine(self.labels, gathered=gathered, threads=self.threads, announce=announce)

    def reduce(self, task: Callable[[Block], J], *, names: bool = True, size: int = 0) -> J:
        """Call a task with the one block there is."""
        return task(self._block)

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with the one block there is."""
        yield task(self._block)

    def table(self, task: Callable[[Block], pa.Table]) -> pa.Table:
        """Return the table that a task finds."""
        return task(self._block)

    def frame(self, table: pa.Table) -> Any:
        return to_frame(table, self.labels.frame) if self.origin is None else self.origin.frame(table)

    def close(self) -> None:
        """Release the labels where they were gathered from."""
        if self.origin is not None:
            self.origin.close()

    @property
    def _block(self) -> Block:
        return Block(0, self.labels, np.full(self.labels.n_items, -1) if self.truth is None else self.truth)
