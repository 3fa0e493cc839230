"""What `crowdassay plan` plans for: labels, a saved model, or the store of a running service."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdassay.cli.options import read

if TYPE_CHECKING:
    from crowdassay.estimators.base import Estimator
    from crowdassay.labels.labels import Labels

SQLITE = b"SQLite format 3\0"
POSTGRES = ("postgresql://", "postgres://")
OF_A_FILE = ("?table=", "&table=", "?query=", "&query=")  # parts of an address that name a table of somebody else's
KNOWN_TO_MODELS = ("gold", "method", "classes")  # options that say what models and stores know themselves


def find_fitted(source: tuple[str, ...], options: dict[str, Any]) -> Estimator:
    """Return a saved model, or a method fitted to the labels of files or of a store."""
    from crowdassay.cli.running import working
    from crowdassay.estimators.load import load_estimator
    from crowdassay.estimators.methods import find_method
    from crowdassay.labels.folder import MODEL_HEAD
    from crowdassay.labels.truth import take_gold

    only = source[0] if len(source) == 1 else ""
    if only and (Path(only) / MODEL_HEAD).is_file():
        refuse(KNOWN_TO_MODELS, options, f"the model in '{only}'")
        return load_estimator(only)
    method = find_method(options["method"] or "assay")
    stored = bool(only) and is_store(only)
    if stored:
        refuse([name for name in KNOWN_TO_MODELS if name != "method"], options, "the store")
    with working("Reading ...", quiet=options["quiet"]):
        data = read_job(only) if stored else read(source, options)
    if options["gold"] is not None:
        data = take_gold(data, options["gold"])
    with working("Fitting ...", quiet=options["quiet"]):
        return method.make().fit(data)


def refuse(names: list[str] | tuple[str, ...], options: dict[str, Any], who: str) -> None:
    """Refuse options that say what the source knows itself."""
    from crowdassay.errors import ParameterError

    for name in names:
        if options[name] is not None:
            raise ParameterError(f"--{name} goes with files of labels; {who} has its own.")


def is_store(place: str) -> bool:
    """Return whether a path or URL is a job that `crowdassay serve` keeps; other databases are read as labels."""
    from crowdassay.service.store.open import find_home

    if any(part in place for part in OF_A_FILE):
        return False
    if place.startswith(POSTGRES):
        home = find_home(place)
    else:
        path = Path(place.removeprefix("sqlite:///"))
        if not path.is_file() or "://" in str(path):
            return False
        with path.open("rb") as stream:
            if stream.read(len(SQLITE)) != SQLITE:
                return False
        from crowdassay.labels.databases.sqlite import SqliteHome

        home = SqliteHome(path, shared=True)  # nothing is written, not even the mode of its journal
    try:
        with home.read() as session:
            return home.has_meta(session)
    finally:
        home.close()


def read_job(place: str) -> Labels:
    """Return a store's labels with its known classes; items that nobody has labelled yet are among the items."""
    from crowdassay.service.fits.process import read_store
    from crowdassay.service.store.labels import last_seq
    from crowdassay.service.store.open import find_home
    from crowdassay.service.store.truths import item_names

    home = find_home(place)
    try:
        with home.read() as session:
            upto, waiting = last_seq(session), item_names(session)
    finally:
        home.close()
    labels, known = read_store(place, upto)
    return with_items(labels, waiting, known)


def with_items(labels: Labels, names: list[str], known: dict[str, str]) -> Labels:
    """Return the labels with items that have none after the others; known classes of theirs as well."""
    import numpy as np
    import pyarrow as pa

    there = set(labels.items.to_pylist())
    new = [name for name in dict.fromkeys(names) if name not in there]
    if not new:
        return labels
    codes = {name: code for code, name in enumerate(labels.class_names)}
    gold = np.array([codes.get(known.get(name, ""), -1) for name in new], labels.gold.dtype)
    return replace(
        labels,
        starts=np.append(labels.starts, np.full(len(new), labels.starts[-1], labels.starts.dtype)),
        items=pa.concat_arrays([labels.items.cast(pa.string()), pa.array(new, pa.string())]),
        gold=np.append(labels.gold, gold),
    )
