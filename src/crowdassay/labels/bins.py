"""Numbers as labels, from sliders and the like: a few classes made of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.native import Column
from crowdassay.labels.values import as_text, number_of, shown, text_of

MOST_BINS = 100


def binned(label: Column, bins: tuple[str, ...]) -> tuple[pa.Array, tuple[str, ...]]:
    """Put numbers into classes named after their edges; return the labels and the classes in order.

    One number says how many classes of equal width; several are the edges themselves. A class holds its lower edge, and the
    last one its upper edge too.

    >>> labels, classes = binned(pa.array(["0", "49", "50", "100"]), ("2",))
    >>> labels.to_pylist(), classes
    (['0 to 50', '0 to 50', '50 to 100', '50 to 100'], ('0 to 50', '50 to 100'))
    """
    edges = [number_of(text) for text in bins]
    if any(edge is None for edge in edges) or (len(edges) > 1 and sorted(set(edges)) != edges):  # type: ignore[type-var]
        raise ParameterError(f"--bins takes a whole number, or edges in rising order, not {shown(','.join(bins))}.")
    whole = label.combine_chunks() if isinstance(label, pa.ChunkedArray) else label
    codes = whole.dictionary_encode()
    texts = as_text(codes.dictionary).to_pylist()
    blank = [text is None or not text.strip() for text in texts]
    numbers = [None if empty else number_of(text) for text, empty in zip(texts, blank, strict=True)]
    strange = [text for text, number, empty in zip(texts, numbers, blank, strict=True) if number is None and not empty]
    if strange:
        raise DataError(
            f"--bins goes with labels that are numbers, and {shown(strange[0])} is none; name what stands for no answer with "
            "--missing."
        )
    known = np.array([number for number in numbers if number is not None])
    if len(edges) == 1:
        edges = _equal(edges[0] or 0, known)
    limits = np.array(edges, dtype=float)
    if len(known) and (known.min() < limits[0] or known.max() > limits[-1]):
        odd = known.min() if known.min() < limits[0] else known.max()
        raise DataError(f"The label {shown(text_of(float(odd)))} lies outside the edges that --bins names; name wider ones.")
    names = tuple(f"{text_of(float(low))} to {text_of(float(high))}" for low, high in pairwise(limits))
    place = {
        text: None if number is None else names[_place(limits, number)] for text, number in zip(texts, numbers, strict=True)
    }
    renamed = pa.array([place[text] for text in texts], pa.string())
    return renamed.take(codes.indices), names


def _place(limits: np.ndarray, number: float) -> int:
    return min(int(np.searchsorted(limits, number, "right")) - 1, len(limits) - 2)


def _equal(count: float, known: np.ndarray) -> list[float | None]:
    if count != int(count) or not 2 <= count <= MOST_BINS:
        raise ParameterError(f"--bins takes a number from 2 to {MOST_BINS}, or edges separated by commas.")
    if not len(known) or known.min() == known.max():
        raise DataError("--bins has nothing to divide: there are no two different numbers among the labels.")
    return [float(np.format_float_positional(edge, 6)) for edge in np.linspace(known.min(), known.max(), int(count) + 1)]
