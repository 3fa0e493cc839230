"""What further labels are expected to bring: item by item, and for the whole job against the money spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.planning.state import State

MOST_LABELS = 25  # more are not looked ahead: an expert is the better choice
DRAWS = 300
ROOM = 1_500_000  # numbers held at a time
SAMPLE = 400  # items that a curve is drawn from
POINTS = 24


def look_further(
    state: State, items: IntArray, generator: np.random.Generator, *, most: int = MOST_LABELS, draws: int = DRAWS
) -> FloatArray:
    r"""Return the expected probability of the label after 0 to ``most`` further labels, shape (n, most + 1).

    Truths are drawn from an item's class probabilities and labels from a typical worker's table. The m-th further label on
    an item of n labels counts for what it adds to the number of independent ones, :math:`S(n + m) - S(n + m - 1)`, see
    `Dependence.independent`: the rows of the table are raised to that power, in drawing as in judging.
    """
    posterior = state.posterior[items]
    n_items, n_classes = posterior.shape
    log_crowd = np.log(np.maximum(state.crowd, 1e-12))
    n_labels = state.n_labels[items].astype(np.float64)
    truth = (generator.random((n_items, draws, 1)) > np.cumsum(posterior, axis=1)[:, None, :]).sum(axis=2)
    truth = np.minimum(truth, n_classes - 1)
    rows = np.arange(n_items)[:, None]
    weight = np.repeat(np.log(np.maximum(posterior, 1e-300))[:, None, :], draws, axis=1)
    sure = np.empty((n_items, most + 1))
    sure[:, 0] = posterior.max(axis=1, initial=0.0)
    for m in range(1, most + 1):
        adds = state.law.independent(n_labels + m) - state.law.independent(n_labels + m - 1)
        tables = np.exp(adds[:, None, None] * log_crowd)
        tables /= tables.sum(axis=2, keepdims=True)
        steps = np.cumsum(tables, axis=2)
        label = (generator.random((n_items, draws, 1)) > steps[rows, truth]).sum(axis=2)
        weight += np.log(tables).transpose(0, 2, 1)[rows, np.minimum(label, n_classes - 1)]
        weight -= weight.max(axis=2, keepdims=True)
        sure[:, m] = (1 / np.exp(weight).sum(axis=2)).mean(axis=1)
    return np.asarray(np.maximum.accumulate(sure, axis=1))  # draws scatter; labels do not mislead in expectation


def labels_needed(sure: FloatArray, settled: float) -> list[int | None]:
    """Return after how many labels each item is expected to be settled, None where not within those looked at."""
    enough = sure >= settled
    return [int(row.argmax()) if row.any() else None for row in enough]


@dataclass(frozen=True, eq=False)
class Curve:
    """The expected error of the whole job against further labels, each where it gains most.

    Attributes
    ----------
    labels : ndarray of shape (n_points,)
        Further labels, from 0.
    error : ndarray of shape (n_points,)
        Expected share, of the items whose class is not known, with a wrong label.
    """

    labels: FloatArray
    error: FloatArray

    def labels_for(self, target: float) -> float | None:
        """Return how many further labels bring the error to a target, None where those looked at do not."""
        if self.error[-1] > target:
            return None
        return float(np.interp(-target, -self.error, self.labels))


def error_curve(state: State, *, factor: float = 1.0, seed: int = 0, size: int = SAMPLE) -> Curve:
    """Draw the curve from a sample of the items whose class is not known.

    ``factor`` is by how much the true error is expected to exceed what the probabilities say, see `Limit`.
    """
    generator = np.random.default_rng(seed)
    items = np.flatnonzero(~state.known)
    if not len(items):
        return Curve(np.zeros(1), np.zeros(1))
    size = min(size, max(1, ROOM // (DRAWS // 3 * state.posterior.shape[1])))
    chosen = items if len(items) <= size else np.sort(generator.choice(items, size, replace=False))
    sure = look_further(state, chosen, generator, draws=DRAWS // 3)
    each = len(items) / len(chosen)
    gain, cost = _steps(sure - sure[:, :1])
    order = np.argsort(-gain / cost, kind="stable")
    labels = np.append(0.0, np.cumsum(cost[order])) * each
    wrong = (1 - sure[:, 0]).sum() - np.append(0.0, np.cumsum(gain[order]))
    error = np.clip(factor * wrong / len(chosen), 0.0, 1.0)
    at = np.linspace(0.0, labels[-1], POINTS)
    return Curve(at, np.minimum.accumulate(np.interp(at, labels, error)))


def _steps(gain: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gain and number of labels of every step of the upper hulls of the items' gains, (n_steps,) each."""
    gains, sizes = [], []
    for row in gain:
        at = 0
        while at < len(row) - 1:
            slope = (row[at + 1 :] - row[at]) / np.arange(1, len(row) - at)
            step = int(slope.argmax()) + 1
            if slope[step - 1] <= 1e-6:
                break
            gains.append(row[at + step] - row[at])
            sizes.append(step)
            at += step
    return np.array(gains, np.float64), np.array(sizes, np.float64)
