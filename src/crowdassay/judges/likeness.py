r"""Which judges make the same mistakes, and how many independent judges they are worth.

A judge's error on an item is 1 where it does not say what people say, less its mean over the items of that class, so that what
the truth explains is gone. With :math:`\bar r` the mean correlation of two judges' errors, a vote of :math:`k` judges is as
sure as one of

.. math:: k^* = \frac{k}{1 + (k - 1)\,\bar r}

independent ones: 1 where all make the same mistakes, :math:`k` where none do (Kish's effective number).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from crowdassay.arrays import FloatArray, IntArray

LEAST_COMMON_ITEMS = 10  # common items from which a correlation is looked at
ALIKE = 0.5  # correlation from which judges are said to make the same mistakes
LEAST_ITEMS_TO_GROUP = 20  # items from which judges are grouped
RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class Likeness:
    """How alike judges err.

    Attributes
    ----------
    correlation : ndarray, shape (n_judges, n_judges)
        Of errors beyond the truth; NaN where two judges share too few items.
    worth : float
        Independent judges that the panel is worth; NaN where it cannot be told.
    low, high : float
        Limits of a 95 % interval of `worth`.
    judges : int
        Judges who share enough items with another, of whom this is said.
    clusters : tuple of tuple of int
        Judges who make the same mistakes, two or more together.
    """

    correlation: FloatArray
    worth: float
    low: float
    high: float
    judges: int
    clusters: tuple[tuple[int, ...], ...]


def find_likeness(reading: IntArray, truth: IntArray, generator: np.random.Generator) -> Likeness:
    """Compare the errors of judges.

    Parameters
    ----------
    reading : ndarray of int, shape (n, n_judges)
        The class that each judge speaks for, -1 where it said nothing.
    truth : ndarray of int, shape (n,)
        What people say.
    generator : numpy.random.Generator
        Of the bootstrap over items.
    """
    errors = beyond_truth(reading, truth)
    covariance, common = _covariance(errors)
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(spread, spread)
    # A judge that never errs errs with nobody.
    correlation = np.where(np.isfinite(correlation), np.clip(correlation, -1, 1), 0.0)
    np.fill_diagonal(correlation, 1.0)
    correlation[common < LEAST_COMMON_ITEMS] = np.nan
    worth = _worth(covariance, common)
    drawn = []
    if np.isfinite(worth):
        n = len(errors)
        for _ in range(RESAMPLES):
            rows = generator.integers(n, size=n)
            drawn.append(_worth(*_covariance(beyond_truth(reading[rows], truth[rows]))))
    kept = np.array(drawn)[np.isfinite(drawn)] if drawn else np.zeros(0)
    low, high = np.quantile(kept, [0.025, 0.975]) if len(kept) else (np.nan, np.nan)
    limits = min(float(low), worth), max(float(high), worth)
    return Likeness(correlation, worth, *limits, len(_compared(common)), _clusters(correlation, common))


def beyond_truth(reading: IntArray, truth: IntArray) -> FloatArray:
    """Return errors less their mean by judge and class, shape (n, n_judges), NaN where a judge said nothing."""
    errors = np.where(reading < 0, np.nan, (reading != truth[:, None]).astype(float))
    for c in np.unique(truth):
        rows = truth == c
        seen = np.isfinite(errors[rows])
        total = np.where(seen, errors[rows], 0.0).sum(axis=0)
        errors[rows] -= total / np.maximum(seen.sum(axis=0), 1)
    return errors


def _covariance(errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    seen = np.isfinite(errors).astype(float)
    filled = np.where(seen > 0, errors, 0.0)
    common = seen.T @ seen
    return filled.T @ filled / np.maximum(common, 1), common


def _worth(covariance: FloatArray, common: FloatArray) -> float:
    if len(covariance) == 1:
        return 1.0
    k = len(_compared(common))
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    pairs = np.triu(common >= LEAST_COMMON_ITEMS, 1)
    could = np.outer(spread, spread)[pairs].sum()
    if not pairs.any():
        return float("nan")
    mean = float(covariance[pairs].sum() / could) if could > 0 else 0.0
    return float(k / (1 + (k - 1) * min(max(mean, 0.0), 1.0)))


def _compared(common: FloatArray) -> IntArray:
    """Return the judges who share enough items with another."""
    shared = common >= LEAST_COMMON_ITEMS
    np.fill_diagonal(shared, False)
    return np.flatnonzero(shared.any(axis=1)) if len(common) > 1 else np.zeros(1, int)


def _clusters(correlation: FloatArray, common: FloatArray) -> tuple[tuple[int, ...], ...]:
    if len(correlation) < 2 or np.nanmax(common) < LEAST_ITEMS_TO_GROUP:
        return ()
    distance = 1 - np.nan_to_num(correlation, nan=0.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    member = fcluster(tree, 1 - ALIKE, "distance")
    groups = [tuple(int(i) for i in np.flatnonzero(member == g)) for g in np.unique(member)]
    return tuple(sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group)))
