r"""Standard errors where ratings that answer one question depend on each other.

A rating n of object i tells about the other parameters what its slope tells less what the object's own measure, unknown too,
takes away; what it tells about the object follows:

.. math::  u_n = s_n - \frac{L_i}{R_i} z_n, \qquad d\beta_c = V \sum_{n \in c} u_n, \qquad
           d\theta_{ic} = \frac{1}{R_i} \Big( \sum_{n \in c \cap i} z_n - L_i^\top d\beta_c \Big)

with s and z the slopes by the parameters and by the object's measure, R the information on it and L what it shares with the
parameters. Variances are sums of squares over clusters c. An object whose ratings are all in one cluster has :math:`u = s`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.measurement.design import Design
from crowdassay.measurement.fit import FacetsFit
from crowdassay.measurement.residuals import residuals_at
from crowdassay.statistics import softmax

ENOUGH_QUESTIONS = 30  # from which on errors are summed over questions
MOST_INFLUENCES = 50_000_000  # objects, or parameters, times questions up to which the other facets' errors enter


def clustered_variances(design: Design, fit: FacetsFit, cluster: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances of the parameters (n_parameters,) and of the objects' measures (n_objects,).

    An element that few questions have met is given at least the variance that the model has for it.

    Parameters
    ----------
    design : Design
    fit : FacetsFit
        With the whole covariance.
    cluster : ndarray of int64, shape (n_used,)
        From 0 on.
    """
    n, p, n_clusters = len(design.rows), design.n_parameters, int(cluster.max()) + 1
    slope, link, residual, variance = _slopes(design, fit)
    owner = sparse.csr_array((np.ones(n), (design.owner, np.arange(n))), shape=(design.n_objects, n))
    within = sparse.csr_array((np.ones(n), (cluster, np.arange(n))), shape=(n_clusters, n))
    precision = 0.0 if fit.spread == 0 else fit.spread**-2.0
    information = np.maximum(np.asarray(owner @ variance) + precision, 1e-12)
    met = _counts(within @ owner.T)  # questions by object
    crossed = met > 1
    pull = (owner @ link).tocsr()  # what objects share with parameters, (n_objects, p)
    share = sparse.diags_array(np.where(crossed, 1.0 / information, 0.0)) @ pull
    own = (within @ sparse.diags_array(residual) @ owner.T).tocsr()
    told = (within @ slope - own @ share).tocsr()
    inverse = np.nan_to_num(fit.covariance)
    n_free = float(np.linalg.matrix_rank(inverse, hermitian=True))
    grow = (n_clusters / max(n_clusters - n_free, 1.0)) ** 2  # as a jackknife would (CR3)
    meat = grow * (told.T @ told).toarray() + (share.T @ share).toarray() * precision
    robust = np.einsum("ij,ij->i", inverse @ meat, inverse)
    model = np.diag(fit.covariance)
    robust = np.where(_counts(within @ abs(link)) >= ENOUGH_QUESTIONS, robust, np.fmax(robust, model))
    square = own.power(2).sum(axis=0)
    if max(design.n_objects, p) * n_clusters <= MOST_INFLUENCES:
        moved = own.toarray() - told.toarray() @ inverse @ pull.T.toarray()
        square = (moved**2).sum(axis=0)
    objects = (grow * np.asarray(square).ravel() + precision) / information**2
    known = fit.moments[:, 1]
    objects = np.where(met >= ENOUGH_QUESTIONS, objects, np.where(crossed, np.fmax(objects, known), known))
    return np.where(np.isnan(model), np.nan, robust), objects


def _slopes(design: Design, fit: FacetsFit) -> tuple[sparse.csr_array, sparse.csr_array, FloatArray, FloatArray]:
    """Return each rating's slopes by the parameters, what it shares with its object's measure, its residual and variance."""
    n, n_scores = len(design.rows), design.seen.shape[1]
    rows = residuals_at(design, fit.parameters, fit.theta)
    scores = np.arange(n_scores)
    chance = softmax(scores * rows.logit[:, None] - np.clip(design.tables(fit.parameters), -300.0, 1e6)[design.step])
    mean = design.score - rows.residual
    slots = design.slot[design.step]
    places = np.column_stack([design.code, np.maximum(slots, 0)])
    real = slots >= 0
    by_slot = np.where(real, chance - (design.score[:, None] == scores), 0.0)
    with_slot = np.where(real, -chance * (scores - mean[:, None]), 0.0)
    parts = (
        np.column_stack([rows.residual[:, None] * design.sign, by_slot]),
        np.column_stack([rows.variance[:, None] * design.sign, with_slot]),
    )
    ends = np.arange(n + 1) * places.shape[1]
    slope, link = (sparse.csr_array((part.ravel(), places.ravel(), ends), shape=(n, design.n_parameters)) for part in parts)
    return slope, link, rows.residual, rows.variance


def _counts(table: sparse.sparray) -> IntArray:
    """Return how many rows have something in each column."""
    return np.asarray((table != 0).sum(axis=0)).ravel()
