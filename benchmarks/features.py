"""How much features of the items help: Raykar's classifier on simulated labels, beside the vote and Dawid and Skene's model.

Run: python benchmarks/features.py [--draws 10]
"""

from __future__ import annotations

import argparse

import numpy as np

from crowdassay import DawidSkene, MajorityVote, RaykarClassifier, simulate
from crowdassay.estimators.raykar import fit_logistic
from crowdassay.findings.scores import error_rate

CORNERS = 1.5 * np.array([[np.cos(angle), np.sin(angle)] for angle in 2 * np.pi * np.arange(3) / 3])
COLUMNS = ("labels an item", "vote", "Dawid-Skene", "Raykar", "new: Raykar", "new: votes", "new: truth")


def main() -> None:
    """Print mean errors in percent for 1, 2, 3 and 5 labels an item."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    draws = parser.parse_args().draws
    print(" | ".join(COLUMNS))
    for labels_per_item in (1, 2, 3, 5):
        errors = np.mean([one_draw(np.random.default_rng(seed), labels_per_item) for seed in range(draws)], axis=0)
        print(labels_per_item, *(f"{100 * error:.1f}" for error in errors), sep=" | ")


def one_draw(generator: np.random.Generator, labels_per_item: int) -> list[float]:
    """Return the errors of the methods on the items, and of classifiers on 5000 new ones."""
    labels, truth = simulate(
        generator, n_items=1000, n_workers=30, n_classes=3, labels_per_item=labels_per_item, item_spread=0.0
    )
    features = CORNERS[truth] + generator.normal(size=(1000, 2))
    fresh = generator.integers(3, size=5000)
    seen = CORNERS[fresh] + generator.normal(size=(5000, 2))
    vote = MajorityVote().fit(labels).result_
    tables = DawidSkene(prior="estimated", smoothing=1.0).fit(labels).result_
    raykar = RaykarClassifier().fit(labels, features=features)
    guesses = [np.asarray(raykar.predict_features(seen))]
    design, wanted = np.column_stack([features, np.ones(1000)]), np.column_stack([seen, np.ones(5000)])
    guesses += [wanted @ fit_logistic(design, np.eye(3)[code], 1.0, np.zeros((3, 3))).T for code in (vote.code, truth)]
    found = [float((vote.code != truth).mean()), *(error_rate(one.winners, truth) for one in (tables, raykar.result_))]
    return [*found, *(float((guess.argmax(axis=1) != fresh).mean()) for guess in guesses)]


if __name__ == "__main__":
    main()
