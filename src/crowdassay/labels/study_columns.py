"""Read the columns of what is no set of labels: ratings, comparisons and prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn, refuse_nul
from crowdassay.labels.encode import code_column
from crowdassay.labels.headless import numbered
from crowdassay.labels.native import ANY_FRAME, as_narwhal, frame_columns, is_records
from crowdassay.labels.probe import probe
from crowdassay.labels.raw import as_utf8, check_file
from crowdassay.labels.report import check_dropped
from crowdassay.labels.roles import RoleLike
from crowdassay.labels.source import read_table
from crowdassay.labels.values import as_text, in_natural_order, number_of, shown
from crowdassay.read_options import AS_IT_IS, Opening


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a file or frame, by the role they play.

    Attributes
    ----------
    table : dict of pyarrow arrays, all of length n_rows
    names : dict
        The source's own name of each.
    source : str
    frame : {'pandas', 'polars', 'pyarrow', 'any'}
        Kind of frame in which results are handed back.
    notes : tuple of str
    """

    table: dict[str, ArrowColumn]
    names: dict[str, str]
    source: str
    frame: str = "pyarrow"
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.table.values())))


def read_columns(
    data: object, roles: Sequence[RoleLike], given: Mapping[str, str | None], what: str, opening: Opening = AS_IT_IS
) -> Columns:
    """Take one column for each role, as `find_columns` does, from a frame or a file; messages call the rows ``what``.


    >>> read_columns(pa.table({"Rating": [3], "x": [1]}), ["score"], {}, "ratings").names
    {'score': 'Rating'}
    """
    if isinstance(data, str | Path):
        table, names, notes = read_table(data, roles, given, opening)
        found = Columns({role: table[role] for role in names}, names, Path(data).name, ANY_FRAME, tuple(notes))
    elif opening != AS_IT_IS:
        raise ParameterError(f"{opening.refusal()}, and the {what} are in memory already; leave it out.")
    elif (taken := frame_columns(data, roles, given)) is not None:
        columns, names, kind = taken
        kind = ANY_FRAME if is_records(data) else kind
        found = Columns(dict(zip(names, columns, strict=True)), names, "records" if is_records(data) else f"{kind} frame", kind)
    else:
        raise DataError(f"The {what} cannot be read from a {type(data).__name__}; give a frame or the path of a file.")
    if not found.n_rows:
        held = f"{shown(found.source)} holds" if isinstance(data, str | Path) else "the frame has"
        raise DataError(f"There were no {what} found: {held} no rows.")
    return found


def names_of_columns(data: object, opening: Opening = AS_IT_IS) -> list[str]:
    """Return what the columns of a frame or a file are called; none of what is neither.

    >>> names_of_columns(pa.table({"left": ["x"], "ann": ["a"]}))
    ['left', 'ann']
    """
    if not isinstance(data, str | Path):
        return [] if (taken := as_narwhal(data)) is None else list(taken[1])
    with as_utf8(check_file(data)[0], opening) as (text, _):
        seen = numbered(probe(text)) if opening.no_header else probe(text)
        return list(seen.header) if seen.dialect is not None else sorted(seen.columns)


def encode_names(column: ArrowColumn, role: str) -> tuple[IntArray, pa.Array]:
    """Return codes (n_rows,), -1 where missing, and the names in their natural order: numbers by size, else by letters."""
    codes, names = code_column(column, role)
    refuse_nul(names, role)
    texts = as_text(names)
    ordered = pa.array(in_natural_order(texts.to_pylist()), pa.string())
    rank = np.append(pc.index_in(texts, value_set=ordered), -1)
    return rank[codes].astype(np.int64), ordered


def encode_numbers(column: ArrowColumn, role: str, source: str) -> FloatArray:
    """Return numbers (n_rows,), NaN where missing; anything else is refused by row."""
    codes, names = code_column(column, role)
    values = np.array([number_of(text) for text in as_text(names).to_pylist()] + [np.nan], dtype=float)
    bad = np.flatnonzero(np.isnan(values[:-1]))
    if len(bad):
        row = int(np.flatnonzero(codes == bad[0])[0])
        more = f" ({int(np.isin(codes, bad).sum()):,} rows are wrong)" if np.isin(codes, bad).sum() > 1 else ""
        raise DataError(
            f"The {role} in data row {row + 1} of {shown(source)} is {shown(names[int(bad[0])].as_py())}, which is no "
            f"number{more}; correct it, or leave the cell empty if there was none."
        )
    return values[codes]


def kept_rows(
    missing: Mapping[str, BoolArray], source: str, what: str, *, allow_drops: bool
) -> tuple[BoolArray, dict[str, int]]:
    """Return which rows have all they need, and how many were left out for want of what; refuse to lose more than half.

    A row that misses several things is counted once, by the first of them.

    >>> lost = {"left": np.array([True, False, False, False]), "right": np.array([True, True, False, False])}
    >>> kept_rows(lost, "a.csv", "comparisons", allow_drops=False)[1]
    {'no left': 1, 'no right': 1}
    """
    bad = np.zeros(len(next(iter(missing.values()))), bool)
    dropped: dict[str, int] = {}
    for role, lost in missing.items():
        if first := int((lost & ~bad).sum()):
            dropped[f"no {role}"] = first
        bad |= lost
    check_dropped(len(bad), dropped, source, allow=allow_drops, what=what)
    return ~bad, dropped


def take(column: ArrowColumn, rows: BoolArray) -> ArrowColumn:
    """Return the rows of a column that are kept."""
    return pc.filter(column, pa.array(rows))
