"""Labels that name several choices in one cell: how they are written, and what is said where nobody told what to make of them.

A cell may hold a list (``['a', 'b']``), names in brackets (``[A] [B]``), or names with a separator (``a,b``).
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress

from crowdassay.errors import DataError
from crowdassay.labels.listed_cells import cell_list
from crowdassay.labels.values import are_numbers, shown

JOINED = "|"  # between the choices of a set that is one class, in the order of the alphabet
SEPARATORS_OF_CHOICES = (JOINED, ";", ",")
LIST_OF_LISTS = re.compile(r"\s*\[\s*[\[{]")
BRACKETED = re.compile(r"\[[^\[\]]+\](?:[\s,;|]*\[[^\[\]]+\])*")


def choices_of(texts: Collection[str]) -> dict[str, list[str]]:
    """Return the choices that each of some labels names; which separator separates them shows in all labels together.

    >>> choices_of(["a,b", "b", "['a']"])
    {'a,b': ['a', 'b'], 'b': ['b'], "['a']": ['a']}
    >>> choices_of(["1,0,0", "0,1,0", "0"])
    {'1,0,0': ['1,0,0'], '0,1,0': ['0,1,0'], '0': ['0']}
    >>> choices_of(["[A] [B]", "[A]", "yes, but late", "no"])
    {'[A] [B]': ['A', 'B'], '[A]': ['A'], 'yes, but late': ['yes, but late'], 'no': ['no']}
    """
    apart = {text: listed_choices(text) for text in texts}
    plain = [text for text, choices in apart.items() if choices is None]
    for separator in SEPARATORS_OF_CHOICES:
        found = {text: parts for text in plain if (parts := _parts(text, separator)) is not None}
        if _are_codes(found.values()):
            continue
        used = Counter(part for text in plain for part in set(found.get(text, [text.strip()])))
        if any(used[part] > 1 for parts in found.values() for part in parts):
            apart.update(found)
            break
    return {text: [text] if choices is None else choices for text, choices in apart.items()}


def refuse_answers_of_several(texts: Collection[str]) -> None:
    """Refuse lists that hold the same choice twice: one worker names each once, so that they are what several said."""
    given = (text for text in texts if len(choices := listed_choices(text) or ()) > len(set(choices)))
    if (example := next(given, None)) is not None:
        raise DataError(
            f"Some labels are lists in which a choice comes again, such as {shown(example)}: they hold the answers of several "
            "workers, without saying who gave which. Give a table with a row for each answer: item, worker, label."
        )


def refuse_spans(texts: Collection[str]) -> None:
    """Refuse lists of objects or lists, whatever is to be made of several choices."""
    if (spans := next(filter(_holds_parts, texts), None)) is not None:
        raise DataError(
            f"Some labels are lists of spans or other objects, such as {shown(spans)}, not classes; choose another column, or "
            "give a table with one class per judgement: item, worker, label."
        )


def refuse_sets(texts: Collection[str]) -> None:
    """Refuse labels that certainly name several choices: the same ones in another order would be a class of its own."""
    marked = [text for text in texts if any(mark in text for mark in ("[", *SEPARATORS_OF_CHOICES))]
    refuse_spans(marked)
    refuse_answers_of_several(marked)
    example = _certain_set(marked, {text.strip() for text in texts}) if marked else None
    if example is not None:
        raise DataError(
            f"Some labels name several choices, such as {shown(example)}; --options set takes the set as a class, in whatever "
            "order, --options each asks yes or no of each option, and --classes with all classes keeps labels as they are."
        )


def _holds_parts(text: str) -> bool:
    """Return whether a text is a list of objects or lists, as spans of a text are written; one with a single value is a choice.

    >>> [_holds_parts(text) for text in ('[{"start": 3, "end": 9}]', "[[0, 5, 'PER']]", "[{'tone': 'warm'}]", "[{x} or {y}]")]
    [True, True, False, False]
    """
    if not LIST_OF_LISTS.match(text):
        return False
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            values = read(text.strip())
            parts = isinstance(values, list) and all(isinstance(value, list | dict) for value in values)
            return parts and sum(map(len, values)) > 1
    return False


def _certain_set(marked: Collection[str], whole: Collection[str]) -> str | None:
    """Return a label that is several choices beyond doubt: a list, or names each of which is a label by itself as well."""
    for text in marked:
        if len(listed_choices(text) or ()) > 1:
            return text
    for separator in SEPARATORS_OF_CHOICES:
        found = {text: parts for text in marked if (parts := _parts(text, separator)) is not None}
        if separator == JOINED:  # what --options set has made is no doubt meant so
            found = {} if all(parts == sorted(parts) for parts in found.values()) else found
        if _are_codes(found.values()):
            continue
        if separator == "," and all(len(parts) == 2 and are_numbers(parts) for parts in found.values()):
            continue  # decimal commas
        orders = Counter(frozenset(parts) for parts in found.values())
        for text, parts in found.items():
            if orders[frozenset(parts)] > 1 or all(part in whole for part in parts):
                return text
    return None


def listed_choices(text: str) -> list[str] | None:
    """Return the choices of a list, or of names in brackets one after the other; None if a text is neither.

    >>> listed_choices("['a', 'b']"), listed_choices("[A] [B]"), listed_choices("a, b")
    (['a', 'b'], ['A', 'B'], None)
    >>> listed_choices("['a' 'b']"), listed_choices("[1 0]")
    (['a', 'b'], ['1', '0'])
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    entries = cell_list(text)
    if entries is not None:
        return None if any(isinstance(entry, list) for entry in entries) else [entry for entry in entries if entry is not None]
    if not BRACKETED.fullmatch(text) or "{" in text:  # objects are no choices
        return None
    inside = [part.strip() for part in re.findall(r"\[([^\[\]]+)\]", text)]
    return (len(inside) == 1 and _parts(inside[0], ",")) or inside


def _are_codes(found: Collection[Sequence[str]]) -> bool:
    """Return whether what a separator parts are codes such as 1,0,0,1: numbers, as many each time, of which some come again.

    >>> _are_codes([["1", "0", "0"], ["0", "1", "0"]]), _are_codes([["cat", "cat"], ["dog", "cat"]]), _are_codes([["1", "2"]])
    (True, False, False)
    """
    again = any(len(set(parts)) < len(parts) for parts in found)
    return again and len(set(map(len, found))) == 1 and all(map(are_numbers, found))


def _parts(text: str, separator: str) -> list[str] | None:
    parts = [part.strip() for part in text.split(separator)]
    return parts if len(parts) > 1 and all(parts) else None
