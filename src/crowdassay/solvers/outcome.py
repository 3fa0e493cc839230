"""What a solver hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Weights
from crowdassay.model.family import Model

Progress = Callable[[int, float], None]
"""Called after every step with the number of iterations so far and the objective."""


@dataclass(frozen=True, eq=False)
class Solution:
    """All that is needed to judge any item, and how it was found; nothing here has the size of the items.

    Attributes
    ----------
    sigma : ndarray of shape (n_workers, n_classes, n_classes)
        Worker tables; without a model the logarithms that labels count by, used as they are.
    log_prior : ndarray of shape (n_classes,)
    objective : float or None
        None where nothing is maximised.
    history : tuple of float
        The objective after every step.
    n_iter : int
        Passes over the labels.
    converged : bool
    model : Model or None
        The member of the family, whose item block each item is fitted with; None where there is none.
    weights : Weights
        Where the items' class weights come from: their posterior, or the votes and nothing else.
    anchor : float
        Weight of an item's vote share in the probabilities to report.
    tables : ndarray of shape (n_workers, n_classes, n_classes) or None
        The workers' confusion, where it is not that of ``sigma``.
    notes : tuple of str
        What the user should know, a sentence each.
    """

    sigma: FloatArray
    log_prior: FloatArray
    objective: float | None
    history: tuple[float, ...]
    n_iter: int
    converged: bool
    model: Model | None = None
    weights: Weights = Weights.FREE
    anchor: float = 0.0
    tables: FloatArray | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Outcome:
    """A solution together with what it says about items that are in memory.

    Attributes
    ----------
    solution : Solution
    posterior : ndarray of shape (n_items, n_classes)
    phi : ndarray of shape (n_items, size)
        Item coordinates; no columns without an item block.
    gradient : ndarray of shape (n_workers, n_classes, n_classes)
        Observed minus expected counts at these weights.
    """

    solution: Solution
    posterior: FloatArray
    phi: FloatArray
    gradient: FloatArray
