"""A fitted model as a folder: JSON for settings, Parquet for everything of the size of workers, items or labels. No pickle."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdassay.errors import CrowdassayError, DataError, FileError, ParameterError
from crowdassay.labels.folder import MODEL_HEAD, output_path, replacing_folder
from crowdassay.labels.join import take_items
from crowdassay.labels.labels import Labels
from crowdassay.labels.raw import refuse_odd_path
from crowdassay.labels.record import DECISIONS, LIKELIEST, class_values, decide_classes
from crowdassay.labels.report import MAX_CLASSES, ImportReport
from crowdassay.labels.values import shown, shown_file
from crowdassay.labels.write import write_json
from crowdassay.notes import NoteKind, kind_of
from crowdassay.results.parameters import check_types
from crowdassay.results.result import Result
from crowdassay.results.saved.contents import (
    check,
    check_head,
    check_result,
    checked_rows,
    filled,
    is_share,
    pool_columns,
    pool_settings,
    read_checked,
    read_codes,
    read_names,
    read_pool,
    to_array,
    to_column,
)
from crowdassay.results.saved.pseudonyms import saved_notes

FORMAT, FORMAT_VERSION = "crowdassay-model", 1
MODEL_PARTS = ("classes.parquet", "workers.parquet", "items.parquet", "labels.parquet")
STUDY_PARTS = ("data.parquet", "fit.parquet")
RESULT_SETTINGS = (  # what JSON holds of a result
    "settled", "spread", "objective", "history", "n_iter", "converged", "seconds", "notes", "selection",
)  # fmt: skip
UNREADABLE = (  # what goes wrong with the parts of a model that another hand has made
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, OSError, RecursionError,
    pa.ArrowException,
)  # fmt: skip
SPELT = "float"  # the key under which a number stands that JSON does not know
PICKLE_STARTS = (b"\x80", b"(", b"c")  # how pickles begin


class HasSettings(Protocol):
    """A model that knows its settings by name."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


def save_model(estimator: Any, folder: str | Path) -> None:
    """Write a fitted estimator to a folder, which is either the old one or the new one, never half of it."""
    target, result = output_path(folder), estimator._fitted()
    check_savable(estimator)
    labels, pool = result.labels, vars(estimator).get("pool_")
    head = {
        "method": result.method,
        "parameters": result.parameters,
        "frame": labels.frame,
        "report": labels.report.as_dict(),
        "pool": pool_settings(pool),
        "doubt": result.gold_warning,
        "decide": result.decide,
        "checked": checked_rows(result.checked),
        **{name: getattr(result, name) for name in RESULT_SETTINGS},
    }
    if result.fallback is not None:
        head["fallback"] = named_settings(result.fallback)
    if kinds := {str(note): str(kind_of(note)) for note in labels.report.notes if kind_of(note) is not NoteKind.PLAIN}:
        head["note_kinds"] = kinds
    tables = {
        "classes.parquet": {"class": labels.classes, "log_prior": to_column(result.log_prior, labels.n_classes)},
        "workers.parquet": {
            "worker": labels.workers,
            "accuracy": pa.array(result.accuracy),
            "confusion": to_column(result.confusion, labels.n_workers),
            "sigma": to_column(result.sigma, labels.n_workers),
            "known": to_column(result.known, labels.n_workers),
            **{name: to_column(values, labels.n_workers) for name, values in pool_columns(pool, labels.n_workers).items()},
        },
        "items.parquet": {
            "item": labels.items,
            "n_labels": pa.array(np.diff(labels.starts)),
            "gold": pa.array(labels.gold),
            "posterior": to_column(result.posterior, labels.n_items),
            "phi": to_column(result.phi, labels.n_items),
            "difficulty": to_column(result.difficulty, labels.n_items),
        },
        "labels.parquet": {"worker": pa.array(labels.worker), "label": pa.array(labels.label)},
    }
    write_model(target, estimator, head, {name: pa.table(columns) for name, columns in tables.items()})


def write_model(folder: Path, model: HasSettings, head: dict[str, Any], tables: Mapping[str, pa.Table]) -> None:
    """Write the parts of a model, and a head with its settings and their digests; the old folder is replaced as a whole."""
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": version("crowdassay"),
        **named_settings(model),
        **head,
    }
    with replacing_folder(folder, {MODEL_HEAD, *MODEL_PARTS, *STUDY_PARTS}, MODEL_HEAD) as fresh:
        for name, table in tables.items():
            with (fresh / name).open("xb") as stream:
                pq.write_table(table, stream, compression="zstd")
        head["files"] = {name: _digest((fresh / name).read_bytes()) for name in tables}
        head = spell_out(head)
        write_json({**head, "checksum": _digest(_canonical(head))}, fresh / MODEL_HEAD)


def named_settings(model: HasSettings) -> dict[str, Any]:
    """Return by which name and settings `rebuild` makes a model again."""
    return {"estimator": type(model).__name__, "settings": model.get_params()}


def read_model(folder: str | Path, kinds: Mapping[str, type]) -> Any:
    """Read a fitted estimator, one of ``kinds`` by name, from a folder that `save_model` wrote: see `crowdassay.load`."""
    refuse_odd_path(folder)
    folder = Path(folder)
    head = read_head(folder)
    with assembling(folder):
        return _assemble(head, kinds, [read_part(folder, name, head["files"]) for name in MODEL_PARTS], folder)


@contextmanager
def assembling(folder: Path) -> Iterator[None]:
    """Turn errors of a model whose settings make no sense, or whose parts do not fit together, into one sentence."""
    try:
        yield
    except ParameterError as error:
        raise DataError(f"The settings of the model in {shown_file(folder)} make no sense: {error.message}") from None
    except CrowdassayError:
        raise
    except UNREADABLE:
        # The sums are right, so it was written like this, by another hand.
        raise DataError(f"The parts of the model in {shown_file(folder)} do not fit together; save the model again.") from None


def _assemble(head: dict[str, Any], kinds: Mapping[str, type], tables: list[pa.Table], folder: Path) -> Any:
    check_head(head)
    estimator, instead = rebuild(head, kinds, folder), head.get("fallback")
    fallback = None if instead is None else rebuild(instead, kinds, folder)
    classes, workers, items, codes = tables
    report = {**head["report"], "notes": saved_notes(head["report"]["notes"], head.get("note_kinds", {}))}
    starts = np.zeros(len(items) + 1, np.int64)
    np.cumsum(read_codes(items["n_labels"]), out=starts[1:])
    what, known = read_codes(codes["label"]), read_codes(items["gold"], least=-1)
    check(what.size and what.max() < len(classes) <= MAX_CLASSES)  # before smaller numbers could wrap
    try:
        labels = Labels(
            starts,
            read_codes(codes["worker"]).astype(np.int32),
            what.astype(np.int16),
            read_names(items["item"]),
            read_names(workers["worker"]),
            read_names(classes["class"]),
            known.astype(np.int32),
            ImportReport(**report),
            head["frame"],
        )
    except DataError as error:  # says what is wrong with the codes; the caller says where
        raise ValueError(str(error)) from error
    # What `Labels` takes from those who know what they do.
    check(labels.n_labels > 0 and len(set(labels.class_names)) == labels.n_classes)
    check(labels.report.rows_kept <= labels.report.rows_read)
    square = (labels.n_classes, labels.n_classes)
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value := head[name], list) else value for name in RESULT_SETTINGS}
    plain |= {"gold_warning": head["doubt"], "checked": read_checked(head.get("checked"))}
    arrays: dict[str, Any] = {
        "posterior": filled(items["posterior"], (labels.n_classes,)),
        "confusion": filled(workers["confusion"], square),
        "accuracy": filled(workers["accuracy"], ()),
        "log_prior": to_array(classes["log_prior"], ()),
        "sigma": to_array(workers["sigma"], square),
        "known": to_array(workers["known"], (2,)),
        "phi": to_array(items["phi"], (-1,)),
        "difficulty": to_array(items["difficulty"], ()),
    }
    check_result(**arrays)
    decide = head.get("decide", LIKELIEST)
    check(decide in DECISIONS)
    pool = read_pool(head, workers, arrays["sigma"])
    if pool is not None:
        estimator.__dict__["pool_"] = pool
    estimator.result_ = Result(
        labels,
        head["method"],
        {**head["parameters"]},
        winners=decide_classes(arrays["posterior"], decide, class_values(labels)),
        expand=(fallback or estimator)._expander(labels),
        fallback=fallback,
        decide=decide,
        **arrays,
        **plain,
    )
    _try(estimator)
    return estimator


def _try(estimator: Any) -> None:
    """Judge one item: what a method needs and does not find, such as a table or a parameter, shows now and not later."""
    posterior = estimator.solve_items(take_items(estimator.result_.labels, np.array([0])))[0]
    check(is_share(posterior))
    if estimator.result_.sigma is not None:
        check(not np.isnan(estimator._used()._stranger()).any())


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


def read_head(folder: Path) -> dict[str, Any]:
    """Return the head of a model, its checksum verified; anything else is refused."""
    path = folder / MODEL_HEAD
    if folder.is_file() and folder.read_bytes()[:1] in PICKLE_STARTS:
        raise DataError(f"{shown_file(folder)} looks like a pickle, which is never loaded; a model is a folder.")
    if not path.is_file():
        raise FileError(f"There is no model in {shown_file(folder)}: it has no {MODEL_HEAD}.")
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
    if not isinstance(head.get("estimator"), str):  # signed, and made by another hand
        raise DataError(f"The parts of the model in {shown_file(folder)} do not fit together; save the model again.")
    with assembling(folder):
        return cast(dict[str, Any], read_out(head))


def read_part(folder: Path, name: str, digests: dict[str, str]) -> pa.Table:
    """Return a part of a model, its digest verified."""
    path = folder / name
    if not path.is_file():
        raise DataError(f"The model in {shown_file(folder)} is incomplete: {name} is missing.")
    data = path.read_bytes()
    if _digest(data) != digests.get(name):
        raise DataError(f"{shown_file(path)} is damaged or has been changed since it was written; save the model again.")
    return pq.read_table(pa.BufferReader(data))


def rebuild(head: dict[str, Any], kinds: Mapping[str, type], folder: Path) -> Any:
    """Return the model with its settings, which are checked; it is not fitted."""
    if head["estimator"] not in kinds:
        raise DataError(f"The model in {shown_file(folder)} is a {shown(head['estimator'])}, which this version does not know.")
    settings = {name: tuple(value) if isinstance(value, list) else value for name, value in head["settings"].items()}
    model = kinds[head["estimator"]](**settings)
    check_types(model)
    return model


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | None) or (
        isinstance(value, tuple | list) and all(map(_is_plain, value))
    )  # fmt: skip


def spell_out(value: Any) -> Any:
    """Return plain values as JSON has them, in which numbers that JSON does not know are spelt; `read_out` reads them.

    The checksum is made of what is written, so that nothing may be lost on the way.

    >>> spell_out({"objective": float("-inf"), "history": (1.0, np.float64("nan"))})
    {'objective': {'float': '-inf'}, 'history': [1.0, {'float': 'nan'}]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()  # NumPy arrays and scalars
    if isinstance(value, dict):
        return {str(key): spell_out(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [spell_out(entry) for entry in value]
    return {SPELT: str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def read_out(value: Any) -> Any:
    """Return what `spell_out` was given, tuples as lists; ValueError where a number is spelt in another way.

    >>> read_out({"objective": {"float": "-inf"}, "history": [1.0, {"float": "nan"}]})
    {'objective': -inf, 'history': [1.0, nan]}
    """
    if isinstance(value, list):
        return [read_out(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return float(value[SPELT]) if value.keys() == {SPELT} else {key: read_out(entry) for key, entry in value.items()}


def _canonical(head: dict[str, Any]) -> bytes:
    return json.dumps(head, sort_keys=True, ensure_ascii=False).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
