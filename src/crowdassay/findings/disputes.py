"""Sheets for people: what workers disagree on and who said what, and what each worker most likely got wrong."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.findings.items import STANDINGS, ItemInsight, ItemStanding, is_disputed
from crowdassay.findings.tables import DISPUTES, FEEDBACK
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import counted
from crowdassay.text import joined

SURE_OF_MISTAKE = 0.8  # probability of being wrong from which a label is shown to the worker who gave it
NAMED_IN_A_CELL = 30  # workers named for one answer
ANSWERS_IN_A_CELL = 12  # answers to one item
DIGITS_SHOWN = 4  # of a probability, for people
LONGEST_CELL = 30_000  # characters, which Excel shows in a cell


def disputes_table(items: ItemInsight) -> pa.Table:
    """Tabulate the items on which workers disagree, but for those whose class is known; the least sure first.

    Settled items are among them and come last: ``standing`` says which these are.
    """
    record, labels = items.record, items.record.labels
    rows = np.flatnonzero(is_disputed(record))
    rows = rows[np.argsort(np.round(record.probability[rows], 9), kind="stable")]
    return DISPUTES.fill(
        **_shown(items, rows),
        probability=np.round(record.probability[rows], DIGITS_SHOWN),
        n_labels=np.diff(labels.starts)[rows],
        said=pa.array([_in_a_cell(labels, int(j)) for j in rows], pa.string()),
    )


def mistakes_table(items: ItemInsight, worker: int | None = None, *, only_known: bool = False) -> pa.Table:
    """Tabulate labels that are most likely wrong: of one worker, or of all with a column ``worker`` of their codes.

    A label is a likely mistake where it is not the label found, or not the known class, and wrong with a probability of 0.8
    or more. The surest come first, those on known items before all. Items that nothing can be said of are left out.

    Parameters
    ----------
    items : ItemInsight
    worker : int, optional
        The worker's code.
    only_known : bool
        Whether only known items count, as where labels agree no better than chance.
    """
    record, labels = items.record, items.record.labels
    item, given = labels.label_item, labels.label.astype(np.int64)
    known = labels.gold >= 0
    label = np.where(known, labels.gold, record.code)
    sure = np.where(known[item], 1.0, 1 - record.posterior[item, given])
    told = known if only_known else known | (items.standing != ItemStanding.UNIDENTIFIABLE)
    likely = (given != label[item]) & (sure >= SURE_OF_MISTAKE) & told[item]
    if worker is not None:
        likely &= labels.worker == worker
    rows = np.flatnonzero(likely)
    _, first = np.unique(np.stack([labels.worker[rows], item[rows], given[rows]]), axis=1, return_index=True)
    rows = rows[np.sort(first)]  # a label that was given twice is one mistake
    rows = rows[np.lexsort((-np.round(sure[rows], 9), ~known[item[rows]], labels.worker[rows]))]
    shown = _shown(items, item[rows], pa.array(label))
    table = FEEDBACK.fill(**shown, given=labels.classes.take(pa.array(given[rows])), sure=np.round(sure[rows], DIGITS_SHOWN))
    return table if worker is not None else table.add_column(0, "worker", pa.array(labels.worker[rows]))


def said(labels: Labels, item: int) -> list[tuple[str, list[str]]]:
    """Return each label that an item was given and the workers who gave it, the most common label first.

    >>> from crowdassay import as_labels
    >>> said(as_labels((list("aaa"), ["ann", "bob", "cy"], ["no", "yes", "yes"])), 0)
    [('yes', ['bob', 'cy']), ('no', ['ann'])]
    """
    part = slice(int(labels.starts[item]), int(labels.starts[item + 1]))
    label, worker = labels.label[part], labels.worker[part]
    counts = np.bincount(label, minlength=labels.n_classes)
    chosen = [int(k) for k in np.argsort(-counts, kind="stable") if counts[k]]
    names = {int(i): str(labels.workers[int(i)].as_py()) for i in set(worker.tolist())}
    return [(labels.class_names[k], [names[int(i)] for i in worker[label == k]]) for k in chosen]


def _in_a_cell(labels: Labels, item: int) -> str:
    """Return who said what in one text: "yes: bob and cy; no: ann"."""
    answers = said(labels, item)
    parts = [f"{answer}: {joined(workers, NAMED_IN_A_CELL)}" for answer, workers in answers[:ANSWERS_IN_A_CELL]]
    if (more := len(answers) - ANSWERS_IN_A_CELL) > 0:
        parts.append(counted(more, "more label"))
    return "; ".join(parts)[:LONGEST_CELL]


def _shown(items: ItemInsight, rows: IntArray, codes: pa.Array | None = None) -> dict[str, pa.Array]:
    """Return the columns that both sheets have: the item, its text if there is one, its label and how it stands."""
    labels, chosen = items.record.labels, pa.array(rows, pa.int64())
    codes = pa.array(items.record.code) if codes is None else codes
    columns = {
        "item": labels.items.take(chosen),
        "label": labels.classes.take(codes.take(chosen)),
        "standing": pa.array(STANDINGS).take(pa.array(items.standing[rows])),
    }
    if labels.item_text is not None:
        columns["text"] = pc.utf8_slice_codeunits(labels.item_text.take(chosen).cast(pa.string()), 0, LONGEST_CELL)
    return columns
