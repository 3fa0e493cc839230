"""`rate`: the real rate of each class from many judges and a few people, and what the judges are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.assay import Assay
from crowdassay.judges.panel import OrderBias, describe_judges, order_bias, read_judges
from crowdassay.judges.people import People, gather_people
from crowdassay.judges.ppi import FEWEST_ITEMS
from crowdassay.judges.prediction import predict_people
from crowdassay.judges.rated import Rated, items_ahead
from crowdassay.judges.rates import (
    Evidence,
    choose_strata,
    claimed_rates,
    disputed_strata,
    find_clusters,
    find_rates,
    given_strata,
    rate_groups,
)
from crowdassay.judges.redundancy import find_likeness, judge_costs, judges_to_drop, money_spent
from crowdassay.judges.verdicts import Verdicts, in_order_of_names, split_verdicts
from crowdassay.labels.frames import take_labels
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import counted, listed
from crowdassay.notes import NoteKind, kind_of
from crowdassay.read_options import ReadOptions
from crowdassay.results.saved.merge import join_names

Given = Sequence[str | None] | Mapping[str, str]  # a value for each item, in item order or by name
SIDES = ("first", "second")  # the two systems of `rate_against`


def rate(
    verdicts: object,
    *,
    people: Sequence[str] = (),
    gold: Mapping[str, str] | None = None,
    classes: Sequence[str] | None = None,
    by: Given | None = None,
    pair: Given | None = None,
    strata: Given | None = None,
    cluster: Given | None = None,
    order: Sequence[str | None] | None = None,
    cost: Mapping[str, float] | None = None,
    n_next: int = 20,
    beyond: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
) -> Rated:
    """Estimate the share of each class with an interval, and describe the judges.

    Parameters
    ----------
    verdicts : Labels, frame or triple of sequences
        Who said what about which item, judges and people together.
    people : sequence of str
        The workers who are people.
    gold : mapping, optional
        Known class of some items.
    classes : sequence of str, optional
        The true classes; judges may answer other things too.
    by : mapping or sequence, optional
        The group of each item, by name or in item order; rates are given for each.
    pair : mapping or sequence, optional
        What items of different groups have in common, so that differences are taken in pairs.
    strata : mapping or sequence, optional
        The stratum in which each item was drawn for people; otherwise items are taken to be drawn at random, or at random among
        those on which judges agree or disagree as much.
    cluster : mapping or sequence, optional
        What items have in common that makes them alike, such as the question that they answer: intervals allow for it.
    order : sequence, optional
        The order in which each label's choices were shown, one for each label of `verdicts`.
    cost : mapping, optional
        Cost of a verdict by each judge and, if you like, by each person.
    n_next : int
        How many items to choose for people.
    beyond : bool
        Rate the process that made the items instead of these items.
    confidence : float
    seed : int
        Of the folds, the bootstrap and the next items.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> truth = generator.random(400) < 0.7
    >>> said = {f"judge {i}": truth ^ (generator.random(400) < 0.2) for i in range(3)} | {"ann": truth[:50]}
    >>> rows = [(j, who, "pass" if yes else "fail") for who, what in said.items() for j, yes in enumerate(what)]
    >>> rated = rate(tuple(zip(*rows)), people=["ann"])
    >>> low, high = rated.rate["pass"].low, rated.rate["pass"].high
    >>> bool(low < truth.mean() < high)
    True
    """
    labels = take_labels(verdicts, ReadOptions())  # what happened on the way is among the notes
    if not 0 < confidence < 1:
        raise ParameterError(f"The confidence must lie between 0 and 1, not be {confidence}.")
    shown_in, orders = _shown_in(labels, order)
    labels, items, rows = in_order_of_names(labels, shown_in)
    table = split_verdicts(labels, people, gold, classes)
    generator = np.random.default_rng(seed)
    seen = gather_people(table)
    if not len(seen.item):
        raise DataError("No item has a label by people, so that nothing is known of the real rate.")
    notes = [*reading_notes(labels, table), *table.notes, *seen.notes, *_warnings(table, seen)]
    names = {
        name: _in_order(given, table, items, name)
        for name, given in (("by", by), ("pair", pair), ("strata", strata), ("cluster", cluster))
    }
    if names["pair"] is not None and names["by"] is None:
        raise ParameterError("Pairs are pairs of groups: --pair goes with --by.")
    group_of = find_clusters(names["cluster"], seen)
    panel, blind = predict_people(table, seen, default_panel(table), generator, group_of)
    if names["strata"] is None:
        stratum, drawn, told = choose_strata(table, seen)
        notes += told
    else:
        stratum = drawn = given_strata(names["strata"], seen)
    evidence = Evidence(seen, blind, panel, stratum, drawn, confidence, beyond, group_of)
    among = np.ones(table.n_items, bool)
    groups, differences = None, None
    if names["by"] is not None:
        groups, differences, told_groups = rate_groups(evidence, names["by"], table.classes, names["pair"])
        notes += told_groups
    reading = read_judges(table, seen)
    likeness = find_likeness(reading, seen.code, generator, None if group_of is None else group_of[seen.item])
    powered, alone = find_rates(evidence, among), find_rates(evidence, among, powered=False)
    return Rated(
        verdicts=table,
        people=seen,
        blind=blind,
        rates=powered,
        alone=alone,
        claimed=claimed_rates(evidence, among),
        judges=describe_judges(table, reading, seen, group_of),
        likeness=likeness,
        dropped=judges_to_drop(table, seen, judge_costs(cost, table), generator, group_of),
        costed=cost is not None,
        spent=money_spent(cost, table, powered, alone),
        ahead=items_ahead(blind, disputed_strata(table), seen, n_next, generator),
        orders=None if shown_in is None else _orders(table, labels, shown_in[rows], orders),
        groups=groups,
        differences=differences,
        confidence=confidence,
        beyond=beyond,
        notes=tuple(dict.fromkeys(notes)),
        frame=labels.frame,
    )


def default_panel(verdicts: Verdicts) -> FloatArray | None:
    """Return the default's probabilities from the judges alone; None where tables of answers must be learned from people."""
    cells = verdicts.item * len(verdicts.judges) + verdicts.judge
    repeated = len(np.unique(cells)) < len(cells)
    if not verdicts.plain or repeated or len(verdicts.judges) < 2:
        return None
    judged, place = np.unique(verdicts.item, return_inverse=True)
    labels = Labels.from_codes(
        place,
        verdicts.judge,
        verdicts.answer,
        items=verdicts.items.take(judged),
        workers=pa.array(verdicts.judges, pa.string()),
        classes=pa.array(verdicts.classes, pa.string()),
    )
    among_judged = Assay().fit(labels).result_.posterior
    posterior = np.tile(among_judged.mean(axis=0), (verdicts.n_items, 1))
    posterior[judged] = among_judged
    return posterior


def _shown_in(labels: Labels, order: Sequence[str | None] | None) -> tuple[IntArray | None, tuple[str, ...]]:
    """Return a code for the order in which each label's choices were shown, -1 where it is unknown, and the orders' names."""
    if order is None:
        return None, ()
    if len(order) != labels.n_labels:
        raise DataError(
            f"{counted(len(order), 'order was', 'orders were')} given for {counted(labels.n_labels, 'label')}; every label "
            "needs one."
        )
    names = tuple(sorted({str(name) for name in order if name is not None}))
    return np.array([-1 if name is None else names.index(str(name)) for name in order], int), names


def _orders(verdicts: Verdicts, labels: Labels, shown_in: IntArray, names: tuple[str, ...]) -> list[OrderBias | None]:
    human = np.isin([str(name) for name in labels.workers.to_pylist()], verdicts.people)[labels.worker]
    return [order_bias(verdicts, shown_in[~human], names, i) for i in range(len(verdicts.judges))]


def _in_order(given: Given | None, verdicts: Verdicts, items: IntArray, what: str) -> list[str | None] | None:
    """Return one value for each item, in item order; ``items`` says where each was in the caller's."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        given = [given.get(str(item)) for item in verdicts.items.to_pylist()]
    elif len(given) == verdicts.n_items:
        given = [given[j] for j in items]
    if len(given) != verdicts.n_items:
        raise ParameterError(
            f"`{what}` has {counted(len(given), 'entry', 'entries')} for {counted(verdicts.n_items, 'item')}; every item "
            "needs one."
        )
    return [None if value is None else str(value) for value in given]


def reading_notes(labels: Labels, verdicts: Verdicts) -> list[str]:
    """Return what was left out, or found twice, when the verdicts were read, and not undone since."""
    report = labels.report
    notes = [f"Rows left out ({reason}): {count:,}." for reason, count in report.dropped.items()]
    if report.repeats and report.repeats_policy == "keep":
        many = f"{counted(report.repeats, 'label')} {'repeats' if report.repeats == 1 else 'repeat'}"
        notes.append(f"{many} a worker and item; several votes of one worker count as hardly more than one.")
    # What readers say of "unsure" and its like is for those who take every answer for a class.
    undone = {NoteKind.NO_ANSWERS, *(kind_of(note) for note in verdicts.notes)} - {NoteKind.PLAIN}
    return [*notes, *(note for note in report.notes if kind_of(note) not in undone)]


def _warnings(verdicts: Verdicts, people: People) -> list[str]:
    """Return what keeps the figures from being precise."""
    notes, n = [], len(people.item)
    if n < FEWEST_ITEMS:
        notes.append(
            f"People saw {counted(n, 'item')} only: the rate is theirs alone, with an exact interval; from {FEWEST_ITEMS} "
            "items on the judges help."
        )
    if len(np.unique(people.code)) == 1:
        name = verdicts.classes[int(people.code[0])]
        notes.append(
            f"Every item that people saw is {name}, so that nothing is known of how judges treat other classes; the rate is "
            "people's alone."
        )
    judged = np.zeros(len(verdicts.judges), bool)
    judged[verdicts.judge[np.isin(verdicts.item, people.item)]] = True
    if unseen := [name for name, seen in zip(verdicts.judges, judged, strict=True) if not seen]:
        notes.append(f"People saw no item of {listed(unseen, 5)}: nothing can be said of how good these judges are.")
    return notes


def rate_against(one: Labels, other: Labels, **options: Any) -> dict[str, Any]:
    """Return the rates of both systems and the difference, first less second, in pairs of the same item.

    Parameters
    ----------
    one, other : Labels
        Verdicts of judges and people on each system's answers; an item has the same name in both.
    **options
        As for `rate`: people, classes, beyond, confidence, seed.

    Returns
    -------
    dict
        ``first``, ``second`` and ``difference``, each with classes, and ``pairs``, the number of common items.
    """
    names = [[str(item) for item in labels.items.to_pylist()] for labels in (one, other)]
    common = len(set(names[0]) & set(names[1]))
    if not common:
        raise DataError(
            f"The two files of verdicts share no item (for example {names[0][0]!r} and {names[1][0]!r}); items that belong "
            "together must have the same name."
        )
    groups = [SIDES[0]] * one.n_items + [SIDES[1]] * other.n_items
    rated = rate(_together(one, other), by=groups, pair=names[0] + names[1], n_next=0, **options)
    assert rated.groups is not None
    assert rated.differences is not None
    rates = {side: rated.groups[side]["rate"] for side in SIDES}
    return {
        **rates,
        "difference": rated.differences[0]["difference"],
        "pairs": common,
        "n_people_items": len(rated.people.item),
    }


def _together(one: Labels, other: Labels) -> Labels:
    """Return the labels of both with items kept apart; workers and classes of the same name are the same."""
    workers, worker = join_names(one.workers, other.workers)
    classes, label = join_names(one.classes, other.classes)
    return Labels.from_codes(
        np.concatenate([one.label_item, other.label_item + one.n_items]),
        np.concatenate([one.worker, worker[other.worker]]),
        np.concatenate([one.label, label[other.label]]),
        items=pa.array([f"{k}:{name}" for k, labels in enumerate((one, other)) for name in labels.items.to_pylist()]),
        workers=workers,
        classes=classes,
    )
