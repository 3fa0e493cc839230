"""Langfuse: scores, as CSV, JSON or JSONL."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from crowdassay.labels.formats.parse import as_name, first_of, objects, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import counted, mapping
from crowdassay.read_options import ReadOptions

SCORE_FIELDS = {
    "trace": ("traceId", "trace_id"),
    "observation": ("observationId", "observation_id"),
    "session": ("sessionId", "session_id"),
    "run": ("datasetRunId", "dataset_run_id"),
    "kind": ("dataType", "data_type"),
    "author": ("authorUserId", "author_user_id", "authorUserName"),
    "text": ("stringValue", "string_value"),
    "time": ("timestamp", "createdAt", "created_at"),
}
SCORE_COLUMNS = ("name", "value", "source")
TEXT_SCORES = frozenset({"CORRECTION", "TEXT"})  # kinds of score that hold an answer, not a verdict
BY_PEOPLE = "ANNOTATION"


def recognise(probe: Probe) -> bool:
    """Return whether records are scores of traces."""
    names = _names(probe)
    return names.issuperset(SCORE_COLUMNS) and any(name in names for name in SCORE_FIELDS["trace"])


def _names(probe: Probe) -> set[str]:
    """Return the names in a score, also where the interface gives scores in pages."""
    page = objects(mapping(probe.first).get("data"))
    return set(page[0]) if page and "name" not in probe.keys else probe.keys


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read scores: an item is a trace, observation or session; a worker is who scored it; a question is a score's name."""
    rows = Annotations({"item": wanted.item_column or "traceId", "worker": "authorUserId or source", "label": "*"})
    scores: Iterable[dict[str, Any]]
    if probe.kind == "delimited":
        more = [name for names in SCORE_FIELDS.values() for name in names]
        scores = read_table(probe, rows, SCORE_COLUMNS, [*more, wanted.item_column or ""])
    else:
        scores = (one for record in probe.records() for one in (objects(record.get("data")) or [record]))
    unnamed = 0
    for record in scores:
        if str(_first(record, "kind")).upper() in TEXT_SCORES:
            rows.drop("a text, no score")
            continue
        trace = _first(record, "trace") or _first(record, "session") or _first(record, "run")
        observation = _first(record, "observation")
        item = f"{trace} / {observation}" if observation else trace
        if wanted.item_column:
            item = record.get(wanted.item_column)
        text, value = _first(record, "text"), record.get("value")
        label = text if as_name(text) not in {None, ""} else value
        author, source = _first(record, "author"), record.get("source")
        unnamed += author is None and source == BY_PEOPLE
        answers = [] if as_name(label) in {None, ""} else [label]
        rows.add(item, author or source, {str(record.get("name")): answers}, time=_first(record, "time"))
    if unnamed:
        rows.note(
            f"{counted(unnamed, 'score')} by people do not say by whom, so that these people are one worker, {BY_PEOPLE}; "
            "export the author as well, if you can."
        )
    return rows


def _first(record: dict[str, Any], field: str) -> Any:
    return first_of(record, SCORE_FIELDS[field], blank=False)
