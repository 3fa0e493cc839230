"""Argilla: records as JSON, JSONL or Parquet, nested or flattened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from crowdassay.labels.formats.parse import as_list, as_name, objects
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

RESPONSES_ENDING, SUGGESTION_ENDING = ".responses", ".suggestion"
OLD_ENDING = "-suggestion"  # beside a question of a feedback dataset, before version 2
UNFINISHED = ("discarded", "draft")


def recognise(probe: Probe) -> bool:
    """Return whether records hold responses by question."""
    nested = isinstance(probe.first, dict) and isinstance(probe.first.get("responses"), dict) and probe.has("fields")
    flat = any(name.endswith(f"{RESPONSES_ENDING}.users") for name in probe.keys)
    return (
        nested or flat or any(name.endswith(OLD_ENDING) and name.removesuffix(OLD_ENDING) in probe.keys for name in probe.keys)
    )


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the responses to one question; discarded ones and drafts are left out where the export tells."""
    rows, silent = Annotations({"item": wanted.item_column or "id", "worker": "user_id", "label": "responses.*"}), False
    for record in probe.records():
        item = _item(record, wanted.item_column)
        answers: dict[Any, dict[str, list[Any]]] = defaultdict(dict)
        states: dict[Any, set[Any]] = defaultdict(set)
        for question, user, value, status in _responses(record):
            answers[as_name(user)][question] = _classes(value)
            states[as_name(user)].add(as_name(status))
        for user, given in answers.items():
            silent |= None in states[user]
            if left_out := [state for state in UNFINISHED if state in states[user]]:
                rows.drop(left_out[0])
            else:
                rows.add(item, user, given)
        agents: dict[Any, dict[str, list[Any]]] = defaultdict(dict)
        for question, agent, value in _suggestions(record):
            agents[as_name(agent)][question] = _classes(value)
        for agent, given in agents.items():
            rows.add_prediction(item, agent, given)
    if silent:
        rows.note(
            "This export does not say which responses are drafts or were discarded, so all were kept; "
            "to_list(flatten=True) and to_datasets() do say."
        )
    return rows


def _item(record: dict[str, Any], field: str | None) -> Any:
    if field is None:
        return record.get("id", record.get("_server_id"))
    return record.get(field, mapping(record.get("fields")).get(field.removeprefix("fields.")))


def _responses(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    nested = record.get("responses")
    if isinstance(nested, dict):
        for question, several in nested.items():
            for given in objects(several):
                yield question, given.get("user_id"), given.get("value"), given.get("status")
        return
    for name in [name.removesuffix(OLD_ENDING) for name in record if name.endswith(OLD_ENDING)]:
        several = record.get(name)
        if isinstance(several, dict):  # a column of lists, as Parquet has it
            lists = [as_list(several.get(key)) for key in ("user_id", "value", "status")]
            several = [dict(zip(("user_id", "value", "status"), cells, strict=True)) for cells in zip(*lists, strict=False)]
        for given in objects(several):
            yield name, given.get("user_id"), given.get("value"), given.get("status")
    for name, several in record.items():
        if name.endswith(RESPONSES_ENDING) and isinstance(several, list):
            users, states = as_list(record.get(f"{name}.users")), as_list(record.get(f"{name}.status"))
            for user, value, status in zip(users, several, states or [None] * len(several), strict=False):
                yield name.removesuffix(RESPONSES_ENDING), user, value, status


def _suggestions(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    nested = record.get("suggestions")
    if isinstance(nested, dict):
        for question, given in nested.items():
            if isinstance(given, dict):
                yield question, given.get("agent"), given.get("value")
        return
    for name, value in record.items():
        if name.endswith(SUGGESTION_ENDING) and value is not None:
            yield name.removesuffix(SUGGESTION_ENDING), record.get(f"{name}.agent"), value


def _classes(value: Any) -> list[Any]:
    return [choice for choice in as_list(value) if not isinstance(choice, list | dict)]  # rankings and spans are objects
