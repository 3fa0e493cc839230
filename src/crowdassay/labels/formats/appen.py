"""Appen, formerly Figure Eight and CrowdFlower: the full report as CSV, alone or in a zip, or JSON."""

from __future__ import annotations

from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.parse import as_list, is_filled, is_true, item_column, objects, parsed, read_table, varying
from crowdassay.labels.formats.record import Annotations, choose_question
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

APPEN_UNIT, APPEN_WORKER, APPEN_GOLD = "_unit_id", "_worker_id", "_gold"
AGGREGATED_COLUMNS = ("_unit_state", "_trusted_judgments")
UNTRUSTED = {"_tainted": "tainted", "_missed": "missed test question"}
MISSED_NOTE = "Judgements that missed a test question were left out; workers may look better than they are."


def recognise(probe: Probe) -> bool:
    """Return whether the header has units and workers, or is that of an aggregated report, or units hold judgements."""
    if probe.kind == "records":
        return bool(_judgements(probe.first))
    return probe.has(APPEN_UNIT) and (probe.has(APPEN_WORKER) or bool(set(AGGREGATED_COLUMNS) & probe.keys))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the questions; tainted and missed judgements are left out, and personal columns are never read."""
    if probe.kind == "records":
        return _read_json(probe, wanted)
    if not probe.has(APPEN_WORKER):
        raise DataError(
            f"{probe.shown} is an aggregated report: it holds one label per unit and not who gave which; "
            "download the full report of the same job instead."
        )
    item = item_column(probe, wanted.item_column, "", APPEN_UNIT)
    rows = Annotations({"item": item, "worker": APPEN_WORKER, "label": "*"})
    own = [name for name in probe.header if not name.startswith(("_", "orig_"))]
    own = [name for name in own if not name.endswith((APPEN_GOLD, "_gold_reason"))]
    asked = own if wanted.question is None else [choose_question(own, wanted.question, probe.path.name)]
    # Every question of a job with test questions has a column of their answers; columns of the uploaded data have none.
    if wanted.question is None and (tested := [name for name in own if name + APPEN_GOLD in probe.header]):
        asked = tested
    optional = [*UNTRUSTED, "_golden", "_created_at", "_started_at", *(name + APPEN_GOLD for name in asked)]
    rows_read = read_table(probe, rows, [item, APPEN_WORKER], [*asked, *optional])
    if wanted.question is None:
        asked = varying(rows_read, item, asked, blank=True) or asked
        if asked is own:
            asked = [name for name in own if ROLES["label"].is_named(name)] or own
    tested_units: set[Any] = set()
    for row in rows_read:
        answers = {name: _lines(row[name]) for name in asked}
        known = {name: _lines(row.get(name + APPEN_GOLD)) for name in asked}
        if (is_true(row["_golden"]) if "_golden" in row else any(known.values())) and any(known.values()):
            if any(len(several) > 1 for several in known.values()):
                tested_units.add(row[item])
            rows.add_gold(row[item], {name: given for name, given in known.items() if len(given) == 1})
        if reason := next((why for mark, why in UNTRUSTED.items() if is_true(row.get(mark))), None):
            rows.drop(reason)
            if reason == UNTRUSTED["_missed"]:
                rows.note(MISSED_NOTE)
            continue
        rows.add(row[item], row[APPEN_WORKER], answers, time=row.get("_created_at"))
    if tested_units:
        rows.note(f"Test questions that accept several answers are not counted as gold: {len(tested_units)}.")
    return rows


def _read_json(probe: Probe, wanted: ReadOptions) -> Annotations:
    rows = Annotations({"item": wanted.item_column or "id", "worker": "worker_id", "label": "results.judgments.data.*"})
    for unit in probe.records():
        item = mapping(unit.get("data")).get(wanted.item_column) if wanted.item_column else unit.get("id")
        for judgement in _judgements(unit):
            if reason := next((why for mark, why in UNTRUSTED.items() if judgement.get(mark.strip("_")) is True), None):
                rows.drop(reason)
                if reason == UNTRUSTED["_missed"]:
                    rows.note(MISSED_NOTE)
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
