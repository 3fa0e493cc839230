"""Workbooks of spreadsheets: one sheet is read as the table of texts that it shows, and tables are written as sheets.

Excel's and OpenDocument's formats are read by python-calamine and written by XlsxWriter, both of the extra ``excel``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.errors import DataError, MissingExtraError, ParameterError
from crowdassay.labels.probe import members
from crowdassay.labels.raw import opened
from crowdassay.labels.sources import EXACT_FLOATS, cell_text
from crowdassay.labels.values import counted, listed, no_such, shown, shown_file
from crowdassay.notes import Note, NoteKind

ZIP_MARK = b"PK\x03\x04"
MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1 << 20, 1 << 14, 32_767  # of a sheet, of a sheet, and of a cell
WORKBOOK_DATE = datetime(1980, 1, 1, tzinfo=UTC)  # as zip files have it: the same table makes the same file
CHOICES = "choices"  # the hidden sheet of what may be chosen
SHEET_WIDTH = 24  # characters, of the columns of a sheet that somebody fills in
Row = list[str | None]


def load(module: str) -> Any:
    """Return a module of the extra ``excel``."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError("Workbooks need the extra 'excel': pip install 'crowdassay[excel]'.") from None


def copy_sheet(path: Path, copy: Path, sheet: str | None = None) -> list[str]:
    """Write one sheet of a workbook as CSV in which line n is row n; return notes for the import report.

    Without a name it is the first that can be seen and has two rows or more.
    """
    workbook = _opened(path)
    chosen, notes = _choose(workbook, sheet, shown_file(path.name))
    rows, said = texts_of(chosen.to_python(skip_empty_area=False), chosen.merged_cell_ranges or ())
    with copy.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        for row in rows:
            writer.writerow(row if any(row) else [])
    return [*notes, *said]


def _opened(path: Path) -> Any:
    calamine = load("python_calamine")
    with opened(path) as stream:
        start = stream.read(len(ZIP_MARK))
    if start == ZIP_MARK:
        members(path)  # which refuses what is unsafe to unpack
    try:
        return calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError:
        raise DataError(f"{shown_file(path.name)} is protected by a password; save it without one.") from None
    except (calamine.CalamineError, OSError, ValueError):
        raise DataError(
            f"{shown_file(path.name)} is no workbook, or not a complete one; save it again in the spreadsheet, or as CSV UTF-8."
        ) from None


def _choose(workbook: Any, sheet: str | None, source: str) -> tuple[Any, list[str]]:
    """Return the sheet to read, and a note where it is not the only one that could be meant."""
    calamine = load("python_calamine")
    sheets = [one for one in workbook.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet]
    names = [one.name for one in sheets]
    if sheet is not None:
        if sheet not in names:
            raise ParameterError(no_such("sheet", sheet, names))
        return _sheet(workbook, sheet, source), []
    seen = [one.name for one in sheets if one.visible == calamine.SheetVisibleEnum.Visible]
    tables = {name: one for name in seen or names if (one := _sheet(workbook, name, source)).height > 1}
    if not tables:
        raise DataError(f"No labels found: {source} holds no sheet with a header and rows.")
    first, chosen = next(iter(tables.items()))
    if len(tables) == 1 and first == names[0]:
        return chosen, []
    others = [name for name in names if name != first]
    said = f"Of {source} the sheet {shown(first)} was read; --sheet names another ({listed(others)})."
    return chosen, [Note(said, NoteKind.OTHER_SHEETS)]


def _sheet(workbook: Any, name: str, source: str) -> Any:
    try:
        return workbook.get_sheet_by_name(name)
    except (load("python_calamine").CalamineError, ValueError):
        raise DataError(f"The sheet {shown(name)} of {source} is damaged; save it again in the spreadsheet.") from None


def texts_of(
    cells: Sequence[Sequence[Any]], merged: Sequence[tuple[tuple[int, int], tuple[int, int]]] = ()
) -> tuple[list[Row], list[str]]:
    """Return a sheet's cells as texts, and what should be known of them.

    Merged cells all have the value that they show, columns without any value are left out, and so is a title above the table.

    >>> texts_of([["Study 7", ""], ["item", "ann"], [1.0, True], ["", 0.30000000000000004]], [((2, 0), (3, 0))])[0]
    [[None, None], ['item', 'ann'], ['1', 'true'], ['1', '0.3']]
    """
    rows: list[Row] = [[_text(cell) for cell in row] for row in cells]
    notes: list[str] = []
    titles = _titles(rows)
    for number in titles:
        rows[number] = [None] * len(rows[number])
    if titles:
        numbers = ", ".join(str(number + 1) for number in titles)
        notes.append(f"Rows {numbers} were taken for titles." if len(titles) > 1 else f"Row {numbers} was taken for a title.")
    spans = [(top, left, bottom, right) for (top, left), (bottom, right) in merged if top not in titles and top < len(rows)]
    for top, left, bottom, right in spans:
        for row in rows[top : bottom + 1]:
            for column in range(left, min(right + 1, len(row))):
                row[column] = rows[top][left]
    if spans:
        notes.append(f"Merged cells ({counted(len(spans), 'range')}) were read as if each held what they show.")
    numbered = ((n, m, cell) for n, row in enumerate(cells, 1) for m, cell in enumerate(row, 1) if isinstance(cell, float))
    long = next(((n, m) for n, m, number in numbered if EXACT_FLOATS <= abs(number) < math.inf), None)
    if long is not None:
        notes.append(
            f"The number in row {long[0]}, column {long[1]} has more than 15 digits, of which a spreadsheet keeps 15; "
            "ids as long as that must be texts."
        )
    while rows and not any(rows[-1]):
        rows.pop()
    used = [n for n in range(max(map(len, rows), default=0)) if any(row[n] for row in rows)]
    return [[row[n] for n in used] for row in rows], notes


def _titles(rows: Sequence[Row]) -> list[int]:
    """Return the rows above a table that hold a single text, which occurs nowhere else."""
    titles: list[int] = []
    for number, row in enumerate(rows):
        filled = [cell for cell in row if cell]
        below = rows[number + 1 :]
        table = any(sum(map(bool, other)) > 1 for other in below)
        if len(filled) > 1 or not table or any(cell in other for cell in filled for other in below):
            break
        titles += [number] if filled else []
    return titles


def _text(value: Any) -> str | None:
    """Return a cell's value as text; numbers with the 15 digits that a spreadsheet has."""
    if isinstance(value, float) and math.isfinite(value) and abs(value) < EXACT_FLOATS:
        value = float(f"{value:.15g}")
    return cell_text(value) or None


class SheetWriter:
    """Write a table that comes in pieces as the only sheet of a workbook.

    Parameters
    ----------
    path : Path
        Of a file that is not there yet.
    names : sequence of str
        The header, texts that no spreadsheet runs.
    """

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        if len(names) > MOST_COLUMNS:
            raise _too_large(f"{len(names):,} columns", f"{MOST_COLUMNS:,}")
        self._book = load("xlsxwriter").Workbook(str(path), {"constant_memory": True})
        self._book.set_properties({"created": WORKBOOK_DATE})
        self._sheet = self._book.add_worksheet()
        self._sheet.freeze_panes(1, 0)
        self._row, self._width = 0, len(names)
        self._write(names)

    def write(self, columns: Sequence[pa.Array]) -> None:
        """Append rows; nothing stands where a value is null or not a number."""
        for row in zip(*(column.to_pylist() for column in columns), strict=True):
            self._write(row)

    def _write(self, row: Sequence[Any]) -> None:
        if self._row == MOST_ROWS:
            raise _too_large("more rows", f"{MOST_ROWS:,}")
        for column, value in enumerate(row):
            if isinstance(value, bool):
                self._sheet.write_boolean(self._row, column, value)
            elif isinstance(value, int | float) and math.isfinite(value):
                self._sheet.write_number(self._row, column, value)
            elif value is not None and value == value:  # noqa: PLR0124 - NaN
                if len(text := str(value)) > MOST_CHARACTERS:
                    raise _too_large(f"a text of {len(text):,} characters", f"{MOST_CHARACTERS:,} in a cell")
                self._sheet.write_string(self._row, column, text)
        self._row += 1

    def offer(self, column: int, texts: Sequence[str]) -> None:
        """Offer texts to choose from in the cells written so far of a column; they stand on a hidden sheet of their own."""
        listed = self._book.add_worksheet(CHOICES)
        listed.hide()
        for row, text in enumerate(texts):
            listed.write_string(row, 0, text)
        self._sheet.set_column(0, self._width - 1, SHEET_WIDTH)
        rule = {
            "validate": "list",
            "source": f"={CHOICES}!$A$1:$A${len(texts)}",
            "error_title": "No such class",
            "error_message": "Choose a class from the list.",
        }
        self._sheet.data_validation(1, column, max(self._row - 1, 1), column, rule)

    def close(self) -> None:
        """Finish the file."""
        self._book.close()


def _too_large(what: str, most: str) -> DataError:
    return DataError(f"A workbook cannot hold this table ({what}; it holds {most} at most); write CSV or Parquet.")
