"""Kili: assets with the labels of every author, as JSON."""

from __future__ import annotations

from typing import Any

from crowdassay.labels.formats.parse import objects, parsed
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

# Labels that are nobody's judgement, and why they are left out.
NOT_ANNOTATIONS = {"AUTOSAVE": "drafts", "REVIEW": "reviews"}
MODEL_LABELS = frozenset({"PREDICTION", "INFERENCE"})


def recognise(probe: Probe) -> bool:
    """Return whether a record is an asset whose labels have a response in JSON."""
    return any("jsonResponse" in label for label in _labels(mapping(probe.first)))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the categories of every job; a label that its author replaced is left out."""
    field = wanted.item_column or "id"
    rows = Annotations({"item": field, "worker": "labels.author", "label": "*"})
    for asset in probe.records():
        rows.add_text(asset.get(field), asset.get("content"))
        for label in _labels(asset):
            kind, answers = label.get("labelType"), _answers(mapping(parsed(label.get("jsonResponse"))))
            if kind in NOT_ANNOTATIONS:
                rows.drop(NOT_ANNOTATIONS[kind])
            elif kind in MODEL_LABELS:
                rows.add_prediction(asset.get(field), label.get("modelName"), answers)
            elif label.get("isLatestLabelForUser") is False:
                rows.drop("replaced by a later label")
            else:
                author = mapping(label.get("author"))
                times = {"time": label.get("createdAt"), "duration": label.get("secondsToLabel")}
                rows.add(asset.get(field), author.get("email") or author.get("id"), answers, **times)
    return rows


def _labels(asset: dict[str, Any]) -> list[dict[str, Any]]:
    return objects(asset.get("labels")) or objects([asset.get("latestLabel")])


def _answers(response: dict[str, Any]) -> dict[str, list[Any]]:
    return {
        job: [choice.get("name") for choice in objects(mapping(content).get("categories"))]
        for job, content in response.items()
        if "categories" in mapping(content)
    }
