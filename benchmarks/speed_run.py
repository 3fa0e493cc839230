"""One measurement of speed in a process of its own, so that its peak of memory is its own.

    python benchmarks/speed_run.py FRAME TRUTH METHOD CAP THREADS

FRAME is a feather file of task, worker and label, TRUTH the true classes of the tasks i1, i2... Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from speed_peers import PEERS

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "majority vote": ("MajorityVote", {}),
    "Dawid-Skene": ("DawidSkene", {"prior": "estimated", "tol": 1e-5, "max_iter": 100}),
    "Dawid-Skene of 100 steps": ("DawidSkene", {"prior": "estimated", "tol": 0.0, "max_iter": 100}),
    "GLAD": ("GLAD", {}),
    "MMSR": ("MMSR", {}),
    "minimax": ("MinimaxEntropy", {"tol": 1e-6}),
    "default": ("Assay", {}),
}
STATUS = Path("/proc/self/status")
SMALL = 200  # rows of the fit that loads everything before anything is measured
LONG = 300_000  # the same for ours, which has other code for long columns


def main() -> None:
    frame, truth, method, cap, threads = sys.argv[1:]
    data = pd.read_feather(frame)
    run = PEERS.get(method) or ours(method, int(threads))
    run(warm_up(data, SMALL if method in PEERS else LONG), 0.0)
    pa.default_memory_pool().release_unused()
    before = memory("VmRSS:")
    forget_peak()
    cpu = time.process_time()
    row = run(data, float(cap))
    row["cpu"] = time.process_time() - cpu
    row["memory"] = memory("VmHWM:") - before
    if (chosen := row.pop("labels", None)) is not None:
        known = np.load(truth)[chosen.index.str[1:].astype(int) - 1]
        row["error"] = float((chosen.to_numpy().astype(int) != known).mean())
    print(json.dumps(row))


def ours(method: str, threads: int) -> Callable[[pd.DataFrame, float], dict[str, Any]]:
    """Return a run of one of our methods, from frame to labels."""

    def run(frame: pd.DataFrame, cap: float) -> dict[str, Any]:
        import crowdassay  # noqa: PLC0415  peers do not need it

        name, options = OURS[method]
        estimator = getattr(crowdassay, name)(**options)
        if threads and "threads" in estimator.get_params():
            estimator.set_params(threads=threads)
        started = time.perf_counter()
        labels = crowdassay.as_labels(frame)
        encoded = time.perf_counter()
        estimator.fit(labels)
        fitted = time.perf_counter()
        chosen = estimator.predict()
        ended = time.perf_counter()
        result = estimator.result_
        return {
            "labels": pd.Series(chosen["label"].to_numpy(), index=pd.Index(chosen["task"])),
            "seconds": ended - started,
            "encode": encoded - started,
            "fit": fitted - encoded,
            "iterations": result.n_iter,
            "each": (fitted - encoded) / max(result.n_iter, 1),
            "objective": result.objective,
            "converged": result.converged,
        }

    return run


def warm_up(data: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Return some rows that hold every class."""
    return pd.concat([data.drop_duplicates("label"), data.head(rows)], ignore_index=True)


def memory(field: str) -> int:
    """Return a field of the process's status in bytes, 0 where there is none."""
    lines = STATUS.read_text(encoding="ascii").splitlines() if STATUS.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def forget_peak() -> None:
    """Start measuring the peak of memory anew."""
    if STATUS.exists():
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    main()
