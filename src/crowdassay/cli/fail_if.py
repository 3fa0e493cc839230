"""`--fail-if` of `rank` and `measure`: conditions on figures by name, under which a run ends with exit code 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.judges.gate import Condition


def read_conditions(texts: Sequence[str], example: str) -> list[Condition]:
    """Return the conditions that were given; one that cannot be read is refused before anything is computed."""
    from crowdassay.errors import ParameterError
    from crowdassay.judges.gate import parse_condition

    conditions = []
    for text in texts:
        try:
            conditions.append(parse_condition(text))
        except ParameterError:
            raise ParameterError(f"--fail-if '{text}' is no condition; write it like '{example}'.") from None
    return conditions


def check_conditions(conditions: Sequence[Condition], figures: dict[str, float | None]) -> list[dict[str, Any]]:
    """Return for each condition its value and whether it holds, so that the run fails.

    Parameters
    ----------
    conditions : sequence of Condition
    figures : dict
        By name; None for what could not be told, which fails the run.
    """
    from crowdassay.errors import ParameterError
    from crowdassay.judges.gate import SIGNS
    from crowdassay.labels.values import listed, shown

    broken = []
    for one in conditions:
        if one.name not in figures:
            raise ParameterError(f"--fail-if: there is no {shown(one.name)}; there are {listed(figures, 12)}.")
        value = figures[one.name]
        failed = value is None or SIGNS[one.sign](value, one.limit)
        broken.append({"condition": one.text, "value": value, "failed": bool(failed)})
    return broken


def tell_failures(gates: Sequence[dict[str, Any]]) -> int:
    """Print the conditions that hold; return the exit code."""
    failures = [gate for gate in gates if gate["failed"]]
    for gate in failures:
        value = "unknown" if gate["value"] is None else f"{gate['value']:.4g}"
        click.echo(f"Failed: {gate['condition']} (it is {value}).", err=True)
    return int(bool(failures))
