"""Locks between processes, by a file that the system lets go of when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crowdassay.errors import CrowdassayError

PAUSE = 0.05


@contextmanager
def locked(path: Path, *, busy: CrowdassayError | None = None, wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock that a file stands for; wait for it, or raise ``busy`` where another process has it.

    ``wait`` is called once if the lock is not free within a second.

    The file is removed in the end. Whoever waited for it then holds a lock on a file without a name, sees that, and asks again.
    """
    patience = time.monotonic() + 1.0
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not take_lock(handle):
                if busy is not None:
                    raise busy
                os.close(handle)
                handle = -1
                time.sleep(PAUSE)  # a signal is heard meanwhile
                if wait is not None and time.monotonic() > patience:
                    wait()
                    wait = None
                continue
            if _is_named(handle, path):
                break
        except BaseException:
            if handle >= 0:
                os.close(handle)
            raise
        if handle >= 0:
            os.close(handle)
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


def _is_named(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def take_lock(handle: int) -> bool:
        """Take the lock of an open file; False where another process has it."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def take_lock(handle: int) -> bool:
        """Take the lock of an open file; False where another process has it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
