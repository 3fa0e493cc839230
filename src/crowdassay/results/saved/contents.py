"""What a model folder holds: arrays as columns of tables, and the default method's pool.

Everything is checked before it is used, as a checksum says only that nobody slipped. Each check raises ValueError;
`crowdassay.results.saved.folder.read_model` says it of the folder, in one sentence.
"""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.native import ANY_FRAME
from crowdassay.models.family import LARGEST_PENALTY
from crowdassay.planning.stop import DOUBTS
from crowdassay.solvers.assay.pool import ItemMember, Pool

# What JSON holds of a pool and of its member with item effects: names in the file, and those of the attributes.
POOL_SETTINGS = {name: name for name in ("stranger", "offset", "bias", "vote", "correlation", "many")}
POOL_SETTINGS |= {"quiet": "stranger_weight", "scale": "scale", "few": "few", "growth": "growth"}
NO_GROWTH = {"few": 1.0, "growth": 0.0}  # what models that older versions saved have
EFFECT_SETTINGS = {"log_prior": "log_prior", "precision": "precision", "gate": "item_effect_weight", "weight": "weight"}
LARGEST_CODE = 2**31 - 1
SUM_TOLERANCE = 1e-6  # how far from one the probabilities of an item may add up to
FRAME_KINDS = ("pyarrow", "pandas", "polars", ANY_FRAME)
HEAD_TEXTS = {"method", "doubt", "frame", "estimator", "version"}
HEAD_COUNTS = {"n_iter"}
HEAD_NUMBERS = {"settled", "seconds"}


def pool_settings(pool: Pool | None) -> dict[str, Any] | None:
    """Return what JSON holds of a pool."""
    if pool is None:
        return None
    items = None if pool.items is None else {name: getattr(pool.items, ours) for name, ours in EFFECT_SETTINGS.items()}
    return {name: getattr(pool, ours) for name, ours in POOL_SETTINGS.items()} | {"items": items}


def pool_columns(pool: Pool | None, n_workers: int) -> dict[str, FloatArray | None]:
    """Return what a pool has for every worker; workers who came later are strangers."""
    if pool is None:
        return {"voice": None, "effects": None, "precision": None, "trust": None}
    whole = pool.of_workers(np.arange(n_workers))
    effects = None if whole.items is None else whole.items.p
    return {"voice": whole.label_weight, "effects": effects, "precision": whole.precision, "trust": whole.trust}


def read_pool(head: dict[str, Any], workers: pa.Table, sigma: FloatArray | None) -> Pool | None:
    """Return the pool that a head and the columns of the workers hold."""
    if head["pool"] is None or sigma is None:
        return None
    plain = NO_GROWTH | head["pool"]
    square = sigma.shape[1:]
    values: dict[str, Any] = {ours: np.array(plain[name], float)[()] for name, ours in POOL_SETTINGS.items()}
    if values["stranger"].shape != square or values["offset"].shape != square[:1] or values["bias"].shape != square[:1]:
        raise ValueError("a pool of another size")
    items = plain["items"]
    if items is not None:
        effects = filled(workers["effects"], square)
        items = ItemMember(
            effects, np.array(items["log_prior"], float), *(float(items[name]) for name in ("precision", "gate", "weight"))
        )
    precision, believed = (to_array(workers[name], ()) for name in ("precision", "trust"))
    weight = filled(workers["voice"], ())
    pool = Pool(tables=sigma, label_weight=weight, items=items, precision=precision, trust=believed, **values)
    check_pool(pool)
    return pool


def checked_rows(checked: IntArray | None) -> list[list[int]] | None:
    """Return what JSON holds of known items that were checked: level, right and wrong of the levels that have any."""
    if checked is None:
        return None
    return [[int(level), *map(int, checked[level])] for level in np.flatnonzero(checked.any(axis=1))]


def read_checked(rows: Any) -> IntArray | None:
    """Return the counts of known items that were checked; None where a model has none, as older ones have."""
    if rows is None:
        return None
    check(isinstance(rows, list))
    checked = np.zeros((len(DOUBTS), 2), np.int64)
    for row in rows:
        check(isinstance(row, list) and len(row) == 3 and all(map(is_count, row)) and row[0] < len(DOUBTS))
        checked[row[0]] = row[1:]
    return checked


def to_column(values: FloatArray | None, rows: int) -> pa.Array:
    """Return an array as a column, the cells of further dimensions as a list in each row; nulls for None."""
    if values is None:
        return pa.nulls(rows)
    flat = np.ascontiguousarray(values, np.float64)
    if flat.ndim == 1:
        return pa.array(flat)
    width = int(np.prod(flat.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), width)


def to_array(column: pa.ChunkedArray, shape: tuple[int, ...]) -> FloatArray | None:
    """Return a column as an array whose rows have this shape, None where it holds nothing; -1 stands for whatever it has."""
    if pa.types.is_null(column.type):
        return None
    whole = column.combine_chunks()
    check(not whole.null_count)
    if not shape:
        check(pa.types.is_floating(whole.type))
        return np.array(whole.to_numpy(zero_copy_only=False))
    width = whole.type.list_size
    check(pa.types.is_floating(whole.type.value_type) and not whole.flatten().null_count)
    inner = shape if shape != (-1,) else (width,)
    return np.array(whole.flatten().to_numpy(zero_copy_only=False)).reshape(len(whole), *inner)


def filled(column: pa.ChunkedArray, shape: tuple[int, ...]) -> FloatArray:
    """Return a column that must hold something as an array, see `to_array`."""
    values = to_array(column, shape)
    if values is None:
        raise ValueError("a column without values")
    return values


def check(good: object) -> None:
    """Raise ValueError unless something holds."""
    if not good:
        raise ValueError("no model of ours")


def check_head(head: dict[str, Any]) -> None:
    """Check the kinds of what JSON holds."""
    check(all(isinstance(head[name], str) for name in HEAD_TEXTS) and head["frame"] in FRAME_KINDS)
    check(all(is_count(head[name]) for name in HEAD_COUNTS))
    check(all(is_number(head[name]) for name in HEAD_NUMBERS) and 0 <= head["settled"] <= 1 and head["seconds"] >= 0)
    check(head["spread"] is None or is_number(head["spread"]))
    # A fit may end where its objective overflows; a model of that is as good as the fit.
    check(head["objective"] is None or is_float(head["objective"]))
    check(isinstance(head["converged"], bool) and isinstance(head["history"], list) and all(map(is_float, head["history"])))
    check(isinstance(head["parameters"], dict) and isinstance(head["selection"], dict | None))
    check(is_count(head["parameters"].get("labels_since_fit", 0)))
    check(is_texts(head["notes"]))
    report = head["report"]
    check(is_texts(report["notes"]) and isinstance(report["question"], str | None))
    check(all(isinstance(report[name], str) for name in ("source", "repeats_policy", "format", "order")))
    check(all(is_count(report[name]) for name in ("rows_read", "rows_kept", "repeats", "conflicts", "gold")))
    check(
        all(isinstance(value, str) for value in report["columns"].values()) and all(map(is_count, report["dropped"].values()))
    )


def read_codes(column: pa.ChunkedArray, least: int = 0) -> np.ndarray:
    """Return whole numbers, none missing, none that would wrap where they are made smaller."""
    check(pa.types.is_integer(column.type) and not column.null_count)
    codes = column.to_numpy()
    check(not len(codes) or (codes.min() >= least and codes.max() <= LARGEST_CODE))
    return np.asarray(codes.astype(np.int64))


def read_names(column: pa.ChunkedArray) -> pa.Array:
    """Return the names of items, workers or classes: none missing, none twice."""
    check(not column.null_count and not pa.types.is_nested(column.type) and not pa.types.is_null(column.type))
    if pa.types.is_floating(column.type):
        check(np.isfinite(column.to_numpy()).all())
    check(len(column.unique()) == len(column) > 0)
    return column.combine_chunks()


def check_result(
    *, posterior: FloatArray, confusion: FloatArray, accuracy: FloatArray, sigma: FloatArray | None,
    log_prior: FloatArray | None, known: FloatArray | None, phi: FloatArray | None, difficulty: FloatArray | None,
) -> None:  # fmt: skip
    """Check the arrays of a result: probabilities are between 0 and 1 and add up, logarithms are numbers or minus infinity."""
    for shares in (posterior, confusion):
        check(is_share(shares) and adds_up(shares))
    check(is_share(accuracy[~np.isnan(accuracy)]))  # a worker without labels has none
    for values in (sigma, log_prior):
        # Logarithms of probabilities that add up to one, some of them perhaps of nothing.
        check(values is None or is_finite(values) or (np.all(values <= SUM_TOLERANCE) and adds_up(np.exp(values))))
    check(known is None or (np.isfinite(known).all() and np.all(known[:, 1] <= known[:, 0]) and np.all(known >= 0)))
    check(phi is None or np.isfinite(phi).all())
    check(difficulty is None or is_share(difficulty))


def check_pool(pool: Pool) -> None:
    """Check the numbers of a pool of models."""
    size = pool.stranger.shape[:1]
    check(pool.offset.shape == pool.bias.shape == size)
    check(all(map(is_finite, (pool.tables, pool.stranger, pool.offset, pool.bias))) and is_share(pool.label_weight))
    for value in (pool.vote, pool.correlation, pool.many, pool.stranger_weight, pool.scale, pool.growth):
        check(np.ndim(value) == 0 and 0 <= value <= LARGEST_PENALTY)
    check(np.ndim(pool.few) == 0 and 0 < pool.few <= LARGEST_PENALTY)
    check(pool.trust is None or not np.isinf(pool.trust).any())
    check(pool.precision is None or (np.isfinite(pool.precision).all() and np.all(pool.precision >= 0)))
    if pool.items is not None:
        check(pool.items.log_prior.shape == size and not np.isnan(pool.items.log_prior).any())
        check(is_share(pool.items.p) and is_share(np.array(pool.items.item_effect_weight)))
        check(math.isfinite(pool.items.precision) and pool.items.precision > 0 and math.isfinite(pool.items.weight))


def is_finite(values: FloatArray) -> bool:
    """Return whether all values are numbers that can be counted with."""
    return bool(np.all(np.abs(values) <= LARGEST_PENALTY))


def adds_up(shares: FloatArray) -> bool:
    """Return whether the values of every row add up to one, up to rounding."""
    return bool(np.all(np.abs(shares.sum(axis=-1) - 1) <= SUM_TOLERANCE))


def is_share(values: FloatArray) -> bool:
    """Return whether all values are from 0 to 1, up to rounding."""
    return bool(np.all((values >= -SUM_TOLERANCE) & (values <= 1 + SUM_TOLERANCE)))


def is_number(value: object) -> bool:
    """Return whether a value is a finite number, which True is not."""
    return is_float(value) and math.isfinite(value)


def is_float(value: object) -> TypeGuard[float]:
    """Return whether a value is a number, finite or not, which True is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    """Return whether a value is a whole number that can count something."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def is_texts(value: object) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
