"""Multinomial logistic regression on soft labels."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from crowdassay.arrays import FloatArray
from crowdassay.solvers.em import EPSILON


def logistic_loss(flat: FloatArray, design: FloatArray, target: FloatArray, penalty: float) -> tuple[float, FloatArray]:
    r"""Return the soft cross-entropy with ridge, :math:`-\sum_{jc} q_{jc} \log P_{jc} + \lambda|W|^2/2`, and its gradient.

    The last column of ``design`` (n_items, n_features + 1) is the intercept, which is free.
    """
    weights = flat.reshape(target.shape[1], -1)
    log_chance = log_softmax(design @ weights.T, axis=1)
    shrunk = penalty * weights
    shrunk[:, -1] = 0.0
    loss = -float(np.sum(target * log_chance)) + 0.5 * float(np.sum(shrunk * weights))
    return loss, ((np.exp(log_chance) - target).T @ design + shrunk).ravel()


def fit_logistic(design: FloatArray, target: FloatArray, penalty: float, start: FloatArray) -> FloatArray:
    """Return the weights (n_classes, n_features + 1) that minimise `logistic_loss`, climbing from ``start``."""
    from scipy.optimize import minimize  # noqa: PLC0415  slow to load, seldom needed

    if not start.any():  # the exact answer where features tell nothing
        start = start.copy()
        start[:, -1] = np.log(target.mean(axis=0) + EPSILON)
    solution = minimize(
        logistic_loss,
        start.ravel(),
        (design, target, penalty),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-8, "maxiter": 1000},
    )
    return np.asarray(solution.x).reshape(start.shape)
