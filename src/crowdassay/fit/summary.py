"""The summary of a fit, the same wherever the labels are: what ``summary.json`` holds."""

from __future__ import annotations

from typing import Any

from crowdassay.fit.result import Result
from crowdassay.version import VERSION


def summarise(result: Result, method: str, *, ordered: bool = False) -> dict[str, Any]:
    """Return what ``summary.json`` holds.

    Parameters
    ----------
    result : Result
    method : str
        The name by which the method was asked for.
    ordered : bool
        Whether the method takes the classes for a scale.
    """
    facts, totals = result.holder.facts, result.insight.totals
    summary: dict[str, Any] = {
        "version": VERSION,
        "method": method,
        "engine": result.holder.place,
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
        "mean_probability": totals.probability / totals.items,
        "import_report": facts.report.as_dict(),
        "notes": [*result.insight.notes, *result.notes],
    }
    if result.selection is not None:
        summary["selection"] = result.selection
    if not result.converged:
        summary["notes"].append(
            f"Not converged after {result.n_iter} iterations: the result is usable but not final; raise --max-iter."
        )
    if facts.truth is not None:
        summary |= result.insight.against.score.measures(facts, ordered=ordered)
        summary["truth_items_without_labels"] = facts.truth["unknown_items"]
    return summary
