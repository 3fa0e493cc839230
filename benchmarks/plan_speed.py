"""How long it takes to plan again: 100,000 items of five labels each, a few labels have come in.

Run: python benchmarks/plan_speed.py [n_items]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from crowdassay import Labels, MajorityVote, simulate
from crowdassay.planning.assign import assign
from crowdassay.planning.items import next_items
from crowdassay.planning.state import State

REPEATS = 5


def fastest(work: object) -> float:
    """Return the least time of a few runs, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> None:
    n_items = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    labels: Labels = simulate(np.random.default_rng(0), n_items=n_items, n_workers=500, n_classes=2, labels_per_item=5)[0]
    result = MajorityVote().fit(labels).result_
    state = State.of(result)
    print("| step | milliseconds |\n|---|---|")
    print(f"| where the job stands, from a fit | {fastest(lambda: State.of(result)):.0f} |")
    print(f"| the next item for a worker | {fastest(lambda: next_items(state, 1, worker=3)):.0f} |")
    for budget in (100, 1000, 10_000):
        print(f"| a plan of {budget:,} labels | {fastest(lambda budget=budget: assign(state, budget)):.0f} |")


if __name__ == "__main__":
    main()
