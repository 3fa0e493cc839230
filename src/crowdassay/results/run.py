"""One run from labels to a `Result`, wherever the labels are: limits, solve, predict, check."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Protocol

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.engines.base import GATHERED_LABELS, Announce, Engine, Place
from crowdassay.engines.blocks import Block
from crowdassay.engines.confusion import normalise
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.sweeps import BlockEngine
from crowdassay.errors import ParameterError
from crowdassay.findings.passes import ExpectedErrors, MajorityCheck, PredictBlock, two_passes
from crowdassay.labels.labels import Facts, Labels
from crowdassay.labels.record import LIKELIEST, Record, class_values, decide_classes
from crowdassay.models.structures import Basis
from crowdassay.results.checks import ONE_CLASS_NOTE, check_memory, find_trouble, find_worse, notes_on
from crowdassay.results.result import FittedPlace, Result
from crowdassay.solvers.solution import ByVotes, ItemPosterior, Predict, Progress, Solution
from crowdassay.statistics import log_softmax
from crowdassay.threads import one_blas_thread


class Method(Protocol):
    """What a fit needs to know of an estimator: how it solves, and whether it can do without the items in memory."""

    @property
    def method(self) -> str: ...

    @property
    def settled(self) -> float | None:
        """Probability from which a label is called settled, where the user has said so; None takes the method's own."""
        ...

    @property
    def decide(self) -> str:
        """Which class becomes the label of an item: see `crowdassay.labels.record.decide_classes`."""
        ...

    def needs_memory(self) -> str | None:
        """Return why all labels must be in memory; None where they need not be."""
        ...

    def check(self, facts: Facts) -> None:
        """Refuse labels that the method cannot take."""
        ...

    def count_tables(self, facts: Facts, *, gathered: bool) -> tuple[float, float]:
        """Return how many arrays of workers x classes^2 and of items x classes^2 numbers the fit holds at a time."""
        ...

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Fit the workers to the sums that an engine returns, going on from worker tables where the method can."""
        ...

    def slow(self, facts: Facts) -> str | None:
        """Return a sentence, before it begins, on a fit that will take long."""
        ...

    def notes_on(self, facts: Facts) -> tuple[str, ...]:
        """Return what the user should know of these labels and this method."""
        ...

    def fallback(self) -> Method | None:
        """Return what is to be tried where this one fails; None where there is nothing left."""
        ...

    def referee(self) -> Method | None:
        """Return the method by whose probabilities this fit is compared with the vote; None where it is not compared."""
        ...


def fit(
    method: Method,
    place: Place,
    *,
    progress: Progress | None = None,
    announce: Announce | None = None,
    gather_below: int = GATHERED_LABELS,
    start: FloatArray | None = None,
    fallbacks: bool = True,
) -> Result:
    """Fit a method to held labels.

    Parameters
    ----------
    method : Method
    place : Place
    progress : callable, optional
        Called after every step with the number of iterations so far and the objective.
    announce : callable, optional
        Called with a sentence when there is a wait.
    gather_below : int
        Labels up to which they are gathered in memory and fitted there, as `GATHERED_LABELS` says.
    start : ndarray of shape (n_workers, n_classes, n_classes), optional
        Worker tables of an earlier fit to go on from.
    fallbacks : bool
        Whether a fit that tells no class apart, contradicts most clear majorities, or seems worse than the vote
        (`Method.referee`) is replaced by another (`Method.fallback`) that does not; otherwise a note says so.
    """
    started = time.perf_counter()
    reason = method.needs_memory()
    if reason is not None and place.engine_name != "local":
        raise ParameterError(f"{reason}, or take --engine local.")
    method.check(place.facts)
    gathered = place.facts.n_labels <= gather_below
    if gathered and not place.in_memory:
        block = place.gather()
        place = MemoryPlace(block.labels, block.truth, place.truth_counts, origin=place)
    with one_blas_thread():
        result, plain = _run(method, place, progress, announce, start, gathered=gathered, decide=method.decide)
        notes: list[str] = []
        if fallbacks and place.facts.n_classes > 1:
            referee = _opinion(method.referee(), place, gathered=gathered)
            trouble = find_trouble(plain, place.facts) or _worse(result, referee, margin=True)
            if trouble is not None:
                instead, found = _stand_in(method, place, announce, referee, gathered=gathered)
                if found is not None:
                    result, plain = found
                    notes = [f"The fit of {method!r} {trouble}. {instead}"]
    notes += [*result.notes, *method.notes_on(place.facts), *notes_on(plain, place.facts)]
    settled = result.settled if method.settled is None else float(method.settled)
    return result.changed(notes=tuple(notes), settled=settled, seconds=time.perf_counter() - started)


def _stand_in(
    method: Method, place: Place, announce: Announce | None, referee: PredictBlock | None, *, gathered: bool
) -> tuple[str, tuple[Result, MajorityCheck] | None]:
    """Return the first of a method's fallbacks that stands and is no worse than the vote, with a sentence on it; or None."""
    left: list[str] = []
    other = method.fallback()
    while other is not None:
        result, plain = _run(other, place, None, announce, None, gathered=gathered, decide=method.decide)
        if not find_trouble(plain, place.facts) and not _worse(result, referee, margin=False):
            why = f", since {' and '.join(left)} {'was' if len(left) == 1 else 'were'} no better" if left else ""
            return f"{other!r} was used instead{why}.", (result.changed(fallback=other), plain)
        left.append(repr(other))
        other = other.fallback()
    return "", None  # none stands, so that there is no reason to leave what was asked for


def _opinion(referee: Method | None, place: Place, *, gathered: bool) -> PredictBlock | None:
    """Return what a referee says of a block; None without one."""
    if referee is None:
        return None
    solution = referee.solve(place.engine(gathered=gathered, announce=None))
    return partial(predict_block, solution.predict, referee.method, _item_basis(solution), False, LIKELIEST)


def _worse(result: Result, referee: PredictBlock | None, *, margin: bool) -> str | None:
    """Return by how much a fit is worse than the vote; None where it is not, or nobody is asked."""
    if referee is None:
        return None
    return find_worse(result.place.reduce(partial(ExpectedErrors.of, result._predict, referee)), margin=margin)


def _run(
    method: Method,
    place: Place,
    progress: Progress | None,
    announce: Announce | None,
    start: FloatArray | None,
    *,
    gathered: bool,
    decide: str,
) -> tuple[Result, MajorityCheck]:
    """Solve, and turn the solution into a result; items are predicted at once in memory, elsewhere when they are asked for."""
    facts, one_class = place.facts, place.facts.n_classes == 1
    if not one_class:
        tables = method.count_tables(facts, gathered=gathered)
        check_memory(facts, *(tables if place.in_memory else (tables[0], 0.0)), posteriors=place.in_memory)
        if announce is not None and (words := method.slow(facts)) is not None:
            announce(words)
    engine: Any = place.engine(gathered=gathered, announce=announce)
    only = Solution(ByVotes(), log_prior=np.zeros(1), n_iter=1, notes=(ONE_CLASS_NOTE,))
    solution = only if one_class else method.solve(engine, progress, start)
    if place.in_memory:
        predicted = solution.predict(engine)
        result = Result(
            labels=engine.labels,
            posterior=predicted.posterior,
            winners=_winners(predicted, decide, engine.labels),
            decide=decide,
            phi=predicted.phi,
            pairs=predicted.pairs,
            difficulty=predicted.difficulty,
            fitted_place=FittedPlace(place),
            **_worker_values(method.method, solution, predicted.expected),
        )
        return result, MajorityCheck.of(result)
    weak_items = solution.model is not None and solution.model.has_weak_items(facts.longest)
    name = solution.method or method.method
    # A task that can travel.
    by_block = partial(predict_block, solution.predict, name, _item_basis(solution), weak_items, decide)
    found = two_passes(place, by_block)
    assert found.second.expected is not None
    workers = _worker_values(method.method, solution, found.second.expected)
    return Result.elsewhere(FittedPlace(place, by_block, found), decide=decide, **workers), found.second.majorities


def _worker_values(name: str, solution: Solution, expected: FloatArray) -> dict[str, Any]:
    """Return the attributes of a result that have not the size of the items, from the sums over all items."""
    otherwise = None if solution.sigma is None else np.exp(log_softmax(solution.sigma))
    confusion, accuracy = normalise(np.maximum(expected, 0.0), otherwise)
    item = _item_basis(solution)
    return {
        "method": solution.method or name,
        "parameters": dict(solution.settings),
        "confusion": confusion if solution.confusion is None else solution.confusion,
        "accuracy": accuracy,
        "log_prior": solution.log_prior,
        "sigma": solution.sigma,
        "expand": item.tables if item else None,
        "objective": solution.objective,
        "history": solution.history,
        "n_iter": solution.n_iter,
        "converged": solution.converged,
        "known": solution.known,
        "checked": solution.checked,
        "gold_warning": solution.gold_warning,
        "settled": solution.settled,
        "spread": solution.spread,
        "notes": solution.notes,
        "selection": solution.selection,
    }


def _winners(predicted: ItemPosterior, decide: str, labels: Labels) -> BoolArray:
    """Return which classes are the labels (n_items, n_classes): those that the solution calls the likeliest, or others."""
    if decide == LIKELIEST:
        return predicted.winners
    return decide_classes(predicted.posterior, decide, class_values(labels))


def _item_basis(solution: Solution) -> Basis | None:
    return solution.model.item if solution.model else None


def predict_block(
    predict: Predict, method: str, item: Basis | None, weak_items: bool, decide: str, block: Block
) -> tuple[Record, FloatArray]:
    """Return what a fit makes of a block."""
    predicted = predict(BlockEngine(block, weak_items=weak_items))
    nothing = np.empty((0, block.labels.n_classes, block.labels.n_classes))
    winners = _winners(predicted, decide, block.labels)
    record = Record(
        block.labels, method, {}, predicted.posterior, winners, nothing, nothing[:, 0, 0], phi=predicted.phi,
        expand=item.tables if item else None, difficulty=predicted.difficulty, decide=decide,
    )  # fmt: skip
    return record, predicted.expected
