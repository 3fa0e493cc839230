r"""Learn the weights of the pool by the log-loss over datasets of known truth, each group of datasets counting alike.

The logits are linear in the members' weights; only the correlation r of t(n) = 1 / (1 + r (n - 1)) is not. How they grow with
more labels, where there are more than two classes, is learned afterwards with all else fixed, so that it changes no label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from corpus import Dataset
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.models.assay.constants import Constants
from crowdassay.models.assay.dependence import sharpening, worth
from crowdassay.solvers.assay.members import MemberTables, fit_effects, fit_tables, slipped
from crowdassay.solvers.assay.pool import answers

NAMES = ("dawid_skene", "population", "vote", "items", "correlation")
FEW = (5.0, 7.0, 10.0, 15.0, 20.0)  # labels beyond which logits may grow
MOST_ITEMS = 250  # of a dataset that teach; all are scored


@dataclass(frozen=True, eq=False)
class Looks:
    """What the members say of a dataset, whatever their weights.

    Attributes
    ----------
    data : Dataset
    tables : MemberTables
    effects : ndarray of shape (n_items, n_classes) or None
        Log probabilities by the member with item effects.
    gate : float
    """

    data: Dataset
    tables: MemberTables
    effects: np.ndarray | None
    gate: float

    @property
    def group(self) -> str:
        return self.data.group


def look(data: Dataset, constants: Constants, before: Looks | None = None) -> Looks:
    """Fit the members to a dataset; the one with item effects only once, as no setting that is tried concerns it."""
    engine = LocalEngine(data.labels)
    tables = fit_tables(engine, constants, ordered=False)
    if before is not None:
        return replace(before, tables=tables)
    effects = fit_effects(engine, constants) if data.labels.n_classes == 2 else None
    if effects is None:
        return Looks(data, tables, None, 0.0)
    return Looks(data, tables, effects.log_posterior(data.labels), effects.item_effect_weight)


def features(looks: Looks, constants: Constants) -> tuple[np.ndarray, np.ndarray]:
    """Return what each weight multiplies, (n_items, n_classes, 4), two of them before tempering, and the numbers of labels."""
    labels, n_classes = looks.data.labels, looks.data.labels.n_classes
    given, heard = answers(labels), answers(labels, looks.tables.label_weight[labels.worker])
    votes = np.asarray(heard @ np.tile(np.eye(n_classes), (labels.n_workers, 1)))
    n_labels = votes.sum(axis=1)
    gate = looks.gate * n_labels / (n_labels + constants.many)
    found = np.zeros((labels.n_items, n_classes, 4))
    for at, (log_p, log_prior) in enumerate(zip(looks.tables.log_p, looks.tables.log_prior, strict=True)):
        table = np.log(slipped(np.exp(log_p), looks.tables.habit, constants.slip))
        found[:, :, at] = given @ table.transpose(0, 2, 1).reshape(-1, n_classes) + log_prior
    found[:, :, 2] = np.log((votes + 1.0 / n_classes) / (n_labels + 1.0)[:, None])
    found[:, :, :3] *= (1.0 - gate)[:, None, None]
    if looks.effects is not None:
        found[:, :, 3] = gate[:, None] * looks.effects
    return found - found.max(axis=1, keepdims=True), np.maximum(n_labels, 1.0)


class Lessons:
    """Items of all datasets, one row for each item and class, and the loss of weights on them."""

    def __init__(self, all_looks: list[Looks], constants: Constants, seed: int = 0) -> None:
        generator, size = np.random.default_rng(seed), {}
        for looks in all_looks:
            size[looks.group] = size.get(looks.group, 0) + 1
        rows: dict[str, list[Any]] = {name: [] for name in ("x", "n", "y", "k", "weight", "group")}
        for looks in all_looks:
            truth = looks.data.truth
            chosen = np.flatnonzero((truth >= 0) & (np.diff(looks.data.labels.starts) > 0))
            if len(chosen) > MOST_ITEMS:
                chosen = np.sort(generator.choice(chosen, MOST_ITEMS, replace=False))
            x, n_labels = features(looks, constants)
            n_classes = x.shape[1]
            rows["x"].append(x[chosen].reshape(-1, 4))
            rows["n"].append(np.repeat(n_labels[chosen], n_classes))
            rows["y"].append(np.eye(n_classes)[truth[chosen]].ravel())
            rows["k"].append(np.full(len(chosen), n_classes))
            rows["weight"].append(np.full(len(chosen), 1.0 / (size[looks.group] * len(chosen))))
            rows["group"] += [looks.group] * len(chosen)
        self.x, self.n, self.y, self.k, self.weight = (np.concatenate(rows[name]) for name in ("x", "n", "y", "k", "weight"))
        self.group = np.array(rows["group"])
        self.first = np.concatenate([[0], np.cumsum(self.k)[:-1]])

    def loss(self, theta: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted log-loss of (weights, correlation) and its gradient."""
        x, spread = self.x, 1.0 + theta[4] * (self.n - 1.0)
        tempered = x[:, :2] @ theta[:2]
        value, slope = self.loss_of(tempered / spread + x[:, 2:] @ theta[2:4], weight)
        by_r = -float(slope @ (tempered * (self.n - 1.0) / spread**2))
        return value, np.concatenate([(slope / spread) @ x[:, :2], slope @ x[:, 2:], [by_r]])

    def loss_of(self, logit: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted log-loss of logits and its slope by each."""
        top = np.maximum.reduceat(logit, self.first)
        power = np.exp(logit - np.repeat(top, self.k))
        total = np.add.reduceat(power, self.first)
        right = np.add.reduceat(self.y * logit, self.first) - top - np.log(total)
        return -float(weight @ right), np.repeat(weight, self.k) * (power / np.repeat(total, self.k) - self.y)

    def fit(self, without: str | None = None, start: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """Return the best weights and correlation, none of them negative, and their loss, with a group left out."""
        weight = self.weight_without(without)
        start = np.array([0.3, 0.7, 0.2, 1.0, 0.4]) if start is None else start
        bounds = [(0.0, None)] * 4 + [(0.0, 20.0)]
        found = minimize(self.loss, start, (weight,), jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-9})
        return found.x, float(found.fun)

    def fit_growth(self, theta: np.ndarray, without: str | None = None) -> tuple[float, float, float]:
        """Return from how many labels on, and how fast, logits grow with more than two classes, and the loss."""
        weight, x = self.weight_without(without), self.x
        logit = worth(self.n, theta[4]) * (x[:, :2] @ theta[:2]) + x[:, 2:] @ theta[2:4]
        larger = np.repeat(self.k, self.k) > 2

        def loss(growth: float, few: float) -> float:
            return self.loss_of(np.where(larger, sharpening(self.n, few, growth), 1.0) * logit, weight)[0]

        found = [minimize_scalar(loss, args=(few,), bounds=(0.0, 1.0), method="bounded") for few in FEW]
        best = int(np.argmin([one.fun for one in found]))
        return FEW[best], float(found[best].x), float(found[best].fun)

    def weight_without(self, group: str | None) -> np.ndarray:
        """Return the weight of each item where a group is left out."""
        weight = np.where(self.group == group, 0.0, self.weight)
        return np.asarray(weight / weight.sum())
