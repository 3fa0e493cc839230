"""MLflow: evaluation tables and traces with assessments, as JSON."""

from __future__ import annotations

from typing import Any

from crowdassay.io.formats.answers import parsed
from crowdassay.io.formats.record import Rows, as_list, as_name, mapping, objects
from crowdassay.io.look import Look, records
from crowdassay.read_options import ReadOptions

SCORE, VERSION = "/score", "/v"
IDS = ("request_id", "trace_id", "client_request_id", "id")


def recognise(seen: Look) -> bool:
    """Tell whether rows have scores as MLflow names them, or assessments with a source."""
    return any(name.endswith(SCORE) and VERSION in name for name in seen.keys) or bool(_assessments(mapping(seen.first)))


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read scores: an item is a row or trace; a worker is a metric, or the source of an assessment."""
    rows = Rows({"item": wanted.item_column or "row", "worker": "metric", "label": "score"})
    for number, (_, record) in enumerate(records(seen)):
        name = wanted.item_column or next((key for key in IDS if record.get(key) is not None), None)
        item = record.get(name) if name else mapping(record.get("info")).get("trace_id", str(number))
        for key, value in record.items():
            if key.endswith(SCORE) and VERSION in key:
                rows.add(item, key.split(VERSION)[0], {"score": [] if value is None else [value]})
        for given in _assessments(record):
            rows.columns |= {"worker": "assessment source", "label": "*"}
            source = mapping(given.get("source"))
            worker = source.get("source_id") or source.get("sourceId") or source.get("source_type")
            feedback = given.get("feedback", given.get("expectation"))
            value = mapping(feedback).get("value", given.get("value"))
            question = str(given.get("assessment_name", given.get("name")))
            rows.add(item, worker, {question: as_list(value)}, time=as_name(given.get("create_time")))
        rows.columns["item"] = name or rows.columns["item"]
    return rows


def _assessments(record: dict[str, Any]) -> list[dict[str, Any]]:
    found = record.get("assessments", mapping(record.get("info")).get("assessments"))
    return [one for one in objects(parsed(found)) if isinstance(one.get("source"), dict)]
