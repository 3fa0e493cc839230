"""What an item is: its text, or a picture, for the few items that a report shows."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay.findings.insight import Insight
from crowdassay.findings.items import hardness
from crowdassay.text import short

PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
LONGEST_TEXT = 280  # characters of a text
LARGEST_PICTURE = 300_000  # bytes of a picture that goes into the page


@dataclass(frozen=True)
class Content:
    """A text or, as a data address, a picture; the other is empty."""

    text: str = ""
    picture: str = ""


Contents = Mapping[Any, Content]
ROWS_SHOWN = 12  # in each table of a report


def shown_items(insight: Insight) -> list[int]:
    """Return the codes of the items that a report shows."""
    hard = [int(j) for j in np.argsort(-hardness(insight.record), kind="stable")[:ROWS_SHOWN]]
    return list(dict.fromkeys([*(one.item for one in insight.next_items[:ROWS_SHOWN]), *hard]))


def as_contents(values: Mapping[Any, Any], folder: Path | None = None) -> Contents:
    """Return what items hold, from a mapping of item to text, or to the file of a picture in some folder.

    A picture at an address of the web stays an address: a page loads nothing from elsewhere.
    """
    return {item: _content(value, folder) for item, value in values.items() if value is not None and str(value).strip()}


def shown_contents(insight: Insight, contents: Mapping[Any, Any], folder: Path | None = None) -> Contents:
    """Return what is known of the items that a report shows: what was handed over, and else what the labels came with."""
    labels, texts = insight.record.labels, insight.record.labels.item_text
    known: dict[Any, Any] = {}
    if texts is not None:
        known = {labels.items[j].as_py(): texts[j].as_py() for j in shown_items(insight)}
    return as_contents({**known, **contents}, folder)


def _content(value: Any, folder: Path | None) -> Content:
    text = str(value).strip()
    kind = PICTURES.get(Path(text.split("?")[0]).suffix.lower())
    if kind is not None and folder is not None and "://" not in text and "\0" not in text and len(text) < 1000:
        path = (folder / text).resolve()
        if path.is_relative_to(folder.resolve()) and path.is_file() and path.stat().st_size <= LARGEST_PICTURE:
            return Content(picture=f"data:image/{kind};base64,{b64encode(path.read_bytes()).decode()}")
    return Content(text=short(" ".join(text.split()), LONGEST_TEXT))
