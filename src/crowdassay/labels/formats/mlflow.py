"""MLflow: evaluation tables and traces with assessments, as JSON."""

from __future__ import annotations

import re
from typing import Any

from crowdassay.labels.formats.parse import as_list, as_name, objects, parsed
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

METRIC_VERSION = re.compile(r"/v\d+$")
SCORE_ENDINGS = {"/score": "/justification", "/value": "/rationale"}  # of MLflow 2 and 3, and the reason that goes with each
TRACE_IDS = ("request_id", "trace_id", "client_request_id", "id")


def recognise(probe: Probe) -> bool:
    """Return whether rows have scores as MLflow names them, or assessments with a source."""
    return any(_metric(name, probe.keys) for name in probe.keys) or bool(_assessments(mapping(probe.first)))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read scores: an item is a row or trace; a worker is a metric, or the source of an assessment."""
    rows = Annotations({"item": wanted.item_column or "row", "worker": "metric", "label": "score"})
    for number, record in enumerate(probe.records()):
        name = wanted.item_column or next((key for key in TRACE_IDS if record.get(key) is not None), None)
        item = record.get(name) if name else mapping(record.get("info")).get("trace_id", str(number))
        assessments = _assessments(record)
        for key, value in record.items():
            if not assessments and (metric := _metric(key, set(record))):
                rows.add(item, metric, {"score": as_list(value)})
        for given in assessments:
            rows.columns |= {"worker": "assessment source", "label": "*"}
            _add(rows, item, given)
        rows.columns["item"] = name or rows.columns["item"]
    return rows


def _metric(name: str, names: set[str]) -> str | None:
    """Return the metric whose score a column is: ``similarity/v1/score``, ``safety/value`` beside ``safety/rationale``."""
    for ending, reason in SCORE_ENDINGS.items():
        if name.endswith(ending):
            stem = name.removesuffix(ending)
            if METRIC_VERSION.search(stem) or stem + reason in names:
                return METRIC_VERSION.sub("", stem)
    return None


def _add(rows: Annotations, item: Any, given: dict[str, Any]) -> None:
    """Add what one assessment says; those that failed, or that another one has replaced, are counted."""
    source, feedback = mapping(given.get("source")), mapping(given.get("feedback", given.get("expectation")))
    if given.get("valid") is False:
        rows.drop("replaced by a later assessment")
        return
    if feedback.get("error") is not None or given.get("error") is not None:
        rows.drop("error")
        return
    worker = source.get("source_id") or source.get("sourceId") or source.get("source_type")
    question = str(given.get("assessment_name", given.get("name")))
    value = feedback.get("value", given.get("value"))
    rows.add(item, worker, {question: as_list(value)}, time=as_name(given.get("create_time")))


def _assessments(record: dict[str, Any]) -> list[dict[str, Any]]:
    assessments = record.get("assessments", mapping(record.get("info")).get("assessments"))
    return [one for one in objects(parsed(assessments)) if isinstance(one.get("source"), dict)]
