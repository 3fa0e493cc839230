"""Which reading of the held-out likelihood chooses gamma better, and does a wider grid pay?

    python benchmarks/selection.py [--most LABELS] [--json FILE]

For every dataset found (CROWDASSAY_DATA, else ../shared/data) all gammas of a wide grid are scored by 5-fold cross-validation
with both readings, and the errors at the choices from several grids are set against the best error of any gamma. The last
columns are the cost of the cross-validation, the final fit included, in cold fits.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from crowdassay import MinimaxEntropy, read_labels
from crowdassay.findings.scores import error_rate
from crowdassay.labels.truth import match_truth

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
WIDE = (1 / 256, 1 / 64, 1 / 16, 0.25, 0.5, 1.0, 2.0, 4.0)
GRIDS = {
    "paper": (0.25, 0.5, 1.0, 2.0, 4.0),
    "from 1/16": (1 / 16, 0.25, 1.0, 4.0),
    "from 1/256": (1 / 256, 1 / 64, 1 / 16, 0.25, 1.0, 4.0),
}
READINGS = ("predictive", "uniform")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=30_000, help="leave out datasets with more labels")
    parser.add_argument("--only", help="names of datasets, separated by commas")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for folder in sorted(DATA.iterdir()):
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if meta["labels"] > arguments.most or (arguments.only and folder.name not in arguments.only.split(",")):
            continue
        rows.append(row := study(folder, meta))
        cells = "  ".join(f"{name} {row[name]:6.2f}" for name in row if name not in ("dataset", "scores", "errors"))
        print(f"{row['dataset']:25s} {cells}", flush=True)
    names = [name for name in rows[0] if name not in ("dataset", "scores", "errors")]
    print(
        f"{'mean of ' + str(len(rows)):25s} "
        + "  ".join(f"{name} {np.mean([row[name] for row in rows]):6.2f}" for name in names)
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


def study(folder: Path, meta: dict) -> dict:
    labels = read_labels(folder / "labels.csv", classes=meta["classes"])
    truth = match_truth(labels, folder / "truth.csv")[0]
    make = {"structure": "ordinal" if meta["kind"] == "ordinal" else "nominal", "gammas": WIDE}
    errors, seconds = {}, []
    for gamma in WIDE:
        started = time.process_time()
        result = MinimaxEntropy(structure=make["structure"], gamma=gamma).fit(labels).result_
        seconds.append(time.process_time() - started)
        errors[gamma] = 100 * error_rate(result.winners, truth)
    row = {"dataset": folder.name, "best": min(errors.values()), "scores": {}, "errors": list(errors.values())}
    for reading in READINGS:
        started = time.process_time()
        selection = MinimaxEntropy(gamma="auto", reading=reading, **make).fit(labels).result_.selection
        spent = time.process_time() - started
        row["scores"][reading] = scores = [entry["score"] for entry in selection["rows"]]
        for name, gammas in GRIDS.items():
            chosen = max(gammas, key=lambda gamma: scores[WIDE.index(gamma)])
            row[f"{name} {reading}"] = errors[chosen]
    started = time.process_time()
    MinimaxEntropy(gamma="auto", **{**make, "gammas": GRIDS["paper"]}).fit(labels)
    row["cold fits, paper"] = (time.process_time() - started) / np.mean(
        [seconds[WIDE.index(gamma)] for gamma in GRIDS["paper"]]
    )
    row["cold fits, wide"] = spent / np.mean(seconds)
    return row


if __name__ == "__main__":
    main()
