"""What an item is: its text, or a picture, for the few items that a report shows."""

from __future__ import annotations

import csv
import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.data.text import short
from crowdassay.errors import CrowdassayError
from crowdassay.insight.describe import Insight
from crowdassay.insight.items import hardness

COLUMNS = (
    "text", "content", "sentence", "message", "comment", "body", "title", "prompt", "image", "image_url", "picture", "photo",
    "file", "filename", "url",
)  # fmt: skip
PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
LONGEST = 280  # characters of a text
LARGEST = 300_000  # bytes of a picture that goes into the page


@dataclass(frozen=True)
class Content:
    """A text or, as a data address, a picture; the other is empty."""

    text: str = ""
    picture: str = ""


Contents = Mapping[Any, Content]
SHOWN = 12  # items in each table of a report


def shown_items(insight: Insight) -> list[Any]:
    """Return the names of the items that a report shows, as they are in the labels."""
    hard = [int(j) for j in np.argsort(-hardness(insight.record), kind="stable")[:SHOWN]]
    worth = [one.item for one in insight.worth[:SHOWN]]
    return [insight.record.labels.items[j].as_py() for j in dict.fromkeys([*worth, *hard])]


def as_contents(values: Mapping[Any, Any], folder: Path | None = None) -> Contents:
    """Return what items hold, from a mapping of item to text, or to the file of a picture in some folder.

    A picture at an address of the web stays an address: a page loads nothing from elsewhere.
    """
    return {item: _content(value, folder) for item, value in values.items() if value is not None and str(value).strip()}


def contents_of_file(labels: Sequence[str], insight: Insight) -> Contents:
    """Return what the file of labels says about the items that a report shows, where it is one table."""
    report = insight.record.labels.report
    if len(labels) != 1 or report.format != "plain" or "item" not in report.columns or not Path(labels[0]).is_file():
        return {}
    return find_contents(Path(labels[0]), report.columns["item"], shown_items(insight))


def find_contents(path: Path, item_column: str, items: Iterable[Any]) -> Contents:
    """Return what a table of labels itself holds about some items: the first column whose name says text or picture."""
    from crowdassay.io.scan import scan  # noqa: PLC0415  only where there is such a column

    kind = path.with_suffix("").suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    column = _choose(_column_names(path, kind), item_column)
    if column is None:
        return {}
    try:
        table, _ = scan(path, kind, ("item", "label"), {"item": item_column, "label": column})
    except CrowdassayError:  # it was good enough for labels; what it shows beside them is no reason to fail
        return {}
    return contents_of(table.rename_columns({"label": "text"}), "item", items, path.parent)


def _column_names(path: Path, kind: str) -> list[str]:
    """Return the names of a table's columns, as far as its beginning shows them."""
    try:
        if kind == ".parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

            return list(pq.read_schema(path).names)
        with (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as stream:
            first = stream.readline(100_000)
    except (OSError, UnicodeError, pa.ArrowException):
        return []
    if kind in (".jsonl", ".ndjson"):
        try:
            row = json.loads(first)
        except ValueError:
            return []
        return list(row) if isinstance(row, dict) else []
    separator = max(",;\t|", key=first.count)
    return next(csv.reader([first], delimiter=separator), [])


def _choose(names: Iterable[str], item_column: str) -> str | None:
    """Return the column that says what items are, if there is one."""
    known = {name.strip().lower().replace(" ", "_"): name for name in names if name != item_column}
    return next((known[name] for name in COLUMNS if name in known), None)


def contents_of(table: pa.Table, item_column: str, items: Iterable[Any], folder: Path | None = None) -> Contents:
    """Return what the columns of a table say about some items.

    >>> table = pa.table({"item": ["a", "a", "b"], "text": ["hello", "hello", "bye"]})
    >>> contents_of(table, "item", ["b"])["b"].text
    'bye'
    """
    chosen = _choose(table.column_names, item_column)
    if chosen is None or item_column not in table.column_names:
        return {}
    wanted = {str(item): item for item in items}
    keys = table[item_column].cast(pa.string()).combine_chunks()
    rows = np.flatnonzero(pc.is_in(keys, value_set=pa.array(list(wanted), pa.string())).to_numpy(zero_copy_only=False))
    pairs = zip(keys.take(pa.array(rows)).to_pylist(), table[chosen].take(pa.array(rows)).to_pylist(), strict=True)
    return as_contents({wanted[key]: value for key, value in reversed(list(pairs))}, folder)


def _content(value: Any, folder: Path | None) -> Content:
    text = str(value).strip()
    kind = PICTURES.get(Path(text.split("?")[0]).suffix.lower())
    if kind is not None and folder is not None and "://" not in text and "\0" not in text and len(text) < 1000:
        path = (folder / text).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file() and path.stat().st_size <= LARGEST:
            return Content(picture=f"data:image/{kind};base64,{b64encode(path.read_bytes()).decode()}")
    return Content(text=short(" ".join(text.split()), LONGEST))
