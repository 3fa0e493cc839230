"""What every reader of an export returns, and the builder that most of them use."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from crowdassay.errors import DataError, ParameterError
from crowdassay.io.native import Column
from crowdassay.io.values import listed, shown, shown_file, text_of

NO_ANSWER = "no answer"
SEVERAL = "more than one choice"


@dataclass(frozen=True)
class Wanted:
    """What the user asked of an export.

    Attributes
    ----------
    question : str, optional
        Which question to take when there are several.
    item : str, optional
        Which field names the item, instead of the tool's own id.
    predictions : bool
        Whether to take model predictions as workers.
    missing : tuple of str
        Labels that stand for none given.
    """

    question: str | None = None
    item: str | None = None
    predictions: bool = False
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Import:
    """Rows taken from a file, before they are encoded.

    Attributes
    ----------
    item, worker, label : pyarrow.Array or pyarrow.ChunkedArray, length n_rows
    columns : dict
        Where each was found.
    question : str, optional
        The question whose answers the labels are.
    dropped : dict
        Number of judgements left out already, by reason.
    gold : pyarrow.Table, optional
        Columns ``item`` and ``label``: known classes that the export carries.
    notes : tuple of str
    time, weight : pyarrow.Array or pyarrow.ChunkedArray, optional
    """

    item: Column
    worker: Column
    label: Column
    columns: Mapping[str, str]
    question: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    gold: pa.Table | None = None
    notes: tuple[str, ...] = ()
    time: Column | None = None
    weight: Column | None = None


class Rows:
    """Gather judgements one by one, each with its answers to every question, and choose the question at the end.

    >>> rows = Rows()
    >>> rows.add("t1", "ann", {"tone": ["warm"], "topic": ["cats", "dogs"]})
    >>> rows.finish("export.json", Wanted(question="tone"), {}).label.to_pylist()
    ['warm']
    """

    def __init__(self) -> None:
        self._judgements: list[tuple[Any, Any, Mapping[str, Sequence[Any]]]] = []
        self._predictions: list[tuple[Any, Any, Mapping[str, Sequence[Any]]]] = []
        self._gold: list[tuple[Any, Mapping[str, Sequence[Any]]]] = []
        self.dropped: Counter[str] = Counter()

    def add(self, item: Any, worker: Any, answers: Mapping[str, Sequence[Any]]) -> None:
        """Add one judgement: for each question the list of what was chosen."""
        self._judgements.append((item, worker, answers))

    def add_prediction(self, item: Any, version: Any, answers: Mapping[str, Sequence[Any]]) -> None:
        """Add what a model said; it counts only on request."""
        self._predictions.append((item, f"model:{as_name(version) or 'unnamed'}", answers))

    def add_gold(self, item: Any, answers: Mapping[str, Sequence[Any]]) -> None:
        """Add known answers."""
        self._gold.append((item, answers))

    def drop(self, reason: str, count: int = 1) -> None:
        """Count judgements left out."""
        if count:
            self.dropped[reason] += count

    def has_workers(self) -> bool:
        """Tell whether any judgement says who gave it."""
        return any(worker is not None for _, worker, _ in self._judgements)

    def finish(self, source: str, wanted: Wanted, columns: Mapping[str, str], notes: Iterable[str] = ()) -> Import:
        """Choose the question and return its answers; judgements without exactly one answer are counted as dropped."""
        notes, judgements = list(notes), self._judgements
        if wanted.predictions:
            if not self._predictions:
                raise DataError(f"There are no model predictions in {shown_file(source)}; leave out --predictions.")
            judgements = judgements + self._predictions
        elif self._predictions:
            count = f"{len(self._predictions):,}"
            notes.append(f"Model predictions were left out: {count}; --predictions takes each model as a worker.")
        questions = dict.fromkeys(question for _, _, answers in judgements for question in answers)
        question = choose_question(list(questions), wanted.question, source)
        dropped, kept = Counter(self.dropped), []
        for item, worker, answers in judgements:
            chosen = answers.get(question, ())
            if len(chosen) == 1:
                kept.append((as_name(item), as_name(worker), as_name(chosen[0])))
            else:
                dropped[SEVERAL if chosen else NO_ANSWER] += 1
        known = [
            (as_name(item), as_name(answers[question][0]))
            for item, answers in self._gold
            if len(answers.get(question, ())) == 1
        ]
        item, worker, label = (text_column(values, source) for values in (zip(*kept, strict=True) if kept else ([], [], [])))
        return Import(item, worker, label, dict(columns), question, dict(dropped), gold_table(known, source), tuple(notes))


def choose_question(questions: Sequence[str], wanted: str | None, source: str) -> str:
    """Return the question that was asked for, or the only one there is."""
    if not questions:
        raise DataError(f"There were no labels found in {shown_file(source)}: it holds no answer to any question with classes.")
    if wanted is None:
        if len(questions) > 1:
            raise ParameterError(
                f"{shown_file(source)} holds several questions ({listed(questions)}); choose one with --question."
            )
        return questions[0]
    if wanted not in questions:
        near = difflib.get_close_matches(wanted, questions, 1)
        hint = f"; did you mean {shown(near[0])}?" if near else "."
        raise ParameterError(f"There is no question {shown(wanted)} in {shown_file(source)}, only {listed(questions)}{hint}")
    return wanted


def as_name(value: Any) -> str | None:
    """Write an id or label as text; None for what is missing.

    >>> as_name(7), as_name(True), as_name(["a"]), as_name(None)
    ('7', 'true', '["a"]', None)
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, list | dict) else text_of(value)


def as_list(value: Any) -> list[Any]:
    """Return what was chosen as a list: a list as it is, nothing as an empty one."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; none if it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def mapping(value: Any) -> dict[str, Any]:
    """Return an object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def text_column(values: Iterable[str | None], source: str) -> pa.Array:
    """Make an Arrow column of texts."""
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        raise DataError(
            f"A text in {shown_file(source)} holds half of a surrogate pair; correct it, or export again."
        ) from None


def gold_table(pairs: Iterable[tuple[str | None, str | None]], source: str) -> pa.Table | None:
    """Make a table of known classes, each pair once; None if there are none."""
    pairs = [pair for pair in dict.fromkeys(pairs) if pair[0] is not None and pair[1] is not None]
    if not pairs:
        return None
    items, labels = zip(*pairs, strict=True)
    return pa.table({"item": text_column(items, source), "label": text_column(labels, source)})
