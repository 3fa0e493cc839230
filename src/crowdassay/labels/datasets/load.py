"""Load a public dataset as labels and truth: download, convert, verify, and keep it in a folder of this machine."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.labels.datasets.registry import Converted, Entry, Raw, checksum, convert, entry
from crowdassay.labels.files import read_files
from crowdassay.labels.folder import check_writable
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth
from crowdassay.labels.write import write_json, write_table
from crowdassay.read_options import ReadOptions

KEPT_FILES = ("labels.csv", "truth.csv")
RAW_FILES = "https://raw.githubusercontent.com"
URL_VARIABLE = "CROWDASSAY_DATASETS_URL"
LARGEST_RAW_FILE = 32 << 20  # the largest raw file has 2.3 MB
DOWNLOAD_TIMEOUT = 30.0  # seconds without an answer


class Dataset(NamedTuple):
    """A dataset ready for use.

    Attributes
    ----------
    labels : Labels
    truth : ndarray of int32, shape (n_items,)
        Code of the true class of every item, -1 where it is unknown.
    meta : Entry
        The registry's facts: kind, counts, source, paper, licence.
    """

    labels: Labels
    truth: NDArray[np.int32]
    meta: Entry


def load_dataset(name: str, *, fetch: bool = True, cache: Path | None = None) -> Dataset:
    """Load a public dataset, fetching it when it is not yet on this machine.

    Parameters
    ----------
    name : str
        A name that ``crowdassay datasets`` lists.
    fetch : bool
        Download when needed; otherwise a dataset that is not here is an error.
    cache : Path, optional
        Folder that keeps datasets; by default the user's data folder. CROWDASSAY_DATA is looked at first.

    Returns
    -------
    Dataset
        ``labels, truth, meta``.

    Examples
    --------
    >>> labels, truth, meta = load_dataset("bluebirds")  # doctest: +SKIP
    >>> from crowdassay.labels.datasets.registry import entry
    >>> entry("bluebirds").items, entry("bluebirds").workers
    (108, 39)

    A name that the registry does not know stops before anything is downloaded.

    >>> load_dataset("bluebird")
    Traceback (most recent call last):
    ...
    crowdassay.errors.ParameterError: There is no dataset 'bluebird'; did you mean 'bluebirds'?
    """
    facts = entry(name)
    folder = fetch_dataset(name, cache=cache) if fetch else cached(name, cache)
    if folder is None:
        raise FileError(f"The dataset {name} is not on this machine; run `crowdassay datasets fetch {name}`.")
    labels = read_files([folder / "labels.csv"], ReadOptions.of({"classes": facts.classes}))
    return Dataset(labels, match_truth(labels, folder / "truth.csv")[0], facts)


def user_folder() -> Path:
    """Return the folder that fetched datasets go to: ``crowdassay/datasets`` in the user's data folder."""
    if given := os.environ.get("XDG_DATA_HOME"):
        base = Path(given)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "share"
    return base / "crowdassay" / "datasets"


def cached(name: str, cache: Path | None = None) -> Path | None:
    """Return the folder that holds a dataset: in CROWDASSAY_DATA first, then among the fetched ones; None when nowhere."""
    places = [Path(given)] if (given := os.environ.get("CROWDASSAY_DATA")) else []
    for place in (*places, cache or user_folder()):
        if all((place / name / file).is_file() for file in KEPT_FILES):
            return place / name
    return None


def fetch_dataset(
    name: str, *, base_url: str | None = None, cache: Path | None = None, announce: Callable[[str], None] | None = None
) -> Path:
    """Fetch a dataset, unless it is already here, and return the folder that holds it.

    The raw files come from the public repository at a pinned commit. What they convert to must match the checksums in the
    registry; otherwise nothing is kept.

    Parameters
    ----------
    name : str
        A name in the registry.
    base_url : str, optional
        A server that gives raw files at ``owner/name/commit/path``; by default CROWDASSAY_DATASETS_URL, then the code host's.
    cache : Path, optional
        Folder to keep datasets in; by default the user's data folder.
    announce : callable, optional
        Called with one line for each file.

    Returns
    -------
    Path
        Folder with ``labels.csv``, ``truth.csv`` and ``meta.json``.
    """
    facts = entry(name)
    if here := cached(name, cache):
        return here
    if facts.raw is None:
        raise DataError(
            f"The source of {name} has no file that we know how to convert; look at {facts.source}, and put labels.csv and "
            f"truth.csv into a folder {name} inside the one that CROWDASSAY_DATA names."
        )
    target = (cache or user_folder()) / name
    check_writable(target)
    texts = []
    for path in facts.raw.files:
        url = file_url(facts.raw, path, base_url)
        if announce is not None:
            announce(f"Downloading {url}")
        texts.append(_download(url, path))
    return _keep(facts, _verified(name, facts.raw, texts), target)


def file_url(raw: Raw, path: str, base_url: str | None = None) -> str:
    """Return the address of one raw file."""
    base = base_url or os.environ.get(URL_VARIABLE) or RAW_FILES
    if urlsplit(base).scheme not in {"http", "https"}:
        raise ParameterError(
            f"The address of the raw files must begin with https:// or http://, not '{base}'; check {URL_VARIABLE}."
        )
    return f"{base.rstrip('/')}/{raw.repository}/{raw.commit}/{quote(path)}"


def _download(url: str, path: str) -> str:
    try:
        with urlopen(Request(url), timeout=DOWNLOAD_TIMEOUT) as answer:  # noqa: S310  `file_url` checks the scheme  # nosec B310
            expected = answer.headers.get("Content-Length")
            content = answer.read(LARGEST_RAW_FILE + 1)
    except HTTPError as error:
        with error:
            raise FileError(
                f"{url} answered {error.code} ({error.reason}); try again later, or set {URL_VARIABLE} to a server that has it."
            ) from None
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise FileError(
            f"{url} cannot be reached ({reason}); check the connection, or set {URL_VARIABLE} to a server that has it."
        ) from None
    if len(content) > LARGEST_RAW_FILE:
        raise FileError(
            f"{url} is larger than {LARGEST_RAW_FILE >> 20} MiB and so is not the file meant; check {URL_VARIABLE}."
        )
    if expected is not None and len(content) < int(expected):
        raise FileError(f"{url} stopped after {len(content):,} of {int(expected):,} bytes; try again.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text and so is not the file meant; check {URL_VARIABLE}, or try again.") from None


def _verified(name: str, raw: Raw, texts: list[str]) -> Converted:
    remedy = f"nothing was kept; check {URL_VARIABLE}, or try again."
    try:
        rows = convert(raw, texts)
    except DataError as error:
        raise DataError(f"The files of {name} are not as expected: {str(error).rstrip('.')}; {remedy}") from None
    for what, actual, expected in (
        ("labels", checksum(rows.labels), raw.labels_sha256),
        ("truth", checksum(rows.truth), raw.truth_sha256),
    ):
        if actual != expected:
            raise DataError(
                f"The {what} of {name} do not match the checksum in the registry (SHA-256 {actual[:12]}… instead of "
                f"{expected[:12]}…); {remedy}"
            )
    return rows


def _keep(facts: Entry, rows: Converted, target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{facts.name}-", dir=target.parent))
    except OSError as error:
        raise FileError(f"Nothing can be written to '{target.parent}' ({error.strerror}); name another folder.") from None
    try:
        for file, header, body in (
            ("labels.csv", ("item", "worker", "label"), rows.labels),
            ("truth.csv", ("item", "label"), rows.truth),
        ):
            columns = dict(zip(header, map(pa.array, zip(*body, strict=True)), strict=True))
            write_table(pa.table(columns), temporary / file, raw=True)  # ids stay as published
        write_json(facts.record(), temporary / "meta.json")
        temporary.chmod(0o755)  # mkdtemp lets nobody else in
        shutil.rmtree(target, ignore_errors=True)  # what is there lacks a file, or `cached` would have found it
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(f"'{target}' could not be written ({error}); free some space or name another folder.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target
