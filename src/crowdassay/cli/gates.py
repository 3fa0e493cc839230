"""`--fail-if`: conditions on a result under which a run ends with exit code 1, for pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.judges.gate import SIGNS, Condition, parse_condition

FIGURES = {
    "estimated_error": "expected share of wrong labels",
    "error_rate": "share of wrong labels against --truth",
    "settled": "share of items that are settled",
    "unsettled": "number of items that are not",
    "tied": "number of ties",
    "flagged": "number of workers that need attention",
    "removed": "number of workers to remove",
    "labels_per_item": "mean number of labels",
    "not_converged": "1 if the fit did not converge",
}


def read_gates(texts: Sequence[str], *, truth: bool) -> list[Condition]:
    """Return the conditions that were given, or say what is wrong with one."""
    gates = []
    for text in texts:
        try:
            gate = parse_condition(text)
        except ParameterError:
            gate = None
        if gate is None or gate.name not in FIGURES:
            names = ", ".join(FIGURES)
            raise ParameterError(f"--fail-if takes a condition such as 'estimated_error > 5%', not '{text}'; figures: {names}.")
        if gate.name == "error_rate" and not truth:
            raise ParameterError("--fail-if error_rate needs --truth to compare with; estimated_error does not.")
        gates.append(gate)
    return gates


def figures(summary: dict[str, Any]) -> dict[str, float | None]:
    """Return what conditions may ask about, from a summary."""
    error = summary["estimated_error"]
    actions = [row["action"] for row in summary["flagged_workers"]]
    return {
        "estimated_error": None if error is None else error["rate"],
        "error_rate": summary.get("error_rate"),
        "settled": summary["n_settled"] / summary["n_items"],
        "unsettled": summary["n_items"] - summary["n_settled"],
        "tied": summary["n_tied"],
        "flagged": len(actions),
        "removed": actions.count("remove"),
        "labels_per_item": summary["n_labels"] / summary["n_items"],
        "not_converged": float(not summary["converged"]),
    }


def failures(gates: Sequence[Condition], summary: dict[str, Any]) -> list[str]:
    """Return a sentence for every condition that holds, or cannot be told, and so fails the run."""
    known, words = figures(summary), []
    for gate in gates:
        value = known[gate.name]
        if value is None:
            words.append(f"{gate.name} is unknown, so that '{gate.text}' cannot be told.")
        elif SIGNS[gate.sign](value, gate.limit):
            words.append(f"{gate.name} is {value:.4g}, and the run fails if {gate.text}.")
    return words
