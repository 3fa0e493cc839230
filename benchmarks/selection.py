"""Which reading of the held-out likelihood chooses gamma better, and does a wider grid pay?

    python benchmarks/selection.py [--most LABELS] [--json FILE]

For every dataset found (CROWDASSAY_DATA, else ../shared/data) gamma is chosen by 5-fold cross-validation with both readings
from the paper's grid and from a wider one; the error at the choice is set against the best error of any gamma of the wide grid.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from crowdassay import MinimaxEntropy, read_labels
from crowdassay.io.truth import match_truth
from crowdassay.metrics.scores import error_rate

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAPER = (0.25, 0.5, 1.0, 2.0, 4.0)
WIDE = (1 / 256, 1 / 64, 1 / 16, 0.25, 0.5, 1.0, 2.0, 4.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=30_000, help="leave out datasets with more labels")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for folder in sorted(DATA.iterdir()):
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if meta["labels"] > arguments.most:
            continue
        labels = read_labels(folder / "labels.csv", classes=meta["classes"])
        truth = match_truth(labels, folder / "truth.csv")[0]
        structure = "ordinal" if meta["kind"] == "ordinal" else "nominal"
        errors, started = {}, time.perf_counter()
        previous = None
        for gamma in WIDE:
            previous = MinimaxEntropy(structure=structure, gamma=gamma, tolerance=1e-7).fit(labels).result_
            errors[gamma] = 100 * error_rate(previous.winners, truth)
        row = {"dataset": folder.name, "best": min(errors.values())}
        for grid_name, gammas in (("paper", PAPER), ("wide", WIDE)):
            for reading in ("predictive", "uniform"):
                chosen = MinimaxEntropy(structure=structure, gamma="auto", gammas=gammas, reading=reading)
                gamma = chosen.fit(labels).result_.selection["best"]
                row[f"{grid_name} {reading}"] = errors[gamma]
                row[f"{grid_name} {reading} gamma"] = gamma
        rows.append(row)
        names = [f"{grid} {reading}" for grid in ("paper", "wide") for reading in ("predictive", "uniform")]
        cells = "  ".join(f"{name} {row[name]:6.2f} ({row[name + ' gamma']:g})" for name in names)
        print(f"{row['dataset']:25s} best {row['best']:6.2f}  {cells}  {time.perf_counter() - started:.0f} s", flush=True)
    print(f"{'mean of ' + str(len(rows)):25s} best {np.mean([row['best'] for row in rows]):6.2f}  ", end="")
    print("  ".join(f"{name} {np.mean([row[name] for row in rows]):6.2f}" for name in names))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
