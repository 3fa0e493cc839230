"""Whether several starts pay: minimax from one start and from three on the real datasets of many labels.

    python benchmarks/starts.py [--least 30000] [--most 100000]

Datasets are looked for in CROWDASSAY_DATA, else ../shared/data. Printed are the seconds and the objective of either.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from crowdassay import MinimaxEntropy, read_labels

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=int, default=30_000, help="labels")
    parser.add_argument("--most", type=int, default=100_000)
    arguments = parser.parse_args()
    print("| dataset | labels | K | one start | three | objective of one | of three |\n|---|---|---|---|---|---|---|")
    for path in sorted(DATA.glob("*/labels.csv")):
        labels = read_labels(path)
        if not arguments.least < labels.n_labels <= arguments.most:
            continue
        seconds, objectives = [], []
        for starts in (1, 3):
            started = time.perf_counter()
            objectives.append(MinimaxEntropy(tol=1e-6, starts=starts).fit(labels).result_.objective)
            seconds.append(f"{time.perf_counter() - started:.2f} s")
        cells = [path.parent.name, f"{labels.n_labels:,}", str(labels.n_classes), *seconds, *(f"{o:.2f}" for o in objectives)]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
