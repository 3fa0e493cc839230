"""Choose between estimators by labels held out, or by known truths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Announce
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.labels.frames import as_labels
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record
from crowdassay.labels.signatures import label_order
from crowdassay.labels.truth import match_truth
from crowdassay.labels.values import counted
from crowdassay.results.result import Result
from crowdassay.threads import available_cores, one_blas_thread

READINGS = ("predictive", "uniform")
GUESSING_SHARE = 0.01  # share of guessing in the tables of methods that have no model of a label
HELD_OUT_AT_A_TIME = 65536
Chosen = TypeVar("Chosen", bound=Estimator)


@dataclass(frozen=True)
class Selection:
    """Scores of all candidates, and the best."""

    criterion: str  # what the scores are: a mean held-out log-likelihood, or minus an error rate; larger is better
    rows: list[dict[str, Any]]  # for each candidate its name, its score, and its score in every fold
    best: int  # the candidate with the highest score
    heldout: FloatArray | None = None  # the log-likelihood of every label, held out, by candidate: (n_candidates, n_labels)

    def table(self, best: object) -> dict[str, Any]:
        """Return what a result keeps of the selection, the best candidate under a name of its own."""
        return {"criterion": self.criterion, "rows": self.rows, "best": best}


def grid(estimator: Chosen, **values: Sequence[Any]) -> list[Chosen]:
    """Return copies of an estimator, one for each combination of parameter values, the last varying fastest.

    Examples
    --------
    >>> from crowdassay import DawidSkene
    >>> grid(DawidSkene(), prior=["uniform"], smoothing=[0.1, 1.0])
    [DawidSkene(prior='uniform', smoothing=0.1), DawidSkene(prior='uniform', smoothing=1.0)]
    """
    return [
        replace(estimator, **dict(zip(values, combination, strict=True))) for combination in itertools.product(*values.values())
    ]


def select(
    candidates: Sequence[Chosen],
    data: object,
    *,
    validation: object = None,
    folds: int = 5,
    seed: int = 0,
    reading: str = "predictive",
    threads: int | None = None,
    announce: Announce | None = None,
    **columns: object,
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
        See `crowdassay.estimators.select.cross_validate`.
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
    if truth is None:
        scores = cross_validate(
            candidates, labels, names, n_folds=folds, seed=seed, reading=reading, threads=threads, announce=announce
        )
    else:
        scores = validate(candidates, labels, names, truth, announce)
    fitted = candidates[scores.best].fit(labels)
    fitted.result_ = fitted.result_.changed(selection=scores.table(names[scores.best]))
    return fitted


def cross_validate(
    candidates: Sequence[Estimator],
    labels: Labels,
    names: Sequence[str],
    *,
    n_folds: int = 5,
    seed: int = 0,
    reading: str = "predictive",
    threads: int | None = None,
    announce: Announce | None = None,
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
        See `label_log_likelihood`.
    threads : int or None
        Folds fitted at the same time, if more than one each on one core; None takes all cores.
    announce : callable, optional
        Called with a sentence after every fit.
    """
    if seed < 0:
        raise ParameterError(f"seed must be a whole number of at least 0, not {seed!r}.")
    threads = threads or available_cores()
    if threads > 1:
        candidates = [grid(one, threads=[1])[0] if "threads" in one.get_params() else one for one in candidates]
    fold = deal(labels, n_folds, np.random.default_rng(seed))
    done = itertools.count(1)

    heldout = np.empty((len(candidates), labels.n_labels))

    def score(number: int) -> list[float]:
        held, scores = fold == number, []
        for n, result in enumerate(fit_in_turn(candidates, keep(labels, ~held))):
            heldout[n, held] = label_log_likelihood(result, labels, held, reading)
            scores.append(float(heldout[n, held].mean()))
            if announce is not None:
                announce(f"Choosing: fit {next(done)} of {n_folds * len(candidates)}")
        return scores

    with one_blas_thread(), ThreadPoolExecutor(max(1, min(threads, n_folds))) as pool:
        scores = np.array(list(pool.map(score, range(n_folds))))
    sizes = np.bincount(fold, minlength=n_folds)
    mean = sizes @ scores / sizes.sum()
    rows = [
        {"candidate": name, "score": float(mean[n]), "folds": [float(value) for value in scores[:, n]]}
        for n, name in enumerate(names)
    ]
    return Selection(f"held-out log-likelihood per label ({reading}, {n_folds} folds)", rows, int(mean.argmax()), heldout)


def validate(
    candidates: Sequence[Estimator], labels: Labels, names: Sequence[str], truth: np.ndarray, announce: Announce | None = None
) -> Selection:
    """Score candidates by how well they predict known truths, codes of shape (n_items,), -1 where unknown.

    The score is minus the error rate; equal errors are told apart by the log probability of the truths.
    """
    known = np.flatnonzero(truth >= 0)
    if not len(known):
        raise ParameterError("The validation set holds no item of these labels.")
    rows, keys = [], []
    for name, result in zip(names, fit_in_turn(candidates, labels), strict=True):
        right = result.winners[known, truth[known]] / result.winners[known].sum(axis=1)
        log_loss = -np.log(np.maximum(result.posterior[known, truth[known]], 1e-300)).mean()
        rows.append({"candidate": name, "score": float(right.mean() - 1), "log_loss": float(log_loss)})
        keys.append((right.mean(), -log_loss))
        if announce is not None:
            announce(f"Choosing: fit {len(rows)} of {len(candidates)}")
    return Selection(f"minus the error rate on {counted(len(known), 'known item')}", rows, keys.index(max(keys)))


def fit_in_turn(candidates: Sequence[Estimator], labels: Labels) -> Iterator[Result]:
    """Fit a copy of each candidate, going on from the result of the one before where that helps."""
    previous = None
    for candidate in candidates:
        previous = replace(candidate).refit(labels, previous).result_
        yield previous


def label_log_likelihood(result: Record, labels: Labels, chosen: np.ndarray, reading: str = "predictive") -> FloatArray:
    r"""Return the log-likelihood of each of the chosen labels under a fit to others, shape (n_chosen,).

    .. math::  \log \sum_c w_{jc} P(x_{ij} \mid c)

    with weights w the posterior from the labels the fit has seen (``predictive``), or all alike (``uniform``, what the
    authors' code does).

    The fit shares the vocabularies of ``labels``; ``chosen`` is a mask of shape (n_labels,).
    """
    if reading not in READINGS:
        raise ParameterError(f"reading must be one of {', '.join(READINGS)}, not {reading!r}.")
    where = np.flatnonzero(chosen)
    found = np.empty(len(where))
    for first in range(0, len(where), HELD_OUT_AT_A_TIME):
        part = where[first : first + HELD_OUT_AT_A_TIME]
        item, worker, label = labels.label_item[part], labels.worker[part], labels.label[part]
        log_p = _log_tables(result, item, worker)[np.arange(len(part)), :, label]
        weights = result.posterior[item] if reading == "predictive" else np.full(log_p.shape, 1 / labels.n_classes)
        found[first : first + HELD_OUT_AT_A_TIME] = scipy.special.logsumexp(log_p, axis=1, b=weights)
    return found


def _log_tables(result: Record, item: np.ndarray, worker: np.ndarray) -> FloatArray:
    """Return log P(k | c) for pairs of item and worker, shape (n, n_classes, n_classes)."""
    if result.pairs is not None:
        return result.pairs(item, worker)
    if result.sigma is None:
        n_classes = result.confusion.shape[1]
        return np.log((1 - GUESSING_SHARE) * result.confusion[worker] + GUESSING_SHARE / n_classes)
    tables = result.sigma[worker]
    if result.phi is not None and result.expand is not None:
        tables = tables + result.expand(result.phi[item])
    return scipy.special.log_softmax(tables, axis=2)


def deal(labels: Labels, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Return the fold of every label, shape (n_labels,).

    In random order each label goes to the fold that has the fewest labels of its item, among those the fewest of its
    worker, and among those the fewest of all. So the labels of an item are spread evenly, to within one.
    """
    if not 2 <= n_folds <= labels.n_labels:
        few = "" if n_folds < 2 else f"; there are {counted(labels.n_labels, 'label')}, too few to hold some of them out"
        raise ParameterError(f"The number of folds must lie between 2 and the number of labels, not {n_folds}{few}.")
    from crowdassay.engines.kernels.loops import deal as dealt  # noqa: PLC0415  numba loads on first use

    order = label_order(labels)[generator.permutation(labels.n_labels)]  # whatever things are called, and in any order
    return np.asarray(dealt(order, labels.label_item, labels.worker, labels.n_items, labels.n_workers, n_folds))


def keep(labels: Labels, chosen: np.ndarray) -> Labels:
    """Return the chosen labels (a mask of shape (n_labels,)) with the vocabularies and the gold of all."""
    return Labels.from_codes(
        labels.label_item[chosen],
        labels.worker[chosen],
        labels.label[chosen],
        items=labels.items,
        workers=labels.workers,
        classes=labels.classes,
        report=labels.report,
        frame=labels.frame,
    ).with_gold(labels.gold)
