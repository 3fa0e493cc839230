"""Tools' exports that are tables: read the columns that are needed, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crowdassay.errors import DataError
from crowdassay.labels.columns import check_given
from crowdassay.labels.formats.record import Rows
from crowdassay.labels.probe import Probe
from crowdassay.labels.source import open_columns

TRUE = frozenset({"true", "1", "yes", "x"})


def read_columns(probe: Probe, names: Sequence[str], required: Sequence[str], rows: Rows) -> dict[str, list[str | None]]:
    """Read columns by name, as text, in file order; no other column is read.

    Rows may end early, once they have reached the columns that are ``required``; blank lines are no rows.
    """
    source = open_columns(probe, names, required)
    table = source.read()
    if not table.num_rows:
        raise DataError(f"No labels found: {probe.shown} holds a header only.")
    if source.lenient is not None and source.lenient.short:
        rows.tally("Some rows end before the last column ({}); what they lack is empty.", source.lenient.short, "row")
    if source.lenient is not None and source.lenient.windows:
        rows.tally("Some cells are not UTF-8 and were read as Windows-1252: {}.", source.lenient.windows, "cell")
    columns: dict[str, list[str | None]] = table.to_pydict()
    return columns


def item_column(probe: Probe, wanted: str | None, prefix: str, otherwise: str) -> str:
    """Return the column that names the item: the one asked for, the only one with the prefix, or the tool's id."""
    if wanted is not None:
        for name in (wanted, prefix + wanted):
            if name in probe.header:
                return name
        check_given("item", wanted, probe.header)
    inputs = [name for name in probe.header if prefix and name.startswith(prefix)]
    return inputs[0] if len(inputs) == 1 else otherwise


def each_row(columns: dict[str, list[str | None]]) -> Iterator[dict[str, str | None]]:
    """Yield the rows of columns, blank ones left out."""
    names = list(columns)
    for cells in zip(*columns.values(), strict=True):
        if any(cell and cell.strip() for cell in cells):
            yield dict(zip(names, cells, strict=True))


def is_true(cell: str | None) -> bool:
    """Tell whether a cell says yes."""
    return (cell or "").strip().lower() in TRUE


def is_filled(cell: str | None) -> bool:
    """Tell whether a cell holds more than blanks."""
    return bool(cell and cell.strip())
