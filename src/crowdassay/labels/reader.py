"""Read rows from files: probe each once, recognise what it is, and take item, worker and label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdassay.errors import ColumnError, CrowdassayError, DataError, FileError, ParameterError
from crowdassay.labels.cells import ArrowColumn, float_text
from crowdassay.labels.columns import check_given
from crowdassay.labels.delimited import LISTED_LINES
from crowdassay.labels.encode import text_cells
from crowdassay.labels.formats.foreign import refuse_other
from crowdassay.labels.formats.parse import file_stem
from crowdassay.labels.formats.record import Annotations, Import, finish
from crowdassay.labels.formats.registry import EXPORT_FORMATS, PLAIN_FORMAT, check_format, read, recognise
from crowdassay.labels.headless import numbered
from crowdassay.labels.jsontext import flat, good_lines
from crowdassay.labels.listed_cells import one_row_each
from crowdassay.labels.merged import parts_note, refuse_merged, refuse_own_numbers
from crowdassay.labels.probe import Probe, members, probe, probe_members
from crowdassay.labels.raw import EXPORT_SUFFIXES, LINES, as_utf8, check_file, find_inputs, kind_of, no_export, refuse_odd_path
from crowdassay.labels.roles import BESIDE, ITEM_WORKER_LABEL, Role
from crowdassay.labels.source import open_columns, open_source
from crowdassay.labels.sources import local_sources
from crowdassay.labels.telling import whole_table
from crowdassay.labels.values import as_text, shown_file
from crowdassay.read_options import ReadOptions, flag

LIGHT_BYTES = 1 << 28  # bytes of text up to which times and durations are read though nobody asked for them
PLAIN_ONLY = ("worker_column", "label_column", "time_column", "weight_column", "duration_column", "text_column")
WORKER_BY_FILE = "file name"  # what the worker's column is called where every worker has a file
ITEM_BY_ROW = "row"  # what --item-column says where every worker's file lists the same items in the same order
ROWS_LISTED = 5  # files whose rows a message counts
TIMED = frozenset({"first", "last"})  # what to do with repeats that needs to know when
TOOLS_ONLY = ("question", "predictions", "use_gold")


def read_rows(given: Sequence[str | Path], options: ReadOptions) -> tuple[str, Import, str, list[Path]]:
    """Read files, folders and patterns as one table or export; return its format, rows, what to call it, and the files."""
    name = check_format(options.format)
    named = any(options.columns[role] is not None for role in ITEM_WORKER_LABEL) and not options.worker_columns
    if name is None and (options.worker_columns or options.no_header):
        name = PLAIN_FORMAT if named else "wide"
    with ExitStack() as stack:
        probes, notes, paths, bad = _probes(given, options, name, stack)
        source = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
        if not probes:
            raise DataError(f"{shown_file(source)} was not recognised as any tool's export; name the tool with --from.")
        if name is None:
            name = _name_of(probes, options)
        if name == PLAIN_FORMAT:
            rows = _read_plain(probes, options, source)
            rows = replace(rows, table=partial(read_whole, given, options, rows.columns))
        else:
            rows = _read_export(name, probes, options, source)
            notes += [note for file in probes for note in file.notes]
        for file in probes:
            file.check_unchanged()
    if bad:
        rows = replace(rows, dropped={**rows.dropped, "not valid JSON": len(bad)})
        lines = ", ".join(map(str, bad[:LISTED_LINES])) + (", ..." if len(bad) > LISTED_LINES else "")
        notes.append(f"Lines that are not valid JSON were left out: {lines}.")
    return name, replace(rows, notes=(*notes, *rows.notes)), source, paths


def read_facts(
    given: Sequence[str | Path], options: ReadOptions, named: Mapping[str, str | None], guessed: Role | None = None
) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """Read what a source knows of its items beside their labels: by option, the column, and pairs of item and value.

    Parameters
    ----------
    given : sequence of str or Path
    options : ReadOptions
        As the labels were read; ``format`` says what they are.
    named : mapping
        The column that each option names, if any.
    guessed : Role, optional
        A role whose option, if it names no column, has one of the role's names where there is one.
    """
    asked = {option: name for option, name in named.items() if name is not None}
    with local_sources(given) as names, ExitStack() as stack:
        probes, _, paths, _ = _probes(names, options, options.format, stack)
        source = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
        plain = options.format == PLAIN_FORMAT
        rows = None if plain else _read_export(str(options.format), probes, options, source)
        about = None if rows is None else rows.about
        there = [] if about is None else about.column_names[1:]
        if plain:
            first = [next(one.rows(), {}) if one.kind == "records" else dict.fromkeys(one.header) for one in probes]
            there = list(dict.fromkeys(name for record in first for name in flat(record)))
        for option, column in asked.items():
            if not there:
                raise ParameterError(
                    f"--{option} names a column, and {options.format} exports know nothing else of their items."
                )
            check_given(Role(option, f"--{option}"), column, there)
        guess: dict[str, str] = {}
        if guessed is not None and guessed.name not in asked:
            used = {name for role, name in options.columns.items() if name is not None and role != "item"}
            guess = dict(zip([guessed.name], guessed.best([name for name in there if name not in used]), strict=False))
        try:
            return _facts(probes, options, about, asked | guess)
        except CrowdassayError:  # such as a prompt that is a list of messages: nobody asked for it
            if not guess:
                raise
            return _facts(probes, options, about, asked)


def _facts(
    probes: Sequence[Probe], options: ReadOptions, about: pa.Table | None, asked: Mapping[str, str]
) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    tables = [about]
    if asked and about is None:
        names = list(dict.fromkeys(asked.values()))
        named_by = {name: f"--{option}" for option, name in asked.items()}
        items = [_items(file, options) for file in probes]
        tables = [
            open_columns(file, names, (), named_by).read().add_column(0, "item", item)
            for file, item in zip(probes, items, strict=True)
        ]
    return {option: (name, [pair for table in tables for pair in _pairs(table, name)]) for option, name in asked.items()}


def _items(file: Probe, options: ReadOptions) -> ArrowColumn:
    """Return the item of every row of a plain table."""
    if _by_row(file, options):
        return _numbers_of_rows(open_columns(file, sorted(file.keys)[:1], ()).read())
    return open_source(file, ["item"], {"item": options.item_column}).read()["item"]


def _by_row(file: Probe, options: ReadOptions) -> bool:
    """Return whether a row's place in the file of its worker tells the item."""
    return options.worker_from_filename and options.item_column == ITEM_BY_ROW and ITEM_BY_ROW not in file.keys


def _numbers_of_rows(table: pa.Table) -> pa.Array:
    return as_text(pa.array(np.arange(table.num_rows)))


def _pairs(about: pa.Table, name: str) -> list[tuple[str, str]]:
    """Return item and value of every row that has both, as text."""
    columns = (about.columns[0], about.columns[1 + about.column_names[1:].index(name)])
    pairs = zip(*(text_cells(column, name).to_pylist() for column in columns), strict=True)
    return [(item, value) for item, value in pairs if item is not None and value is not None]


def read_whole(given: Sequence[str | Path], options: ReadOptions, columns: Mapping[str, str] | None = None) -> pa.Table:
    """Read all columns of plain tables, for whoever is asked to name some of them; what ``columns`` list has a row each."""
    with ExitStack() as stack:
        worker = WORKER_BY_FILE if options.worker_from_filename else None
        table = whole_table(_probes(given, options, PLAIN_FORMAT, stack)[0], worker, options.question)
        known = columns or {}
        return one_row_each(table, known.get("worker", ""), known.get("label", ""), known, "the table")[0]


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
        try:
            files = find_inputs([path])
        except FileError:
            if path.is_dir() and len(given) == 1:
                raise FileError(no_export(path)) from None
            raise
        for file in files:
            if any(file == other for other in paths):
                continue
            paths.append(file)
            text, said = stack.enter_context(as_utf8(file, options.opening))
            notes += said
            if options.skip_bad:
                if kind_of(file) not in LINES:
                    raise ParameterError("--skip-bad goes with JSONL files, which have one record on each line.")
                if text.is_file():
                    text, lines = stack.enter_context(good_lines(text))
                    bad += lines
            probes += _probe_file(text, name)
    if options.worker_from_filename:
        probes, said = _with_workers(probes, paths)
        notes += said
    if options.no_header and name == PLAIN_FORMAT:
        probes = list(map(numbered, probes))
    return probes, notes, paths, bad


def _with_workers(probes: Sequence[Probe], paths: Sequence[Path]) -> tuple[list[Probe], list[str]]:
    """Return files with the workers after whom they, or their folders if all are called the same, are named; and notes."""
    said: list[str] = []
    names = [file_stem(file.path.name) for file in probes]
    if len(names) > 1 and len(set(names)) == 1:
        folders = [path.absolute().parent.name for path in paths]
        if len(folders) != len(probes) or len(set(folders)) < len(folders):
            raise DataError(f"All files are called {shown_file(names[0])}, so that no name tells a worker; rename them.")
        said = [f"All files are called {shown_file(names[0])}, so that workers are called after their folders."]
        names = folders
    return [replace(file, worker=name) for file, name in zip(probes, names, strict=True)], said


def _folder(path: Path, name: str | None) -> Probe | None:
    """Probe a folder as a whole; None where its files are to be probed one by one."""
    members(path)  # which refuses links and the like
    told = name in EXPORT_FORMATS and "folder" in EXPORT_FORMATS[name].kinds
    try:
        file = probe(path)
        return file if file.names and (told or (name is None and recognise(file) != PLAIN_FORMAT)) else None
    except CrowdassayError:
        if told:
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


def _name_of(probes: Sequence[Probe], options: ReadOptions) -> str:
    """Recognise the format; all files must be of the same, and only a plain table has certain columns."""
    if any(getattr(options, name) is not None for name in PLAIN_ONLY):
        return PLAIN_FORMAT
    names = {file.path: recognise(file) for file in probes}
    different = list(dict.fromkeys(names.values()))
    if len(different) > 1:
        one, other = (next((path, name) for path in names if names[path] == name) for name in different[:2])
        raise DataError(
            f"These files are not of one kind: {shown_file(one[0].name)} is read as {one[1]}, {shown_file(other[0].name)} as "
            f"{other[1]}; read each kind by itself."
        )
    return different[0]


def _read_export(name: str, probes: Sequence[Probe], options: ReadOptions, source: str) -> Import:
    free = ("worker_column",) if name == "forms" else ()
    if chosen := [option for option in PLAIN_ONLY if getattr(options, option) is not None and option not in free]:
        known = f"the columns of {name} exports are known (--question chooses one)"
        told = "where every worker has a column, their names tell who labelled what" if name == "wide" else known
        raise ParameterError(f"{flag(chosen[0])} goes with plain tables; {told}.")
    parts = [read(name, replace(file, alone=len(probes) == 1), options) for file in probes]
    rows = [part for part in parts if isinstance(part, Annotations)]
    if rows:
        return finish(rows, options, source)
    imports = [part for part in parts if isinstance(part, Import)]
    if options.question is not None:
        raise ParameterError(f"What {name} exports holds one question only; leave out --question.")
    if len(imports) == 1:
        return imports[0]
    columns = {role: joined([getattr(part, role) for part in imports]) for role in ITEM_WORKER_LABEL}
    notes = tuple(dict.fromkeys(note for part in imports for note in part.notes))
    return Import(columns=imports[0].columns, notes=notes, **columns)


def _read_plain(probes: Sequence[Probe], options: ReadOptions, source: str) -> Import:
    if strange := [file for file in probes if file.kind not in {"delimited", "records", "parquet"}]:
        raise DataError(f"{strange[0].shown} was not recognised as any tool's export; name the tool with --from.")
    told = options.question is not None and "=" in options.question
    if asked := [option for option in TOOLS_ONLY if getattr(options, option) and not (told and option == "question")]:
        way = "for the rows of one question say --question COLUMN=VALUE; " if asked[0] == "question" else ""
        raise ParameterError(
            f"{flag(asked[0])} goes with exports of annotation tools, and {shown_file(source)} is read as a plain table; {way}"
            f"if a tool wrote it, name the tool with --from ({', '.join(EXPORT_FORMATS)})."
        )
    tables: list[pa.Table] = []
    columns: dict[str, str] = {}
    notes: list[str] = []
    keys = [set(file.keys) for file in probes]
    shared, every = set.intersection(*keys), set.union(*keys)
    alone = len(probes) == 1 or 2 * len(shared) <= len(every)  # as files of several workers have the same columns, or nearly
    for file in probes:
        table, columns, said = _plain_table(replace(file, alone=alone), options)
        tables.append(table)
        notes += said
    if not sum(table.num_rows for table in tables) and probes[0].kind != "parquet":
        raise DataError(f"No labels found: {shown_file(source)} holds a header only.")
    rows = [table.num_rows for table in tables]
    if any(_by_row(file, options) for file in probes) and len(set(rows)) > 1:
        counts = ", ".join(f"{count:,}" for count in rows[:ROWS_LISTED])
        raise DataError(
            f"--item-column row takes it that every file lists the same items in the same order, and these have {counts} "
            f"{'rows' if len(rows) <= ROWS_LISTED else 'rows and so on'}; name the column that tells items apart, or add one."
        )
    common = [role for role in tables[0].column_names if all(role in table.column_names for table in tables)]
    common_columns = {role: joined([table[role] for table in tables]) for role in common}
    some = {role for table in tables for role in table.column_names} - set(common)
    if "time" in some and options.repeats in TIMED:
        raise ColumnError(f"Only some of {source} have a time column, so that --repeats {options.repeats} cannot go by it.")
    if options.item_column is None:
        refuse_merged(probes, columns)
        refuse_own_numbers(probes, columns, WORKER_BY_FILE if options.worker_from_filename else None)
    notes += parts_note(probes, columns)
    once = tuple(dict.fromkeys(notes))  # what several files share
    return Import(columns={role: columns[role] for role in columns if role in common}, notes=once, **common_columns)


def _plain_table(file: Probe, options: ReadOptions) -> tuple[pa.Table, dict[str, str], list[str]]:
    """Read the columns of a plain table, named by role; what goes beside labels only where it costs little or was asked for.

    Also returned are the file's own names of them, and notes.
    """
    by_row = _by_row(file, options)
    untold = {"worker"} if options.worker_from_filename else set()
    needed = [role for role in ITEM_WORKER_LABEL if role not in (untold | {"item"} if by_row else untold)]
    given = {**options.columns, "item": None} if by_row else options.columns
    light = file.stamp is None or file.stamp[2] <= LIGHT_BYTES
    asked = {"weight", *(role for role, name in options.columns.items() if name is not None)}
    asked |= {"time"} if options.repeats in TIMED else set()
    roles = [*needed, *(role for role in BESIDE if light or role in asked)]
    label, beside = options.columns.get("label") or "", []
    if file.kind == "records" and "." in label:  # what is inside objects is no label by guess
        from crowdassay.labels.formats.numbered import refuse_siblings, siblings_said  # noqa: PLC0415 - seldom needed

        beside = siblings_said(first := next(file.rows(), {}), label)
        if options.item_column is None:
            refuse_siblings(first, label)
    try:
        source = open_source(file, roles, given, options.question)
    except ColumnError as error:
        from crowdassay.labels.advice import advised  # noqa: PLC0415 - seldom needed

        raise advised(error, file, options) from None
    table, columns = source.read(), source.columns
    if by_row:
        table, columns = table.append_column("item", _numbers_of_rows(table)), {"item": ITEM_BY_ROW, **columns}
    if options.worker_from_filename:
        table = table.append_column("worker", pa.repeat(pa.scalar(file.worker, pa.string()), table.num_rows))
        columns = {**columns, "worker": WORKER_BY_FILE}
    table, said = one_row_each(table, "worker", "label", columns, file.shown)
    return table, columns, [*source.notes, *said, *beside]


def joined(columns: Sequence[ArrowColumn]) -> pa.ChunkedArray:
    """Concatenate columns of several files, as text where their types differ."""
    chunks = [chunk for column in columns for chunk in (column.chunks if isinstance(column, pa.ChunkedArray) else [column])]
    if len({column.type for column in columns}) > 1:
        chunks = [float_text(chunk) if pa.types.is_floating(chunk.type) else as_text(chunk) for chunk in chunks]
        return pa.chunked_array(chunks, pa.string())
    return pa.chunked_array(chunks, columns[0].type)
