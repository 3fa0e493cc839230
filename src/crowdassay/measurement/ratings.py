"""Ratings with any number of facets: who rated what, on which criterion, and how high."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.extras import read_times
from crowdassay.labels.roles import ROLES, Role
from crowdassay.labels.study_columns import Columns, encode_names, encode_numbers, kept_rows, read_columns, take
from crowdassay.labels.values import listed, shown
from crowdassay.results.saved.study import check_codes, check_texts

LARGEST_SCALE = 100  # different scores


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings, one row each.

    Attributes
    ----------
    facets : tuple of str
        What the facets are called.
    code : ndarray of int64, shape (n_ratings, n_facets)
    names : tuple of pyarrow.Array
        The elements of every facet.
    score : ndarray of int64, shape (n_ratings,)
        0, 1 ... in the order of `values`.
    values : ndarray of float, shape (n_scores,)
        The ratings themselves, as they were given.
    group : ndarray of int64, shape (n_ratings,), optional
    groups : pyarrow.Array, optional
    time : ndarray of float, shape (n_ratings,), optional
        In days where dates were given, else in the unit of the numbers.
    dropped : dict
        Rows left out, by reason.
    """

    facets: tuple[str, ...]
    code: IntArray
    names: tuple[pa.Array, ...]
    score: IntArray
    values: FloatArray
    group: IntArray | None = None
    groups: pa.Array | None = None
    time: FloatArray | None = None
    time_unit: str = ""
    source: str = "arrays"
    frame: str = "pyarrow"
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def n_ratings(self) -> int:
        return len(self.score)

    def check(self) -> None:
        """Raise ValueError where codes name nothing, as in a file that another hand has made."""
        sizes, length = [len(names) for names in self.names], self.n_ratings
        if self.code.shape != (length, len(self.facets)) or len(sizes) != len(self.facets):
            raise ValueError("facets without codes")
        check_texts(*self.names)
        for f, size in enumerate(sizes):
            check_codes(self.code[:, f], size, length)
        check_codes(self.score, len(self.values), length)
        if self.group is not None and self.groups is not None:
            check_texts(self.groups)
            check_codes(self.group, len(self.groups), length)

    def facet(self, name: str) -> int:
        """Return the place of a facet."""
        if name not in self.facets:
            raise ParameterError(f"There is no facet {shown(name)}; the facets are {listed(self.facets)}.")
        return self.facets.index(name)


def read_ratings(
    data: Any,
    facets: Sequence[str],
    *,
    score_column: str | None = None,
    group_column: str | None = None,
    time_column: str | None = None,
    allow_drops: bool = False,
) -> Ratings:
    """Take ratings from a frame or a file.

    Parameters
    ----------
    data : frame, str or Path
    facets : sequence of str
        Columns that name what a rating is of: the rater, the thing rated, the criterion ...
    score_column : str, optional
        Found by name (``score``, ``rating``, ``label`` ...) when not given. Its values are numbers.
    group_column, time_column : str, optional
    allow_drops : bool
        Go on even if more than half of the rows miss a value.
    """
    facets = check_facets(facets)
    roles = [*(Role(f"facet {name}", "--facets") for name in facets), ROLES["score"]]
    roles += [Role(beside, f"--{beside}", required=False) for beside in ("group", "time")]
    given = {**{f"facet {name}": name for name in facets}, "score": score_column, "group": group_column, "time": time_column}
    columns = read_columns(data, roles, given, "ratings")
    return encode_ratings(columns, facets, allow_drops=allow_drops)


def encode_ratings(columns: Columns, facets: tuple[str, ...], *, allow_drops: bool) -> Ratings:
    """Turn columns into codes; rows that miss a value are left out and counted."""
    coded = [encode_names(columns.table[f"facet {name}"], name) for name in facets]
    raw = encode_numbers(columns.table["score"], "score", columns.source)
    missing: dict[str, BoolArray] = {name: codes < 0 for name, (codes, _) in zip(facets, coded, strict=True)}
    missing["score"] = np.isnan(raw)
    group, groups, time, unit = None, None, None, ""
    if "group" in columns.table:
        group, groups = encode_names(columns.table["group"], "group")
        missing["group"] = group < 0
    if "time" in columns.table:
        blank = encode_names(columns.table["time"], "time")[0] < 0
        missing["time"] = blank
    kept, dropped = kept_rows(missing, columns.source, "ratings", allow_drops=allow_drops)
    if "time" in columns.table:
        column = take(columns.table["time"], kept)
        numbers = isinstance(column[0].as_py(), int | float) or _is_number(str(column[0].as_py()))
        found_times = read_times(column, columns.source)
        time = found_times.order.astype(float) if numbers else found_times.seconds / 86_400
        unit = f"unit of {columns.names['time']}" if numbers else "day"
    values, score = np.unique(raw[kept], return_inverse=True)
    if len(values) < 2:
        raise DataError(f"Every rating is {values[0]:g}; there is nothing to compare.")
    if len(values) > LARGEST_SCALE:
        raise DataError(
            f"The ratings take {len(values):,} different values, and a rating scale has at most {LARGEST_SCALE}; "
            "round them, or name the right column with --score-column."
        )
    codes, names = zip(*(_used(codes[kept], names) for codes, names in coded), strict=True)
    if group is not None and groups is not None:
        group, groups = _used(group[kept], groups)
    notes = list(columns.notes)
    steps = np.diff(values)
    if not np.allclose(steps, steps[0]):
        notes.append(
            f"The ratings are {listed([f'{value:g}' for value in values], limit=12)}, which are not evenly spaced; each counts "
            "as one step above the one before it."
        )
    return Ratings(
        tuple(facets), np.column_stack(codes), tuple(names), score.astype(np.int64), values, group, groups, time, unit,
        columns.source, columns.frame, dropped, tuple(notes),
    )  # fmt: skip


def check_facets(facets: Sequence[str]) -> tuple[str, ...]:
    """Refuse fewer than two facets, or one named twice."""
    names = tuple(facets)
    if isinstance(facets, str) or len(names) < 2:
        raise ParameterError("At least two facets are needed, such as --facets rater,task.")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError(f"The facet {shown(twice[0])} is named twice.")
    return names


def object_facet(facets: Sequence[str], positive: Sequence[str]) -> int:
    """Return which facet is measured: the first named positive, or else the first that is not called like a rater.

    >>> object_facet(["rater", "task"], []), object_facet(["essay", "judge", "criterion"], [])
    (1, 0)
    """
    if positive:
        return list(facets).index(positive[0])
    return next((n for n, name in enumerate(facets) if not ROLES["worker"].is_named(name)), len(facets) - 1)


def _used(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Forget names that no kept row has."""
    used, codes = np.unique(codes, return_inverse=True)
    return codes.astype(np.int64), names.take(pa.array(used))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
