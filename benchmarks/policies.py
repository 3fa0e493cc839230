"""Published and simple ways to choose the next item, to compare with: each scores items, the highest is labelled next."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

from crowdassay.arrays import FloatArray, IntArray


def uniform(n_labels: IntArray) -> FloatArray:
    """Score items by how few labels they have, shape (n_items,)."""
    return -np.asarray(n_labels, np.float64)


def uncertainty(posterior: FloatArray) -> FloatArray:
    """Score items by how unsure their likeliest class is, shape (n_items,)."""
    return np.asarray(1 - posterior.max(axis=1))


def optimistic_gradient(votes: IntArray) -> FloatArray:
    r"""Score items by the optimistic knowledge gradient of their votes (n_items, n_classes), workers taken as alike.

    With votes a, b for the two leading classes and a uniform prior, the label is right with probability
    :math:`h(a, b) = \max(I, 1 - I)`, :math:`I = P(\mathrm{Beta}(a + 1, b + 1) > 1/2)`. The score is the larger of the
    two gains that one more vote could bring. With two classes that is Opt-KG; with more, the two leading classes stand for all.

    References
    ----------
    X. Chen, Q. Lin, D. Zhou. Optimistic knowledge gradient policy for optimal budget allocation in crowdsourcing. ICML 2013.
    """
    lead = -np.sort(-votes, axis=1)[:, :2].astype(np.float64)
    a, b = lead[:, 0] + 1, lead[:, 1] + 1

    def right(one: FloatArray, other: FloatArray) -> FloatArray:
        above = 1 - betainc(one, other, 0.5)
        return np.asarray(np.maximum(above, 1 - above))

    return np.maximum(right(a + 1, b), right(a, b + 1)) - right(a, b)


def activelab(item: IntArray, worker: IntArray, label: IntArray, sizes: tuple[int, int, int]) -> FloatArray:
    r"""Score items by one minus ActiveLab's quality, without a classifier; one entry of each array for a label.

    The quality of the vote's class c is a mean of the workers' beliefs, weighted by how much better than chance each agrees
    with the others (:math:`w_i`), and of 1/K, weighted by the mean of these:

    .. math::  \frac{\bar w / K + \sum_i w_i P_i(c)}{\bar w + \sum_i w_i}

    where :math:`P_i(c)` is the mean agreement with the vote if the worker said c, and shares the rest evenly otherwise.
    ``sizes`` are the numbers of items, workers and classes.

    References
    ----------
    H. W. Goh, J. Mueller. ActiveLab: active learning with re-labeling by multiple annotators. 2023.
    """
    n_items, n_workers, n_classes = sizes
    votes = np.bincount(item * n_classes + label, minlength=n_items * n_classes).reshape(n_items, n_classes)
    consensus, n_labels = votes.argmax(axis=1), votes.sum(axis=1)
    agrees = label == consensus[item]
    several = n_labels[item] > 1
    belief = agrees[several].mean() if several.any() else 1.0
    belief = float(np.clip(belief, 1 / n_classes, 1 - 1e-6))
    same = votes[item, label] - 1.0
    others = np.maximum(n_labels[item] - 1.0, 1.0)
    shared = np.bincount(worker, np.where(several, same / others, 0.0), n_workers)
    count = np.bincount(worker, several, n_workers)
    typical = (same / others)[several].mean() if several.any() else 1.0
    agreement = np.where(count > 0, shared / np.maximum(count, 1), typical)
    guess = float(np.mean(consensus == np.bincount(consensus[n_labels > 0], minlength=n_classes).argmax()))
    weight = np.maximum(1 - (1 - agreement) / max(1 - guess, 1e-6), 1e-3)
    mean = weight[count > 0].mean() if (count > 0).any() else float(weight.mean())
    said = np.where(agrees, belief, (1 - belief) / max(n_classes - 1, 1))
    top = np.bincount(item, weight[worker] * said, n_items) + mean / n_classes
    return np.asarray(1 - top / (np.bincount(item, weight[worker], n_items) + mean))
