"""How well do rankings predict comparisons they have not seen, against crowd-kit's, and how fast are they?

    .venv-bench/bin/python benchmarks/ranking.py             held-out log-loss, simulated and real comparisons (needs crowd-kit)
    ... benchmarks/ranking.py --only emotion_joy --splits 6  of one dataset, the mean of six ways to split it
    python benchmarks/ranking.py --speed 10000000            seconds for that many comparisons
    python benchmarks/ranking.py --coverage 200              how often 95 % intervals hold, in so many draws of each kind

Comparisons are split at random into five folds; each fold is predicted from the other four. There are no ties, since
crowd-kit's models know none. A prediction below 1e-6 counts as 1e-6. NoisyBradleyTerry predicts with the skill and bias
that it found for each worker, ours with the reliability and bias. Real comparisons are made of graded labels: where a
worker gave two items different grades, that is a comparison of the two; 800 of them are drawn.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay import BradleyTerry, read_labels
from crowdassay.ranking.pairs import Pairs

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
REAL = ("affect_anger", "valence", "wordsim", "web_search", "emotion_joy")
FOLDS, FLOOR, MOST = 5, 1e-6, 800


def simulated(
    rng: np.random.Generator, n: int, items: int, workers: int, *, careless: float = 0.0, sided: float = 0.0
) -> Pairs:
    """Draw comparisons; some workers answer at random, some always say left."""
    score = rng.normal(0, 1, items)
    left = rng.integers(items, size=n)
    right = (left + rng.integers(1, items, size=n)) % items
    worker = rng.integers(workers, size=n)
    eta = score[left] - score[right]
    kind = rng.random(workers)
    eta = np.where(kind[worker] < careless, 0.0, eta)
    eta = np.where((kind[worker] >= careless) & (kind[worker] < careless + sided), 6.0, eta)
    outcome = (rng.random(n) > 1 / (1 + np.exp(-eta))).astype(np.int64)
    return make(left, right, outcome, worker, items, workers)


def make(left: Any, right: Any, outcome: Any, worker: Any, items: int, workers: int) -> Pairs:
    names = [pa.array([f"{kind}{i:06d}" for i in range(size)]) for kind, size in (("i", items), ("w", workers))]
    return Pairs(left, right, outcome, worker, names[0], names[1], np.zeros((len(left), 0)))


def from_grades(name: str, rng: np.random.Generator) -> Pairs | None:
    """Make comparisons of the grades that the same worker gave to two items, at random left or right."""
    folder = DATA / name
    if not folder.is_dir():
        return None
    labels = read_labels(folder / "labels.csv")
    grade = np.array([float(text) for text in labels.class_names])[labels.label]
    found = []
    for worker in range(labels.n_workers):
        rows = np.flatnonzero(labels.worker == worker)
        for _ in range(3 * len(rows)):
            one, two = rng.choice(rows, 2, replace=False) if len(rows) > 1 else (rows[0], rows[0])
            if grade[one] != grade[two] and labels.label_item[one] != labels.label_item[two]:
                found.append((labels.label_item[one], labels.label_item[two], int(grade[one] < grade[two]), worker))
    table = np.array(found)
    table = table[rng.permutation(len(table))[:MOST]]
    items, codes = np.unique(table[:, :2], return_inverse=True)
    codes = codes.reshape(-1, 2)
    return make(codes[:, 0], codes[:, 1], table[:, 2], table[:, 3], len(items), labels.n_workers)


def losses(pairs: Pairs, rng: np.random.Generator) -> dict[str, float]:
    """Return the held-out log-loss of each method."""
    import pandas as pd  # noqa: PLC0415  only where crowd-kit is installed
    from crowdkit.aggregation import BradleyTerry as TheirBradleyTerry  # noqa: PLC0415
    from crowdkit.aggregation import NoisyBradleyTerry  # noqa: PLC0415

    fold = rng.integers(FOLDS, size=pairs.n_pairs)
    names = np.array(pairs.items.to_pylist())
    total = dict.fromkeys(("crowd-kit BradleyTerry", "crowd-kit NoisyBradleyTerry", "crowdassay"), 0.0)
    for f in range(FOLDS):
        train, test = pairs.only(fold != f), pairs.only(fold == f)
        frame = pd.DataFrame({"worker": train.worker, "left": names[train.left], "right": names[train.right]})
        frame["label"] = np.where(train.outcome == 0, frame["left"], frame["right"])
        won = test.outcome == 0
        plain = TheirBradleyTerry(n_iter=1000, tol=1e-8).fit(frame).scores_
        score = np.log(np.maximum(plain.reindex(names).fillna(plain.mean()).to_numpy(), 1e-12))
        chance = 1 / (1 + np.exp(score[test.right] - score[test.left]))
        total["crowd-kit BradleyTerry"] += loss(chance, won)
        noisy = NoisyBradleyTerry(n_iter=100).fit(frame)
        score = np.nan_to_num(np.log(noisy.scores_ / (1 - noisy.scores_)).reindex(names).to_numpy())
        skill = noisy.skills_.reindex(range(len(pairs.workers))).fillna(noisy.skills_.mean()).to_numpy()[test.worker]
        side = noisy.biases_.reindex(range(len(pairs.workers))).fillna(0.5).to_numpy()[test.worker]
        chance = skill / (1 + np.exp(score[test.right] - score[test.left])) + (1 - skill) * side
        total["crowd-kit NoisyBradleyTerry"] += loss(chance, won)
        ours = BradleyTerry().fit(train).predict_proba(test)
        total["crowdassay"] += loss(ours[:, 0] / (ours[:, 0] + ours[:, 1]), won)
    return {name: value / pairs.n_pairs for name, value in total.items()}


def judged(
    rng: np.random.Generator,
    *,
    questions: int,
    people: int,
    each: int,
    both: bool,
    items: int = 8,
    alike: float = 0.6,
    bias: float = 0.4,
) -> tuple[Pairs, Any]:
    """Draw questions on which two items are compared by several people, or in both orders; return them and the scores.

    With a chance of ``alike`` a person answers a question as the first one did, or the second order as the first; else as if
    nobody had been asked before. So every single answer is as Bradley and Terry's model has it, for people with a ``bias``.
    """
    score = rng.normal(0, 1, items)
    one = rng.integers(items, size=questions)
    two = (one + rng.integers(1, items, size=questions)) % items
    asked = np.argsort(rng.random((questions, people)), axis=1)[:, :each]
    times = 2 * each if both else each
    worker = np.repeat(asked, 2, axis=1) if both else asked
    turned = np.arange(times) % 2 == 1 if both else rng.random((questions, times)) < 0.5
    turned = np.broadcast_to(turned, worker.shape)
    left, right = (np.where(turned, b[:, None], a[:, None]) for a, b in ((one, two), (two, one)))
    side = rng.normal(0, bias, people)
    lot = np.where(rng.random((questions, times)) < alike, rng.random((questions, 1)), rng.random((questions, times)))
    lot = np.where(turned, 1 - lot, lot)  # whoever answers alike chooses the same one, on whichever side
    won = lot < 1 / (1 + np.exp(score[right] - score[left] - side[worker]))
    outcome = np.where(won, 0, 1).ravel()
    pairs = make(left.ravel(), right.ravel(), outcome, worker.ravel(), items, people)
    return replace(pairs, question=np.repeat(np.arange(questions), times)), score - score.mean()


KINDS: dict[str, dict[str, Any]] = {
    "3 of 3 people on a question": {"questions": 333, "people": 3, "each": 3, "both": False},
    "3 of 12 people on a question": {"questions": 333, "people": 12, "each": 3, "both": False},
    "3 of 60 people on a question": {"questions": 333, "people": 60, "each": 3, "both": False},
    "3 of 12 people, 100 questions": {"questions": 100, "people": 12, "each": 3, "both": False},
    "one judge, both orders": {"questions": 333, "people": 1, "each": 1, "both": True},
    "3 judges, both orders": {"questions": 333, "people": 3, "each": 3, "both": True},
}


def coverage(draws: int) -> None:
    """Print how often intervals hold the score, with the question known and not known."""
    print("| | questions known | not known |\n|---|---|---|")
    for name, kind in KINDS.items():
        rng, hits = np.random.default_rng(0), [[], []]
        for _ in range(draws):
            pairs, score = judged(rng, **kind)
            for n, known in enumerate((pairs, replace(pairs, question=None))):
                table = BradleyTerry().fit(known).ranking_
                place = np.array([int(item[1:]) for item in table["item"].to_pylist()])
                low, high = (table[limit].to_numpy() for limit in ("low", "high"))
                hits[n] += ((low < score[place]) & (score[place] < high)).tolist()
        print(f"| {name} | {np.mean(hits[0]):.1%} | {np.mean(hits[1]):.1%} |", flush=True)


def loss(chance: Any, won: Any) -> float:
    return float(-np.log(np.maximum(np.where(won, chance, 1 - chance), FLOOR)).sum())


def speed(n: int) -> None:
    """Time the fit of many comparisons of 100 items, with and without workers who differ."""
    rng = np.random.default_rng(0)
    BradleyTerry().fit(simulated(rng, 200, 5, 3)).ranking_  # noqa: B018  compiles
    pairs = simulated(rng, n, 100, 2000, careless=0.1)
    for name, settings in {"all workers alike": {"reliability": False}, "workers who differ": {}}.items():
        begin = time.perf_counter()
        rows = BradleyTerry(**settings).fit(pairs).ranking_.num_rows
        print(f"| {n:,} comparisons of {rows} items, {name} | {time.perf_counter() - begin:.1f} s |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=int)
    parser.add_argument("--coverage", type=int)
    parser.add_argument("--only", choices=["simulated", "real", *REAL])
    parser.add_argument("--splits", type=int, default=1)
    options = parser.parse_args()
    if options.speed:
        speed(options.speed)
        return
    if options.coverage:
        coverage(options.coverage)
        return
    rng = np.random.default_rng(0)
    sets: dict[str, Pairs | None] = {
        "simulated, all workers alike": simulated(rng, 3000, 30, 40),
        "simulated, a fifth careless": simulated(rng, 3000, 30, 40, careless=0.2),
        "simulated, a fifth always left": simulated(rng, 3000, 30, 40, sided=0.2),
        "simulated, few comparisons": simulated(rng, 600, 60, 20, careless=0.1),
    }
    sets = {} if options.only in ("real", *REAL) else sets
    if options.only != "simulated":
        rng = np.random.default_rng(1)  # the same comparisons whether or not the simulated ones come first
        sets |= {f"{name} (grades)": from_grades(name, rng) for name in REAL}
    print("| comparisons | crowd-kit BradleyTerry | crowd-kit NoisyBradleyTerry | crowdassay |")
    print("|---|---|---|---|")
    for name, pairs in sets.items():
        if pairs is None or (options.only in REAL and not name.startswith(options.only)):
            continue
        found = [losses(pairs, np.random.default_rng(2 + split)) for split in range(options.splits)]
        means = (np.mean([one[method] for one in found]) for method in found[0])
        print(f"| {name} | {' | '.join(f'{value:.4f}' for value in means)} |", flush=True)


if __name__ == "__main__":
    main()
