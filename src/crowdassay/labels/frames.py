"""Take labels from frames, arrays or files, and hand results back in the caller's kind of frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crowdassay.errors import ColumnError, DataError, MissingExtraError, ParameterError
from crowdassay.labels.files import assemble, check, read_files
from crowdassay.labels.formats.record import Import
from crowdassay.labels.labels import Labels
from crowdassay.labels.listed_cells import one_row_each
from crowdassay.labels.native import (
    ANY_FRAME,
    arrow_table,
    frame_columns,
    frame_table,
    is_records,
    ordered_values,
    sequence_column,
)
from crowdassay.labels.report import warn_of
from crowdassay.labels.roles import BESIDE, ITEM_WORKER_LABEL
from crowdassay.labels.values import is_text, listed, shown
from crowdassay.read_options import ReadOptions, takes_reading_options

if TYPE_CHECKING:
    from crowdassay.labels.formats.wide import Wide


@takes_reading_options
def as_labels(data: object, **options: Any) -> Labels:
    """Make `Labels` from a frame, a file or three sequences; `Labels` are returned as they are.

    Parameters
    ----------
    data : frame, str, Path, Labels or tuple
        A pandas, Polars, PyArrow, DuckDB or other frame that Narwhals knows, with one row per label; or a wide one, with a row
        per item and a column per worker (``format="wide"`` where that does not show, ``worker_columns`` where others are beside
        them); a matrix of items by workers; the path of a file or a list of paths; or a tuple (items, workers, labels) of
        sequences of equal length; or a list of records such as ``{{"item": "a", "worker": "ann", "label": 1}}``; or whatever
        has Arrow's PyCapsule interface (``__arrow_c_stream__``). An ordered categorical label column gives the classes their
        order.
    {options}

    Warns
    -----
    CrowdassayWarning
        Where rows were left out, a worker labelled an item again, or classes differ by case alone; `Labels.report` has all.

    Examples
    --------
    >>> as_labels((["a", "a", "b"], ["ann", "bob", "ann"], [1, 0, 1]))
    Labels(3 labels, 2 items, 2 workers, 2 classes: 0, 1)
    """
    labels = take_labels(data, ReadOptions.of(options))
    if labels is not data:
        warn_of(labels.report)
    return labels


def take_labels(data: object, asked: ReadOptions) -> Labels:
    """Make `Labels` as `as_labels` does, and leave it to the caller to say what happened on the way."""
    if isinstance(data, Labels):
        if asked.set():
            raise ParameterError("These labels are encoded already; give columns, classes and repeats where they are read.")
        return data
    if isinstance(data, str | Path):
        return read_files([data], asked)
    if isinstance(data, list | tuple) and data and all(isinstance(one, Path) for one in data):
        return read_files(list(data), asked)
    if reason := asked.refusal("frame"):
        raise ParameterError(reason)
    check(asked)
    rows, frame, source, name = _rows(data, asked)
    if asked.classes is None and not asked.bins and (classes := ordered_values(rows.label)) is not None:
        asked = ReadOptions.of({**{name: getattr(asked, name) for name in asked.set()}, "classes": classes})
    return assemble(rows, asked, source=source, frame=frame, name=name)


def _rows(data: object, asked: ReadOptions) -> tuple[Import, str, str, str]:
    """Return the rows, the kind of frame they came in, what to call it, and its format."""
    if is_records(data):
        rows, _, _, name = _rows(arrow_table(data), asked)
        return rows, ANY_FRAME, "records", name
    data = arrow_table(data)  # once: a stream can be read but once
    if asked.worker_columns or asked.format == "wide" or is_matrix(data):
        return _wide(data, asked)
    try:
        taken = frame_columns(data, (*ITEM_WORKER_LABEL, *BESIDE), asked.columns)
    except ColumnError:
        from crowdassay.labels.formats.wide_frames import looks_wide  # noqa: PLC0415 - seldom needed

        if asked.format == "plain" or asked.worker_column or asked.label_column or not looks_wide(data):
            refuse_index(data)
            raise
        return _wide(data, asked)
    if taken:
        columns, names, frame = taken
        by_name: dict[str, Any] = dict(zip(names, columns, strict=True))
        if "text" in by_name and asked.text_column is None and not is_text(by_name["text"].type):
            del by_name["text"], names["text"]  # only its name says that it is a text
        listed, said = one_row_each(pa.table(by_name), "worker", "label", names, "the frame")
        by_name = dict(zip(listed.column_names, listed.columns, strict=True)) if said else by_name
        rows = Import(**by_name, columns=names, notes=tuple(said), table=partial(_whole_frame, data, names))
        return rows, frame, f"{frame} frame", "plain"
    three = three_columns(data)
    named = [name for name in asked.columns.values() if name is not None]
    if named:
        raise ParameterError(f"There is no column {shown(named[0])}: column names need a frame or a file.")
    item, worker, label = three
    return Import(item, worker, label, {}), "pyarrow", "arrays", "plain"


def _whole_frame(data: object, names: Mapping[str, str]) -> pa.Table:
    """Return all columns of a frame, with a row for each worker that its rows list."""
    return one_row_each(frame_table(data), names["worker"], names["label"], names, "the frame")[0]


def is_matrix(data: object) -> bool:
    """Return whether data are an array of two dimensions."""
    return getattr(data, "ndim", 1) == 2 and hasattr(data, "dtype")


def wide_cells(data: object, asked: ReadOptions) -> tuple[Wide, str] | None:
    """Take a matrix, or a frame that is said to be wide, and the kind of frame to hand results back in; None of other data."""
    from crowdassay.labels.formats.wide_frames import frame_cells, matrix_cells  # noqa: PLC0415 - seldom needed

    if is_matrix(data):
        return matrix_cells(data), ANY_FRAME
    return frame_cells(data, asked) if asked.worker_columns or asked.format == "wide" else None


def _wide(data: object, asked: ReadOptions) -> tuple[Import, str, str, str]:
    taken = wide_cells(data, replace(asked, format="wide"))
    if taken is None:
        raise ParameterError("--worker-columns needs a frame or a file.")
    cells, frame = taken
    return cells.rows(asked), frame, "arrays" if is_matrix(data) else f"{frame} frame", "wide"


def refuse_index(data: Any) -> None:
    """Refuse a frame of pandas whose index has names, where columns are missing: they may be in the index."""
    names = [name for name in getattr(getattr(data, "index", None), "names", ()) if name is not None]
    if names:
        raise ColumnError(
            f"Item, worker and label must be columns, and {listed(names)} {'is' if len(names) == 1 else 'are'} in the frame's "
            "index; give frame.reset_index()."
        )


def to_frame(table: pa.Table, frame: str) -> Any:
    """Return a table as a ``pandas`` or ``polars`` frame, or as it is for ``pyarrow``; ``any`` is the first one installed."""
    if frame == ANY_FRAME:
        frame = "pyarrow" if find_spec("pandas") is None else "pandas"
    if frame == "pyarrow":
        return table
    if frame not in {"pandas", "polars"}:
        raise ParameterError(f"frame must be 'pandas', 'polars' or 'pyarrow', not {shown(frame)}.")
    try:
        library = import_module(frame)
    except ImportError:
        raise MissingExtraError(f"Results as a {frame} frame need {frame}; install it with: pip install {frame}") from None
    return table.to_pandas() if frame == "pandas" else library.from_arrow(table)


def three_columns(data: object) -> list[pa.Array | pa.ChunkedArray]:
    """Take three sequences of equal length, or say what may be given instead."""
    if type(data).__name__ in {"Series", "ChunkedArray"}:  # of pandas, Polars or Arrow, which need not be installed
        raise DataError(
            f"A {type(data).__name__} is one column, and labels need three: item, worker and label. Give a frame (of a Series "
            "whose index names items and workers, series.reset_index()) or a tuple (items, workers, labels)."
        )
    if not isinstance(data, tuple | list) or len(data) != 3:
        raise DataError(
            f"Labels cannot be read from a {type(data).__name__}; give a frame, the path of a file, a list of records "
            "such as {'item': ..., 'worker': ..., 'label': ...}, or a tuple (items, workers, labels)."
        )
    return [sequence_column(values, role) for values, role in zip(data, ITEM_WORKER_LABEL, strict=True)]
