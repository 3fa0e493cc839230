from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdassay.labels import distinct, encode
from crowdassay.labels.distinct import hash_text, number_texts
from crowdassay.labels.encode import code_column

pytestmark = pytest.mark.slow

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=20), min_size=1, max_size=60)


@settings(deadline=None)  # the first example may compile
@given(
    TEXTS,
    st.integers(0, 60),
    st.sampled_from([pa.string(), pa.large_string()]),
    st.sampled_from([0, 8, distinct.FEW_TEXTS]),
    st.sampled_from([0, distinct.LONG_TEXT]),
)
def test_numbers_texts_as_arrow_does(texts, cut, kind, few, long):
    column = pa.chunked_array([texts[:cut], texts[cut:]], kind)
    # With 8, the sample may promise few and a slice hold too many.
    with mock.patch.object(distinct, "FEW_TEXTS", few), mock.patch.object(distinct, "LONG_TEXT", long):
        codes, different = number_texts(column)
    expected = pa.array(texts, kind).dictionary_encode()
    assert different.equals(expected.dictionary)
    assert codes.tolist() == expected.indices.to_pylist()


@pytest.mark.parametrize("few", [0, 4096])
def test_slices_threads_and_parts_make_no_difference(monkeypatch, few):
    monkeypatch.setattr(distinct, "ROWS_A_THREAD", 1000)
    monkeypatch.setattr(distinct, "TEXTS_SAMPLED", 1000)
    monkeypatch.setattr(distinct, "FEW_TEXTS", few)
    generator = np.random.default_rng(0)
    words = pa.array([f"item {n}" for n in range(30_000)]).take(pa.array(generator.integers(0, 30_000, 100_000)))
    column = pa.chunked_array([words.slice(7, 50_000), words.slice(50_007)])  # with an offset into the buffers
    codes, different = number_texts(column)
    expected = words.slice(7).dictionary_encode()
    assert different.equals(expected.dictionary)
    np.testing.assert_array_equal(codes, expected.indices)


@pytest.mark.parametrize("few", [0, distinct.FEW_TEXTS])
@pytest.mark.parametrize("kind", ["int8", "int64", "uint64"])
def test_numbers_whole_numbers(monkeypatch, few, kind):
    monkeypatch.setattr(distinct, "FEW_TEXTS", few)
    limits = np.iinfo(kind)
    numbers = pa.array(np.array([limits.max, 0, limits.min, 7, limits.max, 7], kind)).slice(1)
    codes, different = number_texts(pa.chunked_array([numbers]))
    expected = numbers.dictionary_encode()
    assert different.equals(expected.dictionary)
    assert codes.tolist() == expected.indices.to_pylist()


def test_hash_is_siphash_1_3_of_128_bits():
    def rotate(x, bits):
        return (x << bits | x >> (64 - bits)) % 2**64

    def by_the_book(text, k0, k1):
        v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

        def rounds(times):
            for _ in range(times):
                v[0] = (v[0] + v[1]) % 2**64
                v[1] = rotate(v[1], 13) ^ v[0]
                v[0] = rotate(v[0], 32)
                v[2] = (v[2] + v[3]) % 2**64
                v[3] = rotate(v[3], 16) ^ v[2]
                v[0] = (v[0] + v[3]) % 2**64
                v[3] = rotate(v[3], 21) ^ v[0]
                v[2] = (v[2] + v[1]) % 2**64
                v[1] = rotate(v[1], 17) ^ v[2]
                v[2] = rotate(v[2], 32)

        padded = text + bytes(7 - len(text) % 8) + bytes([len(text) % 256])
        for start in range(0, len(padded), 8):
            word = int.from_bytes(padded[start : start + 8], "little")
            v[3] ^= word
            rounds(1)
            v[0] ^= word
        v[2] ^= 0xEE
        rounds(3)
        first = v[0] ^ v[1] ^ v[2] ^ v[3]
        v[1] ^= 0xDD
        rounds(3)
        return first, v[0] ^ v[1] ^ v[2] ^ v[3]

    text = bytes(range(256)) + b"tail"
    words = np.frombuffer(text + bytes(12), np.uint64)
    key = np.array([0x0706050403020100, 0x0F0E0D0C0B0A0908], np.uint64)
    for begin, end in ([0, 0], [0, 3], [1, 9], [0, 16], [5, 260]):
        found = hash_text(words, begin, end, key)
        assert tuple(map(int, found)) == by_the_book(text[begin:end], int(key[0]), int(key[1]))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_long_columns_give_the_codes_of_short_ones(monkeypatch, kind):
    values = ["b", " ", None, "a", "", "b", "\u2003", "c", "a"]
    short = code_column(pa.array(values, pa.string()), "item")
    monkeypatch.setattr(encode, "COMPILED_LABELS", 1)
    codes, words = code_column(
        pa.chunked_array([pa.array(values[:4], pa.string()), pa.array(values[4:], pa.string())]).cast(kind), "item"
    )
    assert codes.tolist() == short[0].tolist() == [0, -1, -1, 1, -1, 0, -1, 2, 1]
    assert words.to_pylist() == short[1].to_pylist() == ["b", "a", "c"]
