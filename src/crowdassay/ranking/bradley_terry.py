"""Bradley and Terry's model with ties, position bias, style, and workers who differ."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.fittable import FittableStudy
from crowdassay.labels.values import listed
from crowdassay.ranking.clusters import ENOUGH_CLUSTERS, Slopes, dependent_comparisons, find_slopes
from crowdassay.ranking.fit import TIE_MODELS, PairsFit, fit_pairs
from crowdassay.ranking.identified import find_identified
from crowdassay.ranking.intervals import (
    MOST_ITEMS_PAIRED,
    bootstrap,
    choose_pairs,
    find_degrees,
    model_covariance,
    sandwich,
)
from crowdassay.ranking.likelihood import make_rows
from crowdassay.ranking.pairs import Pairs, read_pairs, refuse_infinite
from crowdassay.ranking.tables import NEXT_PAIRS, RANKING, RANKING_SHOWN, STYLES, notes, ranking_table, workers_table
from crowdassay.results.parameters import check_choice

INTERVAL_KINDS = ("sandwich", "bootstrap", "model")
CARD_ROWS = 10  # of the ranking that a notebook shows


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class BradleyTerry(FittableStudy[Pairs]):
    r"""Rank things from comparisons of two (Bradley and Terry 1952).

    .. math::  \eta = e^{\rho_w} (s_l - s_r + x \cdot b) + g + g_w, \qquad
               P(\text{left}) : P(\text{tie}) : P(\text{right}) = e^{\eta / 2} : \nu : e^{-\eta / 2}

    Worker w has a reliability :math:`e^{\rho_w}` and a bias :math:`g_w` for one side, both drawn from a population whose
    spread is estimated: a worker who always says left gets a bias, not the ranking.

    Parameters
    ----------
    ties : {'davidson', 'rao-kupper', 'half'}
        How ties come about (Davidson 1970; Rao and Kupper 1967), or count each as half a win for both.
    position : bool
        Let the left side have an advantage.
    reliability : bool
        Let workers differ, where they are known.
    prior : float, 'estimated' or None
        Standard deviation of the scores' population, in logits; it keeps the score of one that always won finite. None is
        plain maximum likelihood, which refuses such comparisons.
    intervals : {'sandwich', 'bootstrap', 'model'}
    confidence : float
    resamples, seed : int
        Of the bootstrap.
    max_iter : int
    tol : float
        Largest change of a score, in logits, at which to stop.

    Attributes
    ----------
    notes_ : list of str
    position_bias_ : float
        Logits by which the left side is favoured; 0 where it cannot be told from the scores.
    tie_ : float
        :math:`\nu`; for Rao and Kupper the threshold. 0 without ties.
    spread_ : dict
        Standard deviations of the populations: scores, reliability (of its logarithm) and bias.
    log_likelihood_, converged_, n_iter_

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"left": list("abcab"), "right": list("bcacc"), "winner": list("abaac")})
    >>> BradleyTerry().fit(table).ranking_.column("item").to_pylist()
    ['a', 'b', 'c']

    References
    ----------
    R. A. Bradley, M. E. Terry. Rank analysis of incomplete block designs. 1952.
    """

    ties: str = "davidson"
    position: bool = True
    reliability: bool = True
    prior: float | str | None = "estimated"
    intervals: str = "sandwich"
    confidence: float = 0.95
    resamples: int = 200
    seed: int = 0
    max_iter: int = 200
    tol: float = 1e-6

    fit_leaves: ClassVar[str] = "_pairs"
    fitted_to: ClassVar[str] = "pairs"
    saved_as: ClassVar[tuple[type, type]] = (Pairs, PairsFit)

    def fit(self, data: object, **reading: Any) -> Self:
        """Fit comparisons.

        Parameters
        ----------
        data : frame, str, Path or Pairs
        **reading
            As for `crowdassay.ranking.pairs.read_pairs`: left_column, right_column, winner_column, worker_column,
            group_column, question_column, style, winners, both_bad, allow_drops, sheet, encoding, no_header, worker_columns.
        """
        self._check()
        if isinstance(data, Pairs):
            self._refuse_reading(reading)
        pairs = data if isinstance(data, Pairs) else read_pairs(data, **reading)
        if self.prior is None:
            refuse_infinite(pairs)
        self._count_workers(pairs)
        rows = make_rows(pairs, ties=self.ties, by_worker=self._effects, identified=self._identified)
        return self._restore(pairs, fit_pairs(rows, self))

    def _count_workers(self, pairs: Pairs) -> None:
        """Find out whether workers have effects of their own, are enough to sum by, and which effects can be told."""
        used = len(np.unique(pairs.worker[pairs.worker >= 0]))
        self._effects = self.reliability and used >= 2
        self._by_worker = used >= ENOUGH_CLUSTERS
        self._identified = find_identified(pairs, by_worker=self._effects)

    def _restore(self, data: Pairs, fit: PairsFit) -> Self:
        self._count_workers(data)
        fit.check(data.n_items, len(data.styles), len(data.workers) if self._effects else 0)
        for name in ("_covariance", "_slopes", "_whole_covariance"):
            self.__dict__.pop(name, None)
        self._pairs, self._fit = data, fit
        self.position_bias_ = float(fit.point[data.n_items])
        self.tie_ = float(np.exp(fit.point[data.n_items + 1])) if not fit.locked[data.n_items + 1] else 0.0
        self.spread_ = {name: float(np.sqrt(value)) for name, value in fit.variances.items()}
        if not self._effects:
            self.spread_ |= {"reliability": 0.0, "bias": 0.0}
        elif not self._identified.sided.any():
            self.spread_["bias"] = 0.0
        self.log_likelihood_, self.converged_, self.n_iter_ = fit.log_likelihood, fit.converged, fit.n_iter
        self.notes_ = notes(self)
        return self

    def _check(self) -> None:
        check_choice("ties", self.ties, TIE_MODELS)
        check_choice("intervals", self.intervals, INTERVAL_KINDS)
        if isinstance(self.prior, str) and self.prior != "estimated":
            raise ParameterError(f"prior must be a number, 'estimated' or None, not {self.prior!r}.")
        if not isinstance(self.prior, str | None) and not 0.01 <= self.prior < np.inf:
            raise ParameterError(f"prior must be at least 0.01, not {self.prior!r}.")
        if not 0.5 <= self.confidence < 1:
            raise ParameterError(f"confidence must be from 0.5 to below 1, not {self.confidence!r}.")
        if self.resamples < 20 or self.max_iter < 1 or not self.tol > 0:
            raise ParameterError("resamples must be at least 20, max_iter at least 1, and tol above 0.")

    @cached_property
    def _covariance(self) -> FloatArray:
        """Of the scores, shape (n_items, n_items), or their variances where there are too many items."""
        pairs, fit = self._fitted(), self._fit
        n = pairs.n_items
        if fit.information.ndim == 1:
            return model_covariance(fit)[:n]
        if self.intervals == "model":
            return model_covariance(fit)[:n, :n]
        if self.intervals == "bootstrap":
            inverse = model_covariance(fit)[:n, :n]  # the shrinkage of the prior is the same in every resample
            shrunk = inverse @ np.diag(fit.precision[:n]) @ inverse
            return np.asarray(bootstrap(self) + shrunk)
        return self._whole_covariance[:n, :n]

    @cached_property
    def _whole_covariance(self) -> FloatArray:
        """Of all parameters, shape (n_parameters, n_parameters)."""
        return model_covariance(self._fit) if self.intervals == "model" else sandwich(self)

    @property
    def _dependent(self) -> IntArray | None:
        return dependent_comparisons(self._fitted(), by_worker=self._by_worker, halves=self.ties == "half")

    @cached_property
    def _slopes(self) -> Slopes:
        return find_slopes(self, self._dependent)

    @property
    def _side_told(self) -> bool:
        return self.position and self._identified.position

    @property
    def scores_(self) -> FloatArray:
        """Scores in logits, mean zero, in the order of the items' names; shape (n_items,)."""
        return self._fit.point[: self._fitted().n_items]

    @property
    def ranking_(self) -> Any:
        """Frame with a row for each item, best first.

        score with its interval; rank with the best and the worst it can be; group: items that share a letter cannot be told
        apart; win_rate: the chance to beat an average item; part: items of different parts were never linked.
        """
        return self._frame(ranking_table(self))

    @property
    def workers_(self) -> Any:
        """Frame of worker, comparisons, reliability (1 is the average worker) and bias for the left side, with errors."""
        return self._frame(workers_table(self))

    @property
    def style_(self) -> Any:
        """Frame of style and its effect in logits for one standard deviation more on the left, with its error."""
        return self._frame(self._style_table())

    def _style_table(self) -> pa.Table:
        pairs = self._fitted()
        first = pairs.n_items + 2
        error = np.sqrt(np.maximum(np.diag(self._whole_covariance)[first:], 0.0))
        known = self._identified.styles
        effect = np.where(known, self._fit.point[first:], np.nan)
        return STYLES.fill(style=list(pairs.styles), effect=effect, standard_error=np.where(known, error, np.nan))

    def win_matrix(self) -> FloatArray:
        """Return the chance that the row beats the column, a tie counting half, shape (n_items, n_items); best first."""
        score = np.sort(self.scores_)[::-1]
        return self._beats(score[:, None] - score[None, :])

    def _beats(self, gap: FloatArray) -> FloatArray:
        """Return the chance to beat one whose score is lower by this much, a tie counting half."""
        win, _, tie, total = self._odds(gap)
        return np.asarray((win + 0.5 * tie) / total)

    def _odds(self, eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray | float]:
        """Return in what ratio the left one wins, the right one wins, and there is a tie, each shaped as eta; and the sum."""
        if self.ties == "rao-kupper":
            win, lose = 1 / (1 + np.exp(self.tie_ - eta)), 1 / (1 + np.exp(self.tie_ + eta))
            return win, lose, 1 - win - lose, 1.0
        win, lose = np.exp(eta / 2), np.exp(-eta / 2)
        return win, lose, np.full_like(win, self.tie_), win + lose + self.tie_

    def predict_proba(self, data: object, **reading: Any) -> FloatArray:
        """Return the chances that the left one wins, the right one wins, and of a tie; shape (n_pairs, 3).

        Workers of the fit are taken as they are, others as average ones.
        """
        fitted, point = self._fitted(), self._fit.point
        if isinstance(data, Pairs):
            self._refuse_reading(reading)
        pairs = data if isinstance(data, Pairs) else read_pairs(data, **reading)
        place = pc.index_in(pairs.items, value_set=fitted.items)
        if place.null_count:
            unknown = listed(pairs.items.filter(place.is_null()).to_pylist(), limit=3)
            raise DataError(f"The fit does not know {unknown}; fit comparisons with them first.")
        left, right = (place.to_numpy()[side] for side in (pairs.left, pairs.right))
        known = np.append(pc.index_in(pairs.workers, value_set=fitted.workers).fill_null(-1).to_numpy(), -1)
        worker = known[pairs.worker] if self._effects else np.full(pairs.n_pairs, -1)
        effects = np.vstack([self._fit.effects, np.zeros((1, 2))])[worker]
        styles = fitted.n_items + 2 + np.arange(pairs.style.shape[1])
        gap = point[left] - point[right] + pairs.style @ point[styles]
        win, lose, tie, total = self._odds(np.exp(effects[:, 0]) * gap + point[fitted.n_items] + effects[:, 1])
        return (np.stack([win, lose, tie]) / total).T

    def next_pairs(self, count: int = 10) -> Any:
        """Return a frame of the pairs most worth comparing next."""
        return self._frame(self._next_table(count))

    def _next_table(self, count: int) -> pa.Table:
        pairs = self._fitted()
        if count < 1:
            raise ParameterError(f"The number of pairs must be at least 1, not {count}.")
        if self._covariance.ndim == 1 or pairs.n_items > MOST_ITEMS_PAIRED:
            raise ParameterError(
                f"The next pairs are chosen among up to {MOST_ITEMS_PAIRED:,} items; there are {pairs.n_items:,}."
            )
        one, two, wrong, worth = zip(*choose_pairs(self.scores_, self._covariance, find_degrees(self), count), strict=True)
        left, right = (pairs.items.take(pa.array(side)) for side in (one, two))
        return NEXT_PAIRS.fill(left=left, right=right, order_may_be_wrong=wrong, worth=worth)

    def _card(self) -> str:
        return RANKING.html(ranking_table(self).slice(0, CARD_ROWS), RANKING_SHOWN, title="Ranking")
