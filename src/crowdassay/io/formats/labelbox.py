"""Labelbox: the NDJSON export (v2)."""

from __future__ import annotations

from typing import Any

from crowdassay.io.formats.look import Look, records
from crowdassay.io.formats.record import Import, Rows, Wanted, as_list, mapping, objects


def recognise(seen: Look) -> bool:
    """Tell whether a record is a data row with projects."""
    return seen.has("data_row", "projects") and isinstance(mapping(seen.first).get("projects"), dict)


def read(seen: Look, wanted: Wanted) -> Import:
    """Read the answers to one classification; skipped labels are left out."""
    rows, projects = Rows(), set()
    for _, record in records(seen):
        row = mapping(record.get("data_row"))
        item = row.get((wanted.item or "id").removeprefix("data_row."))
        for project, content in mapping(record.get("projects")).items():
            for label in objects(mapping(content).get("labels")):
                projects.add(project)
                if mapping(label.get("performance_details")).get("skipped"):
                    rows.drop("skipped")
                    continue
                worker = mapping(label.get("label_details")).get("created_by")
                answers: dict[str, list[Any]] = {}
                for given in objects(mapping(label.get("annotations")).get("classifications")):
                    if (choices := _choices(given)) is not None:
                        answers[str(given.get("name"))] = choices
                rows.add(item, worker, answers)
    notes = [f"Labels of {len(projects)} projects were taken together."] if len(projects) > 1 else []
    columns = {"item": f"data_row.{(wanted.item or 'id').removeprefix('data_row.')}", "worker": "label_details.created_by"}
    return rows.finish(seen.path.name, wanted, {**columns, "label": "classifications"}, notes)


def _choices(given: dict[str, Any]) -> list[Any] | None:
    if isinstance(given.get("radio_answer"), dict):
        return as_list(given["radio_answer"].get("name", given["radio_answer"].get("value")))
    if isinstance(given.get("checklist_answers"), list):
        return [choice.get("name", choice.get("value")) for choice in objects(given["checklist_answers"])]
    return None  # free text is no class
