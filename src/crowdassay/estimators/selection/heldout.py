"""Labels held out: dealt into folds, and how likely a fitted model finds those it has not seen."""

from __future__ import annotations

import numpy as np
import scipy

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record

READINGS = ("predictive", "uniform")
GUESSING_SHARE = 0.01  # share of guessing in the tables of methods that have no model of a label
HELD_OUT_AT_A_TIME = 65536


def heldout_log_likelihood(result: Record, labels: Labels, chosen: np.ndarray, reading: str = "predictive") -> float:
    r"""Return the mean log-likelihood of the chosen labels under a fit to others.

    .. math::  \frac1n \sum_{ij} \log \sum_c w_{jc} P(x_{ij} \mid c)

    with weights w the posterior from the labels the fit has seen (``predictive``), or all alike (``uniform``, what the
    authors' code does).

    Parameters
    ----------
    result : Record
        A fit that shares the vocabularies of ``labels``.
    labels : Labels
    chosen : ndarray of bool, shape (n_labels,)
    reading : {'predictive', 'uniform'}
    """
    if reading not in READINGS:
        raise ParameterError(f"reading must be one of {', '.join(READINGS)}, not {reading!r}.")
    total, where = 0.0, np.flatnonzero(chosen)
    for first in range(0, len(where), HELD_OUT_AT_A_TIME):
        part = where[first : first + HELD_OUT_AT_A_TIME]
        item, worker, label = labels.label_item[part], labels.worker[part], labels.label[part]
        log_p = _log_tables(result, item, worker)[np.arange(len(part)), :, label]
        weights = result.posterior[item] if reading == "predictive" else np.full(log_p.shape, 1 / labels.n_classes)
        total += float(scipy.special.logsumexp(log_p, axis=1, b=weights).sum())
    return total / len(where)


def _log_tables(result: Record, item: np.ndarray, worker: np.ndarray) -> FloatArray:
    """Return log P(k | c) for pairs of item and worker, shape (n, n_classes, n_classes)."""
    if result.pairs is not None:
        return result.pairs(item, worker)
    if result.sigma is None:
        n_classes = result.confusion.shape[1]
        return np.log((1 - GUESSING_SHARE) * result.confusion[worker] + GUESSING_SHARE / n_classes)
    tables = result.sigma[worker]
    if result.phi is not None and result.expand is not None:
        tables = tables + result.expand(result.phi[item])
    return scipy.special.log_softmax(tables, axis=2)


def deal(labels: Labels, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Return the fold of every label, shape (n_labels,).

    In random order each label goes to the fold that has the fewest labels of its item, among those the fewest of its
    worker, and among those the fewest of all. So the labels of an item are spread evenly, to within one.
    """
    if not 2 <= n_folds <= labels.n_labels:
        raise ParameterError(f"The number of folds must lie between 2 and the number of labels, not {n_folds}.")
    from crowdassay.engines.kernels.folds import deal as dealt  # noqa: PLC0415  numba loads on first use

    order = generator.permutation(labels.n_labels)
    return np.asarray(dealt(order, labels.label_item, labels.worker, labels.n_items, labels.n_workers, n_folds))


def keep(labels: Labels, chosen: np.ndarray) -> Labels:
    """Return the chosen labels (a mask of shape (n_labels,)) with the vocabularies and the gold of all."""
    return Labels.from_codes(
        labels.label_item[chosen],
        labels.worker[chosen],
        labels.label[chosen],
        items=labels.items,
        workers=labels.workers,
        classes=labels.classes,
        report=labels.report,
        frame=labels.frame,
    ).with_gold(labels.gold)
