"""Decide which classes there are, in which order, and which texts mean the same class."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn, as_array
from crowdassay.labels.choices import refuse_sets
from crowdassay.labels.report import MAX_CLASSES
from crowdassay.labels.values import (
    LEADING_ZERO,
    MISSING_WORDS,
    are_numbers,
    as_text,
    in_natural_order,
    is_text,
    listed,
    number_key,
    number_of,
    shown,
    text_of,
)
from crowdassay.notes import Note, NoteKind

CHANGES_LISTED = 20
MOST_BINS = 100
FREE_ANSWERS = 8  # different labels from which on they may be none where more than half are different
MANY_CLASSES = 50  # classes from which on they may be none
# Only what hardly anybody would call a class; "none", "other" and "unknown" often are one.
UNANSWERED = frozenset({
    "__invalid__", "error", "parse error", "inf", "-inf", "infinity",
    "n/a", "?", "??", "???", "-", "--", "skip", "skipped", "unsure", "not sure", "i'm not sure", "idk",
    "don't know", "dont know", "i don't know", "i dont know", "don’t know", "i don’t know", "can't tell", "can’t tell",
    "cannot tell", "cannot judge", "can't judge", "no answer", "refused", "weiß nicht", "weiss nicht", "ich weiß nicht",
    "keine angabe", "k.a", "ne sait pas", "je ne sais pas", "no sé", "no se", "non so", "не знаю", "不知道",
})  # fmt: skip
# What surveys write where nobody answered.
MISSING_CODES = frozenset({"-9", "-99", "-999", "-9999", "-77", "-88"})


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
    if is_text(vocabulary.type):
        refuse_sets([text for text in vocabulary.to_pylist() if text is not None])
    if len(vocabulary) > MAX_CLASSES:
        return vocabulary, np.arange(len(vocabulary)), []  # `Labels` refuses; ordering free text would only cost time
    if is_text(vocabulary.type):
        values, codes, notes = _ordered_texts(vocabulary, counts)
    else:
        order = pc.array_sort_indices(vocabulary)
        values, codes, notes = vocabulary.take(order), np.argsort(order.to_numpy()), []
    refuse_missing_codes(as_text(values).to_pylist())
    notes += _no_answers(values, codes, counts)
    if len(values) == 1:
        notes.append(
            f"Only one class, {shown(values[0].as_py())}, appears in the label column; if other classes exist but were never "
            "chosen, name them all with --classes."
        )
    return values, codes, notes


def missing_codes(names: Sequence[str]) -> list[str]:
    """Return the classes that are NA or the like, or a code such as -99 where no other is a negative number: nobody answered.

    >>> missing_codes(["-99", "1", "2"]), missing_codes(["-99.0", "no", "yes"]), missing_codes(["-10", "-9", "0"])
    (['-99'], ['-99.0'], [])
    >>> missing_codes(["NA", "no", "yes"]), missing_codes(["none", "yes"])
    (['NA'], [])
    """
    words = [name for name in names if _folded(name) in MISSING_WORDS]
    codes = [name for name in names if (number_key(name) or name) in MISSING_CODES]
    others = [number_of(name) or 0.0 for name in names if name not in [*words, *codes]]
    return [*words, *(codes if others and min(others) >= 0 else [])] if others else []


def refuse_missing_codes(names: Sequence[str]) -> None:
    """Refuse classes of which one means that nobody answered."""
    if found := missing_codes(names):
        options = " ".join(f"--missing {shown(name)}" for name in found)
        codes = all(number_of(name) is not None for name in found)
        raise DataError(
            f"Some labels are {listed(found)}, by which {'surveys' if codes else 'tables'} mean that nobody answered; say "
            f"{options}, or, if they are labels, name all classes with --classes."
        )


def class_order(classes: pa.Array, *, given: bool) -> str:
    """Return where the order of the classes comes from, as `ImportReport.order` says it."""
    if given:
        return "given"
    return "alphabetical" if is_text(classes.type) and not are_numbers(classes.to_pylist()) else "natural"


def many_classes(classes: pa.Array, n_labels: int, *, given: bool) -> list[str]:
    """Note labels of so many kinds that they are hardly classes: free text, or numbers from a slider."""
    many = len(classes) > MANY_CLASSES or (len(classes) >= FREE_ANSWERS and 2 * len(classes) > n_labels)
    if given or not many or len(classes) > MAX_CLASSES:
        return []
    if are_numbers(map(text_of, classes.to_pylist())):
        kind, remedy = "numbers", "--bins 5 makes five classes of them"
    else:
        kind, remedy = "texts", "if they are free text, choose another column"
    return [f"The labels are {len(classes)} different {kind}, each a class of its own; {remedy}."]


def _no_answers(classes: pa.Array, codes: IntArray, counts: IntArray) -> list[str]:
    """Note classes that look like what people write who do not answer."""
    rows = np.bincount(codes, weights=counts, minlength=len(classes)).astype(int)
    names = as_text(classes).to_pylist()
    unanswered = [(name, count) for name, count in zip(names, rows, strict=True) if _folded(name).strip(".!") in UNANSWERED]
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


def _ordered_texts(vocabulary: pa.Array, counts: IntArray) -> tuple[pa.Array, IntArray, list[str]]:
    seen = vocabulary.to_pylist()
    notes: list[str] = []
    written = seen
    if not any(LEADING_ZERO.match(text) for text in seen):
        keys = [number_key(text) or text for text in seen]
        if len(set(keys)) < len(keys):
            written = keys
            notes.append(f"Labels equal as numbers were taken as one class each: {_groups(seen, keys)}.")
    names = in_natural_order(set(written))
    folded = [_folded(text) for text in names]
    if variants := _groups(names, folded):
        count = dict(zip(written, counts.tolist(), strict=True))
        commonest = {key: name for name, key in sorted(zip(names, folded, strict=True), key=lambda pair: count[pair[0]])}
        others = [(name, commonest[key]) for name, key in zip(names, folded, strict=True) if commonest[key] != name]
        changes = ", ".join(f"{shown(name)} to {shown(best)}" for name, best in others[:CHANGES_LISTED])
        text = (
            f"Classes that differ only in case, spaces, invisible marks or the coding of accents were kept apart: {variants}; "
            f"if they mean the same, change {changes} in the label column."
        )
        notes.append(Note(text, NoteKind.VARIANTS))
    position = {name: code for code, name in enumerate(names)}
    return pa.array(names, pa.string()), np.array([position[text] for text in written], np.int64), notes


def _folded(text: str) -> str:
    """Return what people see of a text: without case, spaces, marks that show nothing, and forms of the same character."""
    seen = "".join(mark for mark in unicodedata.normalize("NFKC", text) if unicodedata.category(mark) != "Cf")
    return " ".join(seen.casefold().split())


def _groups(texts: Sequence[str], keys: Sequence[str]) -> str:
    members: dict[str, list[str]] = defaultdict(list)
    for text, key in zip(texts, keys, strict=True):
        members[key].append(text)
    return "; ".join(", ".join(map(shown, sorted(group))) for group in members.values() if len(group) > 1)


def binned(label: ArrowColumn, bins: tuple[str, ...]) -> tuple[pa.Array, tuple[str, ...]]:
    """Make classes of numbers, named after their edges; return the labels and the classes in order.

    One number says how many classes of equal width; several are the edges themselves. A class holds its lower edge, and the
    last one its upper edge too.

    >>> labels, classes = binned(pa.array(["0", "49", "50", "100"]), ("2",))
    >>> labels.to_pylist(), classes
    (['0 to 50', '0 to 50', '50 to 100', '50 to 100'], ('0 to 50', '50 to 100'))
    """
    codes = as_array(label).dictionary_encode()
    texts = as_text(codes.dictionary).to_pylist()
    blank = [text is None or not text.strip() for text in texts]
    numbers = [None if empty else number_of(text) for text, empty in zip(texts, blank, strict=True)]
    strange = [text for text, number, empty in zip(texts, numbers, blank, strict=True) if number is None and not empty]
    if strange:
        raise DataError(
            f"--bins goes with labels that are numbers, and {shown(strange[0])} is none; name what stands for no answer with "
            "--missing."
        )
    refuse_missing_codes([text for text, empty in zip(texts, blank, strict=True) if not empty])
    limits = bin_limits(np.array([number for number in numbers if number is not None]), bins)
    names = tuple(f"{text_of(float(low))} to {text_of(float(high))}" for low, high in pairwise(limits))
    places = bin_places(np.array([number or 0.0 for number in numbers]), limits)
    renamed = [None if number is None else names[place] for number, place in zip(numbers, places, strict=True)]
    return pa.array(renamed, pa.string()).take(codes.indices), names


def bin_limits(numbers: FloatArray, bins: Sequence[str]) -> FloatArray:
    """Return the edges of the classes that ``bins`` makes of some numbers, one more than there are classes.

    >>> bin_limits(np.array([0.0, 100.0]), ["4"]).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    >>> bin_limits(np.array([1.23456789, 7.12345649]), ["2"]).tolist()
    [1.234567, 4.179012, 7.123457]
    """
    edges = [number_of(text) for text in bins]
    if any(edge is None for edge in edges) or (len(edges) > 1 and sorted(set(edges)) != edges):  # type: ignore[type-var]
        raise ParameterError(f"--bins takes a whole number, or edges in rising order, not {shown(','.join(bins))}.")
    if len(edges) == 1:
        count, least, most = edges[0] or 0, numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
        if count != int(count) or not 2 <= count <= MOST_BINS:
            raise ParameterError(f"--bins takes a number from 2 to {MOST_BINS}, or edges separated by commas.")
        if least >= most:
            raise DataError("--bins has nothing to divide: there are no two different numbers among the labels.")
        low, *inner, high = (float(np.format_float_positional(edge, 6)) for edge in np.linspace(least, most, int(count) + 1))
        # Rounding leaves no label out.
        low = low if low <= least else float(np.floor(least * 1e6) / 1e6)
        edges = [low, *inner, high if high >= most else float(np.ceil(most * 1e6) / 1e6)]
    limits = np.array(edges, dtype=float)
    if len(numbers) and (numbers.min() < limits[0] or numbers.max() > limits[-1]):
        odd = numbers.min() if numbers.min() < limits[0] else numbers.max()
        raise DataError(f"The label {shown(text_of(float(odd)))} lies outside the edges that --bins names; name wider ones.")
    return limits


def bin_places(numbers: FloatArray, limits: FloatArray) -> IntArray:
    """Return the class of each number: a class holds its lower edge, and the last one its upper edge too."""
    return np.minimum(np.searchsorted(limits, numbers, "right") - 1, len(limits) - 2)
