"""A data frame in one JSON object, as `DataFrame.to_json` writes it: back to rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def rows_of_frame(value: Any) -> Iterator[Any]:
    """Yield the rows of a frame that is one JSON object, column by column; any other value as it is.

    Known are columns of objects by row (pandas' default), columns as lists, and the orients ``split``, ``table`` and ``index``.

    >>> list(rows_of_frame({"item": {"0": "a", "1": "b"}, "label": {"0": "x", "1": "y"}}))
    [{'item': 'a', 'label': 'x'}, {'item': 'b', 'label': 'y'}]
    """
    if not isinstance(value, dict) or not value:
        yield value
        return
    if value.keys() in ({"columns", "index", "data"}, {"columns", "data"}) and _all_lists(value):
        names = [str(name) for name in value["columns"]]
        if all(isinstance(row, list) and len(row) == len(names) for row in value["data"]):
            for row in value["data"]:
                yield dict(zip(names, row, strict=True))
            return
    if {"schema", "data"} == value.keys() and isinstance(value["data"], list):
        yield from value["data"]
        return
    columns = list(value.values())
    if len(columns) > 1 and all(isinstance(column, dict) and column for column in columns):
        rows = list(columns[0])
        same = all(list(column) == rows for column in columns)
        if same and not any(isinstance(cell, dict | list) for column in columns for cell in column.values()):
            if all(row.isdigit() for row in rows):  # the index; otherwise a row each, as orient="index" has it
                for row in rows:
                    yield {name: column[row] for name, column in value.items()}
                return
            if all(name.isdigit() for name in value):
                yield from columns
                return
    flat = _all_lists(value) and not any(isinstance(cell, dict | list) for column in columns for cell in column)
    if len(columns) > 1 and flat and columns[0] and len({len(column) for column in columns}) == 1:
        for row in zip(*columns, strict=True):
            yield dict(zip(value, row, strict=True))
        return
    yield value


def _all_lists(value: dict[str, Any]) -> bool:
    return all(isinstance(part, list) for part in value.values())
