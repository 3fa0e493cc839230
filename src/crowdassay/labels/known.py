"""Read a file of known classes: truth or gold."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from crowdassay.labels.coding import code_column
from crowdassay.labels.kinds import check_file
from crowdassay.labels.look import look
from crowdassay.labels.source import open_source
from crowdassay.labels.sources import local_sources
from crowdassay.labels.transcode import as_utf8
from crowdassay.labels.values import as_text


def read_truth(path: str | Path, *, item_column: str | None = None, label_column: str | None = None) -> pa.Table:
    """Read a truth or gold file as a table with text columns ``item`` and ``label``; rows without either are dropped.

    Parameters
    ----------
    path : str or Path
        Or what is elsewhere, as in `read_labels`.
    item_column, label_column : str, optional
        Found by name (``item``, ``truth``, ``gold``, ``label``...) when not given.
    """
    with local_sources([path]) as (name,), as_utf8(check_file(name)[0]) as (text, _):
        seen = look(text)
        table = open_source(seen, ("item", "truth"), {"item": item_column, "truth": label_column}).read()
        seen.check_unchanged()
    columns = {}
    for name, column in zip(("item", "label"), table.columns, strict=True):
        codes, vocabulary = code_column(column, name)
        columns[name] = as_text(vocabulary).take(pa.array(codes, mask=codes < 0))
    return pa.table(columns).drop_null()
