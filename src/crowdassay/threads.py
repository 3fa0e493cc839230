"""How many threads there are, and who may use them."""

from __future__ import annotations

import os

from threadpoolctl import threadpool_limits


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_blas_thread() -> threadpool_limits:
    """Keep linear algebra to one thread for a while: ``with one_blas_thread(): ...``.

    The last bits of an inner product depend on how many threads share it, so that a result would depend on the machine;
    and on problems of our sizes the threads of a linear algebra library cost more than they save.
    """
    return threadpool_limits(limits=1, user_api="blas")
