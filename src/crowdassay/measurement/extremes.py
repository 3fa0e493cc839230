"""Elements that were only given the lowest, or only the highest, scores."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.measurement.design import Design
from crowdassay.measurement.ratings import Ratings

SHORT = 0.3  # points by which an extreme total is taken to fall short of the extreme, as in Facets and Winsteps
FARTHEST = 30.0


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
            total = np.clip(total, bottom + SHORT, top - SHORT)
            value, information = np.zeros(size), np.ones(size)
            for _ in range(100):
                logit = scores * (rest[rows] + sign[facet] * value[place])[:, None] - table[step[rows]]
                chance = np.exp(logit - logit.max(axis=1, keepdims=True))
                chance /= chance.sum(axis=1, keepdims=True)
                mean = chance @ scores
                information = np.asarray(np.bincount(place, chance @ scores**2 - mean**2, size), float)
                move = sign[facet] * (total - np.bincount(place, mean, size)) / np.maximum(information, 1e-8)
                value = np.clip(value + np.clip(move, -1.0, 1.0), -FARTHEST, FARTHEST)
                if np.abs(move).max() < 1e-8:
                    break
            there = top > bottom
            measures[facet][elements[there]] = value[there]
            errors[facet][elements[there]] = 1.0 / np.sqrt(np.maximum(information[there], 1e-8))
