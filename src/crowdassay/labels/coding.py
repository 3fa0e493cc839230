"""Turn one column into integer codes and a vocabulary in order of first appearance."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.labels.cells import ArrowColumn, blank, from_floats, not_one_value
from crowdassay.labels.labels import COMPILED_LABELS
from crowdassay.labels.values import is_text

Codes = NDArray[np.int32]


def code_column(column: ArrowColumn, role: str) -> tuple[Codes, pa.Array]:
    """Encode a column; null, NaN, empty and blank values get the code -1.

    Text stays as it is, byte for byte. Floating-point columns become whole numbers when all values are whole, else text.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray, length n
    role : str
        What the column holds, for messages.

    Returns
    -------
    codes : ndarray of int32, shape (n,)
    vocabulary : pyarrow.Array

    Examples
    --------
    >>> codes, words = code_column(pa.array(["b", " ", None, "a", "b"]), "label")
    >>> codes.tolist(), words.to_pylist()
    ([0, -1, -1, 1, 0], ['b', 'a'])
    """
    chunked = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if not len(chunked):
        return np.empty(0, np.int32), pa.array([], pa.string())
    codes, vocabulary = _numbered(_encodable(chunked, role))
    if pa.types.is_floating(vocabulary.type):
        vocabulary = from_floats(vocabulary)
        codes, vocabulary = _follow(codes, vocabulary.dictionary_encode())  # -0.0 and 0.0 are now one value
    elif is_text(vocabulary.type):
        vocabulary = vocabulary.cast(pa.string())
        empty = blank(vocabulary)
        if pc.any(empty).as_py():
            vocabulary = pc.if_else(empty, None, vocabulary)
            codes, vocabulary = _follow(codes, vocabulary.dictionary_encode())
    elif pa.types.is_null(vocabulary.type):
        vocabulary = vocabulary.cast(pa.string())
    return codes, vocabulary


def recode(codes: Codes, vocabulary: pa.Array) -> tuple[Codes, pa.Array]:
    """Renumber codes, all >= 0, by first appearance and forget values that do not occur."""
    fresh = pa.array(codes).dictionary_encode()
    return fresh.indices.to_numpy(), vocabulary.take(fresh.dictionary)


def _numbered(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Number the different values in order of appearance, null as -1 or as the empty text."""
    whole = pa.types.is_integer(column.type) and not column.null_count
    if len(column) >= COMPILED_LABELS and (whole or is_text(column.type)):
        from crowdassay.labels.distinct import number_texts  # noqa: PLC0415 - numba is slow to load

        return number_texts(column)
    encoded = column.dictionary_encode()  # all chunks share the dictionary of the last
    codes = np.empty(len(column), np.int32)
    first = 0
    for chunk in encoded.chunks:
        codes[first : first + len(chunk)] = chunk.indices.fill_null(-1)
        first += len(chunk)
    return codes, encoded.chunk(encoded.num_chunks - 1).dictionary


def _encodable(column: pa.ChunkedArray, role: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _encodable(column.cast(kind.value_type), role)
    try:
        if isinstance(kind, pa.BaseExtensionType):  # UUIDs and the like, too rare to be quick about
            return pa.chunked_array([[None if value is None else str(value) for value in column.to_pylist()]], pa.string())
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return column.cast(pa.string())
        if pa.types.is_string_view(kind):
            return column.cast(pa.large_string())
        if pa.types.is_float16(kind):
            return column.cast(pa.float32())
        column.slice(0, 0).dictionary_encode()
    except pa.ArrowException:
        raise not_one_value(role, kind) from None
    return column


def _follow(codes: Codes, renamed: pa.DictionaryArray) -> tuple[Codes, pa.Array]:
    target = np.append(renamed.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
    return target[codes], renamed.dictionary  # a code of -1 reads the last entry, which is -1
