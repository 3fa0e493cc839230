"""Data with a row for each item, as scikit-learn has them: what is true of each row, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.files import assemble
from crowdassay.labels.frames import three_columns, wide_cells
from crowdassay.labels.labels import Labels
from crowdassay.labels.native import as_narwhal, frame_columns, sequence_column
from crowdassay.labels.report import warn_of
from crowdassay.labels.values import counted
from crowdassay.read_options import ReadOptions


@dataclass(frozen=True, eq=False)
class WideRows:
    """The rows of a wide frame or matrix.

    Attributes
    ----------
    labels : Labels
        Items are rows, named by their numbers; those without a label are not among them.
    row : ndarray of int, shape (n_items,)
        The row of each item.
    n_rows : int
    """

    labels: Labels
    row: IntArray
    n_rows: int

    def spread(self, values: FloatArray, otherwise: FloatArray) -> FloatArray:
        """Return the values of items (n_items, ...) by row, (n_rows, ...), and ``otherwise`` (...) for rows without a label."""
        whole = np.empty((self.n_rows, *values.shape[1:]), values.dtype)
        whole[:] = otherwise
        whole[self.row] = values
        return whole


def wide_rows(data: object, reading: dict[str, Any]) -> WideRows | None:
    """Return the labels of a wide frame or matrix by its rows; None of data that are not wide."""
    asked = ReadOptions.of(reading)
    if isinstance(data, Labels | str | Path) or (taken := wide_cells(data, asked)) is None:
        return None
    cells, frame = taken
    numbered = replace(cells, items=pa.array(range(len(cells.items))))
    labels = assemble(numbered.rows(asked), asked, source="the rows", frame=frame, name="wide")
    warn_of(labels.report)
    return WideRows(labels, np.asarray(labels.items.to_pylist(), np.int64), len(cells.items))


def row_truth(data: object, y: object, asked: ReadOptions) -> Any:
    """Return a table of item and label where ``y`` has a class for every row of the data; a truth by item stays as it is.

    >>> row_truth((list("aab"), list("xyx"), [0, 1, 1]), [0, 0, 1], ReadOptions()).to_pydict()
    {'item': ['a', 'a', 'b'], 'label': [0, 0, 1]}
    """
    if isinstance(y, str | Path | Mapping) or as_narwhal(y) is not None:
        return y
    items, values = row_items(data, asked), sequence_column(y, "label")
    if items is None or len(items) != len(values):
        rows = "a file" if items is None else counted(len(items), "row")
        raise DataError(
            f"{counted(len(values), 'true class was', 'true classes were')} given for {rows}; give one for each row, or "
            "item and "
            "label."
        )
    return pa.table({"item": items, "label": values})


def row_items(data: object, asked: ReadOptions) -> ArrowColumn | None:
    """Return the item of every row of a frame or matrix, or of every label of a triple; None where rows are not told apart."""
    if isinstance(data, Labels | str | Path):
        return data.items if isinstance(data, Labels) else None
    if (wide := wide_cells(data, asked)) is not None:
        return wide[0].items
    columns = frame_columns(data, ("item",), asked.columns)
    return columns[0][0] if columns else three_columns(data)[0]
