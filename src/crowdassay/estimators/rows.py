"""Data with a row for each item, as scikit-learn has them: what is true of each row, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError
from crowdassay.labels.files import assemble
from crowdassay.labels.frames import three_columns, wide_cells
from crowdassay.labels.labels import Labels
from crowdassay.labels.native import as_narwhal, frame_columns, sequence_column
from crowdassay.labels.report import warn_of
from crowdassay.labels.values import counted
from crowdassay.read_options import ReadOptions


def wide_rows(data: object, reading: dict[str, Any]) -> tuple[Labels, IntArray, int] | None:
    """Return the labels of a wide frame or matrix, the row of each item (n_items,), and the number of rows.

    Rows without a label are no items. None of data that are not wide.
    """
    asked = ReadOptions.of(reading)
    if isinstance(data, Labels | str | Path) or (taken := wide_cells(data, asked)) is None:
        return None
    cells, frame = taken
    numbered = replace(cells, items=pa.array(range(len(cells.items))))
    labels = assemble(numbered.rows(asked), asked, source="the rows", frame=frame, name="wide")
    warn_of(labels.report)
    return labels, np.asarray(labels.items.to_pylist(), np.int64), len(cells.items)


def row_truth(data: object, y: object, asked: ReadOptions) -> Any:
    """Return a table of item and label where ``y`` has a class for every row of the data; a truth by item stays as it is.

    >>> row_truth((list("aab"), list("xyx"), [0, 1, 1]), [0, 0, 1], ReadOptions()).to_pydict()
    {'item': ['a', 'a', 'b'], 'label': [0, 0, 1]}
    """
    if isinstance(y, str | Path | Mapping) or as_narwhal(y) is not None:
        return y
    if isinstance(data, Labels | str | Path):
        items = data.items if isinstance(data, Labels) else None
    elif (wide := wide_cells(data, asked)) is not None:
        items = wide[0].items
    else:
        columns = frame_columns(data, ("item",), asked.columns)
        items = columns[0][0] if columns else three_columns(data)[0]
    values = sequence_column(y, "label")
    if items is None or len(items) != len(values):
        rows = "a file" if items is None else counted(len(items), "row")
        raise DataError(
            f"{counted(len(values), 'true class was', 'true classes were')} given for {rows}; give one for each row, or item "
            "and label."
        )
    return pa.table({"item": items, "label": values})
