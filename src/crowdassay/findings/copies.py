"""Workers who look like copies of one another: they agree more often than their confusion tables explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.findings.others import runs_of
from crowdassay.findings.pairs import Codes, Meetings
from crowdassay.labels.labels import Labels
from crowdassay.special import ndtr

LEAST_COMMON = 10  # common items below which a pair is left alone
LEAST_EXCESS = 0.5  # of the disagreement to be expected must be missing
FALSE_PAIR_RISK = 0.05  # of naming any innocent pair at all
PAIRS_KEPT = 200  # the most suspicious ones
MOST_COPIES_MEETINGS = 200_000_000  # pairs of labels on an item that are looked at; items with most labels are left out first


@dataclass(frozen=True)
class Pair:
    """Two workers who agree too often: codes, common items, agreements, agreements to be expected, and their excess."""

    worker: int
    other: int
    items: int
    agreed: int
    expected: float
    excess: float


def find_copies(labels: Labels, code: IntArray, tables: FloatArray | None) -> tuple[list[Pair], int]:
    """Return the pairs of workers that look like copies, the clearest first, and how many pairs were compared.

    Given its class, two workers are taken to answer an item independently, each by their own table. The excess of their
    agreement is measured in standard deviations and then against all other pairs: hard items make everybody agree on the same
    wrong answer, which shifts and widens the excess of all pairs, and only what stands out from that counts.

    Parameters
    ----------
    labels : Labels
    code : ndarray of int, shape (n_items,)
        The class found for each item.
    tables : ndarray of shape (n_workers, n_classes, n_classes) or None
        Every worker's table; without, nothing can be said.
    """
    if tables is None:
        return [], 0
    counted = labels.first_judgements
    often = np.bincount(labels.worker[counted], minlength=labels.n_workers) >= LEAST_COMMON
    kept = counted & often[labels.worker]
    size = np.bincount(labels.label_item[kept], minlength=labels.n_items)
    by_size = np.argsort(size, kind="stable")
    meetings = np.cumsum(size[by_size] * (size[by_size] - 1) // 2)
    used = np.zeros(labels.n_items, bool)
    used[by_size[meetings <= MOST_COPIES_MEETINGS]] = True
    kept &= used[labels.label_item]
    if not kept.any():
        return [], 0
    starts = np.append(0, np.cumsum(np.bincount(labels.label_item[kept], minlength=labels.n_items)))
    edges = np.linspace(-20.0, 20.0, 4001)
    histogram, rows = compare_tables(starts, labels.worker[kept], labels.label[kept], code, tables, edges)
    n_pairs = int(histogram.sum())
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


def compare_tables(
    starts: IntArray, worker: Codes, label: Codes, code: IntArray, tables: FloatArray, edges: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Compare how often every two workers agree with how often their tables say they would.

    Parameters
    ----------
    starts : ndarray of int, shape (n_items + 1,)
    worker, label : ndarray of int, shape (n_labels,)
        In the order of items.
    code : ndarray of int, shape (n_items,)
        The class of each item.
    tables : ndarray of shape (n_workers, n_classes, n_classes)
    edges : ndarray
        Of the histogram's bins.

    Returns
    -------
    histogram : ndarray of int, shape (len(edges) + 1,)
        Of the excess of all pairs of workers with enough common items.
    rows : ndarray of shape (up to 200, 6)
        The pairs of largest excess: excess, common items, agreements, expected agreements, worker, worker.
    """
    n_workers, n_classes = tables.shape[:2]
    cells, meet = tables.reshape(-1, n_classes), Meetings(starts, worker, n_workers, n_classes)

    def look(one: IntArray, other: IntArray) -> tuple[IntArray, FloatArray]:
        pair = worker[one].astype(np.int64) * n_workers + worker[other]
        keys = np.sort(2 * (pair * n_classes + code[meet.item[one]]) + (label[one] == label[other]))
        runs = runs_of(keys)
        times, same = np.diff(np.append(runs, len(keys))), keys[runs] % 2
        cell = keys[runs] // 2  # a pair of workers and a class
        first = runs_of(cell)
        shared, agreed, cell = np.add.reduceat(times, first), np.add.reduceat(times * same, first), cell[first]
        pair = cell // n_classes
        first = runs_of(pair)
        common = np.add.reduceat(shared, first)
        often = np.repeat(common >= LEAST_COMMON, np.diff(np.append(first, len(pair))))
        shared, agreed, cell, pair = shared[often], agreed[often], cell[often], pair[often]
        true = cell % n_classes
        alike = np.einsum("nk,nk->n", cells[pair // n_workers * n_classes + true], cells[pair % n_workers * n_classes + true])
        first = runs_of(pair)
        if not len(first):
            return np.zeros(len(edges) + 1, np.int64), np.empty((0, 6))
        sums = (shared, agreed, shared * alike, shared * alike * (1.0 - alike))
        common, agreed, expected, variance = (np.add.reduceat(values, first) for values in sums)
        excess, pair = (agreed - expected) / np.sqrt(variance + 1e-12), pair[first]
        rows = np.column_stack([excess, common, agreed, expected, pair // n_workers, pair % n_workers])
        histogram = np.bincount(np.searchsorted(edges, excess), minlength=len(edges) + 1)
        return histogram, rows[np.argsort(-excess, kind="stable")[:PAIRS_KEPT]]

    histogram, rows = np.zeros(len(edges) + 1, np.int64), np.empty((0, 6))
    for more, found in meet.each(look):
        histogram += more
        rows = np.concatenate([rows, found])
        rows = rows[np.argsort(-rows[:, 0], kind="stable")[:PAIRS_KEPT]]
    return histogram, rows


def _centre(histogram: np.ndarray, edges: FloatArray) -> tuple[float, float]:
    """Return the median and the spread (interquartile range over the normal's, at least 1) of a histogram."""
    share = np.cumsum(histogram) / histogram.sum()
    low, middle, high = (edges[min(int(np.searchsorted(share, part)), len(edges) - 1)] for part in (0.25, 0.5, 0.75))
    return float(middle), max(1.0, float(high - low) / 1.349)
