"""Prodigy: JSONL from `db-out`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.parse import as_list, as_name, file_stem, objects
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

UNNAMED_SESSION = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$")  # what Prodigy calls a session that was given no name


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the options chosen, or accept and reject in binary tasks; ignored tasks are left out."""
    rows, unnamed = Annotations({"item": "_input_hash or _task_hash", "worker": "_annotator_id", "label": "*"}), set()
    if wanted.item_column is not None:
        rows.columns["item"] = wanted.item_column
    for name, record in ((name, version) for name, outer in probe.named_records() for version in _versions(outer)):
        worker = as_name(record.get("_annotator_id") or record.get("_session_id"))
        if wanted.worker_from_filename:
            worker = file_stem(name)
        if worker and UNNAMED_SESSION.search(worker):
            unnamed.add(worker)
        manual = "options" in record or "accept" in record
        if record.get("answer") == "ignore":
            rows.drop("ignored")
        elif manual:
            # A rejected manual task is a remark on the task: Prodigy's own review leaves it out too.
            if record.get("answer") == "reject":
                rows.drop("rejected")
                continue
            item = _item(record, wanted.item_column, "_input_hash")
            rows.add(item, worker, {"accept": as_list(record.get("accept"))}, time=record.get("_timestamp"))
            rows.add_text(item, record.get("text"))
        elif str(record.get("_view_id", "")).endswith("_manual") or record.get("_view_id") == "relations":
            rows.drop("spans, not classes")
        else:
            item = _item(record, wanted.item_column, "_task_hash")
            rows.add(item, worker, {"answer": as_list(record.get("answer"))}, time=record.get("_timestamp"))
            rows.add_text(item, record.get("text"))
    if not rows.has_workers() and not rows.dropped:
        raise DataError(
            f"{probe.shown} does not say who gave which answer: no record has _annotator_id or _session_id; "
            "annotate in named sessions (add ?session=name to the address) and export with db-out again, or, if every worker "
            "has a file, say --worker-from-filename."
        )
    if unnamed:
        rows.note(
            f"Sessions without a name: {len(unnamed)}; their workers are named after the time they began, so that one person "
            "may look like many. Name sessions with ?session=name."
        )
    return rows


def _versions(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record as it is; of one that was reviewed, what each session had answered, and not the reviewer's word.

    >>> list(_versions({"_task_hash": 7, "answer": "accept", "versions": [{"answer": "reject", "sessions": ["ann"]}]}))
    [{'_task_hash': 7, 'answer': 'reject', 'sessions': ['ann'], '_session_id': 'ann'}]
    """
    versions = [version for version in objects(record.get("versions")) if as_list(version.get("sessions"))]
    if not versions:
        yield record
    shared = {name: value for name, value in record.items() if name not in {"versions", "_annotator_id", "accept", "answer"}}
    for version in versions:
        for session in as_list(version["sessions"]):
            yield {**shared, **version, "_session_id": session}


def _item(record: dict[str, Any], field: str | None, own: str) -> Any:
    if field is not None:
        return record.get(field, mapping(record.get("meta")).get(field.removeprefix("meta.")))
    return record.get(own, record.get("_input_hash", record.get("_task_hash")))
