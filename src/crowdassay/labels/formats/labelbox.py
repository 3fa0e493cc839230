"""Labelbox: the NDJSON export (v2), and the JSON export (v1) before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.formats.parse import as_list, objects, parsed, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping, shown
from crowdassay.read_options import ReadOptions

V1_FIELDS = ("Labeled Data", "Created By", "Label")  # what every record of v1 has
V1_ITEMS = ("DataRow ID", "Labeled Data")  # the oldest have no ids of data rows


def recognise(probe: Probe) -> bool:
    """Return whether a record is a data row with projects, or has the fields of v1."""
    if probe.has(*V1_FIELDS):
        return True
    return probe.has("data_row", "projects") and isinstance(mapping(probe.first).get("projects"), dict)


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all classifications; skipped labels are left out."""
    if probe.has(*V1_FIELDS):
        return _read_first(probe, wanted)
    field = (wanted.item_column or "id").removeprefix("data_row.")
    rows, projects = Annotations({"item": f"data_row.{field}", "worker": "label_details.created_by", "label": "*"}), set()
    for record in probe.records():
        row = mapping(record.get("data_row"))
        item = row.get(field)
        rows.add_text(item, row.get("row_data"))
        for project, content in mapping(record.get("projects")).items():
            for label in objects(mapping(content).get("labels")):
                projects.add(project)
                facts = mapping(label.get("performance_details"))
                if facts.get("skipped"):
                    rows.drop("skipped")
                    continue
                details = mapping(label.get("label_details"))
                answers = _answers(objects(mapping(label.get("annotations")).get("classifications")))
                times = {"time": details.get("created_at"), "duration": facts.get("seconds_to_create")}
                rows.add(item, details.get("created_by"), answers, **times)
    if rows.annotations and not rows.has_workers():
        raise DataError(
            f"{probe.shown} does not say who gave which label: no label has label_details; export it with label "
            "details (label_details=True)."
        )
    if len(projects) > 1:
        rows.note(f"Labels of {len(projects)} projects were taken together.")
    return rows


def _read_first(probe: Probe, wanted: ReadOptions) -> Annotations:
    field = wanted.item_column or next(name for name in V1_ITEMS if name in probe.keys)
    rows = Annotations({"item": field, "worker": "Created By", "label": "*"})
    for record in _first_records(probe, field, rows):
        label = parsed(record.get("Label"))
        if record.get("Skipped") in {True, "true", "True"} or label in ("Skip", "Skipped"):
            rows.drop("skipped")
            continue
        answers = _answers(objects(mapping(label).get("classifications")))
        if not answers:  # exports before 2020 have one key for each question
            answers = {
                str(name): [choice for choice in as_list(value) if isinstance(choice, str)]
                for name, value in mapping(label).items()
                if name not in {"objects", "classifications", "relationships"} and isinstance(value, str | list)
            }
        times = {"time": record.get("Created At"), "duration": record.get("Seconds to Label")}
        rows.add(record.get(field), record.get("Created By"), answers, **times)
        rows.add_text(record.get(field), record.get("Labeled Data"))
    return rows


def _first_records(probe: Probe, field: str, rows: Annotations) -> Iterator[dict[str, Any]]:
    if probe.kind != "delimited":
        yield from probe.records()
        return
    needed = (field, "Created By", "Label")
    if missing := [name for name in needed if name not in probe.header]:
        raise ColumnError(f"There is no column {shown(missing[0])} in {probe.shown}.")
    yield from read_table(probe, rows, needed, ("Created At", "Seconds to Label", "Skipped"))


def _answers(classifications: list[dict[str, Any]]) -> dict[str, list[Any]]:
    answers: dict[str, list[Any]] = {}
    for given in classifications:
        if (choices := _choices(given)) is not None:
            answers[str(given.get("name", given.get("title", given.get("value"))))] = choices
    return answers


def _choices(given: dict[str, Any]) -> list[Any] | None:
    for key in ("radio_answer", "answer"):
        if isinstance(given.get(key), dict):
            return as_list(_name(given[key]))
    for key in ("checklist_answers", "checklist_answer", "answers", "answer"):
        if isinstance(given.get(key), list):
            return [_name(choice) for choice in objects(given[key])]
    return None  # free text is no class


def _name(choice: dict[str, Any]) -> Any:
    return choice.get("name", choice.get("title", choice.get("value")))
