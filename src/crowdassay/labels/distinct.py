"""Number the different texts, or whole numbers, of a long column, on all cores.

Rows are cut into slices. Where few texts differ, each slice numbers its own in a table that stays in the processor's cache.
Millions of different texts would not, and every row would wait for memory; so rows are first dealt into parts by a quick hash,
and the table of one part does fit.
"""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.labels.text_keys import deal_rows, find_firsts, number_rows, part_rows
from crowdassay.threads import available_cores, work_on_each

ROWS_A_THREAD = 1 << 17  # rows handed to a thread at a time
TEXTS_SAMPLED = 1 << 14
FEW_TEXTS = 1 << 14  # different texts up to which a slice keeps a table of its own
LONG_TEXT = 64  # bytes, on average, from which pyarrow tells few different texts apart more quickly than our hashes
HASH_PARTS, PARTS_AT_ONCE = 256, 16  # rows are dealt into parts, some of which are handed to a thread at a time
U = np.uint64

Text = tuple[NDArray[np.int64], NDArray[np.uint64]]


def number_texts(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the code of every text and the different texts in order of appearance; a null counts as the empty text.

    Whole numbers do as well, without nulls.

    >>> codes, texts = number_texts(pa.chunked_array([["b", "a"], ["b", None]]))
    >>> codes.tolist(), texts.to_pylist()
    ([0, 1, 0, 2], ['b', 'a', ''])
    """
    if column.null_count:
        column = column.fill_null("")
    slices = [chunk.slice(first, ROWS_A_THREAD) for chunk in column.chunks for first in range(0, len(chunk), ROWS_A_THREAD)]
    spans = [slice(int(first), int(last)) for first, last in pairwise(np.cumsum([0, *map(len, slices)]))]
    key = np.array([secrets.randbits(64), secrets.randbits(64)], U)
    with ThreadPoolExecutor(available_cores()) as pool:
        if pc.count_distinct(column.slice(0, TEXTS_SAMPLED)).as_py() <= FEW_TEXTS // 2 and (
            numbered := _few(pool, slices, spans, key)
        ):
            return numbered
        return _many(pool, column, slices, spans, key)


def _few(
    pool: ThreadPoolExecutor, slices: list[pa.Array], spans: list[slice], key: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], pa.Array] | None:
    """Number each slice by itself, then all their different texts together; None if a slice holds too many."""
    codes = np.empty(spans[-1].stop, np.int32)
    if _is_long(slices[0]):
        encoded = list(pool.map(pa.Array.dictionary_encode, slices))
        own, sizes = [part.dictionary for part in encoded], [len(part.dictionary) for part in encoded]
        for span, part in zip(spans, encoded, strict=True):
            codes[span] = part.indices
    else:
        firsts = np.empty((len(slices), FEW_TEXTS), np.int32)
        sizes = list(pool.map(lambda k: number_rows(*_text(slices[k]), key, codes[spans[k]], firsts[k]), range(len(slices))))
        if min(sizes) < 0:
            return None
        own = [part.take(pa.array(first[:size])) for part, first, size in zip(slices, firsts, sizes, strict=True)]
    together = pa.concat_arrays(own).dictionary_encode()
    edges = np.cumsum([0, *sizes])
    renamed = together.indices.to_numpy()

    def rename(k: int) -> None:
        part = codes[spans[k]]
        np.take(renamed[edges[k] : edges[k + 1]], part, out=part, mode="clip")

    work_on_each(pool, rename, range(len(slices)))
    return codes, together.dictionary


def _is_long(part: pa.Array) -> bool:
    """Return whether the texts at the beginning of a column are long."""
    if pa.types.is_integer(part.type):
        return False
    return (pc.mean(pc.binary_length(part.slice(0, TEXTS_SAMPLED))).as_py() or 0) >= LONG_TEXT


def _many(
    pool: ThreadPoolExecutor, column: pa.ChunkedArray, slices: list[pa.Array], spans: list[slice], key: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], pa.Array]:
    firsts = _first_rows(pool, slices, spans, key)
    new = firsts == np.arange(len(firsts), dtype=np.int32)
    number = np.cumsum(new, dtype=np.int32)
    number -= 1
    work_on_each(pool, lambda k: np.take(number, firsts[spans[k]], out=firsts[spans[k]], mode="clip"), range(len(spans)))
    return firsts, pa.concat_arrays(column.filter(pa.array(new)).chunks)


def _first_rows(
    pool: ThreadPoolExecutor, slices: list[pa.Array], spans: list[slice], key: NDArray[np.uint64]
) -> NDArray[np.int32]:
    """Return for every row the first row of the same text."""
    n_rows, every = spans[-1].stop, range(len(slices))
    parts, counts = np.empty(n_rows, np.uint8), np.zeros((len(slices), HASH_PARTS), np.int64)
    work_on_each(pool, lambda k: part_rows(*_text(slices[k]), key, parts[spans[k]], counts[k]), every)
    ends = np.cumsum(counts.T).reshape(HASH_PARTS, -1).T  # the parts one after the other, in each the slices in order
    edges, places = np.append(0, ends[-1]), ends - counts
    keys, rows, firsts = np.empty((n_rows, 2), U), np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    work_on_each(
        pool, lambda k: deal_rows(*_text(slices[k]), key, parts[spans[k]], spans[k].start, places[k], keys, rows), every
    )
    work_on_each(
        pool,
        lambda k: find_firsts(rows, keys, edges[k * PARTS_AT_ONCE : (k + 1) * PARTS_AT_ONCE + 1], key, firsts),
        range(HASH_PARTS // PARTS_AT_ONCE),
    )
    return firsts


def _text(array: pa.Array) -> Text:
    """Return the edges of an array's texts in bytes, shape (n + 1,), and the words they lie in, with one to spare.

    A whole number is a text of eight bytes.
    """
    if pa.types.is_integer(array.type):
        numbers = array.view(pa.int64()) if pa.types.is_uint64(array.type) else array.cast(pa.int64())
        return np.arange(0, 8 * len(array) + 1, 8), np.append(numbers.to_numpy(), 0).view(U)
    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, edges, data = array.buffers()
    places = np.frombuffer(edges, kind)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    first, size = int(places[0]), int(places[-1] - places[0])
    words = np.zeros(size // 8 + 2, U)
    if size:
        words.view(np.uint8)[:size] = np.frombuffer(data, np.uint8, size, first)
    places -= first
    return places, words
