"""An engine with the protocol and nothing more, on the readable kernel: what solvers may ask for."""

from __future__ import annotations

import numpy as np

from crowdassay.engines.base import Counts, Sums, Weights
from crowdassay.engines.gather import take
from crowdassay.engines.kernels import reference


class FakeEngine:
    """Hold labels and return sums; whoever asks for anything else is told that there is no such attribute."""

    __slots__ = (
        "_labels",
        "can",
        "class_counts",
        "gathered",
        "n_classes",
        "n_items",
        "n_labels",
        "n_workers",
        "worker_counts",
        "xp",
    )

    def __init__(self, labels):
        self._labels = labels
        self.n_items, self.n_workers = labels.n_items, labels.n_workers
        self.n_classes, self.n_labels = labels.n_classes, labels.n_labels
        self.worker_counts = np.bincount(labels.worker, minlength=labels.n_workers)
        known = labels.gold[labels.gold >= 0]
        self.class_counts = np.bincount(np.append(labels.label, known), minlength=labels.n_classes)
        self.gathered, self.can, self.xp = False, frozenset(), np

    def restart(self):
        """There is nothing to forget."""

    def gather(self, selection):
        return take(self._labels, selection.rows(self._labels, 0))

    def count(self, log_p, log_prior, weights=Weights.FREE):
        labels, held = self._labels, self._held(weights)
        counts, totals, objective = np.zeros_like(log_p), np.zeros(self.n_classes), 0.0
        for j in range(self.n_items):
            mine = slice(labels.starts[j], labels.starts[j + 1])
            worker, label = labels.worker[mine], labels.label[mine]
            log_joint = log_prior + log_p[worker, :, label].sum(axis=0)
            fixed = np.eye(self.n_classes)[labels.gold[j]] if labels.gold[j] >= 0 else None if held is None else held[j]
            found = np.exp(log_joint - np.logaddexp.reduce(log_joint)) if fixed is None else fixed
            objective += float(found @ log_joint - found @ np.log(np.maximum(found, 1e-300)))
            np.add.at(counts, (worker, slice(None), label), found)
            totals += found
        return Counts(objective, counts, totals)

    def sweep(self, model, sigma, log_prior, weights=Weights.FREE, item_tol=0.0):
        found = reference.sweep(self._labels, sigma, log_prior, model.item, model.beta, self._held(weights))
        return Sums(found[0], found[1], found[2].sum(axis=0))

    def _held(self, weights):
        if weights is Weights.FREE:
            return None
        assert weights is Weights.VOTES, "no weights of the items can be held here"
        votes = self._labels.votes()
        return votes / votes.sum(axis=1, keepdims=True)
