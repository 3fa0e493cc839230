"""The cells of workers' tables: columns of the workers table for a few classes, a long table of their own for many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.labels.record import Record, confusion_columns

MOST_CLASSES = 30  # with more, the columns, as many as the square of the classes, would take more than the fit
EXPECTED_LABELS = 0.05  # expected labels from which a cell is worth a row of the long table


def cell_columns(record: Record) -> dict[str, FloatArray]:
    """Return the columns ``confusion:true:observed`` and ``sigma:true:observed``; none where classes are too many."""
    if record.labels.n_classes > MOST_CLASSES:
        return {}
    sigma = {} if record.sigma is None else confusion_columns(record.labels, "sigma", record.sigma)
    return confusion_columns(record.labels, "confusion", record.confusion) | sigma


def cell_table(record: Record, counts: FloatArray) -> pa.Table | None:
    """Tabulate worker, true, observed, confusion and sigma of the cells with labels; None where workers have columns for them.

    ``counts`` (n_workers, n_classes, n_classes) are the expected labels: cells with less than 0.05 of a label are left out.
    """
    labels = record.labels
    if labels.n_classes <= MOST_CLASSES:
        return None
    worth = np.nonzero(counts >= EXPECTED_LABELS)
    worker, true, observed = map(pa.array, worth)
    columns = {
        "worker": labels.workers.take(worker),
        "true": labels.classes.take(true),
        "observed": labels.classes.take(observed),
        "confusion": record.confusion[worth],
    }
    return pa.table(columns if record.sigma is None else {**columns, "sigma": record.sigma[worth]})


def cell_notes(n_classes: int) -> tuple[str, ...]:
    """Say where the cells are, if not where they are usually."""
    if n_classes <= MOST_CLASSES:
        return ()
    return (
        f"With {n_classes:,} classes, what workers answer to what is a table of its own, confusion, with a row for each pair "
        f"of classes that has labels; up to {MOST_CLASSES} classes it is in the columns of the table of workers.",
    )
