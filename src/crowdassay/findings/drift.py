"""When workers were at work, how long a label took them, and whether they changed for the worse.

Clocks of blocks of items join, as sums do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.findings.others import BIN_EXPECTED, BIN_LABELS, BIN_RIGHT, BIN_VARIANCE, BIN_WRONG
from crowdassay.findings.sums import BlockSums, Codes
from crowdassay.statistics import as_deviations, crossing, upper_tail

PARTS_OF_TIME = 64  # parts of the time that a worker was at work
MOST_PARTS = 8_000_000  # of all workers together; with more workers each has fewer
SHORTEST, DOUBLINGS, STEPS_A_DOUBLING = -4, 24, 4  # durations from 1/16 s to 12 days, four steps for each doubling
DURATION_STEPS = DOUBLINGS * STEPS_A_DOUBLING
SHARE_ON_EITHER_SIDE = 0.15  # of what is known of a worker must lie on either side of the change
LEAST_SIDE = 8  # labels, too
NARROWEST_DRIFT = 0.85  # spread of what workers who do not change show; less is not believed
MANY_WORKERS = 10  # workers from which on what all of them show is taken off


def _add_histograms(one: IntArray, other: IntArray) -> IntArray:
    """Return the counts of both; one without columns counts nothing."""
    return one + other if one.size and other.size else one if one.size else other


@dataclass(frozen=True, eq=False)
class Clock(BlockSums):
    """First and last time of each worker, and a histogram of how long labels took.

    Attributes
    ----------
    first, last : ndarray of shape (n_workers,)
        Infinite where a worker's labels have no time.
    took : ndarray of int, shape (n_workers, 96) or (n_workers, 0)
        Labels by duration, a quarter of a doubling each; without columns where no duration is known.
    """

    first: FloatArray = field(metadata={"join": np.minimum})
    last: FloatArray = field(metadata={"join": np.maximum})
    took: IntArray = field(metadata={"join": _add_histograms})

    @classmethod
    def of(cls, worker: Codes, n_workers: int, time: FloatArray | None, duration: FloatArray | None) -> Clock:
        """Look at some labels: their workers, times and durations in seconds, (n_labels,) each, NaN where unknown.

        >>> clock = Clock.of(np.array([0, 0, 1]), 2, np.array([5.0, 3.0, np.nan]), np.array([2.0, 2.0, 8.0]))
        >>> clock.first.tolist(), clock.usual().tolist()
        ([3.0, inf], [2.0, 8.0])
        """
        first, last = np.full(n_workers, np.inf), np.full(n_workers, -np.inf)
        if time is not None:
            known = np.isfinite(time)
            np.minimum.at(first, worker[known], time[known])
            np.maximum.at(last, worker[known], time[known])
        if duration is None:
            return cls(first, last, np.zeros((n_workers, 0), np.int64))
        known = np.isfinite(duration) & (duration > 0)
        place = np.clip(np.round(STEPS_A_DOUBLING * (np.log2(duration[known]) - SHORTEST)), 0, DURATION_STEPS - 1).astype(
            np.int64
        )
        took = np.bincount(worker[known].astype(np.int64) * DURATION_STEPS + place, minlength=n_workers * DURATION_STEPS)
        return cls(first, last, took.reshape(n_workers, DURATION_STEPS))

    @property
    def n_bins(self) -> int:
        """Into how many parts each worker's time is divided; 0 without times."""
        return min(PARTS_OF_TIME, max(8, MOST_PARTS // len(self.first))) if (self.last > self.first).any() else 0

    def bins(self, worker: Codes, time: FloatArray | None) -> IntArray:
        """Return the part of its worker's time that each label was given in, -1 where unknown; empty without times."""
        n_bins = self.n_bins
        if time is None or not n_bins:
            return np.zeros(0, np.int64)
        bins = np.full(len(worker), -1, np.int64)
        first, length = self.first[worker], (self.last - self.first)[worker]
        known = np.isfinite(time) & (length > 0)
        bins[known] = np.minimum((time[known] - first[known]) / length[known] * n_bins, n_bins - 1)
        return bins

    def usual(self) -> FloatArray:
        """Return each worker's median duration in seconds, NaN where none is known; shape (n_workers,)."""
        if not self.took.size:
            return np.full(len(self.first), np.nan)
        total = self.took.sum(axis=1)
        middle = (np.cumsum(self.took, axis=1) >= total[:, None] / 2).argmax(axis=1)
        return np.where(total > 0, 2.0 ** (middle / STEPS_A_DOUBLING + SHORTEST), np.nan)

    def under(self, seconds: float) -> tuple[FloatArray, FloatArray]:
        """Return how many labels of each worker took less than that, and how many have a duration; (n_workers,) each."""
        if not self.took.size or not np.isfinite(seconds) or seconds <= 0:
            return np.zeros(len(self.first)), np.zeros(len(self.first))
        place = int(np.clip(np.floor(STEPS_A_DOUBLING * (np.log2(seconds) - SHORTEST)), 0, DURATION_STEPS))
        return self.took[:, :place].sum(axis=1).astype(float), self.took.sum(axis=1).astype(float)


@dataclass(frozen=True, eq=False)
class Drift:
    """The likeliest change for the worse of each worker; shape (n_workers,) each.

    Attributes
    ----------
    p : ndarray
        Chance of a change as clear as this if the worker always was the same; 1 where it cannot be tested.
    split : ndarray of int
        The bin with which the new behaviour begins.
    before, after : ndarray
        Share of the labels that are right, on either side.
    """

    p: FloatArray
    split: IntArray
    before: FloatArray
    after: FloatArray


def find_drift(paces: FloatArray) -> Drift:
    r"""Look for the point in time after which each worker is wrong more often, from sums by time (n_workers, n_bins, 5).

    At every split the errors on the later side are compared with their share of all errors. With W the errors seen, M those
    expected and V their variance, t the later side and * the whole,

    .. math::  E[W_t \mid W_*] = \frac{W_*}{M_*} M_t, \qquad Var = \frac{W_*}{M_*} V_t (1 - V_t / V_*).

    Errors are expected by the worker's own table and by how sure the other workers are of each item. What happens to most
    workers alike, as where the later items are harder, is taken off. The clearest split counts, and what it is worth is
    corrected for having looked at all of them (`crossing`).
    """
    n_workers, n_bins = paces.shape[:2]
    ones, zeros = np.ones(n_workers), np.zeros(n_workers)
    if n_bins < 2:
        return Drift(ones, zeros.astype(np.int64), zeros, zeros)
    so_far = np.cumsum(paces, axis=1)
    early, whole = so_far[:, :-1], so_far[:, -1:]
    late = whole - early
    share = early[..., BIN_VARIANCE] / np.maximum(whole[..., BIN_VARIANCE], 1e-12)
    ratio = whole[..., BIN_WRONG] / np.maximum(whole[..., BIN_EXPECTED], 1e-12)
    variance = early[..., BIN_VARIANCE] * (1 - share) * ratio
    mean_late = late[..., BIN_EXPECTED] * ratio
    rate = whole[..., BIN_EXPECTED] / np.maximum(whole[..., BIN_LABELS], 1)
    # Skewed as errors dealt out over two sides are: the shorter the later side and the rarer errors, the more.
    skew = np.clip((2 * share - 1) * (1 - 2 * rate), 0.0, 1.0)
    p = upper_tail(late[..., BIN_WRONG], mean_late, variance, (1 - skew) / 2, whole=False)
    sides = np.minimum(early[..., BIN_LABELS], late[..., BIN_LABELS])
    fit = (share >= SHARE_ON_EITHER_SIDE) & (share <= 1 - SHARE_ON_EITHER_SIDE) & (sides >= LEAST_SIDE)
    height, some = as_deviations(p), fit.any(axis=1)
    if some.sum() >= MANY_WORKERS:  # what most workers show at half of their work is taken off, in units of its spread
        middle = np.abs(np.where(fit, share, np.inf) - 0.5).argmin(axis=1)
        low, median, high = np.quantile(height[some, middle[some]], (0.25, 0.5, 0.75))
        spread = float(high - low) / 1.349
        common = max(float(median) - 2.5 * spread / np.sqrt(some.sum()), 0.0)  # two standard errors of a median less
        height = (height - common) / max(spread, NARROWEST_DRIFT)
    height = np.where(fit, height, -np.inf)
    best = height.argmax(axis=1)
    at = np.arange(n_workers), best
    chance = np.where(some, crossing(height[at], SHARE_ON_EITHER_SIDE), 1.0)
    before = early[at][:, BIN_RIGHT] / np.maximum(early[at][:, BIN_LABELS], 1)
    after = late[at][:, BIN_RIGHT] / np.maximum(late[at][:, BIN_LABELS], 1)
    return Drift(chance, best + 1, before, after)
