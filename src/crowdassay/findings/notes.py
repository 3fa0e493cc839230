"""What the user should know before trusting a result, a sentence or two each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.findings.connection import ConnectedGroups
from crowdassay.findings.copies import Pair
from crowdassay.findings.verdicts import ACTION_ORDER, KEEP, Advice
from crowdassay.findings.worker_tests import Fault
from crowdassay.labels.values import counted
from crowdassay.notes import Note, NoteKind

ADVERSARIES_SHARE = 0.2  # share of the labels given by adversaries from which the classes may be swapped


def write_notes(
    n_labels: IntArray,
    connection: ConnectedGroups,
    advice: Advice,
    copies: Sequence[Pair],
    *,
    chance: bool,
    gold: bool,
) -> tuple[str, ...]:
    """Return notes on what cannot be identified, groups apart, chance, swapped classes, workers to look at and copies.

    ``n_labels`` (n_workers,) counts each worker's labels; ``gold`` says whether the class of any item is known.
    """
    return (
        *_unidentified(connection),
        *_groups(connection),
        *([CHANCE_NOTE] if chance else _flagged(n_labels, advice, gold=gold)),
        *_copies(copies),
    )


CHANCE_NOTE = (
    "The labels agree no better than chance: the classes found may mean nothing, or be swapped. Check the question, "
    "or give some items of known class (--gold)."
)


def _unidentified(connection: ConnectedGroups) -> list[str]:
    alone = ~connection.identified
    if not alone.any():
        return []
    if alone.all():
        who = "There is only one worker" if len(connection.worker) == 1 else "No item has labels by two workers"
        return [
            f"{who}, so nothing shows who is right: probabilities are unidentifiable and rest on the method's assumptions, and "
            "worker quality is not estimable. Let others label some of the items, or give items of known class (--gold)."
        ]
    items = int(connection.items[alone].sum())
    workers = int(alone[connection.worker[connection.worker >= 0]].sum())
    return [
        f"{counted(items, 'item')} and {counted(workers, 'worker')} share nothing with the others: the items' probabilities "
        "are unidentifiable and the workers' quality is not estimable."
    ]


def _groups(connection: ConnectedGroups) -> list[str]:
    n_groups = len(connection.sizes)
    if n_groups < 2:
        return []
    sizes = ", ".join(f"{size:,}" for size in connection.sizes[:4]) + (", ..." if n_groups > 4 else "")
    return [
        f"The labels fall into {n_groups:,} groups that share neither items nor workers ({sizes} labels): "
        "workers of different groups cannot be compared."
    ]


def _flagged(n_labels: IntArray, advice: Advice, *, gold: bool) -> list[str]:
    actions, verdicts = (np.asarray(names, dtype=object) for names in (advice.actions, advice.verdicts))
    chosen = {action: actions == action for action in ACTION_ORDER[: ACTION_ORDER.index(KEEP)]}
    parts = [
        f"{action} {counted(int(which.sum()), 'worker')} with {counted(int(n_labels[which].sum()), 'label')}"
        for action, which in chosen.items()
        if which.any()
    ]
    notes: list[str] = []
    if parts:
        text = f"Workers to look at: {', '.join(parts)}. The workers table says whom, and why."
        notes.append(Note(text, NoteKind.WORKERS))
    adversaries = verdicts == Fault.AGAINST
    if n_labels[adversaries].sum() >= ADVERSARIES_SHARE * n_labels.sum() and adversaries.any() and not gold:
        notes.append(
            "So many labels contradict the others that the classes may be swapped: if those workers are right, the others are "
            "wrong. A few items of known class (--gold) would settle it."
        )
    return notes


def _copies(copies: Sequence[Pair]) -> list[str]:
    if not copies:
        return []
    workers = {code for pair in copies for code in (pair.worker, pair.other)}
    text = (
        f"Likely copies: {len(workers):,} workers; {len(copies):,} {'pair agrees' if len(copies) == 1 else 'pairs agree'} "
        "more often than their reliability explains (column looks_like)."
    )
    return [Note(text, NoteKind.WORKERS)]
