"""Read a file of known classes: truth or gold."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from crowdassay.io.coding import code_column
from crowdassay.io.kinds import check_file
from crowdassay.io.look import look
from crowdassay.io.source import open_source
from crowdassay.io.transcode import as_utf8
from crowdassay.io.values import as_text
from crowdassay.sources.local import local_sources


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
