"""Ratings with any number of facets, and responses of workers to items scored from 0 up: who, what, and how high."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn, without
from crowdassay.labels.classes import bin_limits, bin_places
from crowdassay.labels.extras import read_times
from crowdassay.labels.frames import take_labels
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import MAX_CLASSES, similar_names
from crowdassay.labels.roles import ROLES, Role
from crowdassay.labels.study_columns import Columns, encode_names, encode_numbers, kept_rows, read_columns, take
from crowdassay.labels.values import counted, listed, number_of, shown
from crowdassay.read_options import Opening, ReadOptions
from crowdassay.results.saved.study import check_codes, check_texts

MOST_GRADES = 20  # different words that may be grades
LARGEST_SCALE = 100  # different scores


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings, one row each.

    Attributes
    ----------
    facets : tuple of str
        What the facets are called.
    code : ndarray of int64, shape (n_ratings, n_facets)
    names : tuple of pyarrow.Array
        The elements of every facet.
    score : ndarray of int64, shape (n_ratings,)
        0, 1 ... in the order of `values`.
    values : ndarray of float, shape (n_scores,)
        The ratings themselves, as they were given.
    group : ndarray of int64, shape (n_ratings,), optional
    groups : pyarrow.Array, optional
    time : ndarray of float, shape (n_ratings,), optional
        In days where dates were given, else in the unit of the numbers.
    question : ndarray of int64, shape (n_ratings,), optional
        Which ratings answer one question and may depend on each other; from 0 on.
    dropped : dict
        Rows left out, by reason.
    """

    facets: tuple[str, ...]
    code: IntArray
    names: tuple[pa.Array, ...]
    score: IntArray
    values: FloatArray
    group: IntArray | None = None
    groups: pa.Array | None = None
    time: FloatArray | None = None
    time_unit: str = ""
    source: str = "arrays"
    frame: str = "pyarrow"
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    question: IntArray | None = None

    @property
    def n_ratings(self) -> int:
        return len(self.score)

    def check(self) -> None:
        """Raise ValueError where codes name nothing, as in a file that another hand has made."""
        sizes, length = [len(names) for names in self.names], self.n_ratings
        if self.code.shape != (length, len(self.facets)) or len(sizes) != len(self.facets):
            raise ValueError("facets without codes")
        check_texts(*self.names)
        for f, size in enumerate(sizes):
            check_codes(self.code[:, f], size, length)
        check_codes(self.score, len(self.values), length)
        if self.question is not None:
            check_codes(self.question, length, length)
        if self.group is not None and self.groups is not None:
            check_texts(self.groups)
            check_codes(self.group, len(self.groups), length)

    def table_of(self, steps: int | None) -> IntArray:
        """Return which table of thresholds each rating comes from, shape (n_ratings,): one for all, or one for each element."""
        return np.zeros(self.n_ratings, np.int64) if steps is None else self.code[:, steps]

    def facet(self, name: str) -> int:
        """Return the place of a facet."""
        if name not in self.facets:
            raise ParameterError(f"There is no facet {shown(name)}; the facets are {listed(self.facets)}.")
        return self.facets.index(name)


def read_ratings(
    data: object,
    facets: Sequence[str],
    *,
    score_column: str | None = None,
    group_column: str | None = None,
    time_column: str | None = None,
    question_column: str | None = None,
    allow_drops: bool = False,
    bins: object = (),
    missing: object = (),
    classes: object = None,
    sheet: str | None = None,
    encoding: str | None = None,
    no_header: bool = False,
) -> Ratings:
    """Take ratings from a frame or a file.

    Parameters
    ----------
    data : frame, str or Path
    facets : sequence of str
        Columns that name what a rating is of: the rater, the thing rated, the criterion ...
    score_column : str, optional
        Found by name (``score``, ``rating``, ``label`` ...) when not given. Its values are numbers.
    group_column, time_column : str, optional
    question_column : str, optional
        Tells which ratings answer one question (or prompt), so that errors allow for their being alike; found by name when not
        given.
    allow_drops : bool
        Go on even if more than half of the rows miss a value.
    bins : int or list of numbers, optional
        How many classes to make of the ratings, as of a slider's, or the edges of the classes.
    missing : str or list of str, optional
        Ratings that stand for none given, such as -1.
    classes : list of str, optional
        Where ratings are words: all of them, the lowest first. They count as 1, 2 ...
    sheet : str, optional
        Which sheet of a workbook to read.
    encoding : str, optional
        How text is written that is not UTF-8, such as windows-1252.
    no_header : bool
        The first row names no columns: they are named by their number, from 1.
    """
    facets = check_facets(facets)
    beside = [Role(name, f"--{name}", required=False) for name in ("group", "time")]
    roles = [*(Role(f"facet {name}", "--facets") for name in facets), ROLES["score"], *beside, ROLES["question"]]
    given = {f"facet {name}": name for name in facets} | {
        "score": score_column,
        "group": group_column,
        "time": time_column,
        "question": question_column,
    }
    try:
        columns = read_columns(data, roles, given, "ratings", Opening(sheet, encoding, no_header))
    except DataError:  # a prompt may be a list of messages, and nobody asked for it
        if question_column is not None:
            raise
        columns = read_columns(data, roles[:-1], given, "ratings", Opening(sheet, encoding, no_header))
    wanted = ReadOptions.of({"bins": bins, "missing": missing, "classes": classes})
    score, notes = _as_numbers(without(columns.table["score"], wanted.missing), wanted.classes, columns.source)
    columns = replace(columns, table={**columns.table, "score": score}, notes=(*columns.notes, *notes))
    return encode_ratings(columns, facets, allow_drops=allow_drops or bool(wanted.missing), bins=wanted.bins)


def encode_ratings(columns: Columns, facets: tuple[str, ...], *, allow_drops: bool, bins: tuple[str, ...] = ()) -> Ratings:
    """Turn columns into codes; rows that miss a value are left out and counted."""
    coded = [encode_names(columns.table[f"facet {name}"], name) for name in facets]
    raw = encode_numbers(columns.table["score"], "score", columns.source)
    missing: dict[str, BoolArray] = {name: codes < 0 for name, (codes, _) in zip(facets, coded, strict=True)}
    missing["score"] = np.isnan(raw)
    group, groups, time, unit = None, None, None, ""
    if "group" in columns.table:
        group, groups = encode_names(columns.table["group"], "group")
        missing["group"] = group < 0
    if "time" in columns.table:
        missing["time"] = encode_names(columns.table["time"], "time")[0] < 0
    kept, dropped = kept_rows(missing, columns.source, "ratings", allow_drops=allow_drops)
    if "time" in columns.table:
        column = take(columns.table["time"], kept)
        numbers = number_of(str(column[0].as_py())) is not None
        found_times = read_times(column, columns.source)
        time = found_times.order.astype(float) if numbers else found_times.seconds / 86_400
        unit = f"unit of {columns.names['time']}" if numbers else "day"
    question = None
    if "question" in columns.table:
        codes_of = encode_names(columns.table["question"], "question")[0][kept]
        question = np.unique(np.where(codes_of < 0, -1 - np.arange(len(codes_of)), codes_of), return_inverse=True)[1].ravel()
    notes = [*columns.notes, *(note for _, names in coded for note in similar_names(names, "element"))]
    values, score = np.unique(_binned(raw[kept], bins, notes), return_inverse=True)
    if len(values) < 2:
        raise DataError(f"Every rating is {values[0]:g}; there is nothing to compare.")
    if len(values) > LARGEST_SCALE:
        raise DataError(
            f"The ratings take {len(values):,} different values, and a rating scale has at most {LARGEST_SCALE}; "
            "--bins 10 makes ten classes of them, if they are a slider's; or name the right column with --score-column."
        )
    codes, names = zip(*(_used(codes[kept], names) for codes, names in coded), strict=True)
    if group is not None and groups is not None:
        group, groups = _used(group[kept], groups)
    steps = np.diff(values)
    if not np.allclose(steps, steps[0]):
        notes.append(
            f"The ratings are {listed([f'{value:g}' for value in values], limit=12)}, which are not evenly spaced; each counts "
            "as one step above the one before it."
        )
    return Ratings(
        tuple(facets), np.column_stack(codes), tuple(names), score.astype(np.int64), values, group, groups, time, unit,
        columns.source, columns.frame, dropped, tuple(notes), question,
    )  # fmt: skip


def _as_numbers(score: ArrowColumn, classes: tuple[str, ...] | None, source: str) -> tuple[ArrowColumn, list[str]]:
    """Return ratings that are words as their places in the order given, from 1, with a note; numbers as they are.

    >>> _as_numbers(pa.array(["B", "A", None]), ("B", "A"), "x.csv")[0].to_pylist()
    ['1', '2', None]
    """
    codes, names = encode_names(score, "score")
    words = names.to_pylist()
    if classes is None:
        if 1 < len(words) <= MOST_GRADES and not any(number_of(word) is not None for word in words):
            raise DataError(
                f"The ratings of {shown(source)} are no numbers but {listed(words)}; give them in their order, the lowest "
                f"first, with --classes, such as --classes {shown(','.join(words))}."
            )
        return score, []
    places = {str(name).strip(): str(n) for n, name in enumerate(classes, 1)}
    if unknown := [word for word in words if word.strip() not in places]:
        raise DataError(
            f"The ratings of {shown(source)} hold {listed(unknown)}, which --classes does not name; name all of them."
        )
    numbers = pa.array([*(places[word.strip()] for word in words), None], pa.string())
    said = ", ".join(f"{name} = {n}" for name, n in places.items())
    return numbers.take(pa.array(np.where(codes < 0, len(words), codes))), [
        f"Ratings are words, and count as their places: {said}."
    ]


def _binned(ratings: FloatArray, bins: tuple[str, ...], notes: list[str]) -> FloatArray:
    """Return the middle of the class of each rating, and note the classes; without bins the ratings themselves."""
    if not bins:
        return ratings
    limits = bin_limits(ratings, bins)
    edges = ", ".join(f"{edge:g}" for edge in limits)
    notes.append(
        f"The ratings were put into {counted(len(limits) - 1, 'class')} with the edges {edges}; each counts as its middle."
    )
    return np.asarray((limits[1:] + limits[:-1])[bin_places(ratings, limits)] / 2)


def check_facets(facets: Sequence[str]) -> tuple[str, ...]:
    """Refuse fewer than two facets, or one named twice."""
    names = tuple(facets)
    if isinstance(facets, str) or len(names) < 2:
        raise ParameterError("At least two facets are needed, such as --facets rater,task.")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError(f"The facet {shown(twice[0])} is named twice.")
    return names


def object_facet(facets: Sequence[str], positive: Sequence[str]) -> int:
    """Return which facet is measured: the first named positive, or else the first that is not called like a rater.

    >>> object_facet(["rater", "task"], []), object_facet(["essay", "judge", "criterion"], [])
    (1, 0)
    """
    if positive:
        return list(facets).index(positive[0])
    return next((n for n, name in enumerate(facets) if not ROLES["worker"].is_named(name)), len(facets) - 1)


def _used(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Forget names that no kept row has."""
    used, codes = np.unique(codes, return_inverse=True)
    return codes.astype(np.int64), names.take(pa.array(used))


@dataclass(frozen=True, eq=False)
class Responses:
    """Scores of workers on items.

    Attributes
    ----------
    item, worker, score : ndarray of int64, shape (n_responses,)
    low, high : ndarray of int64, shape (n_items,)
        The lowest and highest score that an item can give.
    items, workers : pyarrow.Array
    frame : str
        Kind of frame in which results are handed back.
    """

    item: IntArray
    worker: IntArray
    score: IntArray
    low: IntArray
    high: IntArray
    items: pa.Array
    workers: pa.Array
    frame: str = "pyarrow"

    @property
    def n_steps(self) -> int:
        """The highest score: the number of steps from score to score."""
        return int(self.high.max())

    def counts(self) -> IntArray:
        """Count responses by item and score, shape (n_items, n_steps + 1)."""
        width = self.n_steps + 1
        return np.bincount(self.item * width + self.score, minlength=len(self.items) * width).reshape(-1, width)

    def check(self) -> None:
        """Raise ValueError where codes name nothing, as in a file that another hand has made."""
        length, n_items = len(self.score), len(self.items)
        check_codes(self.item, n_items, length)
        check_codes(self.worker, len(self.workers), length)
        check_codes(self.high, MAX_CLASSES + 1, n_items)
        check_codes(self.low, MAX_CLASSES + 1, n_items)
        check_codes(self.score, self.n_steps + 1, length)
        if ((self.score < self.low[self.item]) | (self.score > self.high[self.item])).any():
            raise ValueError("scores that their items cannot give")

    def possible_scores(self) -> BoolArray:
        """Mark the scores that an item can give, shape (n_items, n_steps + 1)."""
        scores = np.arange(self.n_steps + 1)
        return np.asarray((scores >= self.low[:, None]) & (scores <= self.high[:, None]))

    def possible_steps(self) -> BoolArray:
        """Mark the steps 1, 2 ... that an item has, shape (n_items, n_steps)."""
        possible = self.possible_scores()
        return possible[:, 1:] & possible[:, :-1]

    def on_one_scale(self) -> Responses:
        """Return the same responses with every item able to give scores up to the highest there is."""
        return replace(self, high=np.full_like(self.high, self.n_steps))


def read_responses(
    data: object, item_column: str | None = None, worker_column: str | None = None, score_column: str | None = None
) -> Responses:
    """Take scores 0, 1, 2 ... from a frame, a file or a triple (items, workers, scores).

    An item can give the scores from 0 to the highest seen on it.

    >>> read_responses((["a", "b", "a"], ["ann", "ann", "bob"], [0, 2, 1])).counts()
    array([[1, 1, 0], [0, 0, 1]])
    """
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    frame: Any = nw.from_native(data, pass_through=True)
    names = frame.columns if isinstance(frame, nw.DataFrame) else ()
    worker_column = "person" if worker_column is None and "person" in names else worker_column
    score_column = "score" if score_column is None and "score" in names else score_column
    columns = {"item_column": item_column, "worker_column": worker_column, "label_column": score_column}
    labels = take_labels(data, ReadOptions.of(columns))  # whoever answers an item again is measured by both
    score = np.array([_whole(name) for name in labels.class_names])[labels.label]
    low, high = np.zeros(labels.n_items, np.int64), np.ones(labels.n_items, np.int64)
    np.maximum.at(high, labels.label_item, score)
    who = labels.worker.astype(np.int64)
    return Responses(labels.label_item, who, score, low, high, labels.items, labels.workers, labels.frame)


def mark_responses(labels: Labels, truth: np.ndarray) -> Responses:
    """Mark labels right (1) or wrong (0) by class codes (n_items,); items without truth, -1, are left out."""
    right = (labels.label == truth[labels.label_item]).astype(np.int64)
    return _kept(labels, truth, right, np.zeros(labels.n_items, np.int64), np.ones(labels.n_items, np.int64))


def grade_responses(labels: Labels, truth: np.ndarray) -> Responses:
    r"""Score labels of ordered classes by closeness, :math:`K - 1 - |x_{ij} - y_j|`; items without truth are left out.

    An item whose truth lies inside the scale cannot be missed by K - 1, so it cannot give the lowest scores.
    """
    top = labels.n_classes - 1
    score = top - np.abs(labels.label - truth[labels.label_item])
    reach = np.maximum(truth, top - truth)
    return _kept(labels, truth, score, top - reach, np.full(labels.n_items, top))


def _kept(labels: Labels, truth: np.ndarray, score: np.ndarray, low: np.ndarray, high: np.ndarray) -> Responses:
    known = truth >= 0
    if not known.any():
        raise DataError("No item has a known class, so no label can be marked; give the truth of some items.")
    rows = known[labels.label_item]
    code = np.cumsum(known) - 1
    base = low[known].min()
    return Responses(
        code[labels.label_item[rows]],
        labels.worker[rows].astype(np.int64),
        score[rows].astype(np.int64) - base,
        (low[known] - base).astype(np.int64),
        (high[known] - base).astype(np.int64),
        labels.items.filter(pa.array(known)),
        labels.workers,
        labels.frame,
    )


def _whole(name: str) -> int:
    value = number_of(name)
    if value is None or not (0 <= value <= MAX_CLASSES and value.is_integer()):
        raise DataError(
            f"Scores must be whole numbers from 0 up, at most {MAX_CLASSES}, not {shown(name)}; to mark labels use from_fit."
        )
    return int(value)
