"""Columns that are named alike: those of some workers by a pattern, and those of several workers for several questions.

Such a table has a column for each of both: A1 tone, A2 tone, A1 style, A2 style.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile

from crowdassay.labels.contents import is_known, is_made, words_of
from crowdassay.labels.roles import NUMBERED_WORKER
from crowdassay.labels.values import shown

GAP = re.compile(r"[\s_\-.]+")
INITIALS = re.compile(r"[a-z]{1,2}", re.IGNORECASE)
LETTER_AND_NUMBER = re.compile(r"[a-pr-z]?\d{1,2}", re.IGNORECASE)  # such as A1; Q1 is a question
SIDE_PARTS = ({"a", "b"}, {"left", "right"}, {"winner", "loser"})
COMPUTED_WORDS = frozenset(
    {"mean", "avg", "average", "std", "stdev", "stddev", "sd", "var", "median", "sum", "total", "count", "final"}
)
NUMBER, FIRST, LAST, ALL_BUT_LAST = PARTS = ("number at the end", "first word", "last word", "all but the last word")
LEAST_FAMILY = 3  # columns of like names beside which another is hardly a worker's
TIMES = frozenset({"pre", "post", "before", "after", "old", "new", "start", "end", "min", "max"})


def questions_of_workers(
    names: Sequence[str],
    places: Sequence[int],
    is_question: Callable[[str], bool],
    is_answered: Callable[[Sequence[int]], bool],
) -> list[list[int]]:
    """Return for every question the columns of its workers, where the same workers come with several questions.

    What varies is the worker if it is a number or initials, or if it is no word for a question and what stays the same is.

    Parameters
    ----------
    names : sequence of str
    places : sequence of int
        The columns that may be labels.
    is_question : callable
        Returns whether a word is one that questions are called by, and hardly anybody is.
    is_answered : callable
        Returns whether columns hold labels.

    Examples
    --------
    >>> names = ["id", "clear", "clear_e", "clear_w", "kind_e", "kind_w", "year"]
    >>> questions_of_workers(names, range(1, 7), "kind".__eq__, bool)
    [[2, 3], [4, 5]]
    >>> questions_of_workers(["why_1", "why_2", "why_sub1", "why_sub2", "what1", "what2"], range(6), "what".__eq__, bool)
    [[0, 1], [2, 3], [4, 5]]
    """
    usable = [
        n for n in places if not (COMPUTED_WORDS.intersection(words_of(names[n])) or is_known(names[n]) or is_made(names[n]))
    ]
    found: list[dict[str, dict[str, int]]] = []
    for sets in filter(None, (_same_parts(names, usable, part) for part in PARTS)):
        if _groups(sets) not in map(_groups, found):
            found.append(sets)
    sure = [sets for sets in found if _are_initials(next(iter(sets.values())))]
    people = [sets for sets in found if not any(map(is_question, next(iter(sets.values()))))]
    best = sure[:1] if len(sure) == 1 else people if len(people) == 1 and len(found) > 1 else []
    if not best:
        return []
    every = [*(_turned(best[0]) if _are_initials(best[0]) else ()), *best[0].values()]
    return [places for by_part in every if is_answered(places := sorted(by_part.values()))]


def _turned(sets: Mapping[str, Mapping[str, int]]) -> list[dict[str, int]]:
    """Return the columns by what was their part, where their stems may be workers as well: C1 and D1, C2 and D2.

    >>> _turned({"C": {"1": 0, "2": 1}, "D": {"1": 2, "2": 3}})
    [{'C': 0, 'D': 2}, {'C': 1, 'D': 3}]
    """
    parts = next(iter(sets.values()))
    return [{stem: by_part[part] for stem, by_part in sets.items()} for part in parts]


def numbered_parts(names: Sequence[str], places: Sequence[int]) -> dict[str, dict[str, int]]:
    """Return by stem the columns by the number at the end of their names, of stems with the same numbers most often.

    >>> numbered_parts(["new-s1", "new-s2", "new-s", "new-n1", "new-n2", "year"], range(6))
    {'new-s': {'1': 0, '2': 1}, 'new-n': {'1': 3, '2': 4}}
    """
    by_stem: dict[str, dict[str, int]] = defaultdict(dict)
    for n in places:
        if found := re.fullmatch(r"(.*[^\d\s_\-.])(\d{1,2})", names[n].strip()):
            by_stem[found[1]][found[2]] = n
    return _commonest({stem: by_part for stem, by_part in by_stem.items() if len(by_part) > 1})


def _commonest(sets: Mapping[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Return the stems with the same parts that are the most; none where hardly any two have the same."""
    by_parts: dict[frozenset[str], dict[str, dict[str, int]]] = defaultdict(dict)
    for stem, by_part in sets.items():
        by_parts[frozenset(by_part)][stem] = by_part
    best: Mapping[str, dict[str, int]] = max(by_parts.values(), key=len, default={})
    return dict(best) if len(best) > 1 else {}


def _groups(sets: Mapping[str, Mapping[str, int]]) -> list[list[int]]:
    return sorted(sorted(by_part.values()) for by_part in sets.values())


def _same_parts(names: Sequence[str], places: Sequence[int], which: str) -> dict[str, dict[str, int]]:
    """Return by stem the columns by the part of their names that is no stem, of stems with the same parts most often."""
    by_stem: dict[str, dict[str, int]] = defaultdict(dict)
    for n in places:
        name = names[n].strip()
        if which == NUMBER:
            if found := re.fullmatch(r"(.*\D)(\d{1,2})", name):
                by_stem[found[1]][found[2]] = n
            elif f"{name}.1" in names:  # of columns that were called alike pandas and R number all but the first
                by_stem[f"{name}."]["0"] = n
            continue
        gaps = [gap for gap in GAP.finditer(name) if gap.start() and gap.end() < len(name)]
        if not gaps or (which == ALL_BUT_LAST and len(gaps) == 1):  # which is the first word
            continue
        gap = gaps[0] if which == FIRST else gaps[-1]
        part, stem = (name[gap.end() :], name[: gap.end()]) if which == LAST else (name[: gap.start()], name[gap.start() :])
        by_stem[stem][part.casefold()] = n
    parted: dict[str, dict[str, int]] = {}
    for stem, every in by_stem.items():
        numbered = {part: n for part, n in every.items() if part[-1:].isdecimal()}  # the others were made of them
        by_part = numbered if len(numbered) > 1 else every
        decided = any(is_known(name) and name.endswith(stem) for name in names)  # so that these are workers, and no sides
        if len(by_part) > 1 and (decided or by_part.keys() not in SIDE_PARTS) and not TIMES & by_part.keys():
            parted[stem] = by_part
    return _commonest(parted)


def _are_initials(parts: Collection[str]) -> bool:
    """Return whether parts of names are the numbers or the initials of workers.

    >>> [_are_initials(parts) for parts in ({"A1", "A2"}, {"e", "w"}, {"1", "2"}, {"rater1", "rater2"}, {"ann", "bob"})]
    [True, True, True, True, False]
    """
    return any(all(map(pattern.fullmatch, parts)) for pattern in (INITIALS, LETTER_AND_NUMBER, NUMBERED_WORKER))


def family_of(names: Sequence[str], places: Sequence[int]) -> list[int]:
    """Return those of some columns that are named alike, as ``justice_*``, where others are not; none if all or hardly any are.

    >>> family_of(["judge_a", "judge_b", "judge_c", "decision"], [0, 1, 2, 3]), family_of(["ann", "bob", "carl_x"], [0, 1, 2])
    ([0, 1, 2], [])
    >>> family_of(["label_a", "label_b", "sure_a", "sure_b"], [0, 1, 2, 3]), family_of(["rater 1", "rater 2"], [0, 1])
    ([0, 1], [])
    >>> family_of(["1ann", "2ann", "3bob", "4bob", "5cy"], [0, 1, 2, 3, 4])
    []
    """
    found = [[n for n in places if fnmatchcase(names[n], way)] for place in places for way in patterns_of(names[place])]
    if not found or max(map(len, found)) == len(places):
        return []
    best = max(found, key=len)
    alone = {one[0] for one in found if len(one) == 1} - {n for one in found for n in one if len(one) > 1}
    apart = any(len(other) > 1 and not set(other) & set(best) for other in found)
    apart = apart and not any(names[n][:1].isdecimal() for n in alone)  # people with a number each, some of them twice
    return best if len(best) > 1 and (apart or (len(best) >= LEAST_FAMILY and 2 * len(best) > len(places))) else []


def patterns_of(name: str) -> list[str]:
    """Return patterns that a name shares with names like it: without its numbers, its first word, its last.

    >>> patterns_of("rater1_tone"), patterns_of("justice_roberts"), patterns_of("ann")
    (['rater*_tone'], ['justice_*', '*_roberts'], [])
    """
    if "[" in name:  # which begins a set of characters in a pattern
        return []
    if re.search(r"\d", name):
        return [re.sub(r"\d+", "*", name)]
    parts = re.split(r"([\s_\-.]+)", name)
    return [f"{parts[0]}{parts[1]}*", f"*{parts[-2]}{parts[-1]}"] if len(parts) > 2 else []


def _longest_patterns(name: str) -> list[str]:
    """Return patterns that a name shares with names that differ in the last word, or in the first.

    >>> _longest_patterns("has_claim_e"), _longest_patterns("ann")
    (['has_claim_*', '*_claim_e'], [])
    """
    parts = re.split(r"([\s_\-.]+)", name)
    ends = ["".join(parts[:-1]) + "*", "*" + "".join(parts[1:])]
    return ends if len(parts) > 2 and "[" not in name else []


def _without_a_number(name: str) -> list[str]:
    """Return patterns that a name of several numbers shares with names that differ in one of these.

    >>> _without_a_number("day1_judge2"), _without_a_number("judge2")
    (['day*_judge2', 'day1_judge*'], [])
    """
    parts = re.split(r"(\d+)", name)
    ways = ["".join([*parts[:n], "*", *parts[n + 1 :]]) for n in range(1, len(parts), 2)]
    return ways if len(ways) > 1 and "[" not in name else []


def names_of_workers(names: Sequence[str], chosen: Sequence[int]) -> tuple[list[str], list[str]]:
    """Return what the workers of some columns are called, and a note on that where it is not what the columns are.

    It is the part of the names that differs, where other columns have it too, so that they are the same workers'. Single
    letters and bare numbers name nobody.

    >>> names_of_workers(["id", "A1 tone", "A2 tone", "A1 style", "A2 style"], [1, 2])[0]
    ['A1', 'A2']
    >>> names_of_workers(["kind (Coder 1)", "kind (Coder 2)", "how sure? (Coder 2)"], [0, 1])[0]
    ['Coder 1', 'Coder 2']
    >>> names_of_workers(["A1 tone", "A2 tone", "year"], [0, 1])
    (['A1 tone', 'A2 tone'], [])
    """
    called = [names[n] for n in chosen]
    parts = differing_parts(called)
    if parts == called or not all(len(part) > 1 and not part.isdecimal() for part in parts):
        return called, []
    others = [name for n, name in enumerate(names) if n not in chosen]
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for part in parts:
        whole = re.compile(rf"(?<![^\W_]){re.escape(part)}(?![^\W_])")
        for name in others:
            for at in whole.finditer(name):
                found[f"{name[: at.start()]}\0{name[at.end() :]}"].append((part, name))
    same = [one for ones in found.values() for one in ones if len(ones) > 1 or NUMBERED_WORKER.fullmatch(one[0])]
    if not same:
        return called, []
    part, other = same[0]
    said = f"{shown(part)} for {shown(called[parts.index(part)])}, as {shown(other)} has it too"
    return parts, [f"Workers are called by the part that differs in the names of their columns: {said}."]


def differing_parts(names: Sequence[str]) -> list[str]:
    """Return the part of each name that differs, as whole words, with the word for a worker before a number.

    >>> differing_parts(["say.judge_1.tone", "say.judge_2.tone"]), differing_parts(["ab_x", "cb_x"]), differing_parts(["a"])
    (['judge_1', 'judge_2'], ['ab', 'cb'], ['a'])
    """
    if len(names) < 2:
        return list(names)
    start = begin_alike(names)
    end = begin_alike([name[len(start) :][::-1] for name in names])[::-1]
    start, end = re.sub(r"[^\W_]+$", "", start), re.sub(r"^[^\W_]+", "", end)  # whole words
    parts = [name[len(start) : len(name) - len(end)] for name in names]
    before = re.search(r"[^\W_]+[\s_\-]*$", start)
    numbered = [f"{before[0]}{part}" for part in parts] if before else []
    return numbered if numbered and all(map(NUMBERED_WORKER.fullmatch, numbered)) else parts


def begin_alike(names: Sequence[str]) -> str:
    """Return the letters that all of some names begin with.

    >>> begin_alike(["rater1", "rating"])
    'rat'
    """
    return "".join(marks[0] for marks in takewhile(lambda marks: len(set(marks)) == 1, zip(*names, strict=False)))


def as_pattern(names: Sequence[str], places: Sequence[int]) -> str:
    """Return what ``--worker-columns`` takes for some columns: a pattern where one fits them alone, else their names.

    >>> as_pattern(["id", "rater1", "rater2", "sure1"], [1, 2]), as_pattern(["ann", "bob", "c"], [0, 1])
    ('rater*', 'ann,bob')
    """
    shared = [*patterns_of(names[places[0]]), *_longest_patterns(names[places[0]]), *_without_a_number(names[places[0]])]
    for way in dict.fromkeys([*shared, *(way for place in places[1:] for way in patterns_of(names[place]))]):
        if [n for n, name in enumerate(names) if fnmatchcase(name, way)] == list(places):
            return way
    return ",".join(names[n] for n in places)
