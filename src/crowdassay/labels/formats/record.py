"""What every reader of an export returns: annotations with their answers to every question, of which one is chosen."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn, as_array
from crowdassay.labels.choices import JOINED, choices_of, refuse_answers_of_several, refuse_spans
from crowdassay.labels.formats.parse import as_name
from crowdassay.labels.report import all_left_out
from crowdassay.labels.values import as_text, counted, listed, shown, shown_file
from crowdassay.read_options import ReadOptions

NOT_ANSWERED = "no answer"
SEVERAL_CHOICES = "more than one choice"
YES, NO = "yes", "no"
BETWEEN = " / "  # an item and an option that is asked about


@dataclass(frozen=True)
class Import:
    """Rows taken from files, before they are encoded.

    Attributes
    ----------
    item, worker, label : pyarrow.Array or pyarrow.ChunkedArray, length n_rows
    columns : dict
        Where each was found.
    question : str, optional
        The question whose answers the labels are.
    dropped : dict
        Number of annotations left out already, by reason.
    gold : pyarrow.Table, optional
        Columns ``item`` and ``label``: known classes that the export carries.
    notes : tuple of str
    time, duration, weight : pyarrow.Array or pyarrow.ChunkedArray, optional
    text : pyarrow.Array or pyarrow.ChunkedArray, optional
        What the item of each row shows: a text or an address.
    about : pyarrow.Table, optional
        What else is known of items: their names, and a column for each fact, such as the model judged or the question answered.
    table : callable, optional
        Reads all columns of a plain table, to try which of them tell items apart where these were guessed.
    """

    item: ArrowColumn
    worker: ArrowColumn
    label: ArrowColumn
    columns: Mapping[str, str]
    question: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    gold: pa.Table | None = None
    notes: tuple[str, ...] = ()
    time: ArrowColumn | None = None
    duration: ArrowColumn | None = None
    weight: ArrowColumn | None = None
    text: ArrowColumn | None = None
    table: Callable[[], pa.Table] | None = None
    about: pa.Table | None = None


class Annotation(NamedTuple):
    """One annotation with its answers, and when it was given and how many seconds it took where that is known."""

    item: Any
    worker: Any
    answers: Mapping[str, Sequence[Any]]
    time: Any = None
    duration: Any = None


class Annotations:
    """Gather annotations one by one, each with its answers to every question.

    Parameters
    ----------
    item, worker, label : str
        Where each is found; an asterisk stands for the question.
    one_each : bool
        Whether an annotation answers one question alone, so that it has not left the others open.

    Examples
    --------
    >>> rows = Annotations("id", "who", "answers.*")
    >>> rows.add("t1", "ann", {"tone": ["warm"], "topic": ["cats", "dogs"]})
    >>> finish([rows], ReadOptions(question="tone"), "export.json").label.to_pylist()
    ['warm']
    """

    def __init__(self, item: str, worker: str, label: str = "*", *, one_each: bool = False) -> None:
        self.columns, self.one_each = {"item": item, "worker": worker, "label": label}, one_each
        self.annotations: list[Annotation] = []
        self.predictions: list[Annotation] = []
        self.gold: list[tuple[Any, Mapping[str, Sequence[Any]]]] = []
        self.dropped: Counter[str] = Counter()
        self.notes: list[str] = []
        self.tallies: Counter[tuple[str, str]] = Counter()  # by a sentence with braces, and what it counts
        self.texts: dict[str | None, str] = {}
        self.facts: dict[str | None, dict[str, Any]] = {}

    def add(self, item: Any, worker: Any, answers: Mapping[str, Sequence[Any]], time: Any = None, duration: Any = None) -> None:
        """Add one annotation: for each question the list of what was chosen."""
        self.annotations.append(Annotation(item, worker, answers, time, duration))

    def add_prediction(self, item: Any, version: Any, answers: Mapping[str, Sequence[Any]]) -> None:
        """Add what a model said; it counts only on request."""
        self.predictions.append(Annotation(item, f"model:{as_name(version) or 'unnamed'}", answers))

    def add_gold(self, item: Any, answers: Mapping[str, Sequence[Any]]) -> None:
        """Add known answers."""
        self.gold.append((item, answers))

    def add_text(self, item: Any, text: Any) -> None:
        """Remember what an item shows."""
        if isinstance(text, str) and text.strip():
            self.texts.setdefault(as_name(item), text)

    def add_facts(self, item: Any, **facts: Any) -> None:
        """Remember what else is known of an item, by which items may be grouped."""
        self.facts.setdefault(as_name(item), {}).update(facts)

    def drop(self, reason: str, count: int = 1) -> None:
        """Count annotations left out."""
        self.dropped[reason] += count

    def note(self, sentence: str) -> None:
        """Add what the user should know."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    @classmethod
    def joined(cls, parts: Sequence[Annotations]) -> Annotations:
        """Join what several files hold; what was counted in each is noted once."""
        whole = cls(**parts[0].columns, one_each=parts[0].one_each)
        for part in parts:
            whole.annotations += part.annotations
            whole.predictions += part.predictions
            whole.gold += part.gold
            whole.dropped += part.dropped
            whole.tallies += part.tallies
            whole.texts |= part.texts
            whole.facts |= part.facts
        for (sentence, what), count in whole.tallies.items():
            whole.note(sentence.format(counted(count, what)))
        for part in parts:
            for note in part.notes:
                whole.note(note)
        return whole

    def has_workers(self) -> bool:
        """Return whether any annotation says who gave it."""
        return any(annotation.worker is not None for annotation in self.annotations)


def finish(parts: Sequence[Annotations], wanted: ReadOptions, source: str) -> Import:
    """Choose the question, over all files of an export, and return its answers.

    Annotations without an answer are counted as dropped. So are those with several, unless ``wanted.options`` says what to
    make of them; where these are more than half, or all that an item or an option has, that is an error.
    """
    export = Annotations.joined(parts)
    annotations = _with_predictions(export, wanted, source)
    if export.dropped and not any(annotation.answers for annotation in annotations):
        raise all_left_out({**export.dropped, **({NOT_ANSWERED: len(annotations)} if annotations else {})}, source)
    question = _question(annotations, export.columns["label"], wanted.question, source)
    if export.one_each:
        annotations = [annotation for annotation in annotations if question in annotation.answers]
    chosen = [annotation.answers.get(question, ()) for annotation in annotations]
    if wanted.options:  # several choices in one text are taken apart
        apart = choices_of({choice for choices in chosen for choice in choices if isinstance(choice, str)})
        several = [[apart[choice] if isinstance(choice, str) else [choice] for choice in choices] for choices in chosen]
        chosen = [[choice for choices in answer for choice in choices] for answer in several]
    elif not wanted.allow_drops:
        _refuse_losses(annotations, chosen, question, source)
    every = list(dict.fromkeys(as_name(choice) for choices in chosen for choice in choices if choice is not None))
    kept: list[tuple[Any, ...]] = []
    for annotation, choices in zip(annotations, chosen, strict=True):
        labels = labels_of(annotation.item, choices, wanted.options, every)
        if not labels:
            export.drop(SEVERAL_CHOICES if choices else NOT_ANSWERED)
        kept += [(item, as_name(annotation.worker), label, annotation.time, annotation.duration) for item, label in labels]
    if export.dropped[SEVERAL_CHOICES]:
        export.note(f"To keep answers with {SEVERAL_CHOICES}, say --options each, or --options set.")
    if wanted.options == "each":
        export.note(_each_note(every, shown(question)))
    known = (
        pair for item, answers in export.gold for pair in labels_of(item, answers.get(question, ()), wanted.options, every)
    )
    item, worker, label, time, duration = (list(column) for column in zip(*kept, strict=True)) if kept else ([],) * 5
    return Import(
        text_column(item, source),
        text_column(worker, source),
        text_column(label, source),
        {**export.columns, "label": export.columns["label"].replace("*", question)},
        question,
        {reason: count for reason, count in export.dropped.items() if count},
        gold_table(known, source),
        tuple(export.notes),
        time=_column(time, source),
        duration=_column(duration, source),
        text=_column([export.texts.get(name) for name in item] if wanted.options != "each" else [], source),
        about=_about(export, source) if wanted.options != "each" else None,
    )


def with_options(rows: Import, how: str) -> Import:
    """Return rows of a table whose labels may name several choices, with what ``--options`` makes of them.

    >>> rows = Import(pa.array(["i", "i"]), pa.array(["ann", "bob"]), pa.array(["[A] [B]", "[B] [A]"]), {})
    >>> with_options(rows, "set").label.to_pylist(), with_options(rows, "each").item.to_pylist()
    (['A|B', 'A|B'], ['i / A', 'i / B', 'i / A', 'i / B'])
    """
    coded = as_text(as_array(rows.label)).dictionary_encode()
    refuse_spans(coded.dictionary.to_pylist())
    refuse_answers_of_several(coded.dictionary.to_pylist())
    apart = list(choices_of(coded.dictionary.to_pylist()).values())
    every = sorted({choice for choices in apart for choice in choices})
    codes = coded.indices.fill_null(-1).to_numpy()
    answered = np.array([*map(bool, apart), False])[codes]
    kept, given = np.flatnonzero(answered), codes[answered]
    dropped = {**rows.dropped, NOT_ANSWERED: len(codes) - len(kept)} if len(kept) < len(codes) else rows.dropped
    if how == "set":
        sets = pa.array([JOINED.join(sorted(set(choices))) for choices in apart], pa.string())
        return replace(rows, **_taken(rows, kept), dropped=dropped, label=sets.take(pa.array(given)))
    says = np.array([[option in choices for option in every] for choices in apart], int).reshape(len(apart), len(every))
    taken = _taken(rows, np.repeat(kept, len(every)))
    options = pa.array(every, pa.string()).take(pa.array(np.tile(np.arange(len(every)), len(kept))))
    taken |= {"item": pc.binary_join_element_wise(as_text(as_array(taken["item"])), options, BETWEEN), "text": None}
    label = pa.array([NO, YES]).take(pa.array(says[given].ravel()))
    return replace(rows, **taken, dropped=dropped, label=label, notes=(*rows.notes, _each_note(every, "the label")))


def _taken(rows: Import, places: IntArray) -> dict[str, Any]:
    columns = {name: getattr(rows, name) for name in ("item", "worker", "time", "duration", "weight", "text")}
    return {name: None if column is None else column.take(pa.array(places)) for name, column in columns.items()}


def _each_note(every: Sequence[str | None], question: str) -> str:
    return (
        f"Each of the {counted(len(every), 'option')} of {question} became a yes/no question: an item is named after the item "
        "and the option."
    )


def _about(export: Annotations, source: str) -> pa.Table | None:
    """Return what is known of each item, a column for each fact after the item's name."""
    names = list(dict.fromkeys(name for facts in export.facts.values() for name in facts))
    columns = [list(export.facts), *([as_name(facts.get(name)) for facts in export.facts.values()] for name in names)]
    return facts_table(names, columns, source) if names else None


def facts_table(names: Sequence[str], columns: Iterable[Iterable[str | None]], source: str) -> pa.Table:
    """Make a table of what is known of items, whose own names are the first of the columns."""
    return pa.Table.from_arrays([text_column(column, source) for column in columns], ["item", *names])


def _with_predictions(export: Annotations, wanted: ReadOptions, source: str) -> list[Annotation]:
    """Return the annotations, with those of models only on request."""
    if wanted.predictions:
        if not export.predictions:
            raise DataError(f"There are no model predictions in {shown_file(source)}; leave out --predictions.")
        return export.annotations + export.predictions
    if export.predictions:
        count = len(export.predictions)
        export.note(f"Model predictions were left out: {count:,}; --predictions takes each model as a worker.")
    return export.annotations


def _question(annotations: Sequence[Annotation], column: str, asked: str | None, source: str) -> str:
    """Return the question whose answers are the labels; it may be asked for as the export's column is named."""
    every = dict.fromkeys(question for annotation in annotations for question in annotation.answers)
    answered = {question for annotation in annotations for question, chosen in annotation.answers.items() if chosen}
    questions = [question for question in every if question in answered] or list(every)  # what nobody answered is none
    if asked is not None and asked not in questions:
        asked = asked.removeprefix(column.split("*", maxsplit=1)[0])
    return choose_question(questions, asked, source)


def labels_of(item: Any, choices: Sequence[Any], options: str | None, every: Sequence[str | None]) -> list[tuple[Any, Any]]:
    """Return item and label of an annotation: of its only choice, of its set of choices, or yes or no for each option.

    >>> labels_of("t", ["a", "b"], None, ["a", "b", "c"]), labels_of("t", ["b", "a"], "set", ["a", "b", "c"])
    ([], [('t', 'a|b')])
    >>> labels_of("t", ["a"], "each", ["a", "b"])
    [('t / a', 'yes'), ('t / b', 'no')]
    """
    name, names = as_name(item), [as_name(choice) for choice in choices]
    if not names:
        return []
    if options == "each":
        return [(None if name is None else f"{name}{BETWEEN}{one}", YES if one in names else NO) for one in every]
    if options == "set":
        return [(name, JOINED.join(sorted({one for one in names if one is not None})) or None)]
    return [(name, names[0])] if len(names) == 1 else []


def _refuse_losses(annotations: Sequence[Annotation], chosen: Sequence[Sequence[Any]], question: str, source: str) -> None:
    """Stop where leaving out annotations with several choices would lose more than half of them, or an item or option whole."""
    several = [as_name(one.item) for one, choices in zip(annotations, chosen, strict=True) if len(choices) > 1]
    if not several:
        return
    single = {as_name(one.item) for one, choices in zip(annotations, chosen, strict=True) if len(choices) == 1}
    alone = {as_name(choices[0]) for choices in chosen if len(choices) == 1}
    options = {as_name(choice) for choices in chosen if len(choices) > 1 for choice in choices} - alone
    answered, gone = sum(bool(choices) for choices in chosen), set(several) - single
    if len(several) * 2 <= answered and not gone and not options:
        return
    lost = [counted(len(names), what) for names, what in ((gone, "item"), (options, "option")) if names]
    items = f", and {' and '.join(lost)} would be lost with them" if lost else ""
    raise DataError(
        f"In {shown_file(source)}, {len(several):,} of {counted(answered, 'answer')} to {shown(question)} name several choices"
        f"{items}; --options each asks yes or no of each option, --options set takes the set as a class, and --allow-drops "
        "leaves them out."
    )


def choose_question(questions: Sequence[str], wanted: str | None, source: str) -> str:
    """Return the question that was asked for, or the only one there is."""
    if not questions:
        raise DataError(f"No labels found in {shown_file(source)}: it holds no answer to any question with classes.")
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


def _column(values: Sequence[Any], source: str) -> pa.Array | None:
    """Make an Arrow column of texts; None where no value is known."""
    if all(value is None for value in values):
        return None
    return text_column([as_name(value) for value in values], source)
