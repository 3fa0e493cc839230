"""What a solver hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crowdassay.arrays import FloatArray
from crowdassay.data.result import SETTLED
from crowdassay.engines.base import Weights
from crowdassay.model.family import Model
from crowdassay.pool.judge import Pool

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
    pool : Pool or None
        By which items are judged where a pool of models does it; then ``sigma`` are its tables.
    known : ndarray of shape (n_workers, 2) or None
        Labels that each worker has given on known items, and those that are right.
    doubt : str
        A sentence, where known items contradict the fit; empty otherwise.
    tables : ndarray of shape (n_workers, n_classes, n_classes) or None
        The workers' confusion, where it is not that of ``sigma``.
    settled : float
        Probability from which a label is called settled.
    spread : float or None
        As `crowdassay.data.result.Result` has it.
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
    pool: Pool | None = None
    known: FloatArray | None = None
    doubt: str = ""
    tables: FloatArray | None = None
    settled: float = SETTLED
    spread: float | None = None
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
