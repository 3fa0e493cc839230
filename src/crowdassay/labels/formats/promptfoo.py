"""promptfoo: the results as JSON (``promptfoo eval -o results.json``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crowdassay.labels.formats.parse import as_name, objects, verdict
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

BROKE_DOWN = "2"  # the reason for failing that is none: the provider, or the evaluation, broke down


def recognise(probe: Probe) -> bool:
    """Return whether results hold a list of graded outputs."""
    return any("success" in one and ("gradingResult" in one or "prompt" in one) for one in _results(probe.first)[:1])


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read verdicts: an item is one output, a worker is an assertion that graded it; without assertions, the provider."""
    rows = Annotations({"item": "provider, prompt and test", "worker": "assertion", "label": "pass"})
    for record in probe.records():
        tests: dict[str | None, int] = {}
        for result in _results(record):
            variables = as_name(result.get("vars"))
            number = result.get("testIdx", tests.setdefault(variables, len(tests)))
            provider = _provider(result.get("provider"))
            parts = list(_parts(mapping(result.get("gradingResult"))))
            broken = result.get("error") and not result.get("response")
            if as_name(result.get("failureReason")) == BROKE_DOWN or (broken and not parts):
                rows.drop("error")
                continue
            if not parts:
                rows.columns |= {"item": "test", "worker": "provider"}
                rows.add(f"test {number}", provider, {"pass": verdict(result.get("success"))})
                continue
            item = f"{provider} / prompt {result.get('promptIdx', 0)} / test {number}"
            rows.add_text(item, mapping(result.get("response")).get("output"))
            names: dict[str, int] = {}
            for part in parts:
                name = _assertion(mapping(part.get("assertion")))
                names[name] = names.get(name, 0) + 1
                worker = name if names[name] == 1 else f"{name} ({names[name]})"
                if mapping(part.get("metadata")).get("graderError"):
                    rows.drop("error")  # the judge failed, not the output
                else:
                    rows.add(item, worker, {"pass": verdict(part.get("pass"))})
    return rows


def _results(record: Any) -> list[dict[str, Any]]:
    """Return the results: ``results.results`` since version 2, ``results`` before."""
    outer = mapping(record).get("results")
    return objects(mapping(outer).get("results")) if isinstance(outer, dict) else objects(outer)


def _parts(grading: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what each assertion found; a set of assertions holds parts of its own."""
    for part in objects(grading.get("componentResults")):
        inner = list(_parts(part))
        yield from inner or [part]


def _provider(provider: Any) -> str:
    return str(provider.get("label") or provider.get("id")) if isinstance(provider, dict) else str(provider)


def _assertion(assertion: dict[str, Any]) -> str:
    """Name a judge by its metric, else by its kind and the model that grades."""
    if assertion.get("metric"):
        return str(assertion["metric"])
    kind, model = str(assertion.get("type") or "assertion"), assertion.get("provider")
    return f"{kind} ({_provider(model)})" if model else kind
