"""promptfoo: the results as JSON (``promptfoo eval -o results.json``)."""

from __future__ import annotations

from typing import Any

from crowdassay.io.formats.record import Rows, as_name, mapping, objects
from crowdassay.io.look import Look, records
from crowdassay.read_options import ReadOptions

PASS, FAIL = "pass", "fail"


def recognise(seen: Look) -> bool:
    """Tell whether results hold a list of graded outputs."""
    return any("success" in one and ("gradingResult" in one or "prompt" in one) for one in _results(seen.first)[:1])


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read verdicts: an item is one output, a worker is an assertion that graded it; without assertions, the provider."""
    rows = Rows({"item": "provider, prompt and test", "worker": "assertion", "label": "pass"})
    for _, record in records(seen):
        found = _results(record)
        tests: dict[str | None, int] = {}
        for result in found:
            variables = as_name(result.get("vars"))
            number = result.get("testIdx", tests.setdefault(variables, len(tests)))
            provider = _provider(result.get("provider"))
            parts = [one for one in objects(mapping(result.get("gradingResult")).get("componentResults")) if "pass" in one]
            if result.get("error") and not parts and not result.get("response"):
                rows.drop("error")
                continue
            answers = {"pass": [PASS if result.get("success") else FAIL]}
            if not parts:
                rows.columns |= {"item": "test", "worker": "provider"}
                rows.add(f"test {number}", provider, answers)
                continue
            item = f"{provider} / prompt {result.get('promptIdx', 0)} / test {number}"
            rows.add_text(item, mapping(result.get("response")).get("output"))
            names: dict[str, int] = {}
            for part in parts:
                name = _assertion(mapping(part.get("assertion")))
                names[name] = names.get(name, 0) + 1
                worker = name if names[name] == 1 else f"{name} ({names[name]})"
                rows.add(item, worker, {"pass": [PASS if part["pass"] else FAIL]})
    return rows


def _results(record: Any) -> list[dict[str, Any]]:
    outer = mapping(record).get("results")
    return objects(mapping(outer).get("results")) if isinstance(outer, dict) else objects(outer)


def _provider(provider: Any) -> str:
    return str(provider.get("label") or provider.get("id")) if isinstance(provider, dict) else str(provider)


def _assertion(assertion: dict[str, Any]) -> str:
    """Name a judge by its metric, else by its kind and the model that grades."""
    if assertion.get("metric"):
        return str(assertion["metric"])
    kind, model = str(assertion.get("type") or "assertion"), assertion.get("provider")
    return f"{kind} ({_provider(model)})" if model else kind
