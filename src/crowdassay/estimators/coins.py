"""Models in which a worker is right with one probability, or with one for each class; all are fitted by EM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from crowdassay.engines.base import Engine
from crowdassay.errors import ParameterError
from crowdassay.estimators.dawid_skene import EMEstimator
from crowdassay.results.parameters import check_number
from crowdassay.solvers.em import Trial
from crowdassay.solvers.m_steps import coin_update, mean_field_update


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

    def _check(self) -> None:
        super()._check()
        check_number("successes", self.successes, 0)
        check_number("failures", self.failures, 0)

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        settings = {"prior": self.prior, "successes": self.successes, "failures": self.failures}
        return [Trial(coin_update(self.successes, self.failures, per_class=self.per_class), settings)]


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

    def _check(self) -> None:
        super()._check()
        check_number("projection", self.projection, 0, strictly=True)
        if self.projection >= 0.5:
            raise ParameterError(f"projection must be below 1/2, not {self.projection!r}; the method 'one-coin' has none.")

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        update = coin_update(self.successes, self.failures, per_class=False, projection=self.projection)
        return [Trial(update, {**super()._trials(engine)[0].settings, "projection": self.projection})]


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

    def _check(self) -> None:
        super()._check()
        check_number("a", self.a, 0, strictly=True)
        check_number("b", self.b, 0, strictly=True)

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        return [Trial(mean_field_update(self.a, self.b), {"a": self.a, "b": self.b})]
