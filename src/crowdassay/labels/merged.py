"""Whether rows of one item are of several things: datasets that number their own, conditions, or systems that answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from crowdassay.errors import ColumnError, CrowdassayError
from crowdassay.labels.contents import is_position, last_word, words_of
from crowdassay.labels.probe import Probe
from crowdassay.labels.sides import alike
from crowdassay.labels.source import open_columns
from crowdassay.labels.telling import QUESTION_NAMES, REPEATS_ASKED, codes_of, n_pairs, whole_table
from crowdassay.labels.values import shown, shown_file
from crowdassay.read_options import join_names

# Each of these may number its own items, or ask something else of them.
PART_WORDS = frozenset({"dataset", "set", "subset", "split", "batch", "corpus", "experiment", "study", "condition", "version"})
# Systems of whose outputs several answer one question, and what is asked of one item.
LABELLED_APART = frozenset({"system", "model", "generator", "llm", "variant", "queried", "asked"}) | QUESTION_NAMES
MOST_NOTED_BYTES = 1 << 28  # of a file that is read once more for a note
MOST_WHOLE_BYTES = 1 << 22  # of a file of which all columns are read once more


def parts_note(probes: Sequence[Probe], columns: Mapping[str, str]) -> list[str]:
    """Return a note where an item's name comes with several datasets, splits or batches, each of which may number its own."""
    named = [columns.get(role, "") for role in ("item", "worker")]
    table = _with_beside(probes, columns, [name for name in _shared(probes) if last_word(name) in PART_WORDS])
    if table is None or (part := merging_part(table, named[:1], named[1])) is None:
        return []
    return [
        f"Rows of one {shown(named[0])} are of several {shown(part)}; if each numbers items of its own, say --item-column "
        f"{shown_file(join_names([named[0], part]))}."
    ]


def refuse_merged(probes: Sequence[Probe], columns: Mapping[str, str]) -> None:
    """Raise `ColumnError` where rows of one guessed item are of several systems or questions that workers met.

    Where many labels repeat a worker and an item, `check_repeats` stops with all columns that may tell items.
    """
    shared = _shared(probes)
    sides = {side for pair in alike(shared) for side in pair}  # of comparisons
    apart = [name for name in shared if name not in sides and not LABELLED_APART.isdisjoint(words_of(name))]
    if (table := _with_beside(probes, columns, apart)) is None:
        return
    item, worker, *beside = table.column_names
    if (name := next((one for one in beside if _is_merged(table, item, worker, one)), None)) is not None:
        both = shown_file(join_names([item, name]))
        raise ColumnError(
            f"Rows of one {shown(item)} are of several {shown(name)}.",
            ways=[
                f"if each was labelled by itself, say --item-column {both}",
                f"otherwise say --item-column {shown_file(item)}",
            ],
        )


def refuse_own_numbers(probes: Sequence[Probe], columns: Mapping[str, str], worker: str | None = None) -> None:
    """Raise `ColumnError` where workers number items for themselves, as another column that they share shows.

    Such a column names every item once for each worker, and most of what it holds comes with several. It contradicts the
    guessed item: one number stands by several names, and one name by several numbers. Where every file is a ``worker``'s, the
    column that says so is called that.
    """
    if any(file.stamp and file.stamp[2] > MOST_WHOLE_BYTES for file in probes):
        return
    if not {*_shared(probes)} - {*columns.values()}:
        return
    table = whole_table(probes, worker)
    named = (columns["item"], columns["worker"])
    item, who = (codes_of(table[name]) if name in table.column_names else None for name in named)
    if item is None or who is None or not who.max() or n_pairs(item, who) < len(who):
        return
    for name in (name for name in table.column_names if name not in columns.values() and not is_position(name)):
        other = codes_of(table[name])
        if other is None or n_pairs(other, who) < len(who):
            continue
        n_items, n_others = int(item.max()) + 1, int(other.max()) + 1
        whose = np.bincount(other)  # each worker once
        if n_pairs(item, other) > max(n_items, n_others) and 2 * (whose > 1).sum() > n_others and n_others < n_items:
            raise ColumnError(
                f"Workers number items differently: several {shown(name)} stand by one {shown(columns['item'])}, and by "
                f"{shown(name)} there are {n_others:,} items, not {n_items:,}.",
                ways=[
                    f"if {shown(one)} tells what was labelled, say --item-column {shown_file(one)}"
                    for one in (name, columns["item"])
                ],
            )


def _shared(probes: Sequence[Probe]) -> list[str]:
    return sorted(set.intersection(*(file.columns for file in probes)))


def _with_beside(probes: Sequence[Probe], columns: Mapping[str, str], beside: Sequence[str]) -> pa.Table | None:
    """Return the item's and the worker's columns with others beside them; None without any, or where reading takes long."""
    named = [columns.get(role, "") for role in ("item", "worker")]
    beside = [name for name in beside if name not in columns.values()]
    large = any(file.stamp and file.stamp[2] > MOST_NOTED_BYTES for file in probes)
    if not beside or large or not {*named} <= {*_shared(probes)}:
        return None
    try:
        tables = [open_columns(file, [*named, *beside], named).read() for file in probes]
    except CrowdassayError:  # such as a dataset that is an object: nobody asked for it
        return None
    return pa.concat_tables(tables, promote_options="permissive")


def _is_merged(table: pa.Table, item: str, worker: str, beside: str) -> bool:
    """Return whether several values of a column come with one item, and with one worker.

    >>> rows = [{"q": n // 2, "model": "xy"[n % 2], "who": "abcd"[n % 4]} for n in range(20)]
    >>> _is_merged(pa.Table.from_pylist(rows), "q", "who", "model")
    False
    >>> rows = [{"q": n // 2, "model": "xy"[n % 2], "who": "abc"[n % 3]} for n in range(20)]
    >>> _is_merged(pa.Table.from_pylist(rows), "q", "who", "model")
    True
    """
    of_item, who, part = (codes_of(table[name]) for name in (item, worker, beside))
    if of_item is None or who is None or part is None or not part.max():
        return False
    if REPEATS_ASKED * (len(who) - n_pairs(of_item, who)) >= len(who):
        return False
    several = [n_pairs(codes, part) for codes in (of_item, who)]
    n_items, n_workers = int(of_item.max()) + 1, int(who.max()) + 1
    again = len(who) > n_workers  # else nobody can have met several
    return several[0] > n_items and (not again or several[1] > n_workers)


def merging_part(table: pa.Table, items: Sequence[str], worker: str) -> str | None:
    """Return the column of datasets, splits or batches that parts several items, each part labelled by several; else None.

    >>> rows = [{"set": s, "n": n, "who": w} for s in "ab" for n in range(3) for w in (f"{s}1", f"{s}2")]
    >>> merging_part(pa.Table.from_pylist(rows), ["n"], "who")
    'set'
    """
    coded = [codes_of(table[name]) for name in (*items, worker)]
    item = np.zeros(table.num_rows, np.int64)
    for codes in coded[:-1]:
        if codes is None:
            return None
        item = np.unique(item * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    who = coded[-1]
    for name in table.column_names:
        if last_word(name) not in PART_WORDS or name in items or who is None or (part := codes_of(table[name])) is None:
            continue
        groups, group = np.unique(item * (int(part.max()) + 1) + part, return_inverse=True)
        n_parts = np.bincount(groups // (int(part.max()) + 1))
        split = n_parts[groups // (int(part.max()) + 1)] > 1
        workers = np.bincount(np.unique(group * (int(who.max()) + 1) + who) // (int(who.max()) + 1))
        several, n_items = int((n_parts > 1).sum()), int((n_parts > 0).sum())
        if several > 1 and REPEATS_ASKED * several >= n_items and 2 * (workers[split] > 1).sum() >= split.sum():
            return name
    return None
