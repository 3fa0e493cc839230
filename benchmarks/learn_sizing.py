"""Learn from public crowds how the error falls with labels per item, and how far estimated errors are off.

Every dataset is thinned to 1, 2, 3, ... labels per item, and replayed as a plan would label it. What ships is a handful of
means and spreads over groups of datasets, with the names of the groups; no label, item or worker.

Run: python benchmarks/learn_sizing.py [--records records.json] [--reuse] [--out src/crowdassay/planning/population.json]
     (CROWDASSAY_DATA names the folder of the data)
"""

from __future__ import annotations

import argparse
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit

from crowdassay.planning.sizing import error_limits, level_of
from crowdassay.planning.stop import FEWEST_LABELS_PER_ITEM, Law, Limit, count_doubts, limit_from_items, population
from law import fit_law
from replay import DATA, Replay, load, ours

LEFT_OUT_LAW = Path(__file__).parent / "left_out_law.json"
GRID_OF_KNOWN = (0, 20, 50, 100, 200)
KINDS = {
    "relevance": ("trec_rf10", "web_search"),
    "sentiment": ("barzan_mozafari", "sentiment_popularity", "tweet_sentiment", "weather", "face_sentiment", "snow_affect"),
    "images": ("dog", "dog_breeds", "bluebirds", "ducks", "flowers", "labelme", "flags", "fashion10000",
               "geirhos_vision", "textures"),
    "medical": ("crowdtruth_medical", "medical_exam", "radiology_mrmc"),
    "facts": ("fact_eval", "roitero_truth", "heads_of_countries", "state_capitals", "trivia", "dtype"),
    "text": ("rte", "temp", "wsd", "wordsim", "reuters", "zencrowd"),
    "moderation": ("adult_content", "hitspam_crowdflower"),
    "language-models": ("css_llm", "judgebench", "judges_triviaqa", "numersense"),
}  # fmt: skip
LABELS = (1, 2, 3, 5, 8, 12, 20)
ADAPTIVE = (0.25, 0.45, 0.65)
SEED = 0
DRAWS = 3  # of the known items, for every replay
TARGETS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
MOST_DOUBTS = 400  # items of a replay whose probabilities are kept
HARDEST = 50
LEAST_ITEMS = 50  # of known class, for an error rate to mean something


def kind_of(group: str) -> str:
    return next((kind for kind, groups in KINDS.items() if group in groups), "other")


def measure(name: str) -> list[dict[str, Any]]:
    """Return what was estimated and what was true, at several numbers of labels."""
    labels, _, meta = load(name)
    found = []
    job = Replay(name, SEED)
    order = np.argsort(job.item, kind="stable")
    rank = np.empty(len(order), int)
    sizes = np.bincount(job.item)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    facts = {"name": name, "group": meta["group"], "kind": kind_of(meta["group"]), "classes": labels.n_classes}
    for n in LABELS:
        if n > 1 and np.mean(sizes >= n) < 0.5:
            break
        job.seen = rank < n
        found.append({**facts, "how": "even", "n": n, **_note(job)})
    job = Replay(name, SEED + 1)
    stops = [share for share in ADAPTIVE if share > job.share]
    while stops and len(job.truth) >= 50:
        job.fit()
        job.turn(ours()(job), max(1, int(0.1 * len(job.seen))))
        if job.share >= stops[0] or job.seen.all():
            found.append({**facts, "how": "planned", "n": float(job.share * len(job.seen) / len(job.truth)), **_note(job)})
            stops.pop(0)
    return found


def _note(job: Replay) -> dict[str, Any]:
    error = job.fit()
    doubt, wrong = 1 - job.result.posterior.max(axis=1), job.result.code != job.truth
    some = np.random.default_rng(SEED).permutation(len(doubt))[:MOST_DOUBTS]
    return {
        "estimated": float(1 - job.result.probability.mean()),
        "error": error,
        "items": len(job.truth),
        "doubt": [round(float(one), 5) for one in doubt[some]],
        "wrong": [int(one) for one in wrong[some]],
    }


def sizing(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean fall of the error with the number of labels, and how datasets differ, on the logit of the error's share of chance."""  # noqa: E501
    rows: dict[str, dict[int, list[float]]] = {}
    kinds = {}
    for row in records:
        if row["how"] == "even":
            most = 1 - 1 / row["classes"]
            share = np.clip((row["error"] * row["items"] + 0.5) / (row["items"] + 1) / most, 1e-3, 1 - 1e-3)
            rows.setdefault(row["group"], {}).setdefault(row["n"], []).append(float(logit(share)))
            kinds[row["group"]] = row["kind"]
    means = {group: {n: float(np.mean(z)) for n, z in by.items()} for group, by in rows.items()}
    steps = [[by[b] - by[a] for by in means.values() if a in by and b in by] for a, b in pairwise(LABELS)]
    falls = np.append(0.0, np.cumsum([min(float(np.mean(step)), 0.0) for step in steps]))  # labels do not mislead on average
    scatter = {n: [by[n] - by[3] for by in means.values() if n in by and 3 in by] for n in LABELS}
    level = {group: by[3] for group, by in means.items() if 3 in by}
    of_kind = {kind: [level[g] for g in level if kinds[g] == kind] for kind in sorted(set(kinds.values()))}
    inside = [z - np.mean(part) for part in of_kind.values() if len(part) > 1 for z in part]
    spare = len(inside) - sum(len(part) > 1 for part in of_kind.values())
    return {
        "labels": list(LABELS),
        "fall": [round(float(fall), 4) for fall in falls - falls[LABELS.index(3)]],
        "fall_sd": [round(float(np.std(scatter[n], ddof=1)), 4) for n in LABELS],
        "mean": round(float(np.mean(list(level.values()))), 4),
        "sd": round(float(np.std(list(level.values()), ddof=1)), 4),
        "within_kind_sd": round(float(np.sqrt(np.sum(np.square(inside)) / spare)), 4),
        "kinds": {k: {"mean": round(float(np.mean(z)), 4), "groups": len(z)} for k, z in of_kind.items() if k != "other" and z},
    }


def sizing_coverage(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how often the error fell between the limits for a new job, learned without its group; means over groups."""
    held: dict[str, list[bool]] = {}
    for group in sorted({row["group"] for row in records}):
        learned = sizing([row for row in records if row["group"] != group])
        for row in (row for row in records if row["group"] == group and row["how"] == "even"):
            kind = row["kind"] if row["kind"] in learned["kinds"] else None
            level, spread, groups = level_of(learned, kind)
            at = learned["labels"].index(row["n"])
            low, _, high = error_limits(
                level + learned["fall"][at], np.hypot(spread, learned["fall_sd"][at]), groups, row["classes"]
            )
            held.setdefault(group, []).append(low - 0.5 / row["items"] <= row["error"] <= high + 0.5 / row["items"])
    return {"held": round(float(np.mean([np.mean(part) for part in held.values()])), 4), "jobs": sum(map(len, held.values()))}


def checked_limit(row: dict[str, Any], law: Law, known: np.ndarray) -> Limit:
    """Return the limit that a job would have been given, some of its items being known."""
    doubt, wrong = np.array(row["doubt"]), np.array(row["wrong"], bool)
    others, of_known = np.delete(doubt, known), wrong[known]
    checked = np.column_stack([count_doubts(doubt[known][~of_known]), count_doubts(doubt[known][of_known])])
    return limit_from_items(float(others.mean()), count_doubts(others), law, checked)


def coverage(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how often the upper limit held, and both did, learned without the group they are tried on; means over groups.

    Known items are drawn at random; ``hardest`` are the fifty of which the method is least sure, as an expert would be asked.
    """
    groups = sorted({row["group"] for row in records})
    generator = np.random.default_rng(SEED)
    names = [*map(str, GRID_OF_KNOWN), "hardest"]
    held: dict[str, list[list[float]]] = {}
    for group in groups:
        law = fit_law([row for row in records if row["group"] != group])
        for row in (row for row in records if row["group"] == group):
            cells = []
            n = len(row["doubt"])
            hardest = np.argsort(-np.array(row["doubt"]), kind="stable")[: min(HARDEST, n // 2)]
            chosen = [
                [generator.permutation(n)[: min(most, n // 2)] for _ in range(DRAWS if most else 1)] for most in GRID_OF_KNOWN
            ]
            for draws in [*chosen, [hardest]]:
                limits = [checked_limit(row, law, known) for known in draws]
                error = np.delete(row["wrong"], hardest).mean() if draws[0] is hardest else row["error"]
                cells.append(float(np.mean([error <= one.high + 0.5 / n for one in limits])))
                cells.append(float(np.mean([one.high - one.error for one in limits])))
                cells.append(float(np.mean([one.low - 0.5 / n <= error <= one.high + 0.5 / n for one in limits])))
            held.setdefault(group, []).append(cells)
    means = np.mean([np.mean(part, axis=0) for part in held.values()], axis=0)
    replays = np.mean([cells for part in held.values() for cells in part], axis=0)
    return {
        "held_by_known": {name: round(float(means[3 * n]), 4) for n, name in enumerate(names)},
        "width_by_known": {name: round(float(means[3 * n + 1]), 4) for n, name in enumerate(names)},
        "inside_by_known": {name: round(float(means[3 * n + 2]), 4) for n, name in enumerate(names)},
        "held_of_replays": {name: round(float(replays[3 * n]), 4) for n, name in enumerate(names)},
        "replays": sum(map(len, held.values())),
    }


def stopped(records: list[dict[str, Any]], known: int = 50) -> dict[str, Any]:
    """Return how often the target was met where a job was stopped at the first limit within it; groups left out as above."""
    held = []
    for group in sorted({row["group"] for row in records}):
        law = fit_law([row for row in records if row["group"] != group])
        for name in sorted({row["name"] for row in records if row["group"] == group}):
            for how in ("even", "planned"):
                rows = sorted((row for row in records if row["name"] == name and row["how"] == how), key=lambda row: row["n"])
                for target in TARGETS:
                    for row in rows:
                        generator = np.random.default_rng(SEED)  # the same known items at every stop
                        n = len(row["doubt"])
                        if checked_limit(row, law, generator.permutation(n)[: min(known, n // 2)]).high <= target:
                            held.append(row["error"] <= target)
                            break
    return {"targets": list(TARGETS), "known": known, "stops": len(held), "held": round(float(np.mean(held)), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, default=Path("records.json"))
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.reuse:
        records = json.loads(given.records.read_text(encoding="utf-8"))
    else:
        records = []
        for name in sorted(path.name for path in DATA.iterdir() if (path / "meta.json").is_file()):
            records += measure(name)
            print(name, len(records), flush=True)
        given.records.write_text(json.dumps(records), encoding="utf-8")
    records = [row for row in records if row["items"] >= LEAST_ITEMS]
    several = [row for row in records if row["n"] >= FEWEST_LABELS_PER_ITEM]
    law = fit_law(several)
    found = {
        "provenance": {
            "made_by": "benchmarks/learn_sizing.py",
            "method": "assay",
            "datasets": len({row["name"] for row in records}),
            "groups": sorted({row["group"] for row in records}),
            "note": "Means and spreads over groups of public datasets; a group counts once. No label, item or worker is kept.",
        },
        "limit": {**law.__dict__, "coverage": coverage(several), "stopped": stopped(several)},
        "sizing": {**sizing(records), "coverage": sizing_coverage(records)},
        "forecast": population()["forecast"],  # by benchmarks/forecast.py
    }
    text = json.dumps(found, indent=2)
    print(text)
    if given.out:
        without = {group: fit_law([row for row in several if row["group"] != group]) for group in found["provenance"]["groups"]}
        LEFT_OUT_LAW.write_text(
            json.dumps({group: law.__dict__ for group, law in without.items()}, indent=1) + "\n", encoding="utf-8"
        )
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
