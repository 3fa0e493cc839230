"""Reach Spark: a session of our own where there is none, and errors said in a sentence."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from crowdassay.errors import CrowdassayError, DataError, MissingExtraError
from crowdassay.labels.values import counted
from crowdassay.memory import available_memory, parse_size, shown_size

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

T = TypeVar("T")

URI = re.compile(r"^([a-zA-Z][\w+.-]+):/(?!/)")  # what a path makes of s3://bucket

COLLECTED = 3  # tables of the size workers x classes^2 that come to the driver in one job
CONNECT_BYTES = 100 * 10**6  # of one message to a Connect server, as it is set by default, less some room

SEND = (
    "install crowdassay on the executors, send a packed environment along (spark.archives) or set PYSPARK_PYTHON to a Python "
    "that has it."
)
CAUSES = (
    (r"No module named '?([\w.]+)'?", "The Python of Spark's executors has no module {0}; " + SEND),
    (r"(?i)pyarrow >= [\d.]+ must be installed", "The Python of Spark's executors has no PyArrow, or an old one; " + SEND),
    (
        r"PYTHON_VERSION_MISMATCH\W+(.*)",
        "Spark's executors run another version of Python than this program; set PYSPARK_PYTHON (and on Connect the server's).",
    ),
    (r'Cannot run program "([^"]*)"', "Spark's executors have no program {0}; set PYSPARK_PYTHON to their Python."),
    (
        r"maxResultSize",
        "The sums of a sweep are larger than the driver may collect; raise spark.driver.maxResultSize and spark.driver.memory.",
    ),
    (
        r"OutOfMemoryError|Java heap space|exit code 137|ExecutorLostFailure",
        "An executor was lost again and again, most likely for want of memory: give executors more "
        "(spark.executor.memory, spark.executor.memoryOverhead) or take more partitions.",
    ),
    (r"TABLE_OR_VIEW_NOT_FOUND\W+The table or view (`\S+`)", "Spark knows no table {0}; check its name and catalog."),
    (
        r"PATH_NOT_FOUND\W+(?:Path does not exist: )?(\S+)",
        "Spark finds no file {0}; the path must be one that executors reach.",
    ),
    (r"RESOURCE_EXHAUSTED|larger than max \(\d+", "A message to the Spark Connect server is too large for it; {limit}"),
)
# Much in a session runs some thousand times, which is not worth Java's best compiling: let it wait ten times as long. And let
# the heap be large at once, within what Spark allows it, or collecting garbage never rests.
JAVA = (
    "-XX:+IgnoreUnrecognizedVMOptions -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000 -XX:InitialRAMPercentage=10"
)
CONNECT_LIMIT = "raise spark.connect.grpc.maxInboundMessageSize on the server, or take a classic session."


def is_spark(data: object) -> bool:
    """Return whether something is a frame of Spark, classic or Connect, without importing Spark."""
    return any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql") for kind in type(data).__mro__)


def is_connect(spark: object) -> bool:
    """Return whether a session or a frame is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_local(spark: SparkSession) -> bool:
    """Return whether a session does all its work on this machine."""
    return not is_connect(spark) and str(spark.sparkContext.master).startswith("local")


def spark_path(spark: SparkSession, name: object) -> str:
    """Return a path as Spark takes it: whole where Spark is on this machine, otherwise as given."""
    text = URI.sub(r"\1://", str(name))
    return text if "://" in text or not is_local(spark) else os.path.abspath(text)


def quoted(name: str) -> str:
    """Return a column's name as Spark reads it.

    >>> quoted("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def open_session() -> SparkSession:
    """Return the session there is, or one as Spark's own settings say: a local one where they say nothing."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("The engine 'spark' needs PySpark; install it with: pip install 'crowdassay[spark]'") from None
    check_java()
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.caseSensitive": "true",
        # Through a port, what Spark and Python say to each other waits up to 40 ms for TCP at every job.
        "spark.python.unix.domain.socket.enabled": "true" if hasattr(socket, "AF_UNIX") else "false",
    }
    given = os.environ.get("SPARK_SUBMIT_OPTS")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{JAVA} {given or ''}"  # of two the last holds, so what is given does
    try:
        spark = run(lambda: SparkSession.builder.appName("crowdassay").config(map=settings).getOrCreate())
    finally:
        del os.environ["SPARK_SUBMIT_OPTS"]
        if given is not None:
            os.environ["SPARK_SUBMIT_OPTS"] = given
    use_this_python(spark)
    return spark


def check_java() -> None:
    """Refuse to start a session of our own where there is no Java, with what to install."""
    if not ("JAVA_HOME" in os.environ or "SPARK_REMOTE" in os.environ or shutil.which("java")):
        raise MissingExtraError(
            "Spark needs Java 17 or 21 and there is none; install one (Debian: apt install openjdk-17-jre-headless) or set "
            "JAVA_HOME, or reach a Spark elsewhere by SPARK_REMOTE."
        )


def use_this_python(spark: SparkSession) -> None:
    """In a local session, run executors by this very Python unless PYSPARK_PYTHON names another.

    Spark takes whatever ``python3`` is first on the path, which in a notebook is often not the one that runs.
    """
    if is_local(spark) and "PYSPARK_PYTHON" not in os.environ:
        spark.sparkContext.pythonExec = sys.executable


def name_classes(spark: SparkSession) -> None:
    """Import the classes of a plain job into Spark's gateway, which else looks for them in all jars at every job."""
    if not is_connect(spark):
        from py4j.java_gateway import java_import  # type: ignore[import-untyped]  # noqa: PLC0415  comes with Spark

        for name in ("PythonRDD", "PythonUtils", "SimplePythonFunction"):
            java_import(spark.sparkContext._jvm, f"org.apache.spark.api.python.{name}")


def remove_folder(spark: SparkSession, folder: str) -> None:
    """Remove a folder that Spark has written, wherever it lies; over Connect, if executors have it on a disk of theirs."""
    if is_connect(spark):
        run(lambda: spark.range(1).mapInArrow(partial(_remove, folder), "removed boolean").toArrow())
        return
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(folder)
    run(lambda: path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).delete(path, True))


def _remove(folder: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa  # noqa: PLC0415  on an executor

    for _ in batches:
        shutil.rmtree(folder.removeprefix("file:"), ignore_errors=True)
        yield pa.RecordBatch.from_pydict({"removed": [True]})


def run(job: Callable[[], T]) -> T:
    """Run something on Spark; what goes wrong is said in a sentence, with the remedy where one is known."""
    try:
        return job()
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise
        raise explain(str(error)) from error


def explain(text: str) -> CrowdassayError:
    """Return the error to raise for what Spark says."""
    for pattern, sentence in CAUSES:
        if match := re.search(pattern, text):
            return CrowdassayError(sentence.format(*(f"'{part.strip('`')}'" for part in match.groups()), limit=CONNECT_LIMIT))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reasons = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception): ", line)] or lines or ["no reason given"]
    return DataError(f"Spark gave up: {reasons[0][:300]}")


def check_driver(n_workers: int, n_classes: int, worker_arrays: float, spark: SparkSession) -> None:
    """Refuse before anything is fitted if the tables of the workers are too large for the driver."""
    table = 8 * n_workers * n_classes**2
    size = f"The tables of {counted(n_workers, 'worker')} and {counted(n_classes, 'class')} take {shown_size(table)}"
    remedy = "leave out workers of very few labels, or merge rare classes"
    free = available_memory()
    if free is not None and worker_arrays * table > free:
        raise DataError(
            f"{size} each, and the driver holds about {worker_arrays:.0f} of them, {shown_size(worker_arrays * table)}, "
            f"but has {shown_size(free)} free; take a driver with more memory or another method, {remedy}."
        )
    if is_connect(spark) and table > CONNECT_BYTES:
        raise DataError(f"{size}, and Spark Connect takes {shown_size(CONNECT_BYTES)}; take a classic session, or {remedy}.")
    most = spark.conf.get("spark.driver.maxResultSize", "1g")
    allowed = parse_size(most.strip().upper().rstrip("B") + "iB") if most.strip()[-1].isalpha() else int(most)
    if allowed and COLLECTED * table > 0.8 * allowed:
        raise DataError(
            f"{size} each, of which {COLLECTED} come at a time, and Spark's driver collects at most {shown_size(allowed)}; "
            f"raise spark.driver.maxResultSize and spark.driver.memory, or {remedy}."
        )
