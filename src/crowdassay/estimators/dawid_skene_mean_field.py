"""Mean field for Dawid and Skene's model with Dirichlet priors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.confusion import normalise, observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.base import Estimator, match_workers
from crowdassay.estimators.tables import table_result
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_number, check_run
from crowdassay.results.result import Result
from crowdassay.solvers.em import Update, fit_em
from crowdassay.solvers.outcome import Announce, Progress

OFF_DIAGONAL = tuple(10.0 ** (step / 5) for step in range(-5, 6))  # section 8.2 of the paper
RATIOS = tuple(10.0 ** (step / 10) for step in range(11))


@dataclass(kw_only=True, eq=False, repr=False)
class DawidSkeneMeanField(Estimator):
    r"""Average over the workers' confusion tables instead of choosing one: variational Bayes.

    .. math::  p_i(c, \cdot) \sim \text{Dirichlet}(\alpha_c), \qquad \alpha_c(k) = c_1 1[c = k] + c_2 1[c \ne k]

    .. math::  q(y, p) = \prod_j Q_j(y_j) \prod_{ic} \text{Dirichlet}(p_i(c, \cdot);\ \alpha_c + n_i(c, \cdot)), \qquad
               n_i(c, k) = \sum_j Q_{jc} 1[x_{ij} = k]

    EM with the mean of the logarithm, by digamma functions, in place of the logarithm of the mode. The objective is the
    mean-field bound on the marginal likelihood, and the prior is the one of a grid that has the highest bound. The class
    prior is uniform.

    Parameters
    ----------
    diagonal, off_diagonal : float or None
        c1 and c2. None chooses from the paper's grid: c2 from 0.1 to 10 in eleven steps, c1 from c2 to 10 c2 in eleven.
    max_iter : int
        Steps of the alternation for each prior tried.
    tol : float
        Relative change of the bound at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    Q. Liu, J. Peng, A. Ihler. Variational inference for crowdsourcing. 2012.

    >>> data = (["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"])
    >>> DawidSkeneMeanField(diagonal=4, off_diagonal=1).fit(data).labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "dawid-skene-mean-field"

    diagonal: float | None = None
    off_diagonal: float | None = None
    max_iter: int = 500
    tol: float = 1e-10
    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_run(self.max_iter, self.tol)
        engine = LocalEngine(labels, threads=self.threads, announce=announce)
        best: Result | None = None
        done = 0

        def report(n_iter: int, bound: float) -> None:
            if progress is not None:
                progress(done + n_iter, bound)

        for c1, c2 in self._grid():
            log_p, log_prior, history, n_iter, converged = fit_em(
                engine,
                estimate_prior=False,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=report,
                update=dirichlet_update(c1, c2),
            )
            done += n_iter
            if best is None or best.objective is None or history[-1] > best.objective:
                best = table_result(
                    engine, self.method, {"diagonal": c1, "off_diagonal": c2}, log_p, log_prior,
                    objective=history[-1], history=history, converged=converged,
                )  # fmt: skip
        assert best is not None
        # The mean of each row is what the worker is expected to do; the tables hold the mean of its logarithm.
        counts = observed_counts(labels, best.posterior)
        mean = dirichlet_prior(labels.n_classes, **best.parameters) + counts
        mean /= mean.sum(axis=2, keepdims=True)
        confusion, accuracy = normalise(counts.sum(axis=2, keepdims=True) * mean, mean)
        return replace(best, confusion=confusion, accuracy=accuracy, n_iter=done)

    def _grid(self) -> list[tuple[float, float]]:
        for name, value in (("diagonal", self.diagonal), ("off_diagonal", self.off_diagonal)):
            if value is not None:
                check_number(name, value, 0, strictly=True)
        return [
            (float(c1), float(c2))
            for c2 in (OFF_DIAGONAL if self.off_diagonal is None else (self.off_diagonal,))
            for c1 in ([c2 * ratio for ratio in RATIOS] if self.diagonal is None else (self.diagonal,))
        ]

    def _predict_proba(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        code = match_workers(fitted.labels, labels)
        prior = dirichlet_prior(labels.n_classes, **fitted.parameters)
        stranger = scipy.special.digamma(prior) - scipy.special.digamma(prior.sum(axis=1, keepdims=True))
        log_p = np.where((code >= 0)[:, None, None], fitted.sigma[code], stranger)
        posterior = np.empty((labels.n_items, labels.n_classes))
        LocalEngine(labels, threads=self.threads).count(log_p, fitted.log_prior, posterior=posterior)
        return posterior


def dirichlet_prior(n_classes: int, diagonal: float, off_diagonal: float) -> FloatArray:
    """Return the rows' Dirichlet parameters, shape (n_classes, n_classes)."""
    return off_diagonal + (diagonal - off_diagonal) * np.eye(n_classes)


def dirichlet_update(diagonal: float, off_diagonal: float) -> Update:
    r"""Return the variational update of the workers' tables.

    .. math::  E \log p_i(c, k) = \psi(\alpha_c(k) + n_i(c, k)) - \psi\Big(\sum_{k'} \alpha_c(k') + n_i(c, k')\Big)

    In place of a log prior density it returns minus the divergence from the prior, which makes the objective of
    `fit_em` the mean-field bound.
    """

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        prior = dirichlet_prior(counts.shape[1], diagonal, off_diagonal)
        parameters = prior + counts
        log_p = scipy.special.digamma(parameters) - scipy.special.digamma(parameters.sum(axis=2, keepdims=True))
        divergence = np.sum(counts * log_p) - np.sum(_log_beta(parameters)) + len(counts) * np.sum(_log_beta(prior))
        return log_p, -float(divergence)

    return update


def _log_beta(rows: FloatArray) -> FloatArray:
    """Return the logarithm of the multivariate beta function over the last axis."""
    return np.asarray(scipy.special.gammaln(rows).sum(axis=-1) - scipy.special.gammaln(rows.sum(axis=-1)))
