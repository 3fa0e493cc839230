"""The summary of a fit, the same wherever the labels are: what ``summary.json`` holds."""

from __future__ import annotations

from typing import Any

from crowdassay.arrays import FloatArray
from crowdassay.findings.money import count_money
from crowdassay.results.result import Result
from crowdassay.version import VERSION


def summarise(result: Result, method: str, *, ordered: bool = False, cost: float | FloatArray | None = None) -> dict[str, Any]:
    """Return what ``summary.json`` holds.

    Parameters
    ----------
    result : Result
    method : str
        The name by which the method was asked for.
    ordered : bool
        Whether the method takes the classes for a scale.
    cost : float or ndarray of shape (n_workers,), optional
        The price of a label, or what each worker has been paid.
    """
    facts, totals = result.place.facts, result.insight.totals
    summary: dict[str, Any] = {
        "version": VERSION,
        "method": method,
        "engine": result.place.engine_name,
        "parameters": result.parameters,
        "classes": list(facts.class_names),
        "objective": result.objective,
        "converged": result.converged,
        "n_iter": result.n_iter,
        "seconds": round(result.seconds, 3),
        "n_items": totals.items,
        "n_workers": facts.n_workers,
        "n_labels": totals.labels,
        "n_tied": totals.tied,
        "n_gold": totals.known,
        "n_settled": totals.settled,
        "estimated_error": estimated_error(result),
        "mean_probability": totals.probability / totals.items,
        "import_report": facts.report.as_dict(),
        "flagged_workers": flagged_workers(result),
        "notes": list(dict.fromkeys([*result.insight.notes, *result.notes])),
    }
    if cost is not None:
        summary["cost"] = count_money(result.insight, cost).as_dict()
    if result.selection is not None:
        summary["selection"] = result.selection
    if not result.converged:
        summary["notes"].append(
            f"Not converged after {result.n_iter} iterations: the result is usable but not final; raise --max-iter."
        )
    if result.place.truth_counts is not None:
        summary |= result.insight.against.score.measures(facts, ordered=ordered)
        summary["truth_items_without_labels"] = result.place.truth_counts["unknown_items"]
    return summary


def estimated_error(result: Result) -> dict[str, float] | None:
    """Return the expected share of wrong labels with its 90 % limits; None where nothing shows who is right."""
    insight, totals = result.insight, result.insight.totals
    if not insight.connection.identified.any() or insight.chance:
        return None
    low, high = totals.error_interval(result.spread)
    return {"rate": totals.wrong / totals.items, "low": low / totals.items, "high": high / totals.items}


def flagged_workers(result: Result) -> list[dict[str, Any]]:
    """Return the workers that need attention, the most urgent first: what to do about each, and why."""
    insight, workers = result.insight, result.place.facts.workers
    return [
        {
            "worker": workers[i].as_py(),
            "action": insight.actions[i],
            "verdict": insight.verdicts[i],
            "n_labels": int(insight.n_labels[i]),
            "accuracy": float(insight.accuracy[i]) if insight.estimable[i] else None,
            "accuracy_low": float(insight.low[i]) if insight.estimable[i] else None,
            "accuracy_high": float(insight.high[i]) if insight.estimable[i] else None,
            "reasons": [reason.words for reason in insight.advice.reasons[i]] or [insight.evidence[i]],
        }
        for i in insight.attention
    ]
