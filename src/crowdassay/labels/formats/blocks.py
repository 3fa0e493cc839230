"""Columns of a form that are answered in the same words, and the patterns that pick them by their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from crowdassay.labels.contents import words_of
from crowdassay.labels.formats.not_workers import is_nothing
from crowdassay.labels.formats.stems import begin_alike
from crowdassay.labels.formats.wide_columns import linked

LEAST_QUESTIONS = 3  # columns from which on they may be answers to one question on several items
MOST_JOINED_WAYS = 6  # patterns that are proposed together
ODD_IN_WAYS = re.compile(r"[\[*'\"$`\\!,]")  # what means more in patterns, their lists and command lines


def blocks_alike(header: Sequence[str], columns: Mapping[int, Sequence[str]]) -> dict[str, list[int]]:
    """Return, by a pattern each, the columns that differ in a number and are answered in the same words, most columns first.

    >>> blocks_alike(["q1_tone", "q2_tone", "q3_tone", "age"], {0: "aab", 1: "bab", 2: "abb", 3: ["31", "45", "60"]})
    {'q*': [0, 1, 2]}
    >>> blocks_alike(["q1 a", "q1 b", "q2 a", "q2 b", "q3 a", "q3 b"], {n: ["xyx", "676"][n % 2] for n in range(6)})
    {'q* a': [0, 2, 4], 'q* b': [1, 3, 5]}
    >>> blocks_alike(["Is a so?", "Is b so?", "Is c so?", "How old?"], {0: "123", 1: "321", 2: "221", 3: ["1", "14", ""]})
    {'Is *': [0, 1, 2]}
    >>> [*blocks_alike([f"m{n // 3}_{n % 3}" for n in range(6)], dict.fromkeys(range(6), "aab"))]
    ['m0_*', 'm1_*']
    """
    names = {n: header[n] for n, cells in columns.items() if any(not is_nothing(cell) for cell in cells)}
    found: dict[str, list[int]] = {}
    for name in names.values():
        start = re.match(r"(\D+?)\s*\d", name)
        for way in ([f"{start[1].replace('[', '?')}*"] if start and words_of(start[1]) else []) + numbered_ways(name, name):
            if way not in found and way.count("*") == 1 and "'" not in way:
                group = [n for n, other in names.items() if fnmatchcase(other, way)]
                if not _are_of_several([names[n] for n in group]):
                    found[way] = group
    groups = [[list(names)[m] for m in group] for group in alike_places([columns[n] for n in names])]
    bare = {n for n in columns if n not in names}
    for alike in groups:
        times = Counter(word for n in alike for word in set(columns[n]))
        said = {n: [cell for cell in columns[n] if not is_nothing(cell)] for n in alike}
        group = [n for n in alike if 4 * sum(times[cell] == 1 for cell in said[n]) <= len(said[n])]  # 3 years are no grade
        if _are_of_several([header[n] for n in group]):
            continue
        if len(group) >= LEAST_QUESTIONS and (own_way := _shared_way(header, group, bare)) and own_way not in found:
            found[own_way] = group
    blocks: dict[str, list[int]] = {}
    same = {way: len({header[n] for n in group}) < len(group) for way, group in found.items()}  # hardly an item each
    for way, group in sorted(found.items(), key=lambda one: (same[one[0]], -len(one[1]))):
        own = not any(set(group) & set(other) for other in blocks.values())
        if own and answer_one(cells := [columns[n] for n in group]) and _share_words(cells):
            blocks[way] = group
    return blocks


def _are_of_several(names: Sequence[str]) -> bool:
    """Return whether names differ in two numbers, of which several come with each first: items of several questions.

    >>> _are_of_several(["m1_1", "m1_2", "m2_1", "m2_2"]), _are_of_several(["m1_5", "m2_5"]), _are_of_several(["1a 7", "2a 8"])
    (True, False, False)
    """
    numbers = [numbers for name in names if len(numbers := re.findall(r"\d+", name)) > 1]
    often = Counter(first for first, *_ in numbers)
    return sum(n >= LEAST_QUESTIONS - 1 for n in often.values()) > 1


def _shared_way(header: Sequence[str], group: Sequence[int], bare: Collection[int]) -> str | None:
    """Return a pattern, or some, that only the columns of a group have, besides ``bare`` ones without answers; else None.

    >>> _shared_way(["A [x] (old)", "B [y] (new)", "C [z]", "D (new)"], [0, 1], ())
    '*] (*'
    >>> _shared_way(["Tone [warm]", "Tone [cold]", "Plot [dull]", "Age [years]"], [0, 1, 2], ())
    'Tone ?*,Plot ?*'
    """
    names = [header[n] for n in group]

    def picks(*ways: str) -> bool:
        return {n for n, name in enumerate(header) if any(fnmatchcase(name, way) for way in ways)} - {*bare} == {*group}

    start, end = begin_alike(names), begin_alike([name[::-1] for name in names])[::-1]
    ends = [re.sub(r"\w+$", "", start) + "\0", "\0" + re.sub(r"^\w+", "", end)]  # whole words
    marks = sorted((mark.strip() for mark in re.findall(r"\W+", names[0])), key=lambda mark: ("]" not in mark, len(mark)))
    parts = [f"\0{part}\0" for part in (*filter(None, marks), *re.findall(r"\w{3,}", names[0]))]
    ways = [*(way for way in ends if words_of(way)), *parts]
    whole = [ODD_IN_WAYS.sub("?", way).replace("\0", "*") for way in ways]
    grids = list(dict.fromkeys(f"{ODD_IN_WAYS.sub('?', name.partition('[')[0])}?*" for name in names if "[" in name))
    rest = [name for name in names if "[" not in name]
    joint = grids if len(grids) <= MOST_JOINED_WAYS and not rest and picks(*grids) else []
    return next(filter(picks, whole), ",".join(joint or _own_beginnings(header, group, bare)) or None)


def _own_beginnings(header: Sequence[str], group: Sequence[int], bare: Collection[int]) -> list[str]:
    """Return the fewest words that some columns of a group begin with and no others do, each a pattern; none if there are many.

    >>> _own_beginnings(["How warm?", "How cold?", "Overall, how?", "Howard"], [0, 1, 2], ())
    ['How *', 'Overall*']
    """
    others = [name for n, name in enumerate(header) if n not in group and n not in bare]
    ways: list[str] = []
    for name in (header[n] for n in group):
        if any(fnmatchcase(name, way) for way in ways):
            continue
        ends = [word.end() for word in re.finditer(r"[^\W_]+", name)]
        tried = [ODD_IN_WAYS.sub("?", name[:end]) + (" *" if name[end : end + 1] == " " else "*") for end in ends]
        if (way := next((one for one in tried if not any(fnmatchcase(other, one) for other in others)), None)) is None:
            return []
        ways.append(way)
    return ways if len(ways) <= min(MOST_JOINED_WAYS, len(group) - 1) else []


def _share_words(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether several columns share two words at least; boxes to tick, each with a word of its own, do not."""
    times = Counter(word for column in columns for word in set(column) if not is_nothing(word))
    return sum(often > 1 for often in times.values()) > 1


def numbered_ways(code: str, name: str) -> list[str]:
    """Return the patterns of questions whose codes differ from one in a number; brackets, which mean more, are any sign.

    >>> numbered_ways("R1Q12", "R1Q12. Is it clear?"), numbered_ways("Q[SQ001]", "Q[SQ001]")
    (['R*Q12. *', 'R1Q*. *'], ['Q?SQ*]'])
    """
    parts, end = re.split(r"(\d+)", code.replace("[", "?")), ". *" if name != code else ""
    return ["".join([*parts[:n], "*", *parts[n + 1 :]]) + end for n in range(1, len(parts), 2)]


def answer_one(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether several columns, or most of them, are answered in the same words."""
    most = max(map(len, alike_places(columns)), default=0)
    return len(columns) >= LEAST_QUESTIONS and are_alike(columns) and 2 * most > len(columns)


def are_alike(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether several columns hold few different answers.

    >>> are_alike([["yes", "no"], ["no", "no"]]), are_alike([["31", "45"], ["60", "31"]])
    (True, False)
    """
    given = [cell for column in columns for cell in column if not is_nothing(cell)]
    return len(columns) > 1 and len(set(given)) <= len(given) / 2


def alike_places(columns: Sequence[Sequence[str]]) -> list[list[int]]:
    """Group columns that are answered in the same words, directly or by way of others.

    >>> alike_places([["yes", "no"], ["no", "no"], ["31", "45"]])
    [[0, 1], [2]]
    """
    words = [{cell for cell in column if not is_nothing(cell)} for column in columns]
    return linked((n for n, own in enumerate(words) if own), lambda n, m: not words[n].isdisjoint(words[m]))
