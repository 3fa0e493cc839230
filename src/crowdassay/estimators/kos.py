"""Message passing by Karger, Oh and Shah."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.confusion import confusion_tables
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.binary import (
    item_scores,
    label_gold,
    label_signs,
    log_odds_scale,
    log_odds_tables,
    name_ranks,
    two_columns,
)
from crowdassay.estimators.tables import judge_by_tables
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners
from crowdassay.results.result import Result
from crowdassay.solvers.outcome import Announce, Progress


@dataclass(kw_only=True, eq=False, repr=False)
class KOS(Estimator):
    r"""Pass messages between items and workers, each leaving out what it has from its receiver; two classes.

    .. math::  x_{j \to i} = \sum_{i' \ne i} A_{i'j}\, y_{i' \to j}, \qquad
               y_{i \to j} = \sum_{j' \ne j} A_{ij'}\, x_{j' \to i}, \qquad
               \hat t_j = \operatorname{sign} \sum_i A_{ij}\, y_{i \to j}

    with labels :math:`A_{ij} = \pm 1` and first messages :math:`y_{i \to j} \sim N(1, 1)`. Belief propagation in the limit
    of a Beta(e, e) prior with vanishing e. Known items send what the surest message of any other item would be, and the first
    messages of workers who labelled some lie around their record there.

    The probability is logistic in the score that the label is the sign of, with the scale of `log_odds_scale`.

    Parameters
    ----------
    max_iter : int
        How often both kinds of messages are sent. The messages are a power iteration and settle geometrically: after ten
        rounds most labels are final. Where a few workers give most labels, more rounds let them decide alone.
    seed : int
        Of the first messages.

    References
    ----------
    D. R. Karger, S. Oh, D. Shah. Iterative learning for reliable crowdsourcing systems. 2011.
    """

    method: ClassVar[str] = "kos"

    max_iter: int = 10
    seed: int = 0

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        if not isinstance(self.max_iter, int) or self.max_iter < 1:
            raise ParameterError(f"max_iter must be a whole number of at least 1, not {self.max_iter!r}.")
        signs = label_signs(labels, self.method)
        known = label_gold(labels, signs)
        messages = first_messages(labels, known, np.random.default_rng(self.seed))
        for _ in range(self.max_iter):
            heard = hear_items(labels, signs, known, messages)
            sums = np.bincount(labels.worker, weights=heard, minlength=labels.n_workers).astype(np.float64)
            messages = sums[labels.worker] - heard
            size = float(np.sqrt((messages**2).mean()))
            if size > 0:  # only ratios matter, and they would grow without end
                messages, sums = messages / size, sums / size
        scores = item_scores(labels, signs * messages)
        scale = log_odds_scale(scores, messages)
        posterior = two_columns(labels, scale * scores)
        confusion, accuracy = confusion_tables(labels, posterior)
        return Result(
            labels,
            self.method,
            {"max_iter": self.max_iter, "seed": self.seed},
            posterior,
            find_winners(posterior),
            confusion,
            accuracy,
            sigma=log_odds_tables(scale * sums),
            n_iter=self.max_iter,
        )

    def _predict_proba(self, labels: Labels) -> FloatArray:
        label_signs(labels, self.method)
        return judge_by_tables(self._fitted(), labels)


def first_messages(labels: Labels, known: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Draw the workers' first messages (n_labels,), each belonging to its item and worker and not to its row.

    They lie around 1, or around the worker's record on known items with one right answer more.
    """
    record, count = (np.bincount(labels.worker, weights=w, minlength=labels.n_workers) for w in (known, np.abs(known)))
    order = np.lexsort((labels.label, name_ranks(labels.workers)[labels.worker], name_ranks(labels.items)[labels.label_item]))
    messages = np.asarray((1.0 + record) / (1.0 + count))[labels.worker]
    messages[order] += generator.standard_normal(labels.n_labels)
    return messages


def hear_items(labels: Labels, signs: FloatArray, known: FloatArray, messages: FloatArray) -> FloatArray:
    r"""Return :math:`A_{ij} x_{j \to i}` for every label (n_labels,): how far its item, without it, agrees with it."""
    heard = signs * item_scores(labels, signs * messages)[labels.label_item] - messages
    surest = float(np.abs(heard[known == 0]).max(initial=0.0)) or 1.0
    return np.where(known == 0, heard, surest * known)
