"""The design of a many-facet model: which ratings count, in which order, and which parameters there are.

Elements that were only given the lowest, or only the highest, scores are set aside, and estimated at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.measurement.ratings import Ratings
from crowdassay.statistics import connected_parts, softmax

SAME_DIRECTION = 1e-6  # differences up to which two rows of a null space are one
INSIDE_BY = 0.3  # points by which an extreme total is taken to fall short of the extreme, as in Facets and Winsteps
FARTHEST_MEASURE = 30.0  # in logits


@dataclass(frozen=True, eq=False)
class Design:
    r"""Ratings sorted by the object they are of, and the places of the parameters.

    .. math::  P(x_n = k) \propto \exp(k z_n - T_{s_n k}), \qquad z_n = \theta_i + \sum_f \pm \beta_{f e}

    :math:`T_{sk}` is the sum of the thresholds up to k; it is 0 for the lowest and the highest score of a table, so that an
    element's parameter is the mean of its thresholds.

    Attributes
    ----------
    rows : ndarray of int64, shape (n_used,)
        Which ratings these are, in this order.
    starts : ndarray of int64, shape (n_objects + 1,)
    code : ndarray of int64, shape (n_used, n_others)
        Places of the elements of the other facets among the parameters.
    sign : ndarray of float, shape (n_others,)
        1 for facets that raise a rating, -1 for those that lower it.
    score, step : ndarray of int64, shape (n_used,)
        The score, and which table of thresholds it comes from.
    slot : ndarray of int64, shape (n_tables, n_scores)
        Place of each :math:`T_{sk}` among the parameters, -1 where it is 0 or impossible.
    seen : ndarray of bool, shape (n_tables, n_scores)
    first : ndarray of int64, shape (n_others + 1,)
        Where each of the other facets begins among the parameters.
    """

    rows: IntArray
    starts: IntArray
    code: IntArray
    sign: FloatArray
    score: IntArray
    step: IntArray
    slot: IntArray
    seen: BoolArray
    first: IntArray
    others: tuple[int, ...]

    @property
    def n_beta(self) -> int:
        return int(self.first[-1])

    @property
    def n_parameters(self) -> int:
        return int(max(self.n_beta, self.slot.max() + 1))

    @property
    def n_objects(self) -> int:
        return len(self.starts) - 1

    @property
    def owner(self) -> IntArray:
        """The object of each rating, shape (n_used,)."""
        return np.repeat(np.arange(self.n_objects), np.diff(self.starts))

    @property
    def ratings_each(self) -> float:
        """The harmonic mean of the numbers of ratings of the objects that have some."""
        counts = np.diff(self.starts)
        return 1.0 / float((1.0 / counts[counts > 0]).mean())

    @property
    def filled(self) -> BoolArray:
        """Whether each object has ratings, shape (n_objects,)."""
        return np.diff(self.starts) > 0

    @property
    def used(self) -> BoolArray:
        """Whether each element of the other facets has ratings, shape (n_beta,)."""
        return np.bincount(self.code.ravel(), minlength=self.n_beta) > 0

    @property
    def spans(self) -> list[slice]:
        """Where the elements of each of the other facets stand among the parameters."""
        return [slice(begin, end) for begin, end in pairwise(self.first)]

    @property
    def one_each(self) -> sparse.csr_array:
        """A row for each parameter, with a one in its place, and a last row of zeros for -1, which is no parameter."""
        return sparse.eye_array(self.n_parameters + 1, self.n_parameters, format="csr")

    @property
    def ends(self) -> tuple[IntArray, IntArray]:
        """The lowest and the highest score that each table gives, both (n_tables,)."""
        scores = np.arange(self.seen.shape[1])
        return np.where(self.seen, scores, len(scores)).min(axis=1), np.where(self.seen, scores, -1).max(axis=1)

    def tables(self, parameters: FloatArray) -> FloatArray:
        """Return T, shape (n_tables, n_scores), infinite for scores never given."""
        table = np.where(self.seen, 0.0, np.inf)
        table[self.slot >= 0] = parameters[self.slot[self.slot >= 0]]
        return table

    def ease(self, parameters: FloatArray) -> FloatArray:
        """Return exp(-T), shape (n_tables, n_scores), zero for scores never given."""
        return np.exp(-np.clip(self.tables(parameters), -300.0, np.inf))

    def offsets(self, parameters: FloatArray) -> FloatArray:
        """Return what the other facets add to each rating's logit, shape (n_used,)."""
        return np.asarray(parameters[self.code] @ self.sign)


def make_design(
    ratings: Ratings, kept: BoolArray, item: int, positive: frozenset[int], steps: int | None, seen: BoolArray | None = None
) -> Design:
    """Sort the kept ratings by object and number the parameters: elements facet by facet, then thresholds.

    ``seen`` (n_tables, n_scores) marks the scores that can be given; by default those that were.
    """
    others = tuple(f for f in range(len(ratings.facets)) if f != item)
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(ratings.code[rows, item], kind="stable")]
    starts = np.searchsorted(ratings.code[rows, item], np.arange(len(ratings.names[item]) + 1))
    first = np.concatenate([[0], np.cumsum([len(ratings.names[f]) for f in others])]).astype(np.int64)
    code = ratings.code[rows][:, list(others)] + first[:-1]
    score, step = ratings.score[rows], ratings.table_of(steps)[rows]
    if seen is None:
        seen = _seen(score, step, (1 if steps is None else len(ratings.names[steps]), len(ratings.values)))
    inner = seen & (np.cumsum(seen, axis=1) > 1) & (np.cumsum(seen[:, ::-1], axis=1)[:, ::-1] > 1)
    slot = np.where(inner, first[-1] + np.cumsum(inner).reshape(inner.shape) - 1, -1)
    sign = np.array([1.0 if f in positive else -1.0 for f in others])
    return Design(rows, starts.astype(np.int64), np.ascontiguousarray(code), sign, score, step, slot, seen, first, others)


def _seen(score: IntArray, step: IntArray, shape: tuple[int, ...]) -> BoolArray:
    """Mark the scores that were given in each table, shape (n_tables, n_scores)."""
    return np.bincount(step * shape[1] + score, minlength=shape[0] * shape[1]).reshape(shape) > 0


def some_objects(design: Design) -> Design | None:
    """Return the ratings of every tenth object; None where these leave out an element, or a score, that the others have."""
    chosen = np.arange(0, design.n_objects, 10)
    rows = np.concatenate([np.arange(design.starts[i], design.starts[i + 1]) for i in chosen])
    code, score, step = design.code[rows], design.score[rows], design.step[rows]
    starts = np.concatenate([[0], np.cumsum(np.diff(design.starts)[chosen])]).astype(np.int64)
    some = replace(design, rows=design.rows[rows], starts=starts, code=np.ascontiguousarray(code), score=score, step=step)
    alike = (_seen(score, step, design.seen.shape) == design.seen).all() and (some.used == design.used).all()
    return some if alike else None


def null_space(design: Design, *, joint: bool) -> FloatArray:
    """Return orthonormal directions in which the other facets' parameters can move without a change of any probability.

    One for each facet (all its elements together) is how the scale is: its origin is free. More mean that the design falls
    apart. With ``joint``, every object's measure is free to move along; without, only their mean.

    Returns
    -------
    ndarray of shape (n_beta, n_directions)
    """
    n_used, n_beta = len(design.rows), design.n_beta
    cells = (np.repeat(np.arange(n_used), design.code.shape[1]), design.code.ravel())
    values = np.tile(design.sign, n_used)
    incidence = sparse.csr_array((values, cells), shape=(n_used, n_beta))
    square = (incidence.T @ incidence).toarray()
    if joint:
        counts = np.maximum(np.diff(design.starts), 1)
        owner = sparse.csr_array((np.ones(n_used), (design.owner, np.arange(n_used))), shape=(design.n_objects, n_used))
        sums = owner @ incidence
        square -= (sums.T @ sparse.diags_array(1.0 / counts) @ sums).toarray()
    else:
        total = np.asarray(incidence.sum(axis=0)).ravel()
        square -= np.outer(total, total) / n_used
    whole = np.zeros((n_beta, len(design.sign)))
    used = design.used
    for f, span in enumerate(design.spans):
        whole[span, f] = used[span]
        whole[:, f] /= max(float(np.linalg.norm(whole[:, f])), 1e-300)
    scale = max(float(np.abs(square).max()), 1.0)
    square[~used, ~used] += scale
    try:
        factor = np.linalg.cholesky(square / scale + whole @ whole.T)
        if np.diag(factor).min() ** 2 > 1e-9:
            return whole
    except np.linalg.LinAlgError:
        pass
    value, vector = np.linalg.eigh(square / scale)
    return np.asarray(vector[:, value < 1e-9])


def find_subsets(design: Design, directions: FloatArray) -> tuple[IntArray, IntArray]:
    """Return which subset each parameter (n_beta,) and each object (n_objects,) belongs to; 0 throughout where connected.

    Elements of one facet can be compared if every direction moves them alike.
    """
    part = np.zeros(design.n_beta, np.int64)
    for span in design.spans:
        rows = np.round(directions[span] / SAME_DIRECTION).astype(np.int64)
        part[span] = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    filled = design.filled
    moved = np.einsum("nfd,f->nd", directions[design.code[design.starts[:-1][filled]]], design.sign)
    group = np.full(design.n_objects, -1, np.int64)
    group[filled] = np.unique(np.round(moved / SAME_DIRECTION).astype(np.int64), axis=0, return_inverse=True)[1].ravel()
    return part, group


def graph_subsets(design: Design) -> tuple[IntArray, IntArray]:
    """Return subsets of parameters and objects by the graph of objects and the largest facet, for large designs."""
    widest = int(np.argmax(np.diff(design.first)))
    size = design.n_beta + design.n_objects
    label = connected_parts(design.code[:, widest], design.n_beta + design.owner, size)
    part, span = np.zeros(design.n_beta, np.int64), design.spans[widest]
    part[span] = label[: design.n_beta][span]
    return part, np.where(design.filled, label[design.n_beta :], -1)


def only_ends(codes: IntArray, above: BoolArray, below: BoolArray, size: int) -> BoolArray:
    """Mark elements (size,) none of whose ratings is ``above`` the lowest score, or none ``below`` the highest."""
    up, down = (np.bincount(codes[rows], minlength=size) > 0 for rows in (above, below))
    return np.asarray(~(up & down))


def set_aside(
    ratings: Ratings, steps: int | None, facets: tuple[int, ...]
) -> tuple[BoolArray, list[list[tuple[int, IntArray]]]]:
    """Leave out the ratings of elements that only have the lowest or only the highest scores: their measure is infinite.

    Leaving some out may leave others with the lowest or highest scores only, so this goes on until none are left.

    Returns
    -------
    kept : ndarray of bool, shape (n_ratings,)
    rounds : list of list of (facet, elements)
        What was left out, in order.
    """
    kept = np.ones(ratings.n_ratings, bool)
    rounds: list[list[tuple[int, IntArray]]] = []
    n_scores = len(ratings.values)
    step = ratings.table_of(steps)
    while kept.any():
        low, high = np.full(step.max() + 1, n_scores), np.full(step.max() + 1, -1)
        np.minimum.at(low, step[kept], ratings.score[kept])
        np.maximum.at(high, step[kept], ratings.score[kept])
        above, below = (ratings.score > low[step]) & kept, (ratings.score < high[step]) & kept
        out: list[tuple[int, IntArray]] = []
        for f in facets:
            size = len(ratings.names[f])
            there = np.bincount(ratings.code[kept, f], minlength=size) > 0
            extreme = np.flatnonzero(there & only_ends(ratings.code[:, f], above, below, size))
            if len(extreme):
                out.append((f, extreme))
        if not out:
            break
        for f, extreme in out:
            kept &= ~np.isin(ratings.code[:, f], extreme)
        rounds.append(out)
    return kept, rounds


def estimate_extremes(
    ratings: Ratings,
    steps: int | None,
    design: Design,
    parameters: FloatArray,
    sign: FloatArray,
    rounds: list[list[tuple[int, IntArray]]],
    measures: list[FloatArray],
    errors: list[FloatArray],
) -> None:
    """Fill in the measures of elements that were set aside, as if their total were 0.3 points inside the range.

    Those set aside last come first, since the others' ratings involve them.
    """
    table = design.tables(parameters)
    scores = np.arange(table.shape[1])
    bottoms, tops = design.ends
    step = ratings.table_of(steps)
    high, low = tops[step], np.minimum(bottoms, tops.clip(0))[step]
    for group in reversed(rounds):
        for facet, elements in group:
            others = (f for f in range(len(ratings.facets)) if f != facet)
            rest = sum((sign[f] * measures[f][ratings.code[:, f]] for f in others), np.zeros(ratings.n_ratings))
            rows = np.flatnonzero(np.isin(ratings.code[:, facet], elements) & np.isfinite(rest) & (high > low))
            if not len(rows):
                continue
            place = np.searchsorted(elements, ratings.code[rows, facet])
            size = len(elements)
            total = np.bincount(place, ratings.score[rows].clip(low[rows], high[rows]), size)
            bottom, top = np.bincount(place, low[rows], size), np.bincount(place, high[rows], size)
            total = np.clip(total, bottom + INSIDE_BY, top - INSIDE_BY)
            value, information = np.zeros(size), np.ones(size)
            for _ in range(100):
                logit = scores * (rest[rows] + sign[facet] * value[place])[:, None] - table[step[rows]]
                chance = softmax(logit)
                mean = chance @ scores
                information = np.asarray(np.bincount(place, chance @ scores**2 - mean**2, size), float)
                move = sign[facet] * (total - np.bincount(place, mean, size)) / np.maximum(information, 1e-8)
                value = np.clip(value + np.clip(move, -1.0, 1.0), -FARTHEST_MEASURE, FARTHEST_MEASURE)
                if np.abs(move).max() < 1e-8:
                    break
            there = top > bottom
            measures[facet][elements[there]] = value[there]
            errors[facet][elements[there]] = 1.0 / np.sqrt(np.maximum(information[there], 1e-8))
