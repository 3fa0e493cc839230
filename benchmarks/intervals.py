"""How often the interval of a worker's accuracy holds the share of the worker's labels that are right, on real data.

Run: python benchmarks/intervals.py [--method assay] [dataset ...]   (CROWDASSAY_DATA names the folder of the data)

The default's constants are those learned without the dataset's group (benchmarks/left_out.json).
"""

from __future__ import annotations

import argparse

import numpy as np

from accuracy import ours
from corpus import datasets

DATASETS = (
    "bluebirds", "rte", "temp", "web_search", "dog", "face_sentiment", "trec", "music_genre", "labelme", "netflix_dtype",
    "state_capitals", "reuters",
)  # fmt: skip
ENOUGH_LABELS = 20  # on items of known class, for the share right to mean something


def main() -> None:
    """Print a row for every dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="assay")
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    given = parser.parse_args()
    fit = ours(given.method)
    print("| dataset | workers | held | mean width |\n|---|---|---|---|")
    sets = {one.name: one for one in datasets(names=given.datasets)}
    for name in given.datasets:
        labels, truth, found = sets[name].labels, sets[name].truth, fit(sets[name]).insight
        known = truth[labels.label_item] >= 0
        n = np.bincount(labels.worker[known], minlength=labels.n_workers)
        right = np.bincount(labels.worker[known], (labels.label == truth[labels.label_item])[known], labels.n_workers)
        judged = (n >= ENOUGH_LABELS) & found.estimable
        share = right[judged] / n[judged]
        held = (found.low[judged] <= share) & (share <= found.high[judged])
        print(f"| {name} | {int(judged.sum())} | {100 * held.mean():.0f} % | {(found.high - found.low)[judged].mean():.2f} |")


if __name__ == "__main__":
    main()
