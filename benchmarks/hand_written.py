"""What we wrote by hand beside what a library does: `python benchmarks/hand_written.py`.

Seconds are of the processor, all threads together, the least of three; wall seconds stand beside them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from crowdassay import simulate
from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.many_labels import count_votes, sort_by_item
from crowdassay.models.family import Model
from crowdassay.models.structures import nominal
from crowdassay.solvers.lbfgs import maximise
from crowdassay.solvers.profiled import WorkerProblem, fit_counts

LABELS = 5_000_000
CLOSE = 1e-7  # relative distance from the best objective at which an optimiser counts as done


def main() -> None:
    """Measure sorting, counting, climbing and what loads."""
    generator = np.random.default_rng(0)
    n_items = LABELS // 5
    item, worker = generator.integers(n_items, size=LABELS), generator.integers(5000, size=LABELS).astype(np.int32)
    label = generator.integers(4, size=LABELS).astype(np.int16)
    print(f"{LABELS:,} labels of {n_items:,} items")
    tell("sort by item, ours (labels/many_labels)", lambda: sort_by_item(item, n_items, worker, label))
    tell("sort by item, NumPy's stable argsort", lambda: by_argsort(item, n_items, worker, label))
    tell("sort by item, SciPy's rows to columns", lambda: by_scipy(item, n_items, worker, label))
    starts, _, sorted_label = sort_by_item(item, n_items, worker, label)
    tell("count votes, ours (labels/many_labels)", lambda: count_votes(starts, sorted_label, 4))
    tell("count votes, NumPy's bincount", lambda: by_bincount(starts, sorted_label, 4))
    climbs()
    fresh("special functions of 50 workers, ours (special)", "from crowdassay.special import betaincinv, gammainc, ndtr")
    fresh("special functions of 50 workers, SciPy's", "from scipy.special import betaincinv, gammainc, ndtr")


def fresh(what: str, load: str) -> None:
    """Print what limits, tails and deviations of 50 workers take in a process that has loaded NumPy, loading included."""
    code = "import time, numpy as np; x = np.linspace(1.0, 99.0, 50); start = time.process_time(); "
    code += f"{load}; betaincinv(x, x[::-1], 0.025), gammainc(x, x), ndtr(x); print(time.process_time() - start)"
    took = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(3)]
    print(f"{what}: {min(took):.3f} s of processor")


def tell(what: str, run: Callable[[], Any]) -> None:
    """Print what a function takes."""
    run()
    took = []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        took.append((time.process_time() - cpu, time.perf_counter() - wall))
    print(f"{what}: {min(took)[0]:.2f} s of processor, {min(wall for _, wall in took):.2f} s")


def by_argsort(item: Any, n_items: int, worker: Any, label: Any) -> Any:
    order = np.argsort(item, kind="stable")
    return np.append(0, np.cumsum(np.bincount(item, minlength=n_items))), worker[order], label[order]


def by_scipy(item: Any, n_items: int, worker: Any, label: Any) -> Any:
    rows = csr_array((worker, item, np.arange(len(item) + 1, dtype=np.int32)), shape=(len(item), n_items)).tocsc()
    return rows.indptr.astype(np.int64), rows.data, label[rows.indices]


def by_bincount(starts: Any, label: Any, n_classes: int) -> Any:
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.bincount(item * n_classes + label, minlength=(len(starts) - 1) * n_classes).reshape(-1, n_classes)


def climbs() -> None:
    """Count the passes over the labels that two optimisers need for the paper's objective, from the same point."""
    for n_workers, n_classes in ((40, 2), (300, 4), (2000, 3)):
        labels, _ = simulate(np.random.default_rng(1), n_items=12_000, n_workers=n_workers, n_classes=n_classes)
        basis = nominal(n_classes).basis()
        alpha = 0.25 * n_classes**2
        model = Model(basis, basis, alpha, alpha * labels.n_items / n_workers)
        problem = WorkerProblem(LocalEngine(labels, gathered=False), model, np.zeros(n_classes), 10**6)
        flat = np.full((n_workers, n_classes, n_classes), -np.log(n_classes))
        votes = problem.engine.count(flat, np.zeros(n_classes), Weights.VOTES).counts
        problem.learn_units(votes, (votes + 1) / (votes + 1).sum(axis=2, keepdims=True))
        start = fit_counts(problem, votes)
        ours, theirs, bare = [], [], []
        maximise(followed(problem, ours), start, problem.scales(), max_iter=300, tol=1e-11)
        scales = problem.scales()
        scaled = followed(problem, theirs)

        def negative(point: Any, scaled: Any = scaled, scales: Any = scales) -> Any:
            value, gradient = scaled(point * scales)
            return -value, -gradient * scales

        plain = followed(problem, bare)
        options = {"maxfun": 300, "ftol": 1e-13, "gtol": 1e-9, "maxcor": 20}
        minimize(negative, start / scales, jac=True, method="L-BFGS-B", options=options)
        minimize(lambda point, f=plain: tuple(-part for part in f(point)), start, jac=True, method="L-BFGS-B", options=options)
        best = max(map(max, (ours, theirs, bare)))
        near = best - CLOSE * abs(best)
        counts = [next((n for n, value in enumerate(seen, 1) if value > near), None) for seen in (ours, theirs, bare)]
        print(
            f"{n_workers} workers, {n_classes} classes: {counts[0]} passes ours, {counts[1]} SciPy's in our scales, "
            f"{counts[2]} SciPy's"
        )


def followed(problem: WorkerProblem, seen: list[float]) -> Callable[[Any], Any]:
    """Return the objective and its gradient as a function that writes down every value."""

    def function(point: Any) -> Any:
        value, gradient = problem.evaluate(point, Weights.FREE)
        seen.append(value)
        return value, gradient

    return function


if __name__ == "__main__":
    main()
