"""Does the curve of the expected error against spend come true?

Every dataset is replayed by the plan and evenly. At every stop the curve is drawn, and compared with the error that was found
when 1.5 times and twice as many labels had been seen: the fall of the logit of the error. The overlap of labels in the curve,
the r of `Dependence`, is chosen without the group that is judged; the default's own is 0.57.

Run: python benchmarks/forecast.py [--records forecast.json] [--reuse] [--ship] [dataset ...]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit

from crowdassay.models.assay.dependence import Dependence
from crowdassay.planning.gain import error_curve
from crowdassay.planning.state import State
from crowdassay.planning.stop import FEWEST_LABELS_PER_ITEM, limit_of
from law import fit_law
from replay import DATASETS, POLICIES, Replay, load

SHIPPED = Path(__file__).parents[1] / "src" / "crowdassay" / "planning" / "population.json"
OVERLAPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.57, 0.8)
TIMES = (1.5, 2.0)
STEP = 0.1  # of the labels, between two stops
FEWEST_ERRORS = 5  # at a stop, for their fall to mean something


def measure(name: str, policy: str, seed: int = 0) -> list[dict[str, Any]]:
    """Return what was forecast and what came, at every stop of a replay."""
    job, found, stops = Replay(name, seed), [], []
    group, n_items = load(name)[2]["group"], job.sizes[0]
    while True:
        error, labels = job.fit(), int(job.seen.sum())
        found.append((labels, error))
        state = State.of(job.result, law=job.law)
        if labels / n_items >= FEWEST_LABELS_PER_ITEM and error * n_items >= FEWEST_ERRORS:
            curves = {r: error_curve(state, law=Dependence(r)) for r in OVERLAPS}
            stops.append((labels, error, 1 - float(state.probability.mean()), curves))
        if job.seen.all():
            break
        job.turn(POLICIES[policy](job), max(1, int(STEP * len(job.seen))))
    at, errors = np.array(found).T
    return [
        {
            "name": name, "group": group, "policy": policy, "times": times, "labels": labels / n_items, "items": n_items,
            "estimated": raw, "now": error, "then": float(np.interp(times * labels, at, errors)),
            "forecast": {str(r): float(np.interp((times - 1) * labels, one.labels, one.error)) for r, one in curves.items()},
        }
        for labels, error, raw, curves in stops
        for times in TIMES
        if times * labels <= at[-1]
    ]  # fmt: skip


def miss(row: dict[str, Any], overlap: float) -> float:
    """Return how far the forecast fall of the logit of the error is from the real one; above 0, too much was promised."""
    real = [logit((row[when] * row["items"] + 0.5) / (row["items"] + 1)) for when in ("now", "then")]
    forecast = [logit(np.clip(error, 1e-4, 1 - 1e-4)) for error in (row["estimated"], row["forecast"][str(overlap)])]
    return float((real[1] - real[0]) - (forecast[1] - forecast[0]))


def by_group(rows: list[dict[str, Any]], overlap: float) -> dict[str, np.ndarray]:
    """Return the misses of every group."""
    return {g: np.array([miss(row, overlap) for row in rows if row["group"] == g]) for g in sorted({r["group"] for r in rows})}


def choose(rows: list[dict[str, Any]]) -> float:
    """Return the overlap whose forecasts miss least, in the mean square; every group counts the same."""
    losses = [np.mean([(part**2).mean() for part in by_group(rows, r).values()]) for r in OVERLAPS]
    return OVERLAPS[int(np.argmin(losses))]


def held(rows: list[dict[str, Any]], overlap: dict[str, float]) -> float:
    """Return how often the error stayed below the curve's upper limit, whose law and overlap are learned without the group."""
    found = {}
    for group, one in overlap.items():
        others = [{**row, "error": row["now"]} for row in rows if row["group"] != group]
        law = fit_law(others)
        part = []
        for row in (row for row in rows if row["group"] == group):
            high = row["forecast"][str(one)] * limit_of(row["estimated"], law).high / row["estimated"]
            part.append(row["then"] <= high + 0.5 / row["items"])
        found[group] = float(np.mean(part))
    return float(np.mean(list(found.values())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, default=Path("forecast.json"))
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--ship", action="store_true", help="write the overlap to src/crowdassay/planning/population.json")
    parser.add_argument("datasets", nargs="*")
    given = parser.parse_args()
    if given.reuse:
        rows = json.loads(given.records.read_text(encoding="utf-8"))
    else:
        rows = [row for name in given.datasets or DATASETS for policy in ("ours", "uniform") for row in measure(name, policy)]
        given.records.write_text(json.dumps(rows), encoding="utf-8")
    groups = sorted({row["group"] for row in rows})
    chosen = {group: choose([row for row in rows if row["group"] != group]) for group in groups}
    found = {
        "overlap": choose(rows),
        "overlap_without_a_group": [min(chosen.values()), max(chosen.values())],
        "forecasts": len(rows),
        "groups": len(groups),
        "held": round(held(rows, chosen), 4),
    }
    print(json.dumps(found))
    print("\n| labelled | times the labels | overlap | fall forecast too large by | root mean square |\n|---|---|---|---|---|")
    for policy in ("ours", "uniform"):
        for times in TIMES:
            some = [row for row in rows if row["policy"] == policy and row["times"] == times]
            left_out = [np.array([miss(r, chosen[g]) for r in some if r["group"] == g]) for g in {r["group"] for r in some}]
            begin = f"| {policy} | {times} |"
            print(begin, line("chosen without the group", left_out))
            for r in OVERLAPS:
                print(begin, line(str(r), list(by_group(some, r).values())))
    if given.ship:
        whole = json.loads(SHIPPED.read_text(encoding="utf-8"))
        SHIPPED.write_text(json.dumps({**whole, "forecast": found}, indent=2) + "\n", encoding="utf-8")


def line(name: str, parts: list[np.ndarray]) -> str:
    """Return the end of a row: mean miss, its standard error over groups, and the root mean square."""
    means = np.array([part.mean() for part in parts])
    size = np.sqrt(np.mean([(part**2).mean() for part in parts]))
    return f"{name} | {means.mean():+.2f} ± {means.std(ddof=1) / len(means) ** 0.5:.2f} | {size:.2f} |"


if __name__ == "__main__":
    main()
