"""The expert's sheet: items drawn at random with an empty column for their classes, read back filled as far as it is.

What makes a table such a sheet is its column ``drawn``, which says "at random" of the items that were. Rows that somebody adds
by hand say nothing there: they are known items like any others. Nothing else is kept anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.classes import class_coder
from crowdassay.labels.encode import text_cells
from crowdassay.labels.roles import AT_RANDOM
from crowdassay.labels.values import counted, listed, shown

FIRST_ROW = 2  # the header is row 1, as spreadsheets count
ROWS_NAMED = 5  # rows with a label that is no class, in a message
GUARDED = re.compile(r"^'(?=[=+\-@\t\r\n])")  # as `crowdassay.labels.write` guards texts that a spreadsheet would run


@dataclass(frozen=True)
class ExpertSheet:
    """Rows of a sheet in order.

    Attributes
    ----------
    items, labels : tuple of str or None
        A row without a label is not yet answered.
    drawn : tuple of bool
        Whether the item was drawn at random.

    Examples
    --------
    >>> sheet = ExpertSheet(("a", "b", "c"), ("yes", None, None), (True, True, True))
    >>> sheet.notes()
    ['2 of 3 rows of the sheet are not yet answered.']
    """

    items: tuple[str | None, ...]
    labels: tuple[str | None, ...]
    drawn: tuple[bool, ...]

    @classmethod
    def of(cls, columns: Sequence[ArrowColumn]) -> ExpertSheet | None:
        """Return the sheet that columns of items, labels and marks are; None where no item is marked as drawn at random."""
        if len(columns) < 3:
            return None
        marks = [text is not None and text.strip().casefold() == AT_RANDOM for text in _texts(columns[2], "drawn")]
        if not any(marks):
            return None
        items, labels = (_texts(column, role) for column, role in zip(columns[:2], ("item", "label"), strict=True))
        return cls(tuple(items), tuple(labels), tuple(marks))

    @property
    def asked(self) -> list[int]:
        """The rows that ask something: those with an item."""
        return [row for row, item in enumerate(self.items) if item is not None]

    @property
    def answers(self) -> dict[str, str]:
        """The class of each item that is answered; of several rows the first counts, see `match_truth` for clashes."""
        found: dict[str, str] = {}
        for item, label in zip(self.items, self.labels, strict=True):
            if item is not None and label is not None:
                found.setdefault(item, label)
        return found

    @property
    def drawn_items(self) -> list[str]:
        """The items that were drawn at random, answered or not, in the order of the rows."""
        return [item for item, drawn in zip(self.items, self.drawn, strict=True) if drawn and item is not None]

    @property
    def skipped(self) -> int:
        """Rows without a label above one that has one, among those drawn at random: who answers in order leaves none."""
        rows = [row for row in self.asked if self.drawn[row]]
        last = max((row for row in rows if self.labels[row] is not None), default=-1)
        return sum(self.labels[row] is None for row in rows if row < last)

    def columns(self) -> list[pa.Array]:
        """Return items and labels as columns of known classes, of the rows that are answered."""
        rows = [row for row in self.asked if self.labels[row] is not None]
        return [pa.array([values[row] for row in rows], pa.string()) for values in (self.items, self.labels)]

    def check(self, classes: pa.Array) -> None:
        """Refuse labels that are no class, by their rows."""
        code: Callable[[str], int] = class_coder(classes)
        wrong = [row for row in self.asked if (label := self.labels[row]) is not None and code(label) < 0]
        if not wrong:
            return
        rows = "; ".join(
            f"row {row + FIRST_ROW}, item {shown(self.items[row])}: {shown(self.labels[row])}" for row in wrong[:ROWS_NAMED]
        )
        more = f"; and {counted(len(wrong) - ROWS_NAMED, 'more row')}" if len(wrong) > ROWS_NAMED else ""
        names = [str(name) for name in classes.to_pylist()]
        raise DataError(
            f"The sheet holds {'a label that is' if len(wrong) == 1 else 'labels that are'} no class ({rows}{more}). The "
            f"classes are {listed(names)}; correct the sheet, or give all classes with --classes."
        )

    def counts(self, matched: Collection[str]) -> dict[str, int]:
        """Return how many of the items that are known and have labels were drawn at random: none where rows were skipped."""
        drawn = set(self.drawn_items)
        return {"drawn": 0 if self.skipped else sum(item in drawn for item in matched)}

    def notes(self) -> list[str]:
        """Return how far the sheet is filled, and where what was left out may matter."""
        unanswered = sum(self.labels[row] is None for row in self.asked)
        if not unanswered:
            return []
        rows, are = counted(len(self.asked), "row"), "is" if unanswered == 1 else "are"
        said = f"{unanswered:,} of {rows} of the sheet {are} not yet answered."
        if self.skipped:
            said += (
                f" {counted(self.skipped, 'of them stands', 'of them stand')} above answered ones. Items that are left out "
                "because they are hard make the others look better than all, so the known items do not count as drawn at "
                "random until these are answered too."
            )
        return [said]


def sheet_notes(sheet: ExpertSheet | None) -> list[str]:
    """Return the notes of a sheet; none where there is no sheet."""
    return [] if sheet is None else sheet.notes()


def _texts(column: ArrowColumn, role: str) -> list[str | None]:
    """Return the cells of a column as texts, None where they are blank, without the marks that keep spreadsheets quiet."""
    return [None if text is None else GUARDED.sub("", text) for text in text_cells(column, role).to_pylist()]
