"""`crowdassay aggregate --engine spark`: labels in Spark, tables written by its executors."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdassay.cli.engines import Job

if TYPE_CHECKING:
    from crowdassay.estimators.from_spark import SparkResult

READERS = {".csv": ",", ".tsv": "\t"}
URI = re.compile(r"^([a-zA-Z][\w+.-]+):/(?!/)")  # what a path makes of s3://bucket


def run(job: Job) -> int:
    """Fit labels in Spark, let executors write the tables, and print the summary."""
    from crowdassay.cli import large
    from crowdassay.cli.aggregate import show_more
    from crowdassay.cli.progress import progress_line
    from crowdassay.cli.reading import class_list
    from crowdassay.cli.summary import tell
    from crowdassay.engines.spark_session import is_local, open_session
    from crowdassay.estimators.from_spark import fit_frame
    from crowdassay.io.workspace import workspace

    options = job.options
    large.check(options, "spark")
    job.estimator.check_solves()
    with ExitStack() as stack:
        progress, announce = stack.enter_context(progress_line(quiet=options["quiet"] or options["as_json"]))
        if announce is not None:
            announce("Starting Spark ...")
        spark = open_session()
        spool = None if options["temp_dir"] is None else place(spark, options["temp_dir"])
        if spool is not None and is_local(spark):  # what a crash leaves there the next run removes
            spool = str(stack.enter_context(workspace(spool)))
        found = fit_frame(
            job.estimator,
            read_frame(spark, job.labels),
            progress=progress,
            announce=announce,
            columns={role: options[f"{role}_column"] for role in ("item", "worker", "label")},
            classes=class_list(options["classes"]),
            gold=options["gold"],
            truth=options["truth"],
            allow_drops=options["allow_drops"],
            spool=spool,
            source=", ".join(job.labels),
        )
        stack.enter_context(closing(found))
        summary = {**large.summarise(found, job), "engine": "spark"}  # type: ignore[arg-type]  # alike in all it reads
        if options["out"] is not None:
            write(found, summary, place(spark, options["out"]), options["form"], raw=options["raw"])
    show_more(found.result, found.against if found.labels.truth else None, options)
    tell(partial(large.print_summary, found), summary, options)  # type: ignore[arg-type]
    return int(options["strict"] and not found.converged)


def read_frame(spark: Any, names: tuple[str, ...]) -> Any:
    """Read files, folders and patterns of Parquet, CSV, TSV or JSON lines; any other single name is a table of the catalog."""
    from crowdassay.engines.spark_session import run as on_spark
    from crowdassay.errors import ParameterError

    stems = {re.sub(r"\.(gz|bz2|zst)$", "", name) for name in names}
    kinds = {Path(stem).suffix.lower() for stem in stems}
    paths = [place(spark, name) for name in names]
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


def place(spark: Any, name: str | Path) -> str:
    """Return a path as Spark takes it: whole where Spark is on this machine, otherwise as given."""
    from crowdassay.engines.spark_session import is_local

    text = URI.sub(r"\1://", str(name))
    return text if "://" in text or not is_local(spark) else str(Path(text).absolute())


def write(found: SparkResult, summary: dict[str, Any], folder: str, form: str, *, raw: bool) -> None:
    """Let executors write the tables, each a folder of parts as Spark has it, and the summary last."""
    from crowdassay.engines.spark_session import is_local
    from crowdassay.engines.spark_session import run as on_spark
    from crowdassay.io.write import write_json

    tables = (found.labels_table, found.posterior_table, found.workers_table, found.items_table)
    for name, table in zip(("labels", "posterior", "workers", "items"), tables, strict=True):
        frame = table()
        frame = without_formulas(frame) if form == "csv" and not raw else frame
        writer = frame.write.format(form).mode("overwrite").options(header="true", escape='"')
        on_spark(partial(writer.save, f"{folder}/{name}.{form}"))
    spark = found.labels.blocks.sparkSession
    if is_local(spark):
        write_json(summary, Path(folder) / "summary.json")
    else:
        text = spark.createDataFrame([(json.dumps(summary, ensure_ascii=False),)], "value string").coalesce(1)
        on_spark(lambda: text.write.mode("overwrite").text(f"{folder}/summary.json"))


def without_formulas(frame: Any) -> Any:
    """Put an apostrophe before cells that a spreadsheet would run, as `crowdassay.io.write` does."""
    from crowdassay.io.write import FORMULA, NUMBER

    def cell(field: Any) -> str:
        name = f"`{field.name.replace('`', '``')}`"
        if field.dataType.simpleString() != "string":
            return name
        risky = f"{name} rlike r'{FORMULA}' and not {name} rlike r'{NUMBER}'"
        return f'case when {risky} then concat("\'", {name}) else {name} end as {name}'

    return frame.selectExpr(*map(cell, frame.schema.fields))
