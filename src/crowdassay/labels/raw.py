"""Files by their names and bytes: which kind a file is, how it is opened, and what is refused as no text in UTF-8.

UTF-16, which spreadsheets save as "Unicode text", and workbooks are read by way of a copy in plain text.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import os
import re
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, cast

from crowdassay.errors import CrowdassayError, DataError, FileError, ParameterError
from crowdassay.labels.values import shown, shown_file
from crowdassay.read_options import AS_IT_IS, Opening

Open = Callable[[], AbstractContextManager[BinaryIO]]

# Kinds of files by their extensions
DELIMITED = frozenset({".csv", ".tsv", ".tab", ".txt", ".results"})  # .results: Mechanical Turk's command line tools
LINES = frozenset({".jsonl", ".ndjson"})
JSON_SUFFIXES = LINES | {".json"}
RECORDS = JSON_SUFFIXES | {".manifest"}
PARQUET, ARRAY = ".parquet", ".npy"
ZIPPED = frozenset({".zip", ".eval"})  # .eval: Inspect's logs
WORKBOOKS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
SUPPORTED = (".csv", ".tsv", ".tab", ".txt", ".results", PARQUET, ".jsonl", ".ndjson", ".json", *sorted(WORKBOOKS))
EXPORT_SUFFIXES = (*sorted(ZIPPED, reverse=True), ".manifest", ARRAY)  # only as what a tool exports
NUMBERS = ".numbers"  # of Apple, which nothing else reads
WILDCARDS = frozenset("*?[")

BOM = b"\xef\xbb\xbf"
NO_ENCODINGS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape"})  # that Python knows as such
MARKED_UTF8 = "utf-8-sig"
MAX_RATIO = 100  # unpacked to packed; text packs about ten to one
SMALL_FILE = 1 << 20  # bytes below which the ratio says nothing
BYTES_AT_A_TIME = 1 << 20
WEB_ADDRESS = re.compile(r"[a-z][a-z0-9+]+:/+", re.IGNORECASE)
PARQUET_MARK, SMALLEST_PARQUET = b"PAR1", 12  # what begins and ends a Parquet file; bytes of the least one
NOT_TEXT = {
    b"\xff\xfe": ("UTF-16 text", "re-save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "re-save it as UTF-8"),
    b"PK\x03\x04": ("a zip or Excel file", "export it as CSV in UTF-8"),
    b"\x1f\x8b": ("gzip-compressed", "add .gz to its name"),
    PARQUET_MARK: ("a Parquet file", "end its name in .parquet"),
}
ENCODING_MARKS = {  # the longer ones first: UTF-32 begins as UTF-16 does
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ENCODING_BYTES = 8  # of a file's beginning, by which its encoding is told


def is_gzipped(path: Path) -> bool:
    """Return whether a file is gzipped by its name."""
    return path.suffix.lower() == ".gz"


def kind_of(path: Path) -> str:
    """Return a file's extension in lower case, without .gz.

    >>> kind_of(Path("Labels.CSV.gz"))
    '.csv'
    """
    return (path.with_suffix("") if is_gzipped(path) else path).suffix.lower()


def check_file(path: str | Path) -> tuple[Path, str]:
    """Check that a file exists and is of a kind we read; return it with its extension, without .gz."""
    refuse_odd_path(path)
    path = Path(path)
    if path.is_dir():
        raise FileError(no_export(path))
    if not path.exists():
        raise FileError(f"There is no file {shown_file(path)}.")
    kind = kind_of(path)
    if kind == NUMBERS:
        raise FileError(f"{shown_file(path.name)} is a spreadsheet of Numbers; export it as Excel or CSV and give that file.")
    if kind not in SUPPORTED or (is_gzipped(path) and kind not in DELIMITED | JSON_SUFFIXES):
        raise FileError(
            f"{shown_file(path.name)} has an extension that is not supported; the supported ones are {', '.join(SUPPORTED)}, "
            f"and .gz after any text format; annotation tools' exports may also end in {', '.join(EXPORT_SUFFIXES)}."
        )
    return path, kind


def no_export(path: Path) -> str:
    """Return what to say of a folder that is no export: which files inside it to give."""
    files = sorted(file for file in path.glob("*/*") if file.is_file() and kind_of(file) in (*SUPPORTED, *EXPORT_SUFFIXES))
    inside = "a file inside it"
    if files:
        name = files[0].name if len({file.name for file in files}) == 1 else f"*{files[0].suffix}"
        inside = f"the files inside it: {shown_file(f'{path.name}/*/{name}')}"
    return f"{shown_file(path)} is a folder that no known tool writes; give {inside}."


def find_inputs(given: Sequence[str | Path]) -> list[Path]:
    """Return the files that paths, folders and patterns stand for, each once, in order.

    A folder stands for the files in it of a kind we read; a pattern such as ``day-*.csv`` for what matches.
    """
    inputs: dict[str, Path] = {}
    for one in given:
        refuse_odd_path(one)
        path = Path(one)
        if path.is_dir():
            inside = (file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith("."))
            files = [file for file in inside if kind_of(file) in (*SUPPORTED, *EXPORT_SUFFIXES)]
            if not files:
                raise FileError(f"The folder {shown_file(path)} holds no file of labels ({', '.join(SUPPORTED)}).")
        elif not path.exists() and WILDCARDS & set(str(one)):
            matches = sorted(glob.glob(str(one), recursive=True))
            if not matches:
                raise FileError(f"No file matches {shown(str(one))}.")
            files = find_inputs(matches)
        else:
            files = [path]
        for file in files:
            inputs.setdefault(os.path.realpath(file), file)
    return list(inputs.values())


def refuse_odd_path(given: str | Path) -> None:
    """Refuse what cannot be the path of a file or folder, and pipes and devices, which cannot be read twice."""
    if not str(given):
        raise FileError("The path is empty; name a file.")
    try:
        mode = os.stat(given).st_mode
    except FileNotFoundError:
        if WEB_ADDRESS.match(str(given)):
            raise FileError(f"{shown(given)} is not on this machine; download it first.") from None
        return  # whoever reads it says so, and in what
    except PermissionError:
        raise FileError(f"{shown_file(given)} cannot be reached; check the permissions of its folder.") from None
    except (OSError, ValueError):  # a name too long, a loop of links, a NUL
        raise FileError(f"There is no file {shown(given)}.") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FileError(f"{shown_file(given)} is a pipe or a device; write what it gives to a file and name that.")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, unzipping on the way; failures become sentences."""
    try:
        with cast(BinaryIO, gzip.open(path, "rb")) if is_gzipped(path) else path.open("rb") as stream:
            yield stream
    except CrowdassayError:
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{shown_file(path.name)} is not a complete gzip file; compress or download it again.") from None
    except OSError as error:
        raise FileError(
            f"{shown_file(path.name)} cannot be read ({os.strerror(error.errno or 0)}); check its permissions."
        ) from None


def check_start(start: bytes, path: Path) -> None:
    """Refuse an empty file or one that is no UTF-8 text by its first bytes, and one that unpacks to far too much."""
    refuse_bomb(path)
    if not start.removeprefix(BOM):
        raise DataError(f"No labels found: {shown_file(path.name)} is empty.")
    for magic, (kind, remedy) in NOT_TEXT.items():
        if start.startswith(magic):
            raise DataError(f"{shown_file(path.name)} is {kind}, not plain UTF-8 text; {remedy}.")


def refuse_bad_bytes(path: Path, data: bytes | None = None, *, open_it: Open | None = None) -> None:
    """Raise `DataError` with line and byte where a file, its bytes or what is opened stop being UTF-8; else return."""
    offset = 0
    stand_in = nullcontext(cast(BinaryIO, io.BytesIO(data or b"")))
    with open_it() if open_it else opened(path) if data is None else stand_in as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"line {number} (byte {offset + error.start})"
                remedy = _remedy(line, error.start)
                raise DataError(f"{shown_file(path.name)} is not UTF-8 text at {where}; {remedy}.") from None
            offset += len(line)


def _remedy(line: bytes, position: int) -> str:
    """Return what to do about a byte that is no UTF-8: where the whole line reads as Windows-1252, what the byte is there."""
    text = line.decode("cp1252", errors="replace")
    if "\ufffd" in text or not re.sub(r"\s", "", text).isprintable():
        return "if it is no text at all, export it as CSV in UTF-8 (labels in another encoding may be read with --encoding)"
    byte = shown(text[position])
    return (
        f"re-save it as UTF-8 (in Windows-1252 that byte is {byte}; labels themselves may be read with --encoding windows-1252)"
    )


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """Open a Parquet file, or say where it stops being one."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise broken_parquet(path) from None


def broken_parquet(path: Path) -> DataError:
    """Return an error that says where a Parquet file stops being one; its table of contents stands at the end."""
    size = path.stat().st_size
    with opened(path) as stream:
        first = stream.read(4)
        stream.seek(max(size - 8, 0))
        last = stream.read()
    length = int.from_bytes(last[:4], "little")
    begins = size - 8 - length
    remedy = "export or download it again"
    if not size:
        what = "is empty"
    elif first != PARQUET_MARK:
        what, remedy = "does not begin with PAR1", "if it is text, end its name in .csv or .jsonl"
    elif last[4:] != PARQUET_MARK or size < SMALLEST_PARQUET:
        what = f"is cut off at byte {size:,}, before its footer"
    elif begins < len(PARQUET_MARK):
        what = f"has {size:,} bytes but claims a footer of {length:,}"
    else:
        what = f"is damaged, in its footer (bytes {begins:,} to {size:,}) or in the pages before it"
    return DataError(f"{shown_file(path.name)} is not a complete Parquet file: it {what}; {remedy}.")


def refuse_bomb(path: Path) -> None:
    """Unpack a gzipped file once, keeping nothing, before any reader does: the size it claims may be a lie."""
    packed = path.stat().st_size
    if not is_gzipped(path) or packed * 1100 < SMALL_FILE:  # deflate packs 1032 to one at best
        return
    unpacked = 0
    with opened(path) as stream:
        while chunk := stream.read(BYTES_AT_A_TIME):
            unpacked += len(chunk)
            if unpacked > max(SMALL_FILE, MAX_RATIO * packed):
                raise DataError(
                    f"{shown_file(path.name)} was not read: it unpacks to more than {MAX_RATIO} times its size; "
                    "if it is no trap, unpack it yourself."
                )


def encoding_of(start: bytes) -> str | None:
    r"""Return the codec of UTF-16 or UTF-32 text by a file's first bytes, None for any other.

    Without a byte order mark, four ASCII characters are asked for: in UTF-8 text their NUL bytes would be refused anyway.

    >>> encoding_of("item".encode("utf-16")), encoding_of("item".encode("utf-16-be")), encoding_of(b"item,wor")
    ('utf-16', 'utf-16-be', None)
    """
    for mark, codec in ENCODING_MARKS.items():
        if start.startswith(mark):
            return codec
    for first, codec in ((0, "utf-16-le"), (1, "utf-16-be")):
        letters, zeros = start[first:ENCODING_BYTES:2], start[1 - first : ENCODING_BYTES : 2]
        if zeros == bytes(ENCODING_BYTES // 2) and letters.isascii() and 0 not in letters:
            return codec
    return None


@contextmanager
def as_utf8(path: Path, opening: Opening = AS_IT_IS) -> Iterator[tuple[Path, list[str]]]:
    """Yield a file as `utf8_copy` returns it; a copy is gone afterwards."""
    if opening == AS_IT_IS and kind_of(path) not in WORKBOOKS and _encoding_in(path) is None:
        yield path, []  # without a temporary folder, which may not be had
        return
    with tempfile.TemporaryDirectory() as folder:
        yield utf8_copy(path, Path(folder), opening)


def utf8_copy(path: Path, folder: Path, opening: Opening = AS_IT_IS) -> tuple[Path, list[str]]:
    """Return a file of text in UTF-8 with notes for the import report: the file itself, or a copy of its name in the folder.

    Of a workbook it is the sheet that is named, or the first with a table.
    """
    kind = kind_of(path)
    if opening.encoding is not None and path.is_file() and kind not in DELIMITED | RECORDS:
        raise ParameterError(f"--encoding goes with files of text, and {shown_file(path.name)} is none.")
    if kind in WORKBOOKS and path.is_file():
        from crowdassay.labels.sheets import copy_sheet  # noqa: PLC0415 - seldom needed

        copy = Path(tempfile.mkdtemp(dir=folder), path.name)
        return copy, copy_sheet(path, copy, opening.sheet)
    if opening.sheet is not None:
        raise ParameterError(f"--sheet goes with workbooks such as .xlsx, and {shown_file(path.name)} is none.")
    encoding = marked = _encoding_in(path)
    if opening.encoding is not None:
        encoding = _known_encoding(opening.encoding)
        if marked is not None or _begins_with_mark(path):
            raise ParameterError(f"{shown_file(path.name)} begins with the mark of Unicode text; leave out --encoding.")
    if encoding is None or not path.is_file():
        return path, []
    refuse_bomb(path)
    copy, name = Path(tempfile.mkdtemp(dir=folder), path.name), opening.encoding or encoding[:6].upper()
    _transcode(path, copy, codecs.getincrementaldecoder(encoding)(), name)
    return copy, [] if encoding == MARKED_UTF8 else [f"{shown_file(path.name)} was read as {name} text."]


def _begins_with_mark(path: Path) -> bool:
    if not path.is_file():
        return False
    with opened(path) as stream:
        return stream.read(len(BOM)) == BOM


def _known_encoding(name: str) -> str:
    """Return Python's name of an encoding of text, or say that there is none."""
    try:
        known = codecs.lookup(str(name)).name
        if known in NO_ENCODINGS or not isinstance(bytes(ENCODING_BYTES).decode(known), str):
            raise LookupError
        return known
    except (LookupError, ValueError, AttributeError):
        raise ParameterError(
            f"There is no encoding {shown(name)}; --encoding is one such as windows-1252, iso-8859-15, mac-roman or gb18030."
        ) from None


def _encoding_in(path: Path) -> str | None:
    kind = kind_of(path)
    if not path.is_file() or kind not in DELIMITED | RECORDS:
        return None
    with opened(path) as stream:
        start = stream.read(ENCODING_BYTES)
    # DuckDB's reader of JSON takes a byte order mark for a part of the text.
    return MARKED_UTF8 if kind not in DELIMITED and start.startswith(BOM) else encoding_of(start)


def _transcode(path: Path, copy: Path, decoder: codecs.IncrementalDecoder, name: str) -> None:
    done, line, chunk = 0, 1, b"-"
    with opened(path) as source, cast(BinaryIO, gzip.open(copy, "wb", 1)) if is_gzipped(copy) else copy.open("wb") as target:
        while chunk:
            chunk = source.read(BYTES_AT_A_TIME)
            held = len(decoder.getstate()[0])  # bytes of a character that the last chunk began
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{shown_file(path.name)} is {name} text that is broken at byte {done - held + error.start} "
                    f"({error.reason}); export it again, as UTF-8."
                ) from None
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise DataError(f"Line {line} of {shown_file(path.name)}, {name} text, holds a NUL; remove it.")
            try:
                target.write(text.encode())
            except OSError as error:
                raise FileError(
                    f"{shown_file(path.name)} is {name} text, and a copy in UTF-8 cannot be written to "
                    f"{shown_file(copy.parents[2])} ({os.strerror(error.errno or 0)}); save it as UTF-8."
                ) from None
            done += len(chunk)
            line += text.count("\n")
