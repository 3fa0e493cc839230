"""What the column of winners says: a side, a name, a tie or that both are bad."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.coding import code_column
from crowdassay.labels.native import Column
from crowdassay.labels.values import as_text, shown

LEFT, RIGHT, TIE, BOTH_BAD, MISSING = 0, 1, 2, 3, -1
SIDES = {
    "left": LEFT, "a": LEFT, "modela": LEFT, "first": LEFT, "1": LEFT, "leftwins": LEFT, "awins": LEFT, "modelawins": LEFT,
    "right": RIGHT, "b": RIGHT, "modelb": RIGHT, "second": RIGHT, "2": RIGHT, "rightwins": RIGHT, "bwins": RIGHT,
    "modelbwins": RIGHT,
}  # fmt: skip
TIES = {
    "tie": TIE, "ties": TIE, "draw": TIE, "equal": TIE, "same": TIE, "bothgood": TIE, "tiebothgood": TIE,
    "bothbad": BOTH_BAD, "tiebothbad": BOTH_BAD, "neither": BOTH_BAD,
}  # fmt: skip
READINGS = ("auto", "side", "name")


def plain(text: str) -> str:
    """Return a word without case and punctuation.

    >>> plain("tie (bothbad)"), plain("Model_A")
    ('tiebothbad', 'modela')
    """
    return re.sub(r"[^0-9a-z]+", "", text.casefold())


def read_winners(column: Column, left: IntArray, right: IntArray, names: pa.Array, reading: str, source: str) -> IntArray:
    """Return the outcome of every comparison: 0 left, 1 right, 2 tie, 3 both bad, -1 missing; shape (n_rows,).

    Parameters
    ----------
    column : pyarrow.Array
        Sides (left, right, a, b, model_a ...), names of the things compared, and words for ties.
    left, right : ndarray of int64, shape (n_rows,)
    names : pyarrow.Array
        What is compared.
    reading : {'auto', 'side', 'name'}
        Whether winners are sides or names. Found out when every winner can be read in one way only.
    source : str
    """
    if reading not in READINGS:
        raise ParameterError(f"winners must be 'auto', 'side' or 'name', not {reading!r}.")
    codes, words = code_column(column, "winner")
    texts = as_text(words).to_pylist()
    place = {name: n for n, name in enumerate(names.to_pylist())}
    item = np.array([place.get(text, -1) for text in texts] + [-1])
    side = np.array([SIDES.get(plain(text), -1) for text in texts] + [-1])
    tie = np.array([TIES.get(plain(text), -1) for text in texts] + [-1])
    named = np.where(item[codes] == left, LEFT, np.where(item[codes] == right, RIGHT, -1))
    named[item[codes] < 0] = -1
    given = codes >= 0
    by_name = np.where(named >= 0, named, np.where(item[codes] < 0, tie[codes], -1))
    by_side = np.where(side[codes] >= 0, side[codes], tie[codes])
    able = {"name": bool((by_name[given] >= 0).all()), "side": bool((by_side[given] >= 0).all())}
    if reading == "auto":
        if able["name"] and able["side"] and (by_name[given] != by_side[given]).any():
            raise DataError(
                f"The winners in {shown(source)} can be read as sides or as names of what was compared, which differ; "
                "say which with --winners side or --winners name."
            )
        reading = "side" if able["side"] else "name"
    winners = by_side if reading == "side" else by_name
    bad = np.flatnonzero(given & (winners < 0))
    if len(bad):
        row = int(bad[0])
        pair = f"{shown(names[int(left[row])].as_py())} and {shown(names[int(right[row])].as_py())}"
        more = f" ({len(bad):,} rows are wrong)" if len(bad) > 1 else ""
        raise DataError(
            f"The winner in data row {row + 1} of {shown(source)} is {shown(texts[codes[row]])}, which is neither of the two "
            f"compared ({pair}) nor left, right, tie or both bad{more}; correct it."
        )
    return np.where(given, winners, MISSING)
