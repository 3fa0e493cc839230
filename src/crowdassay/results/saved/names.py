"""Vocabularies of a model and of what is added to it, put together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.labels.values import as_text


def join_names(old: pa.Array, new: pa.Array) -> tuple[pa.Array, IntArray]:
    """Append what is new to a vocabulary; return it and the code in it of every value of ``new``. Ids compare as text."""
    texts = as_text(new)
    place = pc.index_in(as_text(old), value_set=texts)  # the small one is hashed, the large one passes by
    known = np.flatnonzero(np.asarray(place.is_valid()))
    codes = np.full(len(new), -1, np.int64)
    codes[np.asarray(place.drop_null())] = known
    fresh = np.flatnonzero(codes < 0)
    codes[fresh] = len(old) + np.arange(len(fresh))
    added = texts.take(pa.array(fresh))
    try:
        return pa.concat_arrays([old, added.cast(old.type)]), codes
    except pa.ArrowException:  # numbers so far, and now an id that is none
        return pa.concat_arrays([as_text(old), added]), codes
