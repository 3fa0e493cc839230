"""Logs of evaluations of language models that take a page each: lm-evaluation-harness, OpenAI evals, RewardBench."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.parse import as_list, as_name, file_stem, first_of
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import counted, mapping, number_of
from crowdassay.read_options import ReadOptions

# lm-evaluation-harness: logged samples, a JSONL file for each task and model
SAMPLE_FIELDS = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
                           "prompt_hash", "target_hash"})  # fmt: skip
SAMPLES_FILE = re.compile(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d\-.:]+)?$")
# OpenAI evals: the events of a run. Of a match the verdict; of metrics all of them, since graders are free to name theirs.
SAMPLED_EVENT, ERROR_EVENT = "sampling", "error"
VERDICT_EVENTS = {"match": ("correct",), "pick_option": ("picked",), "metrics": None}
# RewardBench and alike: what one judge preferred, pair by pair
TIED_VERDICT = "0.5"
JUDGE_FIELDS = ("model", "judge", "model_name")


def read_lm_eval(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the metrics: an item is a document of a task, a worker is the model, after which the folder is named."""
    stem = file_stem(probe.path.name)
    named = SAMPLES_FILE.fullmatch(stem)
    task, model = (named[1] if named else stem), stem if wanted.worker_from_filename else probe.path.absolute().parent.name
    rows = Annotations({"item": "task and doc_id", "worker": "folder", "label": "*"})
    samples = list(probe.records())
    filters = {as_name(record.get("filter")) for record in samples}
    for record in samples:
        worker = f"{model} ({record.get('filter')})" if len(filters) > 1 else model
        answers: dict[str, list[Any]] = {}
        for name in record.get("metrics") or [key for key in record if key not in SAMPLE_FIELDS]:
            value = record.get(name)
            if (value is not None and number_of(str(value)) is not None) or isinstance(value, bool):
                answers[str(name)] = [value]
        rows.add(f"{task} / {as_name(record.get('doc_id'))}", worker, answers)
    if not any(judgement.answers for judgement in rows.annotations):
        raise DataError(f"{probe.shown} holds no metric that is one number for each document.")
    rows.note("The worker is the model, which only the folder's name tells; --worker-from-filename takes the file's.")
    return rows


def recognise_openai_evals(probe: Probe) -> bool:
    """Return whether a log begins with the run's specification, or holds its events."""
    first = mapping(probe.first)
    return "eval_name" in mapping(first.get("spec")) or probe.has("run_id", "event_id", "sample_id", "type", "data")


def read_openai_evals(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the verdicts: an item is a sample, a worker is the model that was evaluated."""
    rows = Annotations({"item": "sample_id", "worker": "completion_fns", "label": "*"})
    model: Any = None
    asked, judged, failed = set(), set(), set()
    for record in probe.records():
        spec = mapping(record.get("spec"))
        if spec:
            model = _evaluated(spec)
            continue
        kind, item = record.get("type"), as_name(record.get("sample_id"))
        if kind == SAMPLED_EVENT:
            asked.add(item)
        elif kind == ERROR_EVENT:
            failed.add(item)
        if kind not in VERDICT_EVENTS:
            continue  # what was sampled, and the final report
        data, fields = mapping(record.get("data")), VERDICT_EVENTS[str(kind)]
        answers = {
            name: as_list(value) for name, value in data.items() if _is_plain(value) and (fields is None or name in fields)
        }
        judged.add(item)
        rows.add(item, model or record.get("run_id"), answers, time=record.get("created_at"))
    rows.drop("error", len(failed - judged))
    rows.drop("no verdict", len(asked - judged - failed))
    return rows


def _evaluated(spec: dict[str, Any]) -> Any:
    """Name the model; several are one chain, in which the last may be the grader."""
    names = as_list(spec.get("completion_fns")) or as_list(spec.get("model_name") or spec.get("model"))
    return " + ".join(str(as_name(name)) for name in names) or None


def _is_plain(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def read_reward_bench(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read verdicts: an item is a pair, a worker is the judge, named in the file or else after it."""
    rows = Annotations({"item": "id", "worker": "model", "label": "results"})
    stem = file_stem(probe.path.name)
    halves = 0
    for record in probe.records():
        for number, pair in enumerate(_pairs(record)):
            item = pair.get("id")
            judge = first_of(pair, JUDGE_FIELDS)
            verdict = pair.get("results")
            halves += as_name(verdict) == TIED_VERDICT
            rows.add(
                f"pair {number}" if item is None else item, stem if judge is None else judge, {"results": as_list(verdict)}
            )
    if halves:
        rows.note(f"{counted(halves, 'verdict')} of {TIED_VERDICT}: a tie, or an answer of the judge that could not be read.")
    return rows


def _pairs(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield pairs; one object may hold all of them as lists of equal length."""
    if not isinstance(record.get("results"), list):
        yield record
        return
    count = len(record["results"])
    for number in range(count):
        yield {
            name: value[number] if isinstance(value, list) and len(value) == count else value for name, value in record.items()
        }
