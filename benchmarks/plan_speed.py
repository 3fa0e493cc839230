"""How long it takes to plan again: 100,000 items of five labels each, a few labels have come in.

Run: python benchmarks/plan_speed.py [n_items]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from crowdassay import Labels, MajorityVote, simulate
from crowdassay.planning.assign import assign
from crowdassay.planning.items import next_items
from crowdassay.planning.state import State

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
    result = MajorityVote().fit(labels).result_
    state = State.of(result)
    print("| step | milliseconds | of a processor |\n|---|---|---|")
    print(f"| where the job stands, from a fit | {fastest(lambda: State.of(result))} |")
    print(f"| the next item for a worker | {fastest(lambda: next_items(state, 1, worker=3))} |")
    for budget in (100, 1000, 10_000):
        print(f"| a plan of {budget:,} labels | {fastest(lambda budget=budget: assign(state, budget))} |")


if __name__ == "__main__":
    main()
