"""Which columns of a table are proposed as those of workers who answer one question, and with which options."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

import numpy as np

from crowdassay.errors import ColumnError
from crowdassay.labels.contents import LABEL_LENGTH, is_kind, is_known, is_made, words_of
from crowdassay.labels.formats.not_workers import (
    are_flags,
    are_strangers,
    counted_votes,
    is_nothing,
    no_workers,
    said_again,
    settings,
)
from crowdassay.labels.formats.stems import patterns_of
from crowdassay.labels.formats.wide_columns import (
    UNLESS_WORKERS,
    WAYS_LISTED,
    alike_columns,
    are_classes,
    ends_with_conclusion,
    is_answered,
    meant_workers,
    said_of_known,
    sets_of_numbered,
    ways_of,
)
from crowdassay.labels.formats.wide_items import choose_item, item_option
from crowdassay.labels.proposals import PEOPLE
from crowdassay.labels.roles import ROLES, is_worker_name
from crowdassay.labels.values import counted, listed
from crowdassay.read_options import ReadOptions

COLUMNS_LISTED = 8  # that a proposal would take for workers


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
    meant = meant_workers(names, columns, item)
    doubt, workers = meant.sets, meant.workers
    chosen = doubt[0] if doubt else workers
    if len(chosen) < 2 or len(columns[0]) < 2 or not all(names[n].strip() for n in chosen):
        return []
    if not are_classes([cell for n in chosen for cell in meant.cells[n]]):
        return []
    if np.mean([len(cell) for n in chosen for cell in meant.cells[n]]) > LABEL_LENGTH:
        return []
    sets = [_sifted(names, columns, some) for some in doubt or [workers]]
    if all(len(some) < 2 for some in sets) and (reason := no_workers(names, columns, chosen)) is not None:
        raise ColumnError(f"{reason}; {UNLESS_WORKERS}.")
    sets = _as_one(names, meant.cells, sets)
    sets = [some for some in sets if len(some) > 1 and _beside_label(names, meant.cells, some)]
    sets = [some for some in sets if all(is_worker_name(names[n]) for n in some) or not are_strangers(columns, some)]
    if not sets:
        return []
    why = [no_workers(names, columns, some) for some in sets]
    may = [some for some, reason in zip(sets, why, strict=True) if reason is None]
    reason = why[0] if not may else counted_votes(names, columns, workers) if doubt and workers else None
    if reason is not None:
        raise ColumnError(f"{reason}; {UNLESS_WORKERS}.")
    ways = [(some, "--from wide" if some == workers else ways_of(names, [some])) for some in may]
    ways = [(some[:-1] if ends_with_conclusion(names, columns, some) else some, way) for some, way in ways]
    ways = [(some, way and way + item_option(names, columns, some)) for some, way in ways]
    ways = [(some, way and way + _or_with_more(names, columns, some, ways)) for some, way in ways]
    return [*_told(names, ways), *(f"{said}; if not, name {them} too" for said, them in said_of_known(names, meant.known))]


def _as_one(names: Sequence[str], cells: Sequence[Sequence[str]], sets: list[list[int]]) -> list[list[int]]:
    """Return sets of columns as one where every number stands in one of them: workers of two kinds, who have one question.

    >>> names = ["label_1_M", "label_2_F", "label_3_M", "label_4_F", "mood_1", "mood_2"]
    >>> _as_one(names, ["ab"] * 4 + ["cd"] * 2, [[0, 2], [1, 3]]), _as_one(names, ["ab"] * 4 + ["cd"] * 2, [[0, 1], [4, 5]])
    ([[0, 1, 2, 3]], [[0, 1], [4, 5]])
    """
    numbers = [number for some in sets for n in some for number in re.findall(r"\d+", names[n])]
    every = sorted(n for some in sets for n in some)
    once = len(sets) > 1 and len(numbers) == len(set(numbers)) == len(every)
    return [every] if once and len(alike_columns(cells, every)) == 1 else sets


def _or_with_more(
    names: Sequence[str],
    columns: Sequence[Sequence[str]],
    chosen: Sequence[int],
    ways: Sequence[tuple[Sequence[int], str]],
) -> str:
    """Return the options that read columns beside those chosen as well, which are named like them and may be workers' too.

    Beside numbered columns that is the one without a number, unless it holds fractions, as a mean does.

    >>> _or_with_more(["text", "ann_hs", "bo_hs", "gpt_hs"], ["a", "x", "x", "y"], [1, 2], [([1, 2], "--from wide")])
    " (or --worker-columns '*_hs' if 'gpt_hs' is a worker's too)"
    >>> _or_with_more(["type", "type1", "type2"], [["1"], ["2"], ["1"]], [1, 2], [([1, 2], "")])
    " (or --worker-columns 'type*' if 'type' is a worker's too)"
    >>> _or_with_more(["type", "type1", "type2"], [["1.5"], ["2"], ["1"]], [1, 2], [([1, 2], "")])
    ''
    """
    taken = {n for some, _ in ways for n in some}
    for pattern in patterns_of(names[chosen[0]]):
        shape = re.compile(
            re.escape(pattern).replace(r"\*", r"\d*") if re.search(r"\d", names[chosen[0]]) else fnmatch.translate(pattern)
        )
        like = [n for n, name in enumerate(names) if shape.fullmatch(name)]
        made = {n for n in like if is_known(names[n]) or is_made(names[n]) or any("." in cell for cell in columns[n])}
        more = [n for n in like if n not in taken | made]
        if more and {*chosen} <= {*like} == {*chosen, *more} and len(more) < len(chosen):
            verb = "is a worker's" if len(more) == 1 else "are workers'"
            return f" (or {ways_of(names, [like])} if {listed([names[n] for n in more])} {verb} too)"
    return ""


def _sifted(names: Sequence[str], columns: Sequence[Sequence[str]], chosen: Sequence[int]) -> list[int]:
    """Return some columns without those that are hardly workers': what is the same in all rows, flags, what is said again.

    What is numbered like workers is theirs whatever it holds.

    >>> rows = [[str(n % 12), f"{n % 12}.5", str(n * 5 % 12), "x", "x"] for n in range(24)]
    >>> _sifted("abcde", list(zip(*rows)), [0, 1, 2]), _sifted("abcde", list(zip(*rows)), [3, 4])
    ([0, 2], [])
    """
    if all(is_worker_name(names[n]) for n in chosen):
        return [*chosen]
    if all(len({cell for cell in columns[n] if not is_nothing(cell)}) < 2 for n in chosen):
        return []
    of_judges = [n for n in chosen if _is_of_judges(names, columns, n)]
    out = {*are_flags(names, columns, chosen), *said_again(columns, chosen), *of_judges, *settings(names, columns, chosen)}
    return [n for n in chosen if n not in out]


def _is_of_judges(names: Sequence[str], columns: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column is called after people, who come again, or tells what is the same in all rows of one.

    >>> rows = [("ann", "5", "1"), ("ann", "5", "2"), ("bo", "3", "1"), ("bo", "3", "2")]
    >>> [_is_of_judges(["reader", "years", "tone"], list(zip(*rows)), n) for n in range(3)]
    [False, True, False]
    """
    people = [n for n, name in enumerate(names) if n != place and words_of(name) and {*words_of(name)} <= PEOPLE]
    for n in people if not any(names[n][-1:].isdecimal() for n in [*people, place]) else ():
        whose = {*zip(columns[n], columns[place], strict=True)}
        if 1 < len({*columns[n]}) == len(whose) <= len(columns[n]) / 2:
            return True
    return False


def _beside_label(names: Sequence[str], cells: Sequence[Sequence[str]], chosen: Sequence[int]) -> bool:
    """Return whether columns may be workers' beside those that are called labels, which hold everybody's if there are any.

    Then they are called after workers, or at least two of them are answered in the same classes.

    >>> _beside_label(["vote", "week", "ann", "bob"], ["xyyx", "1212", "yxyy", "xxyx"], [2, 3])
    True
    >>> _beside_label(["vote", "raw", "week"], ["xyyx", "1212", "2312"], [1, 2])
    False
    """
    labels = [n for n, name in enumerate(names) if ROLES["label"].is_named(name) and not is_kind(name)]
    called = [n for n in labels if are_classes(cells[n]) and len(set(cells[n])) > 1]
    besides = [n for n in chosen if n not in called]
    if not called or all(_is_called_worker(names[n]) for n in besides):
        return True
    return len(besides) > 1 and any(len(alike_columns(cells, [*besides, n])) == 1 for n in called)


def _is_called_worker(name: str) -> bool:
    """Return whether a name has a word for workers in it, or is that of a numbered one."""
    return is_worker_name(name) or not {*ROLES["worker"].words}.isdisjoint(words_of(name))


def numbered_proposal(names: Sequence[str], columns: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return the options for columns of answers that end in numbered workers, whoever else is named.

    Of ``columns``, where they are given, only those count that hold labels.

    >>> numbered_proposal(["id", "user", "tag_ann1", "tag_ann2", "note_1"])
    ["if 'tag_ann1', 'tag_ann2' are workers who answer one question, say --worker-columns 'tag_ann*'"]
    """
    sets = sets_of_numbered(names, range(len(names)))
    if columns:
        sets = [places for places in sets if is_answered(names, columns, places)]
    return _told(names, [(places, ways_of(names, [places])) for places in sets])


def _told(names: Sequence[str], ways: Sequence[tuple[Sequence[int], str]]) -> list[str]:
    """Return a sentence for each set of columns, with the options that read it."""
    said = [f"if {listed([names[n] for n in some], COLUMNS_LISTED)} are{{}}, say {way}" for some, way in ways if way]
    more = " workers who answer one question"
    told = [one.format(more if n == 0 else "") for n, one in enumerate(said[:WAYS_LISTED])]
    further = len(said) - WAYS_LISTED
    return [*told, f"and so on for {counted(further, 'question')} more"] if further > 0 else told
