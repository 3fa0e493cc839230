"""Appen, formerly Figure Eight and CrowdFlower: the full report as CSV, alone or in a zip, or JSON."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.parse import as_list, each_row, is_filled, is_true, item_column, objects, parsed, read_columns
from crowdassay.labels.formats.record import Annotations, choose_question
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

UNIT, WORKER, GOLD = "_unit_id", "_worker_id", "_gold"
AGGREGATED = ("_unit_state", "_trusted_judgments")
LEFT_OUT = {"_tainted": "tainted", "_missed": "missed test question"}
MISSED = "Judgements that missed a test question were left out; workers may look better than they are."
OWN = frozenset({"unit_id", "worker_id", "id", "created_at", "started_at", "trust", "city", "country", "region", "ip"})


def recognise(probe: Probe) -> bool:
    """Tell whether the header has units and workers, or is that of an aggregated report, or units hold judgements."""
    if probe.kind == "records":
        return bool(_judgements(probe.first))
    return probe.has(UNIT) and (probe.has(WORKER) or bool(set(AGGREGATED) & probe.keys))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the questions; tainted and missed judgements are left out, and personal columns are never read."""
    if probe.kind == "records":
        return _read_json(probe, wanted)
    if not probe.has(WORKER):
        raise DataError(
            f"{probe.shown} is an aggregated report: it holds one label per unit and not who gave which; "
            "download the full report of the same job instead."
        )
    item = item_column(probe, wanted.item_column, "", UNIT)
    rows = Annotations({"item": item, "worker": WORKER, "label": "*"})
    own = [name for name in probe.header if not name.startswith(("_", "orig_")) and not name.endswith((GOLD, "_gold_reason"))]
    asked = own if wanted.question is None else [choose_question(own, wanted.question, probe.path.name)]
    # Every question of a job with test questions has a column of their answers; columns of the uploaded data have none.
    if wanted.question is None and (tested := [name for name in own if name + GOLD in probe.header]):
        asked = tested
    optional = [*LEFT_OUT, "_golden", "_created_at", "_started_at", *(name + GOLD for name in asked)]
    names = [item, WORKER, *asked, *(name for name in optional if name in probe.header)]
    columns = read_columns(probe, names, [item, WORKER], rows)
    rows_read = list(each_row(columns))
    if wanted.question is None:
        asked = _varying(rows_read, item, asked) or asked
        if asked is own:
            asked = [name for name in own if ROLES["label"].is_named(name)] or own
    tested_units: set[Any] = set()
    for row in rows_read:
        answers = {name: _lines(row[name]) for name in asked}
        known = {name: _lines(row.get(name + GOLD)) for name in asked}
        if (is_true(row["_golden"]) if "_golden" in row else any(known.values())) and any(known.values()):
            if any(len(several) > 1 for several in known.values()):
                tested_units.add(row[item])
            rows.add_gold(row[item], {name: given for name, given in known.items() if len(given) == 1})
        if reason := next((why for mark, why in LEFT_OUT.items() if is_true(row.get(mark))), None):
            rows.drop(reason)
            if reason == LEFT_OUT["_missed"]:
                rows.note(MISSED)
            continue
        rows.add(row[item], row[WORKER], answers, time=row.get("_created_at"))
    if tested_units:
        rows.note(f"Test questions that accept several answers are not counted as gold: {len(tested_units)}.")
    return rows


def _varying(rows: list[dict[str, str | None]], item: str, names: list[str]) -> list[str]:
    """Tell questions from uploaded data: only answers differ between the judgements of one unit."""
    probe: dict[tuple[str, Any], set[str]] = defaultdict(set)
    for row in rows:
        for name in names:
            probe[name, row[item]].add((row[name] or "").strip())
    varying = {name for (name, _), different in probe.items() if len(different) > 1}
    return [name for name in names if name in varying]


def _read_json(probe: Probe, wanted: ReadOptions) -> Annotations:
    rows = Annotations({"item": wanted.item_column or "id", "worker": "worker_id", "label": "results.judgments.data.*"})
    for unit in probe.records():
        item = mapping(unit.get("data")).get(wanted.item_column) if wanted.item_column else unit.get("id")
        for judgement in _judgements(unit):
            if reason := next((why for mark, why in LEFT_OUT.items() if judgement.get(mark.strip("_")) is True), None):
                rows.drop(reason)
                if reason == LEFT_OUT["_missed"]:
                    rows.note(MISSED)
                continue
            answers = {
                name: [choice for choice in as_list(value) if is_filled(str(choice))]
                for name, value in mapping(judgement.get("data")).items()
                if not any(isinstance(choice, dict) for choice in as_list(value))
            }
            rows.add(item, judgement.get("worker_id"), answers, time=judgement.get("created_at"))
        known = {name: as_list(value) for name, value in mapping(unit.get("gold_data", unit.get("gold_answers"))).items()}
        if unit.get("state") == "golden" and known:
            rows.add_gold(item, known)
    return rows


def _judgements(unit: Any) -> list[dict[str, Any]]:
    results = mapping(mapping(unit).get("results"))
    return [entry for entry in objects(results.get("judgments")) if "worker_id" in entry]


def _lines(cell: str | None) -> list[str]:
    r"""Split what check boxes send: on several lines, or as a list in JSON.

    >>> _lines("a\nb"), _lines('["a", "b"]'), _lines("[a]"), _lines("[]")
    (['a', 'b'], ['a', 'b'], ['[a]'], [])
    """
    listed = parsed(cell)
    if isinstance(listed, list) and all(isinstance(part, str) for part in listed):
        return [part for part in listed if part.strip()]
    return [line for line in (cell or "").splitlines() if line.strip()]
