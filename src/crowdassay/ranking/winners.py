"""Who won each comparison: sides, names, words for ties, shares of a win, and codes whose meaning is told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.encode import code_column
from crowdassay.labels.sides import (
    BOTH_BAD,
    LEFT,
    MISSING,
    MOST_CODES,
    RIGHT,
    SIDE_WORDS,
    TIE_WORDS,
    TIED,
    name_parts,
    plain_word,
)
from crowdassay.labels.values import as_text, in_natural_order, listed, number_key, number_of, shown
from crowdassay.text import joined

ALPACA_EVALS_LEFT = "generator1"  # whose preferences are 0 where two are equal
NO_ANSWER = ("error",)  # what stands where a judge gave none
NOBODY = -2  # was chosen, as a user says that a code means
MEANINGS = {**SIDE_WORDS, **TIE_WORDS, "none": NOBODY}
TURNED = np.array([RIGHT, LEFT, TIED, BOTH_BAD, NOBODY, MISSING])  # outcomes of comparisons whose sides are exchanged
WINNER_READINGS = ("auto", "side", "name")
BELOW_IS_LEFT, BELOW_IS_RIGHT = "-=left,0=tie,+=right", "-=right,0=tie,+=left"  # what signs of numbers may mean
YES_AND_NO = {  # as they may be written
    written(yes): written(no)
    for yes, no in (("1", "0"), ("true", "false"), ("yes", "no"), ("y", "n"))
    for written in (str, str.title, str.upper)
}
YES_OF_SIDE = {  # what yes and no mean in the winner's column that is called after a side
    side: ",".join(f"{yes}={won},{no}={lost}" for yes, no in YES_AND_NO.items())
    for side, won, lost in ((LEFT, "left", "right"), (RIGHT, "right", "left"))
}


def _word_of(text: str) -> str:
    """Return the word by which a side or a tie is known: of numbers the shortest form, with its sign, so that -1 is no side.

    >>> _word_of("Model_A"), _word_of("1.0"), _word_of("-1")
    ('modela', '1', '-1')
    """
    text = text.replace("\N{MINUS SIGN}", "-").strip()
    return plain_word(text) if number_of(text) is None else number_key(text) or text


def read_winners(
    column: ArrowColumn,
    left: IntArray,
    right: IntArray,
    names: pa.Array,
    reading: str,
    source: str,
    sides: Sequence[str],
    *,
    zero_ties: bool,
) -> tuple[IntArray, FloatArray, list[str]]:
    """Return the outcome of every comparison, shares of a win of the left one, both (n_rows,), and numbers taken for sides.

    Outcomes are 0 left, 1 right, 2 tie, 3 both bad, -1 missing, -2 nobody chosen. A preference between 1, the left one, and 2,
    the right one, is a share; elsewhere shares are NaN. Numbers are listed that nobody said to be sides.

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
    sides : sequence of str
        The columns of the left and the right one.
    zero_ties : bool
        Whether 0 is known to be a tie, and no code.
    """
    codes, words = code_column(column, "winner")
    texts = found = as_text(words).to_pylist()
    meanings = read_meanings(reading)
    place = {name: n for n, name in enumerate(names.to_pylist())}
    told: list[str | None] = [None] * len(found)  # what a user says that each means
    if meanings:  # a number that has none given is a code as well, and no side
        by_number = {number_key(code) or code: word for code, word in meanings.items()}
        told = [meanings.get(text, by_number.get(number_key(text) or text)) for text in found]
        if {"-", "+"} & meanings.keys():
            signs = _signs(["0" if _is_nobody(word) else text for text, word in zip(found, told, strict=True)])
            told = [meanings.get(sign) if word is None else word for sign, word in zip(signs, told, strict=True)]
        own = ["" if number_of(text) is not None and text not in place else text for text in found]
        texts = [word if meaning is None else meaning for word, meaning in zip(own, told, strict=True)]
        reading = "side" if any(plain_word(word) in SIDE_WORDS for word in meanings.values()) else "auto"
    if reading != "name" and (preferences := _preferences(texts, names, zero_ties=zero_ties)) is not None:
        share = preferences[codes]
        outcome = np.select([np.isnan(share), share == 1, share == 0, share == 0.5], [MISSING, LEFT, RIGHT, TIED], LEFT)
        return outcome, np.where((outcome == LEFT) & (share < 1), share, np.nan), []
    plain = [_word_of(text) for text in texts]
    unanswered = [word in NO_ANSWER and text not in place for word, text in zip(plain, texts, strict=True)]
    given = ~np.array([*unanswered, True])[codes]
    bare = [number_of(text) is not None and text not in place and word is None for text, word in zip(found, told, strict=True)]
    item = np.array([*(place.get(text, -1) if word is None else -1 for text, word in zip(texts, told, strict=True)), -1])[codes]
    side = np.array([*(SIDE_WORDS.get(word, -1) for word in plain), -1])[codes]
    tie = np.array([*(TIE_WORDS.get(word, -1) for word in plain), -1])[codes]
    nobody = np.array([*map(_is_nobody, told), False])[codes]
    given &= ~nobody
    by_name = np.select([item < 0, item == left, item == right], [tie, LEFT, RIGHT], -1)
    by_side = np.where(side >= 0, side, tie)
    able = {"name": bool((by_name[given] >= 0).all()), "side": bool((by_side[given] >= 0).all())}
    unsaid = reading == "auto"
    if unsaid:
        if able["name"] and able["side"] and (by_name[given] != by_side[given]).any():
            raise DataError(
                f"The winners in {shown(source)} can be read as sides or as names of what was compared, which differ; "
                "say which with --winners side or --winners name."
            )
        reading = "side" if (by_side[given] < 0).sum() <= (by_name[given] < 0).sum() else "name"
    winners = by_side if reading == "side" else by_name
    bad = np.flatnonzero(given & (winners < 0))
    if len(bad):
        if any(bare[code] for code in codes[bad]):  # among others no number is a side
            bad = np.flatnonzero(given & ((winners < 0) | np.array([*bare, False])[codes]))
        row = int(bad[0])
        pair = " and ".join(
            "an empty cell" if side[row] < 0 else shown(names[int(side[row])].as_py()) for side in (left, right)
        )
        numbers = [text for text in found if number_of(text) is not None]
        strange = in_natural_order({*(found[code] for code in codes[bad]), *numbers} - place.keys())
        more = f" ({len(bad):,} rows are wrong)" if len(bad) > 1 else ""
        raise DataError(
            f"The winner in data row {row + 1} of {shown(source)} is {shown(found[codes[row]])}, which is neither of the two "
            f"compared ({pair}) nor left, right, tie or both bad{more}{_which_is_left(sides)}; correct it"
            f"{_what_signs_mean(found) or _what_codes_mean(strange)}."
        )
    taken = [text for text, number in zip(found, bare, strict=True) if number and unsaid and reading == "side"]
    return np.where(given, winners, np.where(nobody, NOBODY, MISSING)), np.full(len(winners), np.nan), in_natural_order(taken)


def _which_is_left(sides: Sequence[str]) -> str:
    """Return which column is the left one, after a semicolon; nothing where they are called left and right.

    >>> _which_is_left(["model_b", "model_a"]), _which_is_left(["both", "both"]), _which_is_left(["Left", "Right"])
    ("; left is the column 'model_b', right 'model_a'", "; left is the first of the two in 'both', right the second", '')
    """
    if [plain_word(side) for side in sides] == ["left", "right"]:
        return ""
    left, right = map(shown, sides)
    if left == right:
        return f"; left is the first of the two in {left}, right the second"
    return f"; left is the column {left}, right {right}"


def one_side_said(column: ArrowColumn, name: str, side: int, sides: Sequence[str]) -> str:
    """Return the sentence that a column was taken to say whether one side won, and the options of what else it may say.

    >>> one_side_said(pa.array([0, 1]), "is_A_better", LEFT, ["model_A", "model_B"])[:70]
    "'is_A_better' was taken to say whether the left one ('model_A') won; i"
    >>> one_side_said(pa.array([True]), "is_B_better", RIGHT, ["model_A", "model_B"])[-21:]
    "-winners 'true=left'."
    """
    meanings = read_meanings(YES_OF_SIDE[side])
    found = in_natural_order([text for text in as_text(pc.unique(column)).to_pylist() if text is not None])
    known = {text: meanings[key] for text in found if (key := number_key(text) or text) in meanings}
    turned = ",".join(f"{text}={'right' if word == 'left' else 'left'}" for text, word in known.items())
    return (
        f"{shown(name)} was taken to say whether the {('left', 'right')[side]} one ({shown(sides[side])}) won; if it says "
        f"something else, say what, such as --winners '{turned}'."
    )


def _is_nobody(word: str | None) -> bool:
    """Return whether a user says of a code that nobody was chosen."""
    return word is not None and MEANINGS[plain_word(word)] == NOBODY


def numbers_said(numbers: Sequence[str], sides: Sequence[str]) -> list[str]:
    """Return a sentence on numbers that were taken for sides, unless the sides' own names number them.

    >>> numbers_said(["1", "2"], ["model_a", "model_b"])[0].partition(";")[0]
    "The winners '1' and '2' were taken for the left and the right one ('model_a' and 'model_b')"
    >>> numbers_said(["1", "2"], ["model_1", "model_2"])
    []
    """
    if not numbers or all(str(n) in name_parts(side) for n, side in enumerate(sides, 1)):
        return []
    taken = {SIDE_WORDS[_word_of(number)]: number for number in sorted(numbers, reverse=True)}
    which, one = sorted(taken), len(taken) == 1
    codes, ends, names = (
        joined(words)
        for words in zip(
            *((shown(taken[side]), ("the left", "the right")[side], shown(sides[side])) for side in which), strict=True
        )
    )
    was, it = ("was", "it means") if one else ("were", "they mean")
    return [
        f"The winner{'' if one else 's'} {codes} {was} taken for {ends} one ({names}); if {it} something else, say what, such "
        "as --winners '1=left,2=tie'."
    ]


def _signs(texts: list[str]) -> list[str]:
    """Return the signs of numbers, 0 for nought; texts as they are where one of them is no number.

    >>> _signs(["-0.5", "0.0", "3"]), _signs(["-", "3"])
    (['-', '0', '+'], ['-', '3'])
    """
    values = [number_of(text.replace("\N{MINUS SIGN}", "-")) for text in texts]
    return texts if None in values else ["-" if (value or 0) < 0 else "+" if value else "0" for value in values]


def _what_signs_mean(texts: list[str]) -> str:
    """Return how to say what numbers below and above nought mean, where there are both; nothing where they may be codes.

    Few numbers may be codes, such as -1, 0, 1 and 2, unless they reach as far below nought as above, as from -2 to 2.

    >>> [bool(_what_signs_mean(texts)) for texts in (["-0.5", "3"], ["-2", "-1", "2"], ["-1", "0", "1"], ["-1", "0", "1", "2"])]
    [True, True, False, False]
    """
    numbers = {number for text in texts if (number := number_of(text.replace("\N{MINUS SIGN}", "-"))) is not None}
    if not {"-", "+"} <= {*_signs(texts)} <= {"-", "0", "+"}:
        return ""
    whole = all(number.is_integer() for number in numbers)
    if whole and len(numbers) <= MOST_CODES and not max(numbers) == -min(numbers) > 1:
        return ""
    return (
        f", or, if a number below nought means that the left one is better, say --winners '{BELOW_IS_LEFT}'; if the right one, "
        f"say --winners '{BELOW_IS_RIGHT}'"
    )


def _what_codes_mean(strange: list[str]) -> str:
    """Return what else can be done about words of winners that nobody knows, codes among them if they can be written down.

    >>> _what_codes_mean(["P"])[-7:], _what_codes_mean(["P, Q"])
    ("'P=...'", ', or leave the cell empty if there was none')
    """
    if not 0 < len(strange) <= MOST_CODES or any(code != code.strip() or {",", "'"} & set(code) for code in strange):
        return ", or leave the cell empty if there was none"
    return (
        f", or, if {listed(strange)} {'is a code' if len(strange) == 1 else 'are codes'}, say whether left, right, tie, "
        f"both bad or none is meant: --winners '{','.join(f'{code}=...' for code in strange)}'"
    )


def read_meanings(reading: str) -> dict[str, str]:
    """Return what codes of winners mean, as a user wrote it down; empty where winners are read as they stand.

    The codes - and + stand for numbers below and above nought, however large, where all winners are numbers.

    >>> read_meanings("P=left, I=tie, skip=none"), read_meanings("side")
    ({'P': 'left', 'I': 'tie', 'skip': 'none'}, {})
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
        if (number_key(code) or code) in {number_key(known) or known for known in meanings}:
            raise ParameterError(f"--winners says twice what {shown(code)} means; leave one of the two out.")
        if plain_word(word) not in MEANINGS:
            raise ParameterError(f"--winners says what codes mean: left, right, tie, both bad or none, not {shown(word)}.")
        meanings[code] = word
    return meanings


def check_signs(reading: str, name: str) -> None:
    """Refuse to take for sides or names what is the difference between the numbers of two columns, which has a sign alone."""
    if reading != "auto" and (reading in WINNER_READINGS or not read_meanings(reading).keys() <= {"-", "0", "+"}):
        raise ParameterError(
            f"{shown(name)} are two columns of numbers, of which the larger one wins; leave --winners out, or, where the "
            f"smaller one wins, say --winners '{BELOW_IS_LEFT}'."
        )


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
