"""Where labels are held: in memory, in files, on a graphics card or in Spark. All else is the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.reading import class_list, read_many

if TYPE_CHECKING:
    from crowdassay.holders.base import Holder

OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "local", "files", "gpu", "spark"]),
        default="auto",
        show_default=True,
        help="Where the labels are during the fit; auto is memory, or files where memory will not do.",
    ),
    click.option("--memory", help="Memory to use at most, about, such as 1GB; --engine files keeps to it."),
    click.option("--temp-dir", type=click.Path(path_type=Path), help="--engine files: folder for temporary files."),
)
# What needs all labels in memory, and the values that do not ask for it.
IN_MEMORY = {
    "time_column": None, "weight_column": None, "skip_bad": False, "question": None, "predictions": False, "use_gold": False,
    "save_model": None, "validation": None,
}  # fmt: skip
# What Spark cannot do with labels that have no order.
ORDERED = {"repeats": "keep", "missing": (), "pseudonymise": False}
SHARE = 0.5  # of the free memory that is used where none is given
PER_BYTE, PER_ROW = 2.5, 90  # bytes of memory that reading and a fit take, for each of text and for each label
SAMPLE = 1 << 20
READERS = {".csv": ",", ".tsv": "\t"}

Announce = Callable[[str], None]


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where a fit runs."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@contextmanager
def holding(labels: tuple[str, ...], options: dict[str, Any], estimator: Any, announce: Announce | None) -> Iterator[Holder]:
    """Read LABELS into the place that the options name, and hold them until the tables are written."""
    name = options["engine"]
    if name == "auto":
        name = "files" if too_large(labels, options, estimator) else "local"
    check(name, options, estimator)
    hold = {"local": in_memory, "gpu": in_memory, "files": in_files, "spark": in_spark}[name]
    with hold(labels, {**options, "engine": name}, estimator, announce) as holder:
        yield holder


def check(name: str, options: dict[str, Any], estimator: Any) -> None:
    """Refuse, before anything is read, what an engine cannot do: the same words for the same thing."""
    from crowdassay.errors import ParameterError

    if name == "local":
        return
    if reason := estimator.needs_memory():
        raise ParameterError(f"{reason}; take --engine local.")
    if name == "gpu":
        return
    limits = {**IN_MEMORY, **(ORDERED if name == "spark" else {})}
    for option, unset in limits.items():
        if options.get(option, unset) != unset:
            what = "an order of the labels, which Spark has not" if option in ORDERED else "all labels in memory"
            raise ParameterError(f"--{option.replace('_', '-')} needs {what}; leave it out, or take --engine local.")
    if options["tool"] not in {None, "plain"}:
        raise ParameterError("Other engines than local and gpu read plain tables; make one first: crowdassay convert.")


@contextmanager
def in_memory(labels: tuple[str, ...], options: dict[str, Any], estimator: Any, announce: Announce | None) -> Iterator[Holder]:
    """Read labels into memory, for the processor or for a graphics card."""
    from crowdassay.cli.progress import working
    from crowdassay.holders.card import Card
    from crowdassay.holders.memory import Memory
    from crowdassay.io.truth import match_truth, take_gold

    with working("Reading ...", quiet=options["quiet"]):
        data = read_many(labels, options)
    truth = None if options["truth"] is None else match_truth(data, options["truth"], what="truth")
    if options["gold"] is not None:
        data = take_gold(data, options["gold"])
    codes, counts = (None, None) if truth is None else truth
    yield (Card if options["engine"] == "gpu" else Memory)(data, codes, counts, options["threads"])


@contextmanager
def in_files(labels: tuple[str, ...], options: dict[str, Any], estimator: Any, announce: Announce | None) -> Iterator[Holder]:
    """Encode labels into a spool on disk."""
    from crowdassay.holders.spool import Spooled
    from crowdassay.io.ingest import Reading, spool_files
    from crowdassay.io.ingest_source import find_inputs
    from crowdassay.io.workspace import workspace
    from crowdassay.threads import available_cores

    names = ("repeats", "allow_drops", "missing", "pseudonymise", "salt", "gold", "truth")
    columns = {role: options[f"{role}_column"] for role in ("item", "worker", "label")}
    reading = Reading(columns, class_list(options["classes"]), **{name: options[name] for name in names})
    threads = options["threads"] or available_cores()
    paths = find_inputs(labels)
    with workspace(options["temp_dir"]) as folder:
        if announce is not None:
            announce("Encoding and sorting the labels ...")
        yield Spooled(spool_files(paths, folder, reading, memory=memory_of(options), threads=threads), threads)


@contextmanager
def in_spark(labels: tuple[str, ...], options: dict[str, Any], estimator: Any, announce: Announce | None) -> Iterator[Holder]:
    """Encode labels inside Spark."""
    from contextlib import ExitStack, closing

    from crowdassay.engines.spark_data import encode_frame
    from crowdassay.engines.spark_session import is_local, open_session, spark_path
    from crowdassay.holders.spark import Spark
    from crowdassay.io.workspace import workspace

    with ExitStack() as stack:
        if announce is not None:
            announce("Starting Spark ...")
        spark = open_session()
        spool = None if options["temp_dir"] is None else spark_path(spark, options["temp_dir"])
        if spool is not None and is_local(spark):  # what a crash leaves there the next run removes
            spool = str(stack.enter_context(workspace(spool)))
        if announce is not None:
            announce("Encoding the labels in Spark ...")
        data = encode_frame(
            read_frame(spark, labels),
            columns={role: options[f"{role}_column"] for role in ("item", "worker", "label")},
            classes=class_list(options["classes"]),
            gold=options["gold"],
            truth=options["truth"],
            allow_drops=options["allow_drops"],
            tables=estimator.memory_tables[0],
            spool=spool,
            source=", ".join(labels),
        )
        yield stack.enter_context(closing(Spark(data)))


def read_frame(spark: Any, names: tuple[str, ...]) -> Any:
    """Read files, folders and patterns of Parquet, CSV, TSV or JSON lines; any other single name is a table of the catalog."""
    from crowdassay.engines.spark_session import run as on_spark
    from crowdassay.engines.spark_session import spark_path
    from crowdassay.errors import ParameterError

    stems = {re.sub(r"\.(gz|bz2|zst)$", "", name) for name in names}
    kinds = {Path(stem).suffix.lower() for stem in stems}
    paths = [spark_path(spark, name) for name in names]
    if len(names) == 1 and ("`" in names[0] or not (kinds & {".parquet", ".json", ".jsonl", *READERS} or "/" in names[0])):
        return on_spark(lambda: spark.table(names[0]))
    if len(kinds) > 1:
        raise ParameterError("These files are of several kinds; give files of one kind, or a table.")
    kind = kinds.pop()
    if kind in READERS:
        quoting = {"header": "true", "sep": READERS[kind], "quote": '"', "escape": '"'}
        return on_spark(lambda: spark.read.options(**quoting).csv(paths))
    if kind in {".json", ".jsonl"}:
        return on_spark(lambda: spark.read.options(primitivesAsString="true").json(paths))
    return on_spark(lambda: spark.read.parquet(*paths))


def memory_of(options: dict[str, Any]) -> int:
    """Return the memory to use: as given, else half of what is free."""
    from crowdassay.memory import available_memory, parse_size

    if options["memory"] is not None:
        return parse_size(options["memory"])
    return int(SHARE * (available_memory() or 4e9))


def too_large(labels: tuple[str, ...], options: dict[str, Any], estimator: Any) -> bool:
    """Tell whether labels will not fit into memory while the method could do without; say so where it could not."""
    from crowdassay.errors import CrowdassayError
    from crowdassay.io.ingest_source import find_inputs
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
