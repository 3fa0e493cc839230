"""How often the interval of a worker's accuracy holds the share of the worker's labels that are right, on real data.

Run: python benchmarks/intervals.py [--method assay] [dataset ...]   (CROWDASSAY_DATA names the folder of the data)
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from crowdassay import load_dataset
from crowdassay.estimators.methods import find_method

DATASETS = (
    "bluebirds", "rte", "temp", "web_search", "dog", "face_sentiment", "trec", "music_genre", "labelme", "netflix_dtype",
    "state_capitals", "reuters",
)  # fmt: skip
ENOUGH = 20  # labels on items of known class, for the share right to mean something


def main() -> None:
    """Print a row for every dataset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="assay")
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    given = parser.parse_args()
    print("dataset workers held mean_width mean_error verdicts")
    for name in given.datasets:
        labels, truth, _ = load_dataset(name)
        found = find_method(given.method).make().fit(labels).result_.insight
        known = truth[labels.label_item] >= 0
        n = np.bincount(labels.worker[known], minlength=labels.n_workers)
        right = np.bincount(labels.worker[known], (labels.label == truth[labels.label_item])[known], labels.n_workers)
        judged = (n >= ENOUGH) & found.estimable
        share = right[judged] / n[judged]
        held = (found.low[judged] <= share) & (share <= found.high[judged])
        width, error = (found.high - found.low)[judged].mean(), np.abs(found.accuracy[judged] - share).mean()
        print(name, int(judged.sum()), f"{held.mean():.2f} {width:.2f} {error:.3f}", dict(Counter(found.verdicts)))


if __name__ == "__main__":
    main()
