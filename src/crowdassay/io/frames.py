"""Take labels from frames, arrays or files, and hand results back in the caller's kind of frame."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.data.labels import Labels
from crowdassay.errors import DataError, MissingExtraError, ParameterError
from crowdassay.io.assemble import assemble, check
from crowdassay.io.encode import ROLES
from crowdassay.io.files import read_files
from crowdassay.io.formats.record import Import
from crowdassay.io.native import frame_columns, ordered_values, sequence_column, wide_columns
from crowdassay.io.reader import TIMED
from crowdassay.io.values import shown
from crowdassay.read_options import ReadOptions, takes_reading_options

BESIDE = ("time", "duration", "weight", "text")


@takes_reading_options
def as_labels(data: Any, **options: Any) -> Labels:
    """Make `Labels` from a frame, a file or three sequences; `Labels` are returned as they are.

    Parameters
    ----------
    data : frame, str, Path, Labels or tuple
        A pandas, Polars, PyArrow, DuckDB or other frame that Narwhals knows, with one row per label, or with ``worker_columns``
        one row per item; the path of a file or a list of paths; or a tuple (items, workers, labels) of sequences of equal
        length. An ordered categorical label column gives the classes their order.
    {options}

    Examples
    --------
    >>> as_labels((["a", "a", "b"], ["ann", "bob", "ann"], [1, 0, 1]))
    Labels(3 labels, 2 items, 2 workers, 2 classes: 0, 1)
    """
    asked = ReadOptions.of(options)
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
    rows, frame, source = _rows(data, asked)
    classes = ordered_values(rows.label) if asked.classes is None and not asked.bins else asked.classes
    scale = classes is not None and asked.classes is None
    if scale:
        asked = ReadOptions.of({**{name: getattr(asked, name) for name in asked.set()}, "classes": classes})
    labels = assemble(rows, asked, source=source, frame=frame)
    return replace(labels, report=replace(labels.report, order="scale")) if scale else labels


def _rows(data: Any, asked: ReadOptions) -> tuple[Import, str, str]:
    if asked.worker_columns:
        wide = wide_columns(data, asked.worker_columns, asked.item_column)
        if wide is None:
            raise ParameterError("--worker-columns needs a frame or a file.")
        item, worker, label, frame = wide
        return Import(item, worker, label, {"item": asked.item_column or "index", "worker": "column"}), frame, f"{frame} frame"
    named = [name for name in asked.columns.values() if name is not None]
    # Times are looked for where repeats go by them; whoever wants them with the labels names their column.
    wanted = [role for role in BESIDE if asked.columns[role] is not None or (role == "time" and asked.repeats in TIMED)]
    if taken := frame_columns(data, (*ROLES, *wanted), asked.columns):
        columns, names, frame = taken
        found: dict[str, Any] = dict(zip(names, columns, strict=True))
        return Import(**found, columns=names), frame, f"{frame} frame"
    three = _three(data)
    if named:
        raise ParameterError(f"There is no column {shown(named[0])}: column names need a frame or a file.")
    item, worker, label = three
    return Import(item, worker, label, {}), "pyarrow", "arrays"


def to_frame(table: pa.Table, frame: str) -> Any:
    """Convert a table to a pandas or Polars data frame, or leave it as it is.

    Parameters
    ----------
    table : pyarrow.Table
    frame : {'pandas', 'polars', 'pyarrow'}
    """
    if frame == "pyarrow":
        return table
    if frame not in {"pandas", "polars"}:
        raise ParameterError(f"frame must be 'pandas', 'polars' or 'pyarrow', not {shown(frame)}.")
    try:
        library = import_module(frame)
    except ImportError:
        raise MissingExtraError(f"Results as a {frame} frame need {frame}; install it with: pip install {frame}") from None
    return table.to_pandas() if frame == "pandas" else library.from_arrow(table)


def _three(data: Any) -> list[pa.Array | pa.ChunkedArray]:
    if not isinstance(data, tuple | list) or len(data) != 3:
        raise DataError(
            f"Labels cannot be read from a {type(data).__name__}; give a frame, the path of a file, "
            "or a tuple (items, workers, labels)."
        )
    return [sequence_column(values, role) for values, role in zip(data, ROLES, strict=True)]
