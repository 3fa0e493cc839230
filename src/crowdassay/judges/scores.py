"""Name what judges answer: classes, other words such as "unsure", and scores, put together where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError
from crowdassay.labels.values import counted, shown

MOST_SCORES = 12  # different scores kept apart
BINS = 10
MOST_WORDS = 40  # other answers that are no numbers


def name_answers(
    meaning: Sequence[str], code: NDArray[np.integer], classes: tuple[str, ...], notes: list[str]
) -> tuple[tuple[str, ...], IntArray]:
    """Return the vocabulary of answers, the classes first, and the answer of every verdict.

    Parameters
    ----------
    meaning : sequence of str
        What each label code says.
    code : ndarray of int, shape (n_verdicts,)
    classes : tuple of str
    notes : list of str
        Grows by what was put together.

    Examples
    --------
    >>> name_answers(["fail", "unsure", "pass"], np.array([2, 0, 1]), ("pass", "fail"), [])
    (('pass', 'fail', 'unsure'), array([0, 1, 2]))
    """
    used = [meaning[k] for k in np.unique(code)]
    others = [word for word in dict.fromkeys(used) if word not in classes]
    numbers = {word: value for word in others if (value := as_number(word)) is not None}
    words = [word for word in others if word not in numbers]
    if len(words) > MOST_WORDS:
        raise DataError(
            f"Judges gave {len(words)} different answers that are neither classes nor numbers, such as {shown(words[0])}; "
            "are these whole texts? Take the verdict out of them first, or name its column with --label-column."
        )
    score_names = _binned(numbers, np.array([meaning[k] for k in code]), notes)
    names = list(dict.fromkeys(score_names[word] for word in sorted(numbers, key=numbers.__getitem__)))
    answers = (*classes, *names, *words)
    place = {name: number for number, name in enumerate(answers)}
    codes = np.array([place.get(score_names.get(word, word), -1) for word in meaning])
    if others:
        told = names if len(names) <= MOST_SCORES else [*names[:3], "…"]
        notes.append(
            f"Judges give {counted(len(answers) - len(classes), 'answer')} besides the classes "
            f"({', '.join([*told, *words][:14])}): what each means is learned from people's labels."
        )
    return answers, codes[code]


def as_number(word: str) -> float | None:
    """Return a word as a finite number, or None."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _binned(numbers: dict[str, float], said: NDArray[np.str_], notes: list[str]) -> dict[str, str]:
    """Return a name for each score: its own, or that of the tenth of all scores it lies in."""
    if len(numbers) <= MOST_SCORES:
        return {word: word for word in numbers}
    values = np.array([numbers[word] for word in said if word in numbers])
    edges = np.unique(np.quantile(values, np.arange(1, BINS) / BINS))
    at = {word: int(np.searchsorted(edges, value, side="right")) for word, value in numbers.items()}
    bounds = [
        f"below {edges[0]:g}",
        *(f"{a:g} to {b:g}" for a, b in pairwise(edges)),
        f"{edges[-1]:g} up",
    ]
    notes.append(f"{len(numbers)} different scores were put into {len(bounds)} ranges of about as many verdicts each.")
    return {word: bounds[number] for word, number in at.items()}
