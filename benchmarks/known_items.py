"""What known items are worth: the default with some of them, beside the vote, the best worker by them, and a regression.

Known items are drawn at random from those with a truth, and everything is scored on the rest. The regression is multinomial
logistic with a ridge (scikit-learn's C = 1) on the workers' answers, one-hot, as people train it on such items.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from corpus import Dataset, calibration_error
from crowdassay import Assay
from crowdassay.findings.scores import error_rate
from crowdassay.labels.join import take_items
from crowdassay.labels.labels import Labels, shares
from crowdassay.labels.record import find_winners
from crowdassay.models.assay.constants import Constants
from crowdassay.solvers.assay.pool import answers

SIZES = (20, 50, 100, 200)
REST = 100  # items that must be left to score on
MOST_LABELS = 60_000  # a dataset is fitted a dozen times
MOST_CELLS = 4000  # workers times classes, beyond which there is no regression


def best_worker(labels: Labels, known: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the answers of the worker who is best on the known items, as sure as the score there says; else the vote."""
    item, n_classes = labels.label_item, labels.n_classes
    told = np.isin(item, known)
    count = np.bincount(labels.worker[told], minlength=labels.n_workers)
    right = np.bincount(labels.worker[told], labels.label[told] == truth[item[told]], labels.n_workers)
    score = (right + 1) / (count + 2)
    best = int(score.argmax())
    posterior, own = shares(labels.votes()), labels.worker == best
    posterior[item[own]] = (1 - score[best]) / max(n_classes - 1, 1)
    posterior[item[own], labels.label[own]] = score[best]
    return posterior


def regression(labels: Labels, known: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the probabilities of a ridge logistic regression on the workers' answers."""
    x, n_classes = answers(labels), labels.n_classes
    few, target = answers(take_items(labels, known)), np.eye(n_classes)[truth[known]]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(-1, n_classes)
        q = softmax(few @ weights[:-1] + weights[-1], axis=1)
        value = -float((target * np.log(np.maximum(q, 1e-300))).sum()) + 0.5 * float((weights[:-1] ** 2).sum())
        slope = np.concatenate([few.T @ (q - target) + weights[:-1], (q - target).sum(axis=0)[None]])
        return value, slope.ravel()

    size = (x.shape[1] + 1) * n_classes
    weights = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B").x.reshape(-1, n_classes)
    return np.asarray(softmax(x @ weights[:-1] + weights[-1], axis=1))


def measure(one: Dataset, left_out: Path, draws: int) -> list[dict[str, Any]]:
    """Return the scores of all ways to use known items on a dataset, means over draws."""
    labels, rows = one.labels, []
    if labels.n_labels > MOST_LABELS:
        return []
    constants = Constants(**json.loads(left_out.read_text(encoding="utf-8"))[one.group])
    plain, having = Assay(constants=constants).fit(labels).result_.posterior, np.flatnonzero(one.truth >= 0)
    for size in SIZES:
        if len(having) < size + REST:
            continue
        found: dict[str, list[list[float]]] = {}
        for draw in range(draws):
            known = np.sort(np.random.default_rng([size, draw]).choice(having, size, replace=False))
            gold = np.full(labels.n_items, -1)
            gold[known] = one.truth[known]
            told = labels.with_gold(gold)
            rest = np.where(gold >= 0, -1, one.truth)
            ways = {
                "vote": shares(labels.votes()),
                "best worker by known items": best_worker(labels, known, one.truth),
                "assay without known items": plain,
                "assay": Assay(constants=constants).fit(told).result_.posterior,
            }
            if labels.n_workers * labels.n_classes <= MOST_CELLS:
                ways["logistic regression"] = regression(labels, known, one.truth)
            for name, posterior in ways.items():
                found.setdefault(name, []).append(_score(posterior, rest))
        rows += [
            {"dataset": one.name, "group": one.group, "people": one.people, "size": size, "way": name}
            | dict(zip(("error", "log_loss", "calibration"), np.mean(scores, axis=0).tolist(), strict=True))
            for name, scores in found.items()
        ]
        print(f"{one.name:26s} {size:4d} " + " ".join(f"{row['error']:.1f}" for row in rows if row["size"] == size), flush=True)
    return rows


def _score(posterior: np.ndarray, truth: np.ndarray) -> list[float]:
    winners, known = find_winners(posterior), np.flatnonzero(truth >= 0)
    loss = -np.log(np.maximum(posterior[known, truth[known]], 1e-6)).mean()
    return [100 * error_rate(winners, truth), float(loss), calibration_error(posterior, winners, truth)]


def as_text(rows: list[dict[str, Any]]) -> str:
    """Return a table for people and one for language models: error, log-loss and calibration by number of known items."""
    lines = []
    ways = list(dict.fromkeys(row["way"] for row in rows))
    ways.sort(key=lambda way: way == "assay")
    for name, people in (("people", True), ("language models", False)):
        own = [row for row in rows if row["people"] == people]
        whole = {row["dataset"] for row in own if row["way"] == "logistic regression"}
        own = [row for row in own if row["dataset"] in whole]
        for unit in ("group", "dataset"):
            lines += ["", *_table(own, name, unit, ways)]
    return "\n".join(lines).strip()


def _table(rows: list[dict[str, Any]], name: str, unit: str, ways: list[str]) -> list[str]:
    """Return the table of some rows, means over groups or over datasets."""
    sizes = [size for size in SIZES if any(row["size"] == size for row in rows)]
    counts = ", ".join(f"{len({row[unit] for row in rows if row['size'] == size})}" for size in sizes)
    lines = [f"## {name} ({counts} {unit}s; error · log-loss · calibration, means over {unit}s)", ""]
    lines += ["| known items | " + " | ".join(map(str, sizes)) + " |", "|---" * (len(sizes) + 1) + "|"]
    for way in ways:
        cells = []
        for size in sizes:
            some: dict[str, list[list[float]]] = {}
            for row in rows:
                if row["way"] == way and row["size"] == size:
                    some.setdefault(row[unit], []).append([row[key] for key in ("error", "log_loss", "calibration")])
            error, loss, off = np.mean([np.mean(values, axis=0) for values in some.values()], axis=0)
            cells.append(f"{error:.1f} · {loss:.3f} · {off:.3f}")
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return lines
