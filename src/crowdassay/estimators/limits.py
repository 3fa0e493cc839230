"""What is decided before a fit: whether there is anything to learn, and whether it fits into memory."""

from __future__ import annotations

import numpy as np

from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.errors import DataError
from crowdassay.memory import available_memory

POSTERIORS = 5  # arrays of the size items x classes that a fit and its result hold at a time
ONE_CLASS = "Degenerate: one class. Every item gets it, and nothing is learned about items or workers."


def one_class(labels: Labels, method: str) -> Result:
    """Return the only result there can be with one class."""
    certain = np.ones((labels.n_items, 1))
    table = np.ones((labels.n_workers, 1, 1))
    return Result(
        labels,
        method,
        {},
        certain,
        certain > 0,
        table,
        np.ones(labels.n_workers),
        log_prior=np.zeros(1),
        sigma=np.zeros_like(table),
        notes=(ONE_CLASS,),
    )


def check_memory(labels: Labels, tables: float, item_tables: float) -> None:
    """Refuse a fit that needs more memory than there is, before it is taken.

    Parameters
    ----------
    labels : Labels
    tables, item_tables : float
        How many arrays of the size workers x classes^2, and items x classes^2, the method holds at a time.
    """
    cells = labels.n_classes**2 * (tables * labels.n_workers + item_tables * labels.n_items)
    cells += POSTERIORS * labels.n_items * labels.n_classes
    needed, free = 8 * cells, available_memory()
    if free is not None and needed > free:
        raise DataError(
            f"This fit needs about {needed / 1e9:,.1f} GB of memory for tables of {labels.n_classes:,} x {labels.n_classes:,} "
            f"classes ({labels.n_workers:,} workers, {labels.n_items:,} items), and {free / 1e9:,.1f} GB are free; merge rare "
            "classes, check that the labels are no free text, or take a method with fewer tables such as majority."
        )
