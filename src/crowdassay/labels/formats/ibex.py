"""Ibex: raw results, whose rows have no header and hold different things; the rows of answers have eleven fields."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from crowdassay.errors import DataError
from crowdassay.labels.formats.foreign import is_of_ibex
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.raw import refuse_bad_bytes
from crowdassay.read_options import ReadOptions

TIME, WHO, CONTROLLER, ITEM, ELEMENT, KIND, _, SHOWN, ANSWER, CORRECT, TOOK = range(11)  # the fields, from 0
STATES = frozenset({"NULL", "0", "1"})  # what says whether an answer was right
LEFT_OPEN = "NULL"
PCIBEX = "PennController"
PRACTICE = "practice"  # how the type of items begins that nobody is judged by
DIGITS = re.compile(r"\d+")
MILLISECONDS = 1000
IBEX_ITEM = "item number"


def recognise(probe: Probe) -> bool:
    """Return whether a text is of Ibex and some of its first rows are answers; PCIbex writes answers otherwise."""
    rows = list(_rows((probe.start or probe.data or b"").splitlines())) if is_of_ibex(probe) else []
    return any(map(_is_answer, rows)) and not any(map(_is_of_penn, rows))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to every controller's questions; items of practice are left out."""
    rows = Annotations(IBEX_ITEM, "hash of who answered", "answer to *")
    with probe.opened() as stream:
        raw = stream.read()
    try:
        raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        refuse_bad_bytes(probe.path, raw)
    every = list(_rows(raw.splitlines()))
    answers = [row for row in every if _is_answer(row)]
    if not answers or any(map(_is_of_penn, every)):
        raise DataError(
            f"{probe.shown} has rows of PCIbex, or none of answers, as Ibex writes them: eleven fields, the ninth the answer; "
            "keep the rows of answers, and name their columns by number (--no-header)."
        )
    elements: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in answers:
        elements[row[TIME], row[WHO], row[ITEM], row[CONTROLLER]].add(row[ELEMENT])
    several = {controller for (*_, controller), given in elements.items() if len(given) > 1}
    for row in every:
        if len(row) == SHOWN + 1:
            rows.add_text(row[ITEM], row[SHOWN].replace("%2C", ","))
    for row in answers:
        if row[KIND].lower().startswith(PRACTICE):
            rows.drop("practice")
            continue
        question = f"{row[CONTROLLER]} {row[ELEMENT]}" if row[CONTROLLER] in several else row[CONTROLLER]
        said = [] if row[ANSWER] == LEFT_OPEN else [row[ANSWER].replace("%2C", ",")]
        rows.add(row[ITEM], row[WHO], {question: said}, row[TIME], str(int(row[TOOK]) / MILLISECONDS))
    return rows


def _rows(lines: list[bytes]) -> Iterator[list[str]]:
    """Yield the fields of every row, in which commas are written as %2C; comments are no rows."""
    for line in lines:
        if line.strip() and not line.startswith(b"#"):
            yield [field.strip() for field in line.decode("utf-8-sig", errors="replace").split(",")]


def _is_of_penn(row: list[str]) -> bool:
    return len(row) > CONTROLLER and row[CONTROLLER] == PCIBEX


def _is_answer(row: list[str]) -> bool:
    """Return whether a row says what was answered, whether that was right, and how long it took.

    >>> _is_answer("1498778944,a1,Question,27,0,neut8,8,How?,Neutral,NULL,4700".split(","))
    True
    >>> _is_answer("1498778944,a1,DashedSentence,27,0,neut8,8,1,The,352,False,The frog sat.".split(","))
    False
    """
    return len(row) == TOOK + 1 and row[CORRECT] in STATES and DIGITS.fullmatch(row[TOOK]) is not None
