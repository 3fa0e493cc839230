"""Known classes of items, and codes for values: small frames joined to the labels inside Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.engines.spark.session import is_spark, run
from crowdassay.labels.columns import find_columns
from crowdassay.labels.report import MAX_CLASSES
from crowdassay.labels.roles import TRUTH_ROLES
from crowdassay.labels.truth import meanings, no_class, none_matched, nothing_known, truth_columns, two_labels

BROADCAST_ROWS = 1_000_000  # codes up to which every executor gets all of them, instead of labels being shuffled to codes


def attach(frame: Any, role: str, values: pa.Array, codes: IntArray) -> Any:
    """Replace a column's values by their codes: a join, inside Spark."""
    coding = frame.sparkSession.createDataFrame(pa.table({role: values, "code": pa.array(codes, pa.int32())}))
    coding = coding.hint("broadcast") if len(values) <= BROADCAST_ROWS else coding
    others = [name for name in frame.columns if name != role]
    return frame.join(coding, role).selectExpr(*others, f"code as {role}")


def attach_known(
    coded: Any, kept: Any, classes: pa.Array, given: Mapping[str, Any]
) -> tuple[Any, dict[str, dict[str, int]], IntArray]:
    """Add a column of known classes for gold and truth, -1 where there is none.

    Also returned is what `known_classes` counted, by what was given, and how many items are gold by class (n_classes,).
    """
    matched: dict[str, dict[str, int]] = {}
    gold_counts = np.zeros(len(classes), np.int64)
    for what, known_to in given.items():
        if known_to is None:
            coded = coded.selectExpr("*", f"-1 as {what}")
            continue
        known, matched[what], by_class = known_classes(coded.sparkSession, known_to, classes, kept, what)
        if what == "gold":
            gold_counts = by_class
        coded = coded.selectExpr("*", "cast(item as string) as known_item").join(known, "known_item", "left")
        coded = coded.drop("known_item").na.fill({what: -1})
    return coded, matched, gold_counts


def known_classes(spark: Any, given: Any, classes: pa.Array, kept: Any, what: str) -> tuple[Any, dict[str, int], IntArray]:
    """Return a frame of (known_item, ``what``), text and class code, one row for every item of the labels that is known.

    As in `crowdassay.labels.truth.match_truth`: an item of two classes is refused, and a label that is no class is left out of
    the gold, and refused in the truth. Also returned is how many ``items`` are known, how many ``unknown_items`` have no
    labels and how many have ``unknown_labels``; and how many are known by class (n_classes,).
    """
    known = known_texts(spark, given)
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
    return matched.filter("label >= 0").selectExpr("known_item", f"label as {what}"), counts, sizes


def _first(frame: Any) -> dict[str, Any]:
    """Return a row of a frame, to name in a message; nothing if there is none."""
    rows: list[dict[str, Any]] = run(lambda: frame.limit(1).toArrow()).to_pylist()
    return rows[0] if rows else {}


def known_texts(spark: Any, given: Any) -> Any:
    """Return known classes as a Spark frame of texts (known_item, label), wherever they come from."""
    if is_spark(given):
        names = find_columns(given.columns, TRUTH_ROLES, {})
        item, label = (f"cast(`{name.replace('`', '``')}` as string)" for name in names.values())
        texts = given.selectExpr(f"{item} as known_item", f"{label} as label")
        return texts.filter("known_item is not null and label is not null")
    item, label = (column.cast(pa.string()) for column in truth_columns(given))
    return spark.createDataFrame(pa.table({"known_item": item, "label": label}).drop_null())
