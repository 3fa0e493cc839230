"""Raykar's classifier: labels and a logistic regression on features, learned together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Announce, Engine
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.labels.frames import as_labels, to_frame
from crowdassay.labels.labels import with_known
from crowdassay.labels.native import match_features, read_features
from crowdassay.results.parameters import check_least, check_run
from crowdassay.solvers.assay.pool import answers
from crowdassay.solvers.em import EPSILON, free_tables
from crowdassay.solvers.lbfgs import minimise
from crowdassay.solvers.solution import Progress, Solution, found
from crowdassay.solvers.stopping import em_settled


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

    Examples
    --------
    >>> labels = (list("aaabbbcccddd"), list("xyz" * 4), [0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1])
    >>> features = pa.table({"item": list("abcd"), "size": [0.1, 0.9, 0.2, 0.8]})
    >>> fitted = RaykarClassifier().fit(labels, features=features)
    >>> fitted.labels_["label"].to_pylist()
    [0, 1, 0, 1]
    """

    method: ClassVar[str] = "raykar"

    smoothing: float = 1.0
    penalty: float = 1.0
    max_iter: int = 500
    tol: float = 1e-8

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        features: object = None,
        gold: object = None,
        engine: str = "local",
        progress: Progress | None = None,
        announce: Announce | None = None,
        **reading: object,
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

    def predict_features(self, features: object) -> Any:
        """Return class probabilities from features alone: a frame for a frame, an array (n_rows, n_classes) for an array."""
        fitted = self._fitted()
        values, names, items, kind = read_features(features)
        if len(names) != len(self.feature_names_) or (items is not None and set(names) != set(self.feature_names_)):
            raise DataError(f"The fit had the features {', '.join(self.feature_names_)}; these are {', '.join(names)}.")
        if items is not None:
            values = values[:, [names.index(name) for name in self.feature_names_]]
        chances = scipy.special.softmax(values @ self.weights_.T + self.intercept_, axis=1)
        if items is None:
            return chances
        classes = [f"class:{name}" if name == "item" else name for name in fitted.labels.class_names]
        return to_frame(pa.Table.from_arrays([items, *(pa.array(p) for p in chances.T)], names=["item", *classes]), kind)

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Run EM: the M-step fits the workers' tables and the classifier to the posterior."""
        check_run(self.max_iter, self.tol)
        check_least(0, smoothing=self.smoothing, penalty=self.penalty)
        local = self._local(engine)
        labels = local.labels
        centre, scale = self.features_.mean(axis=0), self.features_.std(axis=0)
        scale = np.where(scale > 1e-12 * np.maximum(np.abs(centre), 1.0), scale, np.inf)  # a constant tells nothing
        design = np.column_stack([(self.features_ - centre) / scale, np.ones(labels.n_items)])
        answered = answers(labels)
        weights = np.zeros((labels.n_classes, design.shape[1]))
        posterior = with_known(labels.votes() / np.maximum(np.diff(labels.starts), 1)[:, None], labels.gold)
        update, history = free_tables(self.smoothing), list[float]()
        converged = False
        while not converged and len(history) < self.max_iter:
            log_p, log_density = update(local.tally(posterior))
            weights = fit_logistic(design, posterior, self.penalty, weights)
            log_prior = scipy.special.log_softmax(design @ weights.T, axis=1)
            marginal, posterior = e_step(answered, log_p, log_prior, labels.gold)
            ridge = 0.5 * self.penalty * float(np.sum(weights[:, :-1] ** 2))
            history.append(marginal + log_density - ridge)
            if progress is not None:
                progress(len(history), history[-1])
            converged = em_settled(history, self.tol)
        self.weights_ = weights[:, :-1] / scale
        self.intercept_ = weights[:, -1] - self.weights_ @ centre
        return Solution(
            found(labels, posterior, local.tally(posterior).sum(axis=2, keepdims=True) * np.exp(log_p)),
            log_p,
            scipy.special.logsumexp(log_prior, axis=0) - np.log(labels.n_items),
            history[-1],
            tuple(history),
            len(history),
            converged,
            {"smoothing": self.smoothing, "penalty": self.penalty, "n_features": len(self.feature_names_)},
        )


def e_step(
    answers: scipy.sparse.csr_array, log_p: FloatArray, log_prior: FloatArray, gold: np.ndarray
) -> tuple[float, FloatArray]:
    """Return the marginal log-likelihood and the class probabilities (n_items, n_classes), known classes clamped.

    ``log_prior`` is (n_items, n_classes), or (n_classes,) for all items alike.
    """
    n_classes = log_p.shape[1]
    log_joint = answers @ log_p.transpose(0, 2, 1).reshape(-1, n_classes) + log_prior
    log_marginal = scipy.special.logsumexp(log_joint, axis=1)
    marginal = np.where(gold >= 0, log_joint[np.arange(len(gold)), np.maximum(gold, 0)], log_marginal).sum()
    posterior = with_known(np.exp(log_joint - log_marginal[:, None]), gold)
    return float(marginal), posterior / posterior.sum(axis=1, keepdims=True)


def logistic_loss(flat: FloatArray, design: FloatArray, target: FloatArray, penalty: float) -> tuple[float, FloatArray]:
    r"""Return the soft cross-entropy with ridge, :math:`-\sum_{jc} q_{jc} \log P_{jc} + \lambda|W|^2/2`, and its gradient.

    The last column of ``design`` (n_items, n_features + 1) is the intercept, which is free.
    """
    weights = flat.reshape(target.shape[1], -1)
    log_chance = scipy.special.log_softmax(design @ weights.T, axis=1)
    shrunk = penalty * weights
    shrunk[:, -1] = 0.0
    loss = -float(np.sum(target * log_chance)) + 0.5 * float(np.sum(shrunk * weights))
    return loss, ((np.exp(log_chance) - target).T @ design + shrunk).ravel()


def fit_logistic(design: FloatArray, target: FloatArray, penalty: float, start: FloatArray) -> FloatArray:
    """Return the weights (n_classes, n_features + 1) that minimise `logistic_loss`, from ``start`` on."""
    if not start.any():  # the exact answer where features tell nothing
        start = start.copy()
        start[:, -1] = np.log(target.mean(axis=0) + EPSILON)
    found = minimise(
        lambda flat: logistic_loss(flat, design, target, penalty), start.ravel(), ftol=1e-15, gtol=1e-8, maxiter=1000
    )
    return found.point.reshape(start.shape)
