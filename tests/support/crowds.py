"""Crowds of a known kind: honest workers, spammers, adversaries and copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay import as_labels
from crowdassay.labels.labels import Labels


def draw_workers(
    generator,
    *,
    n_items=300,
    n_workers=30,
    n_classes=3,
    labels_per_item=5,
    low=0.5,
    high=0.95,
    spammers=0,
    adversaries=0,
    copies=0,
):
    """Return labels, truth and accuracies; the first workers are spammers, then adversaries, the last copy the ones before.

    An honest worker is right with a probability drawn between low and high, a spammer answers by habit, an adversary is right
    one time in twenty, and a copy gives the answer of the worker before wherever both label an item.
    """
    assert labels_per_item <= n_workers
    truth = generator.integers(n_classes, size=n_items)
    accuracy = generator.uniform(low, high, n_workers)
    accuracy[spammers : spammers + adversaries] = 0.05
    tables = np.repeat(((1 - accuracy) / (n_classes - 1))[:, None], n_classes**2, axis=1).reshape(-1, n_classes, n_classes)
    tables[:, np.arange(n_classes), np.arange(n_classes)] = accuracy[:, None]
    tables[:spammers] = generator.dirichlet(np.full(n_classes, 2.0), spammers)[:, None, :]
    chosen = generator.permuted(np.tile(np.arange(n_workers), (n_items, 1)), axis=1)[:, :labels_per_item]
    steps = tables[chosen, truth[:, None]].cumsum(axis=2)
    label = np.minimum((generator.random(chosen.shape)[..., None] > steps).sum(axis=2), n_classes - 1)
    for copy in range(n_workers - copies, n_workers):
        for j in np.flatnonzero((chosen == copy).any(axis=1) & (chosen == copy - copies).any(axis=1)):
            label[j, chosen[j] == copy] = label[j, chosen[j] == copy - copies]
    labels = Labels.from_codes(
        np.repeat(np.arange(n_items), labels_per_item),
        chosen.ravel(),
        label.ravel(),
        items=pa.array([f"i{j}" for j in range(n_items)]),
        workers=pa.array([f"w{i}" for i in range(n_workers)]),
        classes=pa.array([f"c{c}" for c in range(n_classes)]),
    )
    return labels, truth, accuracy


def story():
    """Spammers, adversaries, copies, a group apart, judgements repeated and items of known class."""
    labels, truth, _ = draw_workers(
        np.random.default_rng(1), n_items=400, n_workers=20, labels_per_item=6, low=0.6, spammers=3, adversaries=2, copies=2
    )
    names = [labels.items.take(pa.array(labels.label_item)), labels.workers.take(pa.array(labels.worker))]
    items, workers = (column.to_pylist() for column in names)
    answers = labels.label.tolist()
    items += ["i3", "i3", "far", "further"]
    workers += [workers[18], workers[18], "alone", "alone"]
    answers += [answers[18], 2 - answers[18] // 2, 0, 1]
    labels = as_labels((items, workers, answers))
    gold = np.full(labels.n_items, -1)
    gold[5:25:4] = truth[5:25:4]
    return labels.with_gold(gold), np.append(truth, [0, 1])
