"""DeepEval: test runs and evaluation results as JSON."""

from __future__ import annotations

from typing import Any

from crowdassay.io.formats.record import Rows, mapping, objects
from crowdassay.io.look import Look, records
from crowdassay.read_options import ReadOptions

CASES = ("testCases", "test_cases", "test_results", "testResults", "conversationalTestCases")
METRICS = ("metricsData", "metrics_data", "metricsMetadata")


def recognise(seen: Look) -> bool:
    """Tell whether test cases hold metrics."""
    return any(_first(case, METRICS) is not None for case in _cases(seen.first)[:1])


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read the verdicts: an item is a test case, a worker is a metric with the model that evaluates it."""
    rows = Rows({"item": "test case", "worker": "metric", "label": "*"})
    for _, record in records(seen):
        for number, case in enumerate(_cases(record)):
            item = case.get(wanted.item_column) if wanted.item_column else case.get("name") or f"test case {number}"
            rows.add_text(item, _first(case, ("actualOutput", "actual_output", "input")))
            for metric in objects(_first(case, METRICS)):
                if metric.get("error") or metric.get("skipped"):
                    rows.drop("error" if metric.get("error") else "skipped")
                    continue
                model = _first(metric, ("evaluationModel", "evaluation_model"))
                name = str(_first(metric, ("name", "metric")))
                answers = {"success": ["pass" if metric.get("success") else "fail"], "score": _score(metric.get("score"))}
                rows.add(item, f"{name} ({model})" if model else name, answers)
    if wanted.question is None:
        for judgement in rows.judgements:
            judgement.answers.pop("score", None)  # type: ignore[attr-defined]  # the verdict, unless the score is asked for
        rows.note("The verdicts, pass and fail, were taken; --question score takes the scores.")
    if wanted.item_column:
        rows.columns["item"] = wanted.item_column
    return rows


def _cases(record: Any) -> list[dict[str, Any]]:
    if isinstance(record, dict) and _first(record, METRICS) is not None:
        return [record]
    return [case for name in CASES for case in objects(mapping(record).get(name))]


def _score(value: Any) -> list[Any]:
    return [] if value is None else [value]


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
