"""Which items an expert should answer so that they stand for all: a random sample that can grow and needs no memory.

Every item has a place in one order, that of a keyed hash of its id, which has nothing to do with what the item is or how
workers answered it. The first n items of the order are a uniform sample of n; the first n + 25 keep these n; and an item that
comes later takes the place that its id gives it, so that the first n are a uniform sample of all items again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import as_text

KNOWN_ITEMS = 50  # of known class, from which on they are worth several points of error: docs/accuracy.md
KEY = b"crowdassay: items for an expert"  # never changed: sheets that are out would no longer be the first of the order


def draw_keys(items: Iterable[str], key: bytes = KEY) -> NDArray[np.uint64]:
    """Return the place of each item in the order in which experts are asked, as a number between 0 and 2^64.

    Parameters
    ----------
    items : iterable of str, of n_items
        Ids as text, as files have them.
    key : bytes
        Another key makes another draw; the product has one.

    >>> draw_keys(["a", "b"]).tolist() == draw_keys(["b", "a"]).tolist()[::-1]
    True
    """
    digests = b"".join(hashlib.blake2b(item.encode(), digest_size=8, key=key).digest() for item in items)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def draw_items(items: Iterable[str], n: int | None = None, *, key: bytes = KEY) -> IntArray:
    """Return the places among ``items`` of the first n that an expert should answer, in the order to ask for them: (n,).

    A queue asks for the first of all items that has no answer yet; a sheet holds the first 50. Both draw the same sample,
    whatever the order in which items came.

    Parameters
    ----------
    items : iterable of str, of n_items
        Ids as text, without those whose class is known from elsewhere.
    n : int, optional
        All of them by default, or where there are fewer.
    key : bytes
        As for `draw_keys`.

    >>> items = [f"item-{number}" for number in range(1000)]
    >>> few, more = draw_items(items, 50), draw_items(items, 75)
    >>> bool((few == more[:50]).all())
    True
    """
    if n is not None and n < 1:
        raise ParameterError(f"An expert must be asked about one item or more, not {n}.")
    return np.argsort(draw_keys(items, key), kind="stable")[:n].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The first items of a block, or of several, in the order in which experts are asked.

    Attributes
    ----------
    items : pa.Array of text, shape (n,)
    texts : pa.Array or None
        What the items are, where the labels say it.
    keys : ndarray of uint64, shape (n,)
    most : int
        As many are kept,
    upto : int
        and all up to this key, so that a sample to which items have come holds the answers that it had.
    """

    items: pa.Array
    texts: pa.Array | None
    keys: NDArray[np.uint64]
    most: int
    upto: int = 0

    @classmethod
    def of(cls, labels: Labels, most: int, answered: Collection[str] = ()) -> Drawn:
        """Draw from the items of some labels whose class is not known, or was ``answered`` because they had been drawn."""
        names = as_text(labels.items)
        there = (labels.gold < 0) | np.asarray(pc.is_in(names, value_set=pa.array(list(answered), pa.string())))
        rows = pa.array(np.flatnonzero(there))
        upto = int(draw_keys(answered).max()) if answered else 0
        names, texts = names.take(rows), None if labels.item_text is None else labels.item_text.take(rows)
        return cls(names, texts, draw_keys(names.to_pylist()), most, upto)._first()

    def join(self, other: Drawn) -> Drawn:
        """Draw from the items of both."""
        texts = None if self.texts is None or other.texts is None else pa.concat_arrays([self.texts, other.texts])
        items, keys = pa.concat_arrays([self.items, other.items]), np.concatenate([self.keys, other.keys])
        return Drawn(items, texts, keys, self.most, self.upto)._first()

    def _first(self) -> Drawn:
        size = max(self.most, int((self.keys <= np.uint64(self.upto)).sum()))
        chosen = np.argsort(self.keys, kind="stable")[:size]
        rows = pa.array(chosen)
        texts = None if self.texts is None else self.texts.take(rows)
        return replace(self, items=self.items.take(rows), texts=texts, keys=self.keys[chosen])
