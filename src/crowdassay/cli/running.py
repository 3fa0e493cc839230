"""While a command runs: it shows that it is alive, and ends promptly and cleanly when interrupted.

Interruptions are Ctrl-C, or SIGTERM as schedulers and containers send it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import click

from crowdassay.text import joined

if TYPE_CHECKING:
    from rich.status import Status

INTERRUPTED = 3
SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_TO_END = 0.6  # seconds for the interruption to get through; compiled code does not hear it


@dataclass
class Ending:
    """What to say when a run is interrupted, and whether it has ended."""

    done: threading.Event = field(default_factory=threading.Event)
    writing: str | None = None  # what is being put in its place at this moment
    written: list[str] = field(default_factory=list)  # what has been written
    heard: bool = False  # whether a signal has come; what goes wrong after that goes wrong because of it

    def last_words(self) -> str:
        """Return what to tell the user."""
        writing, written = self.writing, list(self.written)
        if writing is None:
            return f"Interrupted; {'nothing was' if not written else f'{joined(written)} had been'} written."
        before = f" Written before that: {joined(written)}." if written else ""
        return f"Interrupted while writing {writing}: it is the old one or the new one, complete.{before}"


@contextmanager
def noting(what: str) -> Iterator[None]:
    """Take note that something is being written, and then that it was, for the last words of this run."""
    ending = click.get_current_context().find_object(Ending) or Ending()
    ending.writing = what
    yield  # without a finally: whoever is interrupted here may have written it or not
    ending.written.append(what)
    ending.writing = None


@contextmanager
def prompt_ending() -> Iterator[Ending]:
    """Raise `KeyboardInterrupt` on both signals, and end the process by force if that is not heard soon.

    Results are replaced in one step at the very end, so that ending at any moment leaves none half written.
    """
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():  # only the main thread hears signals
        yield ending
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def interrupt(*_: object) -> None:
        ending.heard = True
        raise KeyboardInterrupt

    before = [(number, signal.signal(number, interrupt)) for number in SIGNALS]
    wakened = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(reader, ending), daemon=True)
    watcher.start()
    try:
        yield ending
    finally:
        ending.done.set()
        signal.set_wakeup_fd(wakened)
        for number, handler in before:
            signal.signal(number, handler)
        os.close(writer)  # which ends the watcher
        watcher.join()
        os.close(reader)


def _watch(reader: int, ending: Ending) -> None:
    while heard := os.read(reader, 1):
        if heard[0] in SIGNALS and not ending.done.wait(SECONDS_TO_END):
            words = ending.last_words()
            with suppress(OSError):
                os.write(2, f"{words}\n".encode())
            os._exit(INTERRUPTED)


@contextmanager
def working(sentence: str, *, quiet: bool) -> Iterator[Status | None]:
    """Show a sentence on a terminal while something is done; yield what can change it, None where there is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(sentence) as status:
        yield status


@contextmanager
def progress_line(*, quiet: bool) -> Iterator[tuple[Callable[[int, float], None] | None, Callable[[str], None] | None]]:
    """Yield a progress callback, None where standard error is no terminal, and an announcer, None when quiet."""
    with working("Fitting ...", quiet=quiet) as status:
        if status is None:
            yield None, None if quiet else partial(click.echo, err=True)
            return

        def progress(n_iter: int, objective: float) -> None:
            status.update(f"Fitting: iteration {n_iter}, objective {objective:,.4f}")

        yield progress, status.update
