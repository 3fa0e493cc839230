"""What a solver hands back: `Solution`, the one contract between every estimator and a `Result`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crowdassay.arrays import BoolArray, FloatArray, IntArray
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
    pairs : callable or None
        Log P(k | c) of pairs of item and worker, where it is not the softmax of the sum of their tables.
    """

    posterior: FloatArray
    winners: BoolArray
    expected: FloatArray
    phi: FloatArray | None = None
    difficulty: FloatArray | None = None
    pairs: Callable[[IntArray, IntArray], FloatArray] | None = None


Predict = Callable[[Any], ItemPosterior]
"""Called with an engine whose items are in memory: those of one block, or all."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What a fit has found of the workers, how, and how it predicts any item.

    Attributes
    ----------
    predict : callable
        Returns what this solution says of the items that an engine holds. Where a method needs no labels in memory it is a
        small object that can travel to wherever blocks are, and nothing in a solution has the size of the items.
    sigma : ndarray of shape (n_workers, n_classes, n_classes) or None
        Worker tables; without a model the logarithms that labels count by, used as they are.
    log_prior : ndarray of shape (n_classes,) or None
    objective : float or None
        None where nothing is maximised.
    history : tuple of float
        The objective after every step.
    n_iter : int
        Passes over the labels.
    converged : bool
    settings : mapping
        What was asked for and what it came to, for a summary.
    method : str
        The name of the method, where it is not the estimator's.
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
    selection : dict or None
        Where a parameter was chosen from the data: the criterion and every candidate's score.
    """

    predict: Predict
    sigma: Any = None
    log_prior: FloatArray | None = None
    objective: float | None = None
    history: tuple[float, ...] = ()
    n_iter: int = 0
    converged: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    method: str = ""
    model: Model | None = None
    confusion: FloatArray | None = None
    known: FloatArray | None = None
    gold_warning: str = ""
    settled: float = SETTLED
    spread: float | None = None
    notes: tuple[str, ...] = ()
    selection: dict[str, Any] | None = None
