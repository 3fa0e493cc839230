"""One run from labels to a `Result`, wherever the labels are: limits, solve, predict, check."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import GATHERED_LABELS, Engine, Place
from crowdassay.engines.blocks import Block
from crowdassay.engines.confusion import normalise
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.sweeps import BlockEngine
from crowdassay.errors import ParameterError
from crowdassay.findings.passes import MajorityCheck, two_passes
from crowdassay.labels.facts import Facts
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import SETTLED, Record
from crowdassay.models.structures import Basis
from crowdassay.results.checks import ONE_CLASS_NOTE, check_memory, find_trouble, notes_on
from crowdassay.results.result import FittedPlace, Result
from crowdassay.solvers.posteriors import ByVotes
from crowdassay.solvers.solution import Announce, ItemPosterior, Predict, Progress, Solution
from crowdassay.statistics import log_softmax
from crowdassay.threads import one_blas_thread


class Method(Protocol):
    """What a fit needs to know of an estimator: how it solves, and whether it can do without the items in memory."""

    @property
    def method(self) -> str: ...

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
        """Return the same method with other parameters, to be tried where this one fails; None where there is none left."""
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
        Whether a fit that tells no class apart, or contradicts most clear majorities, is replaced by one with other parameters
        (`Method.fallback`); otherwise a note says so.
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
        asked = result, plain = _run(method, place, progress, announce, start, gathered=gathered)
        notes: list[str] = []
        tried = method
        while fallbacks and (trouble := find_trouble(plain, place.facts)):
            other = tried.fallback()
            if other is None:  # none stands, so that there is no reason to leave what was asked for
                (result, plain), notes = asked, []
                break
            notes.append(f"The fit of {tried!r} {trouble}. {other!r} was used instead.")
            tried = other
            result, plain = _run(tried, place, progress, announce, None, gathered=gathered)
    notes += [*result.notes, *method.notes_on(place.facts), *notes_on(plain, result, place.facts)]
    return result.changed(notes=tuple(notes), seconds=time.perf_counter() - started)


def _run(
    method: Method,
    place: Place,
    progress: Progress | None,
    announce: Announce | None,
    start: FloatArray | None,
    *,
    gathered: bool,
) -> tuple[Result, MajorityCheck]:
    """Solve, and turn the solution into a result."""
    facts = place.facts
    if facts.n_classes == 1:
        solution = Solution(ByVotes(), log_prior=np.zeros(1), n_iter=1, notes=(ONE_CLASS_NOTE,))
        return _decide(method.method, solution, place, place.engine(gathered=gathered, announce=announce))
    tables = method.count_tables(facts, gathered=gathered)
    check_memory(facts, *(tables if place.in_memory else (tables[0], 0.0)), posteriors=place.in_memory)
    if announce is not None and (words := method.slow(facts)) is not None:
        announce(words)
    engine = place.engine(gathered=gathered, announce=announce)
    return _decide(method.method, method.solve(engine, progress, start), place, engine)


def _decide(name: str, solution: Solution, place: Place, engine: Any) -> tuple[Result, MajorityCheck]:
    """Predict all items by a solution: where they are in memory at once, elsewhere block by block when they are asked for."""
    if place.in_memory:
        result = make_result(name, solution, engine.labels, solution.predict(engine), FittedPlace(place))
        return result, MajorityCheck.of(result)
    facts = place.facts
    weak_items = solution.model is not None and solution.model.has_weak_items(facts.longest)
    by_block = PredictBlock(solution.predict, solution.method or name, _item_basis(solution), weak_items, solution.settled)
    found = two_passes(place, by_block)
    assert found.second.expected is not None
    workers = _worker_values(name, solution, found.second.expected)
    return Result.elsewhere(FittedPlace(place, by_block, found), **workers), found.second.majorities


def make_result(
    name: str, solution: Solution, labels: Labels, predicted: ItemPosterior, fitted_place: FittedPlace | None = None
) -> Result:
    """Return the result of a solution and what it says of the items, which are in memory."""
    return Result(
        labels=labels,
        posterior=predicted.posterior,
        winners=predicted.winners,
        phi=predicted.phi,
        pairs=predicted.pairs,
        difficulty=predicted.difficulty,
        fitted_place=fitted_place,
        **_worker_values(name, solution, predicted.expected),
    )


def _worker_values(name: str, solution: Solution, expected: FloatArray) -> dict[str, Any]:
    """Return the attributes of a result that have not the size of the items."""
    confusion, accuracy = describe_workers(solution, expected)
    item = _item_basis(solution)
    return {
        "method": solution.method or name,
        "parameters": dict(solution.settings),
        "confusion": confusion,
        "accuracy": accuracy,
        "log_prior": solution.log_prior,
        "sigma": solution.sigma,
        "expand": item.tables if item else None,
        "objective": solution.objective,
        "history": solution.history,
        "n_iter": solution.n_iter,
        "converged": solution.converged,
        "known": solution.known,
        "gold_warning": solution.gold_warning,
        "settled": solution.settled,
        "spread": solution.spread,
        "notes": solution.notes,
        "selection": solution.selection,
    }


def _item_basis(solution: Solution) -> Basis | None:
    return solution.model.item if solution.model else None


def describe_workers(solution: Solution, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return every worker's confusion (n_workers, n_classes, n_classes) and accuracy from the sums over all items."""
    otherwise = None if solution.sigma is None else np.exp(log_softmax(solution.sigma))
    confusion, accuracy = normalise(np.maximum(expected, 0.0), otherwise)
    return confusion if solution.confusion is None else solution.confusion, accuracy


@dataclass(frozen=True, eq=False)
class PredictBlock:
    """What a fit makes of a block, as a task that can travel."""

    predict: Predict
    method: str
    item: Basis | None
    weak_items: bool
    settled: float = SETTLED

    def __call__(self, block: Block) -> tuple[Record, FloatArray]:
        """Predict the block."""
        predicted = self.predict(BlockEngine(block, weak_items=self.weak_items))
        nothing = np.empty((0, block.labels.n_classes, block.labels.n_classes))
        record = Record(
            block.labels, self.method, {}, predicted.posterior, predicted.winners, nothing, nothing[:, 0, 0], phi=predicted.phi,
            expand=self.item.tables if self.item else None, difficulty=predicted.difficulty,
            settled=self.settled,
        )  # fmt: skip
        return record, predicted.expected
