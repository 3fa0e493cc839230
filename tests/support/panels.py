"""Panels of judges with known truth and known dependence, and a few people."""

from __future__ import annotations

import numpy as np

from crowdassay import as_labels
from crowdassay.labels.labels import Labels

CLASSES = ("pass", "fail")


def judged(
    generator: np.random.Generator,
    n_items: int = 300,
    accuracies: tuple[float, ...] = (0.8, 0.8, 0.8),
    copies: int = 1,
    n_seen: int = 60,
    rate: float = 0.6,
    people: tuple[float, ...] = (1.0,),
) -> tuple[Labels, np.ndarray]:
    """Return verdicts and whether each item passes; every judge comes in so many identical copies."""
    passes = generator.random(n_items) < rate
    rows: list[tuple[str, str, str]] = []
    for i, accuracy in enumerate(accuracies):
        said = passes ^ (generator.random(n_items) >= accuracy)
        rows += [(f"i{j}", f"judge{i}-{copy}", word(said[j])) for copy in range(copies) for j in range(n_items)]
    seen = generator.permutation(n_items)[:n_seen]
    for p, accuracy in enumerate(people):
        said = passes ^ (generator.random(n_items) >= accuracy)
        rows += [(f"i{j}", f"person{p}", word(said[j])) for j in seen]
    return as_labels(tuple(zip(*rows, strict=True))), passes


def word(passes: bool) -> str:
    """Return the class of an item that passes or not."""
    return CLASSES[0] if passes else CLASSES[1]
