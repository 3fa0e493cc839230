"""What a solver hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crowdassay.arrays import FloatArray

Progress = Callable[[int, float], None]
"""Called after every step with the number of sweeps so far and the objective."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Worker tables and how they were found.

    Attributes
    ----------
    sigma : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    posterior : ndarray of shape (n_items, n_classes)
    phi : ndarray of shape (n_items, size)
        Item coordinates; no columns without an item block.
    gradient : ndarray of shape (n_workers, n_classes, n_classes)
        Observed minus expected counts at these weights.
    objective : float
    history : tuple of float
        The objective after every step.
    sweeps : int
        Passes over the labels.
    converged : bool
    """

    sigma: FloatArray
    log_prior: FloatArray
    posterior: FloatArray
    phi: FloatArray
    gradient: FloatArray
    objective: float
    history: tuple[float, ...]
    sweeps: int
    converged: bool
