"""Take verdicts apart: the true classes, what judges answered (scores too), what people said, and which class is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import counted, listed, no_such, number_of, shown
from crowdassay.notes import Note, NoteKind

MOST_TRUE_CLASSES = 50  # above this, what people wrote is free text
ABSTAINING = frozenset(
    (
        "__invalid__", "abstain",
        "cannot judge", "cannot say", "can't say", "do not know", "don't know", "error", "idk", "invalid", "n/a",
        "na", "nan", "no answer", "none given", "not sure", "parse error", "refusal", "refused", "skip", "skipped", "unclear",
        "unknown", "unparsable", "unparseable", "unsure",
    )
)  # fmt: skip
MOST_SCORES_APART = 12  # different scores kept apart
BINS = 10
MOST_WORDS = 40  # other answers that are no numbers


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts of judges, labels of people and known classes of the same items, as codes.

    Attributes
    ----------
    items : pyarrow.Array
    judges, people, classes, answers : tuple of str
        Answers are the classes, in order, and then whatever else judges have said.
    item, judge, answer : ndarray of int, shape (n_verdicts,)
        One entry for each verdict of a judge.
    seen, person, said : ndarray of int, shape (n_people_labels,)
        Item, person and class of each label by a person.
    gold : ndarray of int, shape (n_items,)
        Known class, -1 where unknown.
    notes : tuple of str
    """

    items: pa.Array
    judges: tuple[str, ...]
    people: tuple[str, ...]
    classes: tuple[str, ...]
    answers: tuple[str, ...]
    item: IntArray
    judge: IntArray
    answer: IntArray
    seen: IntArray
    person: IntArray
    said: IntArray
    gold: IntArray
    notes: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def plain(self) -> bool:
        """Whether every answer is a class."""
        return len(self.answers) == len(self.classes)


def in_order_of_names(labels: Labels, shown_in: IntArray | None = None) -> tuple[Labels, IntArray, IntArray]:
    """Return labels sorted by item, worker, class and the order that was shown, so that no shuffle of rows changes anything.

    Folds, draws and sums go by what they find in this order.

    Parameters
    ----------
    labels : Labels
    shown_in : ndarray of int, shape (n_labels,), optional
        Codes of the order in which each label's choices were shown.

    Returns
    -------
    labels : Labels
    items : ndarray of int, shape (n_items,)
        Where each item was before.
    rows : ndarray of int, shape (n_labels,)
        Where each label was before.

    Examples
    --------
    >>> from crowdassay import as_labels
    >>> mixed = as_labels((["10", "9", "10"], ["m", "m", "ann"], ["no", "yes", "no"]))
    >>> labels, items, rows = in_order_of_names(mixed)
    >>> labels.items.to_pylist(), labels.worker.tolist(), items.tolist(), rows.tolist()
    (['9', '10'], [1, 0, 1], [1, 0], [2, 1, 0])
    """
    items, workers = (
        np.array(sorted(range(len(names)), key=[natural_order(str(name)) for name in names.to_pylist()].__getitem__), int)
        for names in (labels.items, labels.workers)
    )
    item, worker = np.argsort(items)[labels.label_item], np.argsort(workers)[labels.worker]
    rows = np.lexsort(([] if shown_in is None else [shown_in]) + [labels.label, worker, item])
    sorted_labels = replace(
        labels,
        starts=np.append(0, np.cumsum(np.diff(labels.starts)[items])),
        worker=worker[rows].astype(np.int32),
        label=labels.label[rows],
        items=labels.items.take(pa.array(items)),
        workers=labels.workers.take(pa.array(workers)),
        gold=labels.gold[items],
        time=None,  # which rates have no use for
        duration=None,
        item_text=None,
    )
    return sorted_labels, items, rows


def split_verdicts(
    labels: Labels,
    people: Sequence[str] = (),
    gold: Mapping[str, str] | None = None,
    classes: Sequence[str] | None = None,
) -> Verdicts:
    """Separate people's labels from judges' verdicts.

    Parameters
    ----------
    labels : Labels
        Everything that judges and people have said.
    people : sequence of str
        The workers who are people; all others are judges.
    gold : mapping, optional
        Known class of some items.
    classes : sequence of str, optional
        The true classes. Otherwise those that people, or gold, use.

    Examples
    --------
    >>> from crowdassay import as_labels
    >>> labels = as_labels((["a", "a", "b", "b"], ["m", "ann", "m", "ann"], ["7", "pass", "2", "fail"]))
    >>> verdicts = split_verdicts(labels, ["ann"], classes=["pass", "fail"])
    >>> verdicts.judges, verdicts.answers
    (('m',), ('pass', 'fail', '2', '7'))
    """
    workers = [str(name) for name in labels.workers.to_pylist()]
    named = _people(people, workers, gold or labels.gold.max(initial=-1) >= 0)
    human = np.isin(labels.worker, named)
    if human.all():
        raise DataError("Every worker is named as a person, so that no judge is left; --people names people only.")
    words = labels.class_names
    known = {str(labels.items[int(j)]): words[labels.gold[j]] for j in np.flatnonzero(labels.gold >= 0)}
    known |= {str(item): str(value) for item, value in (gold or {}).items()}
    used = [words[k] for k in np.unique(labels.label[human])]
    notes: list[str] = []
    judged = [words[k] for k in np.unique(labels.label[~human])]
    scale = find_classes(classes, [*used, *known.values()], judged, notes)
    meaning = _meaning(words, scale, notes)
    place = {name: c for c, name in enumerate(scale)}
    said = np.array([place.get(name, -1) for name in meaning])[labels.label[human]]
    _tell_strangers(said, [words[k] for k in labels.label[human]], scale, notes)
    kept = said >= 0
    judge_of = np.cumsum(~np.isin(np.arange(len(workers)), named)) - 1
    answers, answer = name_answers(meaning, labels.label[~human], scale, notes)
    return Verdicts(
        items=labels.items,
        judges=tuple(name for number, name in enumerate(workers) if number not in named),
        people=tuple(workers[number] for number in named),
        classes=scale,
        answers=answers,
        item=labels.label_item[~human],
        judge=judge_of[labels.worker[~human]],
        answer=answer,
        seen=labels.label_item[human][kept],
        person=np.searchsorted(named, labels.worker[human][kept]),
        said=said[kept],
        gold=_gold(known, labels, place, notes),
        notes=tuple(notes),
    )


def _people(people: Sequence[str], workers: list[str], gold: object) -> list[int]:
    if not people and not gold:
        raise ParameterError("Say which workers are people (--people ann,bob), or give a file of known classes (--gold).")
    for name in people:
        if name not in workers:
            raise ParameterError(no_such("worker", name, workers[:20]))
    return sorted({workers.index(name) for name in people})


def _meaning(words: Sequence[str], classes: tuple[str, ...], notes: list[str]) -> list[str]:
    """Return each word as a class where only capitals or blanks differ."""
    exact, folded = set(classes), {name.strip().casefold(): name for name in classes}
    if len(folded) < len(classes):
        return list(words)  # classes that differ in capitals only mean what they say
    meanings = [word if word in exact else folded.get(word.strip().casefold(), word) for word in words]
    if changed := [word for word, name in zip(words, meanings, strict=True) if word != name]:
        text = f"Answers that differ from a class in capitals or blanks only were taken for it: {listed(changed, 5)}."
        notes.append(Note(text, NoteKind.VARIANTS))
    return meanings


def _tell_strangers(said: IntArray, words: list[str], classes: tuple[str, ...], notes: list[str]) -> None:
    strange = [word for word, code in zip(words, said, strict=True) if code < 0]
    if not strange:
        return
    if len(strange) == len(said):
        raise DataError(
            f"No label by people is one of the classes {listed(classes)}: people said {listed(dict.fromkeys(strange), 5)}."
        )
    others = listed(dict.fromkeys(strange), 5)
    notes.append(f"{counted(len(strange), 'label')} by people that are no class ({others}) were left out.")


def _gold(known: dict[str, str], labels: Labels, place: dict[str, int], notes: list[str]) -> IntArray:
    gold = np.full(labels.n_items, -1)
    where = {str(name): number for number, name in enumerate(labels.items.to_pylist())} if known else {}
    for item, value in known.items():
        if value not in place:
            raise DataError(f"The gold gives item {shown(item)} the label {shown(value)}, which is none of {listed(place)}.")
        if item in where:
            gold[where[item]] = place[value]
    missed = len(known) - int((gold >= 0).sum())
    if known and missed == len(known):
        example = shown(next(iter(known)))
        raise DataError(f"None of the gold items appears in the verdicts (for example {example}); are the ids written alike?")
    if missed:
        notes.append(f"{counted(missed, 'gold item')} without a verdict were left out.")
    return gold


def find_classes(
    given: Sequence[str] | None, people: Iterable[str], judges: Iterable[str], notes: list[str]
) -> tuple[str, ...]:
    """Return the true classes in order: as given, or else those of people with those judges' answers that look like classes.

    A judge's answer is no class if it says that there is none ("unsure"), if it is a number where people use words, or if
    judges use more numbers than people do, as scores are.

    >>> find_classes(None, ["pass"], ["pass", "fail", "unsure"], [])
    ('fail', 'pass')
    >>> find_classes(None, ["pass", "fail"], ["0", "5", "9"], [])
    ('fail', 'pass')
    """
    if given is not None:
        classes = tuple(dict.fromkeys(name.strip() for name in given if name.strip()))
    else:
        folded = {name.strip().casefold(): name.strip() for name in people if name.strip().casefold() not in ABSTAINING}
        used = list(folded.values())
        new = [name for name in dict.fromkeys(judges) if name.strip().casefold() not in ABSTAINING | folded.keys()]
        numbers = [name for name in new if number_of(name) is not None]
        wordy = any(number_of(name) is None for name in used)
        scores = numbers if wordy or len(numbers) > len(used) else []
        added = [name for name in new if name not in scores]
        if len(added) + len(used) > MOST_TRUE_CLASSES:
            added = []
        if added and used:
            notes.append(
                f"No person chose {listed(added, 5)}, but judges did, so it counts as a class; --classes names the classes."
            )
        classes = tuple(sorted([*used, *added], key=natural_order))
    if not classes:
        raise DataError("People gave no label, so that no class is known; name the classes with --classes.")
    if len(classes) == 1:
        raise DataError(
            f"There is one class only, {shown(classes[0])}; name all classes with --classes, such as --classes pass,fail."
        )
    if len(classes) > MOST_TRUE_CLASSES:
        raise DataError(
            f"People gave {len(classes)} different labels, more than {MOST_TRUE_CLASSES} classes; are they free text? "
            "Name the classes with --classes."
        )
    return classes


def natural_order(name: str) -> tuple[bool, float, str]:
    """Return what names are sorted by: numbers by their value, then all others as text."""
    value = number_of(name)
    return value is None, 0.0 if value is None else value, name


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
    numbers = {word: value for word in others if (value := number_of(word)) is not None}
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
        told = names if len(names) <= MOST_SCORES_APART else [*names[:3], "…"]
        notes.append(
            f"Judges give {counted(len(answers) - len(classes), 'answer')} besides the classes "
            f"({', '.join([*told, *words][:14])}): what each means is learned from people's labels."
        )
    return answers, codes[code]


def _binned(numbers: dict[str, float], said: NDArray[np.str_], notes: list[str]) -> dict[str, str]:
    """Return a name for each score: its own, or that of the tenth of all scores it lies in."""
    if len(numbers) <= MOST_SCORES_APART:
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
