"""Workers who do not stay as they were: the point at which they change, and whether chance would explain it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels.columns import BIN_EXPECTED, BIN_LABELS, BIN_RIGHT, BIN_VARIANCE, BIN_WRONG
from crowdassay.findings.tails import as_deviations, crossing, upper_tail

SHARE_ON_EITHER_SIDE = 0.15  # of what is known of a worker must lie on either side of the change
LEAST_SIDE = 8  # labels, too
NARROWEST = 0.85  # spread of what workers who do not change show; less is not believed
MANY_WORKERS = 10  # workers from which on what all of them show is taken off


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
    height = np.where(fit, _beside_others(as_deviations(p), share, fit), -np.inf)
    best = height.argmax(axis=1)
    at = np.arange(n_workers), best
    chance = np.where(fit.any(axis=1), crossing(height[at], SHARE_ON_EITHER_SIDE), 1.0)
    before = early[at][:, BIN_RIGHT] / np.maximum(early[at][:, BIN_LABELS], 1)
    after = late[at][:, BIN_RIGHT] / np.maximum(late[at][:, BIN_LABELS], 1)
    return Drift(chance, best + 1, before, after)


def _beside_others(height: FloatArray, share: FloatArray, fit: BoolArray) -> FloatArray:
    """Return deviations (n_workers, n_splits) less what most workers show at half of their work, in units of its spread."""
    some = fit.any(axis=1)
    if some.sum() < MANY_WORKERS:
        return height
    middle = np.abs(np.where(fit, share, np.inf) - 0.5).argmin(axis=1)
    low, median, high = np.quantile(height[some, middle[some]], (0.25, 0.5, 0.75))
    spread = float(high - low) / 1.349
    common = max(float(median) - 2.5 * spread / np.sqrt(some.sum()), 0.0)  # two standard errors of a median are taken off
    return (height - common) / max(spread, NARROWEST)
