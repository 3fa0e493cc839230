"""Where a fit runs: in memory, from files, on a graphics card or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.estimators.base import Estimator

# By engine: the module whose function run(job) fits, writes and prints, and returns the exit code.
RUNNERS = {"files": "crowdassay.cli.large", "spark": "crowdassay.cli.spark"}
OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "local", "gpu", *RUNNERS]),
        default="auto",
        show_default=True,
        help="Where the labels are during the fit; auto is memory, or files where memory will not do.",
    ),
    click.option("--memory", help="Memory to use at most, about, such as 1GB; --engine files keeps to it."),
    click.option("--temp-dir", type=click.Path(path_type=Path), help="--engine files: folder for temporary files."),
)
PER_BYTE, PER_ROW = 2.5, 90  # bytes of memory that reading and a fit take, for each of text and for each label
SAMPLE = 1 << 20


@dataclass(frozen=True)
class Job:
    """What an engine is to do.

    Attributes
    ----------
    estimator : Estimator
        Not fitted yet.
    method : str
        Its name on the command line.
    ordered : bool
        Whether the method takes the classes as ordered.
    labels : tuple of str
        Paths, folders, patterns, or whatever else the engine reads, as given.
    options : dict
        All options of the command.
    """

    estimator: Estimator
    method: str
    ordered: bool
    labels: tuple[str, ...]
    options: dict[str, Any]


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where a fit runs."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def find_runner(job: Job) -> Callable[[Job], int] | None:
    """Return what runs a job elsewhere than in memory; None for memory."""
    name = job.options["engine"]
    if name == "auto":
        name = "files" if too_large(job) else "local"
    if name == "local":
        return None
    from crowdassay.errors import ParameterError

    if name == "gpu":  # the labels are read into memory all the same
        if not hasattr(job.estimator, "engine"):
            raise ParameterError(f"The GPU engine runs minimax and dawid-skene; take --engine local for {job.method}.")
        job.estimator.set_params(engine="gpu")
        return None
    try:
        return import_module(RUNNERS[name]).run
    except ModuleNotFoundError as error:
        if error.name != RUNNERS[name]:
            raise
        raise ParameterError(f"The engine '{name}' is not part of this installation; take local or files.") from None


def too_large(job: Job) -> bool:
    """Tell whether labels will not fit into memory while the method could do without; say so where it could not."""
    from crowdassay.errors import CrowdassayError
    from crowdassay.io.ingest_source import find_inputs
    from crowdassay.memory import available_memory, parse_size, shown_size

    given = job.options["memory"]
    room = available_memory() if given is None else parse_size(given)
    try:
        needed = sum(map(memory_needed, find_inputs(job.labels)))
    except (CrowdassayError, OSError):
        return False  # whoever reads them says what is wrong
    if room is None or needed <= room:
        return False
    if job.estimator.solves:
        return True
    if not job.options["quiet"]:
        click.echo(
            f"These labels may take {shown_size(needed)} of memory, and there are {shown_size(room)}; the methods assay, "
            "minimax, dawid-skene and majority need less, with --engine files.",
            err=True,
        )
    return False


def memory_needed(path: Path) -> float:
    """Estimate the bytes of memory that reading a file and a fit take, by its size and the length of its first lines."""
    from crowdassay.io.raw import is_gzipped, opened

    size = path.stat().st_size
    if path.suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            rows = pq.read_metadata(path).num_rows
        except pa.ArrowException:
            return 0.0  # whoever reads it says that it is damaged
        return rows * (PER_ROW + 20 * PER_BYTE)  # ids of ordinary length
    with opened(path) as stream:
        start = stream.read(SAMPLE)
    packed = 5 if is_gzipped(path) else 1  # ids pack well
    return size * packed * (PER_BYTE + PER_ROW * start.count(b"\n") / max(len(start), 1))
