"""Write tables into a page, between the comments that name them, so that no number is typed by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path


def fill(page: Path, tables: Mapping[str, Sequence[str]]) -> None:
    """Replace the lines between ``<!-- name -->`` and ``<!-- end -->`` for every table that the page has a place for."""
    text = page.read_text(encoding="utf-8")
    for name, lines in tables.items():
        place = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        body = "\n" + "\n".join(lines).strip() + "\n\n"
        text = place.sub(lambda found, body=body: found[1] + body + found[2], text)
    page.write_text(text, encoding="utf-8")
