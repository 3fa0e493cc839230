r"""The sweep in plain NumPy: slow, readable, and what every fast kernel must equal.

One item at a time, straight from the formulas; no tables of exponentials, no shortcuts.
"""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from crowdassay.arrays import FloatArray
from crowdassay.labels.labels import Labels
from crowdassay.models.structures import Basis

REFERENCE_STEPS = 500


def sweep(
    labels: Labels,
    sigma: FloatArray,
    log_prior: FloatArray,
    basis: Basis | None = None,
    beta: float = 0.0,
    held: FloatArray | None = None,
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    r"""Fit every item at the worker tables ``sigma`` (n_workers, n_classes, n_classes), from :math:`\phi_j = 0`.

    Parameters
    ----------
    labels : Labels
    sigma : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    basis : Basis, optional
        The item structure; without it there is no item block.
    beta : float
    held : ndarray of shape (n_items, n_classes), optional
        Class weights to hold; otherwise they are the posterior.

    Returns
    -------
    objective : float
        :math:`\sum_j [\sum_c Q_{jc} \log \pi_c P(x_j \mid c) + H(Q_j) - \frac\beta2 |\phi_j|^2]`
    gradient : ndarray of shape (n_workers, n_classes, n_classes)
        :math:`\sum_j Q_{jc} (1[x_{ij} = k] - P_{ij}(k \mid c))`
    weights : ndarray of shape (n_items, n_classes)
    phi : ndarray of shape (n_items, size)
    """
    n_items, n_classes = labels.n_items, labels.n_classes
    weights, phi = np.empty((n_items, n_classes)), np.zeros((n_items, basis.size if basis else 0))
    gradient, objective = np.zeros_like(sigma), 0.0
    for j in range(n_items):
        mine = slice(labels.starts[j], labels.starts[j + 1])
        worker, label = labels.worker[mine], labels.label[mine]
        fixed = np.eye(n_classes)[labels.gold[j]] if labels.gold[j] >= 0 else None if held is None else held[j]
        if basis is not None:
            phi[j] = solve_item(sigma[worker], label, log_prior, basis, beta, fixed)
        value, weights[j], residual = evaluate_item(sigma[worker], label, log_prior, basis, beta, fixed, phi[j])
        objective += value
        np.add.at(gradient, worker, weights[j][:, None] * residual)
    return objective, gradient, weights, phi


def solve_item(
    sigma: FloatArray, label: np.ndarray, log_prior: FloatArray, basis: Basis, beta: float, fixed: FloatArray | None
) -> FloatArray:
    """Alternate an E-step and one Newton step on the item's coordinates (size,), halved while the objective falls."""
    phi = np.zeros(basis.size)
    at_phi = evaluate_item(sigma, label, log_prior, basis, beta, fixed, phi)
    for _ in range(REFERENCE_STEPS):
        value, weights, residual = at_phi
        p = np.eye(len(log_prior))[label][:, None, :] - residual
        gradient = basis.transpose((weights[:, None] * residual.sum(axis=0))[None])[0] - beta * phi
        curvature = beta * np.eye(basis.size)
        for c in range(len(weights)):
            covariance = np.diag(p[:, c].sum(axis=0)) - p[:, c].T @ p[:, c]
            block = slice(basis.offsets[c], basis.offsets[c] + basis.widths[c])
            columns = basis.columns[c, :, : basis.widths[c]]
            curvature[block, block] += weights[c] * columns.T @ covariance @ columns
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step < 1e-22:
            break
        scale = 1.0
        at_phi = evaluate_item(sigma, label, log_prior, basis, beta, fixed, phi + step)
        while scale > 1e-3 and at_phi[0] < value:
            scale /= 2
            at_phi = evaluate_item(sigma, label, log_prior, basis, beta, fixed, phi + scale * step)
        phi = phi + scale * step
    return phi


def evaluate_item(
    sigma: FloatArray,
    label: np.ndarray,
    log_prior: FloatArray,
    basis: Basis | None,
    beta: float,
    fixed: FloatArray | None,
    phi: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Return one item's objective, class weights (n_classes,) and observed minus expected labels (n, n_classes, n_classes).

    ``sigma`` (n, n_classes, n_classes) and ``label`` (n,) belong to the item's n labels.
    """
    tau = basis.tables(phi[None])[0] if basis else np.zeros(sigma.shape[1:])
    log_p = sigma + tau - np.logaddexp.reduce(sigma + tau, axis=2, keepdims=True)
    log_joint = log_prior + log_p[np.arange(len(label)), :, label].sum(axis=0)
    weights = np.exp(log_joint - np.logaddexp.reduce(log_joint)) if fixed is None else fixed
    value = weights @ log_joint + entr(weights).sum() - 0.5 * beta * phi @ phi
    residual = np.eye(sigma.shape[1])[label][:, None, :] - np.exp(log_p)
    return float(value), weights, residual
