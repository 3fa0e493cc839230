"""What a sweep costs where labels are not in memory: files (and Spark) beside the local engine.

python benchmarks/scale.py files --labels 1e7 --memory 1GB
    simulates labels into a CSV file, spools it, and prints the time and memory of spooling, of a sweep by each engine, and of
    whole fits by Dawid and Skene's method and minimax from the spool.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from crowdassay import DawidSkene, MinimaxEntropy
from crowdassay.engines.base import Engine
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.ingest import spool_files
from crowdassay.labels.labels import Labels
from crowdassay.labels.spool import Spool
from crowdassay.memory import parse_size
from crowdassay.models.family import Model
from crowdassay.models.structures import nominal
from crowdassay.read_options import ReadOptions
from crowdassay.results.run import fit
from crowdassay.results.write import write_result
from crowdassay.statistics import log_softmax
from crowdassay.threads import available_cores

PER_ITEM, CHUNK = 5, 200_000
MOST_LOCAL = 50_000_000  # labels that the comparison takes into memory


def write_labels(path: Path, n_labels: int, n_workers: int, generator: np.random.Generator) -> None:
    """Write labels of two classes with text ids, items and workers mixed over a million rows at a time."""
    skill = generator.beta(8, 3, size=(n_workers, 2))
    names = pa.array([f"w{i}" for i in range(n_workers)])
    schema = pa.schema([(name, pa.string()) for name in ("item", "worker", "label")])
    with pyarrow.csv.CSVWriter(path, schema) as writer:
        for first in range(0, n_labels // PER_ITEM, CHUNK):
            size = min(CHUNK, n_labels // PER_ITEM - first)
            truth = np.repeat(generator.random(size) < 0.4, PER_ITEM).astype(int)
            item = np.repeat(np.arange(first, first + size), PER_ITEM)
            worker = (n_workers * generator.random(size * PER_ITEM) ** 2).astype(int)
            label = np.where(generator.random(size * PER_ITEM) < skill[worker, truth], truth, 1 - truth)
            order = generator.permutation(size * PER_ITEM)
            items = pc.binary_join_element_wise("item-", pa.array(item[order]).cast(pa.string()), "")
            classes = pa.array(["no", "yes"]).take(pa.array(label[order]))
            writer.write_table(pa.table([items, names.take(pa.array(worker[order])), classes], schema=schema))


def in_memory(spool: Spool) -> Labels:
    """Read the first blocks of a spool into memory."""
    n_blocks = int(np.searchsorted(np.cumsum(spool.sizes[:, 1]), MOST_LOCAL)) + 1
    blocks = [spool.block(number) for number in range(min(n_blocks, len(spool.sizes)))]
    sizes = np.concatenate([np.diff(block.starts) for block in blocks])
    return Labels(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([block.worker for block in blocks]),
        np.concatenate([block.label for block in blocks]),
        pa.nulls(len(sizes)),
        spool.workers,
        spool.classes,
        np.concatenate([block.gold for block in blocks]),
    )


def sweep_cost(engine: Engine, repeats: int = 3) -> dict[str, tuple[float, float]]:
    """Return the least seconds and processor nanoseconds a label of an E-step and of a sweep with items."""
    sigma = np.random.default_rng(0).normal(size=(engine.n_workers, 2, 2)) * 0.3 + 1.5 * np.eye(2)
    basis, prior = nominal(2).basis(), np.zeros(2)
    model = Model(basis, basis, 1.0, engine.n_items / engine.n_workers)
    costs = {}
    for name, run in (
        ("count", lambda: engine.count(log_softmax(sigma), prior)),
        ("sweep", lambda: engine.sweep(model, sigma, prior)),
    ):
        run()
        found = []
        for _ in range(repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            found.append((time.perf_counter() - wall, (time.process_time() - cpu) / engine.n_labels * 1e9))
        costs[name] = (min(one[0] for one in found), min(one[1] for one in found))
    return costs


def resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def files(arguments: argparse.Namespace) -> None:
    memory, threads = parse_size(arguments.memory), available_cores()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
        path, folder, out = Path(place, "labels.csv"), Path(place, "spool"), Path(place, "out")
        folder.mkdir()
        out.mkdir()
        write_labels(path, int(arguments.labels), arguments.workers, np.random.default_rng(0))
        print(f"{int(arguments.labels):,} labels, {path.stat().st_size / 1e9:.2f} GB of CSV, {threads} threads")
        started, cpu = time.perf_counter(), time.process_time()
        spool = spool_files([path], folder, ReadOptions(), memory=memory, threads=threads)
        took = f"{time.perf_counter() - started:.0f} s, {time.process_time() - cpu:.0f} s of processor"
        print(f"spool: {took}, {resident():.0f} MB resident")
        path.unlink()
        costs = sweep_cost(FilesPlace(spool).engine(gathered=False))
        for name, (wall, ns) in costs.items():
            print(f"files {name}: {wall:.2f} s, {ns:.1f} ns of processor a label, {resident():.0f} MB resident")
        for name, estimator in (("dawid-skene", DawidSkene(tol=1e-7)), ("minimax", MinimaxEntropy(tol=1e-6))):
            started, cpu = time.perf_counter(), time.process_time()
            found = fit(estimator, FilesPlace(spool))
            write_result(found, {}, out / name, "parquet")
            took = f"{time.perf_counter() - started:.0f} s, {time.process_time() - cpu:.0f} s of processor"
            print(f"{name}: {found.n_iter} sweeps and the tables in {took}, {resident():.0f} MB resident")
        if not arguments.no_local:
            local = sweep_cost(LocalEngine(in_memory(spool)))
            for name, (wall, ns) in local.items():
                print(
                    f"local {name}: {wall:.2f} s, {ns:.1f} ns of processor a label; files take {costs[name][1] / ns:.2f} times"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["files"])
    parser.add_argument("--labels", type=float, default=1e7)
    parser.add_argument("--workers", type=int, default=20_000)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--folder", help="where the temporary files go")
    parser.add_argument("--no-local", action="store_true", help="leave the local engine out, which needs memory")
    files(parser.parse_args())


if __name__ == "__main__":
    main()
