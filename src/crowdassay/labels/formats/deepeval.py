"""DeepEval: test runs, evaluation results and the cache, as JSON."""

from __future__ import annotations

from typing import Any

from crowdassay.labels.formats.parse import as_list, as_name, objects, parsed
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

CASES = ("testCases", "test_cases", "test_results", "testResults", "conversationalTestCases")
METRICS = ("metricsData", "metrics_data", "metricsMetadata", "cached_metrics_data")
WITHIN = ("testRunData", "test_run_data")  # the run itself, in the file of the latest run
CACHED = ("test_cases_lookup_map", "testCasesLookupMap")
INNER = ("metric_data", "metric_metadata")


def recognise(probe: Probe) -> bool:
    """Tell whether test cases hold metrics."""
    return any(_first(case, METRICS) is not None for case in _cases(probe.first)[:1])


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the verdicts: an item is a test case, a worker is a metric with the model that evaluates it."""
    rows = Annotations({"item": "test case", "worker": "metric", "label": "*"})
    for record in probe.records():
        cases = _cases(record)
        for case, name in zip(cases, _names(cases), strict=True):
            item = case.get(wanted.item_column) if wanted.item_column else name
            rows.add_text(item, _first(case, ("actualOutput", "actual_output", "input")))
            for given in objects(_first(case, METRICS)):
                metric = mapping(_first(given, INNER)) or given
                if metric.get("error") or metric.get("skipped"):
                    rows.drop("error" if metric.get("error") else "skipped")
                    continue
                model = _first(metric, ("evaluationModel", "evaluation_model"))
                worker = str(_first(metric, ("name", "metric")))
                passed = metric.get("success")
                verdict = [] if passed is None else ["pass" if passed else "fail"]
                rows.add(item, f"{worker} ({model})" if model else worker, {"success": verdict, "score": _score(metric)})
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
    if _first(record, METRICS) is not None:
        return [record]
    if (within := _first(record, WITHIN)) is not None:
        return _cases(within)
    cached = mapping(_first(record, CACHED))
    cases = [{**mapping(parsed(key)), **mapping(case)} for key, case in cached.items()]
    return cases + [case for name in CASES for case in objects(record.get(name))]


def _names(cases: list[dict[str, Any]]) -> list[str]:
    """Name test cases by name, with their place where names repeat, as pytest's parameters make them."""
    named = [as_name(case.get("name")) for case in cases]
    places = [case.get("order", number) for number, case in enumerate(cases)]
    if None not in named and len(set(named)) == len(named):
        return [str(name) for name in named]
    return [f"{name or 'test case'} {place}" for name, place in zip(named, places, strict=True)]


def _score(metric: dict[str, Any]) -> list[Any]:
    return as_list(metric.get("score"))


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)
