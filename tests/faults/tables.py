"""Tables out of bytes, for fuzzing: a good table by default, and every byte a choice that changes something in it.

Bytes taken for a file as they are seldom make a table, and little behind its header is reached.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

TEXTS, OTHERS = ("a.csv", "a.tsv", "a.txt", "a.csv.gz"), ("a.parquet", "a.jsonl", "a.json", "a.jsonl.gz")
KINDS = (*TEXTS * 3, *OTHERS)  # JSON needs DuckDB, which is slow to start
HEADERS = (
    ("item", "worker", "label"),
    ("task", "annotator", "answer"),
    ("label", "worker", "item"),
    ("item", "worker", "label", "created_at"),
    ("item", "worker", "label", "weight"),
    ("", "item", "worker", "label"),
    ("item", "truth"),
    (" item ", "WORKER_ID", "Label"),
    ("item", "worker", "label", "label"),
    ("item", "item", "worker", "label"),
    ("INPUT:text", "OUTPUT:tone", "ASSIGNMENT:worker_id"),
    ("HITId", "WorkerId", "Answer.tone", "AssignmentStatus"),
    ("_unit_id", "_worker_id", "tone", "_golden"),
)
PLAIN = ("a", "b", "c", "0", "1", "2", "x", "y")
ODD = (
    "", " ", "1.0", "01", "1e5", "nan", "NA", "null", "-1", "+1", "=1+1", '"', '""', "a,b", "a;b", "a\tb", "a\nb", "a\r\nb",
    "\r", "\\", "é", "e\u0301", "\U0001f600", "\u202e", "\ufeff", "\0", "true", "[1]", '["x"]', '{"a": 1}', "9" * 25,
    "x" * 300, "2024-01-01", "inf",
)  # fmt: skip
ENDS = ("\n", "\r\n", "\r")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "utf-8")
SPLICES = (b'"', b"\n", b",", b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"{", b"]", b"", b"\\u0000", b"NaN", b"\xed\xa0\x80")


@dataclass
class Choices:
    """Bytes read one after the other; zeros, the plain choice, when they are used up."""

    data: bytes
    place: int = field(default=0)

    def number(self, below: int) -> int:
        """Return a number from 0."""
        self.place += 1
        return self.data[self.place - 1] % below if self.place <= len(self.data) else 0

    def rarely(self, options: tuple, usually: int = 0):
        """Return one of several options, three times out of four the usual one."""
        chosen = self.number(4 * len(options))
        return options[chosen] if chosen < len(options) else options[usually]

    def text(self) -> str:
        """Return what a cell holds: mostly something plain, else something odd, else the bytes themselves."""
        kind = self.number(16)
        if kind < 13:
            return PLAIN[self.number(len(PLAIN))]
        if kind < 15:
            return ODD[self.number(len(ODD))]
        length = self.number(6)
        self.place += length
        return self.data[self.place - length : self.place].decode("utf-8", errors="replace")


def table(choices: Choices) -> tuple[str, bytes]:
    """Return the name and the bytes of a file."""
    name = KINDS[choices.number(len(KINDS))]
    header = list(choices.rarely(HEADERS))
    rows = [[choices.text() for _ in header] for _ in range(2 + choices.number(10))]
    if choices.number(8) == 1:  # a ragged row
        row = rows[choices.number(len(rows))]
        row[:] = row[:-1] if choices.number(2) else [*row, "more"]
    if name == "a.parquet":
        data = parquet(header, rows, choices)
    elif "json" in name:
        data = records(header, rows, name, choices)
    else:
        data = delimited(header, rows, choices)
    for _ in range(choices.rarely((0, 1, 2, 3))):  # a few changes anywhere
        place = (choices.number(256) * 256 + choices.number(256)) % (len(data) + 1)
        cut = choices.number(4)
        data = data[:place] + SPLICES[choices.number(len(SPLICES))] + data[place + cut :]
    return name, data


def delimited(header: list[str], rows: list[list[str]], choices: Choices) -> bytes:
    """Write delimited text, mostly well quoted."""
    separator, end = choices.rarely((",", ";", "\t", "|")), choices.rarely(ENDS)
    quoting = choices.rarely((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, lineterminator=end, quoting=quoting)
    lead = choices.rarely(("", end, " " + end + end))
    writer.writerows([header, *rows])
    return (lead + buffer.getvalue()).encode(choices.rarely(ENCODINGS), errors="replace")


def records(header: list[str], rows: list[list[str]], name: str, choices: Choices) -> bytes:
    """Write JSON, some values being numbers, null, lists or objects."""
    kinds = [choices.rarely((str, value_of)) for _ in header]
    objects = [{key: kind(cell) for key, kind, cell in zip(header, kinds, row, strict=False)} for row in rows]
    encoding = choices.rarely(ENCODINGS)
    ascii_only = choices.number(2) == 0
    texts = [json.dumps(one, ensure_ascii=ascii_only) for one in objects]
    whole = "\n".join(texts) if "jsonl" in name or choices.number(4) == 1 else f"[{', '.join(texts)}]"
    return whole.encode(encoding, errors="replace")


def value_of(cell: str):
    """Read a cell as JSON where it is some."""
    try:
        return json.loads(cell)
    except ValueError:
        return cell or None


def parquet(header: list[str], rows: list[list[str]], choices: Choices) -> bytes:
    """Write Parquet with columns of several types."""
    names = list(dict.fromkeys(header))
    columns = {}
    for position, name in enumerate(names):
        cells = [row[position] if position < len(row) else None for row in rows]
        kind = choices.rarely(("text", "float", "int", "bool", "dictionary", "binary", "date"))
        columns[name] = typed(cells, kind)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def typed(cells: list[str | None], kind: str) -> pa.Array:
    """Return cells as a column of a type, null where they are none of it."""
    if kind == "text":
        return pa.array(cells, pa.string())
    if kind == "dictionary":
        return pa.array(cells, pa.string()).dictionary_encode()
    if kind == "binary":
        return pa.array([None if cell is None else cell.encode() for cell in cells], pa.binary())
    numbers = [number_of(cell) for cell in cells]
    if kind == "float":
        return pa.array(numbers, pa.float64())
    whole = [None if number is None or number != number or abs(number) > 1e9 else int(number) for number in numbers]  # noqa: PLR0124
    if kind == "bool":
        return pa.array([None if number is None else bool(number) for number in whole], pa.bool_())
    return pa.array(whole, pa.int64()) if kind == "int" else pa.array(whole, pa.int32()).cast(pa.date32())


def number_of(cell: str | None) -> float | None:
    """Read a number as Python does."""
    try:
        return None if cell is None else float(cell)
    except ValueError:
        return None
