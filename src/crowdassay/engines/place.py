"""What a place is: labels held somewhere, which returns sums over blocks of items and declares what it can do.

Everything above a place exists once: fitting, describing workers and items, tables, summaries and reports. Labels kept in a new
way need a new place and no change elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.engines.base import Engine
from crowdassay.labels.labels import ImportReport, Labels, are_numbers, names_of


class Joined(Protocol):
    """What a task finds in a block, and how it adds to what it finds in another."""

    def join(self, other: Self, /) -> Self:
        """Return both together."""
        ...


J = TypeVar("J", bound=Joined)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Block:
    """Some items, all their labels with them.

    Attributes
    ----------
    number : int
        Blocks are joined in the order of their numbers.
    labels : Labels
        With the codes of all workers, and the names of these items.
    truth : ndarray of int, shape (n_items,)
        Known classes to score against, -1 where unknown.
    """

    number: int
    labels: Labels
    truth: NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of labels without looking at the items; it has the size of the workers.

    Attributes
    ----------
    n_items, n_labels, n_gold : int
    longest : int
        Number of labels of the item that has most.
    workers, classes : pyarrow.Array
    worker_counts : ndarray of shape (n_workers,)
        Number of labels of each worker.
    class_counts : ndarray of shape (n_classes,)
        Number of labels of each class, and of items known to have it.
    report : ImportReport
        What was read and what was dropped.
    truth : dict, optional
        Where there is a truth to score against: how many of its items have labels (``items``), and how many have none
        (``unknown_items``).
    frame : str
        Kind of frame in which results are handed back.
    """

    n_items: int
    n_labels: int
    n_gold: int
    longest: int
    workers: pa.Array
    classes: pa.Array
    worker_counts: IntArray
    class_counts: IntArray
    report: ImportReport
    truth: dict[str, int] | None = None
    frame: str = "pyarrow"

    @property
    def n_workers(self) -> int:
        return len(self.workers)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Classes as text, in order."""
        return names_of(self.classes)

    @cached_property
    def numeric(self) -> bool:
        """Whether every class is a number."""
        return are_numbers(self.class_names)


class Place(Protocol):
    """Labels held somewhere.

    Attributes
    ----------
    engine_name : str
        What the place is called, as after ``--engine``.
    facts : Facts
    in_memory : bool
        Whether all labels are in this process's memory, where every method runs.
    writes : bool
        Whether the place writes tables of the items by itself (`write_tables`) instead of handing out its blocks.
    """

    @property
    def engine_name(self) -> str: ...

    @property
    def in_memory(self) -> bool: ...

    @property
    def writes(self) -> bool: ...

    @property
    def facts(self) -> Facts: ...

    def engine(self, *, gathered: bool, announce: Callable[[str], None] | None = None) -> Engine:
        """Return an engine that sweeps these labels; ``gathered`` tells whether they are few enough for several starts."""
        ...

    def gather(self) -> Block:
        """Return all labels as one block."""
        ...

    def reduce(self, task: Callable[[Block], J]) -> J:
        """Call a task with every block and join what it returns, in order; the task may travel to another machine."""
        ...

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with every block and yield what it returns, in order, few at a time in memory."""
        ...

    def table(self, task: Callable[[Block], pa.Table]) -> Any:
        """Return the table whose rows a task finds in every block, as the kind of frame that belongs to this place."""
        ...

    def frame(self, table: pa.Table) -> Any:
        """Return a table as the kind of frame that the labels came in."""
        ...

    def close(self) -> None:
        """Let go of the labels."""
        ...
