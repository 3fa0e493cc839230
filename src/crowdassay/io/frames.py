"""Take labels from frames, arrays or files, and hand results back in the caller's kind of frame."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.data.labels import Labels
from crowdassay.errors import DataError, MissingExtraError, ParameterError
from crowdassay.io.encode import ROLES, encode
from crowdassay.io.files import read_labels
from crowdassay.io.native import frame_columns, ordered_values, sequence_column
from crowdassay.io.values import shown


def as_labels(
    data: Any,
    *,
    item_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    classes: Iterable[Any] | None = None,
    repeats: str = "keep",
    allow_drops: bool = False,
) -> Labels:
    """Make `Labels` from a frame, a file or three sequences; `Labels` are returned as they are.

    Parameters
    ----------
    data : frame, str, Path, Labels or tuple
        A pandas, Polars, PyArrow, DuckDB or other frame that Narwhals knows, with one row per label; the path of a file;
        or a tuple (items, workers, labels) of sequences of equal length.
    item_column, worker_column, label_column : str, optional
        Found by name (``task``, ``annotator``, ``answer``...) when not given.
    classes : iterable, optional
        All classes in order. An ordered categorical label column gives its own order.
    repeats : {'keep', 'first', 'last', 'error'}
        What to do when a worker judged an item again.
    allow_drops : bool
        Go on even if more than half of the rows miss a value.

    Examples
    --------
    >>> as_labels((["a", "a", "b"], ["ann", "bob", "ann"], [1, 0, 1]))
    Labels(3 labels, 2 items, 2 workers, 2 classes: 0, 1)
    """
    given = {"item": item_column, "worker": worker_column, "label": label_column}
    named = [name for name in given.values() if name is not None]
    classes = None if classes is None else list(classes)
    if isinstance(data, Labels):
        if named or classes is not None or repeats != "keep":
            raise ParameterError("These labels are encoded already; give columns, classes and repeats where they are read.")
        return data
    if isinstance(data, str | Path):
        return read_labels(
            data,
            item_column=item_column,
            worker_column=worker_column,
            label_column=label_column,
            classes=classes,
            repeats=repeats,
            allow_drops=allow_drops,
        )
    if taken := frame_columns(data, ROLES, given):
        columns, names, frame = taken
        source = f"{frame} frame"
    else:
        columns, names, frame, source = _three(data), {}, "pyarrow", "arrays"
        if named:
            raise ParameterError(f"There is no column {shown(named[0])}: column names need a frame or a file.")
    classes = ordered_values(columns[2]) if classes is None else classes
    return encode(
        *columns, classes=classes, repeats=repeats, allow_drops=allow_drops, source=source, columns=names, frame=frame
    )


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
