"""Workers as draws from a population, which is learned from all of them (empirical Bayes)."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from crowdassay.arrays import FloatArray

BELIEF = 20.0  # answers' worth of belief, for every true class, that its row looks like the others
RIGHT, WRONG = 4.0, 1.0  # answers' worth of belief that people are mostly right: 4 of 5
SPREAD = (0.3, 4.0, 1000.0)  # least, first and largest concentration: from "all differ" to "all alike"
DECAYS = np.linspace(0.0, 3.0, 31)
SMALL = 200_000  # cells of worker tables up to which more steps cost nothing to speak of
STEPS, FEW_STEPS = 8, 2
NONE = 1e-3


class Population:
    r"""The distribution of the workers' rows, and the update of the workers given expected counts.

    .. math::  p_i(c, \cdot) \sim \text{Dirichlet}(s_c\, m_c), \qquad
               m_c = \frac{t_c + \kappa\, r_c}{|t_c| + \kappa}, \qquad
               r_c(k) = \begin{cases} d & k = c \\ (1 - d)\, e^{-\lambda |c - k|} / Z_c & k \ne c \end{cases}

    The mean row :math:`m_c` is what workers do on average, shrunk towards a row in which all classes are alike: right with
    probability d, and wrong the less often the farther away an answer is in class order, :math:`\lambda = 0` meaning that the
    order says nothing. The counts :math:`t_c(k) = \sum_i s_c m_c(k) [\psi(n_i(c, k) + s_c m_c(k)) - \psi(s_c m_c(k))]` are the
    expected number of answers that come from the population rather than from a worker's own habit; with them the concentration
    :math:`s_c` follows by Minka's fixed point, and d and :math:`\lambda` by their shares.

    Attributes
    ----------
    mean : ndarray of shape (n_classes, n_classes)
    concentration : ndarray of shape (n_classes,)
    decay : float

    References
    ----------
    T. P. Minka. Estimating a Dirichlet distribution. 2000.
    """

    def __init__(self, n_classes: int) -> None:
        self.decay = 0.0
        self.mean = _alike(n_classes, 0.7, 0.0)
        self.concentration = np.full(n_classes, SPREAD[1])

    @property
    def prior(self) -> FloatArray:
        """Dirichlet parameters by true class, shape (n_classes, n_classes)."""
        return np.asarray(self.concentration[:, None] * self.mean)

    def learn(self, counts: FloatArray) -> None:
        """Move the population towards what explains the workers' counts (n_workers, n_classes, n_classes) best."""
        rows = counts.sum(axis=2)
        for _ in range(STEPS if counts.size <= SMALL else FEW_STEPS):
            prior = self.prior
            drawn = np.maximum(prior * (digamma(counts + prior) - digamma(prior)).sum(axis=0), 0.0)
            new_rows = (digamma(rows + self.concentration) - digamma(self.concentration)).sum(axis=0)
            found = (drawn.sum(axis=1) + NONE) / (new_rows + NONE / SPREAD[1])
            self.concentration = np.clip(found, SPREAD[0], SPREAD[2])
            right = (np.trace(drawn) + RIGHT) / (drawn.sum() + RIGHT + WRONG)
            self.decay = _fit_decay(drawn)
            mean = drawn + BELIEF * _alike(len(drawn), right, self.decay)
            self.mean = mean / mean.sum(axis=1, keepdims=True)

    def log_tables(self, counts: FloatArray) -> FloatArray:
        r"""Return the mean of the workers' log probabilities, :math:`\psi(n + s m) - \psi(|n| + s)`, of the counts' shape."""
        found = counts + self.prior
        return np.asarray(digamma(found) - digamma(found.sum(axis=-1, keepdims=True)))


def _alike(n_classes: int, right: float, decay: float) -> FloatArray:
    """Return rows that differ only in where the diagonal is, shape (n_classes, n_classes)."""
    if n_classes == 1:
        return np.ones((1, 1))
    position = np.arange(n_classes)
    wrong = np.exp(-decay * (np.abs(position[:, None] - position) - 1.0))
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
