"""When fits stop: the rules of EM, of L-BFGS and, with it, of the minimax models, all in one place."""

from __future__ import annotations

from collections.abc import Sequence

ITEM_STAGES = (1e-6, 1e-8)  # relative changes of the objective down to which items are not solved further than sums need
ITEM_SHARE = 10.0  # times as much is an item's own tolerance: items add about ten each, and what they miss is of second order


def em_settled(history: Sequence[float], tol: float) -> bool:
    """Return whether the last step of EM raised the objective by less than ``tol`` of its size."""
    return len(history) > 1 and history[-1] - history[-2] < tol * abs(history[-1])


def promises_little(slope: float, value: float, tol: float) -> bool:
    """Return whether a step of L-BFGS promises less than ``tol`` of the value: where minimax stops before another sweep.

    In natural scales a unit step with this slope is worth half of it.
    """
    return 0.5 * slope <= tol * max(abs(value), 1.0)


def brought_little(before: float, after: float, tol: float) -> bool:
    """Return whether a step of L-BFGS brought less than ``tol`` of the value: where minimax stops after a sweep."""
    return after - before <= tol * max(abs(after), 1.0)


def item_stages(exact: float, tol: float, *, staged: bool) -> list[tuple[float, float]]:
    """Return the stages in which a minimax model is maximised: the tolerance of every item, and that of the objective.

    Far from the optimum items need not be solved exactly. Only the last stage has the tolerances asked for.

    >>> item_stages(1e-6, 1e-7, staged=False)
    [(1e-06, 1e-07)]
    >>> [goal for _, goal in item_stages(1e-6, 1e-7, staged=True)]
    [1e-06, 1e-07]
    """
    return [*((ITEM_SHARE * goal, goal) for goal in ITEM_STAGES if staged and goal > tol), (exact, tol)]
