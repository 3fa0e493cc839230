"""Which columns of a table with a column for each worker are workers', and which knows the truth.

Columns that are numbered like workers are theirs. Of other columns, those are that hold the same words. Where two sets of
columns could be meant, by their names or by what they hold, the user is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from crowdassay.errors import ColumnError
from crowdassay.labels.choices import choices_of
from crowdassay.labels.columns import check_given, matching_columns
from crowdassay.labels.contents import LABEL_LENGTH, YES_OR_NO, is_id, is_known, is_made
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.formats.not_workers import (
    are_questions,
    is_asking,
    is_nothing,
    may_know,
    no_workers,
    rows_of,
)
from crowdassay.labels.formats.stems import (
    LEAST_FAMILY,
    as_pattern,
    differing_parts,
    family_of,
    numbered_parts,
    questions_of_workers,
)
from crowdassay.labels.formats.wide_items import names_items
from crowdassay.labels.roles import NUMBERED_WORKER, ROLES, is_worker_name
from crowdassay.labels.values import listed, number_key, number_of, shown
from crowdassay.read_options import ReadOptions

MOST_HEADLESS_CLASSES = 50  # classes up to which columns that no name explains are taken for labels
ROWS_TO_COMPARE = 10  # rows from which on a column may be told from its neighbours though some of its values repeat
WAYS_LISTED = 12
A_NUMBERED_LABEL = re.compile(r"(.*[^\W\d_])(?:[\s_\-.]*\d{1,2}|[\s_\-.]+[a-z])", re.IGNORECASE)  # such as label1, rating_b
UNLESS_WORKERS = "if they are workers with one question, name them with --worker-columns"
NAME_AS_WELL = "a column of a worker must be named with --worker-columns as well"
MOST_OVERRULED = 0.15  # share of rows in which what was decided in the end is not what most had said, at most
ROUNDED = 0.051  # how far a mean that is given with one decimal may be from the real one


def are_classes(cells: Sequence[str]) -> bool:
    """Return whether cells hold few different values, as labels do."""
    return 0 < len(set(cells)) <= min(MOST_HEADLESS_CLASSES, len(cells) / 2)


def sets_of_numbered(names: Sequence[str], places: Iterable[int]) -> list[list[int]]:
    """Return the sets of columns that are named alike but for a numbered worker: somewhere, or whose object it is inside.

    >>> sets_of_numbered(["rater1_tone", "rater2_tone", "tone_score", "note_1"], range(4))
    [[0, 1]]
    >>> sets_of_numbered(["id", "said.rater_1.tone", "said.rater_2.tone"], range(3))
    [[1, 2]]
    >>> sets_of_numbered([f"day{n // 2}_judge{n % 2}_mark" for n in range(4)], range(4))
    [[0, 1], [2, 3]]
    """
    stems: dict[str, list[int]] = {}
    for n in places:
        parts, path = re.split(r"([\s_\-.]+)", names[n]), names[n].split(".")
        ends = [(parts[0], "*" + "".join(parts[1:])), (parts[-1], "".join(parts[:-1]) + "*")] if len(parts) > 2 else []
        between = [(parts[k], "".join([*parts[:k], "*", *parts[k + 1 :]])) for k in range(2, len(parts) - 2, 2)]
        inside = [(part, ".".join([*path[:k], "*", *path[k + 1 :]])) for k, part in enumerate(path) if len(path) > 1]
        for stem in dict.fromkeys(stem for part, stem in [*ends, *between, *inside] if NUMBERED_WORKER.fullmatch(part)):
            stems.setdefault(stem, []).append(n)
    return [some for some in stems.values() if len(some) > 1]


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


def is_answered(names: Sequence[str], columns: Sequence[Sequence[str]], places: Sequence[int]) -> bool:
    """Return whether columns hold the labels of workers who answer one question."""
    cells = [cell for n in places for cell in columns[n] if not is_nothing(cell)]
    short = sum(map(len, cells)) <= LABEL_LENGTH * len(cells)
    every = all(any(not is_nothing(cell) for cell in columns[n]) for n in places)
    return every and short and are_classes(cells) and no_workers(names, columns, places) is None


def ends_with_conclusion(names: Sequence[str], columns: Sequence[Sequence[str]], workers: Sequence[int]) -> bool:
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
    workers, doubt, free, cells, may_be_known = meant_workers(names, columns, item)
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
        such += "".join(f"; {said}" for said, _ in said_of_known(names, may_be_known))
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
    if ends_with_conclusion(names, columns, workers):
        return workers[:-1], [n for n in free if n not in workers[:-1]], workers[-1]
    left, classes = [n for n in free if n not in workers], {word for n in workers for word in cells[n]}
    known = [n for n in left if is_known(names[n]) and not is_made(names[n]) and classes.issuperset(cells[n])]
    return workers, left, known[0] if len(known) == 1 else None


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


def same_answers(
    names: Sequence[str], columns: Sequence[Sequence[str]], workers: Sequence[int], must: str = NAME_AS_WELL
) -> list[str]:
    """Note the columns beside those that were named as workers' that hold nothing but the same labels, and what to do.

    >>> same_answers(["t", "a1", "a2", "eva"], [["u", "v"], ["y", "n"], ["y", "y"], ["n", "y"]], [1, 2])
    ["The same labels stand in 'eva'; a column of a worker must be named with --worker-columns as well."]
    >>> same_answers(["a1.tone", "a2.tone", "a1.mood", "a2.mood"], [["y", "n"]] * 4, [0, 1])  # another question
    []
    """
    parts = differing_parts(called := [names[n] for n in workers])
    theirs = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, parts))})(?![^\W_])") if parts != called else None
    said = {cell for n in workers for cell in columns[n] if not is_nothing(cell)}
    held = {n: {cell for cell in cells if not is_nothing(cell)} for n, cells in enumerate(columns) if n not in workers}
    held = {n: cells for n, cells in held.items() if theirs is None or theirs.search(names[n]) is None}
    same = [names[n] for n, cells in held.items() if len(cells) > 1 and cells <= said]
    return [f"The same labels stand in {listed(same)}; {must}."] if 0 < len(same) <= len(workers) else []  # else questions


def said_of_known(names: Sequence[str], known: Sequence[int]) -> list[tuple[str, str]]:
    """Return a sentence on columns that may hold the known answer, without its end, and a word for them; nothing if none do."""
    if not known:
        return []
    verb, them = ("is", "it") if len(known) == 1 else ("are", "them")
    said = f"{listed([names[n] for n in known])} {verb} filled where the others are mostly empty and may hold the known answer"
    return [(said, them)]


class Meant(NamedTuple):
    """What columns of a wide table are.

    Attributes
    ----------
    workers : list of int
        The columns of workers.
    sets : list of lists of int
        The sets of columns of which one could be meant instead.
    free : list of int
        All columns that name no items and hold something.
    cells : list of lists of str
        What each column says.
    known : list of int
        The columns that may hold the known answer.
    """

    workers: list[int]
    sets: list[list[int]]
    free: list[int]
    cells: list[list[str]]
    known: Sequence[int] = ()


def meant_workers(names: Sequence[str], columns: Sequence[Sequence[str]], item: int | None) -> Meant:
    """Return which columns are workers', or could be."""
    cells = _comparable(columns)
    free = [n for n, name in enumerate(names) if n != item and cells[n] and not names_items(name, n)]
    rest = [n for n in free if not is_known(names[n]) and not is_id(names[n])]
    numbered = [n for n in free if is_worker_name(names[n])]
    sets = sets_of_numbered(names, rest) if len(numbered) < 2 else []
    if len(sets) == 1:
        numbered = sets[0]
    if len(numbered) > 1:
        return Meant(numbered, [], free, cells)
    sets = _grid(names, columns, cells, rest) or _averaged(names, columns, rest)
    if sets := sets or questions_of_workers(names, rest, is_asking, lambda places: is_answered(names, columns, places)):
        return Meant([], sets, free, cells)
    held = Counter(cell for n in rest for cell in set(columns[n]))
    rest = [n for n in rest if len(rest) < 2 or not _is_other(columns[n], held)]  # alone there is none to compare it with
    if len(rest) < 2 or max(len(cells[n]) for n in rest) < ROWS_TO_COMPARE:
        return Meant(rest, [], free, cells)
    groups = sorted(alike_columns(cells, rest), key=len, reverse=True)
    if len(groups) > 1 and len(groups[0]) == len(groups[1]):
        return Meant([], [group for group in groups if len(group) == len(groups[0])], free, cells)
    said = [group for group in groups[1:] if len(group) > 1 and _are_flags_of(names, cells, groups[0], group)]
    if said:
        return Meant(said[0], [], free, cells)
    known = may_know(columns, groups[0])
    labels = _labels_of_workers(names, cells, groups[0])
    family = [] if known else labels[0] if labels else family_of(names, groups[0])
    rest_of = [[n for n in groups[0] if n not in family], *groups[1:]]
    like = [other for other in rest_of if len(other) == len(family) and "*" in as_pattern(names, other)]
    sets = [[n for n in groups[0] if n not in known]] if known else [family, *like] if family else []
    return Meant([] if known else groups[0], sets, free, cells, known)


def _grid(
    names: Sequence[str], columns: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], places: Sequence[int]
) -> list[list[int]]:
    """Return for each question the columns of numbered workers, some of whom may have answered nothing there."""
    bare = [n for n, own in enumerate(cells) if not own]
    sets = {tuple(some): [n for n in some if cells[n]] for some in sets_of_numbered(names, sorted([*places, *bare]))}
    return [[*some] for some, filled in sets.items() if len(filled) > 1 and is_answered(names, columns, filled)]


def _labels_of_workers(names: Sequence[str], cells: Sequence[Sequence[str]], places: Sequence[int]) -> list[list[int]]:
    """Return the columns that are called by a word for labels and a number or letter, and are answered in the same classes.

    Of others beside them, none may be meant, unless all columns are called so.

    >>> cells = [["6", "2", "3"], ["1", "2", "2"], ["1", "1", "2"], ["2", "1", "1"]]
    >>> _labels_of_workers(["Season", "Annotation_1", "Annotation_2", "Annotation_3"], cells, range(4))
    [[1, 2, 3]]
    >>> _labels_of_workers(["Season", "Episode_1", "Episode_2"], cells, range(3))
    []
    """
    by_word: dict[str, list[int]] = {}
    for n in places:
        found = A_NUMBERED_LABEL.fullmatch(names[n].strip())
        if found and ROLES["label"].is_named(found[1]):
            by_word.setdefault(found[1], []).append(n)
    sets = [some for some in by_word.values() if len(some) > 1 and len(alike_columns(cells, some)) == 1]
    return [some for some in sets if len(some) < len(places) and are_classes([cell for n in some for cell in cells[n]])]


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


def alike_columns(cells: Sequence[Sequence[str]], places: Sequence[int]) -> list[list[int]]:
    """Group columns that are answered in the same words, directly or by way of others: most of one is said in the other too.

    >>> alike_columns([["yes", "no"], ["no", "no"], ["31", "45"]], [0, 1, 2])
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
