"""What `crowdassay rate` reads besides verdicts: columns of items, orders, known classes and costs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.values import shown, shown_file

if TYPE_CHECKING:
    from crowdassay.labels.labels import Labels

CALLED = {"by": "group", "pair": "pair", "strata": "stratum"}  # what an option's column tells, for messages


def item_column(labels: Labels, path: Path, column: str | None, option: str) -> dict[str, str] | None:
    """Return the value of a column for each item, refusing items that have two."""
    if column is None:
        return None
    from crowdassay.labels.roles import ROLES, Role
    from crowdassay.labels.truth import read_known

    if labels.report.format != "plain" or "item" not in labels.report.columns:
        raise ParameterError(f"--{option} names a column, and goes with plain tables.")
    role = Role(CALLED[option], f"--{option}")
    table = read_known(path, (ROLES["item"], role), {"item": labels.report.columns["item"], role.name: column})
    values: dict[str, str] = {}
    for item, value in zip(table["item"].to_pylist(), table[role.name].to_pylist(), strict=True):
        if values.setdefault(item, value) != value:
            raise DataError(
                f"Item {shown(item)} has both {shown(values[item])} and {shown(value)} in column {shown(column)}; an item has "
                "one of them. If each answer of a system is an item, give it a name of its own (--item-column)."
            )
    return values


def read_order(labels: Labels, path: Path, options: dict[str, Any]) -> list[str | None] | None:
    """Return the order in which choices were shown for each label, from the column that says it; None where it is empty."""
    column = options["order_column"]
    if column is None:
        return None
    from crowdassay.labels.files import read_files
    from crowdassay.read_options import ReadOptions

    if labels.report.format != "plain":
        raise ParameterError("--order-column names a column, and goes with plain tables.")
    reading = ReadOptions(
        item_column=labels.report.columns["item"],
        worker_column=labels.report.columns["worker"],
        label_column=column,
        repeats=options["repeats"],
        allow_drops=True,
        format="plain",
    )
    again = read_files([path], reading)
    orders: dict[tuple[str, str], list[str]] = {}
    for key, code in zip(_keys(again), again.label, strict=True):
        orders.setdefault(key, []).append(again.class_names[code])
    keys = _keys(labels)
    for key, times in Counter(keys).items():
        if len(orders.get(key, [])) not in (0, times):
            who = f"{shown(key[1])} judged item {shown(key[0])} {times} times"
            raise DataError(f"{who}, and column {shown(column)} is empty in some of these rows; fill it in all, or in none.")
    # A worker's verdicts on an item stand in the order of the file, in both.
    return [orders[key].pop(0) if orders.get(key) else None for key in keys]


def _keys(labels: Labels) -> list[tuple[str, str]]:
    """Return item and worker of every label, as text."""
    items, workers = ([str(name) for name in names.to_pylist()] for names in (labels.items, labels.workers))
    return [(items[j], workers[i]) for j, i in zip(labels.label_item, labels.worker, strict=True)]


def read_gold(path: Path | None) -> dict[str, str] | None:
    """Return the known class of items."""
    if path is None:
        return None
    from crowdassay.labels.files import read_truth

    table = read_truth(path)
    truths: dict[str, str] = {}
    for item, value in zip(table["item"].to_pylist(), table["label"].to_pylist(), strict=True):
        if truths.setdefault(item, value) != value:
            raise DataError(f"The gold gives item {shown(item)} both {shown(truths[item])} and {shown(value)}; keep one.")
    if not truths:
        raise DataError(f"{shown_file(path.name)} holds no item with a label.")
    return truths


def read_costs(path: Path | None) -> dict[str, float] | None:
    """Return the cost of a verdict by each judge, and by people, from a file with columns judge and cost."""
    if path is None:
        return None
    from crowdassay.labels.study_columns import encode_names, encode_numbers, read_columns

    columns = read_columns(path, ("judge", "cost"), {}, "costs")
    codes, judges = encode_names(columns.table["judge"], "judge")
    costs = encode_numbers(columns.table["cost"], "cost", columns.source)
    return {judges[int(code)].as_py().strip(): float(cost) for code, cost in zip(codes, costs, strict=True) if code >= 0}
