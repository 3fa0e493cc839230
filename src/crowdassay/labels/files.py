"""Read labels, truth and gold from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.labels.assemble import assemble, check
from crowdassay.labels.labels import Labels
from crowdassay.labels.reader import read_rows
from crowdassay.labels.report import warn_of
from crowdassay.labels.sources import local_sources
from crowdassay.labels.truth import read_truth
from crowdassay.read_options import ReadOptions, takes_reading_options

__all__ = ["read_labels", "read_truth"]


@takes_reading_options
def read_labels(path: str | Path | Sequence[str | Path], **options: Any) -> Labels:
    r"""Read labels from CSV, TSV, Parquet or JSON files, plain or gzipped, or from what an annotation tool exports.

    Ids and labels in text files stay text, byte for byte; only empty and blank values count as missing.

    Parameters
    ----------
    path : str, Path or list of them
        File with one row, or JSON object, per label; or a tool's export, recognised by its content. Several files, a folder
        or a pattern such as ``day-*.csv`` are read as one. Also what is elsewhere: ``sqlite:///file?table=name``,
        ``postgresql://user@host/database?query=select...``, a DuckDB file, ``https://`` or ``s3://``, and ``-`` for standard
        input.
    {options}

    Returns
    -------
    Labels
        Its `report` says what was read, dropped and repeated; a `CrowdassayWarning` says what deserves a look.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.csv")
    ...     _ = path.write_text("task,worker,answer\n007,ann,yes\n007,bob,no\n")
    ...     read_labels(path).items.to_pylist()
    ['007']
    """
    labels = read_files([path] if isinstance(path, str | Path) else list(path), ReadOptions.of(options))
    warn_of(labels.report)
    return labels


def read_files(given: Sequence[str | Path], options: ReadOptions) -> Labels:
    """Read files, folders and patterns as the options say."""
    check(options)
    with local_sources(given) as names:
        rows = read_rows(names, options)
        return assemble(rows.rows, options, source=rows.source, name=rows.name, paths=rows.paths)


def table_of(labels: Labels) -> pa.Table:
    """Return labels as a table with one row for each: item, worker and label, and when and how long where that is known."""
    columns = {"item": (labels.items, labels.label_item), "worker": (labels.workers, labels.worker)}
    columns["label"] = (labels.classes, labels.label)
    table = {name: values.take(pa.array(codes)) for name, (values, codes) in columns.items()}
    return pa.table(table)
