"""Read rows from files: probe each once, recognise what it is, and take item, worker and label."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.errors import ColumnError, CrowdassayError, DataError, FileError, ParameterError
from crowdassay.labels.archive import members
from crowdassay.labels.cells import float_text
from crowdassay.labels.delimited import LISTED_LINES
from crowdassay.labels.formats.foreign import refuse_other
from crowdassay.labels.formats.parse import file_stem
from crowdassay.labels.formats.record import Annotations, Import, finish
from crowdassay.labels.formats.registry import EXPORT_FORMATS, PLAIN_FORMAT, check_format, read, recognise
from crowdassay.labels.jsontext import good_lines
from crowdassay.labels.probe import Probe, probe, probe_members
from crowdassay.labels.raw import EXPORT_SUFFIXES, LINES, as_utf8, check_file, find_inputs, kind_of, refuse_odd_path
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.source import open_source
from crowdassay.labels.values import as_text, shown_file
from crowdassay.read_options import ReadOptions, flag

LIGHT_BYTES = 1 << 28  # bytes of text up to which times and durations are read though nobody asked for them
PLAIN_ONLY = ("worker_column", "label_column", "time_column", "weight_column", "duration_column", "text_column")
TIMED = frozenset({"first", "last"})  # what to do with repeats that needs to know when
TOOLS_ONLY = ("question", "predictions", "use_gold", "options")


class RowsRead:
    """What was read: the format's name, the rows, what to call the source, and the files."""

    def __init__(self, name: str, rows: Import, source: str, paths: Sequence[Path]) -> None:
        self.name, self.rows, self.source, self.paths = name, rows, source, list(paths)


def read_rows(given: Sequence[str | Path], options: ReadOptions) -> RowsRead:
    """Read any number of files, folders and patterns as one table or one export."""
    name = check_format(options.format)
    if name is None and (options.worker_columns or options.no_header):
        name = "wide"
    with ExitStack() as stack:
        probes, notes, paths, bad = _probes(given, options, name, stack)
        source = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
        if not probes:
            raise DataError(f"{shown_file(source)} was not recognised as any tool's export; name the tool with --from.")
        if name is None:
            name = _name_of(probes, options)
        rows = _read_plain(probes, options, source) if name == PLAIN_FORMAT else _read_export(name, probes, options, source)
        for file in probes:
            file.check_unchanged()
    if bad:
        rows = replace(rows, dropped={**rows.dropped, "not valid JSON": len(bad)})
        lines = ", ".join(map(str, bad[:LISTED_LINES])) + (", ..." if len(bad) > LISTED_LINES else "")
        notes.append(f"Lines that are not valid JSON were left out: {lines}.")
    return RowsRead(name, replace(rows, notes=(*notes, *rows.notes)), source, paths)


def _probes(
    given: Sequence[str | Path], options: ReadOptions, name: str | None, stack: ExitStack
) -> tuple[list[Probe], list[str], list[Path], list[int]]:
    """Probe every file once; a folder or zip that is one export is probed as a whole, of any other each file."""
    probes: list[Probe] = []
    notes: list[str] = []
    paths: list[Path] = []
    bad: list[int] = []
    for one in given:
        refuse_odd_path(one)
        path = Path(one) if Path(one).name else Path(one).resolve()  # a dot has no name
        if path.is_dir():
            whole = _folder(path, name)
            if whole is not None:
                probes.append(whole)
                paths.append(path)
                continue
            for file in sorted(path.glob("*.ann"))[:1]:  # brat's, beside the texts
                refuse_other(file)
        for file in _files(path, only=len(given) == 1):
            if any(file == other for other in paths):
                continue
            paths.append(file)
            text, said = stack.enter_context(as_utf8(file))
            notes += said
            if options.skip_bad:
                if kind_of(file) not in LINES:
                    raise ParameterError("--skip-bad goes with JSONL files, which have one record on each line.")
                if text.is_file():
                    text, lines = stack.enter_context(good_lines(text))
                    bad += lines
            probes += _probe_file(text, name)
    return probes, notes, paths, bad


def _files(path: Path, *, only: bool) -> list[Path]:
    try:
        return find_inputs([path])
    except FileError:
        if path.is_dir() and only:
            raise FileError(f"{shown_file(path)} is a folder that no known tool writes; give a file inside it.") from None
        raise


def _folder(path: Path, name: str | None) -> Probe | None:
    """Probe a folder as a whole; None where its files are to be probed one by one."""
    members(path)  # which refuses links and the like
    try:
        file = probe(path)
        told = name not in {None, PLAIN_FORMAT} and "folder" in EXPORT_FORMATS[str(name)].kinds
        return file if file.names and (told or (name is None and recognise(file) != PLAIN_FORMAT)) else None
    except CrowdassayError:
        if name is not None and name != PLAIN_FORMAT and "folder" in EXPORT_FORMATS[name].kinds:
            raise
        return None


def _probe_file(path: Path, name: str | None) -> list[Probe]:
    if not path.exists():
        raise FileError(f"There is no file {shown_file(path)}.")
    if kind_of(path) not in EXPORT_SUFFIXES:
        refuse_other(path)
        check_file(path)
    file = probe(path)
    if (
        file.kind == "zip"
        and (name not in EXPORT_FORMATS or "zip" not in EXPORT_FORMATS[name].kinds)
        and recognise(file) == PLAIN_FORMAT
    ):
        return probe_members(file)
    return [file]


def _told(options: ReadOptions) -> bool:
    """Return whether a column was named that only a plain table has."""
    return any(getattr(options, name) is not None for name in PLAIN_ONLY)


def _name_of(probes: Sequence[Probe], options: ReadOptions) -> str:
    """Recognise the format; all files must be of the same."""
    if _told(options):
        return PLAIN_FORMAT
    names = {file.path: recognise(file) for file in probes}
    different = list(dict.fromkeys(names.values()))
    if len(different) > 1:
        one, other = (next((path, name) for path in names if names[path] == name) for name in different[:2])
        raise DataError(
            f"These files are not of one kind: {shown_file(one[0].name)} is read as {one[1]}, {shown_file(other[0].name)} as "
            f"{other[1]}; read each kind by itself."
        )
    return different[0] if different else PLAIN_FORMAT


def _read_export(name: str, probes: Sequence[Probe], options: ReadOptions, source: str) -> Import:
    free = ("worker_column",) if name == "forms" else ()
    if chosen := [option for option in PLAIN_ONLY if getattr(options, option) is not None and option not in free]:
        raise ParameterError(
            f"{flag(chosen[0])} goes with plain tables; the columns of {name} exports are known (--question chooses one)."
        )
    parts = [read(name, replace(file, alone=len(probes) == 1), options) for file in probes]
    rows = [part for part in parts if isinstance(part, Annotations)]
    if rows:
        return finish(rows, options, source)
    imports = [part for part in parts if isinstance(part, Import)]
    if options.question is not None:
        raise ParameterError(f"What {name} exports holds one question only; leave out --question.")
    return imports[0] if len(imports) == 1 else _together(imports)


def _together(parts: Sequence[Import]) -> Import:
    columns = {role: joined([getattr(part, role) for part in parts]) for role in ITEM_WORKER_LABEL}
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return Import(columns["item"], columns["worker"], columns["label"], parts[0].columns, notes=notes)


def _read_plain(probes: Sequence[Probe], options: ReadOptions, source: str) -> Import:
    if strange := [file for file in probes if file.kind not in {"delimited", "records", "parquet"}]:
        raise DataError(f"{strange[0].shown} was not recognised as any tool's export; name the tool with --from.")
    if asked := [option for option in TOOLS_ONLY if getattr(options, option)]:
        raise ParameterError(
            f"{flag(asked[0])} goes with exports of annotation tools, and {shown_file(source)} is read as a plain table; "
            f"if a tool wrote it, name the tool with --from ({', '.join(EXPORT_FORMATS)})."
        )
    tables: list[pa.Table] = []
    columns: dict[str, str] = {}
    for file in probes:
        table, columns = plain_table(file, options)
        tables.append(table)
    if not sum(table.num_rows for table in tables) and probes[0].kind != "parquet":
        raise DataError(f"No labels found: {shown_file(source)} holds a header only.")
    shared = [role for role in tables[0].column_names if all(role in table.column_names for table in tables)]
    shared_columns = {role: joined([table[role] for table in tables]) for role in shared}
    some = {role for table in tables for role in table.column_names} - set(shared)
    if "time" in some and options.repeats in TIMED:
        raise ColumnError(f"Only some of {source} have a time column, so that --repeats {options.repeats} cannot go by it.")
    return Import(columns={role: columns[role] for role in columns if role in shared}, **shared_columns)


def plain_table(file: Probe, options: ReadOptions) -> tuple[pa.Table, dict[str, str]]:
    """Read the columns of a plain table that the options ask for, named by role."""
    try:
        source = open_source(file, plain_roles(file, options), options.columns)
    except ColumnError as error:
        if any(options.columns.values()) or not error.missing:
            raise
        raise ColumnError(f"{error.message} {_advice(error, file, options)}") from None
    table, columns = source.read(), source.columns
    if options.worker_from_filename:
        table = table.append_column("worker", pa.repeat(pa.scalar(file_stem(file.path.name), pa.string()), table.num_rows))
        columns = {**columns, "worker": "file name"}
    return table, columns


def plain_roles(file: Probe, options: ReadOptions) -> list[str]:
    """Return what to look for in a plain table: times, durations and texts only where that costs little, or was asked for."""
    needed = [role for role in ITEM_WORKER_LABEL if not (role == "worker" and options.worker_from_filename)]
    heavy = file.stamp is not None and file.stamp[2] > LIGHT_BYTES
    timed = options.repeats in TIMED or options.time_column is not None or not heavy
    lasted = options.duration_column is not None or not heavy
    text = options.text_column is not None or not heavy
    beside = {"time": timed, "duration": lasted, "weight": True, "text": text}
    return [*needed, *(role for role, wanted in beside.items() if wanted)]


def _advice(error: ColumnError, file: Probe, options: ReadOptions) -> str:
    each = (
        "If every worker has a column of their own, say --from wide; if every worker has a row, and every item a column, say "
    )
    each += "--from forms"
    if len(file.header) == len(ITEM_WORKER_LABEL) and error.found_nothing:
        each = "If every line is worker, item, label without a header, say --from nltk; if" + each.removeprefix("If")
    if "worker" in error.missing and not error.found_nothing and not options.worker_from_filename:
        each += "; if every worker has a file named after them, say --worker-from-filename"
    return f"{each}; if an annotation tool wrote it, name the tool with --from."


def joined(columns: Sequence[Any]) -> pa.ChunkedArray:
    """Concatenate columns of several files, as text where their types differ."""
    chunked = [column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]) for column in columns]
    if len({column.type for column in chunked}) > 1:
        chunked = [pa.chunked_array([_text(chunk) for chunk in column.chunks], pa.string()) for column in chunked]
    return pa.chunked_array([chunk for column in chunked for chunk in column.chunks], chunked[0].type)


def _text(values: pa.Array) -> pa.Array:
    return float_text(values) if pa.types.is_floating(values.type) else as_text(values)
