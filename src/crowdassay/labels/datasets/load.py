"""Load a public dataset as labels and truth."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdassay.errors import FileError
from crowdassay.labels.datasets import fetch as fetching
from crowdassay.labels.datasets.fetch import cached
from crowdassay.labels.datasets.registry import Entry, entry
from crowdassay.labels.files import read_files
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth
from crowdassay.read_options import ReadOptions


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
    folder = fetching.fetch(name, cache=cache) if fetch else cached(name, cache)
    if folder is None:
        raise FileError(f"The dataset {name} is not on this machine; run `crowdassay datasets fetch {name}`.")
    labels = read_files([folder / "labels.csv"], ReadOptions.of({"classes": facts.classes}))
    return Dataset(labels, match_truth(labels, folder / "truth.csv")[0], facts)
