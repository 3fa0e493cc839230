"""`Result`: everything a fit found out, decoded once into tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray, row_max, row_sum
from crowdassay.data.labels import Labels

TIE = 1e-9  # probabilities closer than this are the same
WIDEST_ITEM_TABLE = 100  # item tables with more cells than this stay out of the items table


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The outcome of one fit.

    Attributes
    ----------
    labels : Labels
    method : str
    parameters : dict
        What was asked for and what it came to: alpha, beta, gamma and so on.
    posterior : ndarray of shape (n_items, n_classes)
    winners : ndarray of bool, shape (n_items, n_classes)
        The classes that share the highest probability; more than one is a tie.
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
    notes : tuple of str
        What the user should know about this fit, a sentence each.
    selection : dict or None
        Where a parameter was chosen from the data: the criterion and every candidate's score.
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
    notes: tuple[str, ...] = ()
    selection: dict[str, Any] | None = None

    @cached_property
    def code(self) -> IntArray:
        """Class code of every item, ties going to the first class, shape (n_items,)."""
        return self.winners.argmax(axis=1)

    @cached_property
    def tied(self) -> BoolArray:
        """Whether several classes share the highest probability, shape (n_items,)."""
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

    # What is made of a result lies above it, so it is loaded by name, on first use.

    @cached_property
    def insight(self) -> Any:
        """What the result says of workers and items, and how surely: a `crowdassay.insight.find.Insight`."""
        return import_module("crowdassay.insight.find").find(self)

    @property
    def chart(self) -> Any:
        """Charts of the result, such as ``result.chart.workers()``: a `crowdassay.report.gallery.Gallery`."""
        return import_module("crowdassay.report.gallery").Gallery(self)

    def score(self, truth: Any, *, ordered: bool | None = None) -> dict[str, Any]:
        """Compare the labels with the truth, a file, a frame, a mapping or class codes: `crowdassay.metrics.scores.score`.

        The dictionary holds ``error_rate`` and, for classes in order, ``rmse`` and ``mae``; items given as gold are left out.
        """
        return dict(import_module("crowdassay.metrics.scores").score(self, truth, ordered=ordered))

    def report(self, path: Any, *, truth: Any = None, title: str | None = None) -> None:
        """Write the report, one HTML file that opens offline; truth as a file, a frame, a mapping or class codes."""
        import_module("crowdassay.report.build").write_report(self, path, truth=truth, title=title)

    def __repr__(self) -> str:
        state = "" if self.objective is None else f", {'converged' if self.converged else 'not converged'}"
        return f"Result({self.method}, {self.labels.n_items:,} items, mean probability {self.probability.mean():.3f}{state})"

    def _repr_html_(self) -> str:
        return str(import_module("crowdassay.report.tables").result_html(self))

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

    def workers_table(self) -> pa.Table:
        """Tabulate worker, n_labels, accuracy with a 95 % interval, verdict, action, evidence, looks_like, confusion and sigma.

        The interval runs from ``accuracy_low`` to ``accuracy_high``, and from 0 to 1 where the accuracy is not estimable.
        """
        found = self.insight
        return pa.table(
            {
                "worker": self.labels.workers,
                "n_labels": found.n_labels,
                "accuracy": found.accuracy,
                "accuracy_low": found.low,
                "accuracy_high": found.high,
                "verdict": found.verdicts,
                "action": found.actions,
                "evidence": found.evidence,
                "looks_like": found.looks_like,
                **self._cells("confusion", self.confusion),
                **({} if self.sigma is None else self._cells("sigma", self.sigma)),
            }
        )

    def items_table(self) -> pa.Table:
        """Tabulate item, n_labels, probability, standing, entropy, vote_share, difficulty and, with an item block, tau.

        ``difficulty_low`` to ``difficulty_high`` is a 95 % interval for the share of workers who get the item wrong.
        """
        n_labels = np.diff(self.labels.starts)
        votes = self.labels.votes()[np.arange(self.labels.n_items), self.code]
        columns: dict[str, Any] = {
            "item": self.labels.items,
            "n_labels": n_labels,
            "probability": self.probability,
            "standing": self.insight.standings,
            "entropy": self.entropy,
            "vote_share": votes / np.maximum(n_labels, 1),
        }
        if self.difficulty is not None:
            columns["difficulty"] = self.difficulty
        columns["difficulty_low"], columns["difficulty_high"], columns["difficulty_verdict"] = self.insight.difficulty
        if self.phi is not None and self.labels.n_classes**2 <= WIDEST_ITEM_TABLE and self.tau is not None:
            columns |= self._cells("tau", self.tau)
        return pa.table(columns)

    def _cells(self, name: str, tables: FloatArray) -> dict[str, FloatArray]:
        """Name the columns of flattened tables ``name:true:observed``."""
        classes = self.labels.class_names
        return {
            f"{name}:{true}:{observed}": np.ascontiguousarray(tables[:, c, k])
            for c, true in enumerate(classes)
            for k, observed in enumerate(classes)
        }


def find_winners(posterior: FloatArray) -> BoolArray:
    """Mark the classes whose probability is the item's highest, up to rounding; shape (n_items, n_classes)."""
    return np.asarray(posterior >= row_max(posterior)[:, None] - TIE)
