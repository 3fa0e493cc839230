"""Make names safe to show: shorten them, join their lines, keep right-to-left text apart; and put names in a sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

WIDTH, NARROW = 40, 24
JOINER = "\N{ZERO WIDTH JOINER}"  # holds emoji together
RIGHT_TO_LEFT = ("R", "AL", "AN")


def short(value: object, width: int = WIDTH) -> str:
    r"""Return a name fit for a chart or a page; raw values stay in the tables.

    Paths and addresses begin alike, so they lose their middle; other names lose their end. Characters that do not print,
    among them those that turn the direction of writing, are replaced. Right-to-left names are wrapped in isolates, so that
    they do not reorder what stands beside them.

    >>> short("a" * 50), short("new\nline")
    ('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…', 'new�line')
    """
    text = str(value)
    if len(text) > width:
        tail = width // 3 if "/" in text else 0
        text = text[: width - 1 - tail] + "…" + text[len(text) - tail :]
    text = "".join(char if char.isprintable() or char == JOINER else "\N{REPLACEMENT CHARACTER}" for char in text)
    if any(unicodedata.bidirectional(char) in RIGHT_TO_LEFT for char in text):
        return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"
    return text or "(empty)"


def distinct(values: Sequence[object]) -> list[str]:
    """Return short names for classes, numbered where two would look alike.

    >>> distinct(["yes", "no", "a" * 30 + "b", "a" * 30 + "c"])
    ['yes', 'no', 'aaaaaaaaaaaaaaaaaaaaaaa…', 'aaaaaaaaaaaaaaaaaaaaaaa… (2)']
    """
    names: list[str] = []
    seen: dict[str, int] = {}
    for value in values:
        name = short(value, NARROW)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def joined(names: Sequence[str], most: int | None = None) -> str:
    """Return names in a sentence, ``most`` of them and how many more there are.

    >>> joined(["Ann", "Bob"]), joined(["Ann", "Bob", "Cy"], 1), joined(["Ann"])
    ('Ann and Bob', 'Ann and 2 more', 'Ann')
    """
    rest = len(names[most:]) if most else 0
    *words, last = [*names[:most], f"{rest:,} more"] if rest else names
    return f"{', '.join(words)} and {last}" if words else last
