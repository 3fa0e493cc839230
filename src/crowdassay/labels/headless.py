"""Tables without a header: whether the first row looks like labels, and what to say then."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa

from crowdassay.errors import ColumnError, ParameterError
from crowdassay.labels.columns import split_names
from crowdassay.labels.contents import is_id
from crowdassay.labels.delimited import first_rows
from crowdassay.labels.extras import find_times
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ITEM_WORKER_LABEL, ROLES
from crowdassay.labels.values import number_of, shown
from crowdassay.text import joined

CELLS_SHOWN = 2  # of a first row, that come again below
QRELS_COLUMNS = 4  # of TREC's files of judgements: topic, iteration, document and grade, without names
QRELS_OPTIONS = "--item-column '1,3' --label-column '4' --worker-from-filename"
LEAST_AGAIN = 2  # columns in which the first row's cell comes again, and rows in which any does


def numbered(probe: Probe) -> Probe:
    """Return a table without a header, whose columns are called by their number, from 1."""
    if probe.dialect is None:
        raise ParameterError(f"--no-header goes with rows of cells, as in CSV, and {probe.shown} names its columns.")
    dialect = probe.dialect.numbered()
    return replace(probe, dialect=dialect, header=dialect.header)


def cells_again(probe: Probe) -> list[str]:
    """Return the cells of the first row that come again below, column by column; none where the row may well be a header.

    Names of columns hardly ever come again. They do where a file was put together of several, headers included, where workers
    are called 1, 2 and 3 as the classes are, and where a column says its own name for yes.
    """
    if probe.dialect is None or not probe.dialect.headed:
        return []
    table = [list(row.values()) for row in first_rows(probe.start or probe.data or b"", probe.dialect.numbered())]
    cells = [[cell.strip() for cell in row] for row in table]
    first, *below = [row for row in cells if any(row)] or [[]]
    if any(probe.header) and first[1:] != probe.header[1:]:
        return []  # the header is shorter than the rows
    rows = [row for row in below if row != first]
    columns = list(zip(*rows, strict=True)) if rows else []
    again = [n for n, column in enumerate(columns) if first[n] and first[n] in column]
    often = sum(any(row[n] == first[n] for n in again) for row in rows) >= LEAST_AGAIN
    return [] if len(again) < LEAST_AGAIN or not often or _may_be_header(first, again, columns) else [first[n] for n in again]


def _may_be_header(first: Sequence[str], again: Sequence[int], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether a row may name columns though some of its cells come ``again`` below."""
    texts = [first[n] for n in again if number_of(first[n]) is None]
    numbers = [cell for cell in first if cell and _is_figure(cell)]
    names = [cell for n, cell in enumerate(first) if n not in again and cell and cell not in numbers]
    if any(is_id(name) or any(role.is_named(name) for role in ROLES.values()) for name in names):
        return True
    unnamed = any(not cell and all(column) for cell, column in zip(first, columns, strict=True))
    varied = any(set(columns[n]) - {first[n], ""} for n in again)
    if unnamed or not varied or 2 * len(names) > len(first) or _are_called_like_classes(first, again, columns):
        return True
    if len(numbers) == len(first):  # 1, 2, 3 are names, 0, 1, 1 are none
        values = [number_of(cell) or 0.0 for cell in first]
        return all(one < other for one, other in pairwise(values))
    return not texts or (len(texts) == 1 and not numbers)


def _are_called_like_classes(first: Sequence[str], again: Sequence[int], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether columns have different names, and each holds another's: workers A, B and C who choose A, B or C."""
    names = set(filter(None, first))
    return len({first[n] for n in again}) == len(again) and all((set(columns[n]) - {first[n]}) & names for n in again)


def _is_figure(cell: str) -> bool:
    return number_of(cell) is not None or find_times(pa.array([cell])) is not None


def refuse_first_row(probe: Probe, given: Mapping[str, str | None]) -> None:
    """Raise `ColumnError` where columns of labels were named by the cells of a first row that looks like labels itself."""
    named = [one for role in ITEM_WORKER_LABEL if (name := given.get(role)) for one in split_names(name, probe.header)]
    if not named or not set(named) & set(again := cells_again(probe)):
        return
    if 2 * sum(name in again or _is_figure(name) for name in named) > len(named):
        said = said_of(probe, again, [role for role in ITEM_WORKER_LABEL if given.get(role)])
        raise ColumnError(f"{said} If these are names, rename them.")


def refuse_figures(probe: Probe) -> None:
    """Raise `ColumnError` where cells of the first row are times or numbers above others of their kind: they name no columns.

    Numbers that rise, as years or the places of columns do, may be names.
    """
    if probe.dialect is None or not probe.dialect.headed:
        return
    rows = [
        [cell.strip() for cell in row.values()]
        for row in first_rows(probe.start or probe.data or b"", probe.dialect.numbered())
    ]
    first, below = (rows[0], rows[1:]) if rows else ([], [])
    columns = zip(*below, strict=True) if below else ()
    held = [cell for cell, column in zip(first, columns, strict=False) if _is_figure(cell) and all(map(_is_figure, column))]
    values = [number_of(cell) for cell in held]
    named = any(role.is_named(cell) or is_id(cell) for cell in first for role in ROLES.values())
    rises = all(one is not None and other is not None and one < other for one, other in pairwise(values))
    if len(held) >= LEAST_AGAIN and not named and not rises:
        stand = f"{joined([shown(cell) for cell in held[:CELLS_SHOWN]])} stand above values of their kind"
        raise ColumnError(
            f"The first row of {probe.shown} looks like data, not like names of columns: {stand}. If there is no header, say "
            "--no-header and name columns by their number, from 1, as in --left-column 3; otherwise rename these columns."
        )


def _item_and_raters(table: pa.Table) -> str | None:
    """Return the options for one column that is different in every row, beside several of the same few words; else None.

    >>> _item_and_raters(pa.table({"1": [str(n) for n in range(6)], "2": list("abcabc"), "3": list("abcacb")}))
    "--item-column '1' --worker-columns '2,3'"
    """
    given = {name: table[name].to_pylist() for name in table.column_names}
    held = {name: [cell for cell in cells if cell is not None and str(cell).strip()] for name, cells in given.items()}
    ids = [name for name, cells in held.items() if len(set(cells)) == table.num_rows]
    few = [name for name, cells in held.items() if name not in ids and 1 < len(set(cells)) <= len(cells) / 2]
    alike = [name for name in few if all(set(held[name]) & set(held[other]) for other in few)]
    if len(ids) != 1 or len(alike) < LEAST_AGAIN or len(alike) < len(few):
        return None
    return f"--item-column '{ids[0]}' --worker-columns '{','.join(alike)}'"


def _qrels_options(table: pa.Table) -> str | None:
    """Return the options for TREC's judgements of relevance: a topic, q0 or 0, a document and a grade; None for other tables.

    >>> rows = {"1": list("pqr"), "2": ["0"] * 3, "3": list("xyz"), "4": list("021")}
    >>> _qrels_options(pa.table(rows))
    "--item-column '1,3' --label-column '4' --worker-from-filename"
    """
    if table.num_columns != QRELS_COLUMNS or not {str(cell).casefold() for cell in table[1].to_pylist()} <= {"0", "q0"}:
        return None
    grades = [number_of(str(cell)) for cell in table[3].to_pylist()]
    return QRELS_OPTIONS if all(grade is not None and grade.is_integer() for grade in grades) else None


def said_of(probe: Probe, again: Sequence[str], roles: Collection[str]) -> str:
    """Return what to say of a first row whose cells come ``again``, for whoever needs columns of some roles."""
    from crowdassay.labels.proposals import proposed_places  # noqa: PLC0415 - seldom needed
    from crowdassay.labels.telling import whole_table  # noqa: PLC0415 - it stands on this

    asked = [role for role in ITEM_WORKER_LABEL if role in roles]
    table = whole_table([numbered(probe)])
    places = proposed_places(table) if len(asked) == len(ITEM_WORKER_LABEL) else None
    ways = " ".join(f"{ROLES[role].option} '{'N' if places is None else places[role]}'" for role in asked)
    raters = None if places else _qrels_options(table) or _item_and_raters(table)
    ways = raters or ways
    cells = sorted(dict.fromkeys(again), key=lambda cell: number_of(cell) is not None)[:CELLS_SHOWN]  # words say more
    recur = f"{joined([shown(cell) for cell in cells])} {'come' if len(cells) > 1 else 'comes'} again below"
    return (
        f"The first row of {probe.shown} looks like labels, not like names of columns: {recur}. If there is no header, say "
        f"--no-header and name columns by their number, from 1, {'such as' if places or raters else 'as in'} {ways}."
    )
