"""A folder that remembers what a fit has computed so far, so that it can go on after an interruption.

A fit sees its labels only through what an engine answers, and all else in it is deterministic. So the answers are kept, as
Arrow tables with checksums, and a fit that begins again gets the old answers without any work until they are used up.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.io.values import shown_file
from crowdassay.io.write import write_bytes, write_json

INDEX = "checkpoint.json"
VERSION = 1
EVERY = 30.0  # seconds between two savings
MOST_BYTES = 1 << 28  # answers that wait to be saved


@dataclass(frozen=True)
class Answer:
    """What an engine answered to one call: its name, a checksum of what it was asked, and arrays."""

    call: str
    asked: int
    kind: str
    arrays: tuple[FloatArray, ...]


class Journal:
    """Keep answers in a folder and hand them out again.

    Parameters
    ----------
    folder : Path
    fit : str
        Fingerprint of labels, method and parameters; a journal of another fit is refused.
    resume : bool
        Go on from what the folder holds; otherwise a folder that holds a checkpoint is refused.
    every : float
        Seconds between two savings.
    """

    def __init__(self, folder: Path, fit: str, *, resume: bool, every: float = EVERY) -> None:
        self.folder, self.fit, self.every = folder, fit, every
        self._old: deque[Answer] = deque()
        self._unread: deque[dict[str, Any]] = deque()
        self.state: dict[str, FloatArray] = {}
        self._fresh: list[Answer] = []
        self._chunks: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._saved = time.monotonic()
        index = folder / INDEX
        if index.exists():
            if not resume:
                raise ParameterError(
                    f"{shown_file(folder)} holds a checkpoint; go on from it with --resume, or name another folder."
                )
            self._load(_read_index(index, fit))

    @property
    def left(self) -> int:
        """How many old answers have not been given yet."""
        return len(self._old) + sum(chunk["answers"] for chunk in self._unread)

    def pop(self) -> Answer:
        """Return the next old answer; files are read one at a time."""
        if not self._old:
            self._old.extend(_read(self.folder, self._unread.popleft()))
        return self._old.popleft()

    def add(self, answer: Answer, state: Mapping[str, FloatArray]) -> None:
        """Remember an answer, and what the engine's items are like after it; save now and then."""
        with self._lock:
            self._fresh.append(answer)
            self.state = dict(state)
        waiting = sum(array.nbytes for fresh in self._fresh for array in fresh.arrays)
        if time.monotonic() - self._saved >= self.every or waiting > MOST_BYTES:
            self.save()

    def save(self) -> None:
        """Write what is new; the index last, so that a checkpoint is the old one or the new one."""
        with self._lock:
            if self._fresh:
                number = len(self._chunks)
                chunk = _write(self.folder / f"answers-{number:05}.arrow", self._fresh)
                state = _write(self.folder / f"state-{number:05}.arrow", [_as_answer(*pair) for pair in self.state.items()])
                chunks = [*self._chunks, chunk]
                write_json({"version": VERSION, "fit": self.fit, "answers": chunks, "state": state}, self.folder / INDEX)
                self._chunks, self._fresh = chunks, []
                for path in self.folder.glob("state-*.arrow"):
                    if path.name != state["file"]:
                        path.unlink(missing_ok=True)
            self._saved = time.monotonic()

    def remove(self) -> None:
        """Forget everything: the fit is done."""
        names = [INDEX, *(chunk["file"] for chunk in self._chunks), *(path.name for path in self.folder.glob("state-*.arrow"))]
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def _load(self, index: dict[str, Any]) -> None:
        for chunk in index["answers"]:
            _bytes(self.folder, chunk)  # what is damaged is said at once
        self._unread.extend(index["answers"])
        self.state = {answer.call: answer.arrays[0] for answer in _read(self.folder, index["state"])}
        self._chunks = index["answers"]


def fingerprint(labels: Labels, method: str, parameters: Mapping[str, Any]) -> str:
    """Return a checksum of everything a fit depends on; threads do not matter."""
    digest = hashlib.sha256(repr((method, sorted(parameters.items()), labels.class_names)).encode())
    for array in (labels.starts, labels.worker, labels.label, labels.gold):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _as_answer(name: str, array: FloatArray) -> Answer:
    return Answer(name, 0, "array", (array,))


def _write(path: Path, answers: Iterable[Answer]) -> dict[str, Any]:
    rows = list(answers)
    table = pa.table(
        {
            "call": pa.array([row.call for row in rows], pa.string()),
            "asked": pa.array([row.asked for row in rows], pa.uint32()),
            "kind": pa.array([row.kind for row in rows], pa.string()),
            "shapes": pa.array([[list(array.shape) for array in row.arrays] for row in rows], pa.list_(pa.list_(pa.int64()))),
            "values": pa.array(
                [np.concatenate([np.empty(0), *(array.ravel() for array in row.arrays)]) for row in rows],
                pa.large_list(pa.float64()),
            ),
        }
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue()
    write_bytes(data, path)
    return {"file": path.name, "sha256": hashlib.sha256(data).hexdigest(), "answers": len(rows)}


def _bytes(folder: Path, entry: Mapping[str, Any]) -> bytes:
    try:
        data = (folder / Path(entry["file"]).name).read_bytes()
    except OSError:
        data = b""
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise DataError(f"The checkpoint in {shown_file(folder)} is damaged ({shown_file(entry['file'])}); remove it.")
    return data


def _read(folder: Path, entry: Mapping[str, Any]) -> list[Answer]:
    answers = []
    for batch in pa.ipc.open_file(_bytes(folder, entry)).read_all().to_batches():
        for row in range(batch.num_rows):
            values = batch["values"][row].values.to_numpy()
            arrays, first = [], 0
            for shape in batch["shapes"][row].as_py():
                size = int(np.prod(shape, dtype=np.int64))
                arrays.append(np.array(values[first : first + size]).reshape(shape))
                first += size
            call, asked, kind = (batch[name][row].as_py() for name in ("call", "asked", "kind"))
            answers.append(Answer(call, asked, kind, tuple(arrays)))
    return answers


def _read_index(path: Path, fit: str) -> dict[str, Any]:
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        version, found = index["version"], index["fit"]
        assert all({"file", "sha256", "answers"} <= part.keys() for part in (*index["answers"], index["state"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, AssertionError):
        raise FileError(f"{shown_file(path)} is no checkpoint of ours, or a damaged one; remove it.") from None
    if version != VERSION:
        raise FileError(f"{shown_file(path)} was written by another version of crowdassay; remove it and start anew.")
    if found != fit:
        raise ParameterError(
            f"The checkpoint in {shown_file(path.parent)} belongs to other labels, another method or other parameters; "
            "give the same ones again, or leave out --resume and name another folder."
        )
    return index
