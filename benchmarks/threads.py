"""How much a second thread helps: the same fit of encoded labels with one thread and with two, taking turns.

python benchmarks/threads.py [--labels 1e6,4e6] [--classes 2,5]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from crowdassay import Assay, DawidSkene, MinimaxEntropy
from crowdassay.checks.simulate import simulate

METHODS = {
    "minimax": lambda threads: MinimaxEntropy(tol=1e-6, threads=threads),
    "Dawid-Skene of 50 steps": lambda threads: DawidSkene(tol=1e-30, max_iter=50, threads=threads),
    "default": lambda threads: Assay(threads=threads),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", default="1e6,4e6")
    parser.add_argument("--classes", default="2,5")
    arguments = parser.parse_args()
    print("| labels | K | method | one thread | two | ratio |\n|---|---|---|---|---|---|")
    for size in (int(float(text)) for text in arguments.labels.split(",")):
        for n_classes in map(int, arguments.classes.split(",")):
            labels, _ = simulate(np.random.default_rng(0), n_items=size // 5, n_workers=1000, n_classes=n_classes)
            for name, make in METHODS.items():
                best = {1: np.inf, 2: np.inf}
                for threads in (1, 2, 1, 2):
                    started = time.perf_counter()
                    make(threads).fit(labels)
                    best[threads] = min(best[threads], time.perf_counter() - started)
                print(
                    f"| {size:,} | {n_classes} | {name} | {best[1]:.3f} | {best[2]:.3f} | {best[1] / best[2]:.2f} |", flush=True
                )


if __name__ == "__main__":
    main()
