"""How many threads there are, and who may use them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_blas_thread() -> threadpool_limits:
    """Keep linear algebra to one thread for a while: ``with one_blas_thread(): ...``.

    The last bits of an inner product depend on how many threads share it, so that a result would depend on the machine;
    and on problems of our sizes the threads of a linear algebra library cost more than they save.
    """
    return threadpool_limits(limits=1, user_api="blas")


def work_on_each(pool: Executor, work: Callable[[T], object], over: Iterable[T]) -> None:
    """Call ``work`` with everything in ``over`` on the threads of a pool, and wait; an error in one of them is raised here."""
    for _ in pool.map(work, over):
        pass
