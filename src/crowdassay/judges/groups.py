"""Rates by group, and differences between groups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, IntArray
from crowdassay.errors import DataError
from crowdassay.judges.ppi import FEWEST_ITEMS
from crowdassay.judges.rates import Evidence, as_rates, claimed_rates, find_rates, rate_difference
from crowdassay.labels.values import counted, listed

MOST_GROUPS = 200
COMPARED = 6  # groups up to which all are compared with one another; of more, each with the first


def rate_groups(
    evidence: Evidence, names: Sequence[str | None], classes: Sequence[str], pair: Sequence[str | None] | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Return the rates of each group, the differences between groups and what to tell.

    Parameters
    ----------
    evidence : Evidence
    names : sequence of str
        The group of each item; None for those that have none.
    classes : sequence of str
    pair : sequence of str, optional
        What items of different groups have in common, such as the question that two systems answered.
    """
    groups = list(dict.fromkeys(name for name in names if name is not None))
    if len(groups) > MOST_GROUPS:
        raise DataError(f"There are {len(groups)} groups ({listed(groups, 3)}), more than {MOST_GROUPS}; name another column.")
    codes = {name: number for number, name in enumerate(groups)}
    code = np.array([-1 if name is None else codes[name] for name in names])
    by_group: dict[str, Any] = {}
    few = []
    for number, name in enumerate(groups):
        among = code == number
        seen = int(among[evidence.people.item].sum())
        few += [name] if seen < FEWEST_ITEMS else []
        by_group[name] = {
            "rate": as_rates(find_rates(evidence, among), classes),
            "people_only": as_rates(find_rates(evidence, among, powered=False), classes),
            "panel_only": as_rates(claimed_rates(evidence, among), classes),
            "n_items": int(among.sum()),
            "n_people_items": seen,
        }
    chosen = combinations(range(len(groups)), 2) if len(groups) <= COMPARED else ((0, k) for k in range(1, len(groups)))
    differences = []
    for a, b in chosen:
        pairs = None if pair is None else find_pairs(code == a, code == b, pair)
        between = rate_difference(evidence, code == a, code == b, pairs)
        differences.append(
            {
                "first": groups[a],
                "second": groups[b],
                "difference": as_rates(between, classes),
                "pairs": None if pairs is None else len(pairs),
            }
        )
    notes = []
    if few:
        many = f"People saw fewer than {FEWEST_ITEMS} items of {counted(len(few), 'group')} ({listed(few, 3)})"
        notes.append(f"{many}: there people's labels are taken alone, and where there are none no rate is given.")
    return by_group, differences, notes


def find_pairs(one: BoolArray, two: BoolArray, common: Sequence[str | None]) -> IntArray:
    """Return the items of two groups that have the same name in common, shape (n_pairs, 2); a name may occur once in each."""
    places: list[dict[str, int]] = []
    for group in (one, two):
        rows: dict[str, int] = {}
        for j in np.flatnonzero(group):
            name = common[int(j)]
            if name is None:
                continue
            if name in rows:
                raise DataError(f"Two items of one group are both paired by {name!r}; a pair has one item of each group.")
            rows[name] = int(j)
        places.append(rows)
    both = [(places[0][name], places[1][name]) for name in places[0] if name in places[1]]
    return np.array(both, int).reshape(-1, 2)
