"""A fitted model as a folder: JSON for settings, Parquet for everything of the size of workers, items or labels. No pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdassay.arrays import FloatArray
from crowdassay.data.join import take_items
from crowdassay.data.labels import MAX_CLASSES, ImportReport, Labels
from crowdassay.data.record import find_winners
from crowdassay.errors import CrowdassayError, DataError, FileError, ParameterError
from crowdassay.fit.parameters import check_types
from crowdassay.fit.result import Result
from crowdassay.io.folder import replacing_folder
from crowdassay.io.raw import refuse_odd_path
from crowdassay.io.values import shown, shown_file
from crowdassay.io.write import write_json
from crowdassay.persistence import trust
from crowdassay.pool.judge import ItemMember, Pool, choose

FORMAT, FORMAT_VERSION = "crowdassay-model", 1
HEAD = "model.json"
PARTS = ("classes.parquet", "workers.parquet", "items.parquet", "labels.parquet")
PLAIN = (
    "doubt",
    "settled",
    "spread",
    "objective",
    "history",
    "n_iter",
    "converged",
    "seconds",
    "notes",
    "selection",
)  # what JSON holds of a result
POOL = ("stranger", "offset", "bias", "vote", "correlation", "many", "quiet", "scale")  # what JSON holds of a pool
EFFECTS = ("log_prior", "precision", "gate", "weight")  # and of its member with item effects
ODD = (  # what goes wrong with the parts of a model that another hand has made
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, OSError, RecursionError,
    pa.ArrowException,
)  # fmt: skip
PICKLE = (b"\x80", b"(", b"c")  # how pickles begin


def save_model(estimator: Any, folder: str | Path) -> None:
    """Write a fitted estimator to a folder, which is either the old one or the new one, never half of it."""
    result = estimator._fitted()
    check_savable(estimator)
    labels, pool = result.labels, vars(estimator).get("pool_")
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": version("crowdassay"),
        "estimator": type(estimator).__name__,
        "settings": estimator.get_params(),
        "method": result.method,
        "parameters": result.parameters,
        "frame": labels.frame,
        "report": labels.report.as_dict(),
        "pool": _pool(pool),
        **{name: getattr(result, name) for name in PLAIN},
    }
    tables = {
        "classes.parquet": {"class": labels.classes, "log_prior": _column(result.log_prior, labels.n_classes)},
        "workers.parquet": {
            "worker": labels.workers,
            "accuracy": pa.array(result.accuracy),
            "confusion": _column(result.confusion, labels.n_workers),
            "sigma": _column(result.sigma, labels.n_workers),
            "known": _column(result.known, labels.n_workers),
            **{name: _column(values, labels.n_workers) for name, values in _worker_sized(pool, labels.n_workers).items()},
        },
        "items.parquet": {
            "item": labels.items,
            "n_labels": pa.array(np.diff(labels.starts)),
            "gold": pa.array(labels.gold),
            "posterior": _column(result.posterior, labels.n_items),
            "phi": _column(result.phi, labels.n_items),
            "difficulty": _column(result.difficulty, labels.n_items),
        },
        "labels.parquet": {"worker": pa.array(labels.worker), "label": pa.array(labels.label)},
    }
    with replacing_folder(Path(folder), {HEAD, *PARTS}, HEAD) as fresh:
        for name, columns in tables.items():
            with (fresh / name).open("xb") as stream:
                pq.write_table(pa.table(columns), stream, compression="zstd")
        head["files"] = {name: _digest((fresh / name).read_bytes()) for name in PARTS}
        head = json.loads(json.dumps(head, default=_plain))
        write_json({**head, "checksum": _digest(_canonical(head))}, fresh / HEAD)


def read_model(folder: str | Path, kinds: Mapping[str, type]) -> Any:
    """Read a fitted estimator from a folder that `save_model` wrote; anything else is refused.

    Parameters
    ----------
    folder : str or Path
    kinds : mapping of str to type
        The estimators by the names of their classes.

    Returns
    -------
    estimator
        Fitted: it predicts, takes new labels by `partial_fit` and goes on by `refit`.

    Raises
    ------
    FileError
        If there is no model.
    DataError
        If it is damaged, was changed, or comes from a newer version.
    """
    refuse_odd_path(folder)
    folder = Path(folder)
    head = _read_head(folder)
    try:
        return _assemble(head, kinds, [_read_part(folder, name, head["files"]) for name in PARTS], folder)
    except CrowdassayError as error:
        if isinstance(error, ParameterError):
            raise DataError(f"The settings of the model in {shown_file(folder)} make no sense: {error.message}") from None
        raise
    except ODD:
        # The sums are right, so it was written like this, by another hand.
        raise DataError(f"The parts of the model in {shown_file(folder)} do not fit together; save the model again.") from None


def _assemble(head: dict[str, Any], kinds: Mapping[str, type], tables: list[pa.Table], folder: Path) -> Any:
    trust.check_head(head)
    estimator = _rebuild(head, kinds, folder)
    check_types(estimator)
    classes, workers, items, codes = tables
    report = dict(head["report"])
    rows_read, rows_kept = report.pop("rows_read"), report.pop("rows_kept")
    starts = np.zeros(len(items) + 1, np.int64)
    np.cumsum(trust.codes(items["n_labels"]), out=starts[1:])
    what, known = trust.codes(codes["label"]), trust.codes(items["gold"], least=-1)
    trust.check(what.size and what.max() < len(classes) <= MAX_CLASSES)  # before smaller numbers could wrap
    try:
        labels = Labels(
            starts,
            trust.codes(codes["worker"]).astype(np.int32),
            what.astype(np.int16),
            trust.names(items["item"]),
            trust.names(workers["worker"]),
            trust.names(classes["class"]),
            known.astype(np.int32),
            ImportReport(**{**report, "notes": tuple(report["notes"])}, rows_read=int(rows_read), rows_kept=int(rows_kept)),
            head["frame"],
        )
    except DataError as error:  # says what is wrong with the codes; the caller says where
        raise ValueError(str(error)) from error
    trust.check_labels(labels)
    square = (labels.n_classes, labels.n_classes)
    posterior = _array(items["posterior"], (labels.n_classes,))
    confusion = _array(workers["confusion"], square)
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value := head[name], list) else value for name in PLAIN}
    sigma = _array(workers["sigma"], square)
    arrays: dict[str, Any] = {
        "log_prior": _array(classes["log_prior"], ()),
        "sigma": sigma,
        "known": _array(workers["known"], (2,)),
        "phi": _array(items["phi"], (-1,)),
        "difficulty": _array(items["difficulty"], ()),
    }
    accuracy = _array(workers["accuracy"], ())
    trust.check_result({**arrays, "posterior": posterior, "confusion": confusion, "accuracy": accuracy})
    assert posterior is not None and confusion is not None and accuracy is not None  # noqa: PT018
    pool = _read_pool(head, workers, sigma)
    if pool is not None:
        estimator.__dict__["pool_"] = pool
    estimator.result_ = Result(
        labels,
        head["method"],
        {**head["parameters"]},
        posterior,
        find_winners(posterior) if pool is None else choose(posterior, pool),
        confusion,
        accuracy,
        expand=estimator._expander(labels),
        **arrays,
        **plain,
    )
    _try(estimator)
    return estimator


def _try(estimator: Any) -> None:
    """Judge one item: what a method needs and does not find, such as a table or a parameter, shows now and not later."""
    posterior = estimator._solve_items(take_items(estimator.result_.labels, np.array([0])))[0]
    trust.check(trust.is_share(posterior))
    if estimator.result_.sigma is not None:
        trust.check(not np.isnan(estimator._stranger()).any())


def check_savable(estimator: Any) -> None:
    """Refuse estimators that keep more of a fit than a folder holds."""
    result = estimator._fitted()
    kept = [name for name in vars(estimator) if name.endswith("_") and name not in {"result_", "pool_"}]
    if kept or result.pairs is not None:
        raise ParameterError(
            f"A model of the method '{result.method}' can be neither saved nor updated; those of assay, minimax, dawid-skene, "
            "one-coin and majority can."
        )
    odd = [name for name, value in estimator.get_params().items() if not _is_plain(value)]
    if odd:
        raise ParameterError(f"The parameter {odd[0]} is an object of Python; only models with named settings can be saved.")


def _read_head(folder: Path) -> dict[str, Any]:
    path = folder / HEAD
    if folder.is_file() and folder.read_bytes()[:1] in PICKLE:
        raise DataError(f"{shown_file(folder)} looks like a pickle, which is never loaded; a model is a folder.")
    if not path.is_file():
        raise FileError(f"There is no model in {shown_file(folder)}: it has no {HEAD}.")
    try:
        head = json.loads(path.read_bytes())
        known = head["format"] == FORMAT
        form = head["format_version"]
    except (ValueError, KeyError, TypeError, RecursionError):  # the last of brackets in brackets, deeper than anything of ours
        raise DataError(f"{shown_file(path)} is not a complete model file; save the model again.") from None
    if not known:
        raise DataError(f"{shown_file(path)} is no model of ours.")
    if form != FORMAT_VERSION:
        raise DataError(
            f"The model in {shown_file(folder)} was written by crowdassay {head.get('version', 'of another time')}, in a newer "
            f"form (version {form}) than this one reads ({FORMAT_VERSION}); upgrade crowdassay."
        )
    if _digest(_canonical({name: value for name, value in head.items() if name != "checksum"})) != head.get("checksum"):
        raise DataError(f"{shown_file(path)} has been changed since it was written; save the model again.")
    return head


def _read_part(folder: Path, name: str, digests: dict[str, str]) -> pa.Table:
    path = folder / name
    if not path.is_file():
        raise DataError(f"The model in {shown_file(folder)} is incomplete: {name} is missing.")
    data = path.read_bytes()
    if _digest(data) != digests.get(name):
        raise DataError(f"{shown_file(path)} is damaged or has been changed since it was written; save the model again.")
    return pq.read_table(pa.BufferReader(data))


def _rebuild(head: dict[str, Any], kinds: Mapping[str, type], folder: Path) -> Any:
    if head["estimator"] not in kinds:
        raise DataError(f"The model in {shown_file(folder)} is a {shown(head['estimator'])}, which this version does not know.")
    settings = {name: tuple(value) if isinstance(value, list) else value for name, value in head["settings"].items()}
    return kinds[head["estimator"]](**settings)


def _pool(pool: Pool | None) -> dict[str, Any] | None:
    """Return what JSON holds of a pool."""
    if pool is None:
        return None
    items = None if pool.items is None else {name: getattr(pool.items, name) for name in EFFECTS}
    return {name: getattr(pool, name) for name in POOL} | {"items": items}


def _worker_sized(pool: Pool | None, n_workers: int) -> dict[str, FloatArray | None]:
    """Return what a pool has for every worker; workers who came later are strangers."""
    if pool is None:
        return {"voice": None, "effects": None, "precision": None, "trust": None}
    whole = pool.of_workers(np.arange(n_workers))
    effects = None if whole.items is None else whole.items.p
    return {"voice": whole.voice, "effects": effects, "precision": whole.precision, "trust": whole.trust}


def _read_pool(head: dict[str, Any], workers: pa.Table, sigma: FloatArray | None) -> Pool | None:
    """Put a pool together again."""
    plain = head["pool"]
    if plain is None or sigma is None:
        return None
    square = sigma.shape[1:]
    values: dict[str, Any] = {name: np.array(plain[name], float)[()] for name in POOL}
    if values["stranger"].shape != square or values["offset"].shape != square[:1] or values["bias"].shape != square[:1]:
        raise ValueError("a pool of another size")
    items, effects = plain["items"], _array(workers["effects"], square)
    if items is not None:
        trust.check(effects is not None)
        assert effects is not None
        items = ItemMember(effects, np.array(items["log_prior"], float), *(float(items[name]) for name in EFFECTS[1:]))
    voice, precision, believed = (_array(workers[name], ()) for name in ("voice", "precision", "trust"))
    trust.check(voice is not None)
    assert voice is not None
    pool = Pool(tables=sigma, voice=voice, items=items, precision=precision, trust=believed, **values)
    trust.check_pool(pool)
    return pool


def _column(values: FloatArray | None, rows: int) -> pa.Array:
    """Return an array as a column, the cells of further dimensions as a list in each row; nulls for None."""
    if values is None:
        return pa.nulls(rows)
    flat = np.ascontiguousarray(values, np.float64)
    if flat.ndim == 1:
        return pa.array(flat)
    width = int(np.prod(flat.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), width)


def _array(column: pa.ChunkedArray, shape: tuple[int, ...]) -> FloatArray | None:
    if pa.types.is_null(column.type):
        return None
    whole = column.combine_chunks()
    trust.check(not whole.null_count)
    if not shape:
        trust.check(pa.types.is_floating(whole.type))
        return np.array(whole.to_numpy(zero_copy_only=False))
    width = whole.type.list_size
    trust.check(pa.types.is_floating(whole.type.value_type) and not whole.flatten().null_count)
    inner = shape if shape != (-1,) else (width,)
    return np.array(whole.flatten().to_numpy(zero_copy_only=False)).reshape(len(whole), *inner)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool | None) or (
        isinstance(value, tuple | list) and all(map(_is_plain, value))
    )  # fmt: skip


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not go into JSON")


def _canonical(head: dict[str, Any]) -> bytes:
    return json.dumps(head, sort_keys=True, ensure_ascii=False).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
