"""`Record`: what a fit says about some items, and about all workers. Arrays, and the tables that need nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray, row_max, row_sum
from crowdassay.labels.labels import Facts, Labels

SETTLED = 0.95  # probability from which a label counts as settled, unless a method knows better
TIE = 1e-9  # probabilities closer than this are the same
LIKELIEST = "likeliest"
DECISIONS = (LIKELIEST, "median", "mean")  # which class becomes an item's label; the last two need classes in order


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """What one fit says about a set of items: all of them, or those of one block.

    Attributes
    ----------
    labels : Labels
    method : str
    parameters : dict
        What was asked for and what it came to: alpha, beta, gamma and so on.
    posterior : ndarray of shape (n_items, n_classes)
    winners : ndarray of bool, shape (n_items, n_classes)
        The classes that are the item's label by ``decide``; more than one is a tie.
    confusion : ndarray of shape (n_workers, n_classes, n_classes)
        Expected confusion of each worker, averaged over the items the worker labelled.
    accuracy : ndarray of shape (n_workers,)
        Expected share of the worker's labels that are right.
    log_prior : ndarray of shape (n_classes,) or None
    sigma : ndarray of shape (n_workers, n_classes, n_classes) or None
    phi : ndarray of shape (n_items, size) or None
        Item coordinates; `tau` expands them.
    pairs : callable or None
        Log P(k | c) of pairs of item and worker, where it is not the softmax of sigma and tau.
    difficulty : ndarray of shape (n_items,) or None
        Probability that the average worker gets the item wrong.
    objective : float or None
    history : tuple of float
    n_iter : int
    converged : bool
    seconds : float
    known : ndarray of shape (n_workers, 2) or None
        Labels that each worker has given on items of known class, and how many of them are right.
    checked : ndarray of int, shape (n_levels, 2), or None
        Known items that a fit which had not been told their classes labelled right and wrong, by how unsure it was of them:
        see `crowdassay.planning.stop.estimate_error`.
    gold_warning : str
        A sentence, where known items contradict the fit; it comes first wherever the result is shown.
    settled : float
        Probability from which a label is called settled.
    spread : float or None
        Standard deviation, between datasets, of the logit of the real error around the estimated one, where it was measured.
    notes : tuple of str
        What the user should know about this fit, a sentence each.
    selection : dict or None
        Where a parameter was chosen from the data: the criterion and every candidate's score.
    decide : {'likeliest', 'median', 'mean'}
        Which class became the label of an item: see `decide_classes`.
    """

    labels: Labels
    method: str
    parameters: dict[str, Any]
    posterior: FloatArray
    winners: BoolArray
    confusion: FloatArray
    accuracy: FloatArray
    log_prior: FloatArray | None = None
    sigma: FloatArray | None = None
    phi: FloatArray | None = None
    expand: Callable[[FloatArray], FloatArray] | None = None
    pairs: Callable[[IntArray, IntArray], FloatArray] | None = None
    difficulty: FloatArray | None = None
    objective: float | None = None
    history: tuple[float, ...] = ()
    n_iter: int = 0
    converged: bool = True
    seconds: float = 0.0
    known: FloatArray | None = None
    checked: IntArray | None = None
    gold_warning: str = ""
    settled: float = SETTLED
    spread: float | None = None
    notes: tuple[str, ...] = ()
    selection: dict[str, Any] | None = None
    decide: str = LIKELIEST

    @cached_property
    def code(self) -> IntArray:
        """Class code of every item, ties going to the first class, shape (n_items,)."""
        return self.winners.argmax(axis=1)

    @cached_property
    def tied(self) -> BoolArray:
        """Whether several classes are the label equally well, shape (n_items,)."""
        return np.asarray(row_sum(self.winners) > 1)

    @cached_property
    def tau(self) -> FloatArray | None:
        """Item tables, shape (n_items, n_classes, n_classes), or None without an item block."""
        return None if self.phi is None or self.expand is None else self.expand(self.phi)

    @cached_property
    def probability(self) -> FloatArray:
        """Probability of the chosen class, shape (n_items,)."""
        return self.posterior[np.arange(len(self.code)), self.code]

    @cached_property
    def entropy(self) -> FloatArray:
        """Entropy of every item's class probabilities in nats, shape (n_items,)."""
        return 0.0 - (self.posterior * np.log(np.maximum(self.posterior, 1e-300))).sum(axis=1)

    def by_likeliest(self) -> Self:
        """Return the same with the likeliest class as every item's label, by which fits are compared."""
        return self if self.decide == LIKELIEST else replace(self, winners=find_winners(self.posterior), decide=LIKELIEST)

    def labels_table(self) -> pa.Table:
        """Tabulate item, label, probability, tied."""
        return pa.table(
            {
                "item": self.labels.items,
                "label": self.labels.classes.take(pa.array(self.code)),
                "probability": self.probability,
                "tied": self.tied,
            }
        )

    def posterior_table(self) -> pa.Table:
        """Tabulate item, then the probability of each class in class order."""
        names = [f"class:{name}" if name == "item" else name for name in self.labels.class_names]
        return pa.Table.from_arrays([self.labels.items, *(pa.array(p) for p in self.posterior.T)], names=["item", *names])


def known_columns(known: FloatArray) -> dict[str, Any]:
    """Return the columns of what workers did on known items: how many labels, and the share that is right."""
    count, right = known.T
    share = np.where(count > 0, right / np.maximum(count, 1), np.nan)
    return {"known_labels": count.astype(np.int64), "known_right": pa.array(share, from_pandas=True)}


def find_winners(posterior: FloatArray) -> BoolArray:
    """Mark the classes whose probability is the item's highest, up to rounding; shape (n_items, n_classes)."""
    return np.asarray(posterior >= row_max(posterior)[:, None] - TIE)


def class_values(labels: Any) -> FloatArray:
    """Return where the classes lie on their scale, (n_classes,): at their values if they are numbers, otherwise in steps."""
    if labels.numeric:
        return np.array([float(name) for name in labels.class_names])
    return np.arange(labels.n_classes, dtype=float)


def decide_classes(posterior: FloatArray, decide: str, values: FloatArray) -> BoolArray:
    """Mark the classes that become the label of each item, (n_items, n_classes); several are a tie.

    The likeliest class is wrong least often, the median has the smallest mean distance from the truth, and the class nearest to
    the mean the smallest mean squared distance, as far as the probabilities are right.

    Parameters
    ----------
    posterior : ndarray of shape (n_items, n_classes)
    decide : {'likeliest', 'median', 'mean'}
    values : ndarray of shape (n_classes,)
        Where the classes lie on their scale, rising: see `class_values`.

    Examples
    --------
    >>> posterior = np.array([[0.4, 0.3, 0.3], [0.5, 0.0, 0.5]])
    >>> for decide in DECISIONS:
    ...     print(decide, decide_classes(posterior, decide, np.arange(3.0)).astype(int).tolist())
    likeliest [[1, 0, 0], [1, 0, 1]]
    median [[0, 1, 0], [1, 0, 1]]
    mean [[0, 1, 0], [0, 1, 0]]
    """
    if decide == LIKELIEST:
        return find_winners(posterior)
    if decide == "median":  # no more than half lies below it, and no more than half above
        half = row_sum(posterior)[:, None] / 2 + TIE
        below = np.cumsum(posterior, axis=1) - posterior
        above = np.cumsum(posterior[:, ::-1], axis=1)[:, ::-1] - posterior
        return np.asarray((below <= half) & (above <= half) & (posterior > TIE))
    distance = np.abs(values - (posterior @ values / row_sum(posterior))[:, None])
    return np.asarray(distance <= distance.min(axis=1, keepdims=True) + TIE)


def confusion_columns(labels: Facts, name: str, tables: FloatArray) -> dict[str, FloatArray]:
    """Return the columns ``name:true:observed`` of tables (n, n_classes, n_classes), flattened."""
    classes = labels.class_names
    return {
        f"{name}:{true}:{observed}": np.ascontiguousarray(tables[:, c, k])
        for c, true in enumerate(classes)
        for k, observed in enumerate(classes)
    }
