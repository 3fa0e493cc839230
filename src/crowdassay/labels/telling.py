"""Which columns tell items apart, tried on the rows themselves, for those who are asked to name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.errors import ColumnError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.contents import is_id, is_position, names_things, words_of
from crowdassay.labels.delimited import BATCH
from crowdassay.labels.encode import code_column
from crowdassay.labels.jsontext import flat
from crowdassay.labels.probe import Probe
from crowdassay.labels.raw import parquet_file
from crowdassay.labels.roles import ITEM_WORKER_LABEL, ROLES, plain_name
from crowdassay.labels.source import holds, open_columns, split_question
from crowdassay.labels.values import counted, number_of, shown, shown_file, text_of
from crowdassay.read_options import join_names
from crowdassay.text import joined

ROWS_TRIED = 8 * BATCH
MOST_JOINED, MOST_JOINED_FOR_NOTE = 3, 2  # columns that make an item together, and where that is only noted
MOST_TRIED, MOST_TRIED_FREELY = 30, 12  # columns that are tried together with one that was guessed, and without
SETS_LISTED = 3
MOST_DIFFERENT = 0.75  # share of rows in which a column that tells items is different, at most
FIRST_TRIED = 4096  # rows in which most columns that tell no items show it
AGAIN_WORDS = frozenset(
    {"round", "session", "phase", "attempt", "pass", "wave", "visit", "day", "repeat", "stage", "run", "batch"}
)
# What columns of questions are called; where an item is asked one each, or as many as there are items, they tell items.
QUESTION_NAMES = frozenset({
    "criterion", "criteria", "metric", "dimension", "aspect", "rubric", "trait", "attribute", "question", "property", "measure",
    "subscale", "quality",
})  # fmt: skip
OTHERS_FOR_EACH_QUESTION = 3
NAMING_ENDS = ("id", "file", "filename", "path", "url")
FILE_NAME = re.compile(r"\S+\.[A-Za-z]\w{1,4}")
REPEATS_ASKED = 10  # one of so many labels is a repeat where workers were hardly asked again
# What with "id" tells labels or rows, whose item another column names.
OF_ROWS = (
    *ROLES["label"].words,
    "classification",
    "row",
    "line",
    "assignment",
    "submission",
    "session",
    "result",
    "entry",
    "log",
    "attempt",
    "run",
)

WholeTable = Callable[[], pa.Table]


def check_repeats(
    repeats: int, n_labels: int, columns: Mapping[str, str], table: WholeTable | None, *, named: bool = False
) -> list[str]:
    """Stop where a guessed item makes most labels repeats: rows of different items would be merged, and nobody would see it.

    Where fewer are, though not hardly any, that is in doubt if a single column that is called like an id or an item makes none.
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
    if not repeats or table is None or REPEATS_ASKED * repeats < n_labels or (named and 2 * repeats < n_labels):
        return []
    if 2 * repeats < n_labels:
        _ask_for_finer(repeats, n_labels, columns, table())
        return []
    rows, (guessed, worker, label) = table(), (columns[role] for role in ITEM_WORKER_LABEL)
    telling = (
        telling_columns(rows, None if named else guessed, worker, label, MOST_JOINED_FOR_NOTE if named else MOST_JOINED)
        if {worker, label} <= set(rows.column_names)
        else []
    )
    if not telling and 2 * repeats == n_labels:
        return []
    if not telling and not named:
        telling = [[name] for name in finer_items(rows, columns)]
    half = "half" if 2 * repeats == n_labels else "more than half"
    if named:
        return [f"{many_repeats(guessed, half)}{told_by(telling)}"]
    spare = (codes_of(rows[name]) for name in rows.column_names if name not in columns.values())
    if not any(codes is not None and codes.max() for codes in spare):
        return [many_repeats(guessed, half)]
    start = (
        f"If items are told by {shown(guessed)}, {half} of the labels ({repeats:,} of {n_labels:,}) repeat a worker and an item"
    )
    again = f"if workers did label items again, say --item-column {shown_file(guessed)}"
    if not telling:
        raise ColumnError(
            f"{start}; name the columns that tell items apart with --item-column, separated by commas.", ways=[again]
        )
    told = f"{joined([shown(name) for name in telling[0]])}{' together' if len(telling[0]) > 1 else ''}"
    raise ColumnError(f"{start}; told by {told}, none does.", ways=[*item_ways(rows, telling), again])


def _ask_for_finer(repeats: int, n_labels: int, columns: Mapping[str, str], rows: pa.Table) -> None:
    """Raise `ColumnError` where some labels repeat a worker and an item, and a finer column, or one more, lets none do so."""
    if not (finer := [[name] for name in finer_items(rows, columns)] or _with_one_more(rows, columns)):
        return
    guessed = columns["item"]
    told = " or ".join(joined(list(map(shown, one))) + (" together" if len(one) > 1 else "") for one in finer)
    raise ColumnError(
        f"If items are told by {shown(guessed)}, {repeats:,} of {counted(n_labels, 'label')} repeat a worker and an item; told "
        f"by {told}, none does.",
        ways=[
            *item_ways(rows, finer),
            f"if workers did label items again, say --item-column {shown_file(guessed)}",
        ],
    )


def _with_one_more(table: pa.Table, columns: Mapping[str, str]) -> list[list[str]]:
    """Return the guessed item with a column of texts beside which none comes twice, and that names no round of labelling.

    >>> rows = [{"id": n // 2, "form": "ab"[n % 2], "pass": n % 2, "who": w, "x": 0} for n in range(6) for w in "yz"]
    >>> _with_one_more(pa.Table.from_pylist(rows), {"item": "id", "worker": "who", "label": "x"})
    [['id', 'form']]
    """
    if not set(columns.values()) <= set(table.column_names):
        return []
    sets = telling_columns(table, columns["item"], columns["worker"], columns["label"], 2)
    texts = [one for one in sets if len(one) == 2 and (names_things(one[1]) or not _are_numbers(table[one[1]]))]
    return [one for one in texts if AGAIN_WORDS.isdisjoint(words_of(one[1]))][:1]


def finer_items(table: pa.Table, columns: Mapping[str, str]) -> list[str]:
    """Return the columns called like ids, files or items that part the guessed items further, so that none comes twice.

    The id of a label or a row is none, nor, if there are several workers, is a number that counts rows, for every worker or
    for all.

    >>> rows = [{"clip": n // 2, "event_id": f"e{n}", "trial_id": n, "vote_id": f"v{n}", "who": n // 3} for n in range(4)]
    >>> finer_items(pa.Table.from_pylist(rows), {"item": "clip", "worker": "who"})
    ['event_id']
    """
    needed = [columns.get(role) for role in ("item", "worker")]
    item, who = (codes_of(table[name]) if name in table.column_names else None for name in needed)
    if item is None or who is None:
        return []
    found = []
    for name in table.column_names:
        if name in columns.values() or not names_items(name, table[name]) or (codes := codes_of(table[name])) is None:
            continue
        n_values, every = int(codes.max()) + 1, int(codes.max()) + 1 == len(codes)
        finer = n_pairs(codes, item) == n_values > int(item.max()) + 1 and n_pairs(codes, who) == len(codes)
        counts_rows = every and (plain_name(name) == "id" or _are_numbers(table[name]))
        if finer and not (counts_rows and who.max()):  # where nobody else labels, every row is an item as well as a label
            found.append((every, name))
    return [name for _, name in sorted(found, key=lambda one: one[0])][:SETS_LISTED]


def names_items(name: str, column: ArrowColumn) -> bool:
    """Return whether a column is called like an item, an id or a file, or holds names of files."""
    plain = plain_name(name)
    if plain.removesuffix("id").endswith(OF_ROWS) or ROLES["worker"].is_named(name):
        return False
    if is_id(name) or ROLES["item"].is_named(name) or plain.endswith(NAMING_ENDS[1:]):
        return True
    return all(FILE_NAME.fullmatch(str(cell)) for cell in column.slice(0, FIRST_TRIED).to_pylist())


def _are_numbers(column: ArrowColumn) -> bool:
    return all(number_of(str(cell)) is not None for cell in column.slice(0, FIRST_TRIED).to_pylist())


def n_pairs(one: IntArray, other: IntArray) -> int:
    """Return how many different pairs of codes there are, row by row."""
    return len(np.unique(one * (int(other.max()) + 1) + other))


def many_repeats(item: str, half: str = "more than half") -> str:
    """Return the note on labels that are mostly repeats, where the item was named or no other column could name it."""
    return (
        f"{half.capitalize()} of the labels repeat a worker and an item; if {shown(item)} is not what tells items apart, name "
        "the columns that do with --item-column."
    )


def told_by(telling: Sequence[Sequence[str]]) -> str:
    """Return the sentence, after a blank, that names the columns under which no worker labels an item twice."""
    ways = " or ".join(map(_item_option, telling))
    return f" No worker labels an item twice with {ways}." if telling else ""


def item_ways(table: pa.Table, telling: Sequence[Sequence[str]], options: str = "") -> list[str]:
    """Return for each set of columns that may tell items the option that takes it, and those that read one question of several.

    Parameters
    ----------
    table : pyarrow.Table
    telling : sequence of sequences of str
    options : str
        Further options, which every way has.
    """
    verbs = ("tells", "tell")
    ways = [
        f"if {joined([shown(name) for name in one])} {verbs[len(one) > 1]} what was labelled, say {_item_option(one)}{options}"
        for one in telling
    ]
    found = ((one, asking_part(table, one)) for one in telling)
    for one, (name, value) in ((one, part) for one, part in found if part is not None):
        rest = _item_option([other for other in one if other != name])
        said = f"if {shown(name)} names questions of their own, read one at a time: {rest}{options}"
        return [*ways, f"{said} --question {shown_file(f'{name}={value}')}"]
    return ways


def _item_option(names: Sequence[str]) -> str:
    return f"--item-column {shown_file(join_names(names))}"


def asking_part(table: pa.Table, items: Sequence[str]) -> tuple[str, str] | None:
    """Return the column, of several that tell items, which may name questions, and one of these; None if there is none.

    It is called after them, and the few that it holds are asked of many.

    >>> rows = [{"doc": d, "metric": m} for d in range(9) for m in ("tone", "style")]
    >>> asking_part(pa.Table.from_pylist(rows), ["doc", "metric"])
    ('metric', 'tone')
    """
    for name in items if len(items) > 1 else ():
        values = list(map(str, pc.unique(table[name].drop_null()).to_pylist()))
        others = table.select([other for other in items if other != name])
        n_others = others.group_by(others.column_names).aggregate([]).num_rows
        if not QUESTION_NAMES.isdisjoint(words_of(name)) and 1 < len(values) <= n_others / OTHERS_FOR_EACH_QUESTION:
            return name, values[0]
    return None


def telling_columns(
    table: pa.Table,
    guessed: str | None,
    worker: str,
    label: str,
    most: int = MOST_JOINED,
    repeats: float = 0.0,
    *,
    placed: bool = True,
) -> list[list[str]]:
    """Return the fewest columns, the guessed one among several, under which no worker labels an item twice; the best set first.

    More than ``most`` columns are not tried together; a share of ``repeats`` is allowed.
    Where there are several workers, most labels must share their item with another: a number for each row tells no items.
    Sets in which an item's position plays a part are returned only where no others are found, and if ``placed``; never where a
    column of texts shows that items are shuffled. The one that leaves the fewest
    items is better, and then that of the fewest values, which are names rather than texts.

    >>> rows = [{"q": q, "model": m, "who": w, "row": f"{q}{m}{w}", "label": 0} for q in "12" for m in "xyz" for w in "ab"]
    >>> telling_columns(pa.Table.from_pylist(rows), "q", "who", "label")
    [['q', 'model']]
    """
    clocks = ROLES["time"], ROLES["duration"]
    names = [
        name for name in table.column_names if name not in {worker, label} and not any(role.is_named(name) for role in clocks)
    ]
    who = codes_of(table[worker])
    if who is None:
        return []
    names = [
        name
        for name in names
        if not _is_place(table, name) or name == guessed or (placed and not _is_shuffled(table, name, who))
    ]
    # Where nobody else labels an item, what is different in every row may tell items, if it is called so.
    spare = () if who.max() else tuple(name for name in names if plain_name(name).endswith(NAMING_ENDS))
    coded_names = ((name, codes_of(table[name])) for name in names)
    codes = {
        name: coded
        for name, coded in coded_names
        if coded is not None and (name in spare or coded.max() < MOST_DIFFERENT * len(coded))
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
            (sum(_is_place(table, name) for name in one), n_items, sum(int(codes[name].max()) for name in one), one)
            for one in sets
            if (n_items := _tells(one, codes, who, repeats))
        ]
        if found:
            fewest = min(found)[0]
            return [list(one) for n_positions, _, _, one in sorted(found) if n_positions == fewest][:SETS_LISTED]
    return []


def _is_place(table: pa.Table, name: str) -> bool:
    """Return whether a column tells where an item was shown, by number or letter; an order such as "long first" does not."""
    cells = {str(cell) for cell in table[name].slice(0, FIRST_TRIED).to_pylist()} if is_position(name) else set()
    return bool(cells) and all(len(cell) == 1 or number_of(cell) is not None for cell in cells)


def _is_shuffled(table: pa.Table, place: str, who: IntArray) -> bool:
    """Return whether texts that several workers met stand in different places, so that a place tells no item.

    >>> rows = [{"trial_no": n, "noun": "abcdef"[(n + w) % 6], "who": w} for w in range(3) for n in range(6)]
    >>> _is_shuffled(pa.Table.from_pylist(rows), "trial_no", np.repeat([0, 1, 2], 6))
    True
    """
    codes = codes_of(table[place])
    if codes is None or not who.max():
        return False
    for name in table.column_names:
        text = codes_of(table[name])
        if text is None or name == place or _are_numbers(table[name]) or 2 * (int(text.max()) + 1) < int(codes.max()) + 1:
            continue  # of few values, which may be answers
        whose = np.bincount(np.unique(text * (int(who.max()) + 1) + who) // (int(who.max()) + 1))
        if (whose > 1).any() and n_pairs(text, codes) > max(int(text.max()), int(codes.max())) + 1:
            return True
    return False


def whole_table(probes: Sequence[Probe], worker: str | None = None, question: str | None = None) -> pa.Table:
    """Return all columns that several files share, but for lists and objects, as many rows as are tried.

    Where every file is a ``worker``'s, a column of this name says whose a row is. Of a ``question`` only its rows are returned.
    """
    asked = [] if question is None else [split_question(question, file) for file in probes]
    tables = [_rows(file, [column for column, _ in asked]) for file in probes]
    if asked:
        tables = [table.filter(holds(table[column], value)) for table, (column, value) in zip(tables, asked, strict=True)]
    if worker is not None:
        names = [
            pa.repeat(pa.scalar(file.worker or file.path.name), table.num_rows)
            for file, table in zip(probes, tables, strict=True)
        ]
        tables = [table.append_column(worker, name) for name, table in zip(names, tables, strict=True)]
    shared = [name for name in tables[0].column_names if all(name in table.column_names for table in tables)]
    return pa.concat_tables([table.select(shared) for table in tables], promote_options="permissive")


def _tells(one: Sequence[str], codes: Mapping[str, IntArray], who: IntArray, repeats: float) -> int:
    """Return into how many items some columns part the rows, 0 where more than a share of these repeat a worker and an item."""
    for rows in (slice(FIRST_TRIED), slice(None)):
        item = codes[one[0]][rows]
        for name in one[1:]:
            _, item = np.unique(item * (int(codes[name].max()) + 1) + codes[name][rows], return_inverse=True)
        pairs = np.unique(item * (int(who.max()) + 1) + who[rows])
        if len(pairs) < (1 - repeats) * len(item):
            return 0
    held = np.bincount(item)
    shared = int(held[held > 1].sum())
    return int(np.count_nonzero(held)) if not who.max() or 2 * shared >= len(who) else 0


def codes_of(column: ArrowColumn) -> IntArray | None:
    """Return a column as codes (n_rows,), None where cells are missing or are no single values."""
    try:
        codes, _ = code_column(column, "item")
    except ValueError:
        return None
    return codes.astype(np.int64) if len(codes) and codes.min() >= 0 else None


def _rows(probe: Probe, more: Sequence[str] = ()) -> pa.Table:
    """Return the first rows, and of JSON some values inside objects beside its columns."""
    if probe.kind == "delimited":
        names = [name for name in dict.fromkeys(probe.header) if name]
        return pa.Table.from_batches(islice(open_columns(probe, names, names[:1]).slowly(), ROWS_TRIED // BATCH))
    if probe.kind == "parquet":
        with parquet_file(probe.path) as file:
            plain = pa.schema([one for one in file.schema_arrow if not pa.types.is_nested(one.type)])
            return pa.Table.from_batches(islice(file.iter_batches(BATCH, columns=plain.names), ROWS_TRIED // BATCH), plain)
    records = list(islice(probe.rows(), ROWS_TRIED))
    names = [name for name in records[0] if not any(isinstance(record.get(name), list | dict) for record in records)]
    if inner := [name for name in dict.fromkeys(more) if name not in names]:
        names, records = [*names, *inner], [flat(record) for record in records]
    cells = {name: [None if (value := record.get(name)) is None else text_of(value) for record in records] for name in names}
    return pa.table({name: pa.array(column, pa.string()) for name, column in cells.items()})
