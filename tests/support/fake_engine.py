"""An engine with the protocol and nothing more, on the readable kernel: what solvers may ask for."""

from __future__ import annotations

import numpy as np

from crowdassay.engines.base import Counts, Engine, Sums, Weights
from support import reference


class FakeEngine(Engine):
    """Return sums of labels; whoever asks for more than `Engine` has is told that there is no such attribute."""

    def __init__(self, labels):
        self.facts = self._labels = labels

    def gather(self, selection):
        return selection.take(self._labels)

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
