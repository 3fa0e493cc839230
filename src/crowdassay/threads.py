"""How many threads there are, and who may use them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep linear algebra to one thread for a while: ``with one_blas_thread(): ...``.

    The last bits of an inner product depend on how many threads share it, so that a result would depend on the machine;
    and on problems of our sizes the threads of a linear algebra library cost more than they save.
    """
    limited: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries that have threads of their own: milliseconds, so again only when modules were loaded since."""
    return ThreadpoolController()


def work_on_each(pool: Executor, work: Callable[[T], object], over: Iterable[T]) -> None:
    """Call ``work`` with everything in ``over`` on the threads of a pool, and wait; an error in one of them is raised here."""
    for _ in pool.map(work, over):
        pass


def on_all_cores(work: Callable[[T], object], over: Iterable[T]) -> None:
    """Call ``work`` with everything in ``over`` on a thread for each core, and wait; see `work_on_each`."""
    with ThreadPoolExecutor(available_cores()) as pool:
        work_on_each(pool, work, over)


def sum_of_parts(work: Callable[[int], float], parts: int) -> float:
    """Return what ``work`` gives for each part, added up; several parts are worked on at once."""
    if parts == 1:
        return work(0)
    with ThreadPoolExecutor(min(parts, available_cores())) as pool:
        return sum(pool.map(work, range(parts)))
