"""Decide which classes there are, in which order, and which texts mean the same class."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.labels import MAX_CLASSES
from crowdassay.labels.values import LEADING_ZERO, as_text, is_text, listed, number_key, number_of, shown, text_of
from crowdassay.notes import Note, NoteKind

LISTED_CHANGES = 20
MANY_CLASSES = 50  # classes from which on they may be none
# Only what hardly anybody would call a class; "none", "other" and "unknown" often are one.
NO_ANSWER = frozenset({
    "__invalid__", "error", "parse error",
    "n/a", "na", "nan", "null", "?", "??", "???", "-", "--", "skip", "skipped", "unsure", "not sure", "i'm not sure", "idk",
    "don't know", "dont know", "i don't know", "i dont know", "don’t know", "i don’t know", "can't tell", "can’t tell",
    "cannot tell", "cannot judge", "can't judge", "no answer", "refused", "weiß nicht", "weiss nicht", "ich weiß nicht",
    "keine angabe", "k.a", "ne sait pas", "je ne sais pas", "no sé", "no se", "non so", "не знаю", "不知道",
})  # fmt: skip


def arrange_classes(
    vocabulary: pa.Array, counts: IntArray, classes: Iterable[Any] | None = None
) -> tuple[pa.Array, IntArray, list[str]]:
    """Order the classes: as given, else by number, else sorted.

    Parameters
    ----------
    vocabulary : pyarrow.Array, length n_values
        The different labels that occur.
    counts : ndarray of int64, shape (n_values,)
        How often each occurs.
    classes : iterable, optional
        All classes in order, those never chosen included.

    Returns
    -------
    classes : pyarrow.Array, length n_classes
    codes : ndarray of int64, shape (n_values,)
        Class of every value of `vocabulary`.
    notes : list of str

    Examples
    --------
    >>> arrange_classes(pa.array(["10", "9", "9.0"]), np.ones(3, int))[0].to_pylist()
    ['9', '10']
    """
    if classes is not None:
        names = check_classes(classes)
        return *_as_given(vocabulary, counts, names), []
    if len(vocabulary) > MAX_CLASSES:
        return vocabulary, np.arange(len(vocabulary)), []  # `Labels` refuses; ordering free text would only cost time
    values, codes, notes = _ordered_texts(vocabulary, counts) if is_text(vocabulary.type) else _ordered(vocabulary)
    notes += _no_answers(values, codes, counts)
    if len(values) == 1:
        notes.append(
            f"Only one class, {shown(values[0].as_py())}, appears in the label column; if other classes exist but were never "
            "chosen, name them all with --classes."
        )
    return values, codes, notes


def many_classes(classes: pa.Array, *, given: bool) -> list[str]:
    """Note labels of so many kinds that they are hardly classes: free text, or numbers from a slider."""
    if given or not MANY_CLASSES < len(classes) <= MAX_CLASSES:
        return []
    if all(number_of(text_of(value)) is not None for value in classes.to_pylist()):
        return [
            f"The labels are {len(classes)} different numbers, each a class of its own; --bins 5 makes five classes of them."
        ]
    return [
        f"The labels are {len(classes)} different texts, each a class of its own; if they are free text, choose another column."
    ]


def _no_answers(classes: pa.Array, codes: IntArray, counts: IntArray) -> list[str]:
    """Note classes that look like what people write who do not answer."""
    rows = np.bincount(codes, weights=counts, minlength=len(classes)).astype(int)
    names = as_text(classes).to_pylist()
    unanswered = [(name, count) for name, count in zip(names, rows, strict=True) if _folded(name).strip(".!") in NO_ANSWER]
    if not unanswered or len(unanswered) == len(names):
        return []
    which = ", ".join(f"{shown(name)} (rows: {count:,})" for name, count in unanswered)
    options = " ".join(f"--missing {shown(name)}" for name, _ in unanswered)
    text = f"Taken as a class each: {which}; if that means that no answer was given, leave such rows out with {options}."
    return [Note(text, NoteKind.NO_ANSWERS)]


def class_coder(classes: pa.Array, *, booleans: bool = False) -> Callable[[str], int]:
    """Return a function from text to class code, -1 for no class.

    Texts equal as numbers match, unless a class has a leading zero; booleans match in any case.

    >>> code = class_coder(pa.array([1, 2]))
    >>> code("2.0"), code("02")
    (1, -1)
    """
    names = as_text(classes).to_pylist()
    fold = booleans or pa.types.is_boolean(classes.type)
    known = {name.lower(): code for code, name in enumerate(names)} if fold else {}
    if not any(LEADING_ZERO.match(name) for name in names):
        known |= {key: code for code, name in enumerate(names) if (key := number_key(name)) is not None}
    known |= {name: code for code, name in enumerate(names)}

    def code(text: str) -> int:
        exact = known.get(text, -1)
        return exact if exact >= 0 else known.get(text.lower() if fold else number_key(text) or text, -1)

    return code


def check_classes(classes: Iterable[Any]) -> list[str]:
    """Check the classes a user gave and return them as text."""
    if isinstance(classes, str):
        raise ParameterError(f"classes must be a list of classes, not one text ({shown(classes)}).")
    names = [text_of(value) for value in (classes.to_pylist() if isinstance(classes, pa.Array) else classes)]
    if len(names) < 2:
        raise ParameterError(f"Give at least two classes (--classes); there {'is 1' if names else 'are none'}.")
    if any(not name.strip() for name in names):
        raise ParameterError("A class given in --classes is blank; blank labels count as missing, so leave it out.")
    code = class_coder(pa.array(names, pa.string()))
    for position, name in enumerate(names):
        if code(name) != position or code(number_key(name) or name) != position:
            raise ParameterError(f"The class {shown(name)} is given twice in --classes; name every class once.")
    return names


def _as_given(vocabulary: pa.Array, counts: IntArray, names: Sequence[str]) -> tuple[pa.Array, IntArray]:
    given = pa.array(names, pa.string())
    code = class_coder(given, booleans=pa.types.is_boolean(vocabulary.type))
    seen = as_text(vocabulary).to_pylist()
    codes = np.array([code(text) for text in seen], np.int64)
    if strangers := np.flatnonzero(codes < 0).tolist():
        worst = max(strangers, key=lambda stranger: int(counts[stranger]))
        others = f"; other labels not among them: {len(strangers) - 1}" if len(strangers) > 1 else ""
        raise DataError(
            f"The label {shown(seen[worst])} (rows: {int(counts[worst])}) is not among the classes given ({listed(names)})"
            f"{others}; add it to --classes or correct the label column."
        )
    try:
        return given.cast(vocabulary.type), codes  # keep the caller's type: classes from the command line are always text
    except pa.ArrowException:
        return given, codes


def _ordered(vocabulary: pa.Array) -> tuple[pa.Array, IntArray, list[str]]:
    order = pc.array_sort_indices(vocabulary).to_numpy()
    return vocabulary.take(pa.array(order)), np.argsort(order), []


def _ordered_texts(vocabulary: pa.Array, counts: IntArray) -> tuple[pa.Array, IntArray, list[str]]:
    seen = vocabulary.to_pylist()
    notes = []
    written = seen
    if not any(LEADING_ZERO.match(text) for text in seen):
        keys = [number_key(text) or text for text in seen]
        if len(set(keys)) < len(keys):
            written = keys
            notes.append(f"Labels equal as numbers were taken as one class each: {_groups(seen, keys)}.")
    numbers = {text: number_of(text) for text in written}
    if any(number is None for number in numbers.values()):
        names = sorted(numbers)
    else:
        names = sorted(numbers, key=lambda text: (numbers[text] or 0.0, text))
    folded = [_folded(text) for text in names]
    if variants := _groups(names, folded):
        changes = _changes(names, folded, dict(zip(written, counts.tolist(), strict=True)))
        notes.append(
            f"Classes that differ only in case, spaces, invisible marks or the coding of accents were kept apart: {variants}; "
            f"if they mean the same, change {changes} in the label column."
        )
    position = {name: code for code, name in enumerate(names)}
    return pa.array(names, pa.string()), np.array([position[text] for text in written], np.int64), notes


def _folded(text: str) -> str:
    """Return what people see of a text: without case, spaces, marks that show nothing, and forms of the same character."""
    seen = "".join(mark for mark in unicodedata.normalize("NFKC", text) if unicodedata.category(mark) != "Cf")
    return " ".join(seen.casefold().split())


def _changes(names: Sequence[str], keys: Sequence[str], count: Mapping[str, int]) -> str:
    """Suggest for every variant the commonest of its group."""
    commonest: dict[str, str] = {}
    for name, key in sorted(zip(names, keys, strict=True), key=lambda pair: count[pair[0]]):
        commonest[key] = name
    pairs = [(name, commonest[key]) for name, key in zip(names, keys, strict=True) if commonest[key] != name]
    return ", ".join(f"{shown(name)} to {shown(best)}" for name, best in pairs[:LISTED_CHANGES])


def _groups(texts: Sequence[str], keys: Sequence[str]) -> str:
    members: dict[str, list[str]] = defaultdict(list)
    for text, key in zip(texts, keys, strict=True):
        members[key].append(text)
    return "; ".join(", ".join(map(shown, sorted(group))) for group in members.values() if len(group) > 1)
