"""How long and how much memory a hundred classes take: 10^6 labels, 2,000 workers.

    python benchmarks/many_classes.py [--classes 100] [--gamma 1e-5]

With so many classes a worker's table has far more cells than the worker has labels, and the paper's gamma of 1/4 flattens it:
hence the small one. Peak memory is that of the fit, the simulation's own forgotten first (Linux only).
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

import numpy as np

from crowdassay import MinimaxEntropy
from crowdassay.checks.simulate import simulate


def peak() -> float:
    """Return the highest resident memory in GB."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--gamma", type=float, default=1e-5)
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    labels, truth = simulate(generator, n_items=200_000, n_workers=2_000, n_classes=arguments.classes, skill=6.0)
    Path("/proc/self/clear_refs").write_text("5")
    before, started = peak(), time.perf_counter()
    result = MinimaxEntropy(tol=1e-6, gamma=arguments.gamma).fit(labels).result_
    print(
        f"{labels.n_labels:,} labels, {arguments.classes} classes: {time.perf_counter() - started:.0f} s, "
        f"{result.n_iter} sweeps, peak {peak():.2f} GB (before {before:.2f}); error {(result.code != truth).mean():.2%}, "
        f"vote {(labels.votes().argmax(axis=1) != truth).mean():.2%}"
    )


if __name__ == "__main__":
    main()
