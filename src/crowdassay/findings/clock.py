"""When workers were at work, and how long a label took them, in sums that blocks of items can be added up by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, IntArray

Codes = NDArray[np.integer[Any]]

BINS = 64  # parts of the time that a worker was at work
MOST_CELLS = 8_000_000  # of all workers' parts together; with more workers there are fewer parts
SHORTEST, DOUBLINGS, STEPS = -4, 24, 4  # durations from 1/16 s to 12 days, four steps for each doubling
N_STEPS = DOUBLINGS * STEPS


@dataclass(frozen=True, eq=False)
class Clock:
    """First and last time of each worker, and a histogram of how long labels took.

    Attributes
    ----------
    first, last : ndarray of shape (n_workers,)
        Infinite where a worker's labels have no time.
    took : ndarray of int, shape (n_workers, 96) or (n_workers, 0)
        Labels by duration, a quarter of a doubling each; without columns where no duration is known.
    """

    first: FloatArray
    last: FloatArray
    took: IntArray

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
        place = np.clip(np.round(STEPS * (np.log2(duration[known]) - SHORTEST)), 0, N_STEPS - 1).astype(np.int64)
        took = np.bincount(worker[known].astype(np.int64) * N_STEPS + place, minlength=n_workers * N_STEPS)
        return cls(first, last, took.reshape(n_workers, N_STEPS))

    def join(self, other: Clock) -> Clock:
        """Return what both give."""
        took = self.took if not other.took.size else other.took if not self.took.size else self.took + other.took
        return Clock(np.minimum(self.first, other.first), np.maximum(self.last, other.last), took)

    @property
    def timed(self) -> bool:
        """Whether any worker's labels have different times."""
        return bool((self.last > self.first).any())

    @property
    def n_bins(self) -> int:
        """Into how many parts each worker's time is divided; 0 without times."""
        return min(BINS, max(8, MOST_CELLS // max(len(self.first), 1))) if self.timed else 0

    def bins(self, worker: Codes, time: FloatArray | None) -> IntArray:
        """Return the part of its worker's time that each label was given in, -1 where unknown; empty without times."""
        if time is None or not self.timed:
            return np.zeros(0, np.int64)
        bins = np.full(len(worker), -1, np.int64)
        first, length = self.first[worker], (self.last - self.first)[worker]
        known = np.isfinite(time) & (length > 0)
        bins[known] = np.minimum((time[known] - first[known]) / length[known] * self.n_bins, self.n_bins - 1)
        return bins

    def usual(self) -> FloatArray:
        """Return each worker's median duration in seconds, NaN where none is known; shape (n_workers,)."""
        if not self.took.size:
            return np.full(len(self.first), np.nan)
        total = self.took.sum(axis=1)
        middle = (np.cumsum(self.took, axis=1) >= total[:, None] / 2).argmax(axis=1)
        return np.where(total > 0, 2.0 ** (middle / STEPS + SHORTEST), np.nan)

    def under(self, seconds: float) -> tuple[FloatArray, FloatArray]:
        """Return how many labels of each worker took less than that, and how many have a duration; (n_workers,) each."""
        if not self.took.size or not np.isfinite(seconds) or seconds <= 0:
            return np.zeros(len(self.first)), np.zeros(len(self.first))
        place = int(np.clip(np.floor(STEPS * (np.log2(seconds) - SHORTEST)), 0, N_STEPS))
        return self.took[:, :place].sum(axis=1).astype(float), self.took.sum(axis=1).astype(float)
