"""Delimited text: guess the separator, read the header, and read slowly what the fast reader refuses.

DuckDB's own sniffer is not used: on a ragged file it may take a data row for the header, and on an unclosed quote it may
decide that there are no quotes.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from crowdassay.errors import DataError
from crowdassay.labels.raw import Open, refuse_bad_bytes
from crowdassay.labels.values import shown_file

SEPARATORS = (",", ";", "\t", "|")
BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
SEPARATOR_LINE = re.compile(rf'"?sep=."?[ \t]*(?:\r\n|\r|\n){BLANK_LINES.pattern}', re.IGNORECASE)
SAMPLE_BYTES, SAMPLE_RECORDS = 1 << 18, 50  # bytes, records
FIRST_ROWS = 5000  # that are enough to see what a column holds
LISTED_LINES = 20
LONGEST_FIELD = 1 << 28  # characters of a field
BATCH = 1 << 16  # rows handed over at a time


@dataclass
class Lenient:
    """What an annotation tool's table may be like though a plain one may not, and how often it was.

    Rows may end early, once they have reached the column ``reach``: what they lack is empty. Cells that are no UTF-8 are taken
    as Windows-1252, as spreadsheets on Windows save them; in columns that are not read they do not matter.
    """

    reach: int
    short: int = 0
    windows: int = 0


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is laid out.

    Attributes
    ----------
    separator : str
    header : list of str
        Column names, stripped.
    starts_blank : bool
        Whether blank lines come before the header.
    skip : int
        Lines to leave out first: blank ones, and one that names the separator for Excel.
    spaced : bool
        Whether a blank follows every separator, as people type lists; it is no part of a cell.
    """

    separator: str
    header: list[str]
    starts_blank: bool
    skip: int = 0
    spaced: bool = False


def sniff(raw: bytes, path: Path) -> Dialect:
    """Choose the separator under which the first records, bytes from a file's beginning, agree best with the header."""
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(raw)  # the last character may be cut
    named = SEPARATOR_LINE.match(text)
    blank = BLANK_LINES.match(text)
    lead = named.group() if named else blank.group() if blank else ""
    text = text[len(lead) :]
    if not text.strip():
        raise DataError(f"No labels found: {shown_file(path.name)} is blank.")
    layouts = {separator: _layout(text, separator) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda candidate: layouts[candidate][:2])
    *_, records, spaced = layouts[separator]
    header = [name.strip() for name in records[0]]
    if any("�" in name or "\0" in name for name in header):
        refuse_bad_bytes(path, raw)
        if any("\0" in name for name in header):
            raise DataError(f"The header of {shown_file(path.name)} holds NUL bytes; re-save the file as UTF-8.")
    return Dialect(separator, header, bool(lead) and not named, skip=len(lead.splitlines()), spaced=spaced)


def first_rows(raw: bytes, dialect: Dialect) -> list[dict[str, str]]:
    """Return the first rows of a table, by column, from the bytes it begins with."""
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(raw)
    rows = list(islice(_until_broken(rows_of(text, dialect)), FIRST_ROWS))
    return [dict(zip(dialect.header, row, strict=False)) for row in rows[1:] if row]


def rows_of(text: str, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the rows of a text as it is laid out, the header first; blank lines are empty rows."""
    csv.field_size_limit(max(LONGEST_FIELD, csv.field_size_limit()))
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.separator, skipinitialspace=dialect.spaced)
    return islice(rows, dialect.skip, None)


def read_slowly(
    open_it: Open, path: Path, dialect: Dialect, positions: Sequence[int], *, lenient: Lenient | None = None
) -> Iterator[pa.RecordBatch]:
    """Read columns ``c0``, ``c1``... record by record, in batches, and say what is wrong with the file if something is.

    Mixed line ends, which the fast reader refuses, are read here. What `lenient` allows, and counts, is read too.
    """
    width = len(dialect.header)
    bad: list[tuple[int, int]] = []
    columns: list[list[str | None]] = [[] for _ in positions]
    for line, record in _records(open_it, path, dialect, lenient):
        if len(record) < width:
            if not "".join(record).strip():
                continue  # a blank line
            if lenient is None or len(record) <= lenient.reach:
                bad.append((line, len(record)))
                continue
            record.extend([""] * (width - len(record)))
            lenient.short += 1
        elif any(record[width:]):  # empty fields at the end do no harm
            bad.append((line, len(record)))
            continue
        for column, position in zip(columns, positions, strict=True):
            column.append(record[position] or None)
        if len(columns[0]) == BATCH and not bad:
            yield _batch(columns, path, open_it, lenient)
            columns = [[] for _ in positions]
    if bad:
        line, cells = bad[0]
        lines = ", ".join(str(line) for line, _ in bad[:LISTED_LINES]) + (", ..." if len(bad) > LISTED_LINES else "")
        more = f" ({len(bad)} lines are wrong: {lines})" if len(bad) > 1 else ""
        raise DataError(
            f"Line {line} of {shown_file(path.name)} has {cells} fields, not the {width} of the header{more}; "
            "correct it, or quote fields that hold the separator."
        )
    yield _batch(columns, path, open_it, lenient)


def _batch(columns: list[list[str | None]], path: Path, open_it: Open, lenient: Lenient | None) -> pa.RecordBatch:
    try:
        return pa.record_batch({f"c{n}": pa.array(column, pa.string()) for n, column in enumerate(columns)})
    except UnicodeEncodeError:  # bytes that are no UTF-8, in a column that is needed
        if lenient is None:
            refuse_bad_bytes(path, open_it=open_it)
            raise
    try:
        read = [[_from_windows(cell, lenient) for cell in column] for column in columns]
        return pa.record_batch({f"c{n}": pa.array(column, pa.string()) for n, column in enumerate(read)})
    except UnicodeError:
        refuse_bad_bytes(path, open_it=open_it)
        raise


def _from_windows(cell: str | None, lenient: Lenient) -> str | None:
    """Return a cell as it is, or its bytes read as Windows-1252 where they are no UTF-8."""
    if cell is None or not any("\udc80" <= character <= "\udcff" for character in cell):
        return cell
    lenient.windows += 1
    return cell.encode("utf-8", "surrogateescape").decode("cp1252")


def _layout(text: str, separator: str) -> tuple[float, int, list[list[str]], bool]:
    r"""Return how many of the first records agree with the header under a separator, its width, the records, and if spaced.

    >>> _layout("item, worker\ni1, ann\n", ",")[2:], _layout("text,label\nAh, well,a\n", ",")[3]
    (([['item', 'worker'], ['i1', 'ann']], True), False)
    """
    plain, trimmed = (_first_records(text, separator, spaced=spaced) for spaced in (False, True))
    cells = [cell for record in plain for cell in record[1:] if cell]
    spaced = bool(cells) and all(cell.startswith(" ") for cell in cells)
    spaced = spaced and all(len(record) == len(trimmed[0]) for record in trimmed)
    records = trimmed if spaced else plain
    width = len(records[0])
    agree = sum(len(record) == width for record in records) / len(records)
    return (agree if width > 1 else 0.0), width, records, spaced


def _first_records(text: str, separator: str, *, spaced: bool) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=spaced)
    return list(islice((record for record in _until_broken(reader) if record), SAMPLE_RECORDS + 1)) or [[text]]


def _until_broken(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error:
        return  # a field beyond the csv module's limit; the records before it are enough to go by


def _records(open_it: Open, path: Path, dialect: Dialect, lenient: Lenient | None) -> Iterator[tuple[int, list[str]]]:
    errors = "strict" if lenient is None else "surrogateescape"
    csv.field_size_limit(max(LONGEST_FIELD, csv.field_size_limit()))
    with open_it() as stream, io.TextIOWrapper(stream, "utf-8-sig", errors=errors, newline="") as text:
        reader = csv.reader(text, delimiter=dialect.separator, strict=True, skipinitialspace=dialect.spaced)
        line, headed = 1, False
        try:
            for record in islice(reader, dialect.skip, None):
                if headed:
                    yield line, record
                headed = headed or bool("".join(record).strip())
                line = reader.line_num + 1
        except UnicodeDecodeError:
            refuse_bad_bytes(path, open_it=open_it)
        except csv.Error as error:
            if "field larger" in str(error):
                raise DataError(
                    f"A field at line {line} of {shown_file(path.name)} has more than {LONGEST_FIELD:,} characters; is a quote "
                    "not closed?"
                ) from None
            raise DataError(
                f"The record that starts at line {line} of {shown_file(path.name)} has a quote that is not closed, or text "
                "after a closing quote; close it, or double the quotes inside a field."
            ) from None
