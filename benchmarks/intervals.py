"""How often the interval of a worker's accuracy holds the share of the worker's labels that are right, on real data.

    python benchmarks/intervals.py [--method assay] [--most LABELS] [--all]    (CROWDASSAY_DATA names the folder of the data)

All datasets are measured, and some are shown (--all: every one). The default's constants, the spread of its intervals among
them, are those learned without the dataset's group (benchmarks/left_out.json). Workers with 30 labels or more on
items of known class count, and cells of confusion tables with 30 or more such items of the class.
"""

from __future__ import annotations

import argparse

import numpy as np

from accuracy import ours
from corpus import datasets, mean_of_groups

SHOWN = (
    "bluebirds", "rte", "temp", "web_search", "dog", "face_sentiment", "trec", "music_genre", "labelme", "netflix_dtype",
    "state_capitals", "reuters",
)  # fmt: skip
ENOUGH_LABELS = 30  # on items of known class, for the share right to mean something


def hold(one, found):
    """Return whether every interval holds, and its width: of accuracies, of diagonal cells and of those beside the diagonal."""
    labels, size = one.labels, one.labels.n_classes
    rows = np.flatnonzero(one.truth[labels.label_item] >= 0)
    seen = np.zeros((labels.n_workers, size, size))
    np.add.at(seen, (labels.worker[rows], one.truth[labels.label_item[rows]], labels.label[rows]), 1.0)
    n, right = seen.sum(axis=(1, 2)), np.einsum("icc->i", seen)
    judged = (n >= ENOUGH_LABELS) & found.estimable
    share = right[judged] / n[judged]
    low, high = found.low[judged], found.high[judged]
    parts = [((low <= share) & (share <= high), high - low)]
    _, low, high, _ = found.confusion()
    mass = seen.sum(axis=2, keepdims=True)
    share, enough = seen / np.maximum(mass, 1), (mass >= ENOUGH_LABELS) & found.estimable[:, None, None]
    for cells in (np.eye(size, dtype=bool), ~np.eye(size, dtype=bool)):
        some = enough & cells
        parts.append((((low <= share) & (share <= high))[some], (high - low)[some]))
    return parts


def main() -> None:
    """Print a row for every dataset shown, and for all together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="assay")
    parser.add_argument("--most", type=float, default=np.inf)
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    fit, rows = ours(given.method), []
    print("| dataset | workers | held | mean width |\n|---|---|---|---|")
    for one in datasets(most=given.most):
        rows.append((one, hold(one, fit(one).insight)))
        held, width = rows[-1][1][0]
        if len(held) and (given.all or one.name in SHOWN):
            print(f"| {one.name} | {len(held)} | {held.mean():.0%} | {width.mean():.2f} |")
    for n, name in enumerate(("accuracies", "diagonal cells", "cells beside the diagonal")):
        some = [(one, parts[n]) for one, parts in rows if len(parts[n][0])]
        held, width = (np.concatenate([part[k] for _, part in some]) for k in (0, 1))
        groups = mean_of_groups([one for one, _ in some], [part[0].mean() for _, part in some])
        print(
            f"| all {len(some)} datasets, {name} | {len(held):,} | {held.mean():.0%} (mean of groups {groups:.0%}) | "
            f"{width.mean():.2f} |"
        )


if __name__ == "__main__":
    main()
