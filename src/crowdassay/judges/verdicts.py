"""Take verdicts apart: what judges answered, what people said, and which class is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.judges.classes import find_classes
from crowdassay.judges.scores import name_answers
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import counted, listed, no_such, shown


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


def split_verdicts(
    labels: Labels,
    people: Sequence[str] = (),
    gold: Mapping[str, str] | None = None,
    classes: Sequence[str] | None = None,
) -> Verdicts:
    """Tell people's labels from judges' verdicts.

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
    answers, answer = name_answers([meaning[k] for k in range(len(words))], labels.label[~human], scale, notes)
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


def _people(people: Sequence[str], workers: list[str], gold: Any) -> list[int]:
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
        notes.append(f"Answers that differ from a class in capitals or blanks only were taken for it: {listed(changed, 5)}.")
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
