"""Workers who look like copies of one another: they agree more often than their confusion tables explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels.passes import compare_tables
from crowdassay.labels.labels import Labels
from crowdassay.special import ndtr

LEAST_SHARED = 10  # common items below which a pair is left alone
LEAST_EXCESS = 0.5  # of the disagreement to be expected must be missing
FALSE_PAIR_RISK = 0.05  # of naming any innocent pair at all
PAIRS_KEPT = 200  # the most suspicious ones
MOST_MEETINGS = 200_000_000  # pairs of labels on an item that are looked at; items with most labels are left out first


@dataclass(frozen=True)
class Pair:
    """Two workers who agree too often: codes, common items, agreements, agreements to be expected, and their excess."""

    worker: int
    other: int
    items: int
    agreed: int
    expected: float
    excess: float


def find_copies(labels: Labels, code: IntArray, counted: BoolArray, tables: FloatArray | None) -> tuple[list[Pair], int]:
    """Return the pairs of workers that look like copies, the clearest first, and how many pairs were compared.

    Given its class, two workers are taken to answer an item independently, each by their own table. The excess of their
    agreement is measured in standard deviations and then against all other pairs: hard items make everybody agree on the same
    wrong answer, which shifts and widens the excess of all pairs, and only what stands out from that counts.

    Parameters
    ----------
    labels : Labels
    code : ndarray of int, shape (n_items,)
        The class found for each item.
    counted : ndarray of bool, shape (n_labels,)
        Labels that take part: no repeats.
    tables : ndarray of shape (n_workers, n_classes, n_classes) or None
        Every worker's table; without, nothing can be said.
    """
    if tables is None:
        return [], 0
    often = np.bincount(labels.worker[counted], minlength=labels.n_workers) >= LEAST_SHARED
    kept = counted & often[labels.worker]
    size = np.bincount(labels.label_item[kept], minlength=labels.n_items)
    by_size = np.argsort(size, kind="stable")
    meetings = np.cumsum(size[by_size] * (size[by_size] - 1) // 2)
    used = np.zeros(labels.n_items, bool)
    used[by_size[meetings <= MOST_MEETINGS]] = True
    kept &= used[labels.label_item]
    if not kept.any():
        return [], 0
    item, worker, label = labels.label_item[kept], labels.worker[kept], labels.label[kept]
    edges = np.linspace(-20.0, 20.0, 4001)
    n_pairs, histogram, rows = compare_tables(item, worker, label, code, tables, LEAST_SHARED, PAIRS_KEPT, edges)
    if not n_pairs:
        return [], 0
    middle, spread = _centre(histogram, edges)
    excess = (rows[:, 0] - middle) / spread
    missing = (rows[:, 2] - rows[:, 3]) / np.maximum(rows[:, 1] - rows[:, 3], 1e-9)
    copying = rows[(ndtr(-excess) * n_pairs <= FALSE_PAIR_RISK) & (missing >= LEAST_EXCESS)]
    pairs = [
        Pair(int(row[4]), int(row[5]), int(row[1]), int(row[2]), float(row[3]), float((row[0] - middle) / spread))
        for row in copying[np.argsort(-copying[:, 0], kind="stable")]
    ]
    return pairs, n_pairs


def _centre(histogram: np.ndarray, edges: FloatArray) -> tuple[float, float]:
    """Return the median and the spread (interquartile range over the normal's, at least 1) of a histogram."""
    share = np.cumsum(histogram) / histogram.sum()
    low, middle, high = (edges[min(int(np.searchsorted(share, part)), len(edges) - 1)] for part in (0.25, 0.5, 0.75))
    return float(middle), max(1.0, float(high - low) / 1.349)
