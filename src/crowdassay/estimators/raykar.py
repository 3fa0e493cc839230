"""Raykar's classifier: labels and a logistic regression on features, learned together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.confusion import normalise
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator, match_workers
from crowdassay.labels.features import match_features, read_features
from crowdassay.labels.frames import as_labels, to_frame
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners
from crowdassay.results.parameters import check_run
from crowdassay.results.result import Result
from crowdassay.solvers.em import EPSILON
from crowdassay.solvers.logistic import fit_logistic
from crowdassay.solvers.outcome import Announce, Progress


@dataclass(kw_only=True, eq=False, repr=False)
class RaykarClassifier(Estimator):
    r"""Learn a logistic classifier of the items' features, the workers' confusion tables and the classes together.

    .. math::  P(y_j = c) = \mathrm{softmax}_c(W f_j), \qquad P(x_{ij} = k \mid y_j = c) = p_i(c, k)

    .. math::  L = \sum_j \log \sum_c P(y_j = c) \prod_i p_i(c, x_{ij}) + s \sum_{ick} \log p_i(c, k) - \tfrac\lambda2 |W|^2

    Dawid and Skene's model with a class prior for each item. Features are standardised; the intercept is not penalised.

    Parameters
    ----------
    smoothing : float
        s: added to every expected count of a worker's table, the mode under a Dirichlet(1 + s) prior.
    penalty : float
        lambda: ridge penalty of the standardised weights.
    max_iter : int
        Steps of EM.
    tol : float
        Relative change of the objective at which to stop.

    Attributes
    ----------
    weights_ : ndarray of shape (n_classes, n_features)
        W, for features as they were given.
    intercept_ : ndarray of shape (n_classes,)

    References
    ----------
    V. C. Raykar, S. Yu, L. H. Zhao, G. H. Valadez, C. Florin, L. Bogoni, L. Moy. Learning from crowds. 2010.
    """

    method: ClassVar[str] = "raykar"

    smoothing: float = 1.0
    penalty: float = 1.0
    max_iter: int = 500
    tol: float = 1e-8

    def fit(
        self,
        data: Any,
        y: object = None,
        *,
        features: Any = None,
        gold: Any = None,
        engine: str = "local",
        progress: Progress | None = None,
        announce: Announce | None = None,
        **reading: Any,
    ) -> Self:
        """Fit the labels and the features of their items.

        Parameters
        ----------
        data, y, gold, progress, announce, **reading
            As for every estimator.
        features : frame or array
            A frame with an item column, matched by id, and columns of numbers; or an array of shape
            (n_items, n_features) in the order of `Labels.items`. Every item needs features; others are ignored.
        """
        if features is None:
            raise ParameterError("RaykarClassifier needs features=...; without them use DawidSkene(prior='estimated').")
        labels = as_labels(data, **reading)
        self.features_, self.feature_names_ = match_features(features, labels.items)
        return super().fit(labels, y, gold=gold, engine=engine, progress=progress, announce=announce)

    def predict_features(self, features: Any) -> Any:
        """Return class probabilities from features alone: a frame for a frame, an array (n_rows, n_classes) for an array."""
        fitted = self._fitted()
        values, names, items, kind = read_features(features)
        if len(names) != len(self.feature_names_) or (items is not None and set(names) != set(self.feature_names_)):
            raise DataError(f"The fit had the features {', '.join(self.feature_names_)}; these are {', '.join(names)}.")
        if items is None:
            return scipy.special.softmax(values @ self.weights_.T + self.intercept_, axis=1)
        order = [names.index(name) for name in self.feature_names_]
        chances = scipy.special.softmax(values[:, order] @ self.weights_.T + self.intercept_, axis=1)
        classes = [f"class:{name}" if name == "item" else name for name in fitted.labels.class_names]
        return to_frame(pa.Table.from_arrays([items, *(pa.array(p) for p in chances.T)], names=["item", *classes]), kind)

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_run(self.max_iter, self.tol)
        for name in ("smoothing", "penalty"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ParameterError(f"{name} must be zero or a positive number, not {getattr(self, name)!r}.")
        centre, scale = self.features_.mean(axis=0), self.features_.std(axis=0)
        scale = np.where(scale > 1e-12 * np.maximum(np.abs(centre), 1.0), scale, np.inf)  # a constant tells nothing
        design = np.column_stack([(self.features_ - centre) / scale, np.ones(labels.n_items)])
        answers = answer_counts(labels)
        weights = np.zeros((labels.n_classes, design.shape[1]))
        posterior = clamp(labels.votes() / np.maximum(np.diff(labels.starts), 1)[:, None], labels.gold)
        history: list[float] = []
        converged = False
        while not converged and len(history) < self.max_iter:
            counts = worker_counts(answers, posterior)
            smoothed = counts + (self.smoothing + EPSILON)
            log_p = np.log(smoothed / smoothed.sum(axis=2, keepdims=True))
            weights = fit_logistic(design, posterior, self.penalty, weights)
            log_prior = scipy.special.log_softmax(design @ weights.T, axis=1)
            marginal, posterior = e_step(answers, log_p, log_prior, labels.gold)
            ridge = 0.5 * self.penalty * float(np.sum(weights[:, :-1] ** 2))
            history.append(marginal + self.smoothing * float(log_p.sum()) - ridge)
            if progress is not None:
                progress(len(history), history[-1])
            converged = len(history) > 1 and history[-1] - history[-2] < self.tol * abs(history[-1])
        self.weights_ = weights[:, :-1] / scale
        self.intercept_ = weights[:, -1] - self.weights_ @ centre
        expected = worker_counts(answers, posterior).sum(axis=2, keepdims=True) * np.exp(log_p)
        confusion, accuracy = normalise(expected, np.exp(log_p))
        return Result(
            labels,
            self.method,
            {"smoothing": self.smoothing, "penalty": self.penalty, "n_features": len(self.feature_names_)},
            posterior,
            find_winners(posterior),
            confusion,
            accuracy,
            log_prior=scipy.special.logsumexp(log_prior, axis=0) - np.log(labels.n_items),
            sigma=log_p,
            objective=history[-1],
            history=tuple(history),
            n_iter=len(history),
            converged=converged,
        )

    def _predict_proba(self, labels: Labels) -> FloatArray:
        """Predict new items by their labels; their features unknown, the classes are as frequent as in the fit."""
        fitted = self._fitted()
        code = match_workers(fitted.labels, labels)
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        log_p = np.where((code >= 0)[:, None, None], fitted.sigma[code], -np.log(labels.n_classes))
        return e_step(answer_counts(labels), log_p, fitted.log_prior, labels.gold)[1]


def answer_counts(labels: Labels) -> scipy.sparse.csr_array:
    """Count answers by item and by worker and observed class, shape (n_items, n_workers * n_classes)."""
    columns = labels.worker.astype(np.int64) * labels.n_classes + labels.label
    shape = (labels.n_items, labels.n_workers * labels.n_classes)
    return scipy.sparse.csr_array((np.ones(labels.n_labels), columns, labels.starts), shape=shape)


def worker_counts(answers: scipy.sparse.csr_array, posterior: FloatArray) -> FloatArray:
    """Return expected counts by worker, true and observed class, shape (n_workers, n_classes, n_classes)."""
    n_classes = posterior.shape[1]
    return np.ascontiguousarray((answers.T @ posterior).reshape(-1, n_classes, n_classes).transpose(0, 2, 1))


def e_step(
    answers: scipy.sparse.csr_array, log_p: FloatArray, log_prior: FloatArray, gold: np.ndarray
) -> tuple[float, FloatArray]:
    """Return the marginal log-likelihood and the class probabilities (n_items, n_classes), known classes clamped.

    ``log_prior`` is (n_items, n_classes), or (n_classes,) for all items alike.
    """
    n_classes = log_p.shape[1]
    log_joint = answers @ log_p.transpose(0, 2, 1).reshape(-1, n_classes) + log_prior
    log_marginal = scipy.special.logsumexp(log_joint, axis=1)
    known = np.flatnonzero(gold >= 0)
    marginal = np.where(gold >= 0, log_joint[np.arange(len(gold)), np.maximum(gold, 0)], log_marginal).sum()
    posterior = np.exp(log_joint - log_marginal[:, None])
    posterior[known] = np.eye(n_classes)[gold[known]]
    return float(marginal), posterior / posterior.sum(axis=1, keepdims=True)


def clamp(weights: FloatArray, gold: np.ndarray) -> FloatArray:
    """Put all weight on the known classes."""
    return np.where((gold >= 0)[:, None], np.eye(weights.shape[1])[gold], weights)
