"""The default method with a piece left out, added alone, or with another constant; and what choosing among these is worth."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from crowdassay import Assay, MinimaxEntropy
from crowdassay.data.labels import Labels
from summary import group

BARE = {"population": False, "prior": "uniform", "average": False, "anchor": 0.0, "items": False}
ABLATION: dict[str, dict[str, Any]] = {
    "assay": {},
    "without population": {"population": False},
    "without learned prior": {"prior": "uniform"},
    "without averaging over workers": {"average": False},
    "without anchor": {"anchor": 0.0},
    "without items": {"items": False},
    "items always": {"items": True},
    "effects not learned, precision 4": {"precision": 4.0},
    "bare": BARE,
    "bare + population": BARE | {"population": True},
    "bare + learned prior": BARE | {"prior": "learned"},
    "bare + averaging over workers": BARE | {"average": True},
    "bare + anchor": BARE | {"anchor": 0.3},
    "bare + items": BARE | {"items": True},
}
PAPER = {"item_structure": "none"}  # without items: quick, and the three options are about workers and classes
FAMILY: dict[str, dict[str, Any]] = {
    "minimax without items": PAPER,
    "+ population": PAPER | {"population": True},
    "+ learned prior": PAPER | {"prior": "learned"},
    "+ learned gamma": PAPER | {"gamma": "learned"},
    "+ population, learned prior": PAPER | {"population": True, "prior": "learned"},
    "+ population, learned prior, learned gamma": PAPER | {"population": True, "prior": "learned", "gamma": "learned"},
}
POPULATION = "crowdassay.solvers.population"
CONSTANTS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "anchor 0.1": ({"anchor": 0.1}, {}),
    "anchor 0.2": ({"anchor": 0.2}, {}),
    "anchor 0.3": ({"anchor": 0.3}, {}),
    "anchor 0.4": ({"anchor": 0.4}, {}),
    "anchor 0.5": ({"anchor": 0.5}, {}),
    "belief 2": ({}, {f"{POPULATION}.BELIEF": 2.0}),
    "belief 50": ({}, {f"{POPULATION}.BELIEF": 50.0}),
    "usual concentration 2": ({}, {f"{POPULATION}.USUAL": 2.0}),
    "usual concentration 8": ({}, {f"{POPULATION}.USUAL": 8.0}),
    "width 1": ({}, {f"{POPULATION}.WIDTH": 1.0}),
    "width 3": ({}, {f"{POPULATION}.WIDTH": 3.0}),
}

Fit = Callable[[Labels], tuple[np.ndarray, np.ndarray]]


def variants(*, constants: bool) -> dict[str, Fit]:
    """Return the variants by name, as functions that return winners and probabilities."""
    named = {name: (parameters, {}) for name, parameters in ABLATION.items()} | (CONSTANTS if constants else {})
    return {name: _fitter(Assay, parameters, changed) for name, (parameters, changed) in named.items()}


def family() -> dict[str, Fit]:
    """Return members of the family that the paper does not have, likewise."""
    return {name: _fitter(MinimaxEntropy, parameters, {}) for name, parameters in FAMILY.items()}


def _fitter(estimator: Callable[..., Any], parameters: dict[str, Any], changed: dict[str, float]) -> Fit:
    def fit(labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        with ExitStack() as stack:
            for name, value in changed.items():
                stack.enter_context(patch(name, value))
            result = estimator(**parameters).fit(labels).result_
        return result.winners, result.posterior

    return fit


def optimism(rows: list[dict[str, Any]], *, splits: int = 2000, seed: int = 0) -> str:
    """Choose the variant with the lowest mean error on one half of the datasets and score it on the other, many times."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    groups = sorted({group(row["dataset"]) for row in rows})
    error = np.array(
        [
            [np.mean([r["error"] for r in rows if r["method"] == m and group(r["dataset"]) == g]) for g in groups]
            for m in methods
        ]
    )
    generator, chosen, here, there, default = np.random.default_rng(seed), [], [], [], []
    for _ in range(splits):
        order = generator.permutation(len(groups))
        halves = order[: len(groups) // 2], order[len(groups) // 2 :]
        for half, other in (halves, halves[::-1]):
            best = int(error[:, half].mean(axis=1).argmin())
            chosen.append(best)
            here.append(error[best, half].mean())
            there.append(error[best, other].mean())
            default.append(error[methods.index("assay"), other].mean())
    often = np.bincount(chosen, minlength=len(methods)) / len(chosen)
    lines = [
        f"{len(methods)} variants, {len(groups)} groups of datasets, {splits} splits into halves:",
        f"  the best on one half has a mean error of {np.mean(here):.2f} there and {np.mean(there):.2f} on the other half;",
        f"  the default, whichever half is looked at, {np.mean(default):.2f}.",
        "  chosen: " + ", ".join(f"{methods[m]} {100 * often[m]:.0f} %" for m in np.argsort(-often)[:6] if often[m] > 0),
    ]
    return "\n".join(lines)
