"""Elements that were only given the lowest, or only the highest, scores: set aside, and estimated at the end."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.measurement.design import Design
from crowdassay.measurement.ratings import Ratings
from crowdassay.statistics import softmax

INSIDE_BY = 0.3  # points by which an extreme total is taken to fall short of the extreme, as in Facets and Winsteps
FARTHEST_MEASURE = 30.0  # in logits


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
    while kept.any():
        step = np.zeros(ratings.n_ratings, np.int64) if steps is None else ratings.code[:, steps]
        low, high = np.full(step.max() + 1, n_scores), np.full(step.max() + 1, -1)
        np.minimum.at(low, step[kept], ratings.score[kept])
        np.maximum.at(high, step[kept], ratings.score[kept])
        inside = (ratings.score > low[step]) & kept, (ratings.score < high[step]) & kept
        out: list[tuple[int, IntArray]] = []
        for f in facets:
            size = len(ratings.names[f])
            there = np.bincount(ratings.code[kept, f], minlength=size) > 0
            up, down = (np.bincount(ratings.code[part, f], minlength=size) > 0 for part in inside)
            extreme = np.flatnonzero(there & ~(up & down))
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
    span = np.where(design.seen, scores, -1).max(axis=1), np.where(design.seen, scores, len(scores)).min(axis=1)
    step = np.zeros(ratings.n_ratings, np.int64) if steps is None else ratings.code[:, steps]
    high, low = span[0][step], np.minimum(span[1], span[0].clip(0))[step]
    for group in reversed(rounds):
        for facet, elements in group:
            rest = np.zeros(ratings.n_ratings)
            for f in range(len(ratings.facets)):
                if f != facet:
                    rest += sign[f] * measures[f][ratings.code[:, f]]
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
