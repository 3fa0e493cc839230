"""Labels of awkward shapes, read and fitted: `python benchmarks/load.py SHAPE METHOD [LABELS]`, 10^7 labels by default.

The shapes: `singles`, where a tenth of the labels come from workers who gave one each; `giant`, where one worker gave 40 % of
them; `crowd`, where one item has a tenth of them. Time and memory are printed as one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdassay.estimators.methods import METHODS
from crowdassay.labels.files import read_labels

SHAPES = ("singles", "giant", "crowd")
N_WORKERS, N_CLASSES, PER_ITEM, RIGHT = 5000, 3, 5, 0.75


def write_labels(shape: str, n_labels: int, path: Path) -> None:
    generator = np.random.default_rng(0)
    item = np.repeat(np.arange(n_labels // PER_ITEM), PER_ITEM)
    worker = generator.integers(N_WORKERS, size=len(item))
    if shape == "singles":
        lonely = generator.choice(len(item), len(item) // 10, replace=False)
        worker[lonely] = N_WORKERS + np.arange(len(lonely))
    elif shape == "giant":
        worker[generator.random(len(item)) < 0.4] = 0
    else:
        item[: len(item) // 10] = 0
    truth = generator.integers(N_CLASSES, size=item.max() + 1)
    right = generator.random(len(item)) < RIGHT
    label = np.where(right, truth[item], generator.integers(N_CLASSES, size=len(item)))
    order = generator.permutation(len(item))
    columns = {"item": item, "worker": worker, "label": label}
    pq.write_table(pa.table({name: pa.array(column[order]) for name, column in columns.items()}), path)


def peak() -> float:
    """Return the most memory this process has held so far, in GB."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)


def measure(shape: str, method: str, n_labels: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "labels.parquet")
        write_labels(shape, n_labels, path)
        before, started = peak(), time.perf_counter()
        labels = read_labels(path)
    times = [time.perf_counter()]
    result = METHODS[method].make().fit(labels).result_
    times.append(time.perf_counter())
    notes = list(result.insight.notes)
    times.append(time.perf_counter())
    seconds = {name: round(span, 1) for name, span in zip(("read", "fit", "judge"), np.diff([started, *times]), strict=True)}
    return {
        "shape": shape,
        "method": method,
        "labels": labels.n_labels,
        "items": labels.n_items,
        "workers": labels.n_workers,
        "seconds": seconds,
        "n_iter": result.n_iter,
        "converged": result.converged,
        "peak_gb": peak(),
        "peak_gb_of_making_the_file": before,
        "notes": [*result.notes, *notes],
    }


if __name__ == "__main__":
    shape, method, *more = sys.argv[1:]
    if shape not in SHAPES:
        sys.exit(f"The shapes are {', '.join(SHAPES)}.")
    print(json.dumps(measure(shape, method, int(float(more[0])) if more else 10**7), indent=1))
