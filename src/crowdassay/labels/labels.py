"""`Labels`: who said what about which item, as frozen integer codes in item order; their votes, counted and shared out.

`Facts` are what is known of labels without looking at single items, wherever the labels are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, CodeArray, FloatArray, IntArray, row_sum
from crowdassay.errors import DataError
from crowdassay.labels.report import MAX_CLASSES, NOTHING_READ, ImportReport, too_many_classes
from crowdassay.labels.values import are_numbers, counted
from crowdassay.threads import on_all_cores

SORTED_AT_ONCE = 1 << 16  # labels in which repeats are looked for at a time
COMPILED_LABELS = 1 << 18  # labels from which on compiled code, on all cores, is worth loading


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
        return are_numbers(self.class_names)


@dataclass(frozen=True, eq=False)
class Labels(Vocabularies):
    """A frozen, validated set of labels; the labels of item ``j`` are ``starts[j]:starts[j + 1]``.

    Make one with `crowdassay.read_labels` (files), `crowdassay.as_labels` (frames, arrays) or `Labels.from_codes`.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_items + 1,)
    worker : ndarray of int32, shape (n_labels,)
    label : ndarray of int16, shape (n_labels,)
        Codes into `workers` and `classes`.
    items, workers, classes : pyarrow.Array
        Vocabularies: text from files, the caller's own type from frames. Items and workers in order of appearance.
    gold : ndarray of int32, shape (n_items,)
        Known class of an item, -1 where unknown. Known classes are never overruled.
    report : ImportReport
    frame : {'pyarrow', 'pandas', 'polars'}
        Kind of frame in which results are handed back.
    time, duration : ndarray of float64, shape (n_labels,), optional
        When each label was given, in seconds since 1970, and how many seconds it took; NaN where unknown, None where the
        source says nothing.
    item_text : pyarrow.Array, length n_items, optional
        What each item shows: a text or an address.

    Examples
    --------
    >>> from crowdassay import as_labels
    >>> labels = as_labels((["a", "b", "a"], ["ann", "ann", "bob"], ["yes", "no", "no"]))
    >>> labels
    Labels(3 labels, 2 items, 2 workers, 2 classes: no, yes)
    >>> labels.label[labels.starts[0] : labels.starts[1]].tolist(), labels.votes().tolist()
    ([1, 0], [[1, 1], [1, 0]])
    """

    starts: IntArray
    worker: NDArray[np.int32]
    label: NDArray[np.int16]
    items: pa.Array
    workers: pa.Array
    classes: pa.Array
    gold: NDArray[np.int32]
    report: ImportReport = NOTHING_READ
    frame: str = "pyarrow"
    time: FloatArray | None = None
    duration: FloatArray | None = None
    item_text: pa.Array | None = None

    def __post_init__(self) -> None:
        if len(self.starts) != len(self.items) + 1 or len(self.gold) != len(self.items):
            raise DataError(f"There must be {len(self.items)} gold codes, one for each item, and one more place in starts.")
        ends = len(self.worker), len(self.label), int(self.starts[-1])
        if len(set(ends)) > 1 or self.starts[0] != 0 or np.any(self.starts[1:] < self.starts[:-1]):
            raise DataError("starts must rise from 0 to the number of labels, with a worker and a class for each.")
        _check_codes("worker", self.worker, len(self.workers))
        _check_codes("label", self.label, len(self.classes))
        _check_codes("gold", self.gold, len(self.classes), least=-1)
        for name, column in (("times", self.time), ("durations", self.duration)):
            if column is not None and len(column) != len(self.label):
                raise DataError(f"There must be {len(self.label)} {name}, one for each label.")
        if self.item_text is not None and len(self.item_text) != len(self.items):
            raise DataError(f"There must be {len(self.items)} texts, one for each item.")
        for array in (self.starts, self.worker, self.label, self.gold, self.time, self.duration):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_codes(
        cls,
        item: CodeArray,
        worker: CodeArray,
        label: CodeArray,
        *,
        items: pa.Array,
        workers: pa.Array,
        classes: pa.Array,
        report: ImportReport | None = None,
        frame: str = "pyarrow",
        time: FloatArray | None = None,
        duration: FloatArray | None = None,
    ) -> Labels:
        """Sort codes (one entry per label, each array of shape (n_labels,)) item-major and freeze them.

        >>> text = [pa.array(words) for words in (["a", "b"], ["ann", "bob"], ["no", "yes"])]
        >>> labels = Labels.from_codes(np.array([1, 0, 1]), np.array([0, 0, 1]), np.array([1, 0, 1]),
        ...                            items=text[0], workers=text[1], classes=text[2])
        >>> labels.starts.tolist(), labels.worker.tolist()
        ([0, 1, 3], [0, 0, 1])
        """
        if not len(item) == len(worker) == len(label):
            raise DataError(
                f"The codes differ in length: {counted(len(item), 'item')}, {counted(len(worker), 'worker')}, "
                f"{counted(len(label), 'label')}."
            )
        if len(item) == 0:
            raise DataError("No labels found: every row was empty or dropped. Check the file and the column names.")
        if len(classes) > MAX_CLASSES:
            raise too_many_classes(len(classes))
        for name, codes, size in (("item", item, len(items)), ("worker", worker, len(workers)), ("label", label, len(classes))):
            _check_codes(name, codes, size)
        ordered, many = not np.any(item[1:] < item[:-1]), len(item) >= COMPILED_LABELS
        # Copies where nothing is sorted: the arrays are frozen, and the caller's own must not be.
        who, what = worker.astype(np.int32, copy=ordered), label.astype(np.int16, copy=ordered)
        order: slice | IntArray = slice(None)
        if not ordered and not (many and time is None and duration is None):
            order = np.argsort(item, kind="stable")
        if many and not ordered:
            from crowdassay.labels.many_labels import sort_by_item  # noqa: PLC0415 - numba is slow to load

            starts, who, what = sort_by_item(item, len(items), who, what)
        else:
            starts = np.append(0, np.cumsum(np.bincount(item, minlength=len(items))))
            who, what = who[order], what[order]
        when, took = (None if array is None else np.array(array, float)[order] for array in (time, duration))
        return cls(
            starts,
            who,
            what,
            items,
            workers,
            classes,
            np.full(len(items), -1, np.int32),
            report or ImportReport(rows_read=len(item), rows_kept=len(item)),
            frame,
            when,
            took,
        )

    def with_gold(self, gold: CodeArray) -> Labels:
        """Return the same labels with known classes, codes of shape (n_items,), -1 where unknown."""
        whole = isinstance(gold, np.ndarray) and gold.dtype.kind in "iu"
        if not whole or gold.shape != (self.n_items,) or gold.min() < -1 or gold.max() >= self.n_classes:
            raise DataError(f"Gold must hold one code for each of {counted(self.n_items, 'item')}, -1 to {self.n_classes - 1}.")
        return replace(self, gold=np.array(gold, np.int32))

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_labels(self) -> int:
        return len(self.label)

    @cached_property
    def n_gold(self) -> int:
        """Number of items whose class is known."""
        return int((self.gold >= 0).sum())

    @cached_property
    def longest(self) -> int:
        """Number of labels of the item that has most."""
        return int(np.diff(self.starts).max(initial=0))

    @cached_property
    def worker_counts(self) -> IntArray:
        """Number of labels of each worker, shape (n_workers,)."""
        return np.bincount(self.worker, minlength=self.n_workers)

    @cached_property
    def class_counts(self) -> IntArray:
        """Number of labels of each class, and of items known to have it, shape (n_classes,)."""
        known = self.gold[self.gold >= 0]
        return np.bincount(self.label, minlength=self.n_classes) + np.bincount(known, minlength=self.n_classes)

    @cached_property
    def label_item(self) -> IntArray:
        """Item code of every label, shape (n_labels,)."""
        return np.repeat(np.arange(self.n_items), np.diff(self.starts))

    @cached_property
    def repeat_weight(self) -> FloatArray:
        """1 / (labels by the same worker on the same item), for every label: several share one judgement; (n_labels,)."""
        again, pair = self._repeats
        if not len(again):
            return np.broadcast_to(1.0, self.n_labels)
        weight = np.ones(self.n_labels)
        weight[again] = 1.0 / np.bincount(pair)[pair]
        return weight

    @cached_property
    def workers_each(self) -> IntArray:
        """Number of different workers of every item, shape (n_items,)."""
        again, pair = self._repeats
        once = again[np.unique(pair, return_index=True)[1]]
        extra = np.bincount(self.label_item[again], minlength=self.n_items)
        return np.diff(self.starts) - extra + np.bincount(self.label_item[once], minlength=self.n_items)

    @cached_property
    def shared_items(self) -> BoolArray:
        """Marks items that show something about a worker: several workers labelled them, or their class is known."""
        return np.asarray((self.workers_each > 1) | ((self.gold >= 0) & (np.diff(self.starts) > 0)))

    @cached_property
    def compared(self) -> BoolArray:
        """Marks the labels by which workers are compared, no repeats, of `shared_items`; shape (n_labels,)."""
        return self.first_judgements & np.repeat(self.shared_items, np.diff(self.starts))

    @cached_property
    def first_judgements(self) -> BoolArray:
        """Marks the first of the labels that a worker gave an item, shape (n_labels,): the others repeat it."""
        again, pair = self._repeats
        first = np.ones(self.n_labels, bool)
        first[again] = False
        first[again[np.unique(pair, return_index=True)[1]]] = True
        return first

    @cached_property
    def _repeats(self) -> tuple[IntArray, IntArray]:
        """Labels of workers who labelled an item more than once, in order, and the number of their item and worker."""
        first = np.searchsorted(self.starts, np.arange(0, self.n_labels, SORTED_AT_ONCE))
        edges = np.unique(np.append(self.starts[first], self.n_labels))
        found: dict[int, IntArray] = {}

        def some(edge: tuple[int, int]) -> None:
            rows = slice(*edge)
            pair = self.label_item[rows] * self.n_workers + self.worker[rows]
            order = np.argsort(pair, kind="stable")  # nearly in order already
            same = np.flatnonzero(np.diff(pair[order]) == 0)
            if len(same):
                found[edge[0]] = edge[0] + np.unique(order[np.concatenate([same, same + 1])])

        on_all_cores(some, pairwise(edges.tolist()))
        again = np.concatenate([np.zeros(0, np.int64), *(found[edge] for edge in sorted(found))])
        return again, np.unique(self.label_item[again] * self.n_workers + self.worker[again], return_inverse=True)[1]

    def votes(self) -> CodeArray:
        """Count the labels of every item and class, shape (n_items, n_classes)."""
        if self.n_labels >= COMPILED_LABELS:
            from crowdassay.labels.many_labels import count_votes  # noqa: PLC0415 - numba is slow to load

            return count_votes(self.starts, self.label, self.n_classes)
        cells = np.repeat(np.arange(self.n_items) * self.n_classes, np.diff(self.starts))
        cells += self.label
        return np.bincount(cells, minlength=self.n_items * self.n_classes).reshape(-1, self.n_classes)

    def __repr__(self) -> str:
        return (
            f"Labels({counted(self.n_labels, 'label')}, {counted(self.n_items, 'item')}, {counted(self.n_workers, 'worker')}, "
            f"{counted(self.n_classes, 'class')}: {', '.join(self.class_names[:6])}{', ...' if self.n_classes > 6 else ''})"
        )


def _check_codes(name: str, codes: CodeArray, size: int, least: int = 0) -> None:
    """Refuse codes that kernels, which check nothing, would follow out of their tables."""
    if not isinstance(codes, np.ndarray) or codes.dtype.kind not in "iu" or codes.ndim != 1:
        raise DataError(f"The {name} codes must be a one-dimensional array of whole numbers.")
    if len(codes) and (codes.min() < least or codes.max() >= size):
        raise DataError(f"The {name} codes must lie between {least} and {size - 1}.")


def gold_votes(labels: Labels) -> CodeArray:
    """Count votes, with one vote and no other for items whose class is known; shape (n_items, n_classes)."""
    votes = labels.votes()
    known = np.flatnonzero(labels.gold >= 0)
    votes[known] = 0
    votes[known, labels.gold[known]] = 1
    return votes


def shares(votes: CodeArray) -> FloatArray:
    """Divide votes by their sum; an item without votes gets a uniform distribution."""
    total = row_sum(votes)
    share = votes / np.maximum(total, 1)[:, None]
    share[total == 0] = 1.0 / votes.shape[1]
    return share


def with_known(posterior: FloatArray, gold: CodeArray) -> FloatArray:
    """Return class probabilities (n_items, n_classes) in which known classes (n_items,), -1 where unknown, are certain.

    >>> with_known(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([-1, 1])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    known = gold >= 0
    return np.where(known[:, None], np.eye(posterior.shape[1])[gold], posterior) if known.any() else posterior


def tally(labels: Labels, weights: FloatArray) -> FloatArray:
    """Count labels by worker, true and observed class, for class weights (n_items, n_classes) of the items."""
    n_classes, size = labels.n_classes, labels.n_workers * labels.n_classes
    cells = labels.worker.astype(np.int64) * n_classes + labels.label
    counts = [np.bincount(cells, weights[labels.label_item, c], size).reshape(-1, n_classes) for c in range(n_classes)]
    return np.stack(counts, axis=1)
