"""Choose between estimators, or gamma, from the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from crowdassay.errors import ParameterError
from crowdassay.estimators.selection.select import Candidate, Selection, cross_validate, grid, validate
from crowdassay.labels.frames import as_labels
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth
from crowdassay.models.family import check_penalty
from crowdassay.solvers.solution import Announce
from crowdassay.threads import available_cores

Chosen = TypeVar("Chosen", bound=Candidate)
CANDIDATE_TOLERANCE = 1e-6  # scores of candidates differ by far more than fits that stop here


def select(
    candidates: Sequence[Chosen],
    data: Any,
    *,
    validation: Any = None,
    folds: int = 5,
    seed: int = 0,
    reading: str = "predictive",
    threads: int | None = None,
    announce: Announce | None = None,
    **columns: Any,
) -> Chosen:
    """Fit the best of several estimators: of other parameters, structures or methods.

    Parameters
    ----------
    candidates : sequence of estimators
        `grid` makes them from one estimator and lists of parameter values.
    data : Labels, path, frame, or triple (items, workers, labels)
    validation : frame, mapping or path, optional
        Items whose class is known: the estimator that predicts them best wins. Otherwise labels are held out.
    folds, seed, reading
        See `crowdassay.estimators.selection.select.cross_validate`.
    threads : int or None
        Folds fitted at the same time; None takes all cores.
    announce : callable, optional
        Called with a sentence after every fit.
    **columns
        How to read the labels, as for `crowdassay.as_labels`: ``item_column="task"`` and so on.

    Returns
    -------
    estimator
        Fitted to all labels; ``result_.selection`` holds every candidate's score.

    >>> from crowdassay import DawidSkene, simulate
    >>> labels, truth = simulate(np.random.default_rng(0))
    >>> best = select(grid(DawidSkene(), smoothing=[0.01, 0.1, 1.0]), labels)
    >>> best.result_.selection["best"]
    'DawidSkene(smoothing=1.0)'
    """
    if not candidates:
        raise ParameterError("There is nothing to choose from: give at least one estimator.")
    labels = as_labels(data, **columns)
    names = [repr(candidate) for candidate in candidates]
    truth = None if validation is None else match_truth(labels, validation)[0]
    scores = _score(candidates, names, labels, truth, folds, seed, reading, threads, announce)
    fitted = candidates[scores.best].fit(labels)
    fitted.result_ = fitted.result_.changed(selection=_table(scores, names[scores.best]))
    return fitted


def choose_gamma(
    estimator: Any, labels: Labels, truth: np.ndarray | None, announce: Announce | None
) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
    """Return the estimator with the best gamma of its grid, the scores, and a note where that lies on the grid's edge.

    Gammas are tried in rising order, each going on from the one before: a weak penalty never starts from a flat model.
    """
    gammas = sorted({check_penalty("gammas", gamma) for gamma in estimator.gammas})
    candidates = grid(estimator, gamma=gammas)
    if estimator.solver != "algorithm1" and estimator.label_entropy:
        for candidate in candidates:
            candidate.set_params(starts=1, tol=CANDIDATE_TOLERANCE)
    names = [f"gamma = {gamma:g}" for gamma in gammas]
    scores = _score(
        candidates, names, labels, truth, estimator.folds, estimator.seed, estimator.reading, estimator.threads, announce
    )
    best = gammas[scores.best]
    notes: tuple[str, ...] = ()
    if len(gammas) > 1 and scores.best in (0, len(gammas) - 1):
        side = "smallest" if scores.best == 0 else "largest"
        notes = (f"The best gamma, {best:g}, is the {side} of those tried; the best of all may lie beyond (--gammas).",)
    return grid(estimator, gamma=[best])[0], _table(scores, best), notes


def _score(
    candidates: Sequence[Chosen],
    names: list[str],
    labels: Labels,
    truth: np.ndarray | None,
    folds: int,
    seed: int,
    reading: str,
    threads: int | None,
    announce: Announce | None,
) -> Selection:
    def progress(done: int, total: int) -> None:
        if announce is not None:
            announce(f"Choosing: fit {done} of {total}")

    if truth is not None:
        return validate(candidates, labels, truth, names=names, progress=progress)
    threads = threads or available_cores()
    single = [_with_one_thread(candidate) for candidate in candidates] if threads > 1 else candidates
    return cross_validate(
        single, labels, names=names, n_folds=folds, seed=seed, reading=reading, threads=threads, progress=progress
    )


def _with_one_thread(estimator: Chosen) -> Chosen:
    """Return a copy that leaves the cores to the folds."""
    return grid(estimator, threads=[1])[0] if "threads" in estimator.get_params() else estimator


def _table(scores: Selection, best: object) -> dict[str, Any]:
    return {"criterion": scores.criterion, "rows": list(scores.rows), "best": best}
