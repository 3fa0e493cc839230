"""Delimited text: guess the separator, read the header, and read slowly what the fast reader refuses.

DuckDB's own sniffer is not used: on a ragged file it may take a data row for the header, and on an unclosed quote it may
decide that there are no quotes.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from crowdassay.errors import DataError
from crowdassay.labels.contents import is_id
from crowdassay.labels.raw import Open, refuse_bad_bytes
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import are_numbers, shown, shown_file

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS = (",", ";", "\t", "|")
BLANK = " "  # separates cells where nothing else does, and lines are laid out alike
LINES_ALIKE = 10  # of as many words each, from which on they are hardly a text's
BLANK_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
COMMENT_LINES = re.compile(r"(?=#+[ \t])(?:#[^\r\n]*(?:\r\n|\r|\n)|[ \t]*(?:\r\n|\r|\n))+(?=[^#\s])")
NO_CELLS = ' \t",;|'  # what lines without any cell are made of
SEPARATOR_LINE = re.compile(rf'"?sep=."?[ \t]*(?:\r\n|\r|\n){BLANK_LINES.pattern}', re.IGNORECASE)
LINE_END = re.compile(r"\r\n|\r|\n")
SAMPLE_BYTES, SAMPLE_RECORDS = 1 << 18, 50  # bytes, records
FIRST_ROWS = 5000  # that are enough to see what a column holds
LEFT_OUT = frozenset({"Approve", "Reject"})  # columns for the requester, which Mechanical Turk names and leaves out of rows
LISTED_LINES = 20
LACKING = 0.9  # how far records agree with a header that lacks its first name: less than with one that lacks none
MOST_TITLES = 30  # lines above a header
LEAST_NAMES = 3  # in a header below titles; rows, from which on names before their cells are no chance
LONGEST_FIELD = 1 << 28  # characters of a field
BATCH = 1 << 16  # rows handed over at a time


@dataclass
class Lenient:
    """What an annotation tool's table may be like though a plain one may not, and how often it was.

    Rows may end early, once they have reached the column ``reach``: what they lack is empty. Cells that are no UTF-8 are taken
    as Windows-1252, as spreadsheets on Windows save them; in columns that are not read they do not matter. In the columns
    ``names`` they are refused: another coding would make other names of them.
    """

    reach: int
    names: frozenset[str] = frozenset()
    short: int = 0
    windows: int = 0


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is laid out.

    Attributes
    ----------
    separator : str
    header : list of str
        Column names, stripped; numbers from 1 where there is no header.
    starts_blank : bool
        Whether blank lines come before the header.
    skip : int
        Lines to leave out first: blank ones, and one that names the separator for Excel.
    spaced : bool
        Whether a blank follows every separator, as people type lists; it is no part of a cell.
    quoted : bool
        Whether quotes enclose cells; otherwise they are a part of the text, as in tables that no spreadsheet wrote.
    titles : int
        Lines with a title that are left out above the header.
    headed : bool
        Whether the first record is a header; otherwise it holds labels.
    """

    separator: str
    header: list[str]
    starts_blank: bool
    skip: int = 0
    spaced: bool = False
    quoted: bool = True
    titles: int = 0
    headed: bool = True

    def numbered(self) -> Dialect:
        """Return the same layout without a header: columns are called by their number, from 1."""
        return replace(self, header=[str(n) for n in range(1, len(self.header) + 1)], headed=False)

    def reader(self, text: Iterable[str], *, strict: bool = False) -> Reader:
        """Return the csv module's reader of a text that is laid out so, the header first; blank lines are empty rows."""
        csv.field_size_limit(max(LONGEST_FIELD, csv.field_size_limit()))
        rows = csv.reader(
            text,
            delimiter=self.separator,
            strict=strict,
            skipinitialspace=self.spaced,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
        )
        next(islice(rows, self.skip, self.skip), None)
        return rows


def common_width(raw: bytes, dialect: Dialect) -> int | None:
    r"""Return how many cells every row has where what all lack is known to be left out; None elsewhere: cells may have moved.

    >>> short = sniff(b"a,b,Reject\n1,2\n3,4\n5,6\n", Path("x.csv"))
    >>> common_width(b"a,b,Reject\n1,2\n3,4\n5,6\n", short), common_width(b"a,b,Reject\n1,2\n3,4,5\n5,6\n", short)
    (2, None)
    """
    if not dialect.header or dialect.header[-1] not in LEFT_OUT:
        return None
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(raw)
    try:
        rows = [row for row in islice(dialect.reader(io.StringIO(text, newline="")), FIRST_ROWS) if any(row)]
    except csv.Error:
        return None
    widths = {len(row) for row in rows[1:-1] or rows[1:]}  # the last may be cut
    return widths.pop() if len(widths) == 1 and LEFT_OUT.issuperset(dialect.header[min(widths) :]) else None


def sniff(raw: bytes, path: Path) -> Dialect:
    """Choose the separator under which the first records, bytes from a file's beginning, agree best with the header."""
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(raw)  # the last character may be cut
    named = SEPARATOR_LINE.match(text)
    blank = BLANK_LINES.match(text)
    lead = named.group() if named else blank.group() if blank else ""
    lead += _comments(text[len(lead) :])
    titles = _titles(text[len(lead) :])
    lead += titles
    text = text[len(lead) :]
    if not text.strip():
        raise DataError(f"No labels found: {shown_file(path.name)} is blank.")
    separator, records, spaced = _best_layout(text)
    header = [name.strip() for name in records[0]]
    if len(header) == 1 and _quoted_as_a_whole(text, records):
        raise DataError(
            f"Every line of {shown_file(path.name)} is quoted as a whole, so that it holds one cell, such as "
            f"{shown(header[0])}; take these quotes away, and write the doubled ones within once."
        )
    if len(header) > 1 and (bare := header[0].lstrip("#").strip()):
        header[0] = bare  # a header that is written as a comment
    if any("�" in name or "\0" in name for name in header):
        refuse_bad_bytes(path, raw)
        if any("\0" in name for name in header):
            raise DataError(f"The header of {shown_file(path.name)} holds NUL bytes; re-save the file as UTF-8.")
    quoted = separator != "\t" or '"' not in text or not _quotes_are_text(text, whole=len(raw) < SAMPLE_BYTES)
    starts_blank = lead != (named.group() if named else "")
    n_titles = len(LINE_END.findall(titles)) if titles.strip(f"{NO_CELLS}\r\n") else 0
    dialect = Dialect(separator, header, starts_blank, 0, spaced, quoted, n_titles)
    return replace(dialect, skip=sum(1 for _ in dialect.reader(io.StringIO(lead, newline=""))))


def _best_layout(text: str) -> tuple[str, list[list[str]], bool]:
    """Return the separator under which the first records agree best with the header, the records, and if spaced."""
    layouts = {separator: _layout(text, separator) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda candidate: layouts[candidate][:2])
    if layouts[separator][1] == 1 and (records := _blank_separated(text)):
        return BLANK, records, False
    return separator, *layouts[separator][2:]


def _blank_separated(text: str) -> list[list[str]]:
    r"""Return the first records of a table whose cells are separated by a blank; none where lines are of a text.

    The first line is a header, or there are enough lines that are laid out alike.

    >>> _blank_separated("# item worker label\ni1 ann yes\ni2 ann no\n")[0]
    ['item', 'worker', 'label']
    >>> _blank_separated("i1 ann yes\ni2 ann no\n"), _blank_separated("a line\nof a text\n")
    ([], [])
    >>> _blank_separated("i1 ann yes\ni2 ann no\n" * 5)[0]
    ['i1', 'ann', 'yes']
    """
    lines = [line.strip() for line in LINE_END.split(text)[:-1][: SAMPLE_RECORDS + 1]]
    records = [line.lstrip("# ").split(BLANK) for line in lines[:1]] + [line.split(BLANK) for line in lines[1:] if line]
    alike = len(records) > 1 and len({len(record) for record in records}) == 1
    recurs = any(records[0][n] == record[n] for record in records[1:] for n in range(len(record))) if alike else True
    many = alike and len(records) >= LINES_ALIKE and len(records[0]) >= LEAST_NAMES
    return records if alike and len(records[0]) > 1 and (many or not recurs) else []


def _comments(text: str) -> str:
    r"""Return the comments, lines with a number sign, that come before a table; the last may be its header.

    >>> _comments("# of 2026\n# by hand\nitem,worker\ni1,ann\n")
    '# of 2026\n# by hand\n'
    >>> _comments("# of 2026\n#item,worker\ni1,ann\n")
    '# of 2026\n'
    """
    found = COMMENT_LINES.match(text)
    if found is None:
        return ""
    *before, last = found.group().splitlines(keepends=True)
    separator, records, _ = _best_layout(text[found.end() :])
    headed = len(records[0]) == len(next(csv.reader([last], delimiter=separator), [])) > 1
    headed = headed or (len(records[0]) == 1 and bool(_blank_separated(last + text[found.end() :])))
    return "".join(before) if headed else found.group()


def _titles(text: str) -> str:
    r"""Return the rows that fill no cell but the first, such as titles, before a header; none if the next row may hold labels.

    >>> _titles(",,\nitem,ann,bob\ni1,yes,no\n"), _titles(",,\nyes,no,no\nno,yes,yes\n"), _titles(",\n3,4\n1,5\n")
    (',,\n', '', '')
    >>> _titles("My study,,\n\nitem,ann,bob\ni1,yes,no\ni2,no,no\n"), _titles("yes,,\nno,yes,no\nno,yes,yes\nno,no,yes\n")
    ('My study,,\n\n', '')
    """
    end, lines = 0, 0
    titles: list[str] = []
    for match in LINE_END.finditer(text):
        line, lines = text[end : match.start()], lines + 1
        if line.count('"') % 2 and lines < MOST_TITLES:
            continue  # a title of several lines
        if line.strip(NO_CELLS):
            title = _only_cell(line)
            if not title or len(titles) == MOST_TITLES:
                break
            titles.append(title)
        end, lines = match.end(), 0
    lead, rest = text[:end], text[end:]
    if not lead.strip() or not rest.strip():
        return ""
    header, *below = [[cell.strip() for cell in record] for record in _best_layout(rest)[1]]
    names, held = [name for name in header if name], {cell for record in below for cell in record}
    headed = len(names) > 1 and len(set(names)) == len(names) and held.isdisjoint(names) and bool(below)
    if titles:  # which may be the header itself, or labels, so that more is asked
        headed = headed and len(names) >= max(LEAST_NAMES, len(header) - 1) and len(below) > 1
        alike = sum(len(record) == len(header) for record in below)
        headed = headed and 4 * alike >= 3 * len(below) and held.isdisjoint(titles)
    return lead if headed and not are_numbers(names) else ""


def _only_cell(line: str) -> str:
    r"""Return the first cell of a line that fills no other; nothing where several are filled.

    >>> _only_cell("My study; part 1,,"), _only_cell('"a, b",,'), _only_cell("My study"), _only_cell("a,b,,")
    ('My study; part 1', 'a, b', 'My study', '')
    """
    bare = line.rstrip(" ")
    separator = bare[-1:]
    if separator not in SEPARATORS:
        separator = next((one for one in SEPARATORS if one in bare), SEPARATORS[0])
    first, *others = next(_until_broken(csv.reader([bare], delimiter=separator)), ["", bare])
    return "" if any(map(str.strip, others)) else first.strip()


def _quoted_as_a_whole(text: str, records: list[list[str]]) -> bool:
    r"""Return whether the only cell of every record is a line of a table, which was quoted once more.

    >>> _quoted_as_a_whole('"item,worker,label"\n"i1,ann,yes"\n', [["item,worker,label"], ["i1,ann,yes"]])
    True
    >>> _quoted_as_a_whole('"Well, no"\n"So it is"\n', [["Well, no"], ["So it is"]])
    False
    """
    lines = [line.strip() for line in LINE_END.split(text)[:-1] if line.strip()]
    if len(records) < 2 or any(len(record) > 1 for record in records):
        return False
    if not all(line.startswith('"') and line.endswith('"') for line in lines):
        return False
    separator, inner, _ = _best_layout("\n".join(cell for (cell,) in records))
    width = len(inner[0])
    return separator != BLANK and width > 2 and all(len(record) == width for record in inner)


def _quotes_are_text(text: str, *, whole: bool) -> bool:
    r"""Return whether quotes in a table with tabs enclose no cells: every line has all cells as it stands, and not otherwise.

    >>> _quotes_are_text('a\tb\n"so" it is\t1\n5" wide\t2\n', whole=True)
    True
    >>> _quotes_are_text('a\tb\n"so\tso"\t1\n', whole=True)
    False
    """
    lines = [line for line in LINE_END.split(text) if line.strip()]
    lines = lines if whole else lines[:-1]
    widths = {line.count("\t") + 1 for line in lines}
    if len(widths) != 1:
        return False
    try:
        rows = [row for row in csv.reader(lines, delimiter="\t", strict=True) if row]
    except csv.Error:
        return True
    return len(rows) != len(lines) or {len(row) for row in rows} != widths


def first_rows(raw: bytes, dialect: Dialect) -> list[dict[str, str]]:
    """Return the first rows of a table, by column, from the bytes it begins with.

    The last row of a sample may be cut in the middle of a cell, and a row that is too long or short may have its cells in the
    wrong columns: neither says what a column holds.
    """
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(raw)
    records = filter(None, _until_broken(dialect.reader(io.StringIO(text, newline=""))))
    rows = list(islice(records, int(dialect.headed), FIRST_ROWS + 1))
    if len(raw) >= SAMPLE_BYTES and len(rows) < FIRST_ROWS:
        rows = rows[:-1]
    width = len(dialect.header)
    return [dict(zip(dialect.header, row, strict=False)) for row in rows if len(row) >= width and not any(row[width:])]


def read_slowly(
    open_it: Open, path: Path, dialect: Dialect, positions: Mapping[str, int], lenient: Lenient
) -> Iterator[pa.RecordBatch]:
    """Read columns by name and position, record by record, in batches, and say what is wrong with the file if something is.

    Mixed line ends, which the fast reader refuses, are read here. What `lenient` allows, and counts, is read too.
    """
    width = len(dialect.header)
    bad: list[tuple[int, int]] = []
    columns: dict[str, list[str | None]] = {name: [] for name in positions}
    rows = 0
    for line, record in _records(open_it, path, dialect):
        if len(record) < width:
            if not "".join(record).strip():
                continue  # a blank line
            if len(record) <= lenient.reach:
                bad.append((line, len(record)))
                continue
            record.extend([""] * (width - len(record)))
            lenient.short += 1
        elif any(record[width:]):  # empty fields at the end do no harm
            bad.append((line, len(record)))
            continue
        for column, position in zip(columns.values(), positions.values(), strict=True):
            column.append(record[position] or None)
        rows += 1
        if rows % BATCH == 0 and not bad:
            yield _batch(columns, path, open_it, lenient)
            columns = {name: [] for name in positions}
    if bad:
        line, cells = bad[0]
        lines = ", ".join(str(line) for line, _ in bad[:LISTED_LINES]) + (", ..." if len(bad) > LISTED_LINES else "")
        more = f" ({len(bad)} lines are wrong: {lines})" if len(bad) > 1 else ""
        raise DataError(
            f"Line {line} of {shown_file(path.name)} has {cells} fields, not the {width} of the "
            f"{'header' if dialect.headed else 'first line'}{more}; "
            "correct it, or quote fields that hold the separator."
        )
    yield _batch(columns, path, open_it, lenient)


def _batch(columns: Mapping[str, list[str | None]], path: Path, open_it: Open, lenient: Lenient) -> pa.RecordBatch:
    with suppress(UnicodeEncodeError):  # bytes that are no UTF-8, in a column that is needed
        return pa.record_batch({name: pa.array(column, pa.string()) for name, column in columns.items()})
    try:
        read = {
            name: column if name in lenient.names else [_from_windows(cell, lenient) for cell in column]
            for name, column in columns.items()
        }
        return pa.record_batch({name: pa.array(column, pa.string()) for name, column in read.items()})
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
    both = []
    for spaced in (False, True):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=spaced)
        both.append(list(islice(filter(None, _until_broken(reader)), SAMPLE_RECORDS + 1)) or [[text]])
    plain, trimmed = both
    cells = [cell for record in plain for cell in record[1:] if cell]
    spaced = bool(cells) and all(cell.startswith(" ") for cell in cells)
    spaced = spaced and all(len(record) == len(trimmed[0]) for record in trimmed)
    records = trimmed if spaced else plain
    if lacks := _lacks_first_name(records, text):
        records = [["", *records[0]], *records[1:]]
    width = len(records[0])
    agree = LACKING if lacks else sum(len(record) == width for record in records) / len(records)
    return (agree if width > 1 else 0.0), width, records, spaced


def _lacks_first_name(records: Sequence[Sequence[str]], text: str) -> bool:
    r"""Return whether rows have a name each before their cells, for which the header has none, as R writes tables.

    Where its first name may well be theirs, so that the last cells lack one, names must be the numbers that R gives.

    >>> _lacks_first_name([["S1", "S2"], ["a", "x", "y"], ["b", "x", "x"], ["c", "y", "x"]], "S1,S2")
    True
    >>> _lacks_first_name([["item", "S2"], ["a", "x", "y"], ["b", "x", "x"], ["c", "y", "x"]], "item,S2")
    False
    """
    header, *rows = records
    names = [row[0].strip() for row in rows]
    if len(header) < 2 or any(len(row) != len(header) + 1 for row in rows) or not all(names) or len(set(names)) < len(names):
        return False
    quoted = [line.startswith('"') for line in LINE_END.split(text, 2)[:2]] == [True, True]
    if len(rows) < LEAST_NAMES - quoted or not any(row[-1].strip() for row in rows):
        return False  # the separator may end every row
    if is_id(header[0]) or any(role.is_named(header[0]) for role in ROLES.values()):
        return quoted and names == [str(n) for n in range(1, len(names) + 1)]
    return quoted or not any(cell.startswith(" ") for row in rows for cell in row)  # a text with commas


def _until_broken(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error:
        return  # a field beyond the csv module's limit; the records before it are enough to go by


def _records(open_it: Open, path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the records below the header with the lines they start at; bytes that are no UTF-8 are surrogates."""
    with open_it() as stream, io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="") as text:
        headed = not dialect.headed
        line = 1
        try:
            reader = dialect.reader(text, strict=True)
            line = reader.line_num + 1
            for record in reader:
                if headed:
                    yield line, record
                headed = headed or bool("".join(record).strip())
                line = reader.line_num + 1
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
