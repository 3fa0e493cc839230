"""Inspect: evaluation logs, as JSON or as .eval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from crowdassay.io.formats.record import Rows, mapping
from crowdassay.io.look import Look, records
from crowdassay.read_options import ReadOptions

SAMPLES, HEADER = "samples", "header.json"


def recognise(seen: Look) -> bool:
    """Tell whether a log has an evaluation with samples, or an archive the parts of one."""
    if seen.kind == "zip":
        return HEADER in seen.names and any(PurePosixPath(name).parts[0] == SAMPLES for name in seen.names)
    return seen.has("eval", "samples") and "task" in mapping(mapping(seen.first).get("eval"))


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read the scores: an item is a sample, a worker is a scorer."""
    rows = Rows({"item": "sample id", "worker": "scorer", "label": "*"})
    model, samples = "", []
    if seen.kind == "zip":
        inside = [name for name in seen.names if PurePosixPath(name).parts[0] == SAMPLES]
        for _, record in records(replace(seen, names=[HEADER])):
            model = str(mapping(record.get("eval")).get("model", ""))
        samples = [record for _, record in records(replace(seen, names=inside))]
    else:
        for _, record in records(seen):
            model = str(mapping(record.get("eval")).get("model", ""))
            samples += [sample for sample in record.get("samples") or [] if isinstance(sample, dict)]
    repeated = any(sample.get("epoch") not in {None, "1", 1} for sample in samples)
    for sample in samples:
        item = str(sample.get("id"))
        if not seen.alone and model:
            item = f"{model} / {item}"
        if repeated:
            item += f" / epoch {sample.get('epoch')}"
        scores = mapping(sample.get("scores"))
        if not scores:
            rows.drop("error" if sample.get("error") is not None else "no score")
        for scorer, score in scores.items():
            rows.add(item, scorer, _answers(mapping(score).get("value") if isinstance(score, dict) else score))
        rows.add_text(item, sample.get("input"))
    return rows


def _answers(value: Any) -> dict[str, list[Any]]:
    if isinstance(value, dict):
        return {str(name): [part] for name, part in value.items() if not isinstance(part, dict | list)}
    return {"value": [] if value is None else value if isinstance(value, list) else [value]}
