"""Inspect: evaluation logs, as JSON or as .eval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from crowdassay.labels.formats.parse import as_list, as_name, objects
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

SAMPLES_FOLDER = "samples"
LOG_HEADERS = ("header.json", "_journal/start.json", "start.json")  # complete, broken off, and of the first versions


def recognise(probe: Probe) -> bool:
    """Return whether a log has an evaluation with samples, or an archive the parts of one."""
    if probe.kind == "zip":
        return any(name in probe.names for name in LOG_HEADERS) and bool(_sample_files(probe))
    return probe.has("eval", "samples") and "task" in mapping(mapping(probe.first).get("eval"))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the scores: an item is a sample, a worker is a scorer."""
    rows = Annotations({"item": "sample id", "worker": "scorer", "label": "*"})
    model, status, samples = "", "success", []
    if probe.kind == "zip":
        header = next(name for name in LOG_HEADERS if name in probe.names)
        for record in replace(probe, names=[header]).records():
            model = str(mapping(record.get("eval")).get("model", ""))
            status = str(record.get("status", "success" if header == "start.json" else "started"))
        samples = list(replace(probe, names=_sample_files(probe)).records())
    else:
        for record in probe.records():
            model = str(mapping(record.get("eval")).get("model", ""))
            status = str(record.get("status", status))
            samples += objects(record.get("samples"))
    if status != "success":
        rows.note(f"The evaluation did not end well (its status is {status}): some of its samples may be missing.")
    repeated = any(as_name(sample.get("epoch")) not in {None, "1"} for sample in samples)
    for sample in samples:
        item = str(sample.get("id"))
        if not probe.alone and model:
            item = f"{model} / {item}"
        if repeated:
            item += f" / epoch {sample.get('epoch')}"
        scores = mapping(sample.get("scores"))
        if not scores and sample.get("score") is not None:
            scores = {"score": sample["score"]}  # as the first versions have it
        if sample.get("invalidation") is not None:
            rows.drop("invalidated", max(len(scores), 1))
            continue
        if not scores:
            rows.drop("error" if sample.get("error") is not None else "no score")
        for scorer, score in scores.items():
            rows.add(item, scorer, _answers(mapping(score).get("value") if isinstance(score, dict) else score))
        rows.add_text(item, sample.get("input"))
    return rows


def _sample_files(probe: Probe) -> list[str]:
    return [name for name in probe.names if PurePosixPath(name).parts[0] == SAMPLES_FOLDER]


def _answers(value: Any) -> dict[str, list[Any]]:
    if isinstance(value, dict):
        return {str(name): as_list(part) for name, part in value.items() if not isinstance(part, dict)}
    return {"value": as_list(value)}
