"""Comparisons drawn from the models of ties."""

import numpy as np
import pyarrow as pa

from crowdassay.ranking.pairs import Pairs


def draw_pairs(rng, n=2000, items=6, workers=20, tie=-0.7, position=0.2, reliability=0.5, bias=0.5, score=None):
    """Return comparisons drawn from Davidson's model, and the scores."""
    return draw_with_workers(rng, n, items, workers, tie, position, reliability, bias, score)[:2]


def draw_with_workers(rng, n, items, workers, tie, position, reliability, bias, score=None, rao_kupper=False):
    """Return comparisons, the scores, and the log reliability and own bias of every worker.

    ``tie`` is the log propensity of ties; with ``rao_kupper`` the threshold within which neither wins.
    """
    score = rng.normal(0, 1, items) if score is None else np.asarray(score, float)
    score = score - score.mean()
    left = rng.integers(items, size=n)
    right = (left + rng.integers(1, items, size=n)) % items
    worker = rng.integers(workers, size=n)
    rho, side = rng.normal(0, reliability, workers), rng.normal(0, bias, workers)
    eta = np.exp(rho[worker]) * (score[left] - score[right]) + position + side[worker]
    if rao_kupper:
        chance = np.stack([1 / (1 + np.exp(tie - eta)), 1 / (1 + np.exp(tie + eta))], axis=1)
        logit = np.log(np.column_stack([chance, 1 - chance.sum(axis=1)]))
    else:
        logit = np.stack([eta / 2, -eta / 2, np.full(n, tie)], axis=1)
    outcome = (logit + rng.gumbel(size=logit.shape)).argmax(axis=1)
    names = [pa.array([f"{kind}{i:03d}" for i in range(size)]) for kind, size in (("m", items), ("w", workers))]
    return Pairs(left, right, outcome, worker, *names, np.zeros((n, 0))), score, rho, side
