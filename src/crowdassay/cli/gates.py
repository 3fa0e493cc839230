"""`--fail-if`: conditions on a result under which a run ends with exit code 1, for pipelines."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crowdassay.errors import ParameterError

SIGNS = {">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt}
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
PATTERN = re.compile(r"\s*([a-z_]+)\s*(>=|<=|==|!=|>|<)\s*([0-9.eE+-]+)\s*(%?)\s*")


@dataclass(frozen=True)
class Gate:
    """A condition: the figure, the sign and the limit, and how it was written."""

    figure: str
    sign: str
    limit: float
    text: str

    def failure(self, figures: dict[str, float | None]) -> str | None:
        """Return a sentence if the condition holds, or cannot be told; None if the run passes."""
        value = figures[self.figure]
        if value is None:
            return f"{self.figure} is unknown, so that '{self.text}' cannot be told."
        if not SIGNS[self.sign](value, self.limit):
            return None
        return f"{self.figure} is {value:.4g}, and the run fails if {self.text}."


def read_gates(texts: Sequence[str], *, truth: bool) -> list[Gate]:
    """Return the conditions that were given, or say what is wrong with one."""
    gates = []
    for text in texts:
        found = PATTERN.fullmatch(text)
        try:
            limit = float(found[3]) / (100 if found[4] else 1) if found else None
        except ValueError:
            limit = None
        if found is None or limit is None or found[1] not in FIGURES:
            names = ", ".join(FIGURES)
            raise ParameterError(f"--fail-if takes a condition such as 'estimated_error > 5%', not '{text}'; figures: {names}.")
        if found[1] == "error_rate" and not truth:
            raise ParameterError("--fail-if error_rate needs --truth to compare with; estimated_error does not.")
        gates.append(Gate(found[1], found[2], limit, text.strip()))
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


def failures(gates: Sequence[Gate], summary: dict[str, Any]) -> list[str]:
    """Return a sentence for every condition that fails the run."""
    known = figures(summary)
    return [words for words in (gate.failure(known) for gate in gates) if words is not None]
