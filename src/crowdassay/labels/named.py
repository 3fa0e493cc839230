"""Read columns that a command names or looks for itself: facets of ratings, sides of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.coding import code_column
from crowdassay.labels.columns import plain_name
from crowdassay.labels.databases.duck import ask
from crowdassay.labels.kinds import LINES, check_file
from crowdassay.labels.look import Look, look, records
from crowdassay.labels.native import Column, series_column
from crowdassay.labels.raw import is_gzipped
from crowdassay.labels.source import open_source
from crowdassay.labels.transcode import as_utf8
from crowdassay.labels.values import as_text, listed, number_of, shown

MOST_DROPPED = 0.5


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a file or frame, by the role they play.

    Attributes
    ----------
    table : dict of pyarrow arrays, all of length n_rows
    names : dict
        The source's own name of each.
    source : str
    frame : {'pandas', 'polars', 'pyarrow'}
        Kind of frame in which results are handed back.
    notes : tuple of str
    """

    table: dict[str, Column]
    names: dict[str, str]
    source: str
    frame: str = "pyarrow"
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.table.values())))


@dataclass(frozen=True)
class Role:
    """What is looked for: a column the user names, or the first of some names that is there.

    Attributes
    ----------
    option : str
        How the command line calls it, for messages.
    given : str, optional
    spellings : sequence of str
        Without spaces, underscores and capitals; earlier ones win.
    needed : bool
    """

    option: str
    given: str | None = None
    spellings: Sequence[str] = ()
    needed: bool = True


def read_columns(data: Any, roles: Mapping[str, Role], what: str) -> Columns:
    """Take one column for each role from a frame or a file.

    Parameters
    ----------
    data : frame, str or Path
    roles : mapping of str to Role
    what : str
        What the rows are, for messages: 'ratings', 'comparisons'.

    Examples
    --------
    >>> found = read_columns(pa.table({"Rater": ["a"], "x": [3]}), {"who": Role("--worker-column", None, ["rater"])}, "rows")
    >>> found.names
    {'who': 'Rater'}
    """
    if isinstance(data, str | Path):
        path, _ = check_file(data)
        with as_utf8(path) as (text, notes):
            seen = look(text)
            names = choose_columns(header_of(seen), roles)
            table = open_source(seen, list(names), names).read()
            seen.check_unchanged()
        if not table.num_rows:
            raise DataError(f"There were no {what} found: {shown(path.name)} holds no rows.")
        return Columns({role: table[role] for role in names}, names, path.name, notes=tuple(notes))
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise DataError(f"The {what} cannot be read from a {type(data).__name__}; give a frame or the path of a file.")
    there = {str(name): name for name in frame.columns}
    names = choose_columns(list(there), roles)
    kind = str(frame.implementation)
    columns = {role: series_column(frame.get_column(there[name])) for role, name in names.items()}
    if not len(frame):
        raise DataError(f"There were no {what} found: the frame has no rows.")
    return Columns(columns, names, f"{kind} frame", kind if kind in {"pandas", "polars"} else "pyarrow")


def header_of(seen: Look) -> list[str]:
    """Return the names of the columns of a file that was looked at; of JSON records, every key that occurs."""
    if seen.kind != "records":
        return seen.header
    layout = "newline_delimited" if seen.suffix in LINES else "auto"
    compression = "gzip" if is_gzipped(seen.path) else "none"
    keys = ask(
        "SELECT list_sort(list_distinct(flatten(list(DISTINCT json_keys(json))))) FROM "  # noqa: S608  our own words only
        f"read_json_objects($path, format='{layout}', compression='{compression}', hive_partitioning=false)",
        seen.path,
        lambda relation: relation.fetchall(),
    )
    header = (keys[0][0] if keys else None) or list(dict.fromkeys(key for _, record in records(seen) for key in record))
    if not header:
        raise DataError(f"{shown(seen.path.name)} could not be read as JSON records; it needs one object for each row.")
    return list(header)


def choose_columns(header: Sequence[str], roles: Mapping[str, Role]) -> dict[str, str]:
    """Return a column for every role that has one; refuse a needed one that is missing, or one that serves twice."""
    chosen: dict[str, str] = {}
    for name, role in roles.items():
        if role.given is not None:
            if role.given not in header:
                raise ColumnError(f"There is no column {shown(role.given)} ({role.option}); the columns are {listed(header)}.")
            if list(header).count(role.given) > 1:
                raise ColumnError(f"There are several columns named {shown(role.given)}; rename all but one.")
            if role.given in chosen.values():
                raise ColumnError(f"The column {shown(role.given)} was named twice; {role.option} needs another.")
            chosen[name] = role.given
    for name, role in roles.items():
        if name in chosen:
            continue
        free = [column for column in header if column not in chosen.values()]
        for spelling in role.spellings:
            columns = [column for column in free if plain_name(column) == spelling]
            if len(columns) > 1:
                raise ColumnError(f"The columns {listed(columns)} could both be meant; choose one with {role.option}.")
            if columns:
                chosen[name] = columns[0]
                break
        if name not in chosen and role.needed:
            for other, column in chosen.items():
                if plain_name(column) in role.spellings:
                    raise ColumnError(
                        f"The column {shown(column)} was named by {roles[other].option}; {role.option} needs another."
                    )
            raise ColumnError(f"No {name} column found among {listed(header)}; name it with {role.option}.")
    return {name: chosen[name] for name in roles if name in chosen}


def encode_names(column: Column, role: str) -> tuple[IntArray, pa.Array]:
    """Return codes (n_rows,), -1 where missing, and the names in their natural order: numbers by size, else by letters."""
    codes, names = code_column(column, role)
    texts = as_text(names).to_pylist()
    if strange := [text for text in texts if "\0" in text]:
        raise DataError(f"The {role} {shown(strange[0])} holds a NUL byte; remove it or re-save the file as UTF-8.")
    numbers = [number_of(text) for text in texts]
    if texts and all(number is not None for number in numbers):
        order = sorted(range(len(texts)), key=lambda n: (numbers[n], texts[n]))
    else:
        order = sorted(range(len(texts)), key=lambda n: texts[n])
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(len(order))
    rank[-1] = -1
    return rank[codes], pa.array([texts[n] for n in order], pa.string())


def encode_numbers(column: Column, role: str, source: str) -> FloatArray:
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


def kept_rows(missing: Mapping[str, BoolArray], allow_drops: bool, what: str) -> tuple[BoolArray, dict[str, int]]:
    """Return which rows have all they need, and how many were left out for want of what; refuse to lose more than half."""
    bad = np.logical_or.reduce(list(missing.values()))
    dropped = {f"no {role}": int(lost.sum()) for role, lost in missing.items() if lost.any()}
    if bad.all():
        raise DataError(f"Every row misses a value ({_told(dropped)}), so there are no {what}.")
    if bad.mean() > MOST_DROPPED and not allow_drops:
        raise DataError(
            f"{bad.sum():,} of {len(bad):,} rows miss a value ({_told(dropped)}); "
            "check that the right columns were named, or say --allow-drops to go on with the rest."
        )
    return ~bad, dropped


def _told(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {count:,}" for reason, count in dropped.items())


def take(column: Column, rows: BoolArray) -> Column:
    """Return the rows of a column that are kept."""
    return pc.filter(column, pa.array(rows))
