"""Known classes of items, and codes for values: small frames joined to the labels inside Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.engines.spark.session import is_spark, run
from crowdassay.errors import DataError
from crowdassay.labels.classes import class_coder
from crowdassay.labels.columns import find_columns
from crowdassay.labels.labels import MAX_CLASSES
from crowdassay.labels.roles import TRUTH_ROLES
from crowdassay.labels.truth import truth_columns
from crowdassay.labels.values import shown

BROADCAST_ROWS = 1_000_000  # codes up to which every executor gets all of them, instead of labels being shuffled to codes


def attach(frame: Any, role: str, values: pa.Array, codes: IntArray) -> Any:
    """Replace a column's values by their codes: a join, inside Spark."""
    coding = frame.sparkSession.createDataFrame(pa.table({role: values, "code": pa.array(codes, pa.int32())}))
    coding = coding.hint("broadcast") if len(values) <= BROADCAST_ROWS else coding
    others = [name for name in frame.columns if name != role]
    return frame.join(coding, role).selectExpr(*others, f"code as {role}")


def known_classes(spark: Any, given: Any, classes: pa.Array, kept: Any, what: str) -> tuple[Any, dict[str, int], IntArray]:
    """Return a frame of (known_item, ``what``), text and class code, one row for every item of the labels that is known.

    As in `crowdassay.labels.truth.match_truth`: an item of two classes is refused, and a label that is no class is left out of
    the gold, and refused in the truth. Also returned is how many ``items`` are known, how many ``unknown_items`` have no
    labels and how many have ``unknown_labels``; and how many are known by class (n_classes,).
    """
    known = known_texts(spark, given)
    texts = run(lambda: known.select("label").distinct().limit(10 * MAX_CLASSES).toArrow())["label"].to_pylist()
    if not texts:
        raise DataError(f"The {what} holds no item with a label; check its columns.")
    coder = class_coder(classes)
    # Labels that are no class stay apart from each other, below -1, so that conflicts among them show too.
    codes = [coder(text) if coder(text) >= 0 else -2 - number for number, text in enumerate(texts)]
    known = attach(known, "label", pa.array(texts, pa.string()), np.array(codes))
    clash = "select known_item from {known} group by known_item having count(distinct label) > 1 limit 1"
    if len(twice := run(lambda: spark.sql(clash, known=known).toArrow())):
        raise DataError(f"The {what} gives item {shown(twice['known_item'][0])} different labels; keep one.")
    items = kept.selectExpr("cast(item as string) as known_item")
    matched = known.join(items, "known_item", "left_semi").dropDuplicates(["known_item"])
    by_class = run(lambda: matched.groupBy("label").count().toArrow()).to_pylist()
    n_matched = sum(row["count"] for row in by_class if row["label"] >= 0)
    strange = sum(row["count"] for row in by_class if row["label"] < 0)
    if not n_matched:
        raise DataError(f"None of the {what} items appears in the labels with a class; are the ids written the same way?")
    if strange and what == "truth":
        raise DataError(f"The truth of {strange:,} items is not among the classes; give all classes with --classes.")
    n_known = run(lambda: known.select("known_item").distinct().count())
    counts = {"items": n_matched, "unknown_items": n_known - n_matched - strange, "unknown_labels": strange}
    sizes = np.zeros(len(classes), np.int64)
    for row in by_class:
        if row["label"] >= 0:
            sizes[row["label"]] = row["count"]
    return matched.filter("label >= 0").selectExpr("known_item", f"label as {what}"), counts, sizes


def known_texts(spark: Any, given: Any) -> Any:
    """Return known classes as a Spark frame of texts (known_item, label), wherever they come from."""
    if is_spark(given):
        names = find_columns(given.columns, TRUTH_ROLES, {})
        item, label = (f"cast(`{name.replace('`', '``')}` as string)" for name in names.values())
        texts = given.selectExpr(f"{item} as known_item", f"{label} as label")
        return texts.filter("known_item is not null and label is not null")
    item, label = (column.cast(pa.string()) for column in truth_columns(given))
    return spark.createDataFrame(pa.table({"known_item": item, "label": label}).drop_null())
