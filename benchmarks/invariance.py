r"""Does a comparison of two items come out the same whichever workers make it? Real data, as a Markdown table.

python benchmarks/invariance.py ../shared/data --resamples 99 > table.md

The paper derives its model from this demand of objective measurement: the odds ratio of two items must not depend on the
worker. For right and wrong answers the model that meets it is Rasch's,

.. math::  \log \frac{P(\text{right})}{P(\text{wrong})} = a_i + d_j

In the data, it means that the better and the worse half of the workers agree on how much easier one item is than another. For
item j with residuals r and variances v in the two halves,

.. math::  X^2 = \sum_j \frac{r_{j1}^2 \, (v_{j1} + v_{j2})}{v_{j1} v_{j2}}

is about as large as the number of items. How large it may be is found by a parametric bootstrap, in which labels are drawn
from the fitted model on the same design, fitted again and split again.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdassay import CrowdassayError, read_labels
from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth
from crowdassay.measurement.design import Design, make_design, set_aside
from crowdassay.measurement.fit import FacetsFit, fit_facets
from crowdassay.measurement.ratings import Ratings
from crowdassay.measurement.residuals import find_residuals

DATASETS = (
    "bluebirds", "temp", "face_sentiment", "medical_exam", "radiology_federica", "radiology_kundel", "fact_eval", "flags",
    "state_capitals", "vision_edge", "dog", "rte",
)  # fmt: skip
MOST = 12_000  # labels
LEAST_ITEMS_SPLIT = 10


@dataclass(frozen=True)
class Invariance:
    """What a test of invariance has found.

    Attributes
    ----------
    statistic, expected : float
        X squared, and its mean if invariance held.
    p : float
    interaction : float
        Standard deviation, in logits, of how differently the two halves see an item, sampling error taken off.
    spread : float
        Standard deviation of the items' easiness, to compare it with.
    items, labels : int
        That could be used: items that both halves labelled, with right and wrong answers.
    split : {'ability', 'random'}
    """

    statistic: float
    expected: float
    p: float
    interaction: float
    spread: float
    items: int
    labels: int
    split: str


def invariance(
    labels: Labels, truth: IntArray, *, split: str = "ability", resamples: int = 199, rng: np.random.Generator
) -> Invariance:
    """Test invariance on labels whose true classes (n_items,) are known, -1 where not.

    Parameters
    ----------
    split : {'ability', 'random'}
        Compare the better with the worse half of the workers, or two random halves, which must agree.
    resamples : int
        Of the parametric bootstrap.
    """
    known = truth[labels.label_item] >= 0
    item, worker = labels.label_item[known], labels.worker[known].astype(np.int64)
    right = (labels.label[known] == truth[item]).astype(np.int64)
    if len(right) == 0 or right.min() == right.max():
        raise DataError("All labels are right, or all are wrong, so that items cannot be compared.")
    half = rng.permutation(labels.n_workers) % 2 if split == "random" else None
    whole = _statistic(item, worker, right, labels.n_items, labels.n_workers, half)
    if whole is None:
        raise DataError(f"Fewer than {LEAST_ITEMS_SPLIT} items have right and wrong answers by both halves of the workers.")
    statistic, expected_variance, observed_variance, used, n_labels, design, fit = whole
    drawn = []
    for _ in range(resamples):
        again = _draw(design, fit, right, rng)
        one = _statistic(item, worker, again, labels.n_items, labels.n_workers, half)
        if one is not None:
            drawn.append((one[0], one[2] - one[1], one[3]))
    null = np.array(drawn)
    ratio = null[:, 0] / null[:, 2]  # for each item, since the number that can be used varies
    p = (1 + int((ratio >= statistic / used).sum())) / (1 + len(ratio))
    excess = observed_variance - expected_variance - float(null[:, 1].mean())
    return Invariance(
        statistic, float(ratio.mean() * used), p, float(np.sqrt(max(excess, 0.0))), fit.spread, used, n_labels, split
    )  # fmt: skip


def _statistic(
    item: IntArray, worker: IntArray, right: IntArray, n_items: int, n_workers: int, half: IntArray | None
) -> tuple[float, float, float, int, int, Design, FacetsFit] | None:
    """Fit, split and compare; None where hardly any items are left."""
    names = (pa.array(np.arange(n_items).astype(str)), pa.array(np.arange(n_workers).astype(str)))
    ratings = Ratings(("item", "worker"), np.column_stack([item, worker]), names, right, np.array([0.0, 1.0]))
    kept, _ = set_aside(ratings, None, (1,))
    if not kept.any():
        return None
    design = make_design(ratings, kept, 0, frozenset([0, 1]), None)
    fit = fit_facets(design, joint=False, max_iter=50, tol=1e-4, errors=False)
    residual = find_residuals(design, fit, joint=False)
    if len(residual.rows) == 0:
        return None
    if half is None:  # the better and the worse, as many labels in each
        order = np.argsort(fit.parameters[: design.n_beta], kind="stable")
        count = np.bincount(worker[residual.rows], minlength=n_workers)[order]
        side = np.empty(n_workers, np.int64)
        side[order] = np.cumsum(count) > count.sum() / 2
    else:
        side = half
    first = side[worker[residual.rows]] == 0
    owner = residual.owner
    v = [np.bincount(owner[part], residual.variance[part], n_items) for part in (first, ~first)]
    r = [np.bincount(owner[part], residual.residual[part], n_items) for part in (first, ~first)]
    used = (v[0] > 1e-3) & (v[1] > 1e-3)
    if used.sum() < LEAST_ITEMS_SPLIT:
        return None
    v0, v1, gap = v[0][used], v[1][used], (r[0] / np.maximum(v[0], 1e-9) - r[1] / np.maximum(v[1], 1e-9))[used]
    variance = 1 / v0 + 1 / v1
    weight = 1 / variance
    middle = float((weight * gap).sum() / weight.sum())
    statistic, total = float((weight * (gap - middle) ** 2).sum()), float(weight.sum())
    expected = float((weight * variance).sum() / total)
    return statistic, expected, statistic / total, int(used.sum()), int(used[owner].sum()), design, fit


def _draw(design: Design, fit: FacetsFit, right: IntArray, rng: np.random.Generator) -> IntArray:
    """Return answers drawn from the model on the same design; workers whose ability is infinite answer as they did."""
    theta: FloatArray = fit.moments[:, 0] + np.sqrt(np.maximum(fit.moments[:, 1], 0.0)) * rng.standard_normal(design.n_objects)
    logit = theta[design.owner] + design.offsets(fit.parameters)
    fresh = right.copy()
    fresh[design.rows] = rng.random(len(design.rows)) < 1.0 / (1.0 + np.exp(-logit))
    return fresh


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
