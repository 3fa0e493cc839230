"""Read labels, truth and gold from files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.data.labels import Labels
from crowdassay.errors import DataError, FileError
from crowdassay.io.coding import code_column
from crowdassay.io.encode import ROLES, check_options, encode
from crowdassay.io.scan import DELIMITED, JSON, PARQUET, scan
from crowdassay.io.values import as_text, is_text, shown, shown_file

SUPPORTED = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".json")


def read_labels(
    path: str | Path,
    *,
    item_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    classes: Iterable[Any] | None = None,
    repeats: str = "keep",
) -> Labels:
    r"""Read labels from a CSV, TSV, Parquet or JSON file; text formats may be gzipped.

    Ids and labels in text files stay text, byte for byte; only empty and blank values count as missing.

    Parameters
    ----------
    path : str or Path
        File with one row, or JSON object, per label.
    item_column, worker_column, label_column : str, optional
        Found by name (``task``, ``annotator``, ``answer``...) when not given.
    classes : iterable, optional
        All classes in order, those never chosen included.
    repeats : {'keep', 'first', 'last', 'error'}
        What to do when a worker judged an item again.

    Returns
    -------
    Labels
        Its `report` says what was read, dropped and repeated.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text("task,worker,answer\n007,ann,yes\n007,bob,no\n")
    ...     read_labels(path).items.to_pylist()
    ['007']
    """
    classes = None if classes is None else list(classes)
    check_options(classes, repeats)
    path, kind = check_file(path)
    given = {"item": item_column, "worker": worker_column, "label": label_column}
    table, columns = scan(path, kind, ROLES, given)
    if kind != PARQUET and not table.num_rows:
        raise DataError(f"There were no labels found: {shown_file(path.name)} holds a header only.")
    labels = encode(*table.columns, classes=classes, repeats=repeats, source=path.name, columns=columns)
    _refuse_nul(labels, table)
    return labels


def read_truth(path: str | Path, *, item_column: str | None = None, label_column: str | None = None) -> pa.Table:
    """Read a truth or gold file as a table with text columns ``item`` and ``label``; rows without either are dropped.

    Parameters
    ----------
    path : str or Path
    item_column, label_column : str, optional
        Found by name (``item``, ``truth``, ``gold``, ``label``...) when not given.
    """
    path, kind = check_file(path)
    table, _ = scan(path, kind, ("item", "truth"), {"item": item_column, "truth": label_column})
    columns = {}
    for name, column in zip(("item", "label"), table.columns, strict=True):
        codes, vocabulary = code_column(column, name)
        columns[name] = as_text(vocabulary).take(pa.array(codes, mask=codes < 0))
    return pa.table(columns).drop_null()


def check_file(path: str | Path) -> tuple[Path, str]:
    """Check that a file exists and is of a kind we read; return it with its extension, without .gz."""
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{shown_file(path)} is a folder; give a file inside it.")
    if not path.exists():
        raise FileError(f"There is no file {shown_file(path)}.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    gzipped = suffixes[-1:] == [".gz"]
    kind = "".join(suffixes[:-1][-1:] if gzipped else suffixes[-1:])
    if kind not in SUPPORTED or (gzipped and kind not in DELIMITED | JSON):
        raise FileError(
            f"{shown_file(path.name)} has an extension that is not supported; the supported ones are {', '.join(SUPPORTED)}, "
            "and .gz after any text format."
        )
    return path, kind


def _refuse_nul(labels: Labels, table: pa.Table) -> None:
    vocabularies = {"item": labels.items, "worker": labels.workers, "label": labels.classes}
    for role, vocabulary in vocabularies.items():
        if is_text(vocabulary.type) and pc.any(pc.match_substring(vocabulary, "\0")).as_py():
            row = pc.index(pc.match_substring(table[role].cast(pa.string()), "\0"), True).as_py()
            raise DataError(
                f"The {role} in data row {row + 1} of {shown_file(labels.report.source)} holds a NUL byte "
                f"({shown(table[role][row].as_py())}); remove it or re-save the file as UTF-8."
            )
