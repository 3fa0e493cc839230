"""A billion labels on a GPU: how long a fit takes, what holds it back, and whether it equals the local engine.

    python benchmarks/gpu.py                    everything, on an H200 a few minutes
    python benchmarks/gpu.py fits --labels 2e8  only the timed fits, of fewer labels; also equal, and see PARTS

Labels are simulated on the GPU: workers and items with tables of their own, as `crowdassay.checks.simulate` draws them; a
worker is right two times in three on average, as in benchmarks/speed.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np
import pyarrow as pa

from crowdassay import Assay, DawidSkene, MinimaxEntropy
from crowdassay.engines.gpu.engine import GpuEngine
from crowdassay.engines.gpu.store import memory_needed
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model
from crowdassay.models.structures import reference_sets, resolve

EACH = 5  # labels of an item
CHUNK = 20_000_000  # labels simulated at a time
SMALL = """
import numpy as np, crowdassay
from crowdassay.engines.gpu.engine import GpuEngine
draw = np.random.default_rng(0).integers
engine = GpuEngine(draw(50, size=5000, dtype=np.int32), draw(2, size=5000, dtype=np.int16), 5, 50, 2)
crowdassay.DawidSkene().solve(engine)
crowdassay.MinimaxEntropy().solve(engine)
"""
BARE = Path(__file__).with_name("gpu_bare.cu")


def finish() -> float:
    cp.cuda.Device().synchronize()
    return time.perf_counter()


def timed(run: Any, repeats: int = 3) -> float:
    """Return the least seconds of several runs after one that is not counted."""
    run()
    least = np.inf
    for _ in range(repeats):
        started = finish()
        run()
        least = min(least, finish() - started)
    return least


def ceilings(n_labels: int, n_workers: int) -> dict[str, float]:
    """Measure what the memory can do, in CUDA C++: seconds for a pass over the labels that only gathers, only adds, or both."""
    module, m = cp.RawModule(code=BARE.read_text()), n_labels // EACH
    code = cp.random.randint(0, 2 * n_workers, EACH * m, dtype=cp.uint32)
    table, sums = cp.random.random(2 * n_workers, dtype=cp.float32), cp.zeros(n_workers, cp.uint64)
    out = cp.zeros(1, cp.float32)
    block, other = cp.zeros(1 << 31, cp.uint8), cp.zeros(1 << 31, cp.uint8)
    copied = timed(lambda: cp.copyto(other, block))
    seconds = {"copy": 2 * block.nbytes / copied}
    for name, arguments in (("gather", (table, out)), ("add", (sums,)), ("both", (table, sums))):
        function = module.get_function(name)
        seconds[name] = timed(lambda f=function, a=arguments: f((2112,), (256,), (code, np.uint64(m), *a)))
    print(f"copy {seconds['copy'] / 1e12:.2f} TB/s; of {n_labels:.0e} labels and {n_workers:.0e} workers:")
    for name in ("gather", "add", "both"):
        print(f"  {name:7s} {1e3 * seconds[name]:6.1f} ms, {n_labels / seconds[name] / 1e9:5.0f} G a second")
    return seconds


def simulate(
    n_labels: int, n_workers: int, n_classes: int, *, structure: str = "nominal", heavy: float = 0.0, starts: Any = None
) -> tuple[Any, Any, Any]:
    """Draw worker (n_labels,), label (n_labels,) and truth (n_items,) on the GPU.

    ``heavy`` is the first worker's share of all labels; ``starts`` says where each item begins, if not every fifth label.
    """
    cp.random.seed(0)
    basis = resolve(structure, n_classes).basis()
    codes = np.arange(n_classes)
    shape = -np.abs(codes[:, None] - codes) if structure == "ordinal" else np.eye(n_classes)
    expand = cp.asarray(basis.tables(np.eye(basis.size)).reshape(basis.size, -1), np.float32)
    tables = cp.random.standard_normal((n_workers, basis.size), dtype=cp.float32) @ expand
    skill = 1.5 if structure == "ordinal" else np.log(2 * (n_classes - 1))
    sigma = skill * cp.asarray(shape, np.float32) + 0.7 * tables.reshape(-1, n_classes, n_classes)
    worker, label = cp.empty(n_labels, cp.int32), cp.empty(n_labels, cp.int8)
    truth = cp.random.randint(0, n_classes, n_labels // EACH if starts is None else len(starts) - 1, dtype=cp.int8)
    for first in range(0, n_labels, CHUNK):
        part = cp.arange(first, min(first + CHUNK, n_labels))
        item = part // EACH if starts is None else cp.searchsorted(starts, part, side="right") - 1
        who = cp.random.randint(0, n_workers, len(part), dtype=cp.int32)
        who[cp.random.random(len(part), dtype=cp.float32) < heavy] = 0
        own = cp.random.standard_normal((int(item[-1] - item[0]) + 1, basis.size), dtype=cp.float32) @ (0.5 * expand)
        y = truth[item].astype(cp.int32)
        tau = own.reshape(-1, n_classes, n_classes)[item - item[0], y]
        ends = cp.cumsum(cp.exp(sigma[who, y] + tau), axis=1)
        draw = cp.random.random((len(part), 1), dtype=cp.float32) * ends[:, -1:]
        worker[first : first + CHUNK] = who
        label[first : first + CHUNK] = cp.minimum((draw > ends).sum(axis=1), n_classes - 1)
    return worker, label, truth


def ragged(n_labels: int, longest: int) -> Any:
    """Draw where items begin: one to nine labels each, and one item with ``longest``."""
    lengths = cp.random.randint(1, 10, int(0.22 * n_labels), dtype=cp.int64)
    lengths[7] = longest
    starts = cp.concatenate([cp.zeros(1, cp.int64), cp.cumsum(lengths)])
    return starts[: int(cp.searchsorted(starts, n_labels))]


def fit(estimator: Any, data: tuple[Any, ...], n_workers: int, n_classes: int, seconds: dict[str, float] | None = None) -> None:
    """Time a fit of arrays on the GPU; a first one is for the compiler."""
    worker, label, truth = data
    n_labels = len(worker)
    estimator.solve(GpuEngine(worker, label, EACH, n_workers, n_classes))  # fewer labels may be another kernel's
    started = finish()
    engine = GpuEngine(worker, label, EACH, n_workers, n_classes)
    laid_out = finish()
    found = estimator.solve(engine)
    ended = finish()
    again = estimator.solve(engine)
    repeated = finish() - ended
    same = np.array_equal(found.sigma, again.sigma) and found.objective == again.objective
    model, sigma = found.model or Model(resolve("nominal", n_classes).basis(), None, 1.0, 1.0), cp.asarray(found.sigma)
    sweep = timed(lambda: engine.sweep(model, sigma, found.log_prior))
    posterior = engine.posteriors(model, sigma, found.log_prior)[1]
    wrong = float((posterior.argmax(axis=1) != truth).mean())
    print(
        f"{type(estimator).__name__}, K={n_classes}, {n_labels:.0e} labels: {ended - laid_out:.2f} s in {found.n_iter} sweeps "
        f"of {1e3 * (ended - laid_out) / found.n_iter:.1f} ms, again {repeated:.2f} s; laid out in {laid_out - started:.2f} s; "
        f"objective {found.objective:.6e}, error {100 * wrong:.2f} %, same again: {same}"
    )
    if seconds is not None:
        bare = seconds["both"] + (0.0 if found.model else seconds["add"])  # Dawid-Skene adds for both classes
        state = 8 * n_classes * (n_classes - 1) if found.model else 0  # bytes read and written for an item's coordinates
        share = (4 + state / EACH) * n_labels / sweep / seconds["copy"]
        print(
            f"  the last sweep alone {1e3 * sweep:.1f} ms; bare gathers and additions {100 * bare / sweep:.0f} % of it; "
            f"labels and coordinates stream at {100 * share:.0f} % of the bandwidth"
        )
        if found.model:
            print(f"  the same sweep by hand in CUDA C++ {1e3 * by_hand(engine, found):.1f} ms", flush=True)


def fit_default(data: tuple[Any, ...], n_workers: int, n_classes: int) -> None:
    """Time the default on arrays on the GPU, and the judging of all items, whose probabilities stay there."""
    worker, label, truth = data
    few, n_labels = EACH * 1000, len(worker)
    estimator = Assay()
    estimator.solve(GpuEngine(worker[:few], label[:few], EACH, n_workers, n_classes))
    engine = GpuEngine(worker, label, EACH, n_workers, n_classes)
    started = finish()
    found = estimator.solve(engine)
    solved, pool = finish(), estimator.pool_
    if pool.items is not None:
        print("  items have effects here: they would be judged in memory")
    arguments = (pool.label_weight, pool.offset, pool.bias, pool.law)
    engine.pool(cp.asarray(pool.tables), *arguments)
    compiled = finish()
    posterior, _ = engine.pool(cp.asarray(pool.tables), *arguments)
    judged = finish() - compiled
    again = finish()
    estimator.solve(engine)
    again = finish() - again
    wrong = float((posterior.argmax(axis=1) != truth).mean())
    print(
        f"Assay, K={n_classes}, {n_labels:.0e} labels: {solved - started:.2f} s in {found.n_iter} steps, again {again:.2f} s; "
        f"judged in {judged:.2f} s; error {100 * wrong:.2f} %",
        flush=True,
    )


def by_hand(engine: GpuEngine, found: Any) -> float:
    """Time a sweep written for two classes and five labels an item alone, and see that it finds the same objective."""
    sigma, m = cp.asarray(found.sigma), engine.n_items
    codes = cp.concatenate([group.codes.reshape(EACH, -1) for group in engine.layout.groups], axis=1)
    table = cp.ascontiguousarray(cp.exp(sigma[:, :, 1] - sigma[:, :, 0]).astype(np.float32))
    sums, state, value = cp.zeros(engine.n_workers, cp.uint64), cp.zeros((m, 2), cp.float32), cp.zeros(1)
    kernel = cp.RawModule(code=BARE.read_text()).get_function("sweep")

    def run() -> None:
        value[:] = 0.0
        arguments = (codes, np.uint64(m), table, sums, state, np.float32(found.model.beta), np.float32(2**18), value)
        kernel((2112,), (256,), arguments)

    seconds = timed(run)
    other = engine.sweep(found.model, sigma, found.log_prior).objective
    assert abs(float(value[0]) / other - 1) < 1e-6, (float(value[0]), other)
    return seconds


def fits(n_labels: int, n_workers: int) -> None:
    """Dawid-Skene, minimax and the default, two classes and five."""
    seconds = ceilings(n_labels, n_workers)
    for n_classes in (2, 5):
        cp.get_default_memory_pool().free_all_blocks()
        data = simulate(n_labels, n_workers, n_classes)
        for estimator in (DawidSkene(tol=1e-6), MinimaxEntropy(tol=1e-6)):
            fit(estimator, data, n_workers, n_classes, seconds if n_classes == 2 else None)
        fit_default(data, n_workers, n_classes)
        del data


def largest(n_labels: int, n_workers: int) -> None:
    """Five times as many labels."""
    cp.get_default_memory_pool().free_all_blocks()
    data = simulate(5 * n_labels, n_workers, 2)
    print(f"{memory_needed(5 * n_labels, n_labels, n_workers, 2) / 1e9:.0f} GB estimated")
    fit(MinimaxEntropy(tol=1e-6), data, n_workers, 2)
    print(f"{cp.get_default_memory_pool().total_bytes() / 1e9:.0f} GB of the GPU were taken", flush=True)


def classes(n_labels: int, n_workers: int) -> None:
    """More classes, and ordered ones, with a tenth of the labels and of the workers; with a hundredth where it takes long."""
    for structure, n_classes in (("nominal", 5), ("nominal", 10), ("nominal", 20), ("ordinal", 5), ("ordinal", 10)):
        cp.get_default_memory_pool().free_all_blocks()
        fewer = 100 if (structure, n_classes) == ("ordinal", 10) else 10
        data = simulate(n_labels // fewer, n_workers // 10, n_classes, structure=structure)
        print(structure, end=": ")
        fit(MinimaxEntropy(tol=1e-6, structure=structure), data, n_workers // 10, n_classes)
        if structure == "nominal":
            fit(DawidSkene(tol=1e-6), data, n_workers // 10, n_classes)
            fit_default(data, n_workers // 10, n_classes)
        del data


def start(n_labels: int, n_workers: int) -> None:
    """A first process, which compiles the kernels for two classes, and a second, which finds them on disk."""
    del n_labels, n_workers
    with tempfile.TemporaryDirectory() as folder:
        for which in ("first", "second"):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", SMALL], check=True, env={**os.environ, "NUMBA_CACHE_DIR": folder})
            print(f"{which} process: {time.perf_counter() - began:.1f} s in all", flush=True)


def shapes(n_labels: int, n_workers: int) -> None:
    """What ragged items and a worker with a third of all labels cost a sweep, Dawid-Skene's and minimax's."""
    cp.get_default_memory_pool().free_all_blocks()
    basis = resolve("nominal", 2).basis()
    model = Model(basis, basis, 1.0, 200.0)
    for name, heavy, longest in (
        ("five labels an item", 0.0, 0),
        ("one worker with a third", 1 / 3, 0),
        ("1 to 9 labels, one item with 100,000", 0.0, 100_000),
        ("both", 1 / 3, 100_000),
    ):
        starts = ragged(n_labels, longest) if longest else None
        worker, label, _ = simulate(int(starts[-1]) if longest else n_labels, n_workers, 2, heavy=heavy, starts=starts)
        engine = GpuEngine(worker, label, starts if longest else EACH, n_workers, 2)
        sigma, log_prior = cp.eye(2) + 0.5 * cp.random.standard_normal((n_workers, 2, 2)), cp.zeros(2)
        count = timed(lambda e=engine, s=sigma, p=log_prior: e.sweep(Model(basis, None, 1.0, 0.0), s, p))
        solve = timed(lambda e=engine, s=sigma, p=log_prior: e.sweep(model, s, p))
        print(f"{name}: {1e3 * count:.1f} ms without an item block, {1e3 * solve:.1f} ms with one", flush=True)
        del worker, label, engine, starts


def equal(n_labels: int, n_workers: int) -> None:
    """Fit the same labels on both engines and compare."""
    for name, n_classes in (("nominal", 2), ("ordinal", 5), ("sets", 5), ("ragged, one worker with a third", 3)):
        odd, plain = "ragged" in name, "ordinal" if name == "ordinal" else "nominal"
        starts = ragged(n_labels, 100_000) if odd else cp.arange(0, n_labels + 1, EACH)
        total, n_items = int(starts[-1]), len(starts) - 1
        worker, label, _ = simulate(total, n_workers, n_classes, structure=plain, heavy=1 / 3 if odd else 0.0, starts=starts)
        labels = Labels(
            starts.get(), worker.get(), label.get().astype(np.int16), pa.array(np.arange(n_items)),
            pa.array(np.arange(n_workers)), pa.array([f"c{c}" for c in range(n_classes)]), np.full(n_items, -1, np.int32),
        )  # fmt: skip
        structure = reference_sets(5, [{0}, {1}, {2}, {3}, {3, 4}]) if name == "sets" else plain
        for make in (MinimaxEntropy, DawidSkene, Assay):
            if make is not MinimaxEntropy and name in {"sets", "ordinal"}:
                continue
            options = {MinimaxEntropy: {"structure": structure}, DawidSkene: {"tol": 1e-9}}.get(make, {})
            found, took = [], []
            for engine in ("local", "gpu"):
                started = finish()
                found.append(make(**options).fit(labels, engine=engine).result_)
                took.append(finish() - started)
            local, card = found
            top = np.sort(local.posterior, axis=1)
            clear = top[:, -1] - top[:, -2] >= 1e-4
            other = (local.posterior.argmax(axis=1) != card.posterior.argmax(axis=1)) & clear
            apart = "" if local.objective is None else f"objective differs by {abs(card.objective / local.objective - 1):.1e}, "
            print(
                f"{make.__name__}, {name}, K={n_classes}, {total} labels: {apart}labels of {other.sum()} items of {n_items} "
                f"({(~clear).sum()} near ties), probabilities by {np.abs(local.posterior - card.posterior).max():.1e}; "
                f"{local.n_iter} and {card.n_iter} sweeps, {took[0]:.1f} and {took[1]:.1f} s",
                flush=True,
            )


PARTS = {"fits": fits, "largest": largest, "shapes": shapes, "classes": classes, "start": start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=["all", "equal", *PARTS])
    parser.add_argument("--labels", type=float, default=1e9)
    parser.add_argument("--workers", type=float, default=1e6)
    arguments = parser.parse_args()
    print(f"{cp.cuda.runtime.getDeviceProperties(0)['name'].decode()}, {time.strftime('%Y-%m-%d')}")
    if arguments.what in {"all", "equal"}:
        equal(2_000_000, 2000)
    for name, part in PARTS.items():
        if arguments.what in {"all", name}:
            part(int(arguments.labels), int(arguments.workers))


if __name__ == "__main__":
    main()
