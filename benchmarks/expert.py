"""Whether the error holds what it promises after an expert has answered items drawn at random.

    python benchmarks/expert.py [--draws 4] [--most 60000]    (CROWDASSAY_DATA names the folder of the data)

Of every dataset with 300 known truths or more, items with a truth are the job, and an expert who knows it answers 25, 50 and
100 of them, drawn at random. Constants and law are those learned without the dataset's group. A dataset is fitted once: members
never see known classes, so that a draw only corrects the pool. All figures are means over groups of means over draws.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from scipy.stats import beta

from accuracy import LEFT_OUT, law_without
from corpus import Dataset, datasets
from crowdassay import Assay
from crowdassay.labels.join import take_items
from crowdassay.models.assay.constants import Constants
from crowdassay.planning.stop import count_doubts, estimate_error, foretell
from crowdassay.solvers.assay.gold import check_known, correct, read_gold
from crowdassay.solvers.assay.pool import predict_proba

SIZES, MORE = (25, 50, 100), 25
FEWEST_TRUTHS, MOST_ITEMS, ENOUGH_SETTLED = 300, 4000, 20


def measure(one: Dataset, draws: int) -> list[dict[str, float]]:
    """Return a row for every draw and size."""
    having = np.flatnonzero(one.truth >= 0)
    constants = Constants(**json.loads(LEFT_OUT.read_text(encoding="utf-8"))[one.group])
    fitted = Assay(constants=constants, threads=1).fit(one.labels)
    rng, settled = np.random.default_rng(0), fitted.result_.settled
    having = having if len(having) <= MOST_ITEMS else np.sort(rng.choice(having, MOST_ITEMS, replace=False))
    job, truth = take_items(one.labels, having, named=False), one.truth[having]
    rows = []
    for _ in range(draws):
        order = rng.permutation(len(having))
        widths = {}
        for size in sorted({size + more for size in SIZES for more in (0, MORE)}):
            known, rest = np.sort(order[:size]), np.sort(order[size:])
            gold = np.full(len(having), -1, np.int32)
            gold[known] = truth[known]
            told, target = take_items(job.with_gold(gold), known, named=False), np.eye(job.n_classes)[truth[known]]
            checked = check_known(told, fitted.pool_, target, constants, fitted.decide)
            pool = correct(fitted.pool_, read_gold(told, fitted.pool_, target), constants)
            posterior = predict_proba(take_items(job, rest, named=False), pool, use_gold=False)
            code = posterior.argmax(axis=1)
            doubt, wrong = 1 - posterior[np.arange(len(rest)), code], code != truth[rest]
            sums = (len(having), float(doubt.sum()), count_doubts(doubt), checked)
            limit = estimate_error(*sums, law_without(one.group), at_random=True)
            widths[size] = limit.high - limit.low
            if size not in SIZES:
                continue
            then = foretell(*sums, MORE, law_without(one.group), at_random=True)
            sure, errors = 1 - doubt >= settled, limit.wrong
            plain = beta.ppf([0.025, 0.975], errors + 0.5, size - errors + 0.5) * len(rest) / len(having)
            rows.append({
                "size": size, "held": limit.low <= wrong.sum() / len(having) <= limit.high, "width": widths[size],
                "plain_held": plain[0] <= wrong.sum() / len(having) <= plain[1], "plain_width": plain[1] - plain[0],
                "foretold": then.high - then.low, "settled": sure.mean(), "n_settled": int(sure.sum()),
                "wrong": wrong[sure].mean() if sure.any() else np.nan, "draw": len(rows) // len(SIZES),
            })  # fmt: skip
        for row in rows[-len(SIZES) :]:
            row["real"] = widths[row["size"] + MORE]
    return rows


def over_groups(rows: list[dict], name: str) -> float:
    """Return the mean over groups of the mean over rows, those without a value left out."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        if not np.isnan(row[name]):
            groups.setdefault(row["group"], []).append(row[name])
    return float(np.mean([np.mean(values) for values in groups.values()]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--most", type=float, default=60_000)
    given = parser.parse_args()
    rows = []
    for one in datasets(most=given.most):
        if (one.truth >= 0).sum() >= FEWEST_TRUTHS:
            rows += [{**row, "group": one.group, "name": one.name} for row in measure(one, given.draws)]
    sets, groups = len({row["name"] for row in rows}), len({row["group"] for row in rows})
    print(f"{len(rows) // len(SIZES)} draws over {sets} datasets in {groups} groups\n")
    print("| answers | interval holds | its width | binomial interval holds | its width | foretold width over the real one "
          "after 25 more | settled | wrong among them, all groups | groups with 20 or more of them |")  # fmt: skip
    print("|---" * 9 + "|")
    for size in SIZES:
        some = [row for row in rows if row["size"] == size]
        mean = {name: over_groups(some, name) for name in some[0] if name not in ("group", "name")}
        enough = over_groups([row for row in some if row["n_settled"] >= ENOUGH_SETTLED], "wrong")
        print(
            f"| {size} | {mean['held']:.1%} | {mean['width']:.3f} | {mean['plain_held']:.1%} | {mean['plain_width']:.3f} | "
            f"{mean['foretold'] / mean['real']:.2f} | {mean['settled']:.0%} | {mean['wrong']:.1%} | {enough:.1%} |"
        )


if __name__ == "__main__":
    main()
