"""Does the order of items depend on who compares them? The test of invariance on real data, as a Markdown table.

python benchmarks/invariance.py ../shared/data --resamples 99 > table.md
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from crowdassay import CrowdassayError, read_labels
from crowdassay.labels.truth import match_truth
from crowdassay.measurement.invariance import invariance

DATASETS = (
    "bluebirds", "temp", "face_sentiment", "medical_exam", "radiology_federica", "radiology_kundel", "fact_eval", "flags",
    "state_capitals", "vision_edge", "dog", "rte",
)  # fmt: skip
MOST = 12_000  # labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--resamples", type=int, default=99)
    parser.add_argument("--datasets", nargs="*", default=DATASETS)
    options = parser.parse_args()
    print("| data | labels | items | $X^2$ | expected | p | interaction | spread of items | random halves: p |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.datasets:
        folder = options.data / name
        labels = read_labels(folder / "labels.csv")
        truth = match_truth(labels, folder / "truth.csv")[0]
        if labels.n_labels > MOST:
            continue
        rng = np.random.default_rng(0)
        try:
            found = invariance(labels, truth, resamples=options.resamples, rng=rng)
            control = invariance(labels, truth, split="random", resamples=options.resamples, rng=rng)
        except CrowdassayError as error:
            print(f"| {name} | | | | | | | | {error} |", flush=True)
            continue
        print(
            f"| {name} | {found.labels:,} | {found.items:,} | {found.statistic:.0f} | {found.expected:.0f} | {found.p:.2f} "
            f"| {found.interaction:.2f} | {found.spread:.2f} | {control.p:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
