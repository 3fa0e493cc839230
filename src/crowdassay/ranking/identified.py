"""Which effects the comparisons can tell from the scores of what is compared, found as the rank of the design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.ranking.pairs import Pairs
from crowdassay.statistics import connected_parts

NO_RANK = 1e-9  # share of a column's square below which the other columns explain all of it
IN_NULL_SPACE = 1e-6  # squared length, within the null space, from which a column takes part in it
MOST_RANKED = 3000  # items, and workers, up to which the rank of the whole design is found


@dataclass(frozen=True, eq=False)
class Identified:
    """Whether effects can be told from scores; those that cannot are fixed at zero.

    Attributes
    ----------
    position : bool
        Of the left side.
    styles : ndarray of bool, shape (n_styles,)
    sided : ndarray of bool, shape (n_workers,)
        Of each worker's own side, given everybody's scores.
    """

    position: bool
    styles: BoolArray
    sided: BoolArray


def find_identified(pairs: Pairs, *, by_worker: bool) -> Identified:
    r"""Find the effects that no change of the scores can make up for.

    A comparison of l and r by w is a row :math:`e_l - e_r` of scores, with a one for the side (of w, ``by_worker``) and the
    differences of style. A side cannot be told from the scores where some :math:`\varphi` has
    :math:`\varphi_l - \varphi_r = 1` in all comparisons, as where one item is always on the right.

    >>> import pyarrow as pa
    >>> left, right, names = np.array([0, 1]), np.array([2, 2]), pa.array(["a", "b", "base"])
    >>> on_the_right = Pairs(left, right, left, np.full(2, -1), names, pa.array([]), np.zeros((2, 0)))
    >>> find_identified(on_the_right, by_worker=False).position
    False
    """
    n_workers = len(pairs.workers)
    if pairs.n_items > MOST_RANKED:
        styles = np.array([not _explained(pairs, values) for values in pairs.style.T], bool)
        position = pairs.sides and not _explained(pairs, np.ones(pairs.n_pairs))
        return Identified(position, styles, np.full(n_workers, position))
    split = by_worker and n_workers <= MOST_RANKED
    side = np.where(pairs.worker < 0, n_workers, pairs.worker) if split else np.zeros(pairs.n_pairs, np.int64)
    n_sides = n_workers + 1 if split else 1
    left_over = _left_over(pairs, side, n_sides)
    every = np.zeros(len(left_over))
    every[:n_sides] = 1.0
    position = pairs.sides and bool(every @ left_over @ every > NO_RANK * pairs.n_pairs)
    known = ~_null_support(left_over, _squares(pairs, side, n_sides))
    sided = known[:n_workers] if split else np.full(n_workers, position)
    return Identified(position, known[n_sides:], sided & position)


def _squares(pairs: Pairs, side: IntArray, n_sides: int) -> FloatArray:
    """Return the squared length of every column: sides, then styles."""
    return np.concatenate([np.bincount(side, minlength=n_sides), (pairs.style**2).sum(axis=0)])


def _left_over(pairs: Pairs, side: IntArray, n_sides: int) -> FloatArray:
    """Return the products of the columns of sides and styles, what scores explain taken off; (n_columns, n_columns)."""
    n, met = pairs.n_items, np.zeros((pairs.n_items, pairs.n_items))
    np.add.at(met, (pairs.left, pairs.right), 1.0)
    laplacian = -(met + met.T)
    laplacian[np.diag_indices(n)] = met.sum(axis=0) + met.sum(axis=1)
    part = connected_parts(pairs.left, pairs.right, n)  # the mean of a part's scores is free
    laplacian += (part[:, None] == part[None, :]) * (max(laplacian.max(), 1.0) / np.bincount(part)[part])
    cross = np.zeros((n, n_sides + pairs.style.shape[1]))
    inner = np.diag(_squares(pairs, side, n_sides))
    for end, sign in ((pairs.left, 1.0), (pairs.right, -1.0)):
        cross[:, :n_sides] += sign * np.bincount(end * n_sides + side, minlength=n * n_sides).reshape(n, n_sides)
        for k, values in enumerate(pairs.style.T):
            cross[:, n_sides + k] += sign * np.bincount(end, values, n)
    for k, values in enumerate(pairs.style.T):
        inner[:n_sides, n_sides + k] = inner[n_sides + k, :n_sides] = np.bincount(side, values, n_sides)
    inner[n_sides:, n_sides:] = pairs.style.T @ pairs.style
    return np.asarray(inner - cross.T @ np.linalg.solve(laplacian, cross))


def _null_support(left_over: FloatArray, squares: FloatArray) -> BoolArray:
    """Mark the columns that scores and the other columns explain, shape (n_columns,); what nobody used is not marked."""
    used = squares > 0
    scale = 1.0 / np.sqrt(np.where(used, squares, 1.0))
    scaled = left_over * scale[:, None] * scale[None, :] + np.diag(~used)
    try:
        if np.diag(np.linalg.cholesky(scaled)).min() ** 2 > NO_RANK:
            return np.zeros(len(used), bool)
    except np.linalg.LinAlgError:
        pass
    value, vector = np.linalg.eigh(scaled)
    return np.asarray((vector[:, value < NO_RANK] ** 2).sum(axis=1) > IN_NULL_SPACE)


def _explained(pairs: Pairs, values: FloatArray) -> bool:
    """Return whether scores explain a column (n_pairs,), by least squares; where the search does not end, they do not."""
    from scipy.sparse.linalg import lsqr  # noqa: PLC0415  slow to load, and for many items only

    rows = np.tile(np.arange(pairs.n_pairs), 2)
    signs = np.repeat([1.0, -1.0], pairs.n_pairs)
    design = sparse.csr_array((signs, (rows, np.concatenate([pairs.left, pairs.right]))), (pairs.n_pairs, pairs.n_items))
    rest = lsqr(design, values, atol=1e-10, btol=1e-10, iter_lim=2000)[3]
    return bool(rest**2 <= NO_RANK * float(values @ values))
