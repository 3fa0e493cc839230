"""What `crowdassay rate` reads: verdicts, what is known of their items, costs, and known classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay.cli.options import read, read_options, split
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.files import read_files
from crowdassay.labels.labels import Labels
from crowdassay.labels.pseudonyms import SALT_NOT_KEPT, draw_salt, pseudonym
from crowdassay.labels.reader import read_facts
from crowdassay.labels.roles import ITEM_WORKER_LABEL, ROLES
from crowdassay.labels.study_columns import encode_names, encode_numbers, read_columns
from crowdassay.labels.truth import nothing_known, read_truth, two_labels
from crowdassay.labels.values import counted, shown
from crowdassay.notes import NoteKind, kind_of
from crowdassay.read_options import ReadOptions

OF_ITEMS = ("by", "pair", "strata", "cluster")  # options that name a column which tells something of items
# What promptfoo calls a test is a question as well.
SHARED_BY_ITEMS = replace(ROLES["question"], name="cluster", words=("test", *ROLES["question"].words))
LEAST_GUESSED_CLUSTERS = 10  # seen by people, below which a column is no cluster because of its name alone


def read_verdicts(labels: Sequence[str | Path], options: dict[str, Any]) -> Labels:
    """Read verdicts of judges and people; of a sheet, columns that the options name are no workers'."""
    asked = {**options, "classes": None, "pseudonymise": False, "salt": None}
    data = read(labels, asked)
    named = {options[name] for name in OF_ITEMS} - {None}
    workers = data.workers.to_pylist()
    if data.report.format == "wide" and not options["worker_columns"] and named & set(workers):
        options["worker_columns"] = tuple(name for name in workers if name not in named)
        data = read(labels, {**asked, "worker_columns": options["worker_columns"]})
    return _pseudonymised(labels, options) if options["pseudonymise"] else data


def _pseudonymised(labels: Sequence[str | Path], options: dict[str, Any]) -> Labels:
    """Read verdicts with salted ids. A salt that is not given is drawn here, so that people are found again, and not kept."""
    drawn = options["salt"] is None
    options["salt"] = draw_salt() if drawn else options["salt"]
    data = read(labels, {**options, "classes": None})
    there = set(data.workers.to_pylist())
    for name in split(options["people"]):
        if known_as(name, options) not in there:
            raise ParameterError(f"There is no worker {shown(name)}; --people takes the ids as they are in the file.")
    notes = tuple(SALT_NOT_KEPT if drawn and kind_of(note) is NoteKind.PSEUDONYMS else note for note in data.report.notes)
    return replace(data, report=replace(data.report, notes=notes))


def known_as(worker: str, options: dict[str, Any]) -> str:
    """Return the name of a worker in the labels: the id itself, or what replaced it."""
    return pseudonym(worker, options["salt"]) if options["pseudonymise"] else worker


def people_in(options: dict[str, Any]) -> list[str]:
    """Return the names in the labels of the workers who are people."""
    return [known_as(name, options) for name in split(options["people"])]


def item_columns(
    labels: Labels, paths: Sequence[str], options: dict[str, Any]
) -> tuple[dict[str, dict[str, str] | None], list[str]]:
    """Return the value of each option's column for each item, refusing items that have two, and what to tell.

    What items have in common that makes them alike is also found by its name; a column that is no such thing is left alone.
    """
    report = labels.report
    asked = replace(read_options({**options, "classes": None}), format=report.format)
    if report.format == "plain":
        item, worker, label = (report.columns.get(role) for role in ITEM_WORKER_LABEL)
        asked = replace(asked, item_column=item, worker_column=worker, label_column=label)
    found = read_facts(paths, asked, {name: options[name] for name in OF_ITEMS}, SHARED_BY_ITEMS)
    columns: dict[str, dict[str, str] | None] = dict.fromkeys(OF_ITEMS)
    notes: list[str] = []
    for name, (column, pairs) in found.items():

        def clash(item: str, *values: str, column: str = column) -> DataError:
            return DataError(
                f"Item {shown(item)} has both {shown(values[0])} and {shown(values[1])} in column {shown(column)}; an item has "
                "one of them. If each answer of a system is an item, give it a name of its own (--item-column)."
            )

        if options[name] is not None:
            columns[name] = one_each(pairs, clash)
            continue
        values = dict(pairs)
        if len(set(pairs)) == len(values) and seen_values(labels, values, options) >= LEAST_GUESSED_CLUSTERS:
            n_clusters = len(set(values.values()))
            if n_clusters < len(values):
                columns[name] = values
                notes.append(
                    f"Items that share {shown(column)} are taken to be alike ({counted(n_clusters, 'cluster')} of "
                    f"{counted(len(values), 'item')}), and intervals allow for it; --cluster names another column."
                )
    return columns, notes


def seen_values(labels: Labels, values: Mapping[str, str], options: dict[str, Any]) -> int:
    """Return how many different values the items have that people saw."""
    names = [str(name) for name in labels.items.to_pylist()]
    human = np.isin([str(name) for name in labels.workers.to_pylist()], people_in(options))[labels.worker]
    seen = {names[j] for j in np.unique(labels.label_item[human])} | {names[j] for j in np.flatnonzero(labels.gold >= 0)}
    seen |= (read_gold(options["gold"], labels.report.columns.get("item")) or {}).keys()
    return len({values[item] for item in seen if item in values})


def read_order(labels: Labels, path: Path, options: dict[str, Any]) -> list[str | None] | None:
    """Return the order in which choices were shown for each label, from the column that says it; None where it is empty."""
    column = options["order_column"]
    if column is None:
        return None
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
            who = f"{shown(key[1])} judged item {shown(key[0])} {counted(times, 'time')}"
            raise DataError(f"{who}, and column {shown(column)} is empty in some of these rows; fill it in all, or in none.")
    # A worker's verdicts on an item stand in the order of the file, in both.
    return [orders[key].pop(0) if orders.get(key) else None for key in keys]


def _keys(labels: Labels) -> list[tuple[str, str]]:
    """Return item and worker of every label, as text."""
    items, workers = ([str(name) for name in names.to_pylist()] for names in (labels.items, labels.workers))
    return [(items[j], workers[i]) for j, i in zip(labels.label_item, labels.worker, strict=True)]


def read_gold(path: Path | None, item: str | None) -> dict[str, str] | None:
    """Return the known class of items, told by the columns that tell them in the verdicts where the file has these."""
    if path is None:
        return None
    table = read_truth(path, like=item)
    truths = one_each(
        zip(*(column.to_pylist() for column in table.columns), strict=True),
        lambda item, *labels: two_labels("gold", item, labels),
    )
    if not truths:
        raise nothing_known("gold")
    return truths


def one_each(pairs: Iterable[tuple[str, str]], clash: Callable[..., DataError]) -> dict[str, str]:
    """Return the values of items, from pairs of item and value; an item that has two of them is a clash."""
    values: dict[str, str] = {}
    for item, value in pairs:
        if values.setdefault(item, value) != value:
            raise clash(item, values[item], value)
    return values


def read_costs(options: dict[str, Any]) -> dict[str, float] | None:
    """Return the cost of a verdict by each judge, and by people, from a file with columns judge and cost."""
    path = options["cost"]
    if path is None:
        return None
    columns = read_columns(path, ("judge", "cost"), {}, "costs")
    codes, judges = encode_names(columns.table["judge"], "judge")
    costs = encode_numbers(columns.table["cost"], "cost", columns.source)
    names = [known_as(name.strip(), options) for name in judges.to_pylist()]
    return {names[int(code)]: float(cost) for code, cost in zip(codes, costs, strict=True) if code >= 0}
