"""A gate for continuous integration: conditions such as ``pass_rate.low < 0.9`` on what was found."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.values import listed, shown

SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
CONDITION = re.compile(r"\s*(.+?)\s*(<=|>=|==|!=|<|>)\s*([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)\s*(%?)\s*")
RATE = "_rate."


@dataclass(frozen=True)
class Condition:
    """A condition under which the run fails.

    Attributes
    ----------
    text, name, sign : str
    limit : float
    """

    text: str
    name: str
    sign: str
    limit: float


def parse_condition(text: str) -> Condition:
    """Read a condition.

    >>> parse_condition("pass_rate.low < 90%").limit
    0.9
    """
    match = CONDITION.fullmatch(text)
    if not match:
        raise ParameterError(f"--fail-if {shown(text)} is no condition; write it like 'pass_rate.low < 0.9'.")
    name, sign, number, percent = match.groups()
    return Condition(text.strip(), name, sign, float(number) / (100 if percent else 1))


def check_condition(condition: Condition, facts: Mapping[str, Any]) -> tuple[bool, float]:
    """Return whether a condition holds, so that the run fails, and the value it was held against."""
    value = _value(condition.name, facts)
    return SIGNS[condition.sign](value, condition.limit), value


def _value(name: str, facts: Mapping[str, Any]) -> float:
    path = name.replace(RATE, ".", 1) if RATE in name else name
    whole: list[str] = [f"rate.{path}"] if RATE in name else [path, f"rate.{path}"]
    for one in whole:
        value = _walk(one, facts)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if value is None and _exists(one, facts):
            raise DataError(f"--fail-if: {shown(name)} could not be told from these verdicts.")
    known = [f"{c}{RATE}low" for c in facts["rate"]] + ["worth", "n_people_labels"]
    raise ParameterError(f"--fail-if: there is no {shown(name)}; there are, among others, {listed(known, 6)}.")


def _walk(path: str, facts: Any) -> Any:
    """Follow names through mappings and records; a name may hold dots, so that the longest that fits is tried."""
    if not path:
        return facts
    if isinstance(facts, list):  # records of judges, by name
        facts = {str(record.get("judge", number)): record for number, record in enumerate(facts) if isinstance(record, dict)}
    if not isinstance(facts, Mapping):
        return None
    for key in sorted(facts, key=lambda key: -len(str(key))):
        if path == str(key):
            return facts[key]
        if path.startswith(f"{key}."):
            return _walk(path[len(str(key)) + 1 :], facts[key])
    return None


def _exists(path: str, facts: Mapping[str, Any]) -> bool:
    head, _, last = path.rpartition(".")
    parent = _walk(head, facts)
    return isinstance(parent, Mapping) and last in parent
