"""The cases: every command on the examples, and the main ones on six datasets of many kinds."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np

from support.panels import judged

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMANDS = ["aggregate", "agreement", "compare", "convert", "datasets", "measure", "methods", "plan", "rank", "rate",
            "reproduce", "serve", "simulate", "update"]  # fmt: skip
REVIEWS = ["reviews.csv", "--gold", "gold.csv"]

CASES: dict[str, list[list[str]]] = {
    "help": [["--help"], *([name, "--help"] for name in COMMANDS)],
    "lists": [["methods"], ["datasets"]],
    "aggregate": [
        ["aggregate", *REVIEWS, "--truth", "truth.csv", "--cost", "0.05", "--out", "out", "--next", "next.csv",
         "--report", "report.html", "--save-model", "model"],
        ["update", "model", "tuesday.csv", "--out", "updated"],
        ["update", "model", "--refit", "--out", "refitted", "--json"],
    ],
    "aggregate-plain": [["aggregate", "labels.csv", "--out", "out"], ["aggregate", "labels.csv", "--json", "--threads", "1"]],
    "aggregate-formats": [
        ["aggregate", "labels.csv", "--out", "sqlite:///result.db", "--quiet"],
        ["aggregate", "labels.csv", "--out", "parquet", "--format", "parquet", "--quiet"],
        ["aggregate", "labels.csv", "--out", "files", "--engine", "files", "--method", "dawid-skene"],
    ],
    "aggregate-methods": [
        ["aggregate", "labels.csv", "--method", "minimax", "--out", "minimax"],
        ["aggregate", "labels.csv", "--gamma", "auto", "--gammas", "0.25,1", "--json"],
        ["aggregate", "grades.csv", "--ordered", "--out", "ordered"],
        ["aggregate", "grades.csv", "--method", "minimax-ordinal", "--gold", "grades-gold.csv", "--out", "ordinal"],
        *(["aggregate", "labels.csv", "--method", name, "--json", "--out", name] for name in
          ("majority", "dawid-skene", "glad", "mace", "wawa", "one-coin", "spectral-dawid-skene", "welinder")),
    ],
    "aggregate-gates": [
        ["aggregate", *REVIEWS, "--quiet", "--fail-if", "estimated_error > 1%", "--fail-if", "removed > 5"],
        ["aggregate", *REVIEWS, "--fail-if", "nonsense > 1"],
        ["aggregate", "broken.csv"],
        ["aggregate", "missing.csv"],
        ["aggregate", "empty.csv", "--json"],
    ],
    "agreement": [["agreement", "labels.csv"], ["agreement", "reviews.csv", "--json"]],
    "compare": [
        ["compare", "labels.csv", "--truth", "truth-labels.csv", "--methods", "majority,dawid-skene,assay"],
        ["compare", "reviews.csv", "--methods", "majority,assay", "--json"],
    ],
    "convert": [["convert", "wide.csv", "--out", "long.csv"], ["convert", "prodigy.jsonl", "--out", "prodigy.csv"]],
    "measure": [
        ["measure", "ratings.csv", "--facets", "rater,task", "--group", "lang", "--time", "day", "--interaction", "rater,task",
         "--out", "out", "--report", "page.html", "--chart", "map.svg"],
        ["measure", "ratings.csv", "--facets", "rater,task", "--json", "--fail-if", "reliability < 2"],
    ],
    "rank": [
        ["rank", "pairs.csv", "--out", "out", "--report", "page.html", "--next", "2"],
        ["rank", "pairs.csv", "--json", "--fail-if", "n_pairs < 1"],
        ["rank", "pairs.csv", "--group", "kind"],
    ],
    "rate": [
        ["rate", "verdicts.csv", "--people", "person0", "--classes", "pass,fail", "--report", "page.html",
         "--next", "next.csv"],
        ["rate", "verdicts.csv", "--people", "person0", "--json", "--fail-if", "pass_rate.low < 0.9"],
    ],
    "plan": [
        ["plan", *REVIEWS, "--budget", "20", "--label-cost", "0.05", "--expert-cost", "1", "--target-error", "0.1",
         "--out", "assignments.csv"],
        ["plan", "labels.csv", "--budget", "50", "--json"],
        ["plan", "--new", "--items", "400", "--classes", "3", "--like", "images", "--label-cost", "0.05"],
    ],
    "simulate": [
        ["simulate", "--story", "birds", "--seed", "3", "--out", "birds"],
        ["simulate", "--structure", "ordinal", "--classes", "5", "--items", "30", "--workers", "9", "--seed", "1",
         "--out", "grades"],
    ],
}  # fmt: skip

DATASETS = ("bluebirds", "rte", "web_search", "music_genre", "judgebench", "politifact_s6")
DATASET_COMMANDS = [
    ["aggregate", "labels.csv", "--out", "plain"],
    ["aggregate", "labels.csv", "--gold", "gold.csv", "--truth", "truth.csv", "--out", "gold", "--report", "report.html"],
    ["aggregate", "labels.csv", "--method", "minimax", "--out", "minimax", "--json"],
    ["agreement", "labels.csv", "--json"],
    ["plan", "labels.csv", "--gold", "gold.csv", "--budget", "50", "--json"],
]


def write_examples(folder: Path) -> None:
    """Write the files that the cases read."""
    shutil.copy(EXAMPLES / "labels.csv", folder / "labels.csv")
    shutil.copy(EXAMPLES / "truth.csv", folder / "truth-labels.csv")
    for name, copy in (("labels", "reviews"), ("gold", "gold"), ("truth", "truth")):
        shutil.copy(EXAMPLES / "reviews" / f"{name}.csv", folder / f"{copy}.csv")
    lines = (EXAMPLES / "reviews" / "labels.csv").read_text(encoding="utf-8").splitlines()
    (folder / "tuesday.csv").write_text("\n".join([lines[0], *(line.replace(",", "-new,", 1) for line in lines[1:60])]) + "\n")
    (folder / "broken.csv").write_text('item,worker,label\n"a,b,c\n')
    (folder / "empty.csv").write_text("")
    (folder / "wide.csv").write_text("item,ann,bob,cy\n1,a,b,a\n2,b,b,\n3,a,a,a\n")
    rows = [f'{{"text": "t{n}", "answer": "accept", "accept": ["{"xy"[n % 2]}"], "options": [{{"id": "x"}}, {{"id": "y"}}], '
            f'"_input_hash": {n // 2}, "_annotator_id": "w{n % 2}", "_view_id": "choice"}}' for n in range(8)]  # fmt: skip
    (folder / "prodigy.jsonl").write_text("\n".join(rows) + "\n")
    rng = np.random.default_rng(0)
    quality, severity = rng.normal(size=30), rng.normal(size=5)
    ratings, grades = [["task", "rater", "day", "lang", "rating"]], [["item", "worker", "label"]]
    for task in range(30):
        for rater in range(5):
            score = int(np.clip(round(3 + quality[task] - severity[rater] + rng.normal()), 1, 5))
            day = f"2024-05-{1 + (task * 7 + rater) % 28:02d}"
            ratings.append([f"t{task}", f"r{rater}", day, "de" if task % 2 else "en", str(score)])
            grades.append([f"t{task}", f"r{rater}", str(score)])
    save(folder / "ratings.csv", ratings)
    save(folder / "grades.csv", grades)
    known = [[f"t{task}", str(int(np.clip(round(3 + quality[task]), 1, 5)))] for task in range(10)]
    save(folder / "grades-gold.csv", [["item", "label"], *known])
    score = np.array([1.0, 0.3, -0.3, -1.0])
    pairs = [["left", "right", "worker", "winner", "kind"]]
    for n in range(300):
        left, right = rng.permutation(4)[:2]
        won = "left" if rng.random() < 1 / (1 + np.exp(score[right] - score[left])) else "right"
        pairs.append([f"m{left}", f"m{right}", f"w{n % 7}", "tie" if rng.random() < 0.1 else won, "k" if n % 2 else "l"])
    save(folder / "pairs.csv", pairs)
    labels, _ = judged(rng)
    names = labels.items.to_pylist(), labels.workers.to_pylist(), labels.classes.to_pylist()
    codes = zip(labels.label_item, labels.worker, labels.label, strict=True)
    save(
        folder / "verdicts.csv", [["item", "worker", "label"], *([names[0][j], names[1][i], names[2][k]] for j, i, k in codes)]
    )


def copy_dataset(source: Path, folder: Path) -> None:
    """Copy a dataset into the folder of a case, and take every seventh known item, fifty at most, as gold."""
    for name in ("labels.csv", "truth.csv"):
        shutil.copy(source / name, folder / name)
    with open(folder / "truth.csv", newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    save(folder / "gold.csv", [head, *rows[::7][:50]])


def save(path: Path, rows: list[list[str]]) -> None:
    """Write rows as CSV."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
