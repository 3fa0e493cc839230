"""A fitted study as a folder, as models of labels are: JSON for settings, Parquet for the data and the estimates. No pickle."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import pyarrow as pa

from crowdassay.labels.folder import output_path
from crowdassay.results.saved.folder import STUDY_PARTS, HasSettings, assembling, read_part, rebuild, write_model

DTYPES = {"float": np.float64, "FloatArray": np.float64, "IntArray": np.int64, "BoolArray": np.bool_}
NAME_KINDS = ("pa.Array", "[pa.Array, ...]")  # annotations of names, and of several lists of names
PLAIN_KINDS = {"int": int, "bool": bool, "str": str, "None": type(None)}


class SavableStudy(HasSettings, Protocol):
    """A model of a study: what it was fitted to and what the fit found are two dataclasses of arrays."""

    saved_as: ClassVar[tuple[type, type]]
    """The dataclasses of the data and of the fit."""

    def _saved(self) -> tuple[Any, Any]:
        """Return the data and the fit."""
        ...

    def _restore(self, data: Any, fit: Any) -> Self:
        """Take over the data and the fit; ValueError where they do not belong together."""
        ...


def save_study(model: SavableStudy, folder: str | Path) -> None:
    """Write a fitted study to a folder, which is either the old one or the new one, never half of it."""
    target = output_path(folder)
    packed = [pack(record) for record in model._saved()]
    tables = {name: table for name, (_, table) in zip(STUDY_PARTS, packed, strict=True)}
    write_model(target, model, {"records": [plain for plain, _ in packed]}, tables)


def read_study(folder: Path, head: dict[str, Any], kind: type[Any]) -> Any:
    """Read a fitted study of a kind from a folder that `save_study` wrote, whose head was read; anything else is refused."""
    with assembling(folder):
        parts = [read_part(folder, name, head["files"]) for name in STUDY_PARTS]
        model = rebuild(head, {kind.__name__: kind}, folder)
        data, fit = (unpack(*one) for one in zip(kind.saved_as, head["records"], parts, strict=True))
        data.check()
        model._restore(data, fit)
        model._repr_html_()  # what the model needs and does not find shows now and not later
        return model


def pack(record: Any) -> tuple[dict[str, Any], pa.Table]:
    """Return the plain values of a dataclass, and a table of one row with its arrays; `unpack` puts them together again."""
    plain: dict[str, Any] = {}
    columns: dict[str, pa.Array] = {}
    for field in dataclasses.fields(record):
        name, value = field.name, getattr(record, field.name)
        if isinstance(value, float | np.ndarray):  # a float, too: JSON has no infinity
            plain[name] = {"shape": None if isinstance(value, float) else list(value.shape)}
            columns[name] = _row(pa.array(np.ravel(value)))
        elif isinstance(value, pa.Array):
            plain[name] = {"names": None}
            columns[name] = _row(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], pa.Array):
            plain[name] = {"names": len(value)}
            columns |= {f"{name} {n}": _row(names) for n, names in enumerate(value)}
        else:
            plain[name] = {"value": value}
    return plain, pa.table(columns)


def unpack(kind: type[Any], plain: dict[str, Any], table: pa.Table) -> Any:
    """Return the dataclass that `pack` took apart; ValueError, KeyError or TypeError where this is none."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        how, name, kinds = plain[field.name], field.name, str(field.type).split(" | ")
        if "shape" in how:
            array = _values(table[name]).to_numpy(zero_copy_only=False).copy()
            if array.dtype != DTYPES.get(kinds[0]) or (how["shape"] is None) != (kinds[0] == "float"):
                raise TypeError("numbers of another kind")
            values[name] = float(array[0]) if how["shape"] is None else array.reshape(how["shape"])
        elif "names" in how:
            several = (_values(table[f"{name} {n}"]) for n in range(how["names"] or 0))
            values[name] = _values(table[name]) if how["names"] is None else tuple(several)
            if not kinds[0].endswith(NAME_KINDS[how["names"] is not None]):
                raise TypeError("names where there are none")
        else:
            value = tuple(how["value"]) if isinstance(how["value"], list) else how["value"]
            if not any(_is(value, one) for one in kinds):
                raise TypeError("a value of another kind")
            values[name] = value
    return kind(**values)


def _values(column: pa.ChunkedArray) -> pa.Array:
    """Return the values that a column of one row holds."""
    values = column.combine_chunks().values
    if len(column) != 1 or values.null_count:
        raise ValueError("values that are not there")
    return values


def _is(value: object, kind: str) -> bool:
    """Return whether a plain value is what the annotation of its field says."""
    if kind.startswith("dict[str, "):
        numbers = int if kind.endswith("int]") else int | float if kind.endswith("float]") else str
        return isinstance(value, dict) and all(isinstance(one, numbers) for one in value.values())
    if kind.startswith("tuple[str"):
        return isinstance(value, tuple) and all(isinstance(one, str) for one in value)
    return kind in PLAIN_KINDS and type(value) is PLAIN_KINDS[kind]


def check_shapes(record: object, **shapes: tuple[int, ...]) -> None:
    """Raise ValueError unless the arrays of a record have these shapes.

    >>> check_shapes(type("Point", (), {"place": np.zeros(3)}), place=(3,))
    """
    for name, shape in shapes.items():
        if getattr(record, name).shape != shape:
            raise ValueError(f"{name} of another shape")


def check_texts(*names: pa.Array) -> None:
    """Raise ValueError unless all names are texts."""
    if not all(pa.types.is_string(one.type) for one in names):
        raise ValueError("names that are no texts")


def check_codes(codes: np.ndarray, size: int, length: int, *, least: int = 0) -> None:
    """Raise ValueError unless these are ``length`` whole numbers from ``least`` to below ``size``."""
    whole = codes.dtype == np.int64 and codes.shape == (length,)
    if not whole or (length and not least <= codes.min() <= codes.max() < size):
        raise ValueError("codes that name nothing")


def _row(values: pa.Array) -> pa.Array:
    """Return a column of one row that holds all the values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
