"""Which columns tell items apart, tried on the rows themselves, for those who are asked to name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, islice

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.errors import ColumnError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.contents import is_position
from crowdassay.labels.delimited import BATCH
from crowdassay.labels.encode import code_column
from crowdassay.labels.probe import Probe
from crowdassay.labels.raw import parquet_file
from crowdassay.labels.roles import ITEM_WORKER_LABEL, ROLES, plain_name
from crowdassay.labels.source import open_columns
from crowdassay.labels.values import shown, shown_file, text_of
from crowdassay.read_options import join_names
from crowdassay.text import joined

ROWS_TRIED = 8 * BATCH
MOST_JOINED, MOST_JOINED_FOR_NOTE = 3, 2  # columns that make an item together, and where that is only noted
MOST_TRIED, MOST_TRIED_FREELY = 30, 12  # columns that are tried together with one that was guessed, and without
SETS_LISTED = 3
FIRST_TRIED = 4096  # rows in which most columns that tell no items show it
NAMING_ENDS = ("id", "file", "filename", "path", "url")

WholeTable = Callable[[], pa.Table]


def check_repeats(
    repeats: int, n_labels: int, columns: Mapping[str, str], table: WholeTable | None, *, named: bool = False
) -> list[str]:
    """Stop where a guessed item makes most labels repeats: rows of different items would be merged, and nobody would see it.

    Where just half are repeats, as with two turns of each question, that is in doubt, and stops if other columns make every
    label the only one of its worker on its item. Where no other column could tell them,
    nothing was guessed, and a note is returned.

    Parameters
    ----------
    repeats : int
        Labels beyond the first by the same worker on the same item.
    n_labels : int
    columns : mapping
        The columns that were guessed, by role.
    table : callable, optional
        Returns all columns of the source, as many rows as are worth trying.
    named : bool
        Whether the user named the item: then everything is noted.
    """
    if 2 * repeats < n_labels or not repeats or table is None:
        return []
    rows, (guessed, worker, label) = table(), (columns[role] for role in ITEM_WORKER_LABEL)
    telling = (
        telling_columns(rows, None if named else guessed, worker, label, MOST_JOINED_FOR_NOTE if named else MOST_JOINED)
        if {worker, label} <= set(rows.column_names)
        else []
    )
    if not telling and 2 * repeats == n_labels:
        return []
    half = "half" if 2 * repeats == n_labels else "more than half"
    if named:
        return [f"{many_repeats(guessed, half)}{told_by(telling)}"]
    spare = (_codes(rows[name]) for name in rows.column_names if name not in columns.values())
    if not any(codes is not None and codes.max() for codes in spare):
        return [many_repeats(guessed, half)]
    start = (
        f"If items are told by {shown(guessed)}, {half} of the labels ({repeats:,} of {n_labels:,}) repeat a worker and an item"
    )
    again = f"If workers did label items again, say --item-column {shown_file(guessed)}."
    if not telling:
        raise ColumnError(f"{start}; name the columns that tell items apart with --item-column, separated by commas. {again}")
    told = f"{joined([shown(name) for name in telling[0]])}{' together' if len(telling[0]) > 1 else ''}"
    ways = " or ".join(f"--item-column {shown_file(join_names(one))}" for one in telling)
    raise ColumnError(f"{start}; told by {told}, none does: say {ways}. {again}")


def many_repeats(item: str, half: str = "more than half") -> str:
    """Return the note on labels that are mostly repeats, where the item was named or no other column could name it."""
    return (
        f"{half.capitalize()} of the labels repeat a worker and an item; if {shown(item)} is not what tells items apart, name "
        "the columns that do with --item-column."
    )


def told_by(telling: Sequence[Sequence[str]]) -> str:
    """Return the sentence, after a blank, that names the columns under which no worker labels an item twice."""
    ways = " or ".join(f"--item-column {shown_file(join_names(one))}" for one in telling)
    return f" No worker labels an item twice with {ways}." if telling else ""


def telling_columns(table: pa.Table, guessed: str | None, worker: str, label: str, most: int = MOST_JOINED) -> list[list[str]]:
    """Return the fewest columns, the guessed one among several, under which no worker labels an item twice; the best set first.

    More than ``most`` columns are not tried together.
    Where there are several workers, most labels must share their item with another: a number for each row tells no items.
    Of several sets, those come last in which an item's position plays a part. Then the one that leaves the fewest items is
    better, and then that of the fewest values, which are names rather than texts.

    >>> rows = [{"q": q, "model": m, "who": w, "row": f"{q}{m}{w}", "label": 0} for q in "12" for m in "xyz" for w in "ab"]
    >>> telling_columns(pa.Table.from_pylist(rows), "q", "who", "label")
    [['q', 'model']]
    """
    clocks = ROLES["time"], ROLES["duration"]
    names = [
        name for name in table.column_names if name not in {worker, label} and not any(role.is_named(name) for role in clocks)
    ]
    who = _codes(table[worker])
    if who is None:
        return []
    # Where nobody else labels an item, what is different in every row may tell items, if it is called so.
    spare = () if who.max() else tuple(name for name in names if plain_name(name).endswith(NAMING_ENDS))
    coded_names = ((name, _codes(table[name])) for name in names)
    codes = {
        name: coded for name, coded in coded_names if coded is not None and (name in spare or 2 * coded.max() + 2 <= len(coded))
    }
    if guessed is not None and guessed not in codes:
        return []
    others = [name for name in codes if name != guessed and codes[name].max()][: MOST_TRIED if guessed else MOST_TRIED_FREELY]
    for size in range(1, most + 1):
        sets = (
            [(guessed, *more) for more in combinations(others, size - 1)]
            if guessed and size > 1
            else combinations(others, size)
        )
        found = [
            (sum(map(is_position, one)), n_items, sum(int(codes[name].max()) for name in one), one)
            for one in sets
            if (n_items := _tells(one, codes, who))
        ]
        if found:
            return [list(one) for *_, one in sorted(found)[:SETS_LISTED]]
    return []


def whole_table(probes: Sequence[Probe]) -> pa.Table:
    """Return all columns that several files share, but for lists and objects, as many rows as are tried."""
    tables = [_rows(file) for file in probes]
    shared = [name for name in tables[0].column_names if all(name in table.column_names for table in tables)]
    return pa.concat_tables([table.select(shared) for table in tables], promote_options="permissive")


def _tells(one: Sequence[str], codes: Mapping[str, IntArray], who: IntArray) -> int:
    """Return into how many items some columns part the rows, 0 where these do not tell items apart."""
    for rows in (slice(FIRST_TRIED), slice(None)):
        item = codes[one[0]][rows]
        for name in one[1:]:
            _, item = np.unique(item * (int(codes[name].max()) + 1) + codes[name][rows], return_inverse=True)
        pairs = np.unique(item * (int(who.max()) + 1) + who[rows])
        if len(pairs) < len(item):
            return 0
    held = np.bincount(item)
    shared = int(held[held > 1].sum())
    return int(np.count_nonzero(held)) if not who.max() or 2 * shared >= len(who) else 0


def _codes(column: ArrowColumn) -> IntArray | None:
    """Return a column as codes (n_rows,), None where cells are missing or are no single values."""
    try:
        codes, _ = code_column(column, "item")
    except ValueError:
        return None
    return codes.astype(np.int64) if len(codes) and codes.min() >= 0 else None


def _rows(probe: Probe) -> pa.Table:
    if probe.kind == "delimited":
        names = [name for name in dict.fromkeys(probe.header) if name]
        return pa.Table.from_batches(islice(open_columns(probe, names, names[:1]).slowly(), ROWS_TRIED // BATCH))
    if probe.kind == "parquet":
        with parquet_file(probe.path) as file:
            plain = pa.schema([one for one in file.schema_arrow if not pa.types.is_nested(one.type)])
            return pa.Table.from_batches(islice(file.iter_batches(BATCH, columns=plain.names), ROWS_TRIED // BATCH), plain)
    records = list(islice(probe.rows(), ROWS_TRIED))
    names = [name for name in records[0] if not any(isinstance(record.get(name), list | dict) for record in records)]
    cells = {name: [None if (value := record.get(name)) is None else text_of(value) for record in records] for name in names}
    return pa.table({name: pa.array(column, pa.string()) for name, column in cells.items()})
