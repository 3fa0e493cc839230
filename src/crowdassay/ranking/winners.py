"""Who won each comparison: sides, names, words for ties, shares of a win, and codes whose meaning is told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.encode import code_column
from crowdassay.labels.sides import LEFT, MISSING, RIGHT, SIDE_WORDS, TIE_WORDS, TIED, plain_word
from crowdassay.labels.values import as_text, in_natural_order, listed, number_key, number_of, shown

ALPACA_EVALS_LEFT = "generator1"  # whose preferences are 0 where two are equal
NO_ANSWER = ("error",)  # what stands where a judge gave none
WINNER_READINGS = ("auto", "side", "name")
MOST_CODES = 5  # that a message lists


def _word_of(text: str) -> str:
    """Return the word by which a side or a tie is known: of numbers the shortest form, with its sign, so that -1 is no side.

    >>> _word_of("Model_A"), _word_of("1.0"), _word_of("-1")
    ('modela', '1', '-1')
    """
    text = text.replace("\N{MINUS SIGN}", "-").strip()
    return plain_word(text) if number_of(text) is None else number_key(text) or text


def read_winners(
    column: ArrowColumn, left: IntArray, right: IntArray, names: pa.Array, reading: str, source: str, *, zero_ties: bool
) -> tuple[IntArray, FloatArray]:
    """Return the outcome of every comparison, 0 left, 1 right, 2 tie, 3 both bad, -1 missing, and shares; both (n_rows,).

    A preference between 1, the left one, and 2, the right one, is a share of a win of the left one; elsewhere shares are NaN.

    Parameters
    ----------
    column : pyarrow.Array
        Sides (left, right, a, b, model_a ...), names of the things compared, and words for ties.
    left, right : ndarray of int64, shape (n_rows,)
    names : pyarrow.Array
        What is compared.
    reading : {'auto', 'side', 'name'} or str
        Whether winners are sides or names, found out when every winner can be read in one way only; or what codes mean.
    source : str
    zero_ties : bool
        Whether 0 is known to be a tie, and no code.
    """
    codes, words = code_column(column, "winner")
    texts = found = as_text(words).to_pylist()
    meanings = read_meanings(reading)
    if meanings:  # a number that has none given is a code as well, and no side
        texts = [meanings.get(text, "" if number_of(text) is not None else text) for text in found]
        reading = "side"
    if reading != "name" and (preferences := _preferences(texts, names, zero_ties=zero_ties)) is not None:
        share = preferences[codes]
        outcome = np.select([np.isnan(share), share == 1, share == 0, share == 0.5], [MISSING, LEFT, RIGHT, TIED], LEFT)
        return outcome, np.where((outcome == LEFT) & (share < 1), share, np.nan)
    place = {name: n for n, name in enumerate(names.to_pylist())}
    plain = [_word_of(text) for text in texts]
    unanswered = [word in NO_ANSWER and text not in place for word, text in zip(plain, texts, strict=True)]
    given = ~np.array([*unanswered, True])[codes]
    item = np.array([*(place.get(text, -1) for text in texts), -1])[codes]
    side = np.array([*(SIDE_WORDS.get(word, -1) for word in plain), -1])[codes]
    tie = np.array([*(TIE_WORDS.get(word, -1) for word in plain), -1])[codes]
    by_name = np.select([item < 0, item == left, item == right], [tie, LEFT, RIGHT], -1)
    by_side = np.where(side >= 0, side, tie)
    able = {"name": bool((by_name[given] >= 0).all()), "side": bool((by_side[given] >= 0).all())}
    if reading == "auto":
        if able["name"] and able["side"] and (by_name[given] != by_side[given]).any():
            raise DataError(
                f"The winners in {shown(source)} can be read as sides or as names of what was compared, which differ; "
                "say which with --winners side or --winners name."
            )
        reading = "side" if (by_side[given] < 0).sum() <= (by_name[given] < 0).sum() else "name"
    winners = by_side if reading == "side" else by_name
    bad = np.flatnonzero(given & (winners < 0))
    if len(bad):
        row = int(bad[0])
        pair = " and ".join(
            "an empty cell" if side[row] < 0 else shown(names[int(side[row])].as_py()) for side in (left, right)
        )
        bare = [text for text in found if number_of(text) is not None]
        strange = in_natural_order({*(found[code] for code in codes[bad]), *bare} - set(names.to_pylist()))
        more = f" ({len(bad):,} rows are wrong)" if len(bad) > 1 else ""
        raise DataError(
            f"The winner in data row {row + 1} of {shown(source)} is {shown(found[codes[row]])}, which is neither of the two "
            f"compared ({pair}) nor left, right, tie or both bad{more}; correct it{_what_codes_mean(strange)}."
        )
    return np.where(given, winners, MISSING), np.full(len(winners), np.nan)


def _what_codes_mean(strange: list[str]) -> str:
    """Return what else can be done about words of winners that nobody knows, codes among them if they can be written down.

    >>> _what_codes_mean(["P"])[-7:], _what_codes_mean(["P, Q"])
    ("'P=...'", ', or leave the cell empty if there was none')
    """
    if not 0 < len(strange) <= MOST_CODES or any(code != code.strip() or {",", "'"} & set(code) for code in strange):
        return ", or leave the cell empty if there was none"
    return (
        f", or, if {listed(strange)} {'is a code' if len(strange) == 1 else 'are codes'}, say whether left, right, tie "
        f"or both bad is meant: --winners '{','.join(f'{code}=...' for code in strange)}'"
    )


def read_meanings(reading: str) -> dict[str, str]:
    """Return what codes of winners mean, as a user wrote it down; empty where winners are read as they stand.

    >>> read_meanings("P=left, I=tie"), read_meanings("side")
    ({'P': 'left', 'I': 'tie'}, {})
    """
    if reading in WINNER_READINGS:
        return {}
    meanings: dict[str, str] = {}
    for part in reading.split(","):
        code, _, word = (one.strip() for one in part.rpartition("="))
        if not code:
            raise ParameterError(
                f"--winners is auto, side or name, or says what codes mean, such as 'P=left,I=tie'; {shown(part.strip())} is "
                "none of these."
            )
        if code in meanings:
            raise ParameterError(f"--winners says twice what {shown(code)} means; leave one of the two out.")
        if plain_word(word) not in SIDE_WORDS | TIE_WORDS:
            raise ParameterError(f"--winners says what codes mean: left, right, tie or both bad, not {shown(word)}.")
        meanings[code] = word
    return meanings


def _preferences(texts: Sequence[str], names: pa.Array, *, zero_ties: bool) -> FloatArray | None:
    """Return the share of a win of the left one for each preference, and NaN; None where these are no such numbers.

    They are numbers from 1 to 2, or 0 for a tie, some of them fractions: 1 and 2 alone are sides, and 0 may be a code.

    >>> _preferences(["1", "1.25", "2.0", "0"], pa.array(["x", "y"]), zero_ties=False).tolist()
    [1.0, 0.75, 0.0, 0.5, nan]
    >>> _preferences(["0", "1"], pa.array(["x", "y"]), zero_ties=False)
    >>> _preferences(["0", "1"], pa.array(["x", "y"]), zero_ties=True).tolist()
    [0.5, 1.0, nan]
    """
    numbers = [number_of(text) for text in texts]
    values = [number for number in numbers if number is not None and (1 <= number <= 2 or number == 0)]
    whole = all(value in {1, 2} if zero_ties else value.is_integer() for value in values)
    if len(values) < len(texts) or whole or set(texts) & set(names.to_pylist()):
        return None
    return np.array([0.5 if value == 0 else 2 - value for value in values] + [np.nan])
