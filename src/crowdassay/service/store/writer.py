"""One thread that writes: whatever waits goes into one transaction, one sync to disk, and then everybody is answered."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from crowdassay.errors import CrowdassayError
from crowdassay.labels.databases.home import Session
from crowdassay.service.store.labels import BatchOutcome, last_seq
from crowdassay.service.store.open import Batch, Store
from crowdassay.service.store.records import Received

LABELS_IN_A_TRANSACTION = 20_000  # about
MOST_LABELS_WAITING = 200_000  # whoever sends more is asked to wait


class BusyError(CrowdassayError):
    """Too much is waiting; ``retry_after`` is in how many seconds to try again."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotStoredError(CrowdassayError):
    """The database refused; nothing of the request was stored."""


@dataclass
class WriteRequest:
    """Something to write, and whom to tell: labels, or a function of the session."""

    batch: Batch | None
    call: Callable[[Session], Any] | None
    answer: Future[Any] | asyncio.Future[Any]


class Writer:
    """Writes in the order of arrival; a request is answered only when it is on disk."""

    def __init__(self, store: Store, on_commit: Callable[[list[BatchOutcome], int, int], None]) -> None:
        self.store, self.on_commit = store, on_commit
        self.waiting = 0
        self.commits = 0
        self._ended = False
        self._queue: queue.SimpleQueue[WriteRequest | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def add(self, batch: Batch) -> asyncio.Future[Received]:
        """Ask, from an event loop, for labels to be added; the future holds what became of them."""
        if self.waiting > MOST_LABELS_WAITING:
            raise BusyError("More labels wait to be stored than there is room for; send these again in a moment.")
        self.waiting += len(batch.sent)
        answer: asyncio.Future[Received] = asyncio.get_running_loop().create_future()
        self._queue.put(WriteRequest(batch, None, answer))
        return answer

    def call(self, function: Callable[[Session], Any]) -> Future[Any]:
        """Ask for a function to be called in a transaction; the future holds its answer."""
        answer: Future[Any] = Future()
        self._queue.put(WriteRequest(None, function, answer))
        return answer

    @property
    def alive(self) -> bool:
        """Whether what is asked for will be written."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Write what waits, and end."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while not self._ended:
            if asked := self._next():
                self._write(asked)

    def _next(self) -> list[WriteRequest]:
        """Wait for something to write; return it with all that came meanwhile."""
        first = self._queue.get()
        asked: list[WriteRequest] = []
        size = 0
        while True:
            if first is None:
                self._ended = True
                return asked
            asked.append(first)
            size += len(first.batch.sent) if first.batch else 1
            if size >= LABELS_IN_A_TRANSACTION:
                return asked
            try:
                first = self._queue.get_nowait()
            except queue.Empty:
                return asked

    def _write(self, asked: list[WriteRequest]) -> None:
        try:
            answers, outcomes, before, after = self._commit(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must be told
            if len(asked) > 1:  # one of them may be to blame; the others are not made to suffer
                for one in asked:
                    self._write([one])
                return
            self._settle(asked)
            why = f"The database could not store this ({type(error).__name__}); nothing of it was stored, send it again."
            _tell(asked, [error if isinstance(error, CrowdassayError) else NotStoredError(why)])
            return
        self.commits += 1
        self._settle(asked)
        if outcomes:
            self.on_commit(outcomes, before, after)
        _tell(asked, answers)

    def _commit(self, asked: list[WriteRequest]) -> tuple[list[Any], list[BatchOutcome], int, int]:
        answers: list[Any] = [None] * len(asked)
        with self.store.home.write() as session:
            before = last_seq(session)
            labels = [(place, one.batch) for place, one in enumerate(asked) if one.batch is not None]
            outcomes = self.store.take(session, [batch for _, batch in labels]) if labels else []
            after = last_seq(session)  # before the calls: labels that these add are not told of, but found by `Job.catch_up`
            for (place, _), outcome in zip(labels, outcomes, strict=True):
                answers[place] = outcome.received
            for place, one in enumerate(asked):
                if one.call is not None:
                    answers[place] = one.call(session)
        return answers, outcomes, before, after

    def _settle(self, asked: list[WriteRequest]) -> None:
        self.waiting -= sum(len(one.batch.sent) for one in asked if one.batch is not None)


def _tell(asked: list[WriteRequest], answers: list[Any]) -> None:
    """Answer everybody; an event loop is woken once for all that wait in it, not once for each."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for one, answer in zip(asked, answers, strict=True):
        if isinstance(one.answer, asyncio.Future):
            loops.setdefault(one.answer.get_loop(), []).append((one.answer, answer))
        else:
            _wake([(one.answer, answer)])
    for loop, waiting in loops.items():
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(_wake, waiting)


def _wake(answers: Sequence[tuple[Future[Any] | asyncio.Future[Any], Any]]) -> None:
    for future, answer in answers:
        if future.done():  # whoever asked has gone
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
