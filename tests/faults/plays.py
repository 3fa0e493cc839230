"""What fuzzing plays: bytes in, labels or one of our own errors out. `play` raises whatever must not happen."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from unittest import mock

import pyarrow as pa

from crowdassay.errors import CrowdassayError
from crowdassay.labels.databases.duck import ask
from crowdassay.labels.encode import encode
from crowdassay.labels.files import read_labels, read_truth
from crowdassay.labels.formats.record import Annotations, finish
from crowdassay.labels.formats.registry import EXPORT_FORMATS, PLAIN_FORMAT, read, recognise
from crowdassay.labels.labels import Labels
from crowdassay.labels.probe import probe
from crowdassay.read_options import REPEAT_POLICIES, ReadOptions
from faults import tables
from support import exports

ROWS = [("0", "1", "1"), ("0", "2", "0"), ("1", "1", "0"), ("1", "2", "0")]
TOOLS = (None, PLAIN_FORMAT, *EXPORT_FORMATS)
NAMES = ("a.json", "a.jsonl", "a.manifest", "a.zip", "a.npy")
WRITERS = (
    exports.label_studio, exports.label_studio_min, exports.label_studio_csv, exports.prodigy, exports.doccano,
    exports.doccano_csv, exports.argilla, exports.argilla_flat, exports.mturk, exports.sagemaker_manifest, exports.toloka,
    exports.appen, exports.labelbox, exports.wide, exports.matrix, exports.triples, exports.crowd_kit,
)  # fmt: skip
TARGETS = ("table", "export", "labels")


def play(target: str, data: bytes, folder: Path) -> str:
    """Play one case; return 'read' or 'refused'. The first bytes choose how the rest is read."""
    try:
        labels = {"labels": play_labels, "export": play_export, "table": play_table}[target](data, folder)
    except CrowdassayError as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error!r}") from error
        return "refused"
    if labels is not None:
        check(labels)
    return "read"


def play_export(data: bytes, folder: Path) -> Labels | None:
    """Write the bytes to a file and read it as what a tool exports."""
    first, second, third, *_ = [*data[:3], 0, 0, 0]
    path = folder / NAMES[first % len(NAMES)]
    path.write_bytes(data[3:])
    tool = TOOLS[second % len(TOOLS)]
    question, missing, policy = "tone" if third & 4 else None, "-1" if third & 8 else None, REPEAT_POLICIES[third >> 6]
    seen = probe(path)
    name = recognise(seen) if tool in {None, PLAIN_FORMAT} else tool
    if name == PLAIN_FORMAT:
        return None
    wanted = ReadOptions.of({"question": question, "predictions": bool(third & 16), "missing": missing})
    rows = read(name, seen, wanted)
    rows = finish([rows], wanted, path.name) if isinstance(rows, Annotations) else rows
    return encode(rows.item, rows.worker, rows.label, repeats=policy)


def play_table(data: bytes, folder: Path) -> Labels | None:
    """Make a table of the bytes, write it to a file and read it: by the slow reader, by DuckDB, or by both, who must agree."""
    choices = tables.Choices(data)
    readers = choices.rarely(("slow", "both", "duckdb"))  # DuckDB is slow to start
    as_truth, policy = choices.number(8) == 1, choices.rarely(REPEAT_POLICIES)
    missing, tool = choices.rarely((None, "-1")), choices.rarely((None, PLAIN_FORMAT, *EXPORT_FORMATS))
    name, body = tables.table(choices)
    path = folder / name
    path.write_bytes(gzip.compress(body, 1) if path.suffix == ".gz" and choices.number(8) != 1 else body)
    if as_truth:
        read_truth(path)
        return None

    def read_it(*, quickly: bool) -> Labels:
        with mock.patch("crowdassay.labels.source.ask", ask if quickly else lambda *_: None):
            return read_labels(path, format=tool, missing=missing, repeats=policy)

    if "json" in name or "parquet" in name or readers == "duckdb":
        return read_it(quickly=True)
    labels = read_it(quickly=False)
    if readers == "both":
        again = read_it(quickly=True)
        assert again.report == labels.report
        for vocabulary in ("items", "workers", "classes"):
            assert getattr(again, vocabulary).to_pylist() == getattr(labels, vocabulary).to_pylist()
        assert again.label.tolist() == labels.label.tolist()
    return labels


def play_labels(data: bytes, _: Path) -> Labels:
    """Make three columns of the bytes, mixed in type, and encode them."""
    policy, kind, *_ = [*data[:2], 0, 0]
    cells = data[2:].split(b"\x1f")
    thirds = [cells[start::3] for start in range(3)]
    length = min(map(len, thirds))
    columns = [column(third[:length], (kind >> shift) & 7) for third, shift in zip(thirds, (0, 3, 5), strict=True)]
    classes = ["0", "1", "yes", "no"] if policy & 4 else None
    return encode(*columns, repeats=REPEAT_POLICIES[policy & 3], classes=classes)


def column(cells: list[bytes], kind: int) -> pa.Array:
    """Make a column of texts, numbers, booleans or bytes."""
    if kind == 1:
        return pa.array([int.from_bytes(cell[:7], "big") if cell else None for cell in cells], pa.int64())
    if kind == 2:
        return pa.array([number(cell) for cell in cells], pa.float64())
    if kind == 3:
        return pa.array([bool(cell[0] & 1) if cell else None for cell in cells], pa.bool_())
    if kind == 4:
        return pa.array(cells, pa.binary())
    texts = [cell.decode("utf-8", errors="replace") or None for cell in cells]
    return pa.array(texts, pa.string()).dictionary_encode() if kind == 5 else pa.array(texts, pa.string())


def number(cell: bytes) -> float | None:
    """Read a number as Python does, infinities and NaN included."""
    try:
        return float(cell)
    except ValueError:
        return None


def check(labels: Labels) -> None:
    """Whatever was read must be whole: codes in range, item-major, counted."""
    assert labels.n_labels == labels.starts[-1] == labels.report.rows_kept
    assert (labels.worker >= 0).all()
    assert (labels.worker < labels.n_workers).all()
    assert (labels.label >= 0).all()
    assert (labels.label < labels.n_classes).all()
    assert (labels.gold >= -1).all()
    assert (labels.gold < labels.n_classes).all()
    for vocabulary in (labels.items, labels.workers, labels.classes):
        assert vocabulary.null_count == 0
        assert len(vocabulary.unique()) == len(vocabulary)
    json.dumps(labels.report.as_dict()).encode()


def seeds(target: str, folder: Path) -> list[bytes]:
    """Return good cases to start from: every tool's export, and plain tables."""
    if target == "labels":
        return [
            bytes([p, k]) + b"\x1f".join(cell.encode() for row in ROWS for cell in row)
            for p in range(8)
            for k in range(0, 256, 37)
        ]
    if target == "table":
        return [
            bytes([reader, 0, 0, 0, 0, kind]) + bytes(range(1, 90)) for reader in (0, 1, 2) for kind in range(len(tables.KINDS))
        ]
    found = []
    for writer in WRITERS:
        path = writer(ROWS, folder)
        for position, name in enumerate(NAMES):
            if path.suffix == Path(name).suffix:
                found.append(bytes([position, 0, 0]) + path.read_bytes())
                found.append(bytes([position, 0, 4]) + path.read_bytes())
    return found
