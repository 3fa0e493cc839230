"""Record what an engine answers in a journal, and answer from the journal first."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Counts, Sums
from crowdassay.engines.local import LocalEngine
from crowdassay.errors import DataError, ParameterError
from crowdassay.io.journal import Answer, Journal

CALLS = ("restart", "hold", "count", "sweep", "e_step", "coordinates")
SUMS = {"Sums": Sums, "Counts": Counts}
E = TypeVar("E")


@dataclass
class Recording:
    """A progress callback that has a journal: whoever makes an engine hands both to `recorded`."""

    journal: Journal
    progress: Callable[[int, float], None] | None = None

    def __call__(self, sweeps: int, objective: float) -> None:
        """Pass progress on."""
        if self.progress is not None:
            self.progress(sweeps, objective)


def recorded(engine: E, progress: object) -> E:
    """Let an engine record its answers if the progress callback is a `Recording`; return the engine."""
    if isinstance(progress, Recording):
        if not isinstance(engine, LocalEngine):
            raise ParameterError("Checkpoints are kept of labels in memory only: leave it out, or take --engine local.")
        recorder = Recorder(engine, progress.journal)
        for name in CALLS:
            setattr(engine, name, partial(recorder.call, name, getattr(engine, name)))
    return engine


class Recorder:
    """Stand between the callers of an engine and the engine."""

    def __init__(self, engine: LocalEngine, journal: Journal) -> None:
        self.engine, self.journal, self.inside = engine, journal, False

    def call(self, name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Answer a call: from the journal as long as it lasts, then by doing it."""
        # What an engine asks of itself is part of its answer; passes that fill an array given to them come at the end.
        if self.inside or options.get("posterior") is not None:
            return function(*arguments, **options)
        asked = checksum(arguments, options)
        if self.journal.left:
            answer = self.journal.pop()
            if (answer.call, answer.asked) != (name, asked):
                raise DataError("The checkpoint does not fit this run, perhaps because of another version; start anew.")
            if not self.journal.left:
                self.restore()
            return unpack(answer)
        self.inside = True
        try:
            found = function(*arguments, **options)
        finally:
            self.inside = False
        if name == "coordinates" and not isinstance(found, np.ndarray):
            return found  # of items that keep nothing between passes: they are computed when read, at the end
        self.journal.add(pack(name, asked, found), self.state())
        return found

    def state(self) -> dict[str, FloatArray]:
        """Return a copy of what the engine's items carry from pass to pass."""
        held = {"given": self.engine._given, "items": self.engine._state}
        return {name: array.copy() for name, array in held.items() if array is not None}

    def restore(self) -> None:
        """Put the engine where it was after its last answer."""
        self.engine._given = self.journal.state["given"]
        self.engine._state = self.journal.state.get("items")


def checksum(arguments: tuple[Any, ...], options: dict[str, Any]) -> int:
    """Return a checksum of the arrays and numbers that an engine is asked with."""
    found = 0
    for value in (*arguments, *options.values()):
        if isinstance(value, np.ndarray):
            found = zlib.crc32(np.ascontiguousarray(value).data.cast("B"), found)
        elif isinstance(value, int | float):
            found = zlib.crc32(repr(float(value)).encode(), found)
    return found


def pack(name: str, asked: int, found: Any) -> Answer:
    """Turn what an engine returns into arrays: sums, an array, both, or nothing."""
    if found is None:
        return Answer(name, asked, "nothing", ())
    if isinstance(found, np.ndarray):
        return Answer(name, asked, "array", (found,))
    sums, *more = found if isinstance(found, tuple) else (found,)
    parts = (*vars(sums).values(), *more)
    return Answer(name, asked, type(sums).__name__, tuple(np.asarray(part, float) for part in parts))


def unpack(answer: Answer) -> Any:
    """Turn arrays back into what an engine returns."""
    if answer.kind == "nothing":
        return None
    if answer.kind == "array":
        return answer.arrays[0]
    objective, first, totals, *more = answer.arrays
    sums = SUMS[answer.kind](float(objective), first, totals)
    return (sums, *more) if more else sums
