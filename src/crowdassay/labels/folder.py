"""Folders of results: which files are ours, whether they can be written, and writing a whole folder at once.

Whoever looks finds the old folder or the new one, complete, even after a kill -9.
"""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crowdassay.errors import FileError
from crowdassay.labels.values import listed, shown, shown_file

RESULT_TABLES = ("labels", "posterior", "workers", "items", "confusion")
SUMMARY = "summary.json"
TABLE_FORMS = {"csv": "csv", "excel-csv": "csv", "parquet": "parquet", "xlsx": "xlsx"}  # how tables are written, and extensions
RESULT_FILES = frozenset({SUMMARY, *(f"{name}.{ending}" for name in RESULT_TABLES for ending in TABLE_FORMS.values())})
MODEL_HEAD = "model.json"  # by which a model's folder is known
MODEL_FILES = frozenset({MODEL_HEAD, *(f"{name}.parquet" for name in ("classes", "workers", "items", "labels"))})
FEEDBACK_MARK = "feedback"  # the key of the summary by which a folder of feedback is known
INDEX = "index"  # the table that says whose each sheet of feedback is
INDEX_FILES = frozenset({SUMMARY, *(f"{INDEX}.{ending}" for ending in TABLE_FORMS.values())})
EXCHANGE = 2  # RENAME_EXCHANGE of renameat2 on Linux, RENAME_SWAP of renamex_np on macOS
AT_FDCWD = -100
TEMPORARY_SUFFIX = ".crowdassay-tmp"
KNOWN_HEADS = {SUMMARY: "results", MODEL_HEAD: "a model"}  # by which folders are known, and what they are
HEAD_KEYS = ("n_labels", "format_version")  # what the heads of labels hold; other commands have marks of their own
TABLE_STARTS = {"overall.csv": b"measure,"}  # how tables begin by which folders are known
START_BYTES = 1 << 12  # bytes


def output_path(given: str | Path) -> Path:
    """Return where to write; refuse an empty path, which Python would take for the folder that the process stands in.

    >>> output_path("results").name
    'results'
    """
    if not str(given).strip():
        raise FileError("The path to write to is empty; name a file or a folder.")
    return Path(given)


@contextmanager
def replacing_folder(folder: Path, ours: Collection[str], last: str, marks: Collection[str] = HEAD_KEYS) -> Iterator[Path]:
    """Yield an empty folder to write to; it takes the place of ``folder`` when all went well.

    Files of others in an old folder are carried over. Where a folder cannot be replaced as a whole (a mount point, the
    folder this process stands in, one with folders inside, a parent that is not ours), its files are replaced one by one,
    ``last`` removed first and written last: a folder without it is incomplete.

    Parameters
    ----------
    folder : Path
        It may exist.
    ours : collection of str
        Names of files that an earlier run may have left, which are replaced or removed.
    last : str
        The file by which a complete folder is known.
    marks : collection of str
        Keys one of which that file holds where it is JSON and of the same command.

    Raises
    ------
    FileError
        If the folder holds a file of one of our names without ``last``: it may be somebody's data.
    """
    target = Path(os.path.realpath(folder))
    check_free(target, ours, last, marks)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        whole = _replaceable(target)
        place = target.parent if whole else target
        # What runs that were killed have left: a run that is alive keeps its folder younger than an hour.
        for path in place.glob(f".{target.name[:100].replace('[', '[[]')}.*{TEMPORARY_SUFFIX}"):
            with suppress(OSError):
                if not path.is_symlink() and path.stat().st_mtime < time.time() - 3600:
                    shutil.rmtree(path)
        fresh = place / f".{target.name[:100]}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
        fresh.mkdir()
    except OSError as error:
        raise not_written(folder, error) from error
    try:
        yield fresh
        for path in fresh.iterdir():
            _sync(path)
        if whole:
            _swap(fresh, target, ours)
        else:
            _move_each(fresh, target, ours, last)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise not_written(folder, error) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check_free(target: Path, ours: Collection[str], last: str, marks: Collection[str] = HEAD_KEYS) -> None:
    """Refuse a folder whose files we would overwrite though we did not write them, or that holds another kind of ours."""
    other = next((name for name in KNOWN_HEADS if name != last and is_ours(target / name)), None)
    if other is not None and last in KNOWN_HEADS:
        raise FileError(f"{shown_file(target)} holds {KNOWN_HEADS[other]}, whose files would be replaced; name another folder.")
    if target.is_dir() and not is_ours(target / last, marks):
        with os.scandir(target) as entries:
            taken = sorted(entry.name for entry in entries if entry.name in ours)
        if taken:
            raise FileError(
                f"{shown_file(target)} holds {listed(taken)} but no {last} of ours: this command did not write that and would "
                "overwrite it; name another folder."
            )


def is_ours(path: Path, marks: Collection[str] = HEAD_KEYS) -> bool:
    """Return whether a file is one by which a folder of ours is known: by what it holds, not by its name."""
    try:
        with path.open("rb") as stream:
            start = stream.read(START_BYTES)
        if path.suffix == ".json":
            head = json.loads(path.read_bytes())
            return isinstance(head, dict) and "version" in head and not head.keys().isdisjoint(marks)
    except (OSError, ValueError, RecursionError):
        return False
    return start.startswith(TABLE_STARTS.get(path.name, b""))


def check_writable(folder: str | Path) -> None:
    """Raise `FileError` if results could not be written to a folder, which may not exist yet; leave nothing behind."""
    folder = output_path(folder)
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else error
        raise FileError(f"{shown(folder)} cannot be a folder for results ({reason}); name another.") from None
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise FileError(f"{shown_file(there)} is a file, so results cannot go into {shown_file(folder)}; name another folder.")
    trial = there / f".crowdassay-{secrets.token_hex(8)}"
    try:
        with trial.open("xb") as stream:  # a full disk lets a file be made and then takes nothing
            stream.write(bytes(4096))
        trial.unlink()
    except OSError as error:
        with suppress(OSError):
            trial.unlink()
        reason = os.strerror(error.errno or 0)
        raise FileError(f"Nothing can be written to {shown_file(there)} ({reason}); name another folder.") from None


def check_results(folder: Path) -> None:
    """Raise `FileError` if a result could not be written to a folder; leave nothing behind."""
    check_writable(folder)
    target = Path(os.path.realpath(folder))
    if (target / MODEL_HEAD).exists():  # a model has a labels.parquet, too, which would be lost
        raise FileError(f"{shown_file(folder)} holds a model ({MODEL_HEAD}); name another folder for the tables.")
    check_free(target, RESULT_FILES, SUMMARY)


def not_written(path: Path, error: OSError) -> FileError:
    """Return the error for a file or folder that could not be written."""
    reason = os.strerror(error.errno or 0)
    return FileError(f"{shown_file(path)} could not be written ({reason}); free some space or name another folder.")


def sync_folder(folder: Path) -> None:
    """Have the names in a folder written to disk, where the system can."""
    with suppress(OSError):  # Windows opens no folders
        _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _replaceable(target: Path) -> bool:
    if not target.exists():
        return True
    here = Path.cwd()
    if target == here or target in here.parents or os.path.ismount(target) or not os.access(target.parent, os.W_OK):
        return False
    with os.scandir(target) as entries:
        return not any(entry.is_dir(follow_symlinks=False) for entry in entries)


def _swap(fresh: Path, target: Path, ours: Collection[str]) -> None:
    if target.exists():
        for path in target.iterdir():
            if path.name in ours:
                continue
            try:
                os.link(path, fresh / path.name, follow_symlinks=False)
            except OSError:  # some file systems have no links
                shutil.copy2(path, fresh / path.name, follow_symlinks=False)
        shutil.copymode(target, fresh)
    sync_folder(fresh)
    if not target.exists():
        os.rename(fresh, target)
    elif not _exchange(fresh, target):
        # For a moment there is neither; the old folder waits under the name of the temporary one.
        aside = fresh.with_name(f".{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
        os.rename(target, aside)
        try:
            os.rename(fresh, target)
        except OSError:
            os.rename(aside, target)
            raise
        shutil.rmtree(aside, ignore_errors=True)
    sync_folder(target.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(one), os.fsencode(other)
        if sys.platform == "darwin":
            done = library.renamex_np(*names, EXCHANGE) == 0
        else:
            done = library.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE) == 0
    except (AttributeError, OSError, TypeError):  # no such function here
        return False
    return done


def _move_each(fresh: Path, target: Path, ours: Collection[str], last: str) -> None:
    with suppress(FileNotFoundError):
        (target / last).unlink()
    sync_folder(target)
    written = {path.name for path in fresh.iterdir()}
    for name in sorted(written - {last}):
        os.replace(fresh / name, target / name)
    for name in set(ours) - written:
        with suppress(FileNotFoundError):
            (target / name).unlink()
    sync_folder(target)
    os.replace(fresh / last, target / last)
    sync_folder(target)
