"""A folder of feedback: a sheet for each worker with their likely mistakes, and an index that says whose each is."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import FileError
from crowdassay.findings.tables import FEEDBACK_INDEX
from crowdassay.labels.folder import (
    FEEDBACK_MARK,
    INDEX,
    INDEX_FILES,
    SUMMARY,
    TABLE_FORMS,
    is_ours,
    output_path,
    replacing_folder,
)
from crowdassay.labels.values import listed, shown_file
from crowdassay.labels.write import table_files, write_json
from crowdassay.results.result import Result
from crowdassay.version import VERSION

# Windows takes these for devices, whatever their ending.
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
SAFE_NAME, UNSAFE = re.compile(r"\w[\w.@+ -]*"), re.compile(r"[^\w.@+-]+")
MADE_NAME = re.compile(r"-[0-9a-f]{8}$")  # nobody is called as another worker's file is
LONGEST_STEM = 100  # bytes; file systems take 255


def write_feedback(result: Result, folder: str | Path, form: str = "csv", *, raw: bool = False) -> int:
    """Write a sheet for each worker who has likely mistakes, an index of all workers and a summary; all or nothing.

    Sheets that an earlier run wrote are replaced or removed, files of others stay. Returns the number of sheets.
    """
    mistakes, insight = result.mistakes_table(), result.insight
    names = [str(name) for name in result.labels.workers.to_pylist()]
    counts = np.bincount(mistakes["worker"].to_numpy(), minlength=len(names))
    known = np.bincount(mistakes.filter(pc.equal(mistakes["standing"], "known"))["worker"].to_numpy(), minlength=len(names))
    stems = sheet_names(names)
    files = {i: f"{stems[i]}.{TABLE_FORMS[form]}" for i in np.flatnonzero(counts).tolist()}
    index = FEEDBACK_INDEX.fill(
        worker=result.labels.workers,
        file=pa.array([files.get(i, "") for i in range(len(names))]),
        n_labels=insight.n_labels,
        likely_mistakes=counts,
        known_mistakes=known,
    )
    target = output_path(folder)
    ours = {*INDEX_FILES, *files.values(), *_written_before(target, set(files.values()))}
    ends = np.cumsum(counts)
    with replacing_folder(target, ours, SUMMARY, (FEEDBACK_MARK,)) as fresh:
        with table_files(fresh, (INDEX,), form, raw=raw) as streams:
            streams[INDEX].write(index)
        for i in files:  # one after the other: a process may not have thousands of files open
            with table_files(fresh, (stems[i],), form, raw=raw) as streams:
                streams[stems[i]].write(mistakes.slice(ends[i] - counts[i], counts[i]).drop_columns("worker"))
        write_json({"version": VERSION, FEEDBACK_MARK: sorted(files.values())}, fresh / SUMMARY)
    return len(files)


def sheet_names(workers: Sequence[str]) -> list[str]:
    """Return for each worker the name of a file, without ending, that any system takes and that no other worker has.

    A name that is safe and unique stays as it is. Others lose what is unsafe and get eight digits made from the whole name, so
    that a worker's file is called alike in every run.

    >>> sheet_names(["ann@x.org", "../bob", "Cy", "cy", "index"])
    ['ann@x.org', 'bob-548201c6', 'Cy-0b659605', 'cy-3d30f595', 'index-1bc04b52']
    """
    plain = [unicodedata.normalize("NFC", name) for name in workers]
    seen = Counter(name.casefold() for name in plain)
    taken = {*DEVICES, INDEX, Path(SUMMARY).stem}

    def named(worker: str, name: str) -> str:
        key = name.casefold()
        fits = SAFE_NAME.fullmatch(name) and not name.endswith((".", " ")) and len(name.encode()) <= LONGEST_STEM
        if fits and seen[key] == 1 and key.split(".")[0] not in taken and not MADE_NAME.search(key):
            return name
        digest = hashlib.sha256(worker.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        stem = UNSAFE.sub("_", name).strip("._@+-").encode()[: LONGEST_STEM // 2].decode(errors="ignore")
        return f"{stem or 'worker'}-{digest}"

    return [named(worker, name) for worker, name in zip(workers, plain, strict=True)]


def _written_before(target: Path, new: set[str]) -> set[str]:
    """Return the sheets that an earlier run wrote to a folder; refuse to write over a file that it did not write."""
    if not is_ours(target / SUMMARY, (FEEDBACK_MARK,)):
        return set()
    listed_files = json.loads((target / SUMMARY).read_bytes())[FEEDBACK_MARK]
    before = {str(name) for name in listed_files if Path(str(name)).name == name} if isinstance(listed_files, list) else set()
    if taken := sorted(name for name in new - before if (target / name).exists()):
        raise FileError(
            f"{shown_file(target)} holds {listed(taken)}, which this command did not write and would overwrite; name another "
            "folder."
        )
    return before
