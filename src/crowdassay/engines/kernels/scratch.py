"""Small arrays on the stack of a compiled function.

The compiler sees that nothing else writes to them, and keeps their numbers in registers where it can. In arrays of the heap
every number is written and read again, since another array might be the same one.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload


def row_of(classes: Any) -> Any:
    """Return an array, not filled, of a number for each class.

    On the stack if ``classes`` is a tuple, whose length the compiler knows; see `crowdassay.engines.memory.engine`.

    >>> row_of((0, 1, 2)).shape
    (3,)
    """
    return np.empty(len(classes))


def table_of(classes: Any) -> Any:
    """Return an array, not filled, of a number for each pair of classes.

    >>> table_of((0, 1, 2)).shape
    (3, 3)
    """
    return np.empty((len(classes), len(classes)))


@intrinsic
def _room(_, classes):
    """Take room for a table from the stack of the function that this is written into."""

    def generate(context, builder, _signature, _arguments):
        return cgutils.alloca_once(builder, context.get_value_type(types.float64), size=classes.count**2)

    return types.CPointer(types.float64)(classes), generate


# Both must be written into their caller, lest the room be given back when they return.


@overload(row_of, inline="always")
def _row_of(classes):
    if isinstance(classes, types.UniTuple):
        return lambda classes: nb.carray(_room(classes), (len(classes),))
    return lambda classes: np.empty(len(classes))


@overload(table_of, inline="always")
def _table_of(classes):
    if isinstance(classes, types.UniTuple):
        return lambda classes: nb.carray(_room(classes), (len(classes), len(classes)))
    return lambda classes: np.empty((len(classes), len(classes)))
