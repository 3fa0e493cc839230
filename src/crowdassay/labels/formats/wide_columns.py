"""Which columns of a table with a column for each worker are workers', which names the item, and which knows the truth.

Columns that are numbered like workers are theirs. Of other columns, those are that hold the same words. Where two sets of
columns could be meant, by their names or by what they hold, the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from crowdassay.errors import ColumnError
from crowdassay.labels.choices import choices_of
from crowdassay.labels.columns import check_given, matching_columns
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import listed, number_key, shown
from crowdassay.read_options import ReadOptions

NO_LABEL_CELLS = frozenset({"", "nan", "none", "null", "na", "<na>"})
INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "id"}) | {
    word + suffix for word in ROLES["item"].words for suffix in ("", "_id", "id")
}
# Columns beside the workers' own: what is known or was made of their labels.
MADE_COLUMN = re.compile(r"(majority|aggregat)", re.IGNORECASE)
KNOWN_COLUMN = re.compile(
    rf"(gold|truth|true|ground|gt$|consensus|final|adjudicat|target|{MADE_COLUMN.pattern})", re.IGNORECASE
)
SHORT_NUMBERED = r"(?:r|ann|vote)[\s_\-]*\d+"  # which may be other things as well
NUMBERED_WORKER = re.compile(rf"(?:{'|'.join(ROLES['worker'].words)})[\s_\-]*(?:\d+|[a-z])|{SHORT_NUMBERED}", re.IGNORECASE)
MOST_HEADLESS_CLASSES = 50  # classes up to which columns that no name explains are taken for labels
ROWS_TO_COMPARE = 10  # rows from which on a column may be told from its neighbours though some of its values repeat
LEAST_FAMILY = 3  # columns of like names beside which another is hardly a worker's


def is_nothing(cell: str) -> bool:
    """Return whether a cell means that there is no label."""
    return cell.strip().lower() in NO_LABEL_CELLS


def are_classes(cells: Sequence[str]) -> bool:
    """Return whether cells hold few different values, as labels do."""
    return 0 < len(set(cells)) <= min(MOST_HEADLESS_CLASSES, len(cells) / 2)


def worker_option(names: Sequence[str], columns: Sequence[Sequence[str]]) -> str | None:
    """Return the option that reads a table like this with a column for each worker; None if that would be a misreading.

    >>> columns = [["i", "j"], ["a", "b"], ["a", "a"]]
    >>> worker_option(["id", "ann", "bob"], columns), worker_option(["id", "ann", "text"], [*columns[:2], ["x", "y"]])
    ('--from wide', None)
    """
    if any(map(ROLES["worker"].is_named, names)):
        return None
    item, _ = choose_item(names, columns, ReadOptions())
    workers, doubt, _, cells = _workers(names, columns, item)
    chosen = doubt[0] if doubt else workers
    if len(chosen) < 2 or not all(names[n].strip() for n in chosen):
        return None
    if not are_classes([cell for n in chosen for cell in cells[n]]):
        return None
    return f"--worker-columns '{as_pattern(names, chosen)}'" if doubt else "--from wide"


def choose_workers(
    names: Sequence[str], columns: Sequence[Sequence[str]], asked: ReadOptions, source: str, item: int | None = None
) -> tuple[list[int], list[int], int | None]:
    """Return the workers' columns, the others that were not asked for, and the one of these that knows the truth, if any does.

    Columns may hold their first cells alone, the same number each.
    """
    if asked.worker_columns:
        named = matching_columns(names, asked.worker_columns)
        return [n for n, name in enumerate(names) if name in named and n != item], [], None
    workers, doubt, free, cells = _workers(names, columns, item)
    if doubt:
        ways = " or ".join(f"--worker-columns '{as_pattern(names, some)}'" for some in doubt[:3])
        raise ColumnError(f"Not all columns of {source} may be workers' ({listed(names)}); say which are, such as {ways}.")
    if not workers:
        raise ColumnError(f"No column of {source} looks like a worker's ({listed(names)}); name them with --worker-columns.")
    for place in workers:
        check_given("worker", names[place], names)
        if not names[place].strip():
            raise ColumnError(f"Column {place + 1} of {source} holds values but has no name; name it after its worker.")
    left, classes = [n for n in free if n not in workers], {word for n in workers for word in cells[n]}
    known = [
        n for n in left if KNOWN_COLUMN.match(names[n]) and not MADE_COLUMN.match(names[n]) and classes.issuperset(cells[n])
    ]
    return workers, left, known[0] if len(known) == 1 else None


def choose_item(names: Sequence[str], columns: Sequence[Sequence[str]], asked: ReadOptions) -> tuple[int | None, list[str]]:
    """Return the column that names items, None where a row is an item, and notes on that."""
    if asked.item_column is not None:
        check_given("item", asked.item_column, names)
        return list(names).index(asked.item_column), []
    workers = matching_columns(names, asked.worker_columns) if asked.worker_columns else []
    named = [n for n, name in enumerate(names) if _names_items(name, n) and name not in workers]
    for n in named:
        if len(set(columns[n])) == len(columns[n]):
            return n, []
    if not named:
        return None, []
    return None, [f"A row is an item: {shown(names[named[0]])} repeats; --item-column says otherwise."]


def _names_items(name: str, place: int) -> bool:
    """Return whether a column is called like one of items; without a name only the first is."""
    return (name.lower() in INDEX_NAMES or ROLES["item"].is_named(name)) and (bool(name.strip()) or place == 0)


def _workers(
    names: Sequence[str], columns: Sequence[Sequence[str]], item: int | None
) -> tuple[list[int], list[list[int]], list[int], list[list[str]]]:
    """Return the workers' columns, or the sets that could be meant; all columns that could be; and what each column says."""
    cells = _comparable(columns)
    free = [n for n, name in enumerate(names) if n != item and cells[n] and not _names_items(name, n)]
    numbered = [n for n in free if NUMBERED_WORKER.fullmatch(names[n])]
    if len(numbered) > 1:
        return numbered, [], free, cells
    rest = [n for n in free if not KNOWN_COLUMN.match(names[n])]
    rest = [n for n in rest if not _is_other(columns[n], [columns[m] for m in rest if m != n])]
    if len(rest) < 2 or max(len(cells[n]) for n in rest) < ROWS_TO_COMPARE:
        return rest, [], free, cells
    groups = sorted(_alike(cells, rest), key=len, reverse=True)
    if len(groups) > 1 and len(groups[0]) == len(groups[1]):
        return [], [group for group in groups if len(group) == len(groups[0])], free, cells
    family = _family(names, groups[0])
    return groups[0], [family] if family else [], free, cells


def _is_other(cells: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether a column holds texts of its own, not one worker's labels."""
    if not rest:  # no other column to compare it with
        return False
    given = [cell for cell in cells if not is_nothing(cell)]
    shared = {cell for column in rest for cell in column}
    different = set(given)
    own = sum(cell not in shared for cell in given)
    if len(given) < ROWS_TO_COMPARE:
        return len(given) > 1 and len(different) == len(given) == own
    return len(different) > 0.5 * len(given) and own > 0.5 * len(given)


def _comparable(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return what each column says, cell by cell: numbers in one form, several choices one by one, gaps left out."""
    given = [[cell.strip() for cell in column if not is_nothing(cell)] for column in columns]
    apart = choices_of({cell for column in given for cell in column})
    return [[number_key(choice) or choice for cell in column for choice in apart[cell]] for column in given]


def _alike(cells: Sequence[Sequence[str]], places: Sequence[int]) -> list[list[int]]:
    """Group columns that are answered in the same words, directly or by way of others: most of one is said in the other too.

    >>> _alike([["yes", "no"], ["no", "no"], ["31", "45"]], [0, 1, 2])
    [[0, 1], [2]]
    """
    words = {n: set(cells[n]) for n in places}

    def mostly(n: int, m: int) -> bool:
        return 2 * sum(word in words[m] for word in cells[n]) > len(cells[n])

    return linked(places, lambda n, m: mostly(n, m) or mostly(m, n))


def linked(places: Iterable[int], near: Callable[[int, int], bool]) -> list[list[int]]:
    """Group columns that are near each other, directly or by way of others."""
    groups: list[list[int]] = []
    for n in places:
        met = [group for group in groups if any(near(n, m) for m in group)]
        groups = [group for group in groups if group not in met] + [sorted([n, *(m for group in met for m in group)])]
    return sorted(groups)


def _family(names: Sequence[str], places: Sequence[int]) -> list[int]:
    """Return those of some columns that are named alike, as ``justice_*``, where others are not; none if all or hardly any are.

    >>> _family(["justice_a", "justice_b", "justice_c", "decision"], [0, 1, 2, 3]), _family(["ann", "bob", "carl_x"], [0, 1, 2])
    ([0, 1, 2], [])
    >>> _family(["label_a", "label_b", "sure_a", "sure_b"], [0, 1, 2, 3]), _family(["rater 1", "rater 2"], [0, 1])
    ([0, 1], [])
    """
    found = [[n for n in places if fnmatchcase(names[n], way)] for place in places for way in _patterns(names[place])]
    if not found or max(map(len, found)) == len(places):
        return []
    best = max(found, key=len)
    apart = any(len(other) > 1 and not set(other) & set(best) for other in found)
    return best if len(best) > 1 and (apart or (len(best) >= LEAST_FAMILY and 2 * len(best) > len(places))) else []


def _patterns(name: str) -> list[str]:
    """Return patterns that a name shares with names like it: without its numbers, its first word, its last.

    >>> _patterns("rater1_tone"), _patterns("justice_roberts"), _patterns("ann")
    (['rater*_tone'], ['justice_*', '*_roberts'], [])
    """
    if "[" in name:  # which begins a set of characters in a pattern
        return []
    if re.search(r"\d", name):
        return [re.sub(r"\d+", "*", name)]
    parts = re.split(r"([\s_\-.]+)", name)
    return [f"{parts[0]}{parts[1]}*", f"*{parts[-2]}{parts[-1]}"] if len(parts) > 2 else []


def as_pattern(names: Sequence[str], places: Sequence[int]) -> str:
    """Return what ``--worker-columns`` takes for some columns: a pattern where one fits them alone, else their names.

    >>> as_pattern(["id", "rater1", "rater2", "sure1"], [1, 2]), as_pattern(["ann", "bob", "c"], [0, 1])
    ('rater*', 'ann,bob')
    """
    for way in _patterns(names[places[0]]):
        if [n for n, name in enumerate(names) if fnmatchcase(name, way)] == list(places):
            return way
    return ",".join(names[n] for n in places)
