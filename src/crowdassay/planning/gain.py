r"""What further labels are expected to gain: one label, in closed form; the items most worth one; and the whole job.

Between its two likeliest classes the log-odds of an item move with every label: up by d in the mean if the first is true, down
by d if the second is, with a variance of 2 d, where d is how far the worker's answers to the two classes are apart (the mean of
both Kullback-Leibler divergences). Labels on one item repeat one another, so a label counts for what it adds to the number of
independent ones, :math:`\Delta = S(n + 1) - S(n)`. An error goes where the log-odds change their sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray, row_max
from crowdassay.models.assay.dependence import Dependence
from crowdassay.planning.state import State
from crowdassay.planning.stop import forecast_law
from crowdassay.special import ndtr

LEAST_CHANCE = 1e-12
LABELS_AHEAD = 25  # more are not looked ahead: an expert is the better choice
ITEMS_SAMPLED = 10_000  # items that a curve is drawn from
POINTS = 24
LEAST_SLOPE = 1e-6  # expected fall of the error by a label, below which none is planned


def fall_of_error(first: FloatArray, second: FloatArray, apart: FloatArray) -> FloatArray:
    r"""Return the expected fall of the chance that the likeliest class is wrong, shape (n,).

    .. math::  q_1 \Phi\Big(\frac{L + v}{\sqrt{2 v}}\Big) + q_2 \Phi\Big(\frac{v - L}{\sqrt{2 v}}\Big) - q_1,
               \qquad L = \log \frac{q_1}{q_2}, \quad v = \Delta d

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Probabilities of the two likeliest classes; if they do not add up to one, the rest stays as it is.
    apart : ndarray of shape (n,)
        v, how far the answer tells the two classes apart.

    Examples
    --------
    An answer that says all removes all doubt, one that says nothing removes none.

    >>> fall_of_error(np.array([0.6, 0.6, 0.6]), np.array([0.4, 0.4, 0.4]), np.array([1e9, 1.0, 0.0])).round(2).tolist()
    [0.4, 0.17, 0.0]
    """
    odds = np.log(first / second)
    width = np.sqrt(2 * np.maximum(apart, LEAST_CHANCE))
    after = first * ndtr((apart + odds) / width) + second * ndtr((apart - odds) / width)
    return np.maximum(after - first, 0.0)


def fall_of_variance(share: FloatArray, apart: FloatArray) -> FloatArray:
    r"""Return the expected fall of q (1 - q), shape (n,), for an item that is of a class with probability q.

    .. math::  \frac{4 q^2 (1 - q)^2 x^2}{1 - x^2 (2 q - 1)^2}, \qquad x^2 = \tanh(v / 2)

    That is exact for a yes or no that is right with probability (1 + x) / 2.

    >>> fall_of_variance(np.array([0.3, 0.3]), np.array([1e9, 0.0])).round(2).tolist()
    [0.21, 0.0]
    """
    told = np.tanh(apart / 2)
    both = share * (1 - share)
    return np.asarray(4 * both**2 * told / np.maximum(1 - told * (2 * share - 1) ** 2, LEAST_CHANCE))


def label_gain(
    state: State, items: IntArray, workers: IntArray | None = None, *, rate: int | None = None, pending: IntArray | None = None
) -> FloatArray:
    """Return what a label is expected to gain for items and workers, which broadcast against each other.

    Parameters
    ----------
    state : State
    items : ndarray of int
    workers : ndarray of int, optional
        Without, a typical worker is asked.
    rate : int, optional
        A class whose share among the items is to be known: the gain is then the expected fall of the variance of its share,
        times the square of the number of items. Otherwise the expected fall of the error, in items.
    pending : ndarray of int, shape (n_items,), optional
        Labels that are asked for and not in yet: they count among the labels an item has.
    """
    return gain_by(state, items, information(state, items, workers, rate=rate, pending=pending), rate=rate)


def gain_by(state: State, items: IntArray, apart: FloatArray, *, rate: int | None = None) -> FloatArray:
    """Return what labels are expected to gain that tell the two likeliest classes so far ``apart``, see `information`."""
    q, p = (np.maximum(state.posterior[items, code[items]], LEAST_CHANCE) for code in state.rivals(rate))
    return fall_of_error(q, p, apart) if rate is None else fall_of_variance(q, apart)


def information(
    state: State, items: IntArray, workers: IntArray | None = None, *, rate: int | None = None, pending: IntArray | None = None
) -> FloatArray:
    """Return v, how far a label is expected to tell the two likeliest classes apart; parameters as for `label_gain`."""
    n_labels = state.n_labels if pending is None else state.n_labels + pending
    one, other = (code[items] for code in state.rivals(rate))
    apart = state.crowd_apart[one, other] if workers is None else state.apart[workers, one, other]
    return np.asarray(apart * state.law.adds(n_labels[items]))


def expert_gain(state: State, items: IntArray, *, rate: int | None = None) -> FloatArray:
    """Return what knowing the class is expected to gain, shape (n,), measured as by `label_gain`."""
    if rate is not None:
        q = state.posterior[items, rate]
        return np.asarray(q * (1 - q))
    return np.asarray(1 - row_max(state.posterior[items]))


def look_further(state: State, items: IntArray, *, law: Dependence | None = None) -> FloatArray:
    """Return the expected probability of the label after 0 to 25 further labels of typical workers, (n, 26)."""
    sure = sure_after(state, items[:, None], np.arange(LABELS_AHEAD + 1), law=law)
    return np.asarray(np.maximum.accumulate(sure, axis=1))


def sure_after(state: State, items: IntArray, more: IntArray | int, *, law: Dependence | None = None) -> FloatArray:
    """Return the expected probability of the label after ``more`` further labels of typical workers.

    As for one label, see `crowdassay.planning.gain`; they count for what they add to the independent ones. Items and numbers of
    labels broadcast against each other.
    """
    law = law or forecast_law()
    first, second = (code[items] for code in state.rivals())
    n_labels = state.n_labels[items].astype(np.float64)
    adds = law.independent(n_labels + more) - law.independent(n_labels)
    q, p = (np.maximum(state.posterior[items, code], LEAST_CHANCE) for code in (first, second))
    return np.asarray(q + fall_of_error(q, p, adds * state.crowd_apart[first, second]))


def labels_needed(state: State, items: IntArray) -> IntArray:
    """Return after how many further labels each item is expected to be settled, 26 where not within 25: (n,).

    More labels never make the expected probability fall, so that the number is found by bisection.

    >>> from crowdassay import MajorityVote
    >>> data = (list("aaabbb"), list("xyzxyz"), [0, 1, 0, 1, 1, 1])
    >>> labels_needed(State.of(MajorityVote().fit(data).result_), np.array([0, 1])).tolist()
    [26, 0]
    """
    needed = np.full(len(items), LABELS_AHEAD + 1)
    rows = np.flatnonzero(sure_after(state, items, LABELS_AHEAD) >= state.settled)
    low, high = np.full(len(rows), -1), np.full(len(rows), LABELS_AHEAD)
    while len(rows) and (high - low).max() > 1:
        middle = np.where(high - low > 1, (low + high) // 2, high)
        enough = sure_after(state, items[rows], middle) >= state.settled
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    needed[rows] = high
    return needed


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


def error_curve(state: State, *, factor: float = 1.0, law: Dependence | None = None) -> Curve:
    """Draw the curve from the items whose class is not known; of very many, from some, taken at even distances.

    The error is a share of all items, as `Limit` has it. ``factor`` is by how much the true one is expected to exceed what the
    probabilities say.
    """
    items = np.flatnonzero(~state.known)
    if not len(items):
        return Curve(np.zeros(1), np.zeros(1))
    chosen = items[:: -(-len(items) // ITEMS_SAMPLED)]
    sure = look_further(state, chosen, law=law)
    each = len(items) / len(chosen)
    gain, cost = _steps(sure - sure[:, :1])
    order = np.argsort(-gain / cost, kind="stable")
    labels = np.append(0.0, np.cumsum(cost[order])) * each
    wrong = (1 - sure[:, 0]).sum() - np.append(0.0, np.cumsum(gain[order]))
    error = np.clip(factor * wrong * each / state.labels.n_items, 0.0, 1.0)
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


@dataclass(frozen=True)
class Worth:
    """An item, what an expert and what a further label would gain.

    Attributes
    ----------
    item : int
    expert : float
        Expected number of errors that knowing the class would remove: one less the probability of the label.
    rate : float
        Expected number of errors that a label of a typical worker would remove.
    labels : int or None
        Further labels by typical workers until the item is expected to be settled; None if more than 25.
    by_labels : float
        Expected number of errors that these would remove; 0 where there are none.
    """

    item: int
    expert: float
    rate: float
    labels: int | None = None
    by_labels: float = 0.0


def rank_items(
    state: State, items: IntArray, *, worker: int | None = None, rate: int | None = None, size: int | None = None
) -> IntArray:
    """Return items by what one more label gains, the most first, equals as given; of one worker, or of a typical one.

    With ``size``, only the first ones.
    """
    gain = np.round(label_gain(state, items, None if worker is None else np.array([worker]), rate=rate), 9)
    size = len(items) if size is None else min(size, len(items))
    if 0 < size < len(items):  # sorting all takes longer than all else
        near = np.flatnonzero(gain >= np.partition(gain, -size)[-size])
        items, gain = items[near], gain[near]
    unsure = np.round(expert_gain(state, items, rate=rate), 9)
    return items[np.lexsort((-unsure, -gain))[:size]]


def next_items(
    state: State,
    size: int = 1,
    *,
    worker: int | None = None,
    allowed: BoolArray | None = None,
    max_per_item: int | None = None,
) -> IntArray:
    """Return the codes of the items to label next, the most worthwhile first.

    Parameters
    ----------
    state : State
    size : int
        How many.
    worker : int, optional
        Who asks: items that the worker, or a copy of the worker, has labelled are left out.
    allowed : ndarray of bool, shape (n_items,), optional
        Items that may be given out, for example those that nobody is working on.
    max_per_item : int, optional
        Labels that an item may have.

    Examples
    --------
    >>> from crowdassay import MajorityVote
    >>> data = (list("aaabbb"), list("xyzxyz"), [0, 1, 0, 1, 1, 1])
    >>> next_items(State.of(MajorityVote().fit(data).result_), 1).tolist()
    [0]
    """
    free = ~state.known
    if allowed is not None:
        free &= allowed
    if max_per_item is not None:
        free &= state.n_labels < max_per_item
    if worker is not None:
        same = [worker, *state.copies[state.copies[:, 0] == worker, 1], *state.copies[state.copies[:, 1] == worker, 0]]
        free[state.labels.label_item[np.isin(state.labels.worker, same)]] = False
    return rank_items(state, np.flatnonzero(free), worker=worker, size=size)


def worth_of(state: State, items: IntArray) -> list[Worth]:
    """Return what labels and an expert would gain on some items, in the order of `rank_items`."""
    ranked = rank_items(state, items)
    gain, unsure = label_gain(state, ranked), expert_gain(state, ranked)
    needed = labels_needed(state, ranked)
    settling = sure_after(state, ranked, np.minimum(needed, LABELS_AHEAD)) - sure_after(state, ranked, 0)
    return [
        Worth(item, expert, one, n, by_all) if n <= LABELS_AHEAD else Worth(item, expert, one)
        for item, expert, one, n, by_all in zip(
            *(column.tolist() for column in (ranked, unsure, gain, needed, settling)), strict=True
        )
    ]
