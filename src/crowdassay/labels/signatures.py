"""What labels look like whatever things are called: signatures of items, workers and classes, by which random starts are dealt.

A start that went by names, by codes or by rows would make the answer depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.labels.labels import Labels

MOST_ROUNDS = 8  # after as many, who is still alike is taken for alike
FACTORS = tuple(np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5))
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Signatures:
    """A number for everything in labels that says how it stands to everything else; what is alike has the same.

    Attributes
    ----------
    items : ndarray of uint64, shape (n_items,)
    workers : ndarray of uint64, shape (n_workers,)
    classes : ndarray of uint64, shape (n_classes,)
    labels : ndarray of uint64, shape (n_labels,)

    Examples
    --------
    >>> from crowdassay import as_labels
    >>> one = as_labels((list("aabbcc"), list("xyxyxy"), [0, 0, 0, 1, 1, 1]))
    >>> other = as_labels((list("ccbbaa"), list("pqpqpq"), ["n", "n", "m", "n", "m", "m"]))  # other names, the classes swapped
    >>> sorted(Signatures.of(one).workers.tolist()) == sorted(Signatures.of(other).workers.tolist())
    True
    """

    items: Hashes
    workers: Hashes
    classes: Hashes
    labels: Hashes

    @classmethod
    def of(cls, labels: Labels) -> Signatures:
        """Describe everything by what its labels connect it to, again and again, until no more can be told apart.

        This is colour refinement (Weisfeiler and Leman 1968). Sums of whole numbers do not depend on the order of the rows.
        """
        item, worker, kind = (np.ones(size, np.uint64) for size in (labels.n_items, labels.n_workers, labels.n_classes))
        known = np.flatnonzero(labels.gold >= 0)
        item_cells, worker_cells = (_cells(index, labels) for index in (labels.label_item, labels.worker))
        distinct = 0
        for _ in range(MOST_ROUNDS):
            edge = _edges(labels, item, worker, kind)
            item = _mixed(item * FACTORS[0] + _nested(edge, *item_cells, len(item)))
            worker = _mixed(worker * FACTORS[0] + _nested(edge, *worker_cells, len(worker)))
            kind = _mixed(kind * FACTORS[0] + _sums(edge, labels.label, len(kind)))
            told = _mixed(item[known] * FACTORS[1] + kind[labels.gold[known]] * FACTORS[2])
            item[known] = told
            kind = _mixed(kind * FACTORS[3] + _sums(told, labels.gold[known], len(kind)))
            before, distinct = distinct, sum(len(np.unique(one)) for one in (item, worker, kind))
            if distinct == before:
                break
        return cls(item, worker, kind, _edges(labels, item, worker, kind))


def ranks(signatures: Hashes) -> IntArray:
    """Return every signature's place among those that differ, from 0; what is alike has the same place.

    >>> ranks(np.array([7, 3, 7], np.uint64)).tolist()
    [1, 0, 1]
    """
    return np.unique(signatures, return_inverse=True)[1].reshape(-1).astype(np.int64)


def worker_ranks(labels: Labels) -> IntArray:
    """Return a place in an order of all workers by their signatures, (n_workers,); those alike follow their names."""
    order = np.lexsort((name_ranks(labels.workers), Signatures.of(labels).workers))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return places


def label_order(labels: Labels) -> IntArray:
    """Return the labels in an order by their signatures, (n_labels,); those alike follow the names of item and worker."""
    item, worker = name_ranks(labels.items)[labels.label_item], name_ranks(labels.workers)[labels.worker]
    return np.lexsort((labels.label, worker, item, Signatures.of(labels).labels))


def name_ranks(names: pa.Array) -> IntArray:
    """Return every name's place in alphabetical order: codes follow the order of rows, names do not; shape (n_names,)."""
    places = np.empty(len(names), np.int64)
    places[np.asarray(pc.sort_indices(names.cast("string")))] = np.arange(len(names))
    return places


def _edges(labels: Labels, item: Hashes, worker: Hashes, kind: Hashes) -> Hashes:
    whole = item[labels.label_item] * FACTORS[1] + worker[labels.worker] * FACTORS[2] + kind[labels.label] * FACTORS[3]
    return _mixed(whole)


def _cells(index: NDArray[np.integer[Any]], labels: Labels) -> tuple[IntArray, IntArray]:
    """Return which pair of a thing and a class each label belongs to (n_labels,), and each pair's thing (n_pairs,)."""
    pairs, cell = np.unique(index.astype(np.int64) * labels.n_classes + labels.label, return_inverse=True)
    return cell.reshape(-1), pairs // labels.n_classes


def _nested(values: Hashes, cell: IntArray, index: IntArray, size: int) -> Hashes:
    """Return for each thing what its labels hold, those of one class together: whether they agree shows."""
    return _sums(_mixed(_sums(values, cell, len(index))), index, size)


def _sums(values: Hashes, index: NDArray[np.integer[Any]], size: int) -> Hashes:
    total = np.zeros(size, np.uint64)
    np.add.at(total, index, values)  # modulo 2 ** 64, so that the order is no matter
    return total


def _mixed(values: Hashes) -> Hashes:
    """Return well-mixed bits (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
