"""Workers as draws from a population, which is learned from all of them (empirical Bayes)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.special import digamma, trigamma

BELIEF = 10.0  # answers' worth of belief, for every true class, that its row looks like the others
USUAL_CONCENTRATION, CONCENTRATION_WIDTH = 4.0, 1.5  # a concentration is within two factors of exp(1.5) of this, nearly always
DECAYS = np.linspace(0.0, 3.0, 31)
POPULATION_WORKERS, POPULATION_CELLS = 2_000, 50_000  # and cells of tables, that say all: of more workers every n-th is taken
CONCENTRATION_STEPS = 4  # each time that a population is learned from counts
LONGEST_CONCENTRATION_STEP = 2.0  # that the logarithm of a concentration may move in one step
LEAST_ANSWER_WEIGHT = 1e-12  # least weight of a wrong answer, however far away
FLAT_ANSWERS = 1.0  # answers of every kind that a worker has given beforehand where there is no population


class Population:
    r"""The distribution of the workers' rows, and the update of the workers given expected counts.

    .. math::  p_i(c, \cdot) \sim \text{Dirichlet}(s_c\, m_c), \qquad
               m_c = \frac{t_c + \kappa\, r_c}{|t_c| + \kappa}, \qquad
               r_c(k) = \begin{cases} d & k = c \\ (1 - d)\, e^{-\lambda |c - k|} / Z_c & k \ne c \end{cases}

    The mean row :math:`m_c` is what workers do on average, shrunk towards a row in which all classes are alike: right with
    probability d, and wrong the less often the farther away an answer is in class order, :math:`\lambda = 0` meaning that the
    order says nothing. The counts :math:`t_c(k) = \sum_i s_c m_c(k) [\psi(n_i(c, k) + s_c m_c(k)) - \psi(s_c m_c(k))]` are the
    expected number of answers that come from the population rather than from a worker's own habit; their shares give
    :math:`m_c`, d and :math:`\lambda`, Minka's fixed point. The concentrations :math:`s_c` take Newton's steps on their
    logarithms, since there the fixed point crawls.

    Parameters
    ----------
    n_classes : int
    shared : bool
        Without, there is no population: nothing is learned, and a worker never seen answers at random.
    ordered : bool
        Whether the order of the classes may mean something; without, the decay is 0.
    belief : float
        Answers' worth of belief, for every true class, that its row looks like the others.
    usual : float
        What concentrations are like, before any label.

    Attributes
    ----------
    mean : ndarray of shape (n_classes, n_classes)
    concentration : ndarray of shape (n_classes,)
    decay : float

    References
    ----------
    T. P. Minka. Estimating a Dirichlet distribution. 2000.
    """

    def __init__(
        self,
        n_classes: int,
        *,
        shared: bool = True,
        ordered: bool = True,
        belief: float = BELIEF,
        usual: float = USUAL_CONCENTRATION,
    ) -> None:
        self.decay, self.shared, self.ordered, self.belief, self.usual = 0.0, shared, ordered, belief, usual
        self.mean = _alike(n_classes, 0.7 if shared else 1 / n_classes, 0.0)
        self.concentration = np.full(n_classes, usual if shared else FLAT_ANSWERS * n_classes)

    @property
    def prior(self) -> FloatArray:
        """Dirichlet parameters by true class, shape (n_classes, n_classes)."""
        return np.asarray(self.concentration[:, None] * self.mean)

    def learn(self, counts: FloatArray, to_host: Callable[[FloatArray], FloatArray] = np.asarray) -> None:
        """Move the population towards what explains the workers' counts (n_workers, n_classes, n_classes) best.

        ``to_host`` brings those of a sample of workers into the machine's memory.
        """
        if not self.shared:
            return
        counts = to_host(counts[:: max(-(-counts.size // POPULATION_CELLS), -(-len(counts) // POPULATION_WORKERS))])
        rows = counts.sum(axis=2)
        for _ in range(CONCENTRATION_STEPS):
            prior, mean, s = self.prior, self.mean, self.concentration
            own = (digamma(counts + prior) - digamma(prior)).sum(axis=0)
            slope = s * ((mean * own).sum(axis=1) - (digamma(rows + s) - digamma(s)).sum(axis=0))
            bend = (mean**2 * (trigamma(counts + prior) - trigamma(prior)).sum(axis=0)).sum(axis=1)
            bend = slope + s**2 * (bend - (trigamma(rows + s) - trigamma(s)).sum(axis=0)) - 1.0 / CONCENTRATION_WIDTH**2
            slope -= np.log(s / self.usual) / CONCENTRATION_WIDTH**2
            step = np.where(bend < 0, slope / np.maximum(-bend, 1e-12), LONGEST_CONCENTRATION_STEP * np.sign(slope))
            self.concentration = s * np.exp(np.clip(step, -LONGEST_CONCENTRATION_STEP, LONGEST_CONCENTRATION_STEP))
            drawn = np.maximum(prior * own, 0.0)
            right = (np.trace(drawn) + 1.0) / (drawn.sum() + 2.0)
            self.decay = _fit_decay(drawn) if self.ordered else 0.0
            weights = drawn + self.belief * _alike(len(drawn), right, self.decay)
            self.mean = weights / weights.sum(axis=1, keepdims=True)

    def tables(self, counts: FloatArray, xp: ModuleType = np) -> FloatArray:
        r"""Return the workers' mean probabilities, :math:`(n + s m) / (|n| + s)`, of the counts' shape.

        ``xp`` is the library whose array the counts are.
        """
        answers = counts + xp.asarray(self.prior)
        return answers / answers.sum(axis=-1, keepdims=True)

    def log_tables(self, counts: FloatArray, xp: ModuleType = np) -> FloatArray:
        r"""Return the mean of the workers' log probabilities, :math:`\psi(n + s m) - \psi(|n| + s)`, of the counts' shape."""
        answers = counts + xp.asarray(self.prior)
        return digamma(answers) - digamma(answers.sum(axis=-1, keepdims=True))


def _alike(n_classes: int, right: float, decay: float) -> FloatArray:
    """Return rows that differ only in where the diagonal is, shape (n_classes, n_classes)."""
    if n_classes == 1:
        return np.ones((1, 1))
    position = np.arange(n_classes)
    wrong = np.maximum(np.exp(-decay * (np.abs(position[:, None] - position) - 1.0)), LEAST_ANSWER_WEIGHT)
    np.fill_diagonal(wrong, 0.0)
    rows = (1.0 - right) * wrong / wrong.sum(axis=1, keepdims=True)
    np.fill_diagonal(rows, right)
    return np.asarray(rows)


def _fit_decay(drawn: FloatArray) -> float:
    """Return how fast wrong answers get rarer with their distance in class order, by maximum likelihood on a grid."""
    n_classes = len(drawn)
    if n_classes < 3:
        return 0.0
    position = np.arange(n_classes)
    distance = np.abs(position[:, None] - position)
    at = np.stack([np.where(distance == d, drawn, 0.0).sum(axis=1) for d in range(1, n_classes)], axis=1)
    many = np.stack([(distance == d).sum(axis=1) for d in range(1, n_classes)], axis=1)
    weights = np.exp(-DECAYS[:, None] * np.arange(n_classes - 1))  # (decays, distances)
    likelihood = at.sum(axis=0) @ np.log(weights).T - at.sum(axis=1) @ np.log(many @ weights.T)
    return float(DECAYS[likelihood.argmax()])
