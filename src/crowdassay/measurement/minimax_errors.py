r"""Standard errors for the paper's model: worker and item tables from the observed information, classes unknown.

With coordinates a of all workers' tables and b of all items', the penalised log-likelihood is

.. math::  F(a, b) = \sum_j \log \sum_c \pi_c \prod_i P(x_{ij} \mid c) - \tfrac\alpha2 |a|^2 - \tfrac\beta2 |b|^2

The information of item j about whatever it touches is, by Louis (1982), with s the slope of the labels given the class,

.. math::  I_j = \sum_c Q_{jc} I_{jc} - \operatorname{Var}_{Q_j}[s_{jc}]

Items do not touch one another, so that each item's own block is eliminated on the way (a Schur complement), and what is left
has the size of the workers. The errors are those of the penalised information, in which a penalty counts as a normal
population of tables about zero: they say how far an estimate lies from the table, its shrinkage among the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.minimax import MinimaxEntropy, make_model
from crowdassay.labels.frames import to_frame
from crowdassay.models.structures import Basis
from crowdassay.results.result import Result
from crowdassay.statistics import softmax

LARGEST_INVERTED = 4000  # worker coordinates whose information is inverted as a whole


@dataclass(frozen=True, eq=False)
class MinimaxErrors:
    """Standard errors of the tables of a minimax fit.

    Attributes
    ----------
    sigma : ndarray of shape (n_workers, n_classes, n_classes)
        Of the workers' tables.
    tau : ndarray of shape (n_items, n_classes, n_classes) or None
    alone : bool
        Whether each worker's error takes the other workers' tables for known (too many to invert all at once).
    """

    result: Result
    sigma: FloatArray
    tau: FloatArray | None
    alone: bool

    def workers(self) -> Any:
        """Return a frame of worker, true class, label, sigma and its standard error."""
        assert self.result.sigma is not None
        return self._frame("worker", self.result.labels.workers, self.result.sigma, self.sigma, "sigma")

    def items(self) -> Any:
        """Return a frame of item, true class, label, tau and its standard error."""
        if self.tau is None or self.result.tau is None:
            raise ParameterError("This fit has no item tables.")
        return self._frame("item", self.result.labels.items, self.result.tau, self.tau, "tau")

    def _frame(self, what: str, names: pa.Array, value: FloatArray, error: FloatArray, symbol: str) -> Any:
        labels, (size, n_classes, _) = self.result.labels, value.shape
        place = np.repeat(np.arange(size), n_classes**2)
        classes = pa.array(labels.class_names)
        columns = {
            what: names.take(pa.array(place)),
            "class": classes.take(pa.array(np.tile(np.repeat(np.arange(n_classes), n_classes), size))),
            "label": classes.take(pa.array(np.tile(np.arange(n_classes), size * n_classes))),
            symbol: value.ravel(),
            "standard_error": error.ravel(),
        }
        return to_frame(pa.table(columns), labels.frame)


def minimax_errors(fit: Estimator) -> MinimaxErrors:
    """Return standard errors of worker and item tables of a fitted `MinimaxEntropy`.

    The classes are summed over, not taken for known. Penalties count as given, and so does the prior.

    Examples
    --------
    >>> from crowdassay import MinimaxEntropy
    >>> fit = MinimaxEntropy().fit((list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 1]))
    >>> minimax_errors(fit).sigma.shape
    (2, 2, 2)
    """
    if not isinstance(fit, MinimaxEntropy):
        raise ParameterError(f"A fitted MinimaxEntropy is needed, not a {type(fit).__name__}.")
    if fit.population or fit.centred:
        raise ParameterError("Standard errors are for the paper's plain penalty; fit without population and centred.")
    result = fit._fitted()
    labels = result.labels
    assert result.sigma is not None
    model = make_model(fit, labels)
    worker_rows, item_rows = table_rows(model.worker), None if model.item is None else table_rows(model.item)
    size, width = model.worker.size, 0 if model.item is None else model.item.size
    total = labels.n_workers * size
    alone = total > LARGEST_INVERTED
    alpha = float(result.parameters["alpha"])
    beta = float(result.parameters["beta"] or 0.0)
    tau = result.tau if model.item is not None else None
    whole = np.zeros((labels.n_workers, size, size)) if alone else np.zeros((total, total))
    parts: list[Any] = []
    for j in range(labels.n_items):
        part = slice(int(labels.starts[j]), int(labels.starts[j + 1]))
        worker, label = labels.worker[part], labels.label[part]
        if not len(worker):
            parts.append(None)
            continue
        logit = result.sigma[worker] + (0.0 if tau is None else tau[j])
        names, numbers = np.unique(worker, return_inverse=True)
        workers, own, cross = item_information(logit, numbers, label, result.posterior[j], worker_rows, item_rows)
        place = (names[:, None] * size + np.arange(size)).ravel()
        inverse = None
        if item_rows is not None:
            inverse = np.linalg.inv(own + beta * np.eye(width))
            workers = workers - cross @ inverse @ cross.T
        if alone:
            for n, name in enumerate(names):
                whole[name] += workers[n * size : (n + 1) * size, n * size : (n + 1) * size]
        else:
            whole[np.ix_(place, place)] += workers
        parts.append((place, cross, inverse))
    return _finish(result, whole, parts, worker_rows, item_rows, alpha, beta)


def table_rows(basis: Basis) -> FloatArray:
    """Return the matrix from coordinates to tables, shape (n_classes, n_classes, size)."""
    return np.ascontiguousarray(np.moveaxis(basis.tables(np.eye(basis.size)), 0, 2))


def item_information(
    logit: FloatArray, place: IntArray, label: np.ndarray, posterior: FloatArray, worker_rows: FloatArray,
    item_rows: FloatArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """Return one item's information about its workers, about itself, and across.

    The logits have shape (n_labels, n_classes, n_classes); ``place`` numbers the item's workers, shape (n_labels,).
    """
    n_classes, _, size = worker_rows.shape
    width, edge = 0 if item_rows is None else item_rows.shape[2], (int(place.max()) + 1) * size
    chance = softmax(logit)
    total, slopes = np.zeros((edge + width, edge + width)), np.zeros((n_classes, edge + width))
    for c in range(n_classes):
        rows = worker_rows[c] if item_rows is None else np.hstack([worker_rows[c], item_rows[c]])
        for n in range(len(label)):
            p = chance[n, c]
            spots = np.concatenate([place[n] * size + np.arange(size), edge + np.arange(width)])
            mean = p @ rows
            slopes[c, spots] += rows[label[n]] - mean
            total[np.ix_(spots, spots)] += posterior[c] * ((rows.T * p) @ rows - np.outer(mean, mean))
    middle = posterior @ slopes
    off = slopes - middle
    total -= (off.T * posterior) @ off
    return total[:edge, :edge], total[edge:, edge:], total[:edge, edge:]


def _finish(
    result: Result, whole: FloatArray, parts: list[Any], worker_rows: FloatArray, item_rows: FloatArray | None, alpha: float,
    beta: float,
) -> MinimaxErrors:  # fmt: skip
    """Invert, and turn variances of coordinates into errors of table entries."""
    n_workers, alone, (n_classes, _, size) = result.labels.n_workers, whole.ndim == 3, worker_rows.shape
    blocks = inverse = np.linalg.inv(whole + alpha * np.eye(whole.shape[-1]))
    if not alone:
        blocks = np.stack([inverse[i * size : (i + 1) * size, i * size : (i + 1) * size] for i in range(n_workers)])
    sigma = np.sqrt(np.maximum(np.einsum("ckr,irs,cks->ick", worker_rows, blocks, worker_rows), 0.0))
    if item_rows is None:
        return MinimaxErrors(result, sigma, None, alone)
    tau = np.zeros((result.labels.n_items, n_classes, n_classes))
    for j, part in enumerate(parts):
        variance = np.eye(item_rows.shape[2]) / max(beta, 1e-12)  # an item without labels is one of its population
        if part is not None:
            place, cross, variance = part
            if not alone:
                pull = variance @ cross.T  # how the item's coordinates follow its workers'
                variance = variance + pull @ inverse[np.ix_(place, place)] @ pull.T
        tau[j] = np.sqrt(np.maximum(np.einsum("ckr,rs,cks->ck", item_rows, variance, item_rows), 0.0))
    return MinimaxErrors(result, sigma, tau, alone)
