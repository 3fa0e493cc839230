"""Encode a Spark frame of labels inside Spark: nothing of the size of the items reaches the driver."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.engines.spark.session import (
    check_driver,
    is_local,
    is_spark,
    name_classes,
    quoted,
    remove_folder,
    run,
    use_this_python,
)
from crowdassay.engines.spark.tasks import BLOCK_SCHEMA, Forget, Pack
from crowdassay.errors import ColumnError, CrowdassayError, DataError
from crowdassay.labels.cells import (
    COMPLETE,
    MISSING_COUNTS,
    SPARK_BLANK,
    SPARK_FLOAT_TEXT,
    SPARK_FROM_WHOLE,
    SPARK_WHOLE,
    blank_as_null,
    infinite,
    join_sql,
    missing_rows,
    not_one_value,
)
from crowdassay.labels.classes import arrange_classes, class_order, many_classes
from crowdassay.labels.columns import find_columns, item_parts, join_parts, several_parts
from crowdassay.labels.expert_sheet import ExpertSheet, sheet_notes
from crowdassay.labels.labels import Vocabularies
from crowdassay.labels.report import MAX_CLASSES, ImportReport, check_dropped, gold_notes, similar_names, too_many_classes
from crowdassay.labels.roles import ITEM_WORKER_LABEL, TRUTH_ROLES
from crowdassay.labels.telling import ROWS_TRIED, WholeTable, check_repeats
from crowdassay.labels.truth import as_in_labels, meanings, no_class, none_matched, nothing_known, truth_columns, two_labels
from crowdassay.labels.values import counted, is_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION_LABELS = 2_000_000  # what a task should have to do, so that starting it does not matter
WORKERS_LISTED = 100_000  # that are listed without counting them first
BROADCAST_ROWS = 1_000_000  # codes up to which every executor gets all of them, instead of labels being shuffled to codes
FEWEST_PARTITION_LABELS = 50_000  # below this a task costs more than it saves
NESTED = ("array", "map", "struct", "variant")  # types of columns that hold no single values
BY_LABEL = (
    f"select label, count_if({COMPLETE}) as kept, {MISSING_COUNTS}, "  # noqa: S608  our own words only
    "count_if(instr(concat_ws('', cast(item as string), cast(worker as string), cast(label as string)), char(0)) > 0) as nul "
    "from {labels} group by label order by label"
)


@dataclass(frozen=True, eq=False)
class SparkLabels(Vocabularies):
    """Labels as blocks of codes in Spark; all that is said of them, `crowdassay.labels.labels.Facts`, is on the driver.

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

    blocks: DataFrame
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
    frame: DataFrame,
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
    whole: WholeTable | None = None,
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
    whole : callable, optional
        Reads all columns of what the frame was made from, where its columns were guessed from more than the frame holds.
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
    notes += [*class_notes, *similar_names(workers), *many_classes(class_values, int(counts.sum()), given=classes is not None)]
    n_labels = int(worker_counts.sum())
    n_partitions = partitions or default_partitions(n_labels, slots(spark))
    coded = attach(attach(kept, "worker", workers, np.arange(len(workers))), "label", values, class_of)
    class_counts = np.bincount(class_of, counts, len(class_values)).astype(np.int64)
    coded, matched, gold_counts = attach_known(coded, kept, class_values, {"gold": gold, "truth": truth}, names["item"])
    told = matched.get("gold", {})
    notes += [*sheet_notes(sheet_in(gold, names["item"])), *(gold_notes(told) if told else [])]
    coded = coded.select(*ITEM_WORKER_LABEL, "gold", "truth")
    dealt = coded.repartition(n_partitions, "item").sortWithinPartitions("item", "worker", "label")
    packed = dealt.mapInArrow(Pack(), BLOCK_SCHEMA)
    folder = None if spool is None else f"{spool.rstrip('/')}/crowdassay-{uuid.uuid4().hex}"
    blocks, sizes = keep(packed, folder)

    def some_rows() -> pa.Table:
        single = [field.name for field in frame.schema.fields if not field.dataType.simpleString().startswith(NESTED)]
        return run(lambda: frame.select(*map(quoted, single)).limit(ROWS_TRIED).toArrow())

    if whole is not None or not (columns or {}).get("item"):
        try:
            repeats = int(np.sum(sizes["n_repeats"]))
            notes[:0] = check_repeats(repeats, n_labels, names, whole or some_rows)
        except ColumnError:
            forget(blocks, folder)
            raise
    report = ImportReport(
        source=source,
        columns=names,
        rows_read=rows_read,
        rows_kept=n_labels,
        dropped=dropped,
        notes=tuple(notes),
        drawn=told.get("drawn", 0),
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


def keep(blocks: DataFrame, folder: str | None) -> tuple[DataFrame, pa.Table]:
    """Keep the blocks where executors find them at every sweep, in memory and on their disks or in a folder; return sizes."""
    try:
        if folder is None:
            blocks = blocks.persist()
        else:
            run(lambda: blocks.write.parquet(folder))
            blocks = blocks.sparkSession.read.parquet(folder)
        return blocks, run(lambda: blocks.select("n_items", "n_repeats", "n_gold", "longest").toArrow())
    except BaseException:
        forget(blocks, folder)
        raise


def forget(blocks: DataFrame, folder: str | None) -> None:
    """Drop the blocks from Spark's cache, and remove their folder."""
    if folder is None:
        blocks.unpersist()
    else:
        remove_folder(blocks.sparkSession, folder)


def plain_columns(frame: DataFrame, given: Mapping[str, str | None]) -> tuple[DataFrame, dict[str, str]]:
    """Select item, worker and label, blank texts as null and floating-point numbers as `code_column` has them."""
    schema = run(lambda: frame.schema)
    names = find_columns([field.name for field in schema.fields], ITEM_WORKER_LABEL, given)
    parts = {role: [_part(names[part], schema) for part in own] for role, own in several_parts(names).items()}
    names = join_parts(names)
    kinds = {role: "joined" if role in parts else _kind(name, schema) for role, name in names.items()}
    for role, kind in kinds.items():
        if kind.startswith(NESTED):
            raise not_one_value(role, kind)
    column_of = {role: quoted(name) for role, name in names.items()}
    floats = [role for role, kind in kinds.items() if kind in {"float", "double"}]
    whole = dict.fromkeys(floats, True)
    if floats:
        tests = [f"bool_and({SPARK_WHOLE.format(column_of[role])}) as {role}" for role in floats]
        tests += [f"bool_or(abs({column_of[role]}) = double('infinity')) as infinite_{role}" for role in floats]
        whole = run(lambda: frame.selectExpr(*tests).toArrow()).to_pylist()[0]
        for role in floats:
            if whole[f"infinite_{role}"]:
                raise infinite(role)

    def column(role: str) -> str:
        name, kind = column_of[role], kinds[role]
        if kind == "joined":
            return f"{join_sql(parts[role])} as {role}"
        if role in floats:
            written = SPARK_FROM_WHOLE if whole[role] in {True, None} else SPARK_FLOAT_TEXT
            return f"{written.format(name)} as {role}"
        if kind == "binary":
            name, kind = f"cast({name} as string)", "string"
        text = kind.startswith(("string", "varchar", "char"))
        return f"{blank_as_null(name, SPARK_BLANK) if text else name} as {role}"

    return frame.selectExpr(*map(column, ITEM_WORKER_LABEL)), names


def _kind(name: str, schema: Any) -> str:
    return str(schema[name].dataType.simpleString())


def _part(name: str, schema: Any) -> str:
    """Return one of the columns that make the item as text, blank cells as null."""
    kind = _kind(name, schema)
    if kind.startswith(NESTED):
        raise not_one_value("item", kind)
    text = SPARK_FLOAT_TEXT.format(quoted(name)) if kind in {"float", "double"} else f"cast({quoted(name)} as string)"
    return blank_as_null(f"({text})", SPARK_BLANK)


def count_labels(plain: DataFrame, spark: SparkSession) -> tuple[pa.Array, IntArray, dict[str, int]]:
    """Return the different labels, how often each occurs, and how many rows miss a value, in one pass."""
    table = run(lambda: spark.sql(BY_LABEL, labels=plain).limit(MAX_CLASSES + 2).toArrow()).combine_chunks()
    if nul := pc.sum(table["nul"]).as_py():
        raise DataError(f"An item, worker or label holds a NUL character ({counted(nul, 'row')}); remove it.")
    dropped = missing_rows({name: pc.sum(table[name]).as_py() or 0 for name in ("no_item", "no_worker", "no_label")})
    table = table.filter(pc.greater(table["kept"], 0))
    return _array(table["label"]), table["kept"].to_numpy(), dropped


def list_workers(kept: DataFrame, n_classes: int, worker_arrays: float) -> tuple[pa.Array, IntArray]:
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


def slots(spark: SparkSession) -> int:
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


def attach(frame: DataFrame, role: str, values: pa.Array, codes: IntArray) -> DataFrame:
    """Replace a column's values by their codes: a join, inside Spark."""
    coding = frame.sparkSession.createDataFrame(pa.table({role: values, "code": pa.array(codes, pa.int32())}))
    coding = coding.hint("broadcast") if len(values) <= BROADCAST_ROWS else coding
    others = [name for name in frame.columns if name != role]
    return frame.join(coding, role).selectExpr(*others, f"code as {role}")


def attach_known(
    coded: DataFrame, kept: DataFrame, classes: pa.Array, given: Mapping[str, Any], item: str
) -> tuple[DataFrame, dict[str, dict[str, int]], IntArray]:
    """Add a column of known classes for gold and truth, -1 where there is none.

    Also returned is what `known_classes` counted, by what was given, and how many items are gold by class (n_classes,).
    """
    matched: dict[str, dict[str, int]] = {}
    gold_counts = np.zeros(len(classes), np.int64)
    for what, known_to in given.items():
        sheet = sheet_in(known_to, item)
        if known_to is None or (sheet is not None and not sheet.answers):
            coded = coded.selectExpr("*", f"-1 as {what}")
            continue
        known, matched[what], by_class = known_classes(known_to, classes, kept, what, item)
        if what == "gold":
            gold_counts = by_class
        coded = coded.selectExpr("*", "cast(item as string) as known_item").join(known, "known_item", "left")
        coded = coded.drop("known_item").na.fill({what: -1})
    return coded, matched, gold_counts


def known_classes(
    given: Any, classes: pa.Array, kept: DataFrame, what: str, item: str
) -> tuple[DataFrame, dict[str, int], IntArray]:
    """Return a frame of (known_item, ``what``), text and class code, one row for every item of the labels that is known.

    As in `crowdassay.labels.truth.match_truth`: an item of two classes is refused, and a label that is no class is left out of
    the gold, and refused in the truth. Also returned is how many ``items`` are known, how many ``unknown_items`` have no
    labels and how many have ``unknown_labels``; and how many are known by class (n_classes,).
    """
    spark, sheet = kept.sparkSession, sheet_in(given, item)
    if sheet is not None:
        sheet.check(classes)
    known = known_texts(spark, given if sheet is None else sheet.columns(), item)
    texts = run(lambda: known.select("label").distinct().limit(10 * MAX_CLASSES).toArrow())["label"].to_pylist()
    if not texts:
        raise nothing_known(what)
    known = attach(known, "label", pa.array(texts, pa.string()), meanings(texts, classes))
    names = [str(value) for value in classes.to_pylist()]

    def label_text(code: int) -> str:
        return names[code] if code >= 0 else texts[-2 - code]

    clash = "select known_item, min(label) as one, max(label) as other from {known} group by known_item having one <> other"
    if twice := _first(spark.sql(clash, known=known)):
        raise two_labels(what, twice["known_item"], [label_text(twice["one"]), label_text(twice["other"])])
    items = kept.selectExpr("cast(item as string) as known_item")
    matched = known.join(items, "known_item", "left_semi").dropDuplicates(["known_item"])
    by_class = {row["label"]: row["count"] for row in run(lambda: matched.groupBy("label").count().toArrow()).to_pylist()}
    sizes = np.array([by_class.get(code, 0) for code in range(len(classes))], np.int64)
    n_matched, strange = int(sizes.sum()), sum(count for code, count in by_class.items() if code < 0)
    if strange and (what == "truth" or not n_matched):
        stranger = _first(matched.filter("label < 0"))
        raise no_class(what, stranger["known_item"], label_text(stranger["label"]), names)
    n_known = run(lambda: known.select("known_item").distinct().count())
    if not n_matched:
        raise none_matched(what, n_known, _first(known)["known_item"], _first(items)["known_item"])
    counts = {"items": n_matched, "unknown_items": n_known - n_matched - strange, "unknown_labels": strange}
    if sheet is not None:
        counts |= sheet.counts(run(lambda: matched.select("known_item").toArrow())["known_item"].to_pylist())
    return matched.filter("label >= 0").selectExpr("known_item", f"label as {what}"), counts, sizes


def _first(frame: DataFrame) -> dict[str, Any]:
    """Return a row of a frame, to name in a message; nothing if there is none."""
    rows: list[dict[str, Any]] = run(lambda: frame.limit(1).toArrow()).to_pylist()
    return rows[0] if rows else {}


def sheet_in(given: Any, item: str) -> ExpertSheet | None:
    """Return the expert's sheet that known classes are; None where they are something else."""
    return None if given is None or is_spark(given) else ExpertSheet.of(truth_columns(given, item))


def known_texts(spark: SparkSession, given: Any, item: str | None = None) -> DataFrame:
    """Return known classes as a Spark frame of texts (known_item, label), wherever they come from.

    Items are told by the columns that tell them in the labels, where these are there.
    """
    if is_spark(given):
        schema = run(lambda: given.schema)
        columns = [field.name for field in schema.fields]
        names = as_in_labels(lambda known: find_columns(columns, TRUTH_ROLES, known), item)
        known_item, known_label = (f"cast({quoted(names[role])} as string)" for role in ("item", "truth"))
        if len(parts := item_parts(names)) > 1:
            known_item = join_sql([_part(names[part], schema) for part in parts])
        texts = given.selectExpr(f"{known_item} as known_item", f"{known_label} as label")
        return texts.filter("known_item is not null and label is not null")
    items, labels = (column.cast(pa.string()) for column in truth_columns(given, item)[:2])
    return spark.createDataFrame(pa.table({"known_item": items, "label": labels}).drop_null())
