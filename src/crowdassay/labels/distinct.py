"""Number the different texts, or whole numbers, of a long column, on all cores.

Rows are cut into slices. Where few texts differ, each slice numbers its own in a table that stays in the processor's cache.
Millions of different texts would not, and every row would wait for memory; so rows are first dealt into parts by a quick hash,
and the table of one part does fit.

Texts are told apart by keys of 128 bits. A text of up to 15 bytes is its own key, with its length. A longer one has SipHash-1-3
(Aumasson, Bernstein 2012) with a fresh secret: two share a key with a probability far below that of a memory fault, and nobody
who does not know the secret can make two that do. Places in tables depend on the secret too.
"""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from crowdassay.threads import available_cores, work_on_each

ROWS_A_THREAD = 1 << 17  # rows handed to a thread at a time
TEXTS_SAMPLED = 1 << 14
FEW_TEXTS = 1 << 14  # different texts up to which a slice keeps a table of its own
LONG_TEXT = 64  # bytes, on average, from which pyarrow tells few different texts apart more quickly than our hashes
HASH_PARTS, PARTS_AT_ONCE = 256, 16  # rows are dealt into parts, some of which are handed to a thread at a time
U = np.uint64
SHORT_TEXT = 15  # bytes
PART_SHIFT = U(56)  # leaves the leading bits, which tell the part

Places: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Codes: TypeAlias = NDArray[np.int32]


def number_texts(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
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


def _few(pool: ThreadPoolExecutor, slices: list[pa.Array], spans: list[slice], key: Words) -> tuple[Codes, pa.Array] | None:
    """Number each slice by itself, then all their different texts together; None if a slice holds too many."""
    codes = np.empty(spans[-1].stop, np.int32)
    beginning = slices[0].slice(0, TEXTS_SAMPLED)
    if not pa.types.is_integer(beginning.type) and (pc.mean(pc.binary_length(beginning)).as_py() or 0) >= LONG_TEXT:
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


def _many(
    pool: ThreadPoolExecutor, column: pa.ChunkedArray, slices: list[pa.Array], spans: list[slice], key: Words
) -> tuple[Codes, pa.Array]:
    """Deal the rows into parts, find for every row the first row of the same text, and number these."""
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
    new = firsts == np.arange(n_rows, dtype=np.int32)
    number = np.cumsum(new, dtype=np.int32)
    number -= 1
    work_on_each(pool, lambda k: np.take(number, firsts[spans[k]], out=firsts[spans[k]], mode="clip"), every)
    return firsts, pa.concat_arrays(column.filter(pa.array(new)).chunks)


def _text(array: pa.Array) -> tuple[Places, Words]:
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


@njit(inline="always")
def _round(v0: U, v1: U, v2: U, v3: U) -> tuple[U, U, U, U]:
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = v0 ^ (v1 << U(13) | v1 >> U(51)), v2 ^ (v3 << U(16) | v3 >> U(48))
    v0, v2 = (v0 << U(32) | v0 >> U(32)) + v3, v2 + v1
    v1, v3 = v2 ^ (v1 << U(17) | v1 >> U(47)), v0 ^ (v3 << U(21) | v3 >> U(43))
    return v0, v1, v2 << U(32) | v2 >> U(32), v3


@njit(inline="always")
def _load(words: Words, place: int, size: int) -> U:
    """Return the bytes [place, place + size), at most eight, as a number."""
    if size <= 0:
        return U(0)
    shift = U(place & 7) << U(3)
    word = words[place >> 3] >> shift | words[(place >> 3) + 1] << U(1) << (U(63) - shift)
    return word if size >= 8 else word & ((U(1) << (U(size) << U(3))) - U(1))


@njit(nogil=True, cache=True)
def hash_text(words: Words, begin: int, end: int, key: Words) -> tuple[U, U]:
    """Return SipHash-1-3 of 128 bits of the bytes [begin, end)."""
    v0, v1 = key[0] ^ U(0x736F6D6570736575), key[1] ^ U(0x646F72616E646F6D) ^ U(0xEE)
    v2, v3 = key[0] ^ U(0x6C7967656E657261), key[1] ^ U(0x7465646279746573)
    place, last = begin, False
    while not last:
        last = end - place < 8
        word = _load(words, place, end - place) | (U(end - begin) << PART_SHIFT if last else U(0))
        v0, v1, v2, v3 = _round(v0, v1, v2, v3 ^ word)
        v0 ^= word
        place += 8
    v2 ^= U(0xEE)
    for _ in range(3):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    one = v0 ^ v1 ^ v2 ^ v3
    v1 ^= U(0xDD)
    for _ in range(3):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return one, v0 ^ v1 ^ v2 ^ v3


@njit(inline="always")
def _short(words: Words, begin: int, end: int) -> tuple[U, U]:
    return _load(words, begin, end - begin), _load(words, begin + 8, end - begin - 8) | U(end - begin) << PART_SHIFT


@njit(inline="always")
def _mix(one: U, other: U, key: Words) -> U:
    """Return a number whose leading and trailing bits both depend on all of ``one`` and ``other``."""
    mixed = (one ^ key[0]) * (key[1] | U(1))
    mixed = (mixed ^ mixed >> U(32) ^ other) * (key[0] | U(1))
    return mixed ^ mixed >> U(29)


@njit(nogil=True, cache=True)
def number_rows(edges: Places, words: Words, key: Words, codes: Codes, firsts: Codes) -> int:
    """Number the texts between ``edges`` in order of appearance and note the row of each one's first.

    Returns how many differ, or -1 where there are more than ``firsts`` holds.
    """
    size = 2 * len(firsts)
    mask = U(size - 1)
    taken, known = np.full(size, -1, np.int32), np.empty((size, 2), np.uint64)
    count = 0
    for row in range(len(codes)):
        begin, end = edges[row], edges[row + 1]
        one, other = _short(words, begin, end)
        if end - begin > SHORT_TEXT:  # here and not in a function: pairs returned from branches are several times slower
            one, other = hash_text(words, begin, end, key)
        slot = _mix(one, other, key) & mask
        while taken[slot] >= 0 and (known[slot, 0] != one or known[slot, 1] != other):
            slot = (slot + U(1)) & mask
        if taken[slot] < 0:
            if count == len(firsts):
                return -1
            taken[slot], known[slot, 0], known[slot, 1], firsts[count] = count, one, other, row
            count += 1
        codes[row] = taken[slot]
    return count


@njit(nogil=True, cache=True)
def part_rows(edges: Places, words: Words, key: Words, parts: NDArray[np.uint8], counts: Places) -> None:
    """Find the part of every text between ``edges`` by its last bytes, and count the rows of each part."""
    for row in range(len(parts)):
        begin, end = edges[row], edges[row + 1]
        first = max(begin, end - 8)
        part = _mix(_load(words, first, end - first), U(0), key) >> PART_SHIFT
        parts[row] = part
        counts[part] += 1


@njit(nogil=True, cache=True)
def deal_rows(
    edges: Places, words: Words, key: Words, parts: NDArray[np.uint8], offset: int, places: Places, keys: Words, rows: Codes
) -> None:
    """Write the keys and numbers of the rows of every part side by side, from ``places`` (n_parts,) on."""
    for row in range(len(parts)):
        begin, end, part = edges[row], edges[row + 1], parts[row]
        one, other = _short(words, begin, end)
        if end - begin > SHORT_TEXT:
            one, other = hash_text(words, begin, end, key)
        place = places[part]
        keys[place, 0], keys[place, 1], rows[place] = one, other, offset + row
        places[part] = place + 1


@njit(nogil=True, cache=True)
def find_firsts(rows: Codes, keys: Words, edges: Places, key: Words, firsts: Codes) -> None:
    """Write to ``firsts`` the first row of the same key, for the rows of the parts between ``edges``."""
    most = 0
    for part in range(len(edges) - 1):
        most = max(most, edges[part + 1] - edges[part])
    size = 4
    while size < 2 * most:
        size *= 2
    mask = U(size - 1)
    taken, known = np.empty(size, np.int32), np.empty((size, 2), np.uint64)
    for part in range(len(edges) - 1):
        taken[:] = -1
        for k in range(edges[part], edges[part + 1]):
            one, other = keys[k, 0], keys[k, 1]
            slot = _mix(one, other, key) & mask
            while taken[slot] >= 0 and (known[slot, 0] != one or known[slot, 1] != other):
                slot = (slot + U(1)) & mask
            if taken[slot] < 0:
                taken[slot], known[slot, 0], known[slot, 1] = rows[k], one, other
            firsts[rows[k]] = taken[slot]
