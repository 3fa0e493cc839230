"""Several methods on the same labels, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.methods import METHODS, find_method
from crowdassay.estimators.selection.compare import Comparison, fit_all
from crowdassay.findings.scores import without_gold
from crowdassay.labels.frames import as_labels
from crowdassay.labels.truth import match_truth, take_gold
from crowdassay.solvers.outcome import Announce

USUAL = ("majority", "dawid-skene", "minimax", "assay")


def compare(
    data: Any,
    methods: str | Sequence[str | Estimator] = USUAL,
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
