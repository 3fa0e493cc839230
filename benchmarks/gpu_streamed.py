"""Labels that stay in the machine's memory and pass over a GPU: how long a fit takes, and how fast they pass.

    python benchmarks/gpu_streamed.py                           10^9 labels of 10^6 workers, a few minutes
    python benchmarks/gpu_streamed.py --labels 2e8 --workers 2e5

Each fit is run with all labels on the GPU and again with a limit of hardly more than the workers need, 2 GB for two classes.
"""

from __future__ import annotations

import argparse
from typing import Any

import cupy as cp
import numpy as np

from crowdassay import DawidSkene, MinimaxEntropy
from crowdassay.engines.gpu.device import pinned_memory
from crowdassay.engines.gpu.engine import GpuEngine
from crowdassay.engines.gpu.store import InMemory, memory_streamed
from crowdassay.models.family import Model
from crowdassay.models.structures import resolve
from gpu import EACH, finish, simulate, timed


def link() -> float:
    """Measure the bytes a second from the machine's memory to the GPU, back, and each way while as much goes the other."""
    size = 1 << 30
    started = finish()
    pinned_memory((size,), np.uint8)
    print(f"1 GiB of memory that the GPU reads on its own: {finish() - started:.2f} s to get")
    hosts, cards = [pinned_memory((size,), np.uint8) for _ in range(2)], [cp.zeros(size, cp.uint8) for _ in range(2)]
    streams = [cp.cuda.Stream() for _ in range(2)]

    def up() -> None:
        cards[0].set(hosts[0], stream=streams[0])

    def down() -> None:
        cards[1].get(out=hosts[1], stream=streams[1], blocking=False)

    rates = {name: size / timed(run) for name, run in (("up", up), ("down", down), ("both at once", lambda: (up(), down())))}
    print("between memory and GPU: " + ", ".join(f"{name} {rate / 1e9:.1f} GB/s" for name, rate in rates.items()), flush=True)
    return rates["up"]


def run(estimator: Any, worker: Any, label: Any, n_workers: int, n_classes: int, limit: float, most: float) -> Any:
    """Fit with a limit, 0 for none, and return the solution."""
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=int(limit))
    few = 1000 * EACH
    estimator.solve(GpuEngine(worker[:few], label[:few], EACH, n_workers, n_classes))  # for the compiler
    pool.free_all_blocks()
    started = finish()
    engine = GpuEngine(worker, label, EACH, n_workers, n_classes)
    laid_out = finish()
    found = estimator.solve(engine)
    ended = finish()
    assert isinstance(engine.store, InMemory) == bool(limit)
    print(
        f"{type(estimator).__name__}, K={n_classes}, {'in memory' if limit else 'on the GPU'}: laid out in "
        f"{laid_out - started:.2f} s, {ended - laid_out:.2f} s in {found.n_iter} sweeps, {pool.total_bytes() / 1e9:.1f} GB"
    )
    model = found.model or Model(resolve("nominal", n_classes).basis(), None, 1.0, 1.0)
    sigma = cp.asarray(found.sigma)
    sweep = timed(lambda: engine.sweep(model, sigma, np.zeros(n_classes)), 2)
    state = 4 * n_classes * (n_classes - 1) * engine.n_items if found.model else 0
    rate = (4 * len(worker) + state) / sweep
    passing = (
        f", {rate / 1e9:.1f} GB/s up and {state / sweep / 1e9:.1f} down, {100 * rate / most:.0f} % of the link" if limit else ""
    )
    print(f"  the last sweep again {1e3 * sweep:.0f} ms{passing}", flush=True)
    pool.set_limit(size=0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=float, default=1e9)
    parser.add_argument("--workers", type=float, default=1e6)
    arguments = parser.parse_args()
    n_workers, most = int(arguments.workers), link()
    for n_classes in (2, 5):
        worker, label = (part.get() for part in simulate(int(arguments.labels), n_workers, n_classes)[:2])
        for estimator in (DawidSkene(tol=1e-6), MinimaxEntropy(tol=1e-6)):
            limits = (0.0, 1.15 * memory_streamed(n_workers, n_classes))
            one, other = (run(estimator, worker, label, n_workers, n_classes, limit, most) for limit in limits)
            same = np.array_equal(one.sigma, other.sigma) and one.objective == other.objective
            print(f"  the same to the last bit: {same}", flush=True)


if __name__ == "__main__":
    main()
