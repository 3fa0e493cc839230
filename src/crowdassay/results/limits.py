"""What is decided before a fit: whether there is anything to learn, and whether it fits into memory."""

from __future__ import annotations

from crowdassay.errors import DataError
from crowdassay.labels.facts import Facts
from crowdassay.memory import available_memory

POSTERIORS = 5  # arrays of the size items x classes that a fit and its result hold at a time
DESCRIBED = 6  # arrays of the size workers x classes^2 that what is said of workers, and its table, take beside the fit
EASY = 1 << 24  # bytes that are there without looking
ONE_CLASS_NOTE = "Degenerate: one class. Every item gets it, and nothing is learned about items or workers."


def check_memory(facts: Facts, tables: float, item_tables: float, *, posteriors: bool = True) -> None:
    """Refuse a fit that needs more memory than there is, before it is taken.

    Parameters
    ----------
    facts : Facts
    tables, item_tables : float
        How many arrays of the size workers x classes^2, and items x classes^2, the method holds at a time.
    posteriors : bool
        Whether the probabilities of all items are in memory too.
    """
    cells = facts.n_classes**2 * ((tables + DESCRIBED) * facts.n_workers + item_tables * facts.n_items)
    cells += POSTERIORS * facts.n_items * facts.n_classes * posteriors
    needed = 8 * cells
    free = available_memory() if needed > EASY else None
    if free is not None and needed > free:
        raise DataError(
            f"This fit needs about {needed / 1e9:,.1f} GB of memory for tables of {facts.n_classes:,} x {facts.n_classes:,} "
            f"classes ({facts.n_workers:,} workers, {facts.n_items:,} items), and {free / 1e9:,.1f} GB are free; merge rare "
            "classes, check that the labels are no free text, or take a method with fewer tables such as majority."
        )
