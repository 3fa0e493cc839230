"""What further labels are expected to bring: item by item, and for the whole job against the money spent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.models.assay.dependence import Dependence
from crowdassay.planning.gain import SMALL_PROBABILITY, fall_of_error
from crowdassay.planning.population import population
from crowdassay.planning.state import State

MOST_LABELS = 25  # more are not looked ahead: an expert is the better choice
ITEMS_SAMPLED = 10_000  # items that a curve is drawn from
POINTS = 24
LEAST_SLOPE = 1e-6  # expected fall of the error by a label, below which none is planned


def forecast_law() -> Dependence:
    """Return the law by which labels add up in forecasts, chosen by `benchmarks/forecast.py`.

    Which label is best depends on how far the method's probabilities will move, and so on the method's own law. How far the
    error will fall is another question: it falls faster than the method, which is careful, believes.
    """
    return Dependence(population()["forecast"]["overlap"])


def look_further(state: State, items: IntArray, *, most: int = MOST_LABELS, law: Dependence | None = None) -> FloatArray:
    """Return the expected probability of the label after 0 to ``most`` further labels of typical workers, (n, most + 1).

    As for one label, see `crowdassay.planning.gain`; m further labels count for what they add to the independent ones.
    """
    law = law or forecast_law()
    first, second = (code[items] for code in state.rivals())
    n_labels = state.n_labels[items].astype(np.float64)[:, None]
    adds = law.independent(n_labels + np.arange(most + 1)) - law.independent(n_labels)
    q, p = (np.maximum(state.posterior[items, code], SMALL_PROBABILITY)[:, None] for code in (first, second))
    sure = q + fall_of_error(q, p, adds * state.crowd_apart[first, second][:, None])
    return np.asarray(np.maximum.accumulate(sure, axis=1))


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


def error_curve(state: State, *, factor: float = 1.0, size: int = ITEMS_SAMPLED, law: Dependence | None = None) -> Curve:
    """Draw the curve from the items whose class is not known; of very many, from some, taken at even distances.

    ``factor`` is by how much the true error is expected to exceed what the probabilities say, see `Limit`.
    """
    items = np.flatnonzero(~state.known)
    if not len(items):
        return Curve(np.zeros(1), np.zeros(1))
    chosen = items[:: -(-len(items) // size)]
    sure = look_further(state, chosen, law=law)
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
    at, rows = np.zeros(len(gain), np.int64), np.arange(len(gain))
    ahead = np.arange(gain.shape[1])
    while len(rows):
        size = ahead - at[rows, None]
        slope = np.where(size > 0, (gain[rows] - gain[rows, at[rows]][:, None]) / np.maximum(size, 1), -1.0)
        best = slope.argmax(axis=1)
        up = slope[np.arange(len(rows)), best] > LEAST_SLOPE
        rows, best = rows[up], best[up]
        gains.append(gain[rows, best] - gain[rows, at[rows]])
        sizes.append(best - at[rows])
        at[rows] = best
    return np.concatenate(gains) if gains else np.empty(0), np.concatenate(sizes).astype(np.float64) if sizes else np.empty(0)
