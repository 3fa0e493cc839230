"""Where labels are held: in memory, in files, on a GPU or in Spark. All else is the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Options, read, read_options
from crowdassay.errors import CrowdassayError, DataError, ParameterError

if TYPE_CHECKING:
    from crowdassay.engines.base import Announce, Place
    from crowdassay.estimators.base import Estimator

IN_MEMORY = ("save_model", "validation", "disputes", "feedback")  # options that need all labels in memory
MEMORY_SHARE = 0.5  # of the free memory that is used where none is given
PER_BYTE, PER_ROW = 2.5, 90  # bytes of memory that reading and a fit take, for each of text and for each label
PER_WORKER = 1_700  # bytes that what is said of workers takes, for each of them, wherever the labels are
PROBED_BYTES = 1 << 20
TEXT = (".csv", ".tsv", ".tab", ".txt", ".results", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


@contextmanager
def open_place(labels: tuple[str, ...], options: Options, estimator: Estimator, announce: Announce | None) -> Iterator[Place]:
    """Read LABELS into the place that the options name, and hold them until the tables are written."""
    from crowdassay.labels.sources import local_sources

    name = options["engine"]
    with local_sources(() if name == "spark" else labels) as local:  # Spark reads for itself, wherever labels are
        if name == "auto":
            name = "files" if too_large(local, options, estimator) else "local"
        # Refused before anything is read: the same words for the same thing.
        if name != "local" and (reason := estimator.needs_memory()):
            raise ParameterError(f"{reason}, or take --engine local.")
        if name in {"files", "spark"}:
            for option in IN_MEMORY:
                if options[option] is not None:
                    needs = "needs all labels in memory; leave it out, or take --engine local."
                    raise ParameterError(f"--{option.replace('_', '-')} {needs}")
            if reason := read_options(options).refusal(name):
                raise ParameterError(reason)
        if name in {"local", "gpu"}:
            yield in_memory(local, options, on_gpu=name == "gpu")
            return
        opened = in_files(local, options, announce) if name == "files" else in_spark(labels, options, estimator, announce)
        with opened as place:
            yield place


def in_memory(labels: tuple[str, ...], options: Options, *, on_gpu: bool) -> Place:
    """Read labels into memory, for the processor or for a GPU."""
    from crowdassay.cli.running import working
    from crowdassay.engines.gpu.engine import GpuPlace
    from crowdassay.engines.memory.place import MemoryPlace
    from crowdassay.labels.truth import match_truth, take_gold

    with working("Reading ...", quiet=options["quiet"]):
        data = read(labels, options)
    truth = None if options["truth"] is None else match_truth(data, options["truth"], what="truth")
    if options["gold"] is not None:
        data = take_gold(data, options["gold"])
    codes, counts = (None, None) if truth is None else truth
    return (GpuPlace if on_gpu else MemoryPlace)(data, codes, counts, options["threads"])


@contextmanager
def in_files(labels: tuple[str, ...], options: Options, announce: Announce | None) -> Iterator[Place]:
    """Encode labels into a spool on disk."""
    from crowdassay.engines.files.place import FilesPlace
    from crowdassay.labels.ingest import spool_files
    from crowdassay.labels.raw import find_inputs
    from crowdassay.labels.values import counted
    from crowdassay.labels.workspace import workspace
    from crowdassay.memory import available_memory, parse_size, shown_size
    from crowdassay.threads import available_cores

    given = None if options["memory"] is None else parse_size(options["memory"])
    memory = int(MEMORY_SHARE * (available_memory() or 4e9)) if given is None else given
    known = {"gold": options["gold"], "truth": options["truth"], "memory": memory}
    threads = options["threads"] or available_cores()
    paths = find_inputs(labels)
    with workspace(options["temp_dir"]) as folder:
        if announce is not None:
            announce("Encoding and sorting the labels ...")
        spooled = FilesPlace(spool_files(paths, folder, read_options(options), threads=threads, **known), threads)
        needed = spooled.facts.n_workers * PER_WORKER
        if given is not None and needed > given:
            raise DataError(
                f"What is said of {counted(spooled.facts.n_workers, 'worker')} takes about {shown_size(needed)} of memory, "
                f"more than the {shown_size(given)} of --memory; give more."
            )
        yield spooled


@contextmanager
def in_spark(labels: tuple[str, ...], options: Options, estimator: Estimator, announce: Announce | None) -> Iterator[Place]:
    """Encode labels inside Spark."""
    from crowdassay.engines.spark.data import encode_frame
    from crowdassay.engines.spark.place import SparkPlace
    from crowdassay.engines.spark.session import is_local, open_session, spark_path
    from crowdassay.labels.ingest import as_parquet
    from crowdassay.labels.reader import read_whole
    from crowdassay.labels.workspace import workspace

    with ExitStack() as stack:
        asked = read_options(options)
        columns: Any = {role: asked.columns[role] for role in ("item", "worker", "label")}
        made: list[Path] = []
        whole = None
        if text := text_files(labels):  # before Spark starts, which takes a while: bad text is refused at once
            folder = stack.enter_context(workspace(options["temp_dir"]))
            made, columns = as_parquet(text, folder, asked)
            whole = partial(read_whole, text, asked) if asked.item_column is None else None
        if announce is not None:
            announce("Starting Spark ...")
        spark = open_session()
        spool = None if options["temp_dir"] is None else spark_path(spark, options["temp_dir"])
        if spool is not None and is_local(spark):  # what a crash leaves there the next run removes
            spool = str(stack.enter_context(workspace(spool)))
        if announce is not None:
            announce("Encoding the labels in Spark ...")
        data = encode_frame(
            own_frame(spark, made) if made else read_frame(spark, labels),
            columns=columns,
            classes=asked.classes,
            gold=options["gold"],
            truth=options["truth"],
            allow_drops=options["allow_drops"],
            worker_arrays=estimator.memory_tables[0],
            spool=spool,
            source=", ".join(labels),
            whole=whole,
        )
        yield stack.enter_context(closing(SparkPlace(data)))


def text_files(names: tuple[str, ...]) -> list[Path]:
    """Return the files of text that names on this machine stand for; none for Parquet, tables and what is elsewhere."""
    from crowdassay.labels.raw import find_inputs, kind_of

    local = [name for name in names if "://" not in name and (os.path.exists(name) or set(name) & set("*?["))]
    inputs = [] if len(local) < len(names) else find_inputs(local)
    kinds = {kind_of(path) in TEXT for path in inputs}
    if len(kinds) > 1:
        raise ParameterError("These files are of several kinds; give files of one kind, or a table.")
    if not inputs and any(kind_of(Path(name)) in TEXT for name in names if "://" in name):
        raise ParameterError("Text is read on this machine, by the same rules everywhere; give Spark a table, or Parquet.")
    return inputs if kinds == {True} else []


def own_frame(spark: Any, paths: list[Path]) -> Any:
    """Return a Spark frame of Parquet that our own reader made of text; where Spark is elsewhere, the files are sent there."""
    import pyarrow.parquet as pq

    from crowdassay.engines.spark.session import is_local
    from crowdassay.engines.spark.session import run as on_spark

    written = [str(path) for path in paths]
    if is_local(spark):
        return on_spark(lambda: spark.read.parquet(*written))
    return on_spark(lambda: spark.createDataFrame(pq.read_table(written).to_pandas()))


def read_frame(spark: Any, names: tuple[str, ...]) -> Any:
    """Read files, folders and patterns of Parquet; any other single name is a table of the catalog."""
    from crowdassay.engines.spark.session import run as on_spark
    from crowdassay.engines.spark.session import spark_path

    stems = {re.sub(r"\.(gz|bz2|zst)$", "", name) for name in names}
    kinds = {Path(stem).suffix.lower() for stem in stems}
    paths = [spark_path(spark, name) for name in names]
    if len(names) == 1 and ("`" in names[0] or not (kinds & {".parquet", *TEXT} or "/" in names[0])):
        return on_spark(lambda: spark.table(names[0]))
    if len(kinds) > 1:
        raise ParameterError("These files are of several kinds; give files of one kind, or a table.")
    return on_spark(lambda: spark.read.parquet(*paths))


def too_large(labels: tuple[str, ...], options: Options, estimator: Estimator) -> bool:
    """Return whether labels will not fit into memory and the method can do without; warn where it cannot."""
    from crowdassay.labels.raw import find_inputs
    from crowdassay.memory import available_memory, parse_size, shown_size

    given = options["memory"]
    room = available_memory() if given is None else parse_size(given)
    try:
        needed = sum(map(memory_needed, find_inputs(labels)))
    except (CrowdassayError, OSError):
        return False  # whoever reads them says what is wrong
    if room is None or needed <= room:
        return False
    if estimator.needs_memory() is None:
        return True
    if not options["quiet"]:
        click.echo(
            f"These labels may take {shown_size(needed)} of memory, and there are {shown_size(room)}; the methods assay, "
            "minimax, dawid-skene and majority need less, with --engine files.",
            err=True,
        )
    return False


def memory_needed(path: Path) -> float:
    """Estimate the bytes of memory that reading a file and a fit take, by its size and the length of its first lines."""
    from crowdassay.labels.raw import is_gzipped, opened

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
        start = stream.read(PROBED_BYTES)
    packed = 5 if is_gzipped(path) else 1  # ids pack well
    return size * packed * (PER_BYTE + PER_ROW * start.count(b"\n") / max(len(start), 1))
