r"""Sums of squared slopes over clusters of comparisons that may depend on each other, for a sandwich.

A worker's own effects :math:`\gamma_w` are unknown too, so that a comparison n by w tells about the other parameters

.. math::  u_n = s_n - L_w R_w^{-1} z_n, \qquad J = \sum_c \Big( \sum_{n \in c} u_n \Big) \Big( \sum_{n \in c} u_n \Big)^\top

where s and z are its slopes by the parameters and by the effects, R the information on the effects and L what they share with
the parameters. Summed over all that a worker compared, z and the slope of the population cancel: u is s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.ranking.likelihood import PairRows, make_rows, worker_precision
from crowdassay.ranking.pairs import Pairs

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry

ENOUGH_CLUSTERS = 30  # workers, or pairs, from which to sum by them


def dependent_comparisons(pairs: Pairs, *, by_worker: bool, halves: bool) -> IntArray | None:
    """Return which comparisons may depend on each other, (n_pairs,); None where nothing says that any do.

    Those of one question do, if there are at least `ENOUGH_CLUSTERS`. Where no question is known and most comparisons were made
    in both orders, those of the same two by the same worker do: which are of one question cannot be told. ``by_worker`` says
    that all of a worker's do. With ``halves`` a tie is two halves of one comparison.
    """
    if pairs.question is not None and len(np.unique(codes := apart(pairs.question))) >= ENOUGH_CLUSTERS:
        return codes
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    code = np.unique(((pairs.worker + 1) * pairs.n_items + low) * pairs.n_items + high, return_inverse=True)[1].ravel()
    turned = np.bincount(code, np.where(pairs.left == low, 1.0, -1.0))
    both = turned[code] == 0
    code = apart(np.where(both, code, -1))
    if pairs.sides and not by_worker and both.mean() > 0.5 and code.max() + 1 >= ENOUGH_CLUSTERS:
        return code
    return np.arange(pairs.n_pairs) if halves and pairs.n_ties else None


def apart(codes: IntArray) -> IntArray:
    """Return codes from 0 on; every -1 becomes a code of its own."""
    alone = codes < 0
    every = np.where(alone, codes.max() + 1 + np.cumsum(alone), codes)
    return np.unique(every, return_inverse=True)[1].ravel()


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of the log-likelihood of every row of comparisons.

    Attributes
    ----------
    rows : PairRows
    parameters : sparse array of shape (n_rows, n_parameters)
    effects : sparse array of shape (n_rows, 2 n_workers)
        By each worker's log reliability and own side, turn by turn.
    shared : sparse array of shape (n_parameters, 2 n_workers)
        L R^-1.
    inverse : ndarray of shape (n_workers, 2, 2)
        R^-1.
    precision : ndarray of shape (2 n_workers,)
        Of the population of effects.
    n_free : float
        How many parameters the comparisons have determined, those that their population determines left out.
    """

    rows: PairRows
    parameters: sparse.csr_array
    effects: sparse.csr_array
    shared: sparse.csr_array
    inverse: FloatArray
    precision: FloatArray
    n_free: float

    def meat(self, codes: IntArray, *, whole_workers: bool = False) -> FloatArray:
        """Return J, (n_parameters, n_parameters), over clusters (n_rows,); ``whole_workers``: workers are not cut by them.

        Rows with the code -1 are on their own, as often as they count. The parameters were fitted to the same clusters, each
        of which has drawn its slopes to zero by a share of about n_free in the number of clusters. The sum makes up for it as a
        jackknife would (CR3; Bell and McCaffrey 2002).
        """
        n_rows, alone = len(codes), codes < 0
        scale = np.where(alone, 1.0 / np.sqrt(self.rows.weight), 1.0)
        count = float(self.rows.weight[alone].sum()) + len(np.unique(codes[~alone]))
        place = apart(codes)
        sums = sparse.csr_array((scale, (place, np.arange(n_rows))), shape=(int(place.max()) + 1, n_rows))
        mine = sums @ self.parameters
        total = (mine.T @ mine).toarray()
        if not whole_workers and self.effects.nnz:
            theirs = sums @ self.effects
            cross = (mine.T @ theirs @ self.shared.T).toarray()
            total += (self.shared @ (theirs.T @ theirs) @ self.shared.T).toarray() - cross - cross.T
        return np.asarray(total * (count / max(count - self.n_free, 1.0)) ** 2)

    def from_population(self) -> FloatArray:
        """Return what the draw of the effects from their population adds to J where workers are cut by clusters."""
        return np.asarray((self.shared @ sparse.diags_array(self.precision) @ self.shared.T).toarray())


def find_slopes(model: BradleyTerry, cluster: IntArray | None) -> Slopes:
    """Return the slopes at the estimates, row by row where ``cluster`` is given and equal comparisons together otherwise."""
    from crowdassay.ranking import kernel  # noqa: PLC0415  numba loads on first use

    fit, pairs = model._fit, model._pairs
    by_worker = model._effects or model._by_worker
    rows = make_rows(pairs, ties=model.ties, by_worker=by_worker, identified=model._identified, cluster=cluster)
    n_groups, n_rows, known = len(rows.starts) - 1, len(rows.left), rows.known if model._effects else 0
    effects = np.zeros((n_groups, 2))
    effects[:known] = fit.effects[:known]
    gap, out = np.empty(n_rows), np.empty((n_rows, 6))
    kernel.slopes(
        rows.starts, rows.left, rows.right, rows.outcome, rows.style, fit.point, rows.n_items, effects,
        model.ties == "rao-kupper", gap, out,
    )  # fmt: skip
    group = np.repeat(np.arange(n_groups), np.diff(rows.starts))
    a, c = np.exp(effects[group, 0]), rows.weight
    n, extra = rows.n_items, np.arange(rows.style.shape[1])
    places = np.column_stack(
        [rows.left, rows.right, np.full(n_rows, n), np.full(n_rows, n + 1), np.tile(n + 2 + extra, (n_rows, 1))]
    )

    def by_parameters(by_eta: FloatArray, by_tie: FloatArray) -> sparse.csr_array:
        values = np.column_stack([a * by_eta, -a * by_eta, by_eta, by_tie, (a * by_eta)[:, None] * rows.style])
        return _rows(c[:, None] * values, places, len(fit.point))

    slope = by_parameters(out[:, 1], out[:, 2])
    whole = fit.information + np.diag(fit.precision)
    free = np.flatnonzero(~fit.locked)
    n_free = float(np.trace(np.linalg.lstsq(whole[np.ix_(free, free)], fit.information[np.ix_(free, free)])[0]))
    if not known:
        none = sparse.csr_array((n_rows, 0)), sparse.csr_array((len(fit.point), 0))
        return Slopes(rows, slope, *none, np.zeros((0, 2, 2)), np.zeros(0), n_free)
    mine = (group < known).astype(float)[:, None]
    who = 2 * np.minimum(group, known - 1)[:, None] + np.arange(2)
    effect = _rows(mine * np.column_stack([a * gap, np.ones(n_rows)]), who, 2 * known)
    by_effect = effect.T.multiply((c * out[:, 1])[None, :]).T.tocsr()
    curvature = by_parameters(-out[:, 3], -out[:, 4])
    precision = np.tile(worker_precision(fit.variances), (known, 1))
    precision[~rows.sided[:known], 1] = kernel.FIXED
    link = (curvature.T @ effect).tocsc()
    weighted = effect.T @ effect.multiply((-c * out[:, 3])[:, None]).tocsr()
    inverse, observed = _inverse_blocks(weighted, by_effect, precision)
    moved = (slope.T @ _rows(mine * [1.0, 0.0], who, 2 * known)).tocsc()  # reliability multiplies scores and styles
    keep = np.ones(len(fit.point))
    keep[n : n + 2] = 0.0
    moved = sparse.diags_array(keep) @ moved @ sparse.diags_array(np.repeat(observed.astype(float), 2))
    blocks = sparse.block_diag(list(inverse), format="csr")
    return Slopes(rows, slope, by_effect, sparse.csr_array((link - moved) @ blocks), inverse, precision.ravel(), n_free)


def _rows(values: FloatArray, places: IntArray, width: int) -> sparse.csr_array:
    """Return a sparse array with the same number of values in every row; both (n_rows, n)."""
    n_rows, each = values.shape
    places = places.astype(np.int32)  # half the memory
    return sparse.csr_array((values.ravel(), places.ravel(), np.arange(n_rows + 1) * each), shape=(n_rows, width))


def _inverse_blocks(
    weighted: sparse.csr_array, by_effect: sparse.csr_array, precision: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return R^-1, (n_workers, 2, 2), and whether R is as observed, not as expected: see `kernel.find_effects`."""
    from crowdassay.ranking.kernel import LEAST_PART  # noqa: PLC0415  numba loads on first use

    diagonal = weighted.diagonal().reshape(-1, 2) + precision
    cross = weighted.diagonal(1)[::2]
    slope = np.asarray(by_effect.sum(axis=0)).reshape(-1, 2)[:, 0]
    r00, r11 = diagonal.T
    observed = (r00 - slope) * r11 - cross**2 > LEAST_PART * r00 * r11
    r00 = r00 - np.where(observed, slope, 0.0)
    det = r00 * r11 - cross**2
    blocks = np.stack([np.stack([r11, -cross], axis=1), np.stack([-cross, r00], axis=1)], axis=1)
    return blocks / det[:, None, None], observed
