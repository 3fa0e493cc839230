"""A folder for temporary files that is gone afterwards, even after a crash: then the next run removes it.

Locks between processes are files that the system lets go of when their holder ends, however it ends.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from crowdassay.errors import CrowdassayError, FileError
from crowdassay.labels.values import shown_file

WORKSPACE_PREFIX = "crowdassay-"
LOCK_SUFFIX = ".lock"
PAUSE = 0.05  # seconds between two tries for a lock
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


@contextmanager
def locked(path: Path, *, busy: CrowdassayError | None = None, wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock that a file stands for; wait for it, or raise ``busy`` where another process has it.

    ``wait`` is called once if the lock is not free within a second.

    The file is removed in the end. Whoever waited for it then holds a lock on a file without a name, sees that, and asks again.
    """
    patience = time.monotonic() + 1.0
    while True:
        with ExitStack() as unless_held:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            unless_held.callback(os.close, handle)
            free = take_lock(handle)
            with suppress(FileNotFoundError):
                if free and os.path.samestat(os.fstat(handle), os.stat(path)):
                    unless_held.pop_all()
                    break
        if free:
            continue
        if busy is not None:
            raise busy
        time.sleep(PAUSE)  # a signal is heard meanwhile
        if wait is not None and time.monotonic() > patience:
            wait()
            wait = None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            path.unlink()
        os.close(handle)


@contextmanager
def folder_locked(folder: Path, wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of a folder that is read and then replaced; wait for whoever does so now, and say so by ``wait``.

    The lock lies beside the folder, which takes part in the exchange; or inside where nothing can be written beside it.
    """
    target = Path(os.path.realpath(folder))
    beside = os.access(target.parent, os.W_OK)
    path = target.with_name(f".{target.name[:100]}.lock") if beside else target / ".lock"
    try:
        path.touch(0o600)
    except OSError:  # a folder that cannot be written to is read, and whoever writes says what is wrong
        yield
        return
    with locked(path, wait=wait):
        yield


def take_lock(handle: int) -> bool:
    """Take the lock of an open file; False where another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - each system has its own

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - each system has its own

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
