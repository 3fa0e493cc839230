"""Fit several methods to the same labels and see where they differ."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.methods import METHODS, find_method
from crowdassay.estimators.selection.select import Candidate, cross_validate
from crowdassay.findings.scores import score, without_gold
from crowdassay.labels.frames import as_labels, to_frame
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth, take_gold
from crowdassay.results.result import Result
from crowdassay.solvers.solution import Announce
from crowdassay.tables import Column, TableOf

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
    heldout : dict of str to float
        Without a truth: the mean log-likelihood of labels held out.

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
    heldout: dict[str, float] = field(default_factory=dict)

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
        """The methods whose score is the best, several where they are as good."""
        scores = {row["method"]: row[HELD_OUT] if self.truth is None else -row[ERROR_RATE] for row in self.rows()}
        return [name for name, one in scores.items() if one == max(scores.values())]

    def rows(self) -> list[dict[str, Any]]:
        """Return for each method its scores, whether it converged, and the seconds it took."""
        rows = []
        for name, result in self.results.items():
            scores = {HELD_OUT: self.heldout.get(name)} if self.truth is None else score(result, self.truth)
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
        return f"Comparison({', '.join(self.results)}; best by {self.scored_by}: {' and '.join(self.best)})"

    def shown_scores(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the rows of `SCORES`, and the names of the columns that people see of them."""
        rows = self.rows()
        return rows, [column.name for column in SCORES.columns if column.name in rows[0] and column.name != "converged"]

    def _repr_html_(self) -> str:
        return SCORES.html(*self.shown_scores(), title=repr(self))


def fit_all(
    candidates: Mapping[str, Candidate],
    labels: Labels,
    truth: NDArray[np.integer[Any]] | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    announce: Announce | None = None,
) -> Comparison:
    """Fit every method; one that cannot take these labels is set aside with its reason.

    Parameters
    ----------
    candidates : mapping of str to estimator
    labels : Labels
    truth : ndarray of int, shape (n_items,), optional
        Without one, labels are held out: ``folds`` more fits a method.
    folds, seed : int
    announce : callable, optional
        Called with a sentence before every fit.
    """
    results: dict[str, Result] = {}
    refused: dict[str, str] = {}
    heldout: dict[str, float] = {}
    for name, candidate in candidates.items():
        if announce is not None:
            announce(f"Fitting {name} ...")
        try:
            results[name] = type(candidate)(**candidate.get_params()).fit(labels).result_
            if truth is None:
                selection = cross_validate([candidate], labels, names=[name], n_folds=folds, seed=seed)
                heldout[name] = selection.rows[0]["score"]
        except DataError as error:
            results.pop(name, None)
            refused[name] = error.message
    if not results:
        raise DataError("None of these methods can take these labels: " + " ".join(refused.values()))
    return Comparison(results, refused, truth, heldout)


def compare(
    data: Any,
    methods: str | Sequence[str | Estimator] = COMPARED_METHODS,
    *,
    truth: Any = None,
    gold: Any = None,
    folds: int = 5,
    seed: int = 0,
    announce: Announce | None = None,
    **reading: Any,
) -> Comparison:
    """Fit several methods to the same labels and compare them, as `crowdassay compare` does.

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
        ``scores_`` and ``disputes_`` are frames of the caller's kind; ``best`` names the best, ``results`` holds the fits.

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
    return fit_all(candidates, labels, known, folds=folds, seed=seed, announce=announce)


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
