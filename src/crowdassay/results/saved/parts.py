"""The parts of a saved model: arrays as columns of a table, and the default method's pool."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.results.saved import trust
from crowdassay.solvers.assay.pool import ItemMember, Pool

# What JSON holds of a pool and of its member with item effects: names in the file, and those of the attributes.
POOL = {name: name for name in ("stranger", "offset", "bias", "vote", "correlation", "many")}
POOL |= {"quiet": "stranger_weight", "scale": "scale"}
EFFECTS = {"log_prior": "log_prior", "precision": "precision", "gate": "item_effect_weight", "weight": "weight"}


def pool_settings(pool: Pool | None) -> dict[str, Any] | None:
    """Return what JSON holds of a pool."""
    if pool is None:
        return None
    items = None if pool.items is None else {name: getattr(pool.items, ours) for name, ours in EFFECTS.items()}
    return {name: getattr(pool, ours) for name, ours in POOL.items()} | {"items": items}


def pool_columns(pool: Pool | None, n_workers: int) -> dict[str, FloatArray | None]:
    """Return what a pool has for every worker; workers who came later are strangers."""
    if pool is None:
        return {"voice": None, "effects": None, "precision": None, "trust": None}
    whole = pool.of_workers(np.arange(n_workers))
    effects = None if whole.items is None else whole.items.p
    return {"voice": whole.label_weight, "effects": effects, "precision": whole.precision, "trust": whole.trust}


def read_pool(head: dict[str, Any], workers: pa.Table, sigma: FloatArray | None) -> Pool | None:
    """Put a pool together again."""
    plain = head["pool"]
    if plain is None or sigma is None:
        return None
    square = sigma.shape[1:]
    values: dict[str, Any] = {ours: np.array(plain[name], float)[()] for name, ours in POOL.items()}
    if values["stranger"].shape != square or values["offset"].shape != square[:1] or values["bias"].shape != square[:1]:
        raise ValueError("a pool of another size")
    items, effects = plain["items"], to_array(workers["effects"], square)
    if items is not None:
        trust.check(effects is not None)
        assert effects is not None
        items = ItemMember(
            effects, np.array(items["log_prior"], float), *(float(items[name]) for name in ("precision", "gate", "weight"))
        )
    label_weight, precision, believed = (to_array(workers[name], ()) for name in ("voice", "precision", "trust"))
    trust.check(label_weight is not None)
    assert label_weight is not None
    pool = Pool(tables=sigma, label_weight=label_weight, items=items, precision=precision, trust=believed, **values)
    trust.check_pool(pool)
    return pool


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
    trust.check(not whole.null_count)
    if not shape:
        trust.check(pa.types.is_floating(whole.type))
        return np.array(whole.to_numpy(zero_copy_only=False))
    width = whole.type.list_size
    trust.check(pa.types.is_floating(whole.type.value_type) and not whole.flatten().null_count)
    inner = shape if shape != (-1,) else (width,)
    return np.array(whole.flatten().to_numpy(zero_copy_only=False)).reshape(len(whole), *inner)
