"""The summary of a fit, the same wherever the labels are: what ``summary.json`` holds."""

from __future__ import annotations

from typing import Any

from crowdassay.findings.money import Money
from crowdassay.labels.record import LIKELIEST
from crowdassay.labels.values import counted
from crowdassay.planning.stop import NEXT_ANSWERS
from crowdassay.results.report.overview import next_steps
from crowdassay.results.result import Result
from crowdassay.version import VERSION


def summarise(result: Result, method: str, *, ordered: bool = False, money: Money | None = None) -> dict[str, Any]:
    """Return what ``summary.json`` holds.

    Parameters
    ----------
    result : Result
    method : str
        The name by which the method was asked for.
    ordered : bool
        Whether the method takes the classes for a scale.
    money : Money, optional
        What labels and an expert cost; without, no prices are known.
    """
    facts, insight, totals = result.place.facts, result.insight, result.insight.totals
    error, then = insight.error, insight.error_after()
    summary: dict[str, Any] = {
        "version": VERSION,
        "method": method,
        "engine": result.place.engine_name,
        "parameters": result.parameters,
        "decide": result.decide,
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
        "settled_from": result.settled,
        "estimated_error": None if error is None else {"rate": error.error, "low": error.low, "high": error.high},
        "error_after_answers": None if then is None else {"answers": NEXT_ANSWERS, "low": then.low, "high": then.high},
        "why_no_estimated_error": insight.why_no_error or None,
        "n_likely_right": insight.likely_right,
        "bands": [band.as_dict() for band in insight.bands],
        "mean_probability": totals.probability / totals.items,
        "import_report": facts.report.as_dict(),
        "flagged_workers": flagged_workers(result),
        "next_steps": next_steps(insight, money),
        "cost": (money or result.money()).as_dict(),
        "notes": list(dict.fromkeys([*insight.notes, *result.notes])),
    }
    if result.selection is not None:
        summary["selection"] = result.selection
    if not result.converged:
        summary["notes"].append(
            f"Not converged after {counted(result.n_iter, 'iteration')}: the result is usable but not final; raise --max-iter."
        )
    if result.place.truth_counts is not None:
        summary |= insight.against.score.measures(facts, ordered=ordered or result.decide != LIKELIEST)
        summary["truth_items_without_labels"] = result.place.truth_counts["unknown_items"]
    return summary


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
            "reasons": [reason.words for reason in insight.reasons[i]] or [insight.evidence[i]],
        }
        for i in insight.attention
    ]
