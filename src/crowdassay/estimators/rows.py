"""The true classes of the rows of a caller's frame, as scikit-learn hands them over, matched to items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.frames import three_columns
from crowdassay.labels.labels import Labels
from crowdassay.labels.native import as_narwhal, frame_columns, sequence_column
from crowdassay.labels.wide import frame_cells, matrix_cells
from crowdassay.read_options import ReadOptions


def row_truth(data: Any, y: Any, asked: ReadOptions) -> Any:
    """Return a table of item and label where ``y`` has a class for every row of the data; a truth by item stays as it is.

    >>> row_truth((list("aab"), list("xyx"), [0, 1, 1]), [0, 0, 1], ReadOptions()).to_pydict()
    {'item': ['a', 'a', 'b'], 'label': [0, 0, 1]}
    """
    if isinstance(y, str | Path | Mapping) or as_narwhal(y) is not None:
        return y
    items, values = row_items(data, asked), sequence_column(y, "label")
    if items is None or len(items) != len(values):
        rows = "a file" if items is None else f"{len(items):,} rows"
        raise DataError(f"There are {len(values):,} true classes for {rows}; give one for each row, or item and label.")
    return pa.table({"item": items, "label": values})


def row_items(data: Any, asked: ReadOptions) -> ArrowColumn | None:
    """Return the item of every row of a frame or matrix, or of every label of a triple; None where rows are not told apart."""
    if isinstance(data, Labels | str | Path):
        return data.items if isinstance(data, Labels) else None
    if getattr(data, "ndim", 1) == 2 and hasattr(data, "dtype"):
        return matrix_cells(data).items
    if asked.worker_columns or asked.format == "wide":
        taken = frame_cells(data, asked)
        return None if taken is None else taken[0].items
    columns = frame_columns(data, ("item",), asked.columns)
    return columns[0][0] if columns else three_columns(data)[0]
