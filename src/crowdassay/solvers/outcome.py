"""What a solver hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.labels.record import SETTLED
from crowdassay.models.family import Model

Announce = Callable[[str], None]
"""Called with a sentence when there is a wait."""

Progress = Callable[[int, float], None]
"""Called after every step with the number of iterations so far and the objective."""


@dataclass(frozen=True, eq=False)
class ItemPosterior:
    """What a solution says about the items that an engine holds.

    Attributes
    ----------
    posterior : ndarray of shape (n_items, n_classes)
    winners : ndarray of bool, shape (n_items, n_classes)
        The classes that share the highest probability.
    expected : ndarray of shape (n_workers, n_classes, n_classes)
        Expected labels by worker, true and observed class; added over blocks they describe the workers.
    phi : ndarray of shape (n_items, size) or None
        The items' coordinates.
    difficulty : ndarray of shape (n_items,) or None
    """

    posterior: FloatArray
    winners: BoolArray
    expected: FloatArray
    phi: FloatArray | None = None
    difficulty: FloatArray | None = None


Predict = Callable[[Any], ItemPosterior]
"""Called with an engine whose items are in memory: those of one block, or all."""


@dataclass(frozen=True, eq=False)
class Solution:
    """All that is needed to predict any item, and how it was found; nothing here has the size of the items.

    Attributes
    ----------
    sigma : ndarray of shape (n_workers, n_classes, n_classes) or None
        Worker tables; without a model the logarithms that labels count by, used as they are.
    log_prior : ndarray of shape (n_classes,)
    objective : float or None
        None where nothing is maximised.
    history : tuple of float
        The objective after every step.
    n_iter : int
        Passes over the labels.
    converged : bool
    predict : callable
        Says what this solution makes of the items that an engine holds: a small object that can travel.
    model : Model or None
        The member of the family, where the solution is one.
    confusion : ndarray of shape (n_workers, n_classes, n_classes) or None
        The workers' confusion, where it is not that of ``sigma``.
    known : ndarray of shape (n_workers, 2) or None
        Labels that each worker has given on known items, and those that are right.
    gold_warning : str
        A sentence, where known items contradict the fit; empty otherwise.
    settled : float
        Probability from which a label is called settled.
    spread : float or None
        As `crowdassay.labels.record.Record` has it.
    notes : tuple of str
        What the user should know, a sentence each.
    """

    sigma: Any
    log_prior: FloatArray
    objective: float | None
    history: tuple[float, ...]
    n_iter: int
    converged: bool
    predict: Predict | None = None
    model: Model | None = None
    confusion: FloatArray | None = None
    known: FloatArray | None = None
    gold_warning: str = ""
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
