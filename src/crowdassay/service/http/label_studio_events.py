"""What Label Studio tells of annotations, by webhook or in an export: the label of each, as the reader of exports reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.labels.formats.label_studio import add_task, controls_in, find_control, no_annotations, tasks_in
from crowdassay.labels.formats.parse import as_name, objects
from crowdassay.labels.formats.record import choose_question, labels_of
from crowdassay.labels.jsontext import json_values
from crowdassay.labels.values import mapping, number_of
from crowdassay.read_options import ReadOptions
from crowdassay.service.store.annotations import Delivery
from crowdassay.service.store.checks import LONGEST_DURATION, BadRecordError, as_time
from crowdassay.service.store.checks import as_name as checked_name
from crowdassay.service.store.records import read_label

CHANGED = frozenset({"ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED"})
ANNOTATIONS_DELETED, TASKS_DELETED = "ANNOTATIONS_DELETED", "TASKS_DELETED"
SEVERAL = "The annotation names several choices; `crowdassay serve --options set` takes the set as a class."
NO_PAYLOAD = "Label Studio sent no payload; let its webhook send one."
NO_TASKS = "Send a JSON list of tasks with their annotations, as Label Studio exports it."


def entities(told: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the tasks or annotations of an event, one or several, under the singular or the plural of their name."""
    found = told.get(name, told.get(f"{name}s"))
    several = objects(found if isinstance(found, list) else [found])
    if not several:
        raise ParameterError(NO_PAYLOAD)
    return several


def key_of(number: object) -> str:
    """Return the key of the label of an annotation by its number.

    >>> key_of("17")
    'label-studio/17'
    """
    return f"label-studio/{id_of(number)}"


def id_of(number: object) -> str:
    """Return the id of an annotation or a task; refuse what the store could not hold."""
    return checked_name(number, "id of an annotation or a task")


def read_event(told: dict[str, Any], wanted: ReadOptions) -> Iterator[Delivery]:
    """Yield what an event says of annotations that were created or updated."""
    config = as_name(mapping(told.get("project")).get("label_config"))
    if wanted.question is None and config:
        wanted = replace(wanted, question=find_control(config, None).name)
    task = told.get("task")
    tasks = {as_name(one.get("id")): one for one in objects(task if isinstance(task, list) else [task])}
    for annotation in entities(told, "annotation"):
        number = id_of(annotation.get("task"))
        yield read_annotation(tasks.get(number, {"id": number}), annotation, wanted)


def read_export(text: str, wanted: ReadOptions) -> Iterator[Delivery]:
    """Yield what an export says of annotations."""
    try:
        values = list(json_values(text))
    except (ValueError, RecursionError):
        raise ParameterError(NO_TASKS) from None
    tasks = list(chain.from_iterable(map(tasks_in, objects(values))))
    if len(objects(values)) < len(values) or not text.strip():
        raise ParameterError(NO_TASKS)
    if wanted.question is None and (found := [one.name for one in controls_in(tasks, None)]):
        wanted = replace(wanted, question=choose_question(found, None, "export"))
    for task in tasks:
        for annotation in objects(task.get("annotations")):
            yield read_annotation(task, annotation, wanted)


def read_annotation(task: dict[str, Any], annotation: dict[str, Any], wanted: ReadOptions) -> Delivery:
    """Return what an annotation says: its label, or none where it was skipped or left open."""
    rows, label, reason, key = no_annotations(wanted), None, "", key_of(annotation.get("id"))
    add_task(rows, task, [annotation], wanted)
    for said in rows.annotations:
        question = wanted.question or (choose_question(list(said.answers), None, "annotation") if said.answers else "")
        chosen = said.answers.get(question, ())
        times = {"time": _time(said.time), "duration": _seconds(said.duration)}
        for item, name in labels_of(said.item, chosen, wanted.options, ()):
            try:
                label = read_label({"item": item, "worker": as_name(said.worker), "label": name, "key": key, **times})
            except BadRecordError as error:
                reason = error.message
        if len(chosen) > 1 and wanted.options is None:
            reason = SEVERAL
    return Delivery(key, id_of(task.get("id")), _time(annotation.get("updated_at")) or "", label, reason)


def _time(value: Any) -> str | None:
    """Return a time as the store writes it; None for what is none, since an annotation without a time is one all the same."""
    try:
        return as_time(value)
    except BadRecordError:
        return None


def _seconds(value: Any) -> float | None:
    number = number_of(as_name(value) or "")
    return number if number is not None and 0 <= number <= LONGEST_DURATION else None
