"""DeepEval: test runs, evaluation results and the cache, as JSON."""

from __future__ import annotations

from typing import Any

from crowdassay.labels.formats.parse import as_list, as_name, first_of, objects, parsed, verdict
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

CASE_KEYS = ("testCases", "test_cases", "test_results", "testResults", "conversationalTestCases")
METRIC_KEYS = ("metricsData", "metrics_data", "metricsMetadata", "cached_metrics_data")
RUN_KEYS = ("testRunData", "test_run_data")  # the run itself, in the file of the latest run
CACHE_KEYS = ("test_cases_lookup_map", "testCasesLookupMap")
INNER_KEYS = ("metric_data", "metric_metadata")


def recognise(probe: Probe) -> bool:
    """Return whether test cases hold metrics."""
    return any(first_of(case, METRIC_KEYS) is not None for case in _cases(probe.first)[:1])


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the verdicts: an item is a test case, a worker is a metric with the model that evaluates it."""
    rows = Annotations({"item": "test case", "worker": "metric", "label": "*"})
    for record in probe.records():
        cases = _cases(record)
        for case, name in zip(cases, _names(cases), strict=True):
            item = case.get(wanted.item_column) if wanted.item_column else name
            rows.add_text(item, first_of(case, ("actualOutput", "actual_output", "input")))
            for given in objects(first_of(case, METRIC_KEYS)):
                metric = mapping(first_of(given, INNER_KEYS)) or given
                if metric.get("error") or metric.get("skipped"):
                    rows.drop("error" if metric.get("error") else "skipped")
                    continue
                model = first_of(metric, ("evaluationModel", "evaluation_model"))
                worker = str(first_of(metric, ("name", "metric")))
                answers = {"success": verdict(metric.get("success")), "score": as_list(metric.get("score"))}
                rows.add(item, f"{worker} ({model})" if model else worker, answers)
    if wanted.question is None:
        for judgement in rows.annotations:
            judgement.answers.pop("score", None)  # type: ignore[attr-defined]  # the verdict, unless the score is asked for
        rows.note("The verdicts, pass and fail, were taken; --question score takes the scores.")
    if wanted.item_column:
        rows.columns["item"] = wanted.item_column
    return rows


def _cases(record: Any) -> list[dict[str, Any]]:
    """Return the test cases: of a run, of the latest run, or of the cache, where the case itself is the key."""
    if not isinstance(record, dict):
        return []
    if first_of(record, METRIC_KEYS) is not None:
        return [record]
    if (within := first_of(record, RUN_KEYS)) is not None:
        return _cases(within)
    cached = mapping(first_of(record, CACHE_KEYS))
    cases = [{**mapping(parsed(key)), **mapping(case)} for key, case in cached.items()]
    return cases + [case for name in CASE_KEYS for case in objects(record.get(name))]


def _names(cases: list[dict[str, Any]]) -> list[str]:
    """Name test cases by name, with their place where names repeat, as pytest's parameters make them."""
    named = [as_name(case.get("name")) for case in cases]
    places = [case.get("order", number) for number, case in enumerate(cases)]
    if None not in named and len(set(named)) == len(named):
        return [str(name) for name in named]
    return [f"{name or 'test case'} {place}" for name, place in zip(named, places, strict=True)]
