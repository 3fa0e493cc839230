"""lm-evaluation-harness: logged samples, a JSONL file for each task and model."""

from __future__ import annotations

import re
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.record import Rows, as_name
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import number_of
from crowdassay.read_options import ReadOptions

OWN = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
                 "prompt_hash", "target_hash"})  # fmt: skip
NAME = re.compile(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d\-.:]+)?$")


def recognise(probe: Probe) -> bool:
    """Tell whether records are documents with a model's responses."""
    return probe.has("doc_id", "doc", "filtered_resps")


def read(probe: Probe, wanted: ReadOptions) -> Rows:
    """Read the metrics: an item is a document of a task, a worker is the model, after which the folder is named."""
    stem = probe.path.name.removesuffix(".gz").rsplit(".", 1)[0]
    named = NAME.fullmatch(stem)
    task, model = (named[1] if named else stem), stem if wanted.worker_from_filename else probe.path.absolute().parent.name
    rows = Rows({"item": "task and doc_id", "worker": "folder", "label": "*"})
    samples = list(probe.records())
    filters = {as_name(record.get("filter")) for record in samples}
    for record in samples:
        worker = f"{model} ({record.get('filter')})" if len(filters) > 1 else model
        answers: dict[str, list[Any]] = {}
        for name in record.get("metrics") or [key for key in record if key not in OWN]:
            value = record.get(name)
            if (value is not None and number_of(str(value)) is not None) or isinstance(value, bool):
                answers[str(name)] = [value]
        rows.add(f"{task} / {as_name(record.get('doc_id'))}", worker, answers)
    if not any(judgement.answers for judgement in rows.judgements):
        raise DataError(f"{probe.shown} holds no metric that is one number for each document.")
    rows.note("The worker is the model, which only the folder's name tells; --worker-from-filename takes the file's.")
    return rows
