"""OpenAI evals: the JSONL log of a run."""

from __future__ import annotations

from typing import Any

from crowdassay.io.formats.record import Rows, mapping
from crowdassay.io.look import Look, records
from crowdassay.read_options import ReadOptions

KINDS = frozenset({"match", "metrics", "cond_logp", "pick_option", "includes"})
FIELDS = ("correct", "choice", "score", "accuracy", "picked_matches")


def recognise(seen: Look) -> bool:
    """Tell whether a log begins with the run's specification, or holds its events."""
    first = mapping(seen.first)
    return "eval_name" in mapping(first.get("spec")) or seen.has("run_id", "event_id", "sample_id", "type", "data")


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read the verdicts: an item is a sample, a worker is the model that was evaluated."""
    rows = Rows({"item": "sample_id", "worker": "completion_fns", "label": "*"})
    model: Any = None
    for _, record in records(seen):
        spec = mapping(record.get("spec"))
        if spec:
            fns = spec.get("completion_fns") or [spec.get("model")]
            model = fns[0] if isinstance(fns, list) and fns else fns
            continue
        if record.get("type") not in KINDS:
            continue  # what was sampled, and the final report
        data = mapping(record.get("data"))
        answers = {name: [data[name]] for name in FIELDS if name in data and not isinstance(data[name], dict | list)}
        rows.add(record.get("sample_id"), model or record.get("run_id"), answers, time=record.get("created_at"))
    return rows
