"""Real labels replayed: what error a policy reaches with which share of them, and for what money.

A dataset's labels lie face down. Each policy turns over a few at a time, the method is fitted to what it has seen, and the
error against the truth is noted. `ours` chooses item and worker; the others choose the item and take a worker at random.
The method's constants, and with them the law by which labels depend, are those learned without the dataset's group.

Run: python benchmarks/replay.py [--seeds 3] [--json replay.json] [--policies ours,uniform] [dataset ...]
     (what replay.json holds already is not run again; CROWDASSAY_DATA names the folder of the data)
     python benchmarks/replay.py --money [dataset ...]   workers of different prices
     python benchmarks/replay.py --short [dataset ...]   what 45 % of the labels lack, and how far that can be told from chance
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import policies
from crowdassay import Assay, Labels, read_labels
from crowdassay.labels.truth import match_truth
from crowdassay.models.assay.constants import Constants
from crowdassay.models.assay.dependence import Dependence
from crowdassay.planning.gain import label_gain
from crowdassay.planning.state import CROWD_LABELS, State

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
SHARES = (0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0)
DATASETS = (
    "rte", "temp", "dog", "bluebirds", "face_sentiment", "web_search", "weather_sentiment_amt", "tweet_sentiment",
    "sentiment_popularity_amt", "zencrowd_us", "music_genre", "flowers", "medrel_cause", "ducks", "athlete_dtype", "wsd",
    "truth_multidim", "vision_sketch", "css_emotion", "numersense", "valence", "barzan_mozafari", "radiology_nico",
    "fingerprint_hicklin", "trec", "adult_content", "relevance_rf10_ordinal", "judges_triviaqa", "hitspam_crowdflower",
)  # fmt: skip
STEP, LATE = 0.025, 0.1  # of the labels, turned over at a time, up to half of them (or as --step says) and then
MOST_ITEMS = 800
PARTS = 10  # of the items, each told what workers answer by the others
LEFT_OUT = json.loads((Path(__file__).parent / "left_out.json").read_text(encoding="utf-8"))


def load(name: str) -> tuple[Labels, np.ndarray, dict[str, Any]]:
    """Return labels, truth and what meta.json says."""
    folder = DATA / name
    labels = read_labels(folder / "labels.csv")
    meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return labels, match_truth(labels, folder / "truth.csv")[0], meta


class Replay:
    """The labels of items of known class, shuffled, some of them seen; no worker labels an item twice."""

    def __init__(self, name: str, seed: int) -> None:
        labels, truth, meta = load(name)
        self.seed, self.constants = seed, Constants(**LEFT_OUT[meta["group"]])
        self.generator = np.random.default_rng(seed)
        known = np.flatnonzero(truth >= 0)
        chosen = np.zeros(labels.n_items, bool)
        chosen[known if len(known) <= MOST_ITEMS else self.generator.choice(known, MOST_ITEMS, replace=False)] = True
        rows = np.flatnonzero(chosen[labels.label_item])
        pairs = labels.label_item[rows].astype(np.int64) * labels.n_workers + labels.worker[rows]
        rows = self.generator.permutation(rows[np.sort(np.unique(pairs, return_index=True)[1])])
        code = np.cumsum(chosen) - 1
        self.item, self.worker, self.label = code[labels.label_item[rows]], labels.worker[rows].astype(int), labels.label[rows]
        self.truth, self.sizes = truth[chosen], (int(chosen.sum()), labels.n_workers, labels.n_classes)
        self.words = {
            name: pa.array(np.arange(size)) for name, size in zip(("items", "workers", "classes"), self.sizes, strict=True)
        }
        self.seen = np.zeros(len(rows), bool)
        self.seen[np.unique(self.item, return_index=True)[1]] = True  # one label of each item to begin with

    @property
    def law(self) -> Dependence:
        """The law by which labels depend, learned without the dataset's group."""
        return Dependence(self.constants.correlation)

    @property
    def share(self) -> float:
        """The share of the labels seen."""
        return float(self.seen.mean())

    def fit(self) -> float:
        """Fit to what has been seen; return the error."""
        seen = self.seen
        data = Labels.from_codes(self.item[seen], self.worker[seen], self.label[seen].astype(int), **self.words)
        self.result = Assay(constants=self.constants).fit(data).result_
        self.votes = data.votes()
        return self.error()

    def error(self) -> float:
        """Return the share of items labelled wrong."""
        return float((self.result.code != self.truth).mean())

    def told_tables(self, items: np.ndarray) -> np.ndarray:
        """Return what workers answer, as all labels on some items (n_items,) and their truth tell, (n_workers, n_classes, n_classes)."""  # noqa: E501
        _, n_workers, n_classes = self.sizes
        counts, rows = np.zeros((n_workers, n_classes, n_classes)), items[self.item]
        np.add.at(counts, (self.worker[rows], self.truth[self.item[rows]], self.label[rows].astype(int)), 1.0)
        crowd = counts.sum(axis=0) + 1.0
        counts += CROWD_LABELS * crowd / crowd.sum(axis=1, keepdims=True)
        return np.asarray(counts / counts.sum(axis=2, keepdims=True))

    def turn(self, scores: np.ndarray, size: int) -> np.ndarray:
        """See the labels of the highest scores (n_labels,), of as many items as possible; return which."""
        hidden = np.flatnonzero(~self.seen)
        hidden = hidden[scores[hidden] > -np.inf]
        order = hidden[np.argsort(-scores[hidden], kind="stable")]
        _, first = np.unique(self.item[order], return_index=True)
        first = np.sort(first)
        rest = np.setdiff1d(np.arange(len(order)), first)
        chosen = order[np.concatenate([first, rest])[:size]]
        self.seen[chosen] = True
        return chosen


def ours(
    *,
    choose_workers: bool = True,
    limit: bool = False,
    told: bool = False,
    overlap: float | None = None,
    first_labels: int = 1,
    price: np.ndarray | None = None,
) -> Callable[[Replay], np.ndarray]:
    """Score labels by what `label_gain` expects of their item and worker, for the price, as `assign` does.

    The options are to compare with: with ``limit`` nobody is asked at a time for more labels than are known of them; with
    ``told`` the truth of nine tenths of the items has told what workers answer to the rest, which nobody can know.
    """

    def score(job: Replay) -> np.ndarray:
        state = State.of(job.result, law=job.law)
        if overlap is not None:
            state = replace(state, law=Dependence(overlap))
        hidden = np.flatnonzero(~job.seen)
        item, worker = job.item[hidden], job.worker[hidden]
        gain = label_gain(state, item, worker if choose_workers else None)
        for part in range(PARTS if told else 0):
            inside = np.arange(job.sizes[0]) % PARTS == part
            rows = inside[item]
            gain[rows] = label_gain(replace(state, tables=job.told_tables(~inside)), item[rows], worker[rows])
        gain = gain if price is None else gain / price[worker]
        gain = gain + 1e3 * np.maximum(first_labels - state.n_labels[item], 0)
        if limit and choose_workers:
            order = np.lexsort((-gain, worker))
            place = np.arange(len(order)) - np.searchsorted(worker[order], worker[order])
            gain[order[place >= known_of(state)[worker[order]]]] = -np.inf
        scores = np.full(len(job.seen), -np.inf)
        scores[hidden] = gain
        return scores

    return score


def known_of(state: State) -> np.ndarray:
    """Return how many labels of each worker can be compared with others' labels, (n_workers,), and a few more."""
    labels = state.labels
    return np.bincount(labels.worker, state.n_labels[labels.label_item] > 1, len(state.workers)) + CROWD_LABELS


def by_item(score: Callable[[Replay], np.ndarray]) -> Callable[[Replay], np.ndarray]:
    """Score labels by their item; ties and workers at random."""
    return lambda job: score(job)[job.item] + 1e-9 * job.generator.random(len(job.item))


def seen_labels(job: Replay) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return job.item[job.seen], job.worker[job.seen], job.label[job.seen].astype(int)


POLICIES: dict[str, Callable[[Replay], np.ndarray]] = {
    "ours": ours(),
    "ours with workers at random": ours(choose_workers=False),
    "ours with a limit for workers": ours(limit=True),
    "ours with two labels each first": ours(first_labels=2),
    "ours with independent labels": ours(overlap=0.0),
    "ours with workers known": ours(told=True),
    "uniform": by_item(lambda job: policies.uniform(job.votes.sum(axis=1))),
    "uncertainty first": by_item(lambda job: policies.uncertainty(job.result.posterior)),
    "Opt-KG": by_item(lambda job: policies.optimistic_gradient(job.votes)),
    "ActiveLab": by_item(lambda job: policies.activelab(*seen_labels(job), job.sizes)),
}


def replay(job: Replay, policy: Callable[[Replay], np.ndarray], early: float = STEP) -> np.ndarray:
    """Return the error at each of SHARES, between the shares seen by interpolation."""
    at, errors = [], []
    while True:
        errors.append(job.fit())
        at.append(job.share)
        if job.seen.all():
            return np.interp(SHARES, at, errors)
        job.turn(policy(job), step(job, early))


def step(job: Replay, early: float = STEP) -> int:
    """Return how many labels to turn over next."""
    return max(1, int((early if job.share < 0.5 else LATE) * len(job.seen)))


def table(runs: dict[str, dict[str, np.ndarray]], groups: dict[str, str]) -> str:
    """Return two Markdown tables, of runs (n_seeds, n_shares): means over groups by share, and datasets at 45 %.

    What follows ± is the standard error over seeds; differences are those of the same seeds.
    """
    names = list(next(iter(runs.values())))
    lines = ["| policy | " + " | ".join(f"{share:.0%}" for share in SHARES) + " | mean | against uniform | worst dataset |"]
    lines.append("|---" * (len(SHARES) + 4) + "|")
    means = {name: group_mean({d: rows[name] for d, rows in runs.items()}, groups) for name in names}
    for name in names:
        even = "uniform" if "uniform" in names else name
        worst = max((100 * float((rows[name] - rows[even]).mean()), dataset) for dataset, rows in runs.items())
        cells = " | ".join(f"{100 * error:.2f}" for error in means[name].mean(axis=0))
        apart = with_error(100 * (means[name] - means[even]).mean(axis=1))
        lines.append(
            f"| {name} | {cells} | {with_error(100 * means[name].mean(axis=1))} | {apart} | {worst[0]:+.2f} {worst[1]} |"
        )
    lines += ["", "| dataset | all labels | " + " | ".join(f"{name} at 45 % | less all labels" for name in names) + " |"]
    lines.append("|---" * (2 * len(names) + 2) + "|")
    at = SHARES.index(0.45)
    for dataset, rows in runs.items():
        pairs = [(rows[name][:, at], rows[name][:, at] - rows[name][:, -1]) for name in names]
        cells = " | ".join(f"{with_error(100 * error)} | {with_error(100 * more)}" for error, more in pairs)
        lines.append(f"| {dataset} | {100 * rows[names[0]][:, -1].mean():.2f} | {cells} |")
    return "\n".join(lines)


def with_error(values: np.ndarray) -> str:
    """Return the mean over seeds, with its standard error where there are several."""
    return f"{values.mean():.2f}" + (f" ± {standard_error(values):.2f}" if len(values) > 1 else "")


def standard_error(values: np.ndarray) -> float:
    """Return the standard error of the mean."""
    return float(values.std(ddof=1) / len(values) ** 0.5)


def group_mean(values: dict[str, np.ndarray], groups: dict[str, str]) -> np.ndarray:
    """Return the mean over groups of the mean within each, shape as each value."""
    parts: dict[str, list[np.ndarray]] = {}
    for dataset, value in values.items():
        parts.setdefault(groups[dataset], []).append(value)
    return np.mean([np.mean(part, axis=0) for part in parts.values()], axis=0)


def money(job: Replay, aware: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Replay with workers who cost 2 to 20 cents a label, drawn at random; return dollars spent and errors left.

    An ``aware`` plan weighs gain against price; the other labels uniformly.
    """
    price = np.random.default_rng([seed, 1]).choice([0.02, 0.05, 0.10, 0.20], job.sizes[1])
    at, errors = [], []
    spent = float(price[job.worker[job.seen]].sum())
    while True:
        errors.append(job.fit() * job.sizes[0])
        at.append(spent)
        if job.seen.all():
            return np.array(at), np.array(errors)
        scores = (ours(price=price) if aware else POLICIES["uniform"])(job)
        spent += float(price[job.worker[job.turn(scores, step(job))]].sum())


def money_table(names: list[str], seeds: int) -> str:
    """Return a Markdown table: dollars for each error removed, until nine tenths of those that all labels remove are gone."""
    lines = ["| dataset | errors with one label each | with all | all labels cost | ours: dollars | per error removed | "
             "uniform: dollars | per error removed |", "|---" * 8 + "|"]  # fmt: skip
    for name in names:
        rows = []
        for seed in range(seeds):
            runs = [money(Replay(name, seed), aware, seed) for aware in (True, False)]
            start, end = runs[0][1][0], runs[0][1][-1]
            goal = start - 0.9 * (start - end)
            cost = [float(at[np.flatnonzero(errors <= goal)[0]] - at[0]) if start > end else np.nan for at, errors in runs]
            rows.append([start, end, runs[0][0][-1] - runs[0][0][0], cost[0], cost[1], 0.9 * (start - end)])
        start, end, whole, mine, theirs, removed = np.mean(rows, axis=0)
        cells = f"{start:.0f} | {end:.0f} | ${whole:.0f} | ${mine:.0f} | ${mine / removed:.2f} | ${theirs:.0f}"
        lines.append(f"| {name} | {cells} | ${theirs / removed:.2f} |")
    return "\n".join(lines)


def short_table(names: list[str], seeds: int) -> str:
    """Return a Markdown table: what 45 % of the labels, chosen by the plan, lack to all of them.

    What follows the first ± is the standard error over replays, whose items are the same; what follows the second that over
    items, such as other items of the same kind would show, with the replays' mean of each item.
    """
    lines = ["| dataset | all labels | 45 % of them | more | over replays | over items |", "|---" * 6 + "|"]
    policy = POLICIES["ours"]
    for name in names:
        some, whole = [], []
        for seed in range(seeds):
            job = Replay(name, seed)
            job.fit()
            while (left := int(0.45 * len(job.seen)) - int(job.seen.sum())) > 0:
                job.turn(policy(job), min(step(job), left))
                job.fit()
            some.append(job.result.code != job.truth)
            job.seen[:] = True
            job.fit()
            whole.append(job.result.code != job.truth)
        more = 100 * (np.array(some, float) - np.array(whole, float))  # (n_seeds, n_items), the same items in the same order
        replays, items = (more.mean(axis=axis) for axis in (1, 0))
        cells = f"{100 * np.mean(whole):.2f} | {100 * np.mean(some):.2f} | {more.mean():+.2f}"
        lines.append(f"| {name} | {cells} | ± {standard_error(replays):.2f} | ± {standard_error(items):.2f} |")
    return "\n".join(lines)


def run(
    names: list[str], chosen: list[str], seeds: int, path: Path | None, early: float
) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Replay every dataset by every policy; return errors by dataset, policy and seed. What the file holds is kept."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    if path is not None and path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))["errors"]
    for seed in range(seeds):
        for name in names:
            for policy in chosen:
                done = found.setdefault(name, {}).setdefault(policy, {})
                if str(seed) not in done:
                    errors = replay(Replay(name, seed), POLICIES[policy], early)
                    done[str(seed)] = [round(float(error), 6) for error in errors]
            if path is not None:
                path.write_text(json.dumps({"shares": SHARES, "errors": found}), encoding="utf-8")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--step", type=float, default=STEP)
    parser.add_argument("--money", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--policies", default=",".join(POLICIES), help="as in the first column of what is printed")
    parser.add_argument("datasets", nargs="*")
    given = parser.parse_args()
    names = given.datasets or list(DATASETS)
    if given.money:
        print(money_table(given.datasets or ["rte", "temp", "dog", "tweet_sentiment"], given.seeds))
        return
    if given.short:
        print(short_table(given.datasets or ["rte", "temp"], given.seeds))
        return
    chosen = given.policies.split(",")
    found = run(names, chosen, given.seeds, given.json, given.step)
    runs = {n: {p: np.array([found[n][p][str(s)] for s in range(given.seeds)]) for p in chosen} for n in names}
    print(table(runs, {name: load(name)[2]["group"] for name in names}))


if __name__ == "__main__":
    main()
