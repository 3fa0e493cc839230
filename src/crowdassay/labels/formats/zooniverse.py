"""Zooniverse: the classification export, a CSV with JSON inside."""

from __future__ import annotations

from typing import Any

from crowdassay.labels.formats.parse import as_list, item_column, objects, parsed, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

USER_COLUMNS = ("user_name", "user_id")


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all question tasks; drawings and texts are left out."""
    item = item_column(probe, wanted.item_column, "", "subject_ids" if "subject_ids" in probe.header else "subject_data")
    worker = next((name for name in USER_COLUMNS if name in probe.header), "user_name")
    rows = Annotations({"item": item, "worker": worker, "label": "annotations.*"})
    rows_read = read_table(probe, rows, [item, worker, "annotations"], ["created_at", "workflow_id"])
    several = len({row.get("workflow_id") for row in rows_read}) > 1  # tasks are numbered in each workflow anew
    for row in rows_read:
        before = f"{row['workflow_id']}." if several else ""
        subject: Any = row[item]
        if item == "subject_data":  # an object with the subject's id as its key
            subject = next(iter(mapping(parsed(subject))), subject)
        answers: dict[str, list[Any]] = {}
        for given in _tasks(parsed(row["annotations"])):
            value = given.get("value")
            if value is None or not any(isinstance(part, dict) for part in as_list(value)):
                answers[f"{before}{given.get('task')}"] = [part for part in as_list(value) if part is not None]
            elif choices := [part["choice"] for part in objects(as_list(value)) if "choice" in part]:
                answers[f"{before}{given.get('task')}"] = choices  # a survey: which animals are there
        time = (row.get("created_at") or "").removesuffix(" UTC") or None
        rows.add(subject, row[worker], answers, time=time)
    return rows


def _tasks(annotations: Any) -> list[dict[str, Any]]:
    tasks = []
    for given in objects(annotations):
        inner = given.get("value")
        if isinstance(inner, list) and inner and all(isinstance(part, dict) and "task" in part for part in inner):
            tasks += _tasks(inner)  # several tasks on one page
        else:
            tasks.append(given)
    return tasks
