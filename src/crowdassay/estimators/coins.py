"""Models in which a worker is right with one probability, with one for each class, or by knowledge; all fitted by EM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdassay.engines.base import Engine
from crowdassay.errors import ParameterError
from crowdassay.estimators.dawid_skene import EMEstimator
from crowdassay.labels.labels import Labels
from crowdassay.labels.signatures import Signatures, ranks
from crowdassay.results.parameters import check_choice, check_least, check_whole
from crowdassay.solvers.em import KnowingUpdate, Trial, coin_update, mean_field_update
from crowdassay.solvers.solution import Solution


@dataclass(kw_only=True, eq=False, repr=False)
class OneCoin(EMEstimator):
    r"""Give each worker one probability of being right, the wrong classes being equally likely, and fit by EM.

    .. math::  P(x_{ij} = k \mid y_j = c) = p_i 1[c = k] + \frac{1 - p_i}{K - 1} 1[c \ne k]

    The member of the family with the agreement structure for workers and no item block. With a beta prior it is the
    posterior mode, as Raykar and others have it, without their classifier.

    Parameters
    ----------
    prior : {'uniform', 'estimated'}
        The class prior.
    successes, failures : float
        Right and wrong answers that every worker is taken to have given beforehand: a Beta(1 + successes, 1 + failures)
        prior. Without any this is maximum likelihood.
    max_iter : int
        Steps of EM.
    tol : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    V. C. Raykar and others. Learning from crowds. Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> coin = OneCoin(successes=4, failures=1).fit((["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"]))
    >>> coin.labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "one-coin"
    per_class: ClassVar[bool] = False

    prior: str = "uniform"
    successes: float = 0.0
    failures: float = 0.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        check_least(0, successes=self.successes, failures=self.failures)
        return [Trial(coin_update(self.successes, self.failures, per_class=self.per_class))]


@dataclass(kw_only=True, eq=False, repr=False)
class TwoCoin(OneCoin):
    r"""Give each worker a probability of being right for each true class: two coins where there are two classes.

    .. math::  P(x_{ij} = k \mid y_j = c) = p_i(c) 1[c = k] + \frac{1 - p_i(c)}{K - 1} 1[c \ne k]

    The member of the family with the class-accuracy structure for workers. For two classes it is Dawid and Skene's model.
    The parameters are those of `OneCoin`; each coin has the same beta prior.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> TwoCoin(successes=1, failures=1).fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "two-coin"
    per_class: ClassVar[bool] = True


@dataclass(kw_only=True, eq=False, repr=False)
class ProjectedEM(OneCoin):
    r"""Fit the one-coin model by EM with every accuracy kept within :math:`[\lambda, 1 - \lambda]`.

    Parameters are those of `OneCoin` and

    projection : float
        :math:`\lambda`, between 0 and 1/2. A worker who agrees with the crowd on every item would otherwise come to have
        accuracy 1 and overrule all others for ever.

    References
    ----------
    C. Gao, D. Zhou. Minimax optimal convergence rates for estimating ground truth from crowdsourced labels. 2014.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> ProjectedEM().fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "projected-em"

    projection: float = 0.05

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        check_least(0, successes=self.successes, failures=self.failures)
        check_least(0, strictly=True, projection=self.projection)
        if self.projection >= 0.5:
            raise ParameterError(f"projection must be below 1/2, not {self.projection!r}; the method 'one-coin' has none.")
        return [Trial(coin_update(self.successes, self.failures, per_class=False, projection=self.projection))]


@dataclass(kw_only=True, eq=False, repr=False)
class MeanField(EMEstimator):
    r"""Average over the workers' accuracies instead of choosing one: variational Bayes for the one-coin model.

    .. math::  p_i \sim \text{Beta}(a, b), \qquad q(y, p) = \prod_j Q_j(y_j) \prod_i \text{Beta}(p_i; a_i, b_i)

    .. math::  Q_j(c) \propto \exp \sum_i \big( 1[x_{ij} = c]\, E \log p_i
               + 1[x_{ij} \ne c]\, E \log \tfrac{1 - p_i}{K - 1} \big)

    EM with the mean of the logarithm, by digamma functions, in place of the logarithm of the mode. The objective is the
    mean-field lower bound on the marginal likelihood.

    Parameters
    ----------
    a, b : float
        The prior on every worker's accuracy, Beta(a, b), with mean a / (a + b).
    max_iter : int
        Steps of the alternation.
    tol : float
        Relative change of the bound at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    Q. Liu, J. Peng, A. Ihler. Variational inference for crowdsourcing. 2012.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> MeanField().fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "mean-field"

    a: float = 2.0
    b: float = 1.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        check_least(0, strictly=True, a=self.a, b=self.b)
        return [Trial(mean_field_update(self.a, self.b))]


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

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        check_choice("inference", self.inference, ("vb", "em"))
        check_least(0, strictly=True, alpha=self.alpha, beta=self.beta, strategy=self.strategy)
        check_least(0, smoothing=self.smoothing)
        check_whole(restarts=self.restarts)
        labels, generator = self._local(engine).labels, np.random.default_rng(self.seed)
        alike = Signatures.of(labels) if self.restarts > 1 else None
        updates = [self._start(labels, generator, alike if restart else None) for restart in range(self.restarts)]
        settings = {"inference": self.inference, "restarts": self.restarts}
        return [Trial(update, settings, update.tables() if restart else None) for restart, update in enumerate(updates)]

    def _finish(self, solution: Solution, trial: Trial, engine: Engine) -> Solution:
        assert isinstance(trial.update, KnowingUpdate)
        self.competence_, self.habits_ = trial.update.means()
        return solution

    def _start(self, labels: Labels, generator: np.random.Generator, alike: Signatures | None) -> KnowingUpdate:
        """Return the update at a start: all workers alike, or drawn, each draw belonging to the labels of its worker."""
        right, habit = np.full(labels.n_workers, 0.5), np.full((labels.n_workers, labels.n_classes), 1.0 / labels.n_classes)
        if alike is not None:
            rank = ranks(alike.workers)
            right = generator.uniform(0.3, 0.9, labels.n_workers)[rank]
            # Gamma variates that are divided by their sum are Dirichlet's; one for each class, whichever comes first.
            habit = generator.gamma(5.0, size=habit.shape)[rank][:, ranks(alike.classes)]
            habit /= habit.sum(axis=1, keepdims=True)
        if self.inference == "vb":
            prior = (self.alpha, self.beta, self.strategy)
        else:
            prior = (0.01 / labels.n_classes if self.smoothing is None else self.smoothing,) * 3
        return KnowingUpdate(*prior, variational=self.inference == "vb", right=right, wrong=1.0 - right, habit=habit)
