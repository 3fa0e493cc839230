"""Compare two systems that answered the same questions and were judged by the same panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.errors import DataError
from crowdassay.judges.rate import rate
from crowdassay.labels.labels import Labels

SIDES = ("first", "second")


def rate_against(one: Labels, other: Labels, **options: Any) -> dict[str, Any]:
    """Return the rates of both systems and the difference, first less second, in pairs of the same item.

    Parameters
    ----------
    one, other : Labels
        Verdicts of judges and people on each system's answers; an item has the same name in both.
    **options
        As for `rate`: people, classes, beyond, confidence, seed.

    Returns
    -------
    dict
        ``first``, ``second`` and ``difference``, each with classes, and ``pairs``, the number of common items.
    """
    names = [[str(item) for item in labels.items.to_pylist()] for labels in (one, other)]
    common = len(set(names[0]) & set(names[1]))
    if not common:
        raise DataError(
            f"The two files of verdicts share no item (for example {names[0][0]!r} and {names[1][0]!r}); items that belong "
            "together must have the same name."
        )
    together = _together([one, other])
    groups = [SIDES[0]] * one.n_items + [SIDES[1]] * other.n_items
    rated = rate(together, by=groups, pair=names[0] + names[1], n_next=0, **options)
    assert rated.groups is not None
    assert rated.differences is not None
    rates = {side: rated.groups[side]["rate"] for side in SIDES}
    return {
        **rates,
        "difference": rated.differences[0]["difference"],
        "pairs": common,
        "n_people_items": len(rated.people.item),
    }


def _together(parts: Sequence[Labels]) -> Labels:
    """Return the labels of all parts with items kept apart; workers and classes of the same name are the same."""
    workers, classes = (
        list(dict.fromkeys(str(name) for labels in parts for name in getattr(labels, what).to_pylist()))
        for what in ("workers", "classes")
    )
    codes: list[list[np.ndarray[Any, Any]]] = [[], [], []]
    items: list[str] = []
    for number, labels in enumerate(parts):
        codes[0].append(labels.label_item + len(items))
        for place, names, column in ((1, workers, labels.workers), (2, classes, labels.classes)):
            index = {name: k for k, name in enumerate(names)}
            of = np.array([index[str(name)] for name in column.to_pylist()])
            codes[place].append(of[labels.worker if place == 1 else labels.label])
        items += [f"{number}:{name}" for name in labels.items.to_pylist()]
    item, worker, label = (np.concatenate(part) for part in codes)
    return Labels.from_codes(item, worker, label, items=pa.array(items), workers=pa.array(workers), classes=pa.array(classes))
