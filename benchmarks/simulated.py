"""How accurate is the default where Dawid and Skene's model is true, and where items mislead?

    python benchmarks/simulated.py [--crowds 150] [--page FILE]

Three kinds of simulated labels: the tutorial's story with ten seeds, crowds drawn from the very population that the default
assumes, and crowds whose items have effects. Of the last two every crowd has another number of items, workers, classes and
labels an item. Shown are mean errors in percent for the default, Dawid and Skene and the vote, and how far the mean probability
of their labels is above the accuracy: the default, which has learned from real crowds, is cautious where workers err
independently.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdassay import Assay, DawidSkene, MajorityVote
from crowdassay.checks.simulate import birds, simulate
from crowdassay.findings.scores import error_rate
from crowdassay.labels.labels import Labels
from page import fill

METHODS = {"assay": Assay, "dawid-skene": DawidSkene, "majority": MajorityVote}
Drawn = tuple[Labels, np.ndarray]


def shape(generator: np.random.Generator) -> dict[str, int]:
    """Draw the size of a crowd."""
    n_items, n_workers = np.exp(generator.uniform(np.log([100, 25]), np.log([3000, 150]))).astype(int)
    return {
        "n_items": int(n_items),
        "n_workers": int(n_workers),
        "n_classes": int(generator.choice([2, 3, 4, 5, 8])),
        "labels_per_item": int(generator.choice([3, 5, 7, 10, 20])),
    }


def from_population(
    generator: np.random.Generator, n_items: int, n_workers: int, n_classes: int, labels_per_item: int
) -> Drawn:
    """Draw workers' rows from Dirichlet distributions around mean rows, and labels from these."""
    right = generator.uniform(0.55 if n_classes == 2 else 0.4, 0.85)
    mean = generator.dirichlet(np.ones(n_classes), n_classes) * (1 - np.eye(n_classes))
    mean *= (1 - right) / mean.sum(axis=1, keepdims=True)
    mean += right * np.eye(n_classes)
    strength = np.exp(generator.normal(np.log(4), 0.75))
    tables = np.stack([generator.dirichlet(strength * row + 1e-3, n_workers) for row in mean], axis=1)
    truth = generator.choice(n_classes, size=n_items, p=generator.dirichlet(np.full(n_classes, 5.0)))
    worker = np.array([generator.permutation(n_workers)[:labels_per_item] for _ in range(n_items)])
    chance = generator.random((n_items, labels_per_item, 1))
    label = (chance > tables[worker, truth[:, None]].cumsum(axis=2)).sum(axis=2).clip(max=n_classes - 1)
    names = [pa.array([str(n) for n in range(size)]) for size in (n_items, n_workers, n_classes)]
    item = np.repeat(np.arange(n_items), labels_per_item)
    return Labels.from_codes(item, worker.ravel(), label.ravel(), items=names[0], workers=names[1], classes=names[2]), truth


def with_effects(generator: np.random.Generator, **size: int) -> Drawn:
    """Draw from the family, with items that are up to one and a half logits harder, easier or misleading."""
    skill = generator.uniform(0.6, 2.0) + np.log(size["n_classes"] - 1)
    spread, effect = generator.uniform(0.3, 1.2), generator.uniform(0.3, 1.5)
    return simulate(generator, skill=skill, worker_spread=spread, item_spread=effect, **size)


def kinds(crowds: int) -> Iterator[tuple[str, list[Drawn]]]:
    """Draw all labels, kind by kind."""
    yield "the story", [birds(np.random.default_rng(seed)) for seed in range(10)]
    for name, draw in (("model true", from_population), ("items have effects", with_effects)):
        generator = np.random.default_rng(0)
        yield name, [draw(generator, **shape(generator)) for _ in range(crowds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowds", type=int, default=150, help="of each kind but the story")
    parser.add_argument("--page", type=Path, help="a page, such as docs/accuracy.md, into which to write the tables")
    arguments, lines, below = parser.parse_args(), [], {}
    for kind, drawn in kinds(arguments.crowds):
        lines += [f"| {kind}, {len(drawn)} crowds | error | worst against vote | confidence |", "|---|---|---|---|"]
        errors, surplus = {}, {}
        for name, estimator in METHODS.items():
            results = [(estimator().fit(labels).result_, truth) for labels, truth in drawn]
            errors[name] = np.array([100 * error_rate(result.winners, truth) for result, truth in results])
            surplus[name] = np.mean([result.probability.mean() for result, _ in results]) - 1 + errors[name].mean() / 100
        for name, error in errors.items():
            lines.append(f"| {name} | {error.mean():.2f} | {(error - errors['majority']).max():.2f} | {surplus[name]:+.3f} |")
        lines.append("")
        below[kind] = -surplus["assay"]
    told = ", ".join(f"{gap:.3f} below ({kind})" for kind, gap in below.items())
    lines.append(f"The mean probability of the default's labels is {told} its accuracy.")
    print("\n".join(lines))
    if arguments.page:
        fill(arguments.page, {"simulated": lines})


if __name__ == "__main__":
    main()
