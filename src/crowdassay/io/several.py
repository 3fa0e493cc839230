"""Read several plain files as one table of labels, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.data.labels import Labels
from crowdassay.io.encode import ROLES, encode
from crowdassay.io.files import check_file
from crowdassay.io.formats.pseudonyms import pseudonymise as renamed
from crowdassay.io.scan import scan
from crowdassay.io.transcode import as_utf8
from crowdassay.io.values import as_text, as_tuple, without


def read_several(
    paths: Sequence[Path],
    *,
    item_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    classes: Iterable[Any] | None = None,
    repeats: str = "keep",
    allow_drops: bool = False,
    missing: str | Iterable[str] | None = None,
    pseudonymise: bool = False,
    salt: str | None = None,
) -> Labels:
    """Read plain tables one after the other as if they were one; options as for `crowdassay.read_labels`.

    A column whose type differs from file to file is taken as text.
    """
    given = {"item": item_column, "worker": worker_column, "label": label_column}
    tables: list[pa.Table] = []
    columns: dict[str, str] = {}
    notes: list[str] = []
    for path in paths:
        _, kind = check_file(path)
        with as_utf8(path) as (text, said):
            table, columns = scan(text, kind, ROLES, given)
        tables.append(table)
        notes += said
    item, worker, label = (_joined([table[role] for table in tables]) for role in ROLES)
    if pseudonymise:
        worker, note = renamed(worker, salt, keep_models=False)
        notes.append(note)
    missing = as_tuple(missing)
    label = without(label, missing)
    source, drops = f"{len(paths)} files", allow_drops or bool(missing)
    labels = encode(
        item, worker, label, classes=classes, repeats=repeats, allow_drops=drops, source=source, columns=columns
    )  # fmt: skip
    return replace(labels, report=replace(labels.report, notes=(*notes, *labels.report.notes)))


def _joined(columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    if len({column.type for column in columns}) > 1:
        columns = [pa.chunked_array([as_text(chunk) for chunk in column.chunks], pa.string()) for column in columns]
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
