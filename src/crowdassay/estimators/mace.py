"""MACE: workers who either know the class or answer by a habit of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.binary import name_ranks
from crowdassay.estimators.tables import judge_by_tables, table_result
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_choice, check_number, check_run
from crowdassay.results.result import Result
from crowdassay.solvers.em import fit_em
from crowdassay.solvers.mace import KnowingUpdate
from crowdassay.solvers.outcome import Announce, Progress


@dataclass(kw_only=True, eq=False, repr=False)
class MACE(Estimator):
    r"""Let each worker know the class with some probability, and otherwise answer by a habit that ignores the item.

    .. math::  P(x_{ij} = k \mid y_j = c) = \theta_i\, 1[c = k] + (1 - \theta_i)\, \xi_i(k), \qquad
               \theta_i \sim \text{Beta}(\alpha, \beta), \quad \xi_i \sim \text{Dirichlet}(s, \dots, s)

    After the fit `competence_` (n_workers,) holds theta and `habits_` (n_workers, n_classes) xi.

    Parameters
    ----------
    inference : {'vb', 'em'}
        Average over theta and xi (variational Bayes), or take the likelihood's mode with ``smoothing``.
    alpha, beta : float
        Of the prior on theta, with 'vb'.
    strategy : float
        s, with 'vb'.
    smoothing : float or None
        Added to every expected count, with 'em'; None is 0.01 / n_classes.
    restarts : int
        Starts: the first from the vote shares, the others at random. The one of the highest bound is kept.
    max_iter : int
        Steps of each start.
    tol : float
        Relative change of the objective at which to stop.
    seed : int
    threads : int or None
        None takes all cores.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani, E. Hovy. Learning whom to trust with MACE. 2013.

    >>> mace = MACE().fit((["a", "a", "a", "b", "b"], ["x", "y", "z", "x", "y"], ["no", "no", "yes", "yes", "yes"]))
    >>> mace.labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "mace"

    inference: str = "vb"
    alpha: float = 0.5
    beta: float = 0.5
    strategy: float = 10.0
    smoothing: float | None = None
    restarts: int = 10
    max_iter: int = 100
    tol: float = 1e-8
    seed: int = 0
    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        self._check()
        engine = LocalEngine(labels, threads=self.threads, announce=announce)
        generator = np.random.default_rng(self.seed)
        best: Result | None = None
        done = 0

        def report(n_iter: int, bound: float) -> None:
            if progress is not None:
                progress(done + n_iter, bound)

        for restart in range(self.restarts):
            update = self._start(labels, generator if restart else None)
            log_p, log_prior, history, n_iter, converged = fit_em(
                engine,
                estimate_prior=False,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=report,
                update=update,
                start=update.tables() if restart else None,
            )
            done += n_iter
            # Restarts that end in the same place differ by rounding, which must not choose between them.
            if best is None or best.objective is None or history[-1] > best.objective + 1e-6 * abs(best.objective):
                self.competence_, self.habits_ = update.means()
                best = table_result(
                    engine, self.method, {"inference": self.inference, "restarts": self.restarts}, log_p, log_prior,
                    objective=history[-1], history=history, converged=converged,
                )  # fmt: skip
        assert best is not None
        return replace(best, n_iter=done)

    def _check(self) -> None:
        check_run(self.max_iter, self.tol)
        check_choice("inference", self.inference, ("vb", "em"))
        for name in ("alpha", "beta", "strategy"):
            check_number(name, getattr(self, name), 0, strictly=True)
        if self.smoothing is not None:
            check_number("smoothing", self.smoothing, 0)
        if not isinstance(self.restarts, int) or self.restarts < 1:
            raise ParameterError(f"restarts must be a whole number of at least 1, not {self.restarts!r}.")

    def _start(self, labels: Labels, generator: np.random.Generator | None) -> KnowingUpdate:
        """Return the update at a start: all workers alike, or drawn, each worker's draw belonging to the name."""
        right, habit = np.full(labels.n_workers, 0.5), np.full((labels.n_workers, labels.n_classes), 1.0 / labels.n_classes)
        if generator is not None:
            rank = name_ranks(labels.workers)
            right = generator.uniform(0.3, 0.9, labels.n_workers)[rank]
            habit = generator.dirichlet(np.full(labels.n_classes, 5.0), labels.n_workers)[rank]
        if self.inference == "vb":
            prior = (self.alpha, self.beta, self.strategy)
        else:
            prior = (0.01 / labels.n_classes if self.smoothing is None else self.smoothing,) * 3
        return KnowingUpdate(*prior, variational=self.inference == "vb", right=right, wrong=1.0 - right, habit=habit)

    def _predict_proba(self, labels: Labels) -> FloatArray:
        return judge_by_tables(self._fitted(), labels, self.threads)
