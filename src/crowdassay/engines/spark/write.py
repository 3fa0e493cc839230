"""Tables that Spark's executors write, each a folder of parts as Spark has it; all appear at once."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.engines.spark.session import is_connect, is_local, quoted, run, spark_path
from crowdassay.errors import FileError
from crowdassay.labels.folder import RESULT_FILES, SUMMARY
from crowdassay.labels.write import FORMULA, PLAIN_NUMBER, write_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField


def write_tables(frames: dict[str, DataFrame], summary: dict[str, Any], folder: str, form: str, *, raw: bool) -> None:
    """Write frames and the summary to a folder: to one beside it first, which then takes its place.

    Spark Connect has nothing that moves files. There, tables are written where they belong, the summary emptied first and
    written last: a folder with an empty summary is incomplete.
    """
    spark = next(iter(frames.values())).sparkSession
    folder = spark_path(spark, folder)
    fresh = folder if is_connect(spark) else f"{folder.rstrip('/')}.{secrets.token_hex(8)}.crowdassay-tmp"
    try:
        if fresh == folder:
            write_text(spark, [], f"{folder}/{SUMMARY}")
        for name, frame in frames.items():
            safe = without_formulas(frame) if form == "csv" and not raw else frame
            writer = safe.write.format(form).mode("overwrite").options(header="true", escape='"')
            run(partial(writer.save, f"{fresh}/{name}.{form}"))
        if is_local(spark):
            write_json(summary, Path(fresh) / SUMMARY)
        else:
            write_text(spark, [json.dumps(summary, ensure_ascii=False)], f"{fresh}/{SUMMARY}")
        if fresh != folder:
            move(spark, fresh, folder)
    finally:
        if is_local(spark):
            shutil.rmtree(fresh, ignore_errors=True)


def write_text(spark: SparkSession, lines: list[str], path: str) -> None:
    """Write a few lines by Spark, as a folder of one part."""
    frame = spark.createDataFrame([(line,) for line in lines], "value string").coalesce(1)
    run(lambda: frame.write.mode("overwrite").text(path))


def move(spark: SparkSession, fresh: str, folder: str) -> None:
    """Replace a folder by another; an old result steps aside until the new one is there."""
    if is_local(spark):
        aside = f"{fresh}.old"
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name not in RESULT_FILES:  # what is not ours is carried over
                os.rename(f"{folder}/{name}", f"{fresh}/{name}")
        if os.path.isdir(folder):
            os.rename(folder, aside)
        os.rename(fresh, folder)
        shutil.rmtree(aside, ignore_errors=True)
        return
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path
    system = path(folder).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    run(lambda: system.delete(path(folder), True))
    if not run(lambda: system.rename(path(fresh), path(folder))):
        raise FileError(f"The tables are in '{fresh}' and could not be moved to '{folder}'; move them by hand.")


def without_formula(name: str) -> str:
    """Return a header's cell so that no spreadsheet runs it.

    >>> without_formula("=1+1"), without_formula("-1"), without_formula("cat")
    ("'=1+1", '-1', 'cat')
    """
    risky, plain = (pc.match_substring_regex(pa.scalar(name), pattern).as_py() for pattern in (FORMULA, PLAIN_NUMBER))
    return f"'{name}" if risky and not plain else name


def without_formulas(frame: DataFrame) -> DataFrame:
    """Write an apostrophe before names and cells that a spreadsheet would run, as `crowdassay.labels.write` does."""

    def cell(field: StructField) -> str:
        name, shown = quoted(field.name), quoted(without_formula(field.name))
        if field.dataType.simpleString() != "string":
            return f"{name} as {shown}"
        risky = f"{name} rlike r'{FORMULA}' and not {name} rlike r'{PLAIN_NUMBER}'"
        return f'case when {risky} then concat("\'", {name}) else {name} end as {shown}'

    return frame.selectExpr(*map(cell, frame.schema.fields))
