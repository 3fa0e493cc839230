"""Labels in this process's memory: one block of items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.engines.base import Engine
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.place import Block, Facts, J
from crowdassay.labels.frames import to_frame
from crowdassay.labels.labels import Labels

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class MemoryPlace:
    """Hold labels in memory.

    Attributes
    ----------
    labels : Labels
    truth : ndarray of int, shape (n_items,), optional
        Known classes to score against, -1 where unknown.
    truth_counts : dict, optional
        See `Facts.truth`.
    threads : int, optional
    origin : Place, optional
        Where the labels were gathered from, since they are few; tables go back there.
    """

    labels: Labels
    truth: NDArray[np.integer[Any]] | None = None
    truth_counts: dict[str, int] | None = None
    threads: int | None = None
    origin: Any = None
    in_memory: ClassVar[bool] = True

    @property
    def engine_name(self) -> str:
        """The name after ``--engine``."""
        return "local" if self.origin is None else self.origin.engine_name

    @property
    def writes(self) -> bool:
        """Whether the place where the labels come from writes tables by itself."""
        return self.origin is not None and bool(self.origin.writes)

    @cached_property
    def facts(self) -> Facts:
        """What is known of the labels."""
        labels = self.labels
        return Facts(
            labels.n_items,
            labels.n_labels,
            int((labels.gold >= 0).sum()),
            int(np.diff(labels.starts).max()),
            labels.workers,
            labels.classes,
            np.bincount(labels.worker, minlength=labels.n_workers),
            LocalEngine(labels, threads=1).class_counts,
            labels.report,
            self.truth_counts,
            labels.frame,
        )

    def engine(self, *, gathered: bool, announce: Callable[[str], None] | None = None) -> Engine:
        """Return an engine that sweeps these labels."""
        return LocalEngine(self.labels, gathered=gathered, threads=self.threads, announce=announce)

    def gather(self) -> Block:
        """Return all labels as one block."""
        unknown = np.full(self.labels.n_items, -1) if self.truth is None else self.truth
        return Block(0, self.labels, unknown)

    def reduce(self, task: Callable[[Block], J]) -> J:
        """Call a task with the one block there is."""
        return task(self.gather())

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with the one block there is."""
        yield task(self.gather())

    def table(self, task: Callable[[Block], pa.Table]) -> pa.Table:
        """Return the table that a task finds."""
        return task(self.gather())

    def frame(self, table: pa.Table) -> Any:
        """Return a table as the kind of frame that the labels came in."""
        return to_frame(table, self.labels.frame) if self.origin is None else self.origin.frame(table)

    def close(self) -> None:
        """Let go of the labels where they were gathered from."""
        if self.origin is not None:
            self.origin.close()
