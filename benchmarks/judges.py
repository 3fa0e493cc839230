"""How good are the rates of `crowdassay rate` on real panels of language models?

    python benchmarks/judges.py [--data FOLDER] [--repeats 100] [--sizes 20,50,100,200] [--only NAME]

For every dataset whose workers are language models, people's labels are the known classes of some items drawn at random, again
and again. Printed for each number of labels: the share of 95 % intervals that hold the real rate (all classes), their width
against people's labels alone, the widest of all against that, the mean absolute error of the rate, and the calibration error
and log-loss of the items that people did not see, before (the default's own probabilities) and after correction by people's
labels. Panels of one group (`group` in meta.json) count as one in "mean of groups". Nothing in the intervals was fitted to
these panels. Last, how many independent judges each panel is worth, with the class of every item known.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay import read_labels
from crowdassay.judges.panel import read_judges
from crowdassay.judges.people import gather_people
from crowdassay.judges.prediction import Panel, predict_people
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
    proxy = predict_people(drawn, people, panel, generator)
    stratum, alone_stratum, _ = choose_strata(drawn, people)
    evidence = Evidence(people, proxy.blind, proxy.panel, stratum, alone_stratum)
    among = verdicts.gold >= 0
    truth = np.bincount(verdicts.gold[known], minlength=verdicts.n_classes) / len(known)
    found, alone = find_rates(evidence, among), find_rates(evidence, among, powered=False)
    assert found is not None
    assert alone is not None
    rest = np.setdiff1d(known, chosen)
    scores = [_scores(table[rest], verdicts.gold[rest]) for table in (proxy.blind, proxy.panel)]
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--sizes", default="20,50,100,200")
    parser.add_argument("--only")
    options = parser.parse_args()
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
    says = np.eye(verdicts.n_classes)[None].repeat(len(verdicts.judges), axis=0)
    reading = read_judges(verdicts, Panel.of(verdicts, np.zeros((verdicts.n_items, verdicts.n_classes)), says), people)
    found = find_likeness(reading, people.code, np.random.default_rng(0))
    return f"{len(verdicts.judges):>3} judges are worth {found.worth:.1f} ({found.low:.1f} to {found.high:.1f})"


def _show(name: str, size: int, means: dict[str, float]) -> None:
    print(f"{name:<20}{size:>7}" + "".join(f"{means[column]:>12.3f}" for column in COLUMNS), flush=True)


if __name__ == "__main__":
    main()
