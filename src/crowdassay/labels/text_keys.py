"""Keys of 128 bits by which texts are told apart, and the tables over them, compiled.

A text of up to 15 bytes is its own key, with its length. A longer one has SipHash-1-3 (Aumasson, Bernstein 2012) with a fresh
secret: two share a key with a probability far below that of a memory fault, and nobody who does not know the secret can make
two that do. Places in tables depend on the secret too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

U = np.uint64
SHORT_TEXT = 15  # bytes
PART_SHIFT = U(56)  # leaves the leading bits, which tell the part


@njit(inline="always")
def _round(v0: U, v1: U, v2: U, v3: U) -> tuple[U, U, U, U]:
    v0, v2 = v0 + v1, v2 + v3
    v1, v3 = v0 ^ (v1 << U(13) | v1 >> U(51)), v2 ^ (v3 << U(16) | v3 >> U(48))
    v0, v2 = (v0 << U(32) | v0 >> U(32)) + v3, v2 + v1
    v1, v3 = v2 ^ (v1 << U(17) | v1 >> U(47)), v0 ^ (v3 << U(21) | v3 >> U(43))
    return v0, v1, v2 << U(32) | v2 >> U(32), v3


@njit(inline="always")
def _load(words: Any, place: int, size: int) -> U:
    """Return the bytes [place, place + size), at most eight, as a number."""
    if size <= 0:
        return U(0)
    shift = U(place & 7) << U(3)
    word = words[place >> 3] >> shift | words[(place >> 3) + 1] << U(1) << (U(63) - shift)
    return word if size >= 8 else word & ((U(1) << (U(size) << U(3))) - U(1))


@njit(nogil=True, cache=True)
def hash_text(words: Any, begin: int, end: int, key: Any) -> tuple[U, U]:
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
def _short(words: Any, begin: int, end: int) -> tuple[U, U]:
    return _load(words, begin, end - begin), _load(words, begin + 8, end - begin - 8) | U(end - begin) << PART_SHIFT


@njit(inline="always")
def _mix(one: U, other: U, key: Any) -> U:
    """Return a number whose leading and trailing bits both depend on all of ``one`` and ``other``."""
    mixed = (one ^ key[0]) * (key[1] | U(1))
    mixed = (mixed ^ mixed >> U(32) ^ other) * (key[0] | U(1))
    return mixed ^ mixed >> U(29)


@njit(nogil=True, cache=True)
def number_rows(edges: Any, words: Any, key: Any, codes: Any, firsts: Any) -> int:
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
def part_rows(edges: Any, words: Any, key: Any, parts: Any, counts: Any) -> None:
    """Find the part of every text between ``edges`` by its last bytes, and count the rows of each part."""
    for row in range(len(parts)):
        begin, end = edges[row], edges[row + 1]
        first = max(begin, end - 8)
        part = _mix(_load(words, first, end - first), U(0), key) >> PART_SHIFT
        parts[row] = part
        counts[part] += 1


@njit(nogil=True, cache=True)
def deal_rows(edges: Any, words: Any, key: Any, parts: Any, offset: int, places: Any, keys: Any, rows: Any) -> None:
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
def find_firsts(rows: Any, keys: Any, edges: Any, key: Any, firsts: Any) -> None:
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
