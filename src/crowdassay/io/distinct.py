"""Number the different texts of a long column, on all cores.

A hash table of millions of texts does not fit into a processor's cache, and every row then waits for memory. So rows are first
dealt into parts by the leading bits of their hash; the table of one part does fit.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from crowdassay.threads import available_cores

ROWS = 1 << 18  # rows handed to a thread at a time
PARTS = 256
SHIFT = 56  # leaves the leading bits that tell the part
U = np.uint64


def number_texts(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Return the code of every text and the different texts in order of appearance; a null counts as the empty text.

    Texts are told apart by SipHash-1-3 of 128 bits with a fresh key (Aumasson, Bernstein 2012): two of them share a hash
    with a probability far below that of a memory fault, and nobody who does not know the key can make two that do.

    >>> codes, texts = number_texts(pa.chunked_array([["b", "a"], ["b", None]]))
    >>> codes.tolist(), texts.to_pylist()
    ([0, 1, 0, 2], ['b', 'a', ''])
    """
    if column.null_count:
        column = column.fill_null("")
    slices = [chunk.slice(first, ROWS) for chunk in column.chunks for first in range(0, len(chunk), ROWS)]
    spans = [slice(int(first), int(last)) for first, last in pairwise(np.cumsum([0, *map(len, slices)]))]
    with ThreadPoolExecutor(available_cores()) as pool:
        firsts = _first_rows(pool, slices, spans)
        new = firsts == np.arange(len(firsts), dtype=np.int32)
        number = np.cumsum(new, dtype=np.int32)
        number -= 1
        codes = np.empty_like(firsts)
        _each(pool, lambda k: np.take(number, firsts[spans[k]], out=codes[spans[k]], mode="clip"), len(spans))
    return codes, pa.concat_arrays(column.filter(pa.array(new)).chunks)


def _first_rows(pool: ThreadPoolExecutor, slices: list[pa.Array], spans: list[slice]) -> NDArray[np.int32]:
    """Return for every row the first row of the same text."""
    n_rows = spans[-1].stop
    key = np.array([secrets.randbits(64), secrets.randbits(64)], U)
    hashes, counts = np.empty((n_rows, 2), U), np.zeros((len(slices), PARTS), np.int64)
    rows, firsts = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
    _each(pool, lambda k: hash_rows(*_text(slices[k]), key, hashes[spans[k]], counts[k]), len(slices))
    ends = np.cumsum(counts.T).reshape(PARTS, -1).T  # the parts one after the other, in each the slices in order
    edges, places = np.append(0, ends[-1]), ends - counts
    _each(pool, lambda k: deal_rows(hashes[spans[k]], spans[k].start, places[k], rows), len(slices))
    _each(pool, lambda part: find_firsts(rows[edges[part] : edges[part + 1]], hashes, firsts), PARTS)
    return firsts


def _each(pool: ThreadPoolExecutor, work: Callable[[int], Any], count: int) -> None:
    for _ in pool.map(work, range(count)):
        pass


def _text(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the edges of an array's texts, shape (n + 1,), and the bytes they lie in."""
    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, edges, data = array.buffers()
    return (
        np.frombuffer(edges, kind)[array.offset : array.offset + len(array) + 1].astype(np.int64),
        np.frombuffer(data or b"", np.uint8),
    )


@njit(inline="always")
def _round(v0: U, v1: U, v2: U, v3: U) -> tuple[U, U, U, U]:
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = v0 ^ (v1 << U(13) | v1 >> U(51)), v2 ^ (v3 << U(16) | v3 >> U(48))
    v0, v2 = (v0 << U(32) | v0 >> U(32)) + v3, v2 + v1
    v1, v3 = v2 ^ (v1 << U(17) | v1 >> U(47)), v0 ^ (v3 << U(21) | v3 >> U(43))
    return v0, v1, v2 << U(32) | v2 >> U(32), v3


@njit(nogil=True, cache=True)
def hash_rows(edges: Any, data: Any, key: Any, hashes: Any, counts: Any) -> None:
    """Hash the texts between ``edges`` into ``hashes`` (n, 2) and count the rows of every part."""
    for row in range(len(hashes)):
        v0, v1 = key[0] ^ U(0x736F6D6570736575), key[1] ^ U(0x646F72616E646F6D) ^ U(0xEE)
        v2, v3 = key[0] ^ U(0x6C7967656E657261), key[1] ^ U(0x7465646279746573)
        word, filled = U(0), U(0)
        for place in range(edges[row], edges[row + 1]):
            word |= U(data[place]) << filled
            filled += U(8)
            if filled == U(64):
                v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
                v0 ^= word
                word, filled = U(0), U(0)
        word |= U(edges[row + 1] - edges[row]) << U(56)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
        v0, v2 = v0 ^ word, v2 ^ U(0xEE)
        for half in range(2):
            for _ in range(3):
                v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            hashes[row, half] = v0 ^ v1 ^ v2 ^ v3
            v1 ^= U(0xDD)
        counts[hashes[row, 0] >> U(SHIFT)] += 1


@njit(nogil=True, cache=True)
def deal_rows(hashes: Any, begin: int, places: Any, rows: Any) -> None:
    """Write the numbers of the rows of every part to ``rows``, from ``places`` (n_parts,) on."""
    for row in range(len(hashes)):
        part = hashes[row, 0] >> U(SHIFT)
        rows[places[part]] = begin + row
        places[part] += 1


@njit(nogil=True, cache=True)
def find_firsts(rows: Any, hashes: Any, firsts: Any) -> None:
    """Write to ``firsts`` the first row of the same hash, for the rows of one part."""
    size = 4
    while size < 2 * len(rows):
        size *= 2
    mask = U(size - 1)
    taken, known = np.full(size, -1, np.int32), np.empty((size, 2), np.uint64)
    for row in rows:
        a, b = hashes[row, 0], hashes[row, 1]
        slot = a & mask
        while taken[slot] >= 0 and (known[slot, 0] != a or known[slot, 1] != b):
            slot = (slot + U(1)) & mask
        if taken[slot] < 0:
            taken[slot], known[slot, 0], known[slot, 1] = row, a, b
        firsts[row] = taken[slot]
