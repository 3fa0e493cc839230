"""Read labels, truth and gold from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.data.labels import Labels
from crowdassay.errors import ColumnError, CrowdassayError, DataError, FileError, ParameterError
from crowdassay.io.coding import code_column
from crowdassay.io.delimited import LISTED_LINES
from crowdassay.io.encode import ROLES, check_options, encode
from crowdassay.io.extras import read_times, read_weights
from crowdassay.io.formats.look import look
from crowdassay.io.formats.pseudonyms import pseudonymise as renamed
from crowdassay.io.formats.record import Import, Wanted
from crowdassay.io.formats.registry import FORMATS, PLAIN, check_format, read, recognise
from crowdassay.io.jsontext import LINES, good_lines
from crowdassay.io.raw import is_gzipped, line_of_nul, refuse_odd_path
from crowdassay.io.scan import DELIMITED, JSON, PARQUET, scan
from crowdassay.io.transcode import as_utf8
from crowdassay.io.values import as_text, as_tuple, is_text, shown, shown_file, without

SUPPORTED = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".json")
EXPORTS = (".zip", ".manifest", ".npy")  # only as what a tool exports
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
TIMED = frozenset({"first", "last"})  # what to do with repeats that needs to know when


def read_labels(
    path: str | Path,
    *,
    item_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    classes: Iterable[Any] | None = None,
    time_column: str | None = None,
    weight_column: str | None = None,
    repeats: str = "keep",
    allow_drops: bool = False,
    skip_bad: bool = False,
    format: str | None = None,  # noqa: A002
    question: str | None = None,
    predictions: bool = False,
    missing: str | Iterable[str] | None = None,
    use_gold: bool = False,
    pseudonymise: bool = False,
    salt: str | None = None,
) -> Labels:
    r"""Read labels from a CSV, TSV, Parquet or JSON file, plain or gzipped, or from what an annotation tool exports.

    Ids and labels in text files stay text, byte for byte; only empty and blank values count as missing.

    Parameters
    ----------
    path : str or Path
        File with one row, or JSON object, per label; or a tool's export, recognised by its content.
    item_column, worker_column, label_column : str, optional
        Found by name (``task``, ``annotator``, ``answer``...) when not given. In an export, only the item's can be chosen.
    classes : iterable, optional
        All classes in order, those never chosen included.
    repeats : {'keep', 'first', 'last', 'error'}
        What to do when a worker judged an item again.
    time_column : str, optional
        Of a plain table: by which 'first' and 'last' go; found by name (``timestamp``, ``created_at``...) when not given,
        and the order of the rows where there is none.
    weight_column : str, optional
        Of a plain table: labels of weight 0 are left out; the others must all have the same weight.
    allow_drops : bool
        Go on even if more than half of the rows miss a value.
    skip_bad : bool
        Leave out lines of a JSONL file that are not valid JSON instead of refusing the file.
    format : str, optional
        ``plain`` or the tool's name, a key of `crowdassay.io.formats.registry.FORMATS`, instead of looking.
    question : str, optional
        Which question to take from an export that holds several.
    predictions : bool
        Take model predictions in an export as workers ``model:<version>``.
    missing : str or iterable of str, optional
        Labels that stand for none given, such as -1 in Snorkel's matrix.
    use_gold : bool
        Take known classes that the export carries as gold.
    pseudonymise : bool
        Replace worker ids by salted ones.
    salt : str, optional
        The same salt gives the same ids again; without one, a random salt is used and forgotten.

    Returns
    -------
    Labels
        Its `report` says what was read, dropped and repeated.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text("task,worker,answer\n007,ann,yes\n007,bob,no\n")
    ...     read_labels(path).items.to_pylist()
    ['007']
    """
    classes = None if classes is None else list(classes)
    check_options(classes, repeats)
    format = check_format(format)  # noqa: A001
    if salt is not None and not pseudonymise:
        raise ParameterError("A salt goes with --pseudonymise.")
    refuse_odd_path(path)
    path = Path(path) if Path(path).name else Path(path).resolve()  # a dot has no name
    given = {"item": item_column, "worker": worker_column, "label": label_column}
    given |= {"time": time_column, "weight": weight_column}
    if time_column is not None and repeats not in TIMED:
        raise ParameterError("--time-column goes with --repeats first or last.")
    if skip_bad and _kind(path) not in LINES:
        raise ParameterError("--skip-bad goes with JSONL files, which have one record on each line.")
    missing = as_tuple(missing)
    wanted = Wanted(question, item_column, predictions, missing)
    with as_utf8(path) as (text, notes):
        whole: AbstractContextManager[tuple[Path, list[int]]] = nullcontext((text, []))
        if skip_bad and text.is_file():
            whole = good_lines(text)
        with whole as (copy, bad):
            format, rows = _read_rows(copy, format, given, wanted, use_gold=use_gold, timed=repeats in TIMED)  # noqa: A001
    notes += rows.notes
    if bad:
        rows = replace(rows, dropped={**rows.dropped, "not valid JSON": len(bad)})
        lines = ", ".join(map(str, bad[:LISTED_LINES])) + (", ..." if len(bad) > LISTED_LINES else "")
        notes.append(f"Lines that are not valid JSON were left out: {lines}.")
    if rows.weight is not None:
        rows = _without_zero_weights(rows, path.name)
    if pseudonymise:
        worker, note = renamed(rows.worker, salt, keep_models=predictions)
        rows = replace(rows, worker=worker)
        notes.append(note)
    rows = replace(rows, label=without(rows.label, missing))
    if not len(rows.item) and rows.dropped:
        why = ", ".join(f"{reason}: {count}" for reason, count in rows.dropped.items())
        raise DataError(f"There were no labels found in {shown_file(path.name)}: every judgement was left out ({why}).")
    columns = (rows.item, rows.worker, rows.label)
    labels = encode(
        *columns,
        classes=classes,
        repeats=repeats,
        allow_drops=allow_drops or bool(missing),  # whoever says what is missing knows that much is
        time=None if rows.time is None else read_times(rows.time, path.name),
        source=path.name,
        columns=rows.columns,
    )
    _refuse_nul(labels, dict(zip(ROLES, columns, strict=True)), path)
    return _with_report(labels, format, rows, notes, use_gold=use_gold)


def read_truth(path: str | Path, *, item_column: str | None = None, label_column: str | None = None) -> pa.Table:
    """Read a truth or gold file as a table with text columns ``item`` and ``label``; rows without either are dropped.

    Parameters
    ----------
    path : str or Path
    item_column, label_column : str, optional
        Found by name (``item``, ``truth``, ``gold``, ``label``...) when not given.
    """
    path, kind = check_file(path)
    with as_utf8(path) as (text, _):
        table, _ = scan(text, kind, ("item", "truth"), {"item": item_column, "truth": label_column})
    columns = {}
    for name, column in zip(("item", "label"), table.columns, strict=True):
        codes, vocabulary = code_column(column, name)
        columns[name] = as_text(vocabulary).take(pa.array(codes, mask=codes < 0))
    return pa.table(columns).drop_null()


def check_file(path: str | Path) -> tuple[Path, str]:
    """Check that a file exists and is of a kind we read; return it with its extension, without .gz."""
    refuse_odd_path(path)
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{shown_file(path)} is a folder that no known tool writes; give a file inside it.")
    if not path.exists():
        raise FileError(f"There is no file {shown_file(path)}.")
    kind = _kind(path)
    if kind in SPREADSHEETS:
        raise FileError(
            f"{shown_file(path.name)} is a spreadsheet; save it as CSV UTF-8 (in Excel: Save As) and give that file."
        )
    if kind not in SUPPORTED or (is_gzipped(path) and kind not in DELIMITED | JSON):
        raise FileError(
            f"{shown_file(path.name)} has an extension that is not supported; the supported ones are {', '.join(SUPPORTED)}, "
            f"and .gz after any text format; annotation tools' exports may also end in {', '.join(EXPORTS)}."
        )
    return path, kind


def _kind(path: Path) -> str:
    """Return a file's extension, without .gz."""
    return (path.with_suffix("") if is_gzipped(path) else path).suffix.lower()


def _read_rows(
    path: Path, name: str | None, given: Mapping[str, str | None], wanted: Wanted, *, use_gold: bool, timed: bool
) -> tuple[str, Import]:
    """Read the three columns of a plain file, or let the tool's reader find them."""
    if name is None:
        # Whoever names another column than the item's sees a plain table.
        told = any(given[role] for role in given if role != "item")
        name = PLAIN if told or not path.exists() else _tool_of(path)
    if name == PLAIN:
        asked = {"--question": wanted.question, "--predictions": wanted.predictions, "--use-gold": use_gold}
        rows = _read_plain(path, given, timed=timed)
        if options := [option for option, value in asked.items() if value]:
            raise ParameterError(
                f"{options[0]} goes with exports of annotation tools, and {shown_file(path.name)} is read as a plain table; "
                f"if a tool wrote it, name the tool with --from ({', '.join(FORMATS)})."
            )
        return name, rows
    if chosen := [f"--{role}-column" for role in ("worker", "label", "time", "weight") if given[role]]:
        raise ParameterError(
            f"{chosen[0]} goes with plain tables; the columns of {name} exports are known (--question chooses one)."
        )
    if not path.exists():
        raise FileError(f"There is no file {shown_file(path)}.")
    return name, read(name, look(path), wanted)


def _tool_of(path: Path) -> str:
    try:
        return recognise(look(path))
    except CrowdassayError:
        if path.is_dir() or path.suffix.lower() in EXPORTS:
            raise
        return PLAIN  # whose reader says what is wrong with the file


def _read_plain(path: Path, given: Mapping[str, str | None], *, timed: bool) -> Import:
    if path.is_file() and path.suffix.lower() in EXPORTS:
        raise DataError(f"{shown_file(path.name)} was not recognised as any tool's export; name the tool with --from.")
    path, kind = check_file(path)
    try:
        table, columns = scan(path, kind, (*ROLES, *(["time"] if timed else []), "weight"), given)
    except ColumnError as error:
        if any(given.values()):
            raise
        wide = "If every worker has a column of their own, say --from wide"
        raise ColumnError(f"{error.message} {wide}; if an annotation tool wrote it, name the tool with --from.") from None
    if kind != PARQUET and not table.num_rows:
        raise DataError(f"There were no labels found: {shown_file(path.name)} holds a header only.")
    extra = {role: table[role] for role in ("time", "weight") if role in columns}
    return Import(table["item"], table["worker"], table["label"], columns, **extra)


def _without_zero_weights(rows: Import, source: str) -> Import:
    assert rows.weight is not None
    counts = read_weights(rows.weight, source)
    if counts.all():
        return rows
    columns = {name: getattr(rows, name) for name in (*ROLES, "time")}
    kept: dict[str, Any] = {
        name: None if column is None else column.filter(pa.array(counts)) for name, column in columns.items()
    }
    return replace(rows, **kept, dropped={**rows.dropped, "zero weight": int((~counts).sum())})


def _with_report(labels: Labels, name: str, rows: Import, notes: list[str], *, use_gold: bool) -> Labels:
    """Add to the report what happened before encoding, and to the labels the gold when it is wanted."""
    dropped = {**rows.dropped}
    for reason, count in labels.report.dropped.items():
        dropped[reason] = dropped.get(reason, 0) + count
    n_gold = 0 if rows.gold is None else pc.count_distinct(rows.gold["item"]).as_py()
    if use_gold:
        if rows.gold is None:
            raise DataError(f"There is no gold in {shown_file(labels.report.source)}; leave out --use-gold.")
        from crowdassay.io.truth import take_gold  # noqa: PLC0415 - it reads files too, through this module

        labels = take_gold(labels, rows.gold)
    elif n_gold:
        notes.append("Gold in the export was counted and not used; --use-gold keeps its classes, whatever workers say.")
    report = replace(
        labels.report,
        format=name,
        question=rows.question,
        gold=n_gold,
        rows_read=labels.report.rows_read + sum(rows.dropped.values()),
        dropped=dropped,
        notes=(*notes, *labels.report.notes),
    )
    return replace(labels, report=report)


def _refuse_nul(labels: Labels, columns: Mapping[str, pa.Array | pa.ChunkedArray], path: Path) -> None:
    vocabularies = {"item": labels.items, "worker": labels.workers, "label": labels.classes}
    for role, vocabulary in vocabularies.items():
        if is_text(vocabulary.type) and pc.any(pc.match_substring(vocabulary, "\0")).as_py():
            row = pc.index(pc.match_substring(columns[role].cast(pa.string()), "\0"), True).as_py()
            line = line_of_nul(path) if _kind(path) in DELIMITED else None
            where = f"data row {row + 1}" if line is None else f"line {line}"
            raise DataError(
                f"The {role} in {where} of {shown_file(labels.report.source)} holds a NUL byte "
                f"({shown(columns[role][row].as_py())}); remove it or re-save the file as UTF-8."
            )
