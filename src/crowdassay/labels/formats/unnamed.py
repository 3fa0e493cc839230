"""Lists of labels that name no workers, whose places may tell them, and lists of workers, one for each class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.choices import choices_of
from crowdassay.labels.contents import is_id, words_of
from crowdassay.labels.formats.foreign import PLAIN_TABLE, SPAN_COLUMNS
from crowdassay.labels.formats.not_workers import LEAST_ROWS_SHARED
from crowdassay.labels.formats.parse import as_list, as_name, objects, parsed
from crowdassay.labels.formats.wide_columns import are_classes
from crowdassay.labels.proposals import PEOPLE
from crowdassay.labels.roles import ROLES, plain_name
from crowdassay.labels.values import are_numbers, listed, shown

MOST_PLACES = 20  # labels in a list, up to which the first may always be the same worker's
LABELS = frozenset(f"{word}{plural}" for word in ROLES["label"].words for plural in ("", "s"))


def unnamed_lists(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys of lists that hold labels without workers: one called after labels, then all of the same lengths.

    >>> unnamed_lists([{"choices": [4, 4], "odd": ["y", "n"], "tokens": ["a"]}, {"choices": [1, 2], "odd": ["n", "n"]}])
    ['choices', 'odd']
    >>> unnamed_lists([{"labels": ["a", "b"]}, {"labels": ["b"]}])
    []
    """
    keys = dict.fromkeys(key for record in records for key in record)
    held = {key: [as_list(parsed_list(record.get(key))) for record in records] for key in keys}
    first = next((key for key, lists in held.items() if _is_called_label(key) and _hold_labels(lists)), None)
    alike = [key for key, lists in held.items() if first is not None and list(map(len, lists)) == list(map(len, held[first]))]
    if first is None or any(map(_names_people, alike)):
        return []
    of_objects = any(map(objects, held[first]))
    return [first, *(key for key in alike if key != first and not of_objects and _hold_labels(held[key]))]


def parsed_list(cell: Any) -> Any:
    """Return the list that a cell of a table holds as text, and all else as it is."""
    if not isinstance(cell, str) or not cell.strip().startswith("["):
        return cell
    return parsed(cell) if "{" in cell else choices_of([cell])[cell]


def _is_called_label(key: str) -> bool:
    return plain_name(key) in LABELS or not LABELS.isdisjoint(words_of(key))


def _names_people(key: str) -> bool:
    """Return whether a key may be called after people, or after ids.

    >>> [_names_people(key) for key in ("annotator_ids", "pids", "voters", "rater", "choices", "annotations")]
    [True, True, True, True, False, False]
    """
    one = key.removesuffix("s")
    return is_id(one) or bool(ROLES["worker"].best([one])) or not PEOPLE.isdisjoint(words_of(one)[:1])


def _hold_labels(lists: Sequence[Sequence[Any]]) -> bool:
    """Return whether most lists hold several labels: objects of the same answers, or values some of which come twice in one."""
    if 2 * sum(len(one) > 1 for one in lists) <= len(lists):
        return False
    cells = [cell for one in lists for cell in one]
    if any(isinstance(cell, list) for cell in cells):
        return False
    if all(isinstance(cell, dict) and cell for cell in cells):
        columns = [[cell.get(key) for cell in cells] for key in cells[0]]
        named = any(ROLES["item"].is_named(key) or _names_people(key) for key in cells[0])
        named = named or any(set(ends) <= set(map(plain_name, cells[0])) for ends in SPAN_COLUMNS)  # which are no classes
        return (
            len(lists) > 1
            and not named
            and all(cell.keys() == cells[0].keys() for cell in cells)
            and 2 * sum(map(are_labels, columns)) > len(columns)
        )
    return are_labels(cells) and any(len(set(map(as_name, one))) < len(one) for one in lists)


def are_labels(cells: Iterable[Any]) -> bool:
    """Return whether what is there are classes or numbers."""
    given = [as_name(cell) or "" for cell in cells if cell is not None]
    return are_classes(given) or (bool(given) and are_numbers(given))


def said_of_lists(records: Sequence[Mapping[str, Any]], way: str = "") -> tuple[str, str] | None:
    """Return what lists of labels lack and what to do, such as the ``way`` to read places in them; None without such lists."""
    if not (names := unnamed_lists(records)):
        return None
    what = f"{shown(names[0])} lists labels without saying who gave which"
    size = _only_size(records, names[0])
    if not way or size is None or size > MOST_PLACES or len(records) < LEAST_ROWS_SHARED:
        return what, f"give {PLAIN_TABLE}"
    return what, (
        f"if the first, the second ... of every list are always the same worker's, say {way}; otherwise give {PLAIN_TABLE}"
    )


def _only_size(records: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """Return how many entries all lists have, None where they differ; one that is empty or missing holds no labels."""
    sizes = {len(as_list(parsed_list(record.get(name)))) for record in records} - {0}
    return sizes.pop() if len(sizes) == 1 else None


def places_in_lists(records: Sequence[Mapping[str, Any]], source: str) -> tuple[str, list[list[dict[str, list[Any]]]]] | None:
    """Return the key of the lists of labels, and for each record and each place in its lists the answers to each question.

    >>> places_in_lists([{"votes": ["y", "y"]}, {"votes": ["n", "y"]}], "a.json")
    ('votes', [[{'votes': ['y']}, {'votes': ['y']}], [{'votes': ['n']}, {'votes': ['y']}]])
    """
    if not (names := unnamed_lists(records)):
        return None
    if _only_size(records, names[0]) is None:
        raise DataError(
            f"In {source} {shown(names[0])} lists labels without saying who gave which, and the lists differ in length; give "
            f"{PLAIN_TABLE}."
        )
    answers = []
    for record in records:
        lists = [as_list(record.get(name)) for name in names]
        if objects(lists[0]):
            answers.append([{key: as_list(cell) for key, cell in one.items()} for one in lists[0]])
        else:
            given = zip(*lists, strict=True)
            answers.append([{name: as_list(cell) for name, cell in zip(names, cells, strict=True)} for cells in given])
    return names[0], answers


def lists_by_class(record: Mapping[str, Any]) -> dict[str, str]:
    """Return by class the keys of lists that may tell who chose it: a word for workers, and the class.

    >>> lists_by_class({"raters_rude": [4, 8], "raters_not_rude": [], "rater_ids": [4, 8], "raters": [4], "rater_1": "a"})
    {'rude': 'raters_rude', 'not_rude': 'raters_not_rude'}
    """
    pattern = re.compile(rf"(?:{'|'.join(ROLES['worker'].words)})s?[\s_\-.]+(.+)", re.IGNORECASE)
    lists = (name for name, value in record.items() if isinstance(value, list))
    found = {match[1]: name for name in lists if (match := pattern.fullmatch(name)) and not _names_people(match[1])}
    return found if len(found) > 1 else {}


def workers_by_class(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], list[str]]:
    """Return by class the keys of lists of workers, each in one of them at most, and the keys that list some of these again.

    >>> records = [{"raters_yes": ["a", "b"], "raters_no": ["c"], "raters_sure": ["b"]}, {"raters_yes": [], "raters_no": ["a"]}]
    >>> workers_by_class([*records, *records, *records])
    ({'yes': 'raters_yes', 'no': 'raters_no'}, ['raters_sure'])
    """
    found = lists_by_class({key: value for record in records for key, value in record.items() if value is not None})
    lists = {key: [as_list(record.get(key)) for record in records] for key in found.values()}
    if len(records) < LEAST_ROWS_SHARED or any(isinstance(who, dict | list) for each in lists.values() for who in chain(*each)):
        return {}, []
    said = {key: [set(map(as_name, who)) for who in each] for key, each in lists.items() if any(each)}
    again = [key for key in said if any(_are_among(said[key], other) for other in said.values() if other != said[key])]
    classes = {label: key for label, key in found.items() if key in said and key not in again}
    # A worker chooses one class of an item, and another of another: lists of other things have nothing in common.
    chosen = [[as_name(who) for key in classes.values() for who in lists[key][n]] for n in range(len(records))]
    people = [set(chain(*said[key])) for key in classes.values()]
    shared = all(own & set(chain(*people[:n], *people[n + 1 :])) for n, own in enumerate(people))
    return (classes, again) if shared and len(people) > 1 and all(len(set(one)) == len(one) for one in chosen) else ({}, [])


def judged_by_class(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], str]:
    """Return by class the keys of lists of objects that name who chose it, and their key for the worker; nothing of others.

    These objects are alike and hold no label. Of an item a worker is in one of the lists, hardly in several: comments, or what
    was said in two rounds, would have everyone in each.

    >>> said = [{"yes": [{"rater": n % 3, "why": "x"}], "no": [{"rater": (n + 1) % 3, "why": "y"}]} for n in range(5)]
    >>> judged_by_class(said), judged_by_class([{"yes": one["yes"], "no": one["yes"]} for one in said])
    (({'yes': 'yes', 'no': 'no'}, 'rater'), ({}, ''))
    """
    held: dict[str, list[tuple[int, list[Any]]]] = {}
    for n, record in enumerate(records):
        for key, value in record.items():
            if as_list(value):
                held.setdefault(key, []).append((n, as_list(value)))
    alike: dict[tuple[str, frozenset[str]], list[str]] = {}
    for key, lists in held.items():
        inside = [one for _, each in lists for one in each]
        named = {worker_key(one) if isinstance(one, dict) else None for one in inside}
        if len(named) == 1 and None not in named and not questions_in(inside, None):
            alike.setdefault((str(next(iter(named))), frozenset(chain(*inside))), []).append(key)
    several = [(who, found) for (who, _), found in alike.items() if len(found) > 1]
    if len(several) != 1 or len(records) < LEAST_ROWS_SHARED:
        return {}, ""
    who, found = several[0]
    given = {key: [(n, as_name(one[who])) for n, each in held[key] for one in each] for key in found}
    people = {key: {name for _, name in pairs} for key, pairs in given.items()}
    times, lists_of = Counter(chain(*given.values())), Counter(chain(*people.values()))
    once = all(len(set(pairs)) == len(pairs) for pairs in given.values())
    shared = all(any(lists_of[name] > 1 for name in own) for own in people.values())
    if not (once and shared) or 2 * sum(count > 1 for count in times.values()) >= len(times):
        return {}, ""
    return {key: key for key in found}, who


def left_beside(records: Sequence[Mapping[str, Any]], classes: Mapping[str, str], who: str) -> list[str]:
    """Return notes on what stands in or beside the lists that `judged_by_class` finds, and names workers as well."""
    judgements = [one for record in records for key in classes.values() for one in objects(record.get(key))]
    people = {as_name(one[who]) for one in judgements}
    inner = dict.fromkeys(key for one in judgements for key, value in one.items() if any(map(worker_key, objects(value))))
    beside: dict[str, set[str | None]] = {}
    for key, value in (
        (key, value) for record in records for key, value in record.items() if value and isinstance(value, list)
    ):
        beside.setdefault(key, set()).update(None if isinstance(one, list | dict) else as_name(one) for one in value)
    again = [key for key, names in beside.items() if names <= people]
    notes = [f"What workers said in {listed(inner)}, inside of these lists, was not read."] if inner else []
    return [*notes, f"Workers without a class were left out: {listed(again)}."] if again else notes


def _are_among(some: Sequence[set[str | None]], others: Sequence[set[str | None]]) -> bool:
    return all(one <= other for one, other in zip(some, others, strict=True))


def questions_in(inside: Sequence[Mapping[str, Any]], wanted: str | None) -> list[str]:
    """Return the keys that hold labels: the one that was asked for, else those that are named like labels."""
    keys = list(dict.fromkeys(key for judgement in inside for key in judgement))
    if wanted in keys:
        return [wanted]
    return (
        [key for key in keys if is_called(key, "label")]
        or [key for key in keys if is_called(key, "label", last=True)]
        or [key for key in keys if is_called(words_of(key)[-1:][0] if words_of(key) else "", "label")]  # such as overall-rating
    )


def worker_key(judgement: Mapping[str, Any]) -> str | None:
    """Return the key that names the worker, None where there is none.

    >>> worker_key({"id": 1, "rater_id": 7}), worker_key({"annotators": ["ann"]})
    ('rater_id', None)
    """
    named = (name for ending in ("", "id", "name", "email") for name in judgement if is_called(name, "worker", ending))
    return next((name for name in named if not isinstance(judgement[name], dict | list)), None)


def is_called(name: str, role: str, ending: str = "", *, last: bool = False) -> bool:
    """Return whether a name is a word of a role, or a late one, with an ending.

    >>> is_called("Raters", "worker", "s"), is_called("score", "label"), is_called("score", "label", last=True)
    (True, False, True)
    """
    plain = plain_name(name)
    return plain.endswith(ending) and plain.removesuffix(ending) in (ROLES[role].late_words if last else ROLES[role].words)
