"""Whether the error holds what it promises after an expert has answered items drawn at random.

    python benchmarks/expert.py [--draws 4] [--most 60000]    (CROWDASSAY_DATA names the folder of the data)

Of every dataset with 300 known truths or more, items with a truth are the job, and an expert who knows it answers none, 25, 50
and 100 of them, drawn at random. Constants and law are those learned without the dataset's group. A dataset is fitted once:
members never see known classes, so that a draw only corrects the pool. All figures are means over groups of means over draws.
Then what a known item counts for, so that the limits hold as promised: learned without each group, and scored on it.
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
from crowdassay.planning import stop
from crowdassay.planning.bands import make_bands
from crowdassay.planning.stop import believe, count_doubts, estimate_error, foretell
from crowdassay.solvers.assay.gold import check_known, correct, read_gold
from crowdassay.solvers.assay.pool import predict_proba

SIZES, MORE = (0, 25, 50, 100), 25
PROMISED = 0.95
WORTHS = tuple(round(0.4 + 0.05 * n, 2) for n in range(13))  # what a known item may count for
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
    for draw in range(draws):
        order = rng.permutation(len(having))
        widths, here = {}, []
        for size in sorted({size + more for size in SIZES for more in (0, MORE)}):
            known, rest = np.sort(order[:size]), np.sort(order[size:])
            pool, checked = fitted.pool_, None
            if size:
                gold = np.full(len(having), -1, np.int32)
                gold[known] = truth[known]
                told, target = take_items(job.with_gold(gold), known, named=False), np.eye(job.n_classes)[truth[known]]
                checked = check_known(told, fitted.pool_, target, constants, fitted.decide)
                pool = correct(fitted.pool_, read_gold(told, fitted.pool_, target), constants)
            posterior = predict_proba(take_items(job, rest, named=False), pool, use_gold=False)
            code = posterior.argmax(axis=1)
            doubt, wrong = 1 - posterior[np.arange(len(rest)), code], code != truth[rest]
            sums, law = (len(having), float(doubt.sum()), count_doubts(doubt), checked), law_without(one.group)
            limit = estimate_error(*sums, law, at_random=True)
            widths[size] = limit.high - limit.low
            if size not in SIZES:
                continue
            sure, errors, share = 1 - doubt >= settled, limit.wrong, wrong.sum() / len(having)
            plain = beta.ppf([0.025, 0.975], errors + 0.5, size - errors + 0.5) * len(rest) / len(having)
            bands, _ = make_bands(limit, sums[2], believe(*sums, law, at_random=True))
            parts = [(band, wrong[(1 - doubt > band.least) & (1 - doubt <= band.most)]) for band in bands]
            within = [band.low <= part.mean() <= band.high for band, part in parts if len(part)]
            here.append({
                "size": size, "held": limit.low <= share <= limit.high, "width": widths[size],
                "plain_held": plain[0] <= share <= plain[1], "plain_width": plain[1] - plain[0],
                "foretold": (then := foretell(*sums, MORE, law, at_random=True)).high - then.low, "settled": sure.mean(),
                "n_settled": int(sure.sum()), "wrong": wrong[sure].mean() if sure.any() else np.nan, "draw": draw,
                "surest": within[0], "others": np.mean(within[1:]) if within[1:] else np.nan,
                "by_worth": {worth: holds(share, worth, *sums, law) for worth in WORTHS},
            })  # fmt: skip
        rows += [{**row, "real": widths[row["size"] + MORE]} for row in here]
    return rows


def holds(share: float, worth: float, *sums) -> bool:
    """Return whether the limits hold a share of wrong labels, if a known item counts for so much."""
    kept, stop.KNOWN_WORTH = stop.KNOWN_WORTH, worth
    limit = estimate_error(*sums, at_random=True)
    stop.KNOWN_WORTH = kept
    return bool(limit.low <= share <= limit.high)


def learn(rows: list[dict]) -> None:
    """Print what a known item counts for, if the limits of all other groups are to hold as promised; and how theirs hold."""
    held = {
        (size, worth, group): np.mean([row["by_worth"][worth] for row in rows if (row["size"], row["group"]) == (size, group)])
        for size in SIZES[1:] for worth in WORTHS for group in {row["group"] for row in rows}
    }  # fmt: skip
    groups = sorted({group for *_, group in held})

    def misses(worth: float, without: str | None) -> float:
        means = [np.mean([held[size, worth, group] for group in groups if group != without]) for size in SIZES[1:]]
        return float(np.abs(np.array(means) - PROMISED).mean())

    chosen = {group: min(WORTHS, key=lambda worth: (misses(worth, group), worth)) for group in (*groups, None)}
    print("| left out | a known item counts for |\n|---|---|")
    for group, worth in chosen.items():
        print(f"| {group or 'none'} | {worth} |")
    for size in SIZES[1:]:
        print(f"Left out, after {size} answers: {np.mean([held[size, chosen[group], group] for group in groups]):.1%} hold.")


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
          "after 25 more | settled | wrong among them, all groups | groups with 20 or more of them "
          "| limits of the surest band hold | of other bands |")  # fmt: skip
    print("|---" * 11 + "|")
    for size in SIZES:
        some = [row for row in rows if row["size"] == size]
        mean = {name: over_groups(some, name) for name in some[0] if name not in ("group", "name", "by_worth")}
        enough = over_groups([row for row in some if row["n_settled"] >= ENOUGH_SETTLED], "wrong")
        print(
            f"| {size} | {mean['held']:.1%} | {mean['width']:.3f} | {mean['plain_held']:.1%} | {mean['plain_width']:.3f} | "
            f"{mean['foretold'] / mean['real']:.2f} | {mean['settled']:.0%} | {mean['wrong']:.1%} | {enough:.1%} | "
            f"{mean['surest']:.1%} | {mean['others']:.1%} |"
        )
    print()
    learn(rows)


if __name__ == "__main__":
    main()
