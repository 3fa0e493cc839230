"""What the machine can do at most: how fast it copies memory, and how fast it multiplies and adds."""

from __future__ import annotations

import platform
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay.threads import available_cores

COPIED, ORDER, TRIES = 1 << 27, 1536, 5


def measure() -> dict[str, Any]:
    """Return the machine's name, its cores, bytes copied (read and written) and multiply-adds in a second, on all cores."""
    cores = available_cores()
    return {"machine": name(), "cores": cores, "copy": copy_rate(cores), "multiply_add": multiply_add_rate()}


def copy_rate(cores: int) -> float:
    """Return bytes read and written in a second, each core copying arrays far larger than the caches."""
    pairs = [(np.ones(COPIED // 8), np.empty(COPIED // 8)) for _ in range(cores)]
    best = 0.0
    with ThreadPoolExecutor(cores) as pool:
        for _ in range(TRIES):
            started = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
            best = max(best, 2 * COPIED * cores / (time.perf_counter() - started))
    return best


def multiply_add_rate() -> float:
    """Return multiply-adds in a second of a product of matrices, which does little else."""
    a, b = np.ones((ORDER, ORDER)), np.ones((ORDER, ORDER))
    best = 0.0
    for _ in range(TRIES):
        started = time.perf_counter()
        a @ b
        best = max(best, ORDER**3 / (time.perf_counter() - started))
    return best


def name() -> str:
    """Return what the processor is called."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def least_seconds(method: str, n_classes: int, per_item: float, n_labels: int, machine: dict[str, Any]) -> float | None:
    """Return the least time one sweep could take: reading the labels and item sums once, and its multiply-adds.

    A label is 6 bytes (worker and class); an item 8 bytes of position. One pass of EM multiplies and adds K numbers of a
    label to score the classes and K to count it; minimax does so for all K x K cells of the two tables.
    """
    adds = {"Dawid-Skene": 2 * n_classes, "default": 2 * n_classes, "minimax": 2 * n_classes**2}.get(method)
    if adds is None:
        return None
    traffic = n_labels * (6 + 8 / per_item)
    return max(traffic / machine["copy"], adds * n_labels / machine["multiply_add"])
