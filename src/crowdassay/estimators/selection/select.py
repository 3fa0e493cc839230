"""Choose one of several estimators by cross-validation or by a validation set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from crowdassay.errors import ParameterError
from crowdassay.estimators.selection.heldout import deal, heldout_log_likelihood, keep
from crowdassay.labels.labels import Labels
from crowdassay.results.result import Result
from crowdassay.threads import one_blas_thread


class Candidate(Protocol):
    """What selection needs of an estimator."""

    result_: Result

    def refit(self, data: Labels, previous: Result | None) -> Self:
        """Fit, going on from an earlier result where that helps."""
        ...

    def fit(self, data: Any) -> Self:
        """Fit."""
        ...

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by name."""
        ...


Chosen = TypeVar("Chosen", bound=Candidate)
Progress = Callable[[int, int], None]
"""Called with the number of fits done and the number there are."""


@dataclass(frozen=True)
class Selection:
    """Scores of all candidates, and the best.

    Attributes
    ----------
    criterion : str
        What the scores are: a mean held-out log-likelihood, or minus an error rate; larger is better.
    rows : tuple of dict
        For each candidate its label, its score, and its score in every fold.
    best : int
        The candidate with the highest score.
    """

    criterion: str
    rows: tuple[dict[str, Any], ...]
    best: int


def grid(estimator: Chosen, **values: Sequence[Any]) -> list[Chosen]:
    """Return copies of an estimator, one for each combination of parameter values, the last varying fastest.

    Examples
    --------
    >>> from crowdassay import DawidSkene
    >>> grid(DawidSkene(), prior=["uniform"], smoothing=[0.1, 1.0])
    [DawidSkene(prior='uniform', smoothing=0.1), DawidSkene(prior='uniform', smoothing=1.0)]
    """
    parameters = estimator.get_params()
    make = type(estimator)
    return [
        make(**{**parameters, **dict(zip(values, combination, strict=True))})
        for combination in itertools.product(*values.values())
    ]


def cross_validate(
    candidates: Sequence[Candidate],
    labels: Labels,
    *,
    names: Sequence[str],
    n_folds: int = 5,
    seed: int = 0,
    reading: str = "predictive",
    threads: int = 1,
    progress: Progress | None = None,
) -> Selection:
    """Score candidates by the likelihood of labels held out, section 6.2 of the paper.

    Within a fold each candidate may go on from the solution of the one before it, so give them in an order in which
    neighbours are alike and the penalty grows; no held-out label is ever used. Folds run side by side.

    Parameters
    ----------
    candidates : sequence of estimators
    labels : Labels
    names : sequence of str
        What to call the candidates.
    n_folds : int
    seed : int
        Decides which label goes to which fold.
    reading : {'predictive', 'uniform'}
        See `heldout_log_likelihood`.
    threads : int
        Folds fitted at the same time.
    progress : callable, optional
    """
    if seed < 0:
        raise ParameterError(f"seed must be a whole number of at least 0, not {seed!r}.")
    fold = deal(labels, n_folds, np.random.default_rng(seed))
    done = itertools.count(1)

    def score(number: int) -> list[float]:
        held = fold == number
        training, previous, scores = keep(labels, ~held), None, []
        for candidate in candidates:
            fitted = type(candidate)(**{**candidate.get_params()}).refit(training, previous)
            previous = fitted.result_
            scores.append(heldout_log_likelihood(previous, labels, held, reading))
            if progress is not None:
                progress(next(done), n_folds * len(candidates))
        return scores

    with one_blas_thread(), ThreadPoolExecutor(max(1, min(threads, n_folds))) as pool:
        scores = np.array(list(pool.map(score, range(n_folds))))
    sizes = np.bincount(fold, minlength=n_folds)
    mean = sizes @ scores / sizes.sum()
    rows = tuple(
        {"candidate": name, "score": float(mean[n]), "folds": [float(value) for value in scores[:, n]]}
        for n, name in enumerate(names)
    )
    return Selection(f"held-out log-likelihood per label ({reading}, {n_folds} folds)", rows, int(mean.argmax()))


def validate(
    candidates: Sequence[Candidate],
    labels: Labels,
    truth: np.ndarray,
    *,
    names: Sequence[str],
    progress: Progress | None = None,
) -> Selection:
    """Score candidates by how well they predict known truths, codes of shape (n_items,), -1 where unknown.

    The score is minus the error rate; equal errors are told apart by the log probability of the truths.
    """
    known = np.flatnonzero(truth >= 0)
    if not len(known):
        raise ParameterError("The validation set holds no item of these labels.")
    rows, keys, previous = [], [], None
    for number, (name, candidate) in enumerate(zip(names, candidates, strict=True)):
        previous = type(candidate)(**candidate.get_params()).refit(labels, previous).result_
        right = previous.winners[known, truth[known]] / previous.winners[known].sum(axis=1)
        log_loss = -np.log(np.maximum(previous.posterior[known, truth[known]], 1e-300)).mean()
        rows.append({"candidate": name, "score": float(right.mean() - 1), "log_loss": float(log_loss)})
        keys.append((right.mean(), -log_loss))
        if progress is not None:
            progress(number + 1, len(candidates))
    return Selection(
        f"minus the error rate on {len(known)} known items", tuple(rows), max(range(len(keys)), key=keys.__getitem__)
    )
