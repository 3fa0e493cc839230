"""Which columns of a table with a column for each worker are workers', which names the item, and which knows the truth.

Columns that are numbered like workers are theirs. Of other columns, those are that hold the same words. Where two sets of
columns could be meant, by their names or by what they hold, the user is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from crowdassay.errors import ColumnError
from crowdassay.labels.choices import choices_of
from crowdassay.labels.columns import check_given, matching_columns
from crowdassay.labels.contents import LABEL_LENGTH, YES_OR_NO, is_id, is_known, is_made
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.formats.not_workers import (
    are_questions,
    are_strangers,
    counted_votes,
    is_asking,
    is_nothing,
    no_workers,
    rows_of,
)
from crowdassay.labels.formats.stems import (
    LEAST_FAMILY,
    as_pattern,
    family_of,
    numbered_parts,
    questions_of_workers,
)
from crowdassay.labels.roles import NUMBERED_WORKER, ROLES, is_worker_name, plain_name
from crowdassay.labels.values import counted, listed, number_key, number_of, shown
from crowdassay.read_options import ReadOptions

INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "id"}) | {
    word + suffix for word in ROLES["item"].words for suffix in ("", "_id", "id")
}
NUMBERED_ROWS = "Items are numbered by row, from 0."
NAMING_LISTED = 3  # columns that may name items
MOST_HEADLESS_CLASSES = 50  # classes up to which columns that no name explains are taken for labels
ROWS_TO_COMPARE = 10  # rows from which on a column may be told from its neighbours though some of its values repeat
WAYS_LISTED = 12
UNIQUE_IDS = frozenset({"uuid", "guid", "hash"})
COLUMNS_LISTED = 8  # that a proposal would take for workers
UNLESS_WORKERS = "if they are workers with one question, name them with --worker-columns"
MOST_OVERRULED = 0.15  # share of rows in which what was decided in the end is not what most had said, at most
ROUNDED = 0.051  # how far a mean that is given with one decimal may be from the real one


def numbered_rows(different: Sequence[str]) -> str:
    """Return the note that items are numbered by row, with the columns that may name them, different in every row.

    >>> numbered_rows(["url"])
    "Items are numbered by row, from 0. 'url' is different in every row and may be named with --item-column."
    """
    if not different:
        return NUMBERED_ROWS
    verb = "is" if len(different) == 1 else "are"
    return f"{NUMBERED_ROWS} {listed(different, NAMING_LISTED)} {verb} different in every row and may be named with --item-column."


def naming_rows(names: Sequence[str], columns: Sequence[Sequence[str]], places: Iterable[int]) -> list[str]:
    """Return the columns, of some, that are different in every row and may name items: texts and whole numbers.

    >>> naming_rows(["url", "mean", "tone"], [["u", "v", "w"], ["1.5", "2.0", "3.5"], ["a", "b", "a"]], range(3))
    ['url']
    """
    single = [n for n in places if names[n].strip() and names.count(names[n]) == 1]
    single = [n for n in single if all(columns[n]) and len({*columns[n]}) == len(columns[n]) > 1]
    return [names[n] for n in single if not all(number_of(cell) is not None and "." in cell for cell in columns[n])]


def are_classes(cells: Sequence[str]) -> bool:
    """Return whether cells hold few different values, as labels do."""
    return 0 < len(set(cells)) <= min(MOST_HEADLESS_CLASSES, len(cells) / 2)


def worker_proposal(names: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """Return in which case which option reads a table with a column for each worker; nothing if that would be a misreading.

    Of columns that answer alike and are no workers a `ColumnError` says what they are.

    >>> columns = [["i", "j"], ["a", "b"], ["a", "a"]]
    >>> worker_proposal(["id", "ann", "bob"], columns)
    ["if 'ann', 'bob' are workers who answer one question, say --from wide"]
    >>> worker_proposal(["id", "ann", "text"], [*columns[:2], ["x", "y"]])
    []
    """
    if any(map(ROLES["worker"].is_named, names)):
        return []
    item, _ = choose_item(names, columns, ReadOptions())
    workers, doubt, _, cells = _workers(names, columns, item)
    chosen = doubt[0] if doubt else workers
    if len(chosen) < 2 or len(columns[0]) < 2 or not all(names[n].strip() for n in chosen):
        return []
    if not are_classes([cell for n in chosen for cell in cells[n]]):
        return []
    if np.mean([len(cell) for n in chosen for cell in cells[n]]) > LABEL_LENGTH:
        return []
    sets = doubt or [workers]
    sets = [some for some in sets if all(is_worker_name(names[n]) for n in some) or not are_strangers(columns, some)]
    if not sets:
        return []
    why = [no_workers(names, columns, some) for some in sets]
    may = [some for some, reason in zip(sets, why, strict=True) if reason is None]
    reason = why[0] if not may else counted_votes(names, columns, workers) if doubt and workers else None
    if reason is not None:
        raise ColumnError(f"{reason}; {UNLESS_WORKERS}.")
    ways = [(some, ways_of(names, [some]) if doubt else "--from wide") for some in may]
    ways = [(some[:-1] if _ends_with_conclusion(names, columns, some) else some, way) for some, way in ways]
    return _told(names, ways)


def numbered_proposal(names: Sequence[str], columns: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the options for columns of answers that end in numbered workers, whoever else is named.

    Of ``columns``, where they are given, only those count that hold labels.

    >>> numbered_proposal(["id", "user", "tag_ann1", "tag_ann2", "note_1"])
    ["if 'tag_ann1', 'tag_ann2' are workers who answer one question, say --worker-columns 'tag_ann*'"]
    """
    sets = _sets_of_numbered(names, range(len(names)))
    if columns:
        sets = [places for places in sets if _is_answered(names, columns, places)]
    return _told(names, [(places, ways_of(names, [places])) for places in sets])


def _sets_of_numbered(names: Sequence[str], places: Iterable[int]) -> list[list[int]]:
    """Return the sets of columns that are named alike but for a numbered worker: first, last, or whose object it is inside.

    >>> _sets_of_numbered(["rater1_tone", "rater2_tone", "tone_score", "note_1"], range(4))
    [[0, 1]]
    >>> _sets_of_numbered(["id", "said.rater_1.tone", "said.rater_2.tone"], range(3))
    [[1, 2]]
    """
    stems: dict[str, list[int]] = {}
    for n in places:
        parts, path = re.split(r"([\s_\-.]+)", names[n]), names[n].split(".")
        ends = [(parts[0], "*" + "".join(parts[1:])), (parts[-1], "".join(parts[:-1]) + "*")] if len(parts) > 2 else []
        inside = [(part, ".".join([*path[:k], "*", *path[k + 1 :]])) for k, part in enumerate(path) if len(path) > 1]
        for stem in dict.fromkeys(stem for part, stem in [*ends, *inside] if NUMBERED_WORKER.fullmatch(part)):
            stems.setdefault(stem, []).append(n)
    return [some for some in stems.values() if len(some) > 1]


def _told(names: Sequence[str], ways: Sequence[tuple[Sequence[int], str]]) -> list[str]:
    """Return a sentence for each set of columns, with the options that read it."""
    said = [f"if {listed([names[n] for n in some], COLUMNS_LISTED)} are{{}}, say {way}" for some, way in ways if way]
    more = " workers who answer one question"
    told = [one.format(more if n == 0 else "") for n, one in enumerate(said[:WAYS_LISTED])]
    further = len(said) - WAYS_LISTED
    return [*told, f"and so on for {counted(further, 'question')} more"] if further > 0 else told


def ways_of(names: Sequence[str], sets: Sequence[Sequence[int]]) -> str:
    """Return the options of which one chooses some set of columns; a set whose names cannot be written in one is left out."""
    ways = [way for some in sets if _reads(names, some, way := as_pattern(names, some))]
    return " or ".join(f"--worker-columns '{way}'" for way in ways[:WAYS_LISTED])


def _reads(names: Sequence[str], places: Sequence[int], way: str) -> bool:
    """Return whether ``--worker-columns`` chooses these columns by what `as_pattern` returns, in quotes on a command line."""
    parts = ReadOptions.of({"worker_columns": way}).worker_columns
    every = all(any(fnmatchcase(name, part) or name == part for name in names) for part in parts)
    chosen = [names[n] for n in places]
    return "'" not in way and every and len(set(chosen)) == len(chosen) and matching_columns(names, parts) == chosen


def _is_answered(names: Sequence[str], columns: Sequence[Sequence[str]], places: Sequence[int]) -> bool:
    """Return whether columns hold the labels of workers who answer one question."""
    cells = [cell for n in places for cell in columns[n] if not is_nothing(cell)]
    short = sum(map(len, cells)) <= LABEL_LENGTH * len(cells)
    every = all(any(not is_nothing(cell) for cell in columns[n]) for n in places)
    return every and short and are_classes(cells) and no_workers(names, columns, places) is None


def _ends_with_conclusion(names: Sequence[str], columns: Sequence[Sequence[str]], workers: Sequence[int]) -> bool:
    """Return whether the last of some columns holds what was decided in the end, and is no worker's."""
    return not is_worker_name(names[workers[-1]]) and _concludes(rows_of(columns, workers))


def _concludes(rows: Sequence[tuple[str | None, ...]]) -> bool:
    """Return whether the last cell of rows is what most of the others say, far more often than that holds of any other cell."""
    if not rows or len(rows[0]) <= LEAST_FAMILY:
        return False
    right, compared = np.zeros(len(rows[0]), int), np.zeros(len(rows[0]), int)
    for row in rows:
        counts = Counter(cell for cell in row if cell is not None).most_common(3)  # of which one loses its place at most
        for n, cell in enumerate(row):
            if cell is not None and (most := _most_of_others(counts, cell)) is not None:
                right[n], compared[n] = right[n] + (cell == most), compared[n] + 1
    if compared.min() < ROWS_TO_COMPARE:
        return False
    wrong = 1 - right / compared
    return bool(wrong[-1] <= MOST_OVERRULED and wrong[:-1].min() >= max(2 * wrong[-1], LEAST_FAMILY / compared.min()))


def _most_of_others(counts: Sequence[tuple[str, int]], cell: str) -> str | None:
    """Return what is said most often but for one time ``cell``; None where that is several things, or none.

    >>> counts = [("a", 2), ("b", 1)]
    >>> _most_of_others(counts, "b"), _most_of_others(counts, "a"), _most_of_others(counts[1:], "b")
    ('a', None, None)
    """
    top = sorted(((n - (other == cell), other) for other, n in counts), reverse=True)
    return top[0][1] if top and top[0][0] > max((n for n, _ in top[1:]), default=0) else None


def choose_workers(
    names: Sequence[str], columns: Sequence[Sequence[str]], asked: ReadOptions, source: str, item: int | None = None
) -> tuple[list[int], list[int], int | None]:
    """Return the workers' columns, the others that were not asked for, and the one of these that knows the truth, if any does.

    Columns may hold their first cells alone, the same number each.
    """
    if asked.worker_columns:
        named = matching_columns(names, asked.worker_columns)
        for name in named:
            check_given("worker", name, names)
        return [n for n, name in enumerate(names) if name in named and n != item], [], None
    workers, doubt, free, cells = _workers(names, columns, item)
    if doubt:
        may = [some for some in doubt if not are_questions([names[n] for n in some])]
        if not may:
            raise ColumnError(f"{no_workers(names, columns, doubt[0])}; {UNLESS_WORKERS}.")
        ways = ways_of(names, [some for some in may if len(some) > 1])
        such = (
            f"say which are, such as {ways}"
            if ways
            else "rename those that are, without commas and quotes, and name them with --worker-columns"
        )
        raise ColumnError(f"Not all columns of {source} may be workers' ({listed(names)}); {such}.")
    columns = [column[:FIRST_ROWS] for column in columns]
    if reason := no_workers(names, columns, workers):
        raise ColumnError(f"{reason}; {UNLESS_WORKERS}.")
    if not workers:
        raise ColumnError(f"No column of {source} looks like a worker's ({listed(names)}); name them with --worker-columns.")
    for place in workers:
        check_given("worker", names[place], names)
        if not names[place].strip():
            raise ColumnError(f"Column {place + 1} of {source} holds values but has no name; name it after its worker.")
    if _ends_with_conclusion(names, columns, workers):
        return workers[:-1], [n for n in free if n not in workers[:-1]], workers[-1]
    left, classes = [n for n in free if n not in workers], {word for n in workers for word in cells[n]}
    known = [n for n in left if is_known(names[n]) and not is_made(names[n]) and classes.issuperset(cells[n])]
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
        ids = [n for n, name in enumerate(names) if (is_id(name) or plain_name(name) in UNIQUE_IDS) and name not in workers]
        ids = [n for n in ids if len(set(columns[n])) == len(columns[n])]
        return (ids[0] if len(ids) == 1 else None), []
    name, empty = shown(names[named[0]]), sum(not cell.strip() for cell in columns[named[0]])
    why = f"is empty in {counted(empty, 'row')}" if empty else "repeats"
    return None, [f"A row is taken for an item, since {name} {why}; --item-column names what tells items apart."]


def not_workers(names: Sequence[str]) -> list[str]:
    """Note columns of a wide table that were not taken for workers."""
    if not names:
        return []
    if len(names) == 1:
        return [f"Not taken as a worker: the column {shown(names[0])}; if it is one, name all workers with --worker-columns."]
    return [f"Not taken as workers: the columns {listed(names)}; if they are, name all workers with --worker-columns."]


def odd_ones(names: Sequence[str], columns: Sequence[Sequence[str]], workers: Sequence[int]) -> list[str]:
    """Note the columns, of those that were named as workers', that hold hardly anything that another one holds.

    >>> odd_ones(["ann", "bob", "why"], [["y", "n"], ["y", "y"], ["it is", "so so"]], [0, 1, 2])
    ["Hardly anything in 'why' is in another worker's column; leave it out of --worker-columns if it is no worker's."]
    """
    held = Counter(cell for n in workers for cell in set(columns[n]))
    odd = [names[n] for n in workers if len(workers) > 1 and _is_other(columns[n], held)]
    if not odd or len(odd) == len(workers):
        return []
    which = "it" if len(odd) == 1 else "them"
    is_one = "it is no worker's" if len(odd) == 1 else "they are no workers'"
    return [
        f"Hardly anything in {listed(odd)} is in another worker's column; leave {which} out of --worker-columns if {is_one}."
    ]


def same_answers(names: Sequence[str], columns: Sequence[Sequence[str]], workers: Sequence[int]) -> list[str]:
    """Note the columns beside those that were named as workers' that hold nothing but the same labels.

    >>> same_answers(["t", "a1", "a2", "eva"], [["u", "v"], ["y", "n"], ["y", "y"], ["n", "y"]], [1, 2])
    ["The same labels stand in 'eva'; a column of a worker must be named with --worker-columns as well."]
    """
    said = {cell for n in workers for cell in columns[n] if not is_nothing(cell)}
    held = {n: {cell for cell in cells if not is_nothing(cell)} for n, cells in enumerate(columns) if n not in workers}
    same = [names[n] for n, cells in held.items() if len(cells) > 1 and cells <= said]
    must = "a column of a worker must be named with --worker-columns as well"
    return [f"The same labels stand in {listed(same)}; {must}."] if 0 < len(same) <= len(workers) else []  # else questions


def _names_items(name: str, place: int) -> bool:
    """Return whether a column is called like one of items; without a name only the first is."""
    return (name.lower() in INDEX_NAMES or ROLES["item"].is_named(name)) and (bool(name.strip()) or place == 0)


def _workers(
    names: Sequence[str], columns: Sequence[Sequence[str]], item: int | None
) -> tuple[list[int], list[list[int]], list[int], list[list[str]]]:
    """Return the workers' columns, or the sets that could be meant; all columns that could be; and what each column says."""
    cells = _comparable(columns)
    free = [n for n, name in enumerate(names) if n != item and cells[n] and not _names_items(name, n)]
    rest = [n for n in free if not is_known(names[n]) and not is_id(names[n])]
    numbered = [n for n in free if is_worker_name(names[n])]
    if len(numbered) < 2 and len(sets := _sets_of_numbered(names, rest)) == 1:
        numbered = sets[0]
    if len(numbered) > 1:
        return numbered, [], free, cells
    sets = _averaged(names, columns, rest)
    if sets := sets or questions_of_workers(names, rest, is_asking, lambda places: _is_answered(names, columns, places)):
        return [], sets, free, cells
    held = Counter(cell for n in rest for cell in set(columns[n]))
    rest = [n for n in rest if len(rest) < 2 or not _is_other(columns[n], held)]  # alone there is none to compare it with
    if len(rest) < 2 or max(len(cells[n]) for n in rest) < ROWS_TO_COMPARE:
        return rest, [], free, cells
    groups = sorted(_alike(cells, rest), key=len, reverse=True)
    if len(groups) > 1 and len(groups[0]) == len(groups[1]):
        return [], [group for group in groups if len(group) == len(groups[0])], free, cells
    said = [group for group in groups[1:] if len(group) > 1 and _are_flags_of(names, cells, groups[0], group)]
    if said:
        return said[0], [], free, cells
    family = family_of(names, groups[0])
    rest_of = [[n for n in groups[0] if n not in family], *groups[1:]]
    like = [other for other in rest_of if len(other) == len(family) and "*" in as_pattern(names, other)]
    return groups[0], [family, *like] if family else [], free, cells


def _averaged(names: Sequence[str], columns: Sequence[Sequence[str]], places: Sequence[int]) -> list[list[int]]:
    """Return the columns of each question's workers where they are numbered, and each has a column of their means beside it.

    >>> columns = [["1", "2"], ["2", "2"], ["1.5", "2.0"], ["3", "4"], ["3", "1"], ["3", "2.5"]]
    >>> _averaged(["a1", "a2", "a", "b1", "b2", "b"], columns, range(6))
    [[0, 1], [3, 4]]
    """
    sets = numbered_parts(names, places)
    for stem, by_part in sets.items():
        means = [columns[n] for n, name in enumerate(names) if name == stem]
        rows = zip(
            *(map(number_of, columns[n]) for n in by_part.values()), *(map(number_of, one) for one in means), strict=True
        )
        given = [row for row in rows if None not in row]
        if len(means) != 1 or not given:
            return []
        table = np.array(given, np.float64)
        if not np.allclose(table[:, :-1].mean(axis=1), table[:, -1], atol=ROUNDED):
            return []
    return [sorted(by_part.values()) for by_part in sets.values()]


def _are_flags_of(names: Sequence[str], cells: Sequence[Sequence[str]], flags: Sequence[int], said: Sequence[int]) -> bool:
    """Return whether columns say yes or no of what others name, class by class: who named it are the workers."""
    yes_or_no = all(cell.casefold() in YES_OR_NO for n in flags for cell in cells[n])
    classes = {cell.casefold() for n in said for cell in cells[n]}
    return yes_or_no and 2 * sum(names[n].casefold() in classes for n in flags) > len(flags)


def _is_other(cells: Sequence[str], held: Mapping[str, int]) -> bool:
    """Return whether a column holds texts of its own, not one worker's labels; ``held`` counts the columns with each text."""
    given = [cell for cell in cells if not is_nothing(cell)]
    different = set(given)
    own = sum(held[cell] == 1 for cell in given)
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
