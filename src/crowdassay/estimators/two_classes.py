"""What methods for two classes share: labels as signs, the second class being +1."""

from __future__ import annotations

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.errors import DataError
from crowdassay.labels.labels import Labels, with_known
from crowdassay.solvers.em import coin_tables


def label_signs(labels: Labels, method: str) -> FloatArray:
    """Return -1 or +1 for every label, shape (n_labels,); refuse labels that have not two classes."""
    if labels.n_classes != 2:
        raise DataError(
            f"The method '{method}' is for two classes and these labels have {labels.n_classes}; "
            "use one-coin, mean-field or dawid-skene."
        )
    return 2.0 * labels.label.astype(np.float64) - 1.0


def label_gold(labels: Labels, signs: FloatArray) -> FloatArray:
    """Return +1 for a label that is known to be right, -1 for one known to be wrong, else 0; shape (n_labels,)."""
    gold = labels.gold[labels.label_item]
    return np.where(gold < 0, 0.0, signs * (2.0 * gold - 1.0))


def item_scores(labels: Labels, votes: FloatArray) -> FloatArray:
    """Sum signed votes (n_labels,) by item, shape (n_items,)."""
    return np.bincount(labels.label_item, weights=votes, minlength=labels.n_items).astype(np.float64)


def log_odds_scale(scores: FloatArray, weights: FloatArray) -> float:
    r"""Return the factor that turns the scores of a weighted vote into log odds.

    Let :math:`s_j = \sum_n a_n r_n` be the scores of labels :math:`a_n = \pm 1` with weights :math:`r_n`. Least squares of
    "this label agrees with its item's score", as :math:`\pm 1`, on :math:`r_n` gives :math:`c = \sum_j |s_j| / \sum_n r_n^2`.
    Then :math:`c\, r_n` estimates :math:`2 p - 1` and :math:`2 c\, r_n` its log odds, to first order. The factor is never
    negative, so that no label changes.
    """
    squares = float((weights**2).sum())
    return 2.0 * float(np.abs(scores).sum()) / squares if squares > 0 else 0.0


def two_columns(labels: Labels, log_odds: FloatArray) -> FloatArray:
    """Return class probabilities (n_items, 2) from log odds (n_items,) of the second class; known items are certain."""
    posterior = np.column_stack([scipy.special.expit(-log_odds), scipy.special.expit(log_odds)])
    return with_known(posterior, labels.gold)


def log_odds_tables(log_odds: FloatArray) -> FloatArray:
    """Return log tables (n_workers, 2, 2) of workers who are right with these log odds (n_workers,)."""
    return coin_tables(-np.logaddexp(0.0, -log_odds)[:, None], -np.logaddexp(0.0, log_odds)[:, None], 2)


def sign_matrix(labels: Labels, signs: FloatArray) -> scipy.sparse.csr_array:
    """Return the signs as a sparse matrix, items by workers, a pair's labels added up.

    Known items are answered by one worker more, who stands last and counts as much as all other labels of an item together.
    """
    shape = (labels.n_items, labels.n_workers + 1)
    known = np.flatnonzero(labels.gold >= 0)
    votes = np.diff(labels.starts)[known] * (2.0 * labels.gold[known] - 1.0)
    rows = np.concatenate([labels.label_item, known])
    columns = np.concatenate([labels.worker.astype(np.int64), np.full(len(known), labels.n_workers)])
    return scipy.sparse.csr_array(scipy.sparse.coo_array((np.concatenate([signs, votes]), (rows, columns)), shape=shape))


def first_weights(labels: Labels) -> FloatArray:
    """Return the start of a power iteration on a `sign_matrix`, shape (n_workers + 1,): all workers alike, as in a vote.

    The answer takes its sign from here: most workers are better than chance. The last worker, who answers the known items,
    has a voice for each of these.
    """
    return np.append(np.ones(labels.n_workers), float((labels.gold >= 0).sum()))
