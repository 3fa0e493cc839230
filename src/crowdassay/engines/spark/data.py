"""Encode a Spark frame of labels inside Spark: nothing of the size of the items reaches the driver."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.engines.spark.copies import Forget
from crowdassay.engines.spark.gold import attach, attach_known
from crowdassay.engines.spark.session import check_driver, is_local, name_classes, remove_folder, run, use_this_python
from crowdassay.engines.spark.tasks import BLOCK_SCHEMA, Pack
from crowdassay.errors import CrowdassayError, DataError
from crowdassay.labels.cells import (
    COMPLETE,
    MISSING_COUNTS,
    SPARK,
    SPARK_FLOAT_TEXT,
    SPARK_FROM_WHOLE,
    SPARK_WHOLE,
    blank_as_null,
    missing_rows,
    not_one_value,
)
from crowdassay.labels.classes import arrange_classes, class_order, many_classes
from crowdassay.labels.columns import find_columns
from crowdassay.labels.facts import Vocabularies
from crowdassay.labels.report import MAX_CLASSES, ImportReport, check_dropped, gold_notes, similar_workers, too_many_classes
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.values import is_text

PARTITION_LABELS = 2_000_000  # what a task should have to do, so that starting it does not matter
WORKERS_LISTED = 100_000  # that are listed without counting them first
FEWEST_PARTITION_LABELS = 50_000  # below this a task costs more than it saves
BY_LABEL = (
    f"select label, count_if({COMPLETE}) as kept, {MISSING_COUNTS}, "  # noqa: S608  our own words only
    "count_if(instr(concat_ws('', cast(item as string), cast(worker as string), cast(label as string)), char(0)) > 0) as nul "
    "from {labels} group by label order by label"
)


@dataclass(frozen=True, eq=False)
class SparkLabels(Vocabularies):
    """Labels as blocks of codes in Spark; all that is said of them, `crowdassay.labels.facts.Facts`, is on the driver.

    Attributes
    ----------
    blocks : Spark DataFrame
        A row for every block of items; the columns are `crowdassay.engines.spark.tasks.BLOCK_SCHEMA`.
    n_items, n_labels, n_gold, n_partitions : int
    longest : int
        Number of labels of the item that has most.
    workers, classes : pyarrow.Array
        Vocabularies, the workers in ascending order.
    worker_counts : ndarray of shape (n_workers,)
    class_counts : ndarray of shape (n_classes,)
        Number of labels of each class, and of items known to have it.
    item_type, label_type : str
        What Spark calls the types of items and classes.
    report : ImportReport
    truth : dict, optional
        Where there is a truth: how many of its items have labels, and how many have none.
    folder : str, optional
        Where the blocks lie, if that is a folder of ours.
    copies : set of str
        Places that have left copies of the blocks on executors' disks.
    """

    blocks: Any
    n_items: int
    n_labels: int
    n_gold: int
    longest: int
    n_partitions: int
    workers: pa.Array
    classes: pa.Array
    worker_counts: IntArray
    class_counts: IntArray
    item_type: str
    label_type: str
    report: ImportReport
    truth: dict[str, int] | None = None
    folder: str | None = None
    copies: set[str] = field(default_factory=set)
    frame: ClassVar[str] = "spark"

    def close(self) -> None:
        """Drop the blocks from Spark's cache, and remove their folder and copies."""
        with suppress(CrowdassayError):  # the end of the session removes copies too
            for token in self.copies:
                run(self.blocks.select("block").mapInArrow(Forget(token), "block bigint").toArrow)
        forget(self.blocks, self.folder)


def encode_frame(
    frame: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    classes: Iterable[Any] | None = None,
    gold: Any = None,
    truth: Any = None,
    allow_drops: bool = False,
    partitions: int | None = None,
    spool: str | None = None,
    worker_arrays: float = 66.0,
    source: str = "Spark frame",
) -> SparkLabels:
    """Encode a frame with one row for each label.

    Rows without item, worker or label are dropped and counted, as everywhere. Items are dealt to partitions by their hash
    and sorted, so that a partition that is lost is made again exactly as it was.

    Parameters
    ----------
    frame : Spark DataFrame, of a classic or a Connect session
    columns : mapping, optional
        Names of the columns by role: item, worker, label; found by their names otherwise.
    classes : iterable, optional
        All classes in order.
    gold : Spark frame, or whatever `crowdassay.labels.truth.match_truth` takes, optional
        Items whose class is known.
    truth : likewise, optional
        What to score against.
    allow_drops : bool
        Go on even if more than half of the rows miss a value.
    partitions : int, optional
        By default one for every two million labels, or more where Spark has more cores, or is set to shuffle into more.
    spool : str, optional
        A folder that driver and executors reach. The blocks are written there as Parquet and read back, which cuts their
        history, and stay there until `SparkLabels.close`; without, Spark keeps them in memory and on local disks.
    worker_arrays : float
        How many arrays of the size workers x classes^2 the driver holds at a time, as `Estimator.memory_tables` says.
    source : str
        What to call the frame.
    """
    spark = frame.sparkSession
    use_this_python(spark)
    name_classes(spark)
    plain, names = plain_columns(frame, columns or {})
    values, counts, dropped = count_labels(plain, spark)
    rows_read = int(counts.sum()) + sum(dropped.values())
    notes = check_dropped(rows_read, dropped, source, allow=allow_drops)
    class_values, class_of, class_notes = arrange_classes(values, counts, classes)
    if len(class_values) > MAX_CLASSES:
        raise too_many_classes("many")
    schema = {field.name: field.dataType.simpleString() for field in plain.schema.fields}
    kept = plain.filter(COMPLETE)
    workers, worker_counts = list_workers(kept, len(class_values), worker_arrays)
    notes += [*class_notes, *similar_workers(workers), *many_classes(class_values, given=classes is not None)]
    n_labels = int(worker_counts.sum())
    n_partitions = partitions or default_partitions(n_labels, slots(spark))
    coded = attach(attach(kept, "worker", workers, np.arange(len(workers))), "label", values, class_of)
    class_counts = np.bincount(class_of, counts, len(class_values)).astype(np.int64)
    coded, matched, gold_counts = attach_known(coded, kept, class_values, {"gold": gold, "truth": truth})
    notes += gold_notes(matched["gold"]) if "gold" in matched else []
    coded = coded.select(*ITEM_WORKER_LABEL, "gold", "truth")
    dealt = coded.repartition(n_partitions, "item").sortWithinPartitions("item", "worker", "label")
    packed = dealt.mapInArrow(Pack(), BLOCK_SCHEMA)
    folder = None if spool is None else f"{spool.rstrip('/')}/crowdassay-{uuid.uuid4().hex}"
    blocks, sizes = keep(packed, folder)
    report = ImportReport(
        source=source,
        columns=names,
        rows_read=rows_read,
        rows_kept=n_labels,
        dropped=dropped,
        notes=tuple(notes),
        order=class_order(class_values, given=classes is not None),
    )
    return SparkLabels(
        blocks=blocks,
        n_items=int(np.sum(sizes["n_items"])),
        n_labels=n_labels,
        n_gold=int(np.sum(sizes["n_gold"])),
        longest=int(np.max(sizes["longest"])),
        n_partitions=n_partitions,
        workers=workers,
        classes=class_values,
        worker_counts=worker_counts,
        class_counts=class_counts + gold_counts,
        item_type=schema["item"],
        label_type="string" if is_text(class_values.type) else schema["label"],
        report=report,
        truth=matched.get("truth"),
        folder=folder,
    )


def keep(blocks: Any, folder: str | None) -> tuple[Any, pa.Table]:
    """Keep the blocks where executors find them at every sweep, in memory and on their disks or in a folder; return sizes."""
    try:
        if folder is None:
            blocks = blocks.persist()
        else:
            run(lambda: blocks.write.parquet(folder))
            blocks = blocks.sparkSession.read.parquet(folder)
        return blocks, run(lambda: blocks.select("n_items", "n_labels", "n_gold", "longest").toArrow())
    except BaseException:
        forget(blocks, folder)
        raise


def forget(blocks: Any, folder: str | None) -> None:
    """Drop the blocks from Spark's cache, and remove their folder."""
    if folder is None:
        blocks.unpersist()
    else:
        remove_folder(blocks.sparkSession, folder)


def plain_columns(frame: Any, given: Mapping[str, str | None]) -> tuple[Any, dict[str, str]]:
    """Select item, worker and label, blank texts as null and floating-point numbers as `code_column` has them."""
    schema = run(lambda: frame.schema)
    names = find_columns([field.name for field in schema.fields], ITEM_WORKER_LABEL, given)
    kinds = {role: schema[name].dataType.simpleString() for role, name in names.items()}
    for role, kind in kinds.items():
        if kind.startswith(("array", "map", "struct", "variant")):
            raise not_one_value(role, kind)
    quoted = {role: f"`{name.replace('`', '``')}`" for role, name in names.items()}
    floats = [role for role, kind in kinds.items() if kind in {"float", "double"}]
    whole = dict.fromkeys(floats, True)
    if floats:
        tests = [f"bool_and({SPARK_WHOLE.format(quoted[role])}) as {role}" for role in floats]
        whole = run(lambda: frame.selectExpr(*tests).toArrow()).to_pylist()[0]

    def column(role: str) -> str:
        name, kind = quoted[role], kinds[role]
        if role in floats:
            written = SPARK_FROM_WHOLE if whole[role] in {True, None} else SPARK_FLOAT_TEXT
            return f"{written.format(name)} as {role}"
        if kind == "binary":
            name, kind = f"cast({name} as string)", "string"
        text = kind.startswith(("string", "varchar", "char"))
        return f"{blank_as_null(name, SPARK) if text else name} as {role}"

    return frame.selectExpr(*map(column, ITEM_WORKER_LABEL)), names


def count_labels(plain: Any, spark: Any) -> tuple[pa.Array, IntArray, dict[str, int]]:
    """Return the different labels, how often each occurs, and how many rows miss a value, in one pass."""
    table = run(lambda: spark.sql(BY_LABEL, labels=plain).limit(MAX_CLASSES + 2).toArrow()).combine_chunks()
    if nul := pc.sum(table["nul"]).as_py():
        raise DataError(f"An item, worker or label holds a NUL character ({nul:,} rows); remove it.")
    dropped = missing_rows({name: pc.sum(table[name]).as_py() or 0 for name in ("no_item", "no_worker", "no_label")})
    table = table.filter(pc.greater(table["kept"], 0))
    return _array(table["label"]), table["kept"].to_numpy(), dropped


def list_workers(kept: Any, n_classes: int, worker_arrays: float) -> tuple[pa.Array, IntArray]:
    """Return the workers in ascending order and how many labels each gave, or say that their tables are too large."""
    workers = kept.groupBy("worker").count()
    table = run(workers.limit(WORKERS_LISTED + 1).toArrow)
    if len(table) > WORKERS_LISTED:
        check_driver(run(workers.count), n_classes, worker_arrays, kept.sparkSession)
        table = run(workers.toArrow)
    else:
        check_driver(len(table), n_classes, worker_arrays, kept.sparkSession)
    table = table.sort_by("worker")
    return _array(table["worker"]), table["count"].to_numpy().astype(np.int64)


def slots(spark: Any) -> int:
    """Return as many parts as keep all cores busy: this machine's cores, elsewhere what Spark shuffles into."""
    return int(spark.sparkContext.defaultParallelism if is_local(spark) else spark.conf.get("spark.sql.shuffle.partitions"))


def default_partitions(n_labels: int, shuffles: int) -> int:
    """Return how many partitions serve: as many as keep all cores busy, but tasks neither tiny nor huge.

    >>> default_partitions(10_000, 200), default_partitions(10**7, 200), default_partitions(10**10, 200)
    (1, 200, 5000)
    """
    return max(1, min(shuffles, n_labels // FEWEST_PARTITION_LABELS), -(-n_labels // PARTITION_LABELS))


def _array(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks() if column.num_chunks else pa.array([], column.type)
    return array.cast(pa.string()) if is_text(array.type) else array
