"""OpenAI evals: the JSONL log of a run."""

from __future__ import annotations

from typing import Any

from crowdassay.labels.formats.record import Rows, as_list, as_name, mapping
from crowdassay.labels.probe import Probe
from crowdassay.read_options import ReadOptions

SAMPLED, ERROR = "sampling", "error"
# Of a match the verdict; of metrics all of them, since graders are free to name theirs.
FIELDS = {"match": ("correct",), "pick_option": ("picked",), "metrics": None}


def recognise(probe: Probe) -> bool:
    """Tell whether a log begins with the run's specification, or holds its events."""
    first = mapping(probe.first)
    return "eval_name" in mapping(first.get("spec")) or probe.has("run_id", "event_id", "sample_id", "type", "data")


def read(probe: Probe, wanted: ReadOptions) -> Rows:
    """Read the verdicts: an item is a sample, a worker is the model that was evaluated."""
    rows = Rows({"item": "sample_id", "worker": "completion_fns", "label": "*"})
    model: Any = None
    asked, judged, failed = set(), set(), set()
    for record in probe.records():
        spec = mapping(record.get("spec"))
        if spec:
            model = _models(spec)
            continue
        kind, item = record.get("type"), as_name(record.get("sample_id"))
        if kind == SAMPLED:
            asked.add(item)
        elif kind == ERROR:
            failed.add(item)
        if kind not in FIELDS:
            continue  # what was sampled, and the final report
        data, fields = mapping(record.get("data")), FIELDS[str(kind)]
        answers = {name: as_list(value) for name, value in data.items() if _told(value) and (fields is None or name in fields)}
        judged.add(item)
        rows.add(item, model or record.get("run_id"), answers, time=record.get("created_at"))
    rows.drop("error", len(failed - judged))
    rows.drop("no verdict", len(asked - judged - failed))
    return rows


def _models(spec: dict[str, Any]) -> Any:
    """Name the model; several are one chain, in which the last may be the grader."""
    names = as_list(spec.get("completion_fns")) or as_list(spec.get("model_name") or spec.get("model"))
    return " + ".join(str(as_name(name)) for name in names) or None


def _told(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)
