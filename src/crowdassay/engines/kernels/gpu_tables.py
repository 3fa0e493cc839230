"""Tables as the kernels for a GPU want them, and sums as they leave them; NumPy's arrays or CuPy's alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.models.structures import Basis

Array = Any  # of NumPy or CuPy

CLAMP = 40.0  # the largest log odds: the product of two odds stays a float


def row_length(n_values: int) -> int:
    """Return the floats of a row that holds so many values: what vector loads can read.

    >>> row_length(1), row_length(2), row_length(6)
    (1, 2, 8)
    """
    return n_values if n_values <= 2 else 4 * ((n_values + 3) // 4)


def log_odds(tables: Array) -> Array:
    """Return log odds (n, n_classes, n_classes - 1) over the last axis of tables against the first entry."""
    return tables[:, :, 1:] - tables[:, :, :1]


def rows_of(xp: Any, entries: Array, n_values: int) -> Array:
    """Write entries (n_workers, ...) in rows of so many values, each row as long as vector loads want: (n_workers, length)."""
    values = entries.reshape(-1, n_values)
    rows = xp.zeros((len(values), row_length(n_values)), np.float32)
    rows[:, :n_values] = values
    return rows.reshape(len(entries), -1)


def contrasts(basis: Basis) -> tuple[bool, np.ndarray]:
    """Return whether the structure is free, and the log odds (n_classes, n_classes - 1, size) of each coordinate.

    Free is the nominal structure: any table of log odds, at the cost of its length. Its kernels need no contrasts.
    """
    n_classes = basis.n_classes
    against_first = basis.columns[:, 1:] - basis.columns[:, :1]
    shape = np.zeros((n_classes, n_classes - 1, basis.size), np.float32)
    for c in range(n_classes):
        start, own = basis.offsets[c], basis.widths[c]
        shape[c, :, start : start + own] = against_first[c, :, :own]
    return basis.free, shape


def unpack(xp: Any, sums: Array) -> Array:
    """Take packed sums (n,) apart into two integers each, (n, 2)."""
    low = sums.view(np.int32)[0::2].astype(np.int64)  # the lower half, with its sign
    return xp.stack([low, (sums - low) >> 32], axis=-1)
