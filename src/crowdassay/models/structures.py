r"""Structures: which features of (true class, observed class) a confusion table may use.

The family is stated once, here:

.. math::  P(x_{ij}=k \mid y_j=c) = \operatorname{softmax}_k
           \big[ \Phi_{ck}\cdot\theta_i + \Psi_{ck}\cdot\phi_j \big]

``Phi`` and ``Psi`` are structures. A structure is a sparse matrix with a row for every pair ``(c, k)``, row ``c * K + k``,
and a column for every raw parameter. Kernels never see it: they see tables ``sigma`` and ``tau`` of shape ``(K, K)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.errors import ParameterError
from crowdassay.statistics import connected_parts

EQUAL_SCALES = 1e-10  # share of the largest scale by which equal ones may differ, and below which there is none


@dataclass(frozen=True, eq=False)
class Basis:
    r"""Orthogonal coordinates for the part of a structure that a softmax can see.

    A function of ``c`` alone leaves every probability as it is, so a ridge penalty keeps the parameters orthogonal to such
    directions. What is left are ``size`` coordinates ``a`` with :math:`|a|^2 = |\theta|^2` and table
    :math:`\sigma(c, k) = \sum_r B_{ckr} a_{o_c + r}`. Rows that share no parameter fall into separate blocks, so that a
    Newton step on the nominal structure solves K small systems and not one of size :math:`K^2`.

    Attributes
    ----------
    columns : ndarray of shape (n_classes, n_classes, widest)
        ``columns[c, k, :widths[c]]`` is row ``(c, k)`` of the block that class ``c`` belongs to.
    offsets : ndarray of shape (n_classes,)
        Where the block of class ``c`` starts in the coordinate vector.
    widths : ndarray of shape (n_classes,)
        How many coordinates that block has.
    size : int
        Number of coordinates: the rank of the structure, not its number of features.
    """

    columns: FloatArray
    offsets: np.ndarray
    widths: np.ndarray
    size: int

    @property
    def n_classes(self) -> int:
        return int(self.columns.shape[0])

    @property
    def free(self) -> bool:
        """Whether a class's row of the table can be anything and its length is that of its coordinates: nominal."""
        n_classes = self.n_classes
        return self.size == n_classes * (n_classes - 1) and bool(np.allclose((self.columns**2).sum(axis=1), 1.0))

    def blocks(self) -> Iterator[tuple[int, slice, FloatArray]]:
        """Yield every class, where its coordinates are, and its columns (n_classes, width)."""
        for c, (start, width) in enumerate(zip(self.offsets, self.widths, strict=True)):
            yield c, slice(start, start + width), self.columns[c, :, :width]

    def tables(self, coordinates: FloatArray) -> FloatArray:
        """Expand coordinates (n, size) into tables (n, n_classes, n_classes)."""
        n_classes, coordinates = self.n_classes, np.asarray(coordinates)
        tables = np.empty((len(coordinates), n_classes, n_classes))
        for c, part, columns in self.blocks():
            tables[:, c, :] = coordinates[:, part] @ columns.T
        return tables

    def transpose(self, tables: FloatArray) -> FloatArray:
        """Carry gradients on tables (n, n_classes, n_classes) back to coordinates (n, size): the transpose of `tables`."""
        coordinates = np.zeros((len(tables), self.size))
        for c, part, columns in self.blocks():
            coordinates[:, part] += tables[:, c, :] @ columns
        return coordinates

    def coordinates(self, tables: FloatArray) -> FloatArray:
        """Return the coordinates (n, size) of tables that have some: the inverse of `tables`."""
        squares = np.zeros(self.size)
        for _, part, columns in self.blocks():
            squares[part] += (columns**2).sum(axis=0)
        return self.transpose(tables) / squares  # the columns are orthogonal: the axes are principal ones


@dataclass(frozen=True, eq=False)
class Structure:
    """A named feature matrix over pairs of (true class, observed class).

    Attributes
    ----------
    name : str
    n_classes : int
    features : sparse array of shape (n_classes * n_classes, n_features)

    Examples
    --------
    One feature for right answers, and one for taking a neighbouring class:

    >>> codes = np.arange(4)
    >>> apart = np.abs(codes[:, None] - codes).ravel()
    >>> features = scipy.sparse.csr_array(np.stack([apart == 0, apart == 1], axis=1).astype(float))
    >>> Structure("neighbours", 4, features).basis().size
    2
    """

    name: str
    n_classes: int
    features: scipy.sparse.csr_array

    def basis(self) -> Basis:
        """Reduce the features to the coordinates a softmax can see, block by block."""
        n_classes = self.n_classes
        rows, columns = self.features.nonzero()
        component = connected_parts(rows // n_classes, n_classes + columns, n_classes + self.features.shape[1])
        parts: list[tuple[np.ndarray, FloatArray]] = []
        known: dict[tuple[Any, ...], FloatArray] = {}  # of many classes the blocks are alike
        for block in dict.fromkeys(component[:n_classes].tolist()):
            members = np.flatnonzero(component[:n_classes] == block)
            used = np.flatnonzero(component[n_classes:] == block)
            parts.append((members, _visible(self.features, members, used, n_classes, known)))
        widest = max(part.shape[2] for _, part in parts)
        table = np.zeros((n_classes, n_classes, max(widest, 1)))
        offsets, widths, size = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64), 0
        for members, part in parts:
            width = part.shape[2]
            table[members, :, :width] = part
            offsets[members], widths[members] = size, width
            size += width
        return Basis(table, offsets, widths, size)


def _visible(
    features: scipy.sparse.csr_array,
    members: np.ndarray,
    used: np.ndarray,
    n_classes: int,
    known: dict[tuple[Any, ...], FloatArray],
) -> FloatArray:
    """Centre a block's features over the observed class and rotate them onto their principal axes."""
    rows = (members[:, None] * n_classes + np.arange(n_classes)).ravel()
    block = np.asarray(features[rows][:, used].todense()).reshape(len(members), n_classes, len(used))
    flat = (block - block.mean(axis=1, keepdims=True)).reshape(len(rows), len(used))
    if flat.size == 0:
        return np.zeros((len(members), n_classes, 0))
    key = (flat.shape, flat.tobytes())
    if key not in known:
        left, scale, _ = np.linalg.svd(flat, full_matrices=False)
        rank = int((scale > EQUAL_SCALES * max(scale[0], 1.0)).sum())
        known[key] = _same_everywhere(left[:, :rank], scale[:rank]).reshape(len(members), n_classes, rank)
    return known[key]


def _same_everywhere(axes: FloatArray, scale: FloatArray) -> FloatArray:
    """Return principal axes (n, rank) times their scales, the same on every processor.

    Axes of equal scale span a space in which any others would do, and libraries return those that suit the processor. So the
    space's projections of the unit vectors, in order, are made orthogonal instead.
    """
    first = np.flatnonzero(np.diff(scale, prepend=np.inf) < -EQUAL_SCALES * scale[:1])
    chosen = [np.zeros((len(axes), 0))]
    for start, end in pairwise([*first, len(scale)]):
        space = axes[:, start:end]
        left = space.copy()  # in coordinates of the space: the projections of all unit vectors, (n, end - start)
        for _ in range(start, end):
            length = np.linalg.norm(left, axis=1)
            axis = left[np.argmax(length > 0.3 * length.max())]
            axis = axis / np.linalg.norm(axis)
            left -= np.outer(left @ axis, axis)
            chosen.append((space @ axis * scale[start])[:, None])
    return np.concatenate(chosen, axis=1)


def nominal(n_classes: int) -> Structure:
    """One feature for each pair (c, k): a free confusion table, section 2 of the paper."""
    return Structure("nominal", n_classes, scipy.sparse.csr_array(scipy.sparse.eye_array(n_classes * n_classes)))


def reference_sets(n_classes: int, sets: Iterable[Sequence[int]], name: str = "reference-sets") -> Structure:
    """For each set of classes, the four regions (c in the set or not) x (k in the set or not).

    Subtrees of a hierarchy, or any grouping, in the way that thresholds group ordered classes.

    >>> reference_sets(4, [{0, 1}, {2}]).features.shape
    (16, 8)
    """
    columns = []
    for members in sets:
        chosen = sorted(set(members))
        if not chosen or chosen[0] < 0 or chosen[-1] >= n_classes or len(chosen) == n_classes:
            raise ParameterError(
                f"Reference set {chosen} must hold some but not all of the {n_classes} classes, as codes 0 to {n_classes - 1}."
            )
        inside = np.zeros(n_classes, bool)
        inside[chosen] = True
        for of_true in (~inside, inside):
            for of_observed in (~inside, inside):
                columns.append(np.outer(of_true, of_observed).ravel())
    if not columns:
        raise ParameterError("A reference-set structure needs at least one set of classes.")
    return Structure(name, n_classes, scipy.sparse.csr_array(np.array(columns, dtype=float).T))


def ordinal(n_classes: int) -> Structure:
    """For each threshold s >= 1 the four regions (c < s or c >= s) x (k < s or k >= s), section 5 of the paper."""
    return reference_sets(n_classes, [range(s, n_classes) for s in range(1, n_classes)], "ordinal")


def agreement(n_classes: int) -> Structure:
    """One feature, 1[c = k]: how often the worker is right, whatever the class (one coin)."""
    return Structure("agreement", n_classes, scipy.sparse.csr_array(np.eye(n_classes).reshape(-1, 1)))


def class_accuracy(n_classes: int) -> Structure:
    """One feature for each class r, 1[c = k = r]: how often the worker is right on that class (two coins)."""
    table = np.zeros((n_classes, n_classes, n_classes))
    table[np.arange(n_classes), np.arange(n_classes), np.arange(n_classes)] = 1.0
    return Structure("class-accuracy", n_classes, scipy.sparse.csr_array(table.reshape(-1, n_classes)))


def response(n_classes: int) -> Structure:
    """One feature for each observed class r, 1[k = r], whatever the truth: a worker's or an item's leaning."""
    return Structure("response", n_classes, scipy.sparse.csr_array(np.tile(np.eye(n_classes), (n_classes, 1))))


def distance(n_classes: int) -> Structure:
    """One feature, -|c - k|: answers fall off with the distance from the truth."""
    codes = np.arange(n_classes, dtype=float)
    return Structure("distance", n_classes, scipy.sparse.csr_array(-np.abs(codes[:, None] - codes).reshape(-1, 1)))


STRUCTURES = {
    "agreement": agreement,
    "class-accuracy": class_accuracy,
    "distance": distance,
    "nominal": nominal,
    "ordinal": ordinal,
    "response": response,
}


def resolve(structure: str | Structure, n_classes: int) -> Structure:
    """Return the structure itself, or make the one of that name for this number of classes."""
    if isinstance(structure, Structure):
        if structure.n_classes != n_classes:
            raise ParameterError(
                f"The structure '{structure.name}' is for {structure.n_classes} classes but the labels have {n_classes}."
            )
        return structure
    if structure not in STRUCTURES:
        raise ParameterError(f"There is no structure {structure!r:.60}; choose one of {', '.join(STRUCTURES)}.")
    return STRUCTURES[structure](n_classes)
