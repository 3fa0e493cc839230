"""Passes over few labels in NumPy: the same sums as the compiled kernels, without the wait for a compiler.

Which is used depends on the number of labels alone, `FEW_LABELS`, so the answer does not depend on what has been compiled.
Nothing here loads numba. Labels by class must fit into memory, which few do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.labels import Labels, tally

Codes = NDArray[np.integer[Any]]

FEW_LABELS = 20_000  # up to here a pass takes milliseconds in NumPy, and compiling takes seconds
FEW_EFFECT_CELLS = 8 * FEW_LABELS  # labels times classes to the third power: the largest array here
FAINT = 1e-14  # class weights below this add nothing to a sum of doubles
LONGEST_EFFECT_STEP = 5.0  # logits that a Newton step may go: far out the curvature is nearly nothing
SMALL_RISE = 1e-3  # a Newton step that promises to raise the evidence by half of this is taken for the last
FREE_WEIGHTS, VOTE_WEIGHTS, GIVEN_WEIGHTS = 0, 1, 2  # where the class weights of an item come from


def add_items(values: FloatArray, starts: IntArray) -> FloatArray:
    """Add up the rows (n_labels, ...) of every item: (n_items, ...).

    >>> add_items(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    sums = np.zeros((len(starts) - 1, *values.shape[1:]))
    some = np.flatnonzero(starts[1:] > starts[:-1])
    if len(some):
        sums[some] = np.add.reduceat(values, starts[some], axis=0)
    return sums


def count(
    labels: Labels, log_p: FloatArray, log_prior: FloatArray, held: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Run the E-step of a model without an item block.

    Parameters
    ----------
    labels : Labels
    log_p : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    held : ndarray of shape (n_items, n_classes), optional
        Class weights to hold; otherwise they are the posterior.

    Returns
    -------
    objective : float
    counts : ndarray of shape (n_workers, n_classes, n_classes)
    totals : ndarray of shape (n_classes,)
    weights : ndarray of shape (n_items, n_classes)
    """
    joint = add_items(log_p[labels.worker, :, labels.label], labels.starts) + log_prior
    objective, weights = _weigh(joint, labels, held)
    return objective, tally(labels, weights), weights.sum(axis=0), weights


def _weigh(joint: FloatArray, labels: Labels, held: FloatArray | None = None) -> tuple[float, FloatArray]:
    """Return the log-marginal of all items and their class weights, (n_items, n_classes) as ``joint`` and ``held``."""
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    value = top[:, 0] + np.log(total[:, 0])
    if held is not None:
        weights = held.copy()
        value = (weights * (joint - np.log(np.where(weights > 0, weights, 1.0)))).sum(axis=1)
    known = np.flatnonzero(labels.gold >= 0)
    weights[known] = np.eye(labels.n_classes)[labels.gold[known]]
    value[known] = joint[known, labels.gold[known]]
    return float(value.sum()), weights


def add_groups(values: FloatArray, group: Codes, size: int) -> FloatArray:
    """Add up the rows (n_labels, ...) of each of ``size`` groups, given the group (n_labels,) of every row: (size, ...).

    >>> add_groups(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1, 0, 1]), 3).tolist()
    [[3.0, 4.0], [6.0, 8.0], [0.0, 0.0]]
    """
    order = np.argsort(group, kind="stable")
    return add_items(values[order], np.append(0, np.cumsum(np.bincount(group, minlength=size))))


def has_few_effects(labels: Labels) -> bool:
    """Return whether labels are few enough for `integrate`."""
    return labels.n_labels * labels.n_classes**3 <= FEW_EFFECT_CELLS


def integrate(
    labels: Labels, p: FloatArray, log_prior: FloatArray, anchor: float, precision: float, max_steps: int, effects: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Find the posterior of all items; the parameters are those of `crowdassay.engines.kernels.random_items.integrate_items`.

    Returns
    -------
    objective : float
    sums : ndarray of shape (n_workers, n_classes, 2 n_classes + 1)
    totals : ndarray of shape (n_classes,)
    spread : ndarray of shape (2,)
    posterior : ndarray of shape (n_items, n_classes)
    """
    n_classes, item, eye = labels.n_classes, labels.label_item, np.eye(labels.n_classes)
    evidence, traces = log_evidence(labels, p, precision, max_steps, effects)
    objective, posterior = _weigh(log_prior + evidence, labels)
    spread = np.array([(posterior * (effects**2).sum(axis=2)).sum(), (posterior * traces).sum()])
    weights, size = posterior.copy(), np.diff(labels.starts)
    free = (labels.gold < 0) & (size > 0)
    weights[free] += anchor * (labels.votes()[free] / size[free, None] - weights[free])
    heavy = np.where(weights < FAINT, 0.0, weights)[item]
    answer = _tilt(p[labels.worker], effects[item])
    parts = [
        heavy[:, :, None] * eye[labels.label][:, None, :],
        heavy[:, :, None] * answer,
        (heavy * (answer * (1.0 - answer)).sum(axis=2))[:, :, None],
    ]
    sums = add_groups(np.concatenate(parts, axis=2), labels.worker, labels.n_workers)
    return objective, sums.reshape(-1, n_classes, 2 * n_classes + 1), weights.sum(axis=0), spread, posterior


def log_evidence(
    labels: Labels, p: FloatArray, precision: float, max_steps: int, effects: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Move ``effects`` to their best values; return the log evidence and the trace of the covariance, (n_items, n_classes)."""
    n_items, n_classes = labels.n_items, labels.n_classes
    best, scale = np.full((n_items, n_classes), -np.inf), np.ones((n_items, n_classes))
    kept, step = effects.copy(), np.zeros_like(effects)
    curvature, moving = np.empty((n_items, n_classes, n_classes, n_classes)), np.ones((n_items, n_classes), bool)
    for attempt in range(max_steps):
        items = np.flatnonzero(moving.any(axis=1))
        if not len(items):
            break
        value, slope, hessian = _derivatives(labels, items, p, effects[items], precision)
        worse = (value < best[items] - 1e-9) & (attempt < max_steps - 1)
        j, c = np.nonzero(moving[items] & worse)
        scale[items[j], c] *= 0.25
        effects[items[j], c] = kept[items[j], c] + scale[items[j], c][:, None] * step[items[j], c]
        j, c = np.nonzero(moving[items] & ~worse)
        at = items[j], c
        newton = np.linalg.solve(hessian[j, c], slope[j, c][:, :, None])[:, :, 0]
        promise, longest = (slope[j, c] * newton).sum(axis=1), np.abs(newton).max(axis=1)
        best[at], scale[at], kept[at], curvature[at] = value[j, c], 1.0, effects[at], hessian[j, c]
        step[at] = newton * (LONGEST_EFFECT_STEP / np.maximum(longest, LONGEST_EFFECT_STEP))[:, None]
        effects[at] += step[at]
        near = promise < SMALL_RISE
        best[at] += np.where(near, 0.5 * promise, 0.0)
        moving[at] = ~near
    determinant = np.linalg.slogdet(curvature)[1]
    traces = np.trace(np.linalg.inv(curvature), axis1=2, axis2=3)
    return best + 0.5 * n_classes * np.log(precision) - 0.5 * determinant, traces


def _tilt(tables: FloatArray, effects: FloatArray) -> FloatArray:
    """Return the probabilities of the answers with the items' effects."""
    answer = tables * np.exp(effects)
    return np.asarray(answer / answer.sum(axis=-1, keepdims=True))


def _derivatives(
    labels: Labels, items: IntArray, p: FloatArray, u: FloatArray, precision: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the penalised log-likelihoods of some items at ``u``, their gradients and minus their second derivatives."""
    size = np.diff(labels.starts)[items]
    starts, item = np.append(0, np.cumsum(size)), np.repeat(np.arange(len(items)), size)
    n = np.arange(len(item)) + (labels.starts[items] - starts[:-1])[item]
    said, eye = labels.label[n], np.eye(labels.n_classes)
    answer = _tilt(p[labels.worker[n]], u[item])
    chosen = answer[np.arange(len(n)), :, said]
    value = add_items(np.log(np.maximum(chosen, 1e-90)), starts) - 0.5 * precision * (u**2).sum(axis=2)
    expected = add_items(answer, starts)
    gradient = add_items(eye[said], starts)[:, None, :] - expected - precision * u
    hessian = (expected + precision)[:, :, :, None] * eye
    return value, gradient, hessian - add_items(answer[:, :, :, None] * answer[:, :, None, :], starts)
