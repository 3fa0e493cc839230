"""How long it takes to plan again: 100,000 items of five labels each, a few labels have come in.

Run: python benchmarks/plan_speed.py [n_items]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from crowdassay import Assay, Labels, simulate
from crowdassay.planning.assign import assign
from crowdassay.planning.gain import next_items
from crowdassay.planning.state import State
from crowdassay.results.saved.update import update

REPEATS = 5


def fastest(work: Callable[[], object]) -> str:
    """Return the least wall-clock and processor time of a few runs, in milliseconds, as cells of a table."""
    times = []
    for _ in range(REPEATS):
        start, busy = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - start, time.process_time() - busy))
    return " | ".join(f"{1000 * least:.0f}" for least in map(min, zip(*times, strict=True)))


def main() -> None:
    n_items = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    labels: Labels = simulate(np.random.default_rng(0), n_items=n_items, n_workers=500, n_classes=2, labels_per_item=5)[0]
    model = Assay().fit(labels)
    state = State.of(model.result_)
    new = assign(state, 100 * (REPEATS + 1))
    columns = ((state.labels.items, new.item), (state.workers, new.worker), (state.labels.classes, new.item % 2))
    batches = iter([tuple(names.take(codes[n :: REPEATS + 1]) for names, codes in columns) for n in range(REPEATS + 1)])
    later = update(model, next(batches)).result
    print("| step | milliseconds | of a processor |\n|---|---|---|")
    print(f"| where the job stands, from a fit | {fastest(lambda: State.of(later))} |")
    print(f"| taking 100 labels into the model | {fastest(lambda: update(model, next(batches)))} |")
    print(f"| where the job stands, after that | {fastest(lambda: state.after(later))} |")
    for budget in (100, 1000, 10_000):
        print(
            f"| that, and a plan of {budget:,} labels | {fastest(lambda budget=budget: assign(state.after(later), budget))} |"
        )
    print(f"| that, and the next item for a worker | {fastest(lambda: next_items(state.after(later), 1, worker=3))} |")
    warm = state.after(later)
    print(f"| another item for a worker | {fastest(lambda: next_items(warm, 1, worker=3))} |")


if __name__ == "__main__":
    main()
