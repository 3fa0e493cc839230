"""MACE: workers who either know the class or answer by a habit of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdassay.engines.base import Engine
from crowdassay.errors import ParameterError
from crowdassay.estimators.dawid_skene import EMEstimator
from crowdassay.estimators.two_classes import name_ranks
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_choice, check_number
from crowdassay.solvers.em import Trial
from crowdassay.solvers.m_steps import KnowingUpdate
from crowdassay.solvers.solution import Solution


@dataclass(kw_only=True, eq=False, repr=False)
class MACE(EMEstimator):
    r"""Model each worker as one who knows the class with some probability, and otherwise answers by a habit.

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

    Examples
    --------
    >>> mace = MACE().fit((["a", "a", "a", "b", "b"], ["x", "y", "z", "x", "y"], ["no", "no", "yes", "yes", "yes"]))
    >>> mace.labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "mace"
    margin: ClassVar[float] = 1e-6

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

    def _check(self) -> None:
        super()._check()
        check_choice("inference", self.inference, ("vb", "em"))
        for name in ("alpha", "beta", "strategy"):
            check_number(name, getattr(self, name), 0, strictly=True)
        if self.smoothing is not None:
            check_number("smoothing", self.smoothing, 0)
        if not isinstance(self.restarts, int) or self.restarts < 1:
            raise ParameterError(f"restarts must be a whole number of at least 1, not {self.restarts!r}.")

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        labels, generator = self._local(engine).labels, np.random.default_rng(self.seed)
        updates = [self._start(labels, generator if restart else None) for restart in range(self.restarts)]
        settings = {"inference": self.inference, "restarts": self.restarts}
        return [Trial(update, settings, update.tables() if restart else None) for restart, update in enumerate(updates)]

    def _finish(self, solution: Solution, trial: Trial, engine: Engine) -> Solution:
        assert isinstance(trial.update, KnowingUpdate)
        self.competence_, self.habits_ = trial.update.means()
        return solution

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
