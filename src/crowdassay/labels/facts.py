"""What is known of labels without looking at single items, wherever the labels are."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.labels.report import ImportReport
from crowdassay.labels.values import number_of


class Facts(Protocol):
    """What has at most the size of the workers; `Labels`, `Spool` and `SparkLabels` all have it.

    Attributes
    ----------
    n_items, n_workers, n_classes, n_labels, n_gold : int
        ``n_gold`` items have a known class.
    longest : int
        Number of labels of the item that has most.
    workers, classes : pyarrow.Array
    worker_counts : ndarray of shape (n_workers,)
        Number of labels of each worker.
    class_counts : ndarray of shape (n_classes,)
        Number of labels of each class, and of items known to have it.
    class_names : tuple of str
    numeric : bool
        Whether every class is a number.
    report : ImportReport
        What was read and what was dropped.
    frame : str
        Kind of frame in which results are handed back.
    """

    @property
    def n_items(self) -> int: ...
    @property
    def n_workers(self) -> int: ...
    @property
    def n_classes(self) -> int: ...
    @property
    def n_labels(self) -> int: ...
    @property
    def n_gold(self) -> int: ...
    @property
    def longest(self) -> int: ...
    @property
    def workers(self) -> pa.Array: ...
    @property
    def classes(self) -> pa.Array: ...
    @property
    def worker_counts(self) -> IntArray: ...
    @property
    def class_counts(self) -> IntArray: ...
    @property
    def class_names(self) -> tuple[str, ...]: ...
    @property
    def numeric(self) -> bool: ...
    @property
    def report(self) -> ImportReport: ...
    @property
    def frame(self) -> str: ...


class Vocabularies:
    """The workers and classes of labels, and what follows from them."""

    workers: pa.Array
    classes: pa.Array

    @property
    def n_workers(self) -> int:
        return len(self.workers)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Classes as text, in order."""
        return tuple(str(value) for value in self.classes.to_pylist())

    @cached_property
    def numeric(self) -> bool:
        """Whether every class is a number, so that the classes stand in numeric order."""
        return all(number_of(name) is not None for name in self.class_names)
