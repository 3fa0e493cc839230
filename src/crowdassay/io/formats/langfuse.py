"""Langfuse: scores, as CSV, JSON or JSONL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crowdassay.io.formats.record import Rows, as_name
from crowdassay.io.formats.table import each_row, read_columns
from crowdassay.io.look import Look, records
from crowdassay.read_options import ReadOptions

FIELDS = {
    "trace": ("traceId", "trace_id"),
    "observation": ("observationId", "observation_id"),
    "author": ("authorUserId", "author_user_id", "authorUserName"),
    "text": ("stringValue", "string_value"),
    "time": ("timestamp", "createdAt", "created_at"),
}
NEEDED = ("name", "value", "source")


def recognise(seen: Look) -> bool:
    """Tell whether records are scores of traces."""
    return seen.has(*NEEDED) and any(name in seen.keys for name in FIELDS["trace"])


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read scores: an item is a trace or observation; a worker is who scored it; the score's name is the question."""
    rows = Rows({"item": wanted.item_column or "traceId", "worker": "authorUserId or source", "label": "*"})
    found: Iterable[dict[str, Any]]
    if seen.kind == "delimited":
        known = [name for names in FIELDS.values() for name in names if name in seen.header]
        chosen = [wanted.item_column] if wanted.item_column in seen.header else []
        found = each_row(read_columns(seen, [*NEEDED, *known, *chosen], NEEDED, rows))
    else:
        found = (record for _, record in records(seen))
    for record in found:
        trace, observation = _first(record, "trace"), _first(record, "observation")
        item = record.get(wanted.item_column) if wanted.item_column else f"{trace} / {observation}" if observation else trace
        text, value = _first(record, "text"), record.get("value")
        label = text if as_name(text) not in {None, ""} else value
        worker = _first(record, "author") or record.get("source")
        answers = [] if as_name(label) in {None, ""} else [label]
        rows.add(item, worker, {str(record.get("name")): answers}, time=_first(record, "time"))
    return rows


def _first(record: dict[str, Any], field: str) -> Any:
    return next((record[name] for name in FIELDS[field] if record.get(name) not in {None, ""}), None)
