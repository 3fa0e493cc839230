"""What the user should know before trusting a result, a sentence or two each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from crowdassay.findings.verdicts import ACTION_ORDER, KEEP, Fault
from crowdassay.labels.values import counted
from crowdassay.notes import Note, NoteKind

if TYPE_CHECKING:
    from crowdassay.findings.insight import Insight

ADVERSARIES_SHARE = 0.2  # share of the labels given by adversaries from which the classes may be swapped
CLASSES_WITH_COLUMNS = 30  # with more, a table of workers would have too many columns for their cells
OR_BOTH_RIGHT = "; they are copies, or both are right where the others are wrong"
CHANCE_NOTE = (
    "The labels agree no better than chance: the classes found may mean nothing, or be swapped. Check the question, "
    "or give some items of known class (--gold)."
)


def nobody_compared(n_workers: int) -> str:
    """Return what to say of labels of which no two workers can be compared, nor any with a known class."""
    who = "There is only one worker" if n_workers == 1 else "No item has labels by two workers"
    return (
        f"{who}, so nothing shows who is right: how sure the labels seem is an assumption, and no worker can be judged. Let "
        "others label some of the items, or give items of known class (--gold)."
    )


def write_notes(insight: Insight) -> Iterator[str]:
    """Yield notes on what cannot be identified, groups apart, chance, swapped classes, workers to look at, and copies."""
    record, sample, n_classes = insight.record, insight.sample, insight.record.labels.n_classes
    if record.gold_warning:
        yield record.gold_warning
    connection = insight.connection
    alone, n_groups = ~connection.identified, len(connection.sizes)
    if alone.any() and alone.all():
        yield nobody_compared(len(connection.worker))
    elif alone.any():
        items = int(connection.items[alone].sum())
        workers = int(alone[connection.worker[connection.worker >= 0]].sum())
        yield (
            f"{counted(items, 'item')} and {counted(workers, 'worker')} share nothing with the others: how sure these labels "
            "seem is an assumption, and these workers cannot be judged."
        )
    if n_groups > 1:
        sizes = ", ".join(f"{size:,}" for size in connection.sizes[:4]) + (", ..." if n_groups > 4 else "")
        yield (
            f"The labels fall into {n_groups:,} groups that share neither items nor workers ({sizes} labels): "
            "workers of different groups cannot be compared."
        )
    if insight.chance:
        yield CHANCE_NOTE
    else:
        yield from _on_workers(insight)
    for title, right, but in (("Likely copies", False, ""), ("Same answers", True, OR_BOTH_RIGHT)):
        if pairs := [pair for pair in insight.copies[0] if pair.may_be_right is right]:
            alike = {code for pair in pairs for code in (pair.worker, pair.other)}
            text = (
                f"{title}: {counted(len(alike), 'worker')}; {counted(len(pairs), 'pair leaves', 'pairs leave')} the others "
                f"together, with the same answers, more often than chance and habit explain (column looks_like){but}."
            )
            yield Note(text, NoteKind.WORKERS)
    if sample.n_labels != insight.totals.labels:
        yield (
            f"Copies were looked for among {counted(sample.n_labels, 'label')} of {counted(sample.n_items, 'item')} drawn at "
            "random, as there are many: pairs with few common items may be missed."
        )
    if n_classes > CLASSES_WITH_COLUMNS:
        yield (
            f"With {n_classes:,} classes, what workers answer to what is a table of its own, confusion, with a row for each "
            f"pair of classes that has labels; up to {CLASSES_WITH_COLUMNS} classes it is in the columns of the table of "
            "workers."
        )


def _on_workers(insight: Insight) -> Iterator[str]:
    n_labels, actions = insight.n_labels, np.asarray(insight.actions, dtype=object)
    chosen = {action: actions == action for action in ACTION_ORDER[: ACTION_ORDER.index(KEEP)]}
    parts = [
        f"{action} {counted(int(which.sum()), 'worker')} with {counted(int(n_labels[which].sum()), 'label')}"
        for action, which in chosen.items()
        if which.any()
    ]
    if parts:
        text = f"Workers to look at: {', '.join(parts)}. The workers table says whom, and why."
        yield Note(text, NoteKind.WORKERS)
    adversaries = np.asarray(insight.verdicts, dtype=object) == Fault.AGAINST
    many = n_labels[adversaries].sum() >= ADVERSARIES_SHARE * n_labels.sum() and adversaries.any()
    if many and not insight.totals.known:
        yield (
            "So many labels contradict the others that the classes may be swapped: if those workers are right, the others are "
            "wrong. A few items of known class (--gold) would settle it."
        )
