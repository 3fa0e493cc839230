"""A folder for temporary files that is gone afterwards, even after a crash: then the next run removes it."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from crowdassay.errors import FileError
from crowdassay.labels.lock import take_lock
from crowdassay.labels.values import shown_file

WORKSPACE_PREFIX = "crowdassay-"
LOCK_SUFFIX = ".lock"
WORKSPACE_NAME = re.compile(rf"{WORKSPACE_PREFIX}\d+-[0-9a-f]{{8}}")
WORKSPACE_MARKER = ".crowdassay-workspace"  # a file in each: what has none is not ours, whatever its name


@contextmanager
def workspace(parent: str | Path | None = None) -> Iterator[Path]:
    """Make a folder of our own inside ``parent``, by default the system's place for temporary files.

    A lock beside it, which the system lets go of however the process ends, tells a folder in use from one left by a crash.
    """
    place = Path(tempfile.gettempdir() if parent is None else parent)
    try:
        place.mkdir(parents=True, exist_ok=True)
        remove_stale(place)
        folder, lock = _claim(place)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise FileError(
            f"No temporary folder can be made in {shown_file(place)} ({reason}); name another with --temp-dir."
        ) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _drop(folder.with_name(folder.name + LOCK_SUFFIX), lock)


def remove_stale(place: Path) -> None:
    """Remove what runs left in a folder that did not live to do it themselves."""
    for path in place.glob(f"{WORKSPACE_PREFIX}*{LOCK_SUFFIX}"):
        try:
            lock = path.open("r+b")
        except OSError:
            continue  # another user's, or just gone
        if not take_lock(lock.fileno()):
            lock.close()
            continue
        folder = path.with_name(path.name.removesuffix(LOCK_SUFFIX))
        if not WORKSPACE_NAME.fullmatch(folder.name) or (folder.exists() and not (folder / WORKSPACE_MARKER).is_file()):
            lock.close()  # somebody's own
            continue
        shutil.rmtree(folder, ignore_errors=True)
        _drop(path, lock)


def _claim(place: Path) -> tuple[Path, BinaryIO]:
    while True:
        folder = place / f"{WORKSPACE_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        path = folder.with_name(folder.name + LOCK_SUFFIX)
        lock = path.open("x+b")
        # Between these two lines another process may take the lock for one left behind; then try another name.
        if take_lock(lock.fileno()) and path.exists():
            folder.mkdir(mode=0o700)
            (folder / WORKSPACE_MARKER).touch()
            return folder, lock
        lock.close()


def _drop(path: Path, lock: BinaryIO) -> None:
    with suppress(OSError):
        path.unlink()
    lock.close()
    with suppress(OSError):
        path.unlink()  # where an open file cannot be removed
