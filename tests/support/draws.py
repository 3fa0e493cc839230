"""Scores drawn from the models."""

import numpy as np


def draw_scores(seed, n_workers, steps, spread=1.0, share=1.0):
    """Return (items, workers, scores), the abilities, and the full table (n_workers, n_items) of scores.

    ``steps`` (n_items, n_steps) are the hurdles; each pair is kept with probability ``share``. Items are named so that they
    come out of a fit in the order in which they stand here.
    """
    generator = np.random.default_rng(seed)
    theta = spread * generator.normal(size=n_workers)
    eta = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    logits = np.arange(eta.shape[1]) * theta[:, None, None] - eta
    table = (logits + generator.gumbel(size=logits.shape)).argmax(axis=2)
    item, worker = np.nonzero(generator.random((len(steps), n_workers)) < share)
    return (item, worker, table[worker, item]), theta, table
