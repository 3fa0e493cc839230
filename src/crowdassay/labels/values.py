"""Single values: how they are written in messages, and when two texts mean the same number."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable
from decimal import Context, Decimal
from difflib import get_close_matches
from itertools import accumulate
from typing import Any

import pyarrow as pa

NUMERAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
MISSING_WORDS = frozenset({"na", "nan", "<na>", "null", "#n/a"})  # what tables write where nothing is known, small
LEADING_ZERO = re.compile(r"[+-]?0\d", re.ASCII)
CHARACTERS_SHOWN = 60  # characters of a value in a message; ids may be whole documents
END_SHOWN = 20  # of them from its end, where questions of one kind differ
CHARACTERS_LISTED = 400  # of a list of values, from which on only their number is said


def shown(value: object) -> str:
    r"""Quote a value for a message: one line, shortened, control characters escaped.

    >>> shown("a\nb"), shown(3)
    ("'a\\nb'", "'3'")
    """
    text = str(value)
    if len(text) > CHARACTERS_SHOWN:
        text = f"{text[: CHARACTERS_SHOWN - END_SHOWN - 1]}…{text[-END_SHOWN:]}"
    return f"'{_printable(text)}'"


def shown_file(path: object) -> str:
    """Quote a file's name or path for a message, whole, so that it can be found."""
    return f"'{_printable(str(path))}'"


def listed(values: Iterable[object], limit: int = 20) -> str:
    """Join quoted values with commas, saying how many more there are, and what comes several times, such as no name, once.

    Long ones are fewer than ``limit``.

    >>> listed(["a", "b", "c"], limit=2), listed(["a", "", ""])
    ("'a', 'b' and 1 more", "'a', '' (2 times)")
    """
    counts = Counter(map(str, values))
    quoted = [f"{shown(value)} ({counted(count, 'time')})" if count > 1 else shown(value) for value, count in counts.items()]
    short = sum(length <= CHARACTERS_LISTED for length in accumulate(map(len, quoted)))
    if len(quoted) > (limit := min(limit, max(short, 1))):
        return f"{', '.join(quoted[:limit])} and {len(quoted) - limit} more"
    return ", ".join(quoted)


def no_such(kind: str, given: str, known: Iterable[str]) -> str:
    """Return the sentence that a name does not exist, with the nearest and with those there are.

    >>> no_such("method", "majoriti", ["majority", "glad"])
    "There is no method 'majoriti'; did you mean 'majority'? The methods are majority, glad."
    """
    names = list(known)
    near = get_close_matches(given.strip().lower(), names, 1)
    many = _plural(kind)
    hint = f"did you mean {shown(near[0])}? The " + many + " are" if near else "choose one of"
    return f"There is no {kind} {shown(given)}; {hint} {', '.join(names)}."


def counted(count: float, one: str, many: str | None = None) -> str:
    """Write how many there are of something; ``many`` is needed where a verb follows, or the plural has no s.

    >>> counted(1, "worker"), counted(2000, "label"), counted(2, "class"), counted(3, "batch")
    ('1 worker', '2,000 labels', '2 classes', '3 batches')
    >>> counted(1, "item was", "items were"), counted(0, "item was", "items were")
    ('1 item was', '0 items were')
    """
    return f"{count:,.0f} {one if round(count) == 1 else many or _plural(one)}"


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"


def text_of(value: object) -> str:
    """Write one Python value as text, as `as_text` does for a whole array.

    >>> text_of(2.0), text_of(True), text_of("01")
    ('2', 'true', '01')
    """
    value = value.item() if hasattr(value, "item") else value  # NumPy scalars
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def as_text(values: pa.Array) -> pa.Array:
    """Write an array as text: numbers in their shortest form, booleans as true and false."""
    return values.cast(pa.string())


def mapping(value: object) -> dict[str, Any]:
    """Return an object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def number_of(text: str) -> float | None:
    """Return the finite number a text stands for, or None.

    >>> number_of(" 10 "), number_of("1_0"), number_of("inf")
    (10.0, None, None)
    """
    stripped = text.strip()
    if not NUMERAL.fullmatch(stripped):
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None


def are_numbers(texts: Iterable[str]) -> bool:
    """Return whether every text stands for a number."""
    return all(number_of(text) is not None for text in texts)


def in_natural_order(texts: Collection[str]) -> list[str]:
    """Return texts by size where all are numbers, else by letters.

    >>> in_natural_order(["10", "9"]), in_natural_order(["b", "10", "9"])
    (['9', '10'], ['10', '9', 'b'])
    """
    return sorted(texts, key=lambda text: (number_of(text), text)) if are_numbers(texts) else sorted(texts)


def number_key(text: str) -> str | None:
    """Write a plain numeral in its shortest form; None for anything else, leading zeros included (they mean codes).

    >>> number_key("1.0"), number_key("+2.50"), number_key("01"), number_key("1 ")
    ('1', '2.5', None, None)
    """
    if text != text.strip() or LEADING_ZERO.match(text) or number_of(text) is None:
        return None
    # The precision covers every digit: two long ids must not become equal by rounding.
    number = Decimal(text).normalize(Context(prec=len(text) + 1))
    if not number:
        return "0"
    return format(number, "f") if abs(number.adjusted()) <= 20 else str(number).lower()


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
