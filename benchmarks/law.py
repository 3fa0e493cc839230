"""Learn how the true error of jobs lies around what their probabilities say; see `crowdassay.planning.stop`."""

import numpy as np
from scipy.special import logit, stdtrit

from crowdassay.planning.stop import CONFIDENCE, LEAST_ERROR, Law, with_caution


def fit_law(records, confidence=CONFIDENCE):
    """Learn the law from records of ``group``, ``estimated``, ``error`` and ``items``; every group counts the same.

    The centre is what the probabilities say: with a bias and a slope the estimate was worse on groups left out. The
    spread is set by the weighted quantile of the residuals' size, so that they lie between both limits as often as these
    promise; the shape of the tails is Student's.
    """
    groups = [row["group"] for row in records]
    weight = np.array([1 / groups.count(group) for group in groups])
    x = np.array([logit(np.clip(row["estimated"], LEAST_ERROR, 1 - LEAST_ERROR)) for row in records])
    y = np.array([logit((row["error"] * row["items"] + 0.5) / (row["items"] + 1)) for row in records])
    residual = np.abs(y - x)
    n_groups = len(set(groups))
    order, level_of_limit = np.argsort(residual), with_caution(confidence, n_groups)
    level = np.cumsum(weight[order]) / n_groups
    place = min(int(np.searchsorted(level, 2 * level_of_limit - 1)), len(order) - 1)
    freedom = float(max(n_groups - 1, 1))
    spread = float(residual[order[place]] / stdtrit(freedom, level_of_limit))
    return Law(round(spread, 4), freedom, n_groups)
