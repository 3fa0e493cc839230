"""A line on standard error that shows long work is alive."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress_line(*, quiet: bool) -> Iterator[tuple[Callable[[int, float], None] | None, Callable[[str], None] | None]]:
    """Yield a progress callback, None where standard error is no terminal, and an announcer, None when quiet."""
    if quiet:
        yield None, None
        return
    if not sys.stderr.isatty():
        yield None, lambda sentence: click.echo(sentence, err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("Fitting ...") as status:

        def progress(n_iter: int, objective: float) -> None:
            status.update(f"Fitting: iteration {n_iter}, objective {objective:,.4f}")

        yield progress, status.update


@contextmanager
def working(sentence: str, *, quiet: bool) -> Iterator[None]:
    """Show a sentence on a terminal while something is done that does not report its progress."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(sentence):
        yield
