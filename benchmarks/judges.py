"""How good are the rates of `crowdassay rate` on real panels of language models, and where items share a question?

    python benchmarks/judges.py [--data FOLDER] [--repeats 100] [--sizes 20,50,100,200] [--only NAME]
    python benchmarks/judges.py --clusters [--repeats 100]

For every dataset whose workers are language models, people's labels are the known classes of some items drawn at random, again
and again. Printed for each number of labels: the share of 95 % intervals that hold the real rate (all classes), their width
against people's labels alone, the widest of all against that, the mean absolute error of the rate, and the calibration error
and log-loss of the items that people did not see, before (the default's own probabilities) and after correction by people's
labels. Panels of one group (`group` in meta.json) count as one in "mean of groups". Nothing in the intervals was fitted to
these panels. Last, how many independent judges each panel is worth, with the class of every item known.

With --clusters, simulated answers to questions instead: answers to one question are alike (correlation 0.4), and a judge who
misreads a question misjudges all of them. Printed for each way in which people's answers are drawn: the share of 95 % intervals
that hold the rate of these answers, and of the system that gave them (--beyond), with questions as clusters and without.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay import read_labels
from crowdassay.judges.panel import read_judges
from crowdassay.judges.people import gather_people
from crowdassay.judges.prediction import predict_people
from crowdassay.judges.rate import default_panel
from crowdassay.judges.rates import Evidence, choose_strata, claimed_rates, find_rates
from crowdassay.judges.redundancy import find_likeness
from crowdassay.judges.verdicts import Verdicts, split_verdicts

FLOOR = 1e-6
COLUMNS = ("people", "rate", "width", "widest", "error", "panel", "ece", "ece panel", "loss", "loss panel")


def panels(folder: Path, only: str | None) -> Iterator[tuple[str, str, Verdicts]]:
    """Yield each panel's name and group, and its verdicts with the truth of all its items as gold."""
    for path in sorted(folder.glob("*/meta.json")):
        meta = json.loads(path.read_text())
        if "language model" in str(meta.get("workers_are")) and only in (None, meta["name"]):
            lines = (path.parent / "truth.csv").read_text().splitlines()[1:]
            truth = dict(line.rsplit(",", 1) for line in lines)
            labels = read_labels(path.parent / "labels.csv", classes=meta["classes"])
            yield (
                meta["name"],
                str(meta.get("group", meta["name"])),
                split_verdicts(labels, gold=truth, classes=meta["classes"]),
            )


def draw(verdicts: Verdicts, size: int, panel: Any, generator: np.random.Generator) -> dict[str, list[float]]:
    """Draw people's items once and compare with the truth."""
    known = np.flatnonzero(verdicts.gold >= 0)
    gold = np.full_like(verdicts.gold, -1)
    chosen = generator.permutation(known)[:size]
    gold[chosen] = verdicts.gold[chosen]
    drawn = Verdicts(**{**verdicts.__dict__, "gold": gold})
    people = gather_people(drawn)
    claim, blind = predict_people(drawn, people, panel, generator)
    stratum, alone_stratum, _ = choose_strata(drawn, people)
    evidence = Evidence(people, blind, claim, stratum, alone_stratum)
    among = verdicts.gold >= 0
    truth = np.bincount(verdicts.gold[known], minlength=verdicts.n_classes) / len(known)
    found, alone = find_rates(evidence, among), find_rates(evidence, among, powered=False)
    assert found is not None
    assert alone is not None
    rest = np.setdiff1d(known, chosen)
    scores = [_scores(table[rest], verdicts.gold[rest]) for table in (blind, claim)]
    return {
        "people": [_holds(one, t) for one, t in zip(alone, truth, strict=True)],
        "rate": [_holds(one, t) for one, t in zip(found, truth, strict=True)],
        "panel": [_holds(one, t) for one, t in zip(claimed_rates(evidence, among), truth, strict=True)],
        "width": [a.width / b.width for a, b in zip(found, alone, strict=True)],
        "widest": [max(a.width / b.width for a, b in zip(found, alone, strict=True))],
        "error": [abs(one.estimate - t) for one, t in zip(found, truth, strict=True)],
        "ece": [scores[0][0]], "ece panel": [scores[1][0]], "loss": [scores[0][1]], "loss panel": [scores[1][1]],
    }  # fmt: skip


def _holds(one: Any, truth: float) -> float:
    return float(one.low - 1e-9 <= truth <= one.high + 1e-9)


def _scores(probability: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    loss = -np.log(np.maximum(probability[np.arange(len(truth)), truth], FLOOR)).mean()
    sure, right = probability.max(axis=1), probability.argmax(axis=1) == truth
    tenth = np.minimum((sure * 10).astype(int), 9)
    gaps = np.abs(np.bincount(tenth, weights=sure - right, minlength=10))  # ten bins, weighed by their items
    return float(gaps.sum() / len(truth)), float(loss)


DESIGNS = {  # questions, answers to each, questions drawn and answers drawn of each; None for answers drawn one by one
    "20 questions, all 5 answers": (200, 5, 20, 5),
    "40 questions, all 5 answers": (200, 5, 40, 5),
    "50 questions, 2 of 5 answers": (200, 5, 50, 2),
    "10 questions, all 10 answers": (100, 10, 10, 10),
    "100 answers, one by one": (200, 5, None, 100),
}
ALIKE, PASS_RATE = 0.4, 0.65


def questions(design: tuple[int, int, int | None, int], generator: np.random.Generator) -> tuple[Verdicts, np.ndarray, float]:
    """Return verdicts on answers to questions, the question of each answer, and the rate of these answers."""
    n_questions, n_answers, drawn, each = design
    spread = (1 - ALIKE) / ALIKE
    chance = generator.beta(PASS_RATE * spread, (1 - PASS_RATE) * spread, n_questions)
    shape = (n_questions, n_answers)
    passes = generator.random(shape) < chance[:, None]
    said = [passes ^ (generator.random(shape) < 0.15) ^ (generator.random(n_questions) < 0.15)[:, None] for _ in range(3)]
    seen = np.zeros(shape, bool)
    if drawn is None:
        seen.flat[generator.permutation(seen.size)[:each]] = True
    else:
        for q in generator.permutation(n_questions)[:drawn]:
            seen[q, generator.permutation(n_answers)[:each]] = True
    n = passes.size
    return Verdicts(
        items=pa.array([str(j) for j in range(n)]), judges=("a", "b", "c"), people=(), classes=("fail", "pass"),
        answers=("fail", "pass"), item=np.repeat(np.arange(n), 3), judge=np.tile(np.arange(3), n),
        answer=np.stack([one.ravel() for one in said], axis=1).ravel().astype(int), seen=np.zeros(0, int),
        person=np.zeros(0, int), said=np.zeros(0, int), gold=np.where(seen, passes, -1).ravel(),
    ), np.repeat(np.arange(n_questions), n_answers), float(passes.mean())  # fmt: skip


def clusters(repeats: int) -> None:
    """Print how often intervals hold where items share a question, with clusters and without."""
    columns = [f"{who} {how}" for who in ("these", "beyond") for how in ("clustered", "plain", "width")]
    print(f"{'people saw':<32}" + "".join(f"{name:>18}" for name in columns))
    for number, (name, design) in enumerate(DESIGNS.items()):
        held: dict[str, list[float]] = {column: [] for column in columns}
        for repeat in range(repeats):
            generator = np.random.default_rng([number, repeat])
            verdicts, question, rate = questions(design, generator)
            people, panel = gather_people(verdicts), default_panel(verdicts)
            stratum, alone_stratum, _ = choose_strata(verdicts, people)
            every = np.ones(verdicts.n_items, bool)
            for who, target in (("these", rate), ("beyond", PASS_RATE)):
                widths = []
                for how, cluster in (("clustered", question), ("plain", None)):
                    claim, blind = predict_people(verdicts, people, panel, np.random.default_rng(repeat), cluster)
                    evidence = Evidence(people, blind, claim, stratum, alone_stratum, beyond=who == "beyond", cluster=cluster)
                    found = find_rates(evidence, every)
                    assert found is not None
                    held[f"{who} {how}"].append(_holds(found[1], target))
                    widths.append(found[1].width)
                held[f"{who} width"].append(widths[0] / widths[1])
        print(f"{name:<32}" + "".join(f"{np.mean(held[column]):>18.3f}" for column in columns), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--sizes", default="20,50,100,200")
    parser.add_argument("--only")
    parser.add_argument("--clusters", action="store_true")
    options = parser.parse_args()
    if options.clusters:
        clusters(options.repeats)
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    whole: dict[int, dict[str, list[dict[str, float]]]] = {size: {} for size in sizes}
    worth: dict[str, str] = {}
    print(f"{'panel':<20}{'labels':>7}" + "".join(f"{name:>12}" for name in COLUMNS))
    for name, group, verdicts in panels(options.data, options.only):
        panel = default_panel(verdicts)
        worth[name] = judges_worth(verdicts)
        for size in sizes:
            generator = np.random.default_rng(size)
            drawn = [draw(verdicts, size, panel, generator) for _ in range(options.repeats)]
            means = {column: float(np.mean([value for one in drawn for value in one[column]])) for column in COLUMNS}
            means["widest"] = max(value for one in drawn for value in one["widest"])
            whole[size].setdefault(group, []).append(means)
            _show(name, size, means)
    for size in sizes:
        for group, found in whole[size].items():
            if len(found) > 1:
                _show(f"group {group}", size, _together(found, np.mean))
    for name, how in (("mean of groups", np.mean), ("mean", np.mean), ("least", np.min), ("most", np.max)):
        for size in sizes:
            every = [means for found in whole[size].values() for means in found]
            groups = [_together(found, np.mean) for found in whole[size].values()]
            _show(name, size, _together(groups if name == "mean of groups" else every, how))
    for name, text in worth.items():
        print(f"{name:<20}{text}")


def _together(found: list[dict[str, float]], how: Any) -> dict[str, float]:
    return {name: float(how([means[name] for means in found])) for name in COLUMNS}


def judges_worth(verdicts: Verdicts) -> str:
    """Say how many independent judges a panel is worth."""
    people = gather_people(verdicts)
    found = find_likeness(read_judges(verdicts, people), people.code, np.random.default_rng(0))
    return f"{len(verdicts.judges):>3} judges are worth {found.worth:.1f} ({found.low:.1f} to {found.high:.1f})"


def _show(name: str, size: int, means: dict[str, float]) -> None:
    print(f"{name:<20}{size:>7}" + "".join(f"{means[column]:>12.3f}" for column in COLUMNS), flush=True)


if __name__ == "__main__":
    main()
