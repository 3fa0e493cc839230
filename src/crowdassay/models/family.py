r"""Members of the family: a worker structure, an item structure or none, penalties and a class prior.

What is maximised, with the class weights and the item parameters profiled out, is

.. math::  F = \sum_j \max_{\phi_j} \Big[ \log \sum_c \pi_c \prod_i P(x_{ij} \mid c) - \tfrac\beta2 |\phi_j|^2 \Big]
           - \tfrac\alpha2 \sum_i |\theta_i|^2

The uniform prior's constant is left out, so that F is the paper's dual objective, Equation (10), at its best Q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.errors import ParameterError
from crowdassay.models.structures import Basis

LARGEST_PENALTY = 1e15  # beyond, nothing is left of the labels but rounding errors
PAPER_GAMMA = 0.25  # the smallest that the paper tries, nearly always the best
AGREE = 1 / 3  # by how much two labels of an item agree more often than by chance
LONGEST_WEAK_ITEM = 128  # labels of an item up to which its likelihood, as a product, stays a float
VANISHING = 1e-3  # what a penalty of zero stands for: without any, the maximum may lie at infinity


@dataclass(frozen=True, eq=False)
class Model:
    """One member of the family, ready for an engine.

    Attributes
    ----------
    worker : Basis
    item : Basis or None
        None leaves the item block out.
    alpha, beta : float
        Penalties of the worker and the item coordinates.
    metric : ndarray of shape (worker.size, worker.size) or None
        The worker penalty is alpha/2 times the squared length of the coordinates in this metric; None is the plain length.
    population : bool
        Whether workers shrink towards a block that they share instead of towards zero.
    """

    worker: Basis
    item: Basis | None
    alpha: float
    beta: float
    metric: FloatArray | None = None
    population: bool = False

    def has_weak_items(self, longest: int) -> bool:
        """Return whether items of at most ``longest`` labels have so strong a penalty that their own tables stay small."""
        return self.item is not None and longest <= min(0.5 * self.beta, LONGEST_WEAK_ITEM) and self.item.free

    def penalise(self, coordinates: FloatArray) -> tuple[float, FloatArray]:
        r"""Return the worker penalty of coordinates (n_workers, size), and its gradient.

        .. math::  \min_{\theta_0} \tfrac\alpha2 \sum_i |a_i - \theta_0|^2 + \tfrac\varepsilon2 |\theta_0|^2

        With a population the coordinates are :math:`a_i = \theta_0 + \theta_i`; the shared block is at its best where it is
        their mean, so that it needs no coordinates of its own. A vanishing penalty keeps it from infinity.
        """
        apart = self.deviations(coordinates)
        slope = self.alpha * (apart if self.metric is None else apart @ self.metric)
        # Half of a_i . slope_i is the whole minimum: what the shared block pays is what its share of the product adds.
        return 0.5 * float(np.sum(coordinates * slope)), slope

    def deviations(self, coordinates: FloatArray) -> FloatArray:
        """Return the workers' coordinates (n_workers, size) less the block that they share, if they do."""
        if not self.population:
            return coordinates
        weight = self.alpha * len(coordinates)
        return coordinates - coordinates.mean(axis=0) * (weight / (weight + VANISHING))


def penalties_from_gamma(gamma: float, n_classes: int, n_workers: int, n_items: int) -> tuple[float, float]:
    """Return alpha = gamma K^2 and beta = alpha * (labels per worker) / (labels per item), section 6.2 of the paper.

    >>> penalties_from_gamma(0.25, 2, 39, 108)
    (1.0, 2.769230769230769)
    """
    alpha = gamma * n_classes**2
    return alpha, alpha * n_items / n_workers


def usual_gamma(n_classes: int, n_workers: int, n_items: int, n_labels: int) -> float:
    r"""Return the paper's smallest gamma, 1/4, or less where that would make all classes look alike.

    A skill s that all workers share raises the objective, from tables of zeros, by :math:`s^2 / 2` times

    .. math::  \frac NK (m - 1) \Big(A - \frac1K\Big) - \gamma K^2\, W (K - 1)

    with N labels, m of an item, W workers and A the probability that two labels of an item agree. Where this is negative,
    tables of zeros are a maximum, and nothing is learned. So gamma has to stay below
    :math:`n (m - 1) (A - 1/K) / (K^3 (K - 1))`, n the labels of a worker; A is taken to lie a third above chance.

    >>> usual_gamma(2, 39, 108, 4212), round(usual_gamma(20, 1000, 200_000, 1_000_000), 4)
    (0.25, 0.0088)
    """
    of_worker, others = n_labels / max(n_workers, 1), max(n_labels / max(n_items, 1) - 1, 1.0)
    least = AGREE * of_worker * others / max(n_classes**3 * (n_classes - 1), 1)
    return min(PAPER_GAMMA, least) if least > 0 else PAPER_GAMMA


def check_penalty(name: str, value: object) -> float:
    """Return the penalty as a float, or say why it makes no sense."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a number, not {value!r}.") from None
    if number > LARGEST_PENALTY:
        raise ParameterError(
            f"{name} must be at most {LARGEST_PENALTY:g}, not {value!r}: it would leave nothing of the labels."
        )
    if not math.isfinite(number) or number < 0:
        raise ParameterError(f"{name} must be a positive number, not {value!r}; 0.25 is the paper's smallest gamma.")
    return number or VANISHING


def centred_metric(basis: Basis) -> FloatArray:
    r"""Return the metric of the paper's Equation (13), which leaves two means of each worker's table free.

    .. math::  \sum_c \big[\sigma(c, c) - \overline{\sigma(c, c)}\big]^2
               + \sum_{c, k \ne c} \big[\sigma(c, k) - \overline{\sigma(c, k)}\big]^2

    A shift of a row of the table changes no probability but does change this penalty, so the shifts are minimised out.
    """
    n_classes = basis.n_classes
    diagonal = np.eye(n_classes).ravel()
    means = np.stack([diagonal / n_classes, (1 - diagonal) / (n_classes * (n_classes - 1))])
    centre = np.eye(n_classes**2) - np.stack([diagonal, 1 - diagonal], axis=1) @ means
    shifts = centre @ np.kron(np.eye(n_classes), np.ones((n_classes, 1)))
    tables = centre @ basis.tables(np.eye(basis.size)).reshape(basis.size, -1).T
    left = tables - shifts @ np.linalg.lstsq(shifts, tables, rcond=None)[0]
    return np.asarray(left.T @ left)
