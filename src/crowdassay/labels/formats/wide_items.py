"""Which columns tell the items of a table with a column for each worker; without any, rows are numbered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from crowdassay.labels.columns import check_given, matching_columns
from crowdassay.labels.contents import is_id, is_kind, names_things
from crowdassay.labels.formats.not_workers import is_nothing
from crowdassay.labels.roles import ROLES, plain_name
from crowdassay.labels.values import counted, listed, number_of, shown, shown_file
from crowdassay.read_options import ReadOptions, join_names

INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "id"}) | {
    word + suffix for word in ROLES["item"].words for suffix in ("", "_id", "id")
}
NUMBERED_ROWS = "Items are numbered by row, from 0."
NAMING_LISTED = 3  # columns that may name items
UNIQUE_IDS = frozenset({"uuid", "guid", "hash"})


def choose_item(names: Sequence[str], columns: Sequence[Sequence[str]], asked: ReadOptions) -> tuple[int | None, list[str]]:
    """Return the column that names items, None where a row is an item, and notes on that."""
    if asked.item_column is not None:
        check_given("item", asked.item_column, names)
        return list(names).index(asked.item_column), []
    workers = matching_columns(names, asked.worker_columns) if asked.worker_columns else []
    named = [n for n, name in enumerate(names) if names_items(name, n) and name not in workers]
    for n in named:
        if len(set(columns[n])) == len(columns[n]):
            return n, []
    if not named:
        ids = [n for n, name in enumerate(names) if (is_id(name) or plain_name(name) in UNIQUE_IDS) and name not in workers]
        ids = [n for n in ids if len(set(columns[n])) == len(columns[n])]
        return (ids[0] if len(ids) == 1 else None), []
    name, empty = shown(names[named[0]]), sum(not cell.strip() for cell in columns[named[0]])
    why = f"is empty in {counted(empty, 'row')}" if empty else "repeats"
    return None, [f"A row is taken for an item, since {name} {why}; --item-column names what tells items apart."]


def item_option(names: Sequence[str], columns: Sequence[Sequence[str]], workers: Sequence[int]) -> str:
    """Return, after a blank, the option for the columns that tell items where the one that is called so repeats.

    It is that one alone, or with the kind or id that leaves the fewest items, if then no worker has labelled an item twice.

    >>> columns = [["s1", "s1", "s2"], ["p", "q", "p"], ["1", "2", "3"], ["y", "n", "n"], ["n", "y", ""]]
    >>> item_option(["sentence", "topic", "row", "ann", "bob"], columns, [3, 4])
    " --item-column 'sentence,topic'"
    """
    named = [n for n, name in enumerate(names) if names_items(name, n) and name.strip() and n not in workers]
    if not named or any(len({*columns[n]}) == len(columns[n]) for n in named):
        return ""
    one = named[0]
    beside = [n for n, name in enumerate(names) if n not in workers and n != one and name.strip() and names.count(name) == 1]
    beside = [n for n in beside if (is_kind(names[n]) or names_things(names[n])) and "," not in names[n]]
    found = []
    for places in ([one], *([one, n] for n in beside)):
        keys = list(zip(*(columns[n] for n in places), strict=True))
        said = [(n, key) for n in workers for key, cell in zip(keys, columns[n], strict=True) if not is_nothing(cell)]
        if len({*said}) == len(said) and not any(is_nothing(part) for key in keys for part in key):
            found.append((len({*keys}), len(places), places))
    return f" --item-column {shown_file(join_names([names[n] for n in min(found)[2]]))}" if found else ""


def numbered_rows(different: Sequence[str]) -> str:
    """Return the note that items are numbered by row, with the columns that may name them, different in every row.

    >>> numbered_rows(["url"])
    "Items are numbered by row, from 0. 'url' is different in every row and may be named with --item-column."
    """
    if not different:
        return NUMBERED_ROWS
    verb = "is" if len(different) == 1 else "are"
    said = f"{listed(different, NAMING_LISTED)} {verb} different in every row and may be named with --item-column."
    return f"{NUMBERED_ROWS} {said}"


def naming_rows(names: Sequence[str], columns: Sequence[Sequence[str]], places: Iterable[int]) -> list[str]:
    """Return the columns, of some, that are different in every row and may name items: texts and whole numbers.

    >>> naming_rows(["url", "mean", "tone"], [["u", "v", "w"], ["1.5", "2.0", "3.5"], ["a", "b", "a"]], range(3))
    ['url']
    """
    single = [n for n in places if names[n].strip() and names.count(names[n]) == 1]
    single = [n for n in single if all(columns[n]) and len({*columns[n]}) == len(columns[n]) > 1]
    return [names[n] for n in single if not all(number_of(cell) is not None and "." in cell for cell in columns[n])]


def names_items(name: str, place: int) -> bool:
    """Return whether a column is called like one of items; without a name only the first is."""
    return (name.lower() in INDEX_NAMES or ROLES["item"].is_named(name)) and (bool(name.strip()) or place == 0)
