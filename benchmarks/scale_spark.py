"""What does a sweep cost on Spark, against labels and partitions, and how much of it is the kernel's own time?

python benchmarks/scale_spark.py                    on a local session of all cores
python benchmarks/scale_spark.py --predict          and what 10^10 labels on 100 nodes would take, from what was measured

Costs are counted in core-seconds, which depend little on what else the machine does; for that, the session must be a local one.
Labels are made inside Spark. Ten sweeps come before those that are measured: the first leaves copies of the blocks, and Java
compiles itself meanwhile. The overhead is what a sweep costs beyond the kernel's own time, as a share of that.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.optimize import nnls

from crowdassay.engines.base import Weights
from crowdassay.engines.spark.data import encode_frame
from crowdassay.engines.spark.place import SparkPlace
from crowdassay.engines.spark.session import open_session
from crowdassay.engines.spark.tasks import BLOCK_COLUMNS, ReadBlock, rows_of
from crowdassay.engines.sweeps import SweepTask
from crowdassay.models.family import Model, penalties_from_gamma
from crowdassay.models.structures import nominal
from crowdassay.statistics import log_softmax

WARM = 10
PER_ITEM = 5


def simulated(spark: Any, n_labels: int, n_workers: int, n_classes: int) -> Any:
    """Five labels an item, right with probability 0.6 to 0.9 by worker, from hashes of the row number."""
    right = "pmod(xxhash64(id, 3), 1000) < 600 + pmod(worker, 300)"
    return (
        spark.range(n_labels)
        .selectExpr("id", f"id div {PER_ITEM} as item", f"pmod(xxhash64(id, 1), {n_workers}) as worker")
        .selectExpr("*", f"pmod(xxhash64(item, 2), {n_classes}) as truth", f"pmod(xxhash64(id, 4), {n_classes}) as other")
        .selectExpr("item", "worker", f"case when {right} then truth else other end as label")
    )


def core_seconds() -> float:
    """Return the processor time that this process, Spark and its Python have taken so far, by Linux's own account."""
    parents, times = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may have ended
            number, rest = stat.read_text().split(" ", 1)
            fields = rest.rsplit(")", 1)[1].split()
            parents[int(number)], times[int(number)] = int(fields[1]), int(fields[11]) + int(fields[12])

    def ours(process: int) -> bool:
        while process not in {0, os.getpid()}:
            process = parents.get(process, 0)
        return process != 0

    return sum(time for process, time in times.items() if ours(process)) / os.sysconf("SC_CLK_TCK")


def cost(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return the core-seconds of some work on average and the shortest time it took; some runs before are not measured."""
    for _ in range(WARM):
        work()
    before, times = core_seconds(), []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return (core_seconds() - before) / repeats, min(times)


@dataclass(frozen=True)
class Alone:
    """The kernel's own time: the compiled pass over the blocks of a partition once they are there, read and checked."""

    read: ReadBlock
    task: SweepTask

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sweep until all is compiled, and yield what the shortest of three took."""
        held = [self.read(row) for row in rows_of(batches)]
        for block in held:
            self.task(block)
        seconds = []
        for _ in range(3):
            before = time.process_time()
            for block in held:
                self.task(block)
            seconds.append(time.process_time() - before)
        yield pa.RecordBatch.from_pydict({"seconds": [min(seconds)]})


def measure(
    spark: Any, n_labels: int, n_workers: int, n_classes: int, partitions: int, repeats: int
) -> Iterator[dict[str, Any]]:
    before = core_seconds()
    frame = simulated(spark, n_labels, n_workers, n_classes)
    data = encode_frame(frame, classes=range(n_classes), partitions=partitions)
    encoding = core_seconds() - before
    engine, basis = SparkPlace(data).engine(gathered=False), nominal(n_classes).basis()
    alpha, beta = penalties_from_gamma(0.25, n_classes, engine.n_workers, engine.n_items)
    model, prior = Model(basis, basis, alpha, beta), np.zeros(n_classes)
    sigma = np.tile(np.eye(n_classes), (engine.n_workers, 1, 1))
    log_p = log_softmax(sigma)
    rows, read = data.blocks.select(*BLOCK_COLUMNS), ReadBlock(data.n_workers, data.classes, names=False)
    sweeps = (
        ("dawid-skene", SweepTask(log_p, prior, Weights.FREE), lambda: engine.count(log_p, prior)),
        (
            "minimax",
            SweepTask(sigma, prior, Weights.FREE, model, weak_items=model.has_weak_items(data.longest)),
            lambda: engine.sweep(model, sigma, prior),
        ),
    )
    costs = [cost(work, repeats) for *_, work in sweeps]  # before what no fit does, which leaves Java busy
    for (name, task, _), (cores, seconds) in zip(sweeps, costs, strict=True):
        kernel = sum(rows.mapInArrow(Alone(read, task), "seconds double").toArrow()["seconds"].to_pylist())
        yield {
            "labels": n_labels, "workers": n_workers, "classes": n_classes, "partitions": partitions, "sweep_of": name,
            "seconds": round(seconds, 3), "core_seconds": round(cores, 3), "kernel_core_seconds": round(kernel, 4),
            "overhead": round(cores / kernel - 1, 3), "encoding_core_seconds": round(encoding, 1),
        }  # fmt: skip
    data.blocks.unpersist()


def predict(rows: list[dict[str, Any]], n_labels: float = 1e10, nodes: int = 100, cores: int = 16) -> Iterator[dict[str, Any]]:
    """Extrapolate: a job costs something once, and more for each task and each label, which all cores share."""
    for name in ("dawid-skene", "minimax"):
        own = [row for row in rows if row["sweep_of"] == name]
        shape = np.array([[1.0, row["partitions"], row["labels"]] for row in own])
        job, task, label = nnls(shape, np.array([row["core_seconds"] for row in own]))[0]
        largest = max(own, key=lambda row: row["labels"])
        label = max(label, largest["kernel_core_seconds"] / largest["labels"])  # it cannot be less
        encoding = largest["encoding_core_seconds"] / largest["labels"]
        all_cores, partitions = nodes * cores, int(n_labels / 2e6)
        yield {
            "sweep_of": name, "labels": n_labels, "nodes": nodes, "cores": all_cores, "partitions": partitions,
            "job_core_seconds": round(job, 3), "task_core_seconds": round(task, 4),
            "label_core_nanoseconds": round(label * 1e9, 1),
            "kernel_core_nanoseconds": round(largest["kernel_core_seconds"] / largest["labels"] * 1e9, 1),
            "sweep_seconds": round(job + (task * partitions + label * n_labels) / all_cores, 2),
            "encoding_seconds": round(encoding * n_labels / all_cores, 1),
        }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Return the table of docs/spark.md."""
    lines = [
        "| labels | partitions | Dawid–Skene | of it kernel | overhead | minimax | of it kernel | overhead | encoding, once |",
        "|" + "---|" * 9,
    ]
    for count, fit in zip(rows[::2], rows[1::2], strict=True):
        sweeps = " | ".join(
            f"{row['core_seconds']:.2f} | {row['kernel_core_seconds']:.3f} | {row['overhead']:.0%}" for row in (count, fit)
        )
        lines.append(f"| {count['labels']:,} | {count['partitions']} | {sweeps} | {count['encoding_core_seconds']} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=float, nargs="+", default=[1e5, 1e6, 4e6])
    parser.add_argument("--partitions", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--predict", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    spark, rows = open_session(), []
    for labels in options.labels:
        for partitions in options.partitions:
            for row in measure(spark, int(labels), options.workers, options.classes, partitions, options.repeats):
                rows.append(row)
                print(json.dumps(row), flush=True)
    for row in predict(rows) if options.predict else ():
        print(json.dumps(row))
    print("\n".join(table(rows)))
    spark.stop()


if __name__ == "__main__":
    main()
