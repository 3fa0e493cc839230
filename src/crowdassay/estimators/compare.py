"""Fit several methods to the same labels and see where they differ."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
import scipy
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Announce
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.methods import METHODS, find_method
from crowdassay.estimators.select import cross_validate
from crowdassay.estimators.votes import MajorityVote
from crowdassay.findings.scores import score, without_gold
from crowdassay.labels.frames import as_labels, to_frame
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth, take_gold
from crowdassay.results.result import Result
from crowdassay.tables import Column, TableOf

VOTE = MajorityVote.method
HELD_OUT, ERROR_RATE = "heldout_log_likelihood", "error_rate"
COMPARED_METHODS = ("majority", "dawid-skene", "minimax", "assay")  # methods that are compared unless others are asked for
TRUTH_MEASURES = (ERROR_RATE, "rmse", "mae")
SCORES = TableOf(
    "scores",
    (
        Column("method", about="The method."),
        Column("error_rate", "error", "error rate", "Share of wrong labels on items of known class."),
        Column("rmse", "RMSE", "four digits", "Root mean squared error, where classes are in order."),
        Column("mae", "MAE", "four digits", "Mean absolute error, where classes are in order."),
        Column(
            HELD_OUT, "held-out log-likelihood", "four digits", "How well labels that were held out are predicted, by label."
        ),
        Column("converged", about="Whether the fit converged."),
        Column("seconds", format="number", about="How long the fit took."),
    ),
)


HELD_OUT_MEANS = (
    "Higher (nearer to 0) is better: how well labels that a method has not seen are predicted, on average by label."
)
ERROR_MEANS = "Lower is better: error is the share of wrong labels on items of known class."


@dataclass(frozen=True)
class Lead:
    """What labels held out tell of several methods: the one ahead, and how far ahead of another it is.

    Attributes
    ----------
    ahead, other : str
        The method that predicts labels best, and the one that it is compared with: the vote where it is not clearly ahead of
        that, else the next. Equal where there is but one method.
    difference, low, high : float
        By how much, on average by label, with an interval of 95 %.
    """

    ahead: str
    other: str
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def best(self) -> list[str]:
        """The method that is clearly ahead, or none; the vote never is: it predicts what a crowd says, right or wrong."""
        return [self.ahead] if self.ahead != VOTE and (self.low > 0 or self.ahead == self.other) else []

    def __str__(self) -> str:
        between = f"(95 % interval {self.low:.4f} to {self.high:.4f})"
        if self.best:
            return (
                f"By that {self.ahead} is ahead of {self.other} by {self.difference:.4f} {between}; mistakes that a crowd "
                "shares are predicted well, too, and only a truth shows them."
            )
        if self.ahead == VOTE:
            return (
                f"None predicts them better than {VOTE}, which repeats whatever most say, so that they do not tell which "
                "method is best; a truth of some items would."
            )
        return (
            f"They do not tell which method is best: {self.ahead} is ahead of {self.other} by {self.difference:.4f} {between}; "
            "a truth of some items would."
        )


def find_lead(labels: Labels, heldout: Mapping[str, FloatArray]) -> Lead:
    r"""Return which method is ahead, and whether labels held out can tell it from the next and from the vote.

    Two methods are compared label by label, and labels of one item are not independent: with the sum :math:`d_j` of the
    differences over the :math:`n_j` labels of item j, n labels in all and the mean :math:`m = \sum_j d_j / n`, the standard
    error is :math:`\sqrt{\sum_j (d_j - n_j m)^2} / n`.

    Parameters
    ----------
    labels : Labels
    heldout : mapping of str to ndarray of shape (n_labels,)

    Examples
    --------
    >>> from crowdassay import simulate
    >>> labels, _ = simulate(np.random.default_rng(0), n_items=50)
    >>> good, bad = np.full(labels.n_labels, -0.5), np.full(labels.n_labels, -0.6)
    >>> find_lead(labels, {"majority": bad, "assay": good}).best, find_lead(labels, {"majority": good, "assay": bad}).best
    (['assay'], [])
    """
    order = sorted(heldout, key=lambda name: -float(heldout[name].mean()))
    ahead, *rest = order
    compared = [_lead(labels, heldout, ahead, other) for other in dict.fromkeys([*rest[:1], *(VOTE,) * (VOTE in rest)])]
    return min(compared, key=lambda one: one.low, default=Lead(ahead, ahead))


def _lead(labels: Labels, heldout: Mapping[str, FloatArray], ahead: str, other: str) -> Lead:
    apart = heldout[ahead] - heldout[other]
    lead = float(apart.mean())
    by_item = np.bincount(labels.label_item, apart - lead, labels.n_items)
    margin = float(scipy.special.ndtri(0.975)) * float(np.sqrt((by_item**2).sum())) / labels.n_labels
    return Lead(ahead, other, lead, lead - margin, lead + margin)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Fits of several methods to the same labels.

    Attributes
    ----------
    results : dict of str to Result
    refused : dict of str to str
        Methods that cannot take these labels, and why.
    truth : ndarray of int, shape (n_items,), optional
        Known classes to score against, -1 where unknown.
    heldout : dict of str to ndarray of shape (n_labels,)
        Without a truth: the log-likelihood of every label when it was held out.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> found = compare(labels, ["majority", "dawid-skene"], truth={"a": 0, "b": 1, "c": 1})
    >>> found.best, found.agreement()
    (['majority', 'dawid-skene'], {('majority', 'dawid-skene'): 1.0})
    """

    results: dict[str, Result]
    refused: dict[str, str]
    truth: NDArray[np.integer[Any]] | None = None
    heldout: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def labels(self) -> Labels:
        """The labels that were fitted."""
        return next(iter(self.results.values())).labels

    @property
    def scored_by(self) -> str:
        """What the methods are ranked by: ``error_rate``, or without a truth ``heldout_log_likelihood``."""
        return HELD_OUT if self.truth is None else ERROR_RATE

    @property
    def best(self) -> list[str]:
        """The methods whose score is the best, several where they are as good; none where labels held out cannot tell."""
        if self.truth is None:
            return self.lead.best
        scores = {row["method"]: row[ERROR_RATE] for row in self.rows()}
        return [name for name, one in scores.items() if one == min(scores.values())]

    @cached_property
    def lead(self) -> Lead:
        """What labels held out tell of the methods, without a truth."""
        return find_lead(self.labels, self.heldout)

    @property
    def summary(self) -> str:
        """What the scores mean, and who has the best: a sentence or more; empty with one method."""
        if len(self.results) < 2:
            return ""
        if self.truth is None:
            return f"{HELD_OUT_MEANS} {self.lead}"
        best = self.best
        return f"{ERROR_MEANS} {' and '.join(best)} {'are' if len(best) > 1 else 'is'} best here."

    def rows(self) -> list[dict[str, Any]]:
        """Return for each method its scores, whether it converged, and the seconds it took."""
        rows = []
        for name, result in self.results.items():
            scores = {HELD_OUT: float(self.heldout[name].mean())} if self.truth is None else score(result, self.truth)
            kept = {measure: scores[measure] for measure in (HELD_OUT, *TRUTH_MEASURES) if measure in scores}
            rows.append({"method": name, **kept, "converged": result.converged, "seconds": round(result.seconds, 3)})
        return rows

    def agreement(self) -> dict[tuple[str, str], float]:
        """Return the share of items on which each pair of methods gives the same label."""
        pairs = itertools.combinations(self.results.items(), 2)
        return {(a, b): float((x.code == y.code).mean()) for (a, x), (b, y) in pairs}

    def disputes(self) -> list[dict[str, Any]]:
        """Return the items on which the methods differ, the most evenly split first, with what each says."""
        codes = np.array([result.code for result in self.results.values()])
        largest = np.max([(codes == c).sum(axis=0) for c in range(int(codes.max()) + 1)], axis=0)
        labels = self.labels
        where = np.flatnonzero(largest < len(codes))
        return [
            {
                "item": labels.items[int(j)].as_py(),
                "methods": {name: labels.class_names[codes[n, j]] for n, name in enumerate(self.results)},
            }
            for j in where[np.argsort(largest[where], kind="stable")]
        ]

    @property
    def scores_(self) -> Any:
        """Frame of `rows`, of the kind in which the labels came."""
        return to_frame(pa.Table.from_pylist(self.rows()), self.labels.frame)

    @property
    def disputes_(self) -> Any:
        """Frame of the items on which the methods differ, with a column of labels for each method."""
        item = self.labels.report.own_names.get("item", "item")
        item = item if item not in self.results else "item"
        rows = [{item: row["item"], **row["methods"]} for row in self.disputes()]
        fields = [(item, self.labels.items.type), *((name, pa.string()) for name in self.results)]
        return to_frame(pa.Table.from_pylist(rows, pa.schema(fields)), self.labels.frame)

    def __repr__(self) -> str:
        best = (
            f"best by {self.scored_by}: {' and '.join(self.best)}" if self.best else f"{self.scored_by} does not tell the best"
        )
        return f"Comparison({', '.join(self.results)}; {best})"

    def shown_scores(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the rows of `SCORES`, and the names of the columns that people see of them."""
        rows = self.rows()
        return rows, [column.name for column in SCORES.columns if column.name in rows[0] and column.name != "converged"]

    def _repr_html_(self) -> str:
        return SCORES.html(*self.shown_scores(), title=repr(self)) + f"<p>{escape(self.summary)}</p>"


def compare(
    data: object,
    methods: str | Sequence[str | Estimator] = COMPARED_METHODS,
    *,
    truth: object = None,
    gold: object = None,
    folds: int = 5,
    seed: int = 0,
    announce: Announce | None = None,
    **reading: object,
) -> Comparison:
    """Fit several methods to the same labels and compare them, as `crowdassay compare` does.

    A method that cannot take these labels is set aside with its reason. Without a truth, labels are held out: ``folds`` more
    fits a method.

    Parameters
    ----------
    data : Labels, path, frame, matrix, or triple (items, workers, labels)
    methods : sequence of str or estimators, or 'all'
        Names as ``crowdassay methods`` lists them, or estimators with parameters of your own.
    truth : file, frame or mapping, optional
        Known classes: methods are ranked by their errors. Otherwise by how well they predict labels held out.
    gold : file, frame or mapping, optional
        Known classes that the methods may learn from; they are not scored.
    folds, seed : int
        Without truth: into how many parts labels are dealt, and by which random numbers.
    announce : callable, optional
        Called with a sentence before every fit.
    **reading
        How to read the labels, as for `crowdassay.as_labels`.

    Returns
    -------
    Comparison
        ``scores_`` and ``disputes_`` are frames of the caller's kind; ``best`` names the best, or none where labels held out
        cannot tell; ``summary`` says why; ``results`` holds the fits.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> compare(labels, ["majority", "dawid-skene"], truth={"a": 0, "b": 1, "c": 0})
    Comparison(majority, dawid-skene; best by error_rate: majority and dawid-skene)
    """
    if isinstance(methods, str) and methods != "all":
        raise ParameterError(f"methods must be 'all' or a list, such as ['majority', {methods!r}].")
    candidates = _candidates(list(METHODS) if methods == "all" else methods)
    labels = as_labels(data, **reading)
    labels = labels if gold is None else take_gold(labels, gold)
    known = None if truth is None else without_gold(labels, match_truth(labels, truth)[0])
    if known is not None and not (known >= 0).any():
        raise DataError("There is nothing to score: every item of the truth is given as gold; leave out the truth or the gold.")
    results: dict[str, Result] = {}
    refused: dict[str, str] = {}
    heldout: dict[str, FloatArray] = {}
    for name, candidate in candidates.items():
        if announce is not None:
            announce(f"Fitting {name} ...")
        try:
            results[name] = replace(candidate).fit(labels).result_
            if known is None:
                scores = cross_validate([candidate], labels, [name], n_folds=folds, seed=seed, threads=1)
                assert scores.heldout is not None
                heldout[name] = scores.heldout[0]
        except DataError as error:
            results.pop(name, None)
            refused[name] = error.message
    if not results:
        raise DataError("None of these methods can take these labels: " + " ".join(refused.values()))
    return Comparison(results, refused, known, heldout)


def _candidates(methods: Sequence[str | Estimator]) -> dict[str, Estimator]:
    """Return estimators by name; one that is given takes its own, with its parameters where names would be the same."""
    if not methods:
        raise ParameterError("There is nothing to compare: give at least one method.")
    candidates: dict[str, Estimator] = {}
    for method in methods:
        estimator = find_method(method.strip()).make() if isinstance(method, str) else method
        name = method.strip() if isinstance(method, str) else method.method
        candidates[name if name not in candidates else repr(estimator)] = estimator
    return candidates
