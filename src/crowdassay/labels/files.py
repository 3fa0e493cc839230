"""Read labels from files: rows, wherever they came from, become `Labels` as the options say.

The options speak of weights, names, missing labels and repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import FloatArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import first_nul, refuse_nul, without
from crowdassay.labels.classes import binned, check_classes
from crowdassay.labels.encode import encode
from crowdassay.labels.extras import Times, are_durations, find_durations, find_times, read_times, read_weights
from crowdassay.labels.formats.record import Import, with_options
from crowdassay.labels.formats.registry import PLAIN_FORMAT
from crowdassay.labels.labels import Labels
from crowdassay.labels.native import ANY_FRAME
from crowdassay.labels.pseudonyms import pseudonymise
from crowdassay.labels.raw import DELIMITED, kind_of, opened
from crowdassay.labels.reader import TIMED, read_rows
from crowdassay.labels.report import all_left_out, warn_of
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.sources import local_sources
from crowdassay.labels.telling import check_repeats, many_repeats
from crowdassay.labels.truth import read_truth, take_gold
from crowdassay.labels.values import is_text, listed, shown, shown_file
from crowdassay.read_options import REPEAT_POLICIES, ReadOptions, takes_reading_options

__all__ = ["read_labels", "read_truth"]
READ_AS_MISSING = (
    "pandas reads 'None', 'NA', 'null' and the like as missing; if one of them is a class, read the table with "
    "keep_default_na=False, or give the path of the file."
)


@takes_reading_options
def read_labels(path: str | Path | Sequence[str | Path], **options: Any) -> Labels:
    r"""Read labels from CSV, TSV, Parquet or JSON files, plain or gzipped, or from what an annotation tool exports.

    Ids and labels in text files stay text, byte for byte; only empty and blank values count as missing.

    Parameters
    ----------
    path : str, Path or list of them
        File with one row, or JSON object, per label; or a tool's export, recognised by its content. Several files, a folder
        or a pattern such as ``day-*.csv`` are read as one. Also what is elsewhere: ``sqlite:///file?table=name``,
        ``postgresql://user@host/database?query=select...``, a DuckDB file, ``https://`` or ``s3://``, and ``-`` for standard
        input.
    {options}

    Returns
    -------
    Labels
        Its `report` says what was read, dropped and repeated; a `CrowdassayWarning` says what deserves a look.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text("task,worker,answer\n007,ann,yes\n007,bob,no\n")
    ...     read_labels(path).items.to_pylist()
    ['007']
    """
    labels = read_files([path] if isinstance(path, str | Path) else list(path), ReadOptions.of(options))
    warn_of(labels.report)
    return labels


CLOCKS_BESIDE = frozenset({"time", "duration"})  # roles of columns that may be left aside


def read_files(given: Sequence[str | Path], options: ReadOptions) -> Labels:
    """Read files, folders and patterns as the options say."""
    check(options)
    with local_sources(given) as names:
        name, rows, source, paths = read_rows(names, options)
        return assemble(rows, options, source=source, name=name, paths=paths)


def table_of(labels: Labels) -> pa.Table:
    """Return labels as a table with one row for each: item, worker and label."""
    codes = ((labels.items, labels.label_item), (labels.workers, labels.worker), (labels.classes, labels.label))
    return pa.table([names.take(pa.array(code)) for names, code in codes], names=ITEM_WORKER_LABEL)


def check(options: ReadOptions) -> None:
    """Refuse options that make no sense before any file is read."""
    if options.repeats not in REPEAT_POLICIES:
        raise ParameterError(f"repeats must be one of {listed(REPEAT_POLICIES)}, not {shown(options.repeats)}.")
    if options.classes is not None:
        check_classes(options.classes)
    if options.salt is not None and not options.pseudonymise:
        raise ParameterError("A salt goes with --pseudonymise.")
    if options.options not in {None, "each", "set"}:
        raise ParameterError(f"--options is 'each' or 'set', not {shown(options.options)}.")
    if options.bins and options.classes is not None:
        raise ParameterError("--bins makes the classes; leave out --classes.")


def assemble(
    rows: Import, options: ReadOptions, *, source: str, name: str = "plain", frame: str = ANY_FRAME, paths: Sequence[Path] = ()
) -> Labels:
    """Make `Labels` of rows as the options say; the report tells what happened.

    Parameters
    ----------
    rows : Import
    options : ReadOptions
    source, name, frame
        What the rows came from, in which format, and the kind of frame to hand results back in.
    paths : sequence of Path
        The files, to say in which line something is.
    """
    rows = replace(rows, label=without(rows.label, options.missing))
    if options.options is not None and rows.question is None:  # an export's own choices were taken apart with its questions
        rows = with_options(rows, options.options)
    notes = list(rows.notes)
    if rows.weight is not None:
        rows = _without_zero_weights(rows, source)
    if options.pseudonymise:
        worker, note = pseudonymise(rows.worker, options.salt, keep_models=options.predictions)
        rows = replace(rows, worker=worker)
        notes.append(note)
    classes: Any = options.classes
    if options.bins:
        label, classes = binned(rows.label, options.bins)
        rows = replace(rows, label=label)
    if not len(rows.item) and rows.dropped:
        raise all_left_out(rows.dropped, source)
    times, beside = _extras(rows, options, source, notes)
    labels = encode(
        rows.item,
        rows.worker,
        rows.label,
        classes=classes,
        repeats=options.repeats,
        allow_drops=options.allow_drops or bool(options.missing),  # whoever says what is missing knows that much is
        time=None if times is None else times.order,
        extras=beside,
        text=rows.text,
        source=source,
        columns={role: name for role, name in rows.columns.items() if role not in CLOCKS_BESIDE or role in beside},
        frame=frame,
    )
    _refuse_nul(labels, rows, paths)
    if frame == "pandas" and labels.report.dropped.get("missing label") and is_text(labels.classes.type):
        notes.append(READ_AS_MISSING)
    repeats, n_labels = labels.report.repeats, labels.report.rows_kept + labels.report.dropped.get("repeated judgement", 0)
    if name == PLAIN_FORMAT:
        named = options.item_column is not None
        notes[:0] = check_repeats(repeats, n_labels, rows.columns, rows.table, named=named)
    elif name == "wide" and options.item_column is None and 2 * repeats > n_labels:
        notes.insert(0, many_repeats(rows.columns.get("item", "item")))
    return _with_report(labels, name, rows, notes, use_gold=options.use_gold)


def _refuse_nul(labels: Labels, rows: Import, paths: Sequence[Path]) -> None:
    """Refuse names and labels with NUL bytes, and say in which line they are."""
    for role, vocabulary in zip(ITEM_WORKER_LABEL, (labels.items, labels.workers, labels.classes), strict=True):
        if first_nul(vocabulary) is None:
            continue
        column = getattr(rows, role).cast(pa.string())
        line = None
        if len(paths) == 1 and kind_of(paths[0]) in DELIMITED:
            with opened(paths[0]) as stream:
                line = next((number for number, text in enumerate(stream, 1) if b"\0" in text), None)
        where = f"data row {(first_nul(column) or 0) + 1}" if line is None else f"line {line}"
        refuse_nul(column, role, f" in {where} of {shown_file(labels.report.source)}")


def _extras(rows: Import, options: ReadOptions, source: str, notes: list[str]) -> tuple[Times | None, dict[str, FloatArray]]:
    """Read times and durations: what was asked for must be readable, what was only found may be left aside."""
    beside: dict[str, FloatArray] = {}
    times = None
    if rows.time is not None:
        if options.repeats in TIMED or options.time_column is not None:
            times = read_times(rows.time, source)
            beside["time"] = times.seconds
        elif (found := find_times(rows.time)) is not None and not are_durations(found.seconds):
            beside["time"] = found.seconds
        elif found is not None:
            name = shown(rows.columns.get("time", "the export"))
            notes.append(
                f"The numbers in {name} are no moments and were left aside; --time-column or --duration-column takes them."
            )
        elif rows.time.null_count < len(rows.time):
            notes.append(f"The times in {shown(rows.columns.get('time', 'the export'))} could not be read and were left aside.")
    if rows.duration is not None:
        if (durations := find_durations(rows.duration)) is not None:
            beside["duration"] = durations
        elif options.duration_column is not None:
            raise DataError(f"The column {shown(options.duration_column)} does not hold numbers of seconds.")
    return times if options.repeats in TIMED else None, beside


def _without_zero_weights(rows: Import, source: str) -> Import:
    assert rows.weight is not None
    counts = read_weights(rows.weight, source)
    if counts.all():
        return rows
    columns = {name: getattr(rows, name) for name in (*ITEM_WORKER_LABEL, "time", "duration", "text")}
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
            raise DataError(
                f"There is no gold in {shown_file(labels.report.source)}: it does not know any item's class; leave out "
                "--use-gold or --gold-out."
            )
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
