"""`--fail-if`: conditions on figures, by name, under which a run ends with exit code 1. Every command uses this gate."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import click

from crowdassay.errors import ParameterError
from crowdassay.labels.values import listed, shown

SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|==|!=|<|>)\s*([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)\s*(%?)\s*")
FIGURES_NAMED = 12  # figures that an error message names
# What conditions may ask about, from the summary of an aggregation.
AGGREGATE_FIGURES: dict[str, Callable[[dict[str, Any]], float | None]] = {
    "estimated_error": lambda summary: None if summary["estimated_error"] is None else summary["estimated_error"]["rate"],
    "error_rate": lambda summary: summary.get("error_rate"),
    "settled": lambda summary: summary["n_settled"] / summary["n_items"],
    "unsettled": lambda summary: summary["n_items"] - summary["n_settled"],
    "tied": lambda summary: summary["n_tied"],
    "flagged": lambda summary: len(summary["flagged_workers"]),
    "removed": lambda summary: sum(row["action"] == "remove" for row in summary["flagged_workers"]),
    "labels_per_item": lambda summary: summary["n_labels"] / summary["n_items"],
    "not_converged": lambda summary: float(not summary["converged"]),
}


@dataclass(frozen=True)
class Condition:
    """A condition under which the run fails."""

    text: str  # as it was given
    name: str  # of the figure; dots lead into figures that are themselves tables of figures
    sign: str  # one of `SIGNS`
    limit: float
    value: float | None = None  # of the figure, once it was checked; None where it could not be told, which fails the run
    why: str = ""  # why it could not be told, where that is known

    @property
    def failed(self) -> bool:
        """Whether the run fails."""
        return self.value is None or bool(SIGNS[self.sign](self.value, self.limit))

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON and pages show."""
        return {"condition": self.text, "value": self.value, "failed": self.failed}

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name} is unknown, so that '{self.text}' cannot be told. {self.why}".rstrip()
        return f"{self.name} is {self.value:.4g}, and the run fails if {self.text}."


def read_conditions(texts: Iterable[str], example: str, known: Collection[str] = ()) -> list[Condition]:
    """Return the conditions that were given; one that cannot be read is refused before anything is computed.

    Parameters
    ----------
    texts : iterable of str
    example : str
        How a condition of this command may look.
    known : collection of str
        The figures' names, where they do not depend on the data.

    Examples
    --------
    >>> read_conditions(["pass_rate.low < 90%"], "pass_rate.low < 0.9")[0].limit
    0.9
    """
    conditions = []
    for text in texts:
        match = CONDITION.fullmatch(text)
        if not match:
            raise ParameterError(f"--fail-if {shown(text)} is no condition; write it like '{example}'.")
        name, sign, number, percent = match.groups()
        if known and name not in known:
            raise no_such_figure(name, known)
        conditions.append(Condition(text.strip(), name, sign, float(number) / (100 if percent else 1)))
    return conditions


def check_conditions(
    conditions: Iterable[Condition],
    figures: Mapping[str, Any],
    named: Iterable[str] | None = None,
    whys: Mapping[str, str | None] = MappingProxyType({}),
) -> list[Condition]:
    """Return each condition with the value of its figure.

    Parameters
    ----------
    conditions : iterable of Condition
    figures : mapping
        Numbers by name, mappings of more of them, or lists of records of judges; None for what could not be told.
    named : iterable of str, optional
        Figures that the message on an unknown one names; those of the first level by default.
    whys : mapping of str to str, optional
        Why a figure could not be told, by name.

    Examples
    --------
    >>> [gate] = check_conditions(read_conditions(["a.b > 5%"], "x > 1"), {"a": {"b": 0.1}})
    >>> gate.failed, str(gate)
    (True, 'a.b is 0.1, and the run fails if a.b > 5%.')
    """
    gates = []
    for one in conditions:
        found, value = _find(one.name, figures)
        if isinstance(value, bool) or not (found and isinstance(value, int | float | None)):
            raise no_such_figure(one.name, figures if named is None else named)
        gates.append(replace(one, value=value, why=whys.get(one.name) or ""))
    return gates


def tell_failures(failed: Iterable[object]) -> int:
    """Print why the run fails, a sentence for each gate or other reason; return the exit code."""
    reasons = list(failed)
    for reason in reasons:
        click.echo(f"Failed: {reason}", err=True)
    return int(bool(reasons))


def no_such_figure(name: str, known: Iterable[str]) -> ParameterError:
    """Return the error that names the figures there are."""
    return ParameterError(f"--fail-if: there is no {shown(name)}; there are {listed(known, FIGURES_NAMED)}.")


def _find(path: str, figures: object) -> tuple[bool, object]:
    """Follow dotted names and return whether there is such a figure, and it; names may hold dots: the longest counts."""
    if isinstance(figures, list):
        figures = {str(record.get("judge", n)): record for n, record in enumerate(figures) if isinstance(record, Mapping)}
    if not isinstance(figures, Mapping):
        return False, None
    for key in sorted(map(str, figures), key=len, reverse=True):
        if path == key:
            return True, figures[key]
        if path.startswith(f"{key}."):
            return _find(path[len(key) + 1 :], figures[key])
    return False, None


def aggregate_figures(summary: dict[str, Any]) -> dict[str, float | None]:
    """Return what conditions may ask about, from the summary of an aggregation."""
    return {name: figure(summary) for name, figure in AGGREGATE_FIGURES.items()}
