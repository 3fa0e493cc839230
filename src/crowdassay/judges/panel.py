"""Each judge against people: accuracy, kappa, bias, the order of choices, and whether it may replace a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp, wilcoxon

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.judges.people import People
from crowdassay.judges.ppi import Interval, difference, effective_size, wilson
from crowdassay.judges.prediction import make_panel
from crowdassay.judges.verdicts import Verdicts
from crowdassay.labels.values import counted, number_of
from crowdassay.statistics import discoveries

LEAST_ITEMS_OF_A_CLASS = 5  # items of a class from which a bias is told
TOLD = 0.1  # share of a class from which on answering otherwise is told
GOOD, FAIR = 0.6, 0.2  # kappa, as Landis and Koch name it
AGREES_WELL, AGREES_FAIRLY = "agrees well with people", "agrees fairly with people"
HARDLY_BETTER, WORSE_THAN_ONE_CLASS = "hardly better than guessing", "worse than always naming the most common class"
MARGIN = 0.15  # between 0.1 (crowd workers) and 0.2 (experts)
LEVEL = 0.05
NORMAL = 30  # items from which the t test is taken
LEAST_ITEMS_OF_A_PERSON = 10  # items below which a person is left out of the test
LEAST_IN_EACH_ORDER = 10  # verdicts in each order, below which nothing is said


@dataclass(frozen=True, eq=False)
class Judge:
    """What is known of a judge.

    Attributes
    ----------
    name : str
    verdicts : int
        Verdicts it gave.
    items : int
        Items it judged that people saw.
    accuracy : Interval or None
        Share of those items on which it says what most people say; None where there are none.
    kappa : float or None
        The same beyond chance.
    counts : ndarray, shape (n_classes, n_answers)
        Answers by the class that people named.
    abstains : float
        Share of verdicts that are neither a class nor a score.
    bias : str
        In words.
    biased : bool
        Whether there is a clear one.
    replaces : Replacement or None
    verdict : str
    """

    name: str
    verdicts: int
    items: int
    accuracy: Interval | None
    kappa: float | None
    counts: FloatArray
    abstains: float
    bias: str
    biased: bool
    replaces: Replacement | None
    verdict: str

    def as_dict(self, classes: tuple[str, ...], answers: tuple[str, ...]) -> dict[str, Any]:
        """Return plain values for JSON."""
        totals = self.counts.sum(axis=1)
        table = {
            name: {answer: round(float(self.counts[c, a] / totals[c]), 4) for a, answer in enumerate(answers)}
            for c, name in enumerate(classes)
            if totals[c]
        }
        return {
            "judge": self.name,
            "verdicts": self.verdicts,
            "items_seen_by_people": self.items,
            "accuracy": None if self.accuracy is None else self.accuracy.as_dict(),
            "kappa": None if self.kappa is None else round(self.kappa, 4),
            "confusion": table,
            "abstains": round(self.abstains, 4),
            "bias": self.bias,
            "verdict": self.verdict,
            "replaces_a_person": None if self.replaces is None else dict(vars(self.replaces)),
        }


def read_judges(verdicts: Verdicts, people: People) -> IntArray:
    """Return the class that each judge speaks for on each item that people saw, shape (n, n_judges), -1 where it said nothing.

    Several answers to one item count together; answers that are no class speak for the class they make most probable.
    """
    plain = np.zeros((verdicts.n_items, verdicts.n_classes)) if verdicts.plain else None
    evidence = make_panel(verdicts, people.item, people.share, plain).evidence_of(people.item).transpose(0, 2, 1)
    if not verdicts.plain:
        evidence = evidence + np.log(people.share.mean(axis=0) + 1e-3)
    said = np.zeros((verdicts.n_items, len(verdicts.judges)), bool)
    said[verdicts.item, verdicts.judge] = True
    return np.where(said[people.item], evidence.argmax(axis=2), -1)


def describe_judges(verdicts: Verdicts, reading: IntArray, people: People, cluster: IntArray | None = None) -> list[Judge]:
    """Return what is known of every judge, in the order of the verdicts; items of one ``cluster`` (n_items,) go together."""
    place, truth = people.place(verdicts.n_items), people.code
    said = said_by_people(verdicts, people)
    odd = np.array([a >= verdicts.n_classes and number_of(name) is None for a, name in enumerate(verdicts.answers)])
    described = []
    for i, name in enumerate(verdicts.judges):
        mine = verdicts.judge == i
        at = place[verdicts.item[mine]]
        counts = np.zeros((verdicts.n_classes, len(verdicts.answers)))
        np.add.at(counts, (truth[at[at >= 0]], verdicts.answer[mine][at >= 0]), 1)
        answered = reading[:, i] >= 0
        n = int(answered.sum())
        right = (reading[answered, i] == truth[answered]).astype(float)
        size = effective_size(right, None if cluster is None else cluster[people.item[answered]]) if n else 0.0
        accuracy = wilson(float(right.mean()), size) if n else None
        kappa = cohen_kappa(reading[answered, i], truth[answered], verdicts.n_classes) if n else None
        bias, biased = bias_in_words(counts, verdicts.classes, verdicts.answers)
        guess = np.bincount(truth[answered], minlength=verdicts.n_classes).max() / n if n else 1.0
        verdict = judge_verdict(accuracy, kappa, n, float(guess))
        replaces = may_replace(said, reading[:, i]) if said.shape[1] > 1 else None
        abstains = float(odd[verdicts.answer[mine]].mean()) if mine.any() else 0.0
        described.append(Judge(name, int(mine.sum()), n, accuracy, kappa, counts, abstains, bias, biased, replaces, verdict))
    return described


def said_by_people(verdicts: Verdicts, people: People) -> IntArray:
    """Return what each person said of each item that people saw, shape (n, n_people).

    -1 stands where a person said nothing, or said two things.
    """
    least, most = (np.full((len(people.item), len(verdicts.people)), value) for value in (verdicts.n_classes, -1))
    cells = people.place(verdicts.n_items)[verdicts.seen], verdicts.person
    np.minimum.at(least, cells, verdicts.said)
    np.maximum.at(most, cells, verdicts.said)
    return np.where(least == most, most, -1)


def cohen_kappa(one: IntArray, other: IntArray, n_classes: int) -> float | None:
    """Return agreement beyond chance, None where both name one class only.

    >>> cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), 2)
    0.5
    """
    chance = float((np.bincount(one, minlength=n_classes) / len(one)) @ (np.bincount(other, minlength=n_classes) / len(one)))
    return None if chance >= 1 else round((float((one == other).mean()) - chance) / (1 - chance), 12) + 0.0  # no minus zero


def bias_in_words(counts: FloatArray, classes: tuple[str, ...], answers: tuple[str, ...]) -> tuple[str, bool]:
    """Return which wrong answer a judge gives most, as a share of the class that it is given for, and whether it is clear.

    >>> bias_in_words(np.array([[9.0, 1.0], [4.0, 9.0]]), ("pass", "fail"), ("pass", "fail"))
    ('says pass for 31 % of what people call fail (4 of 13)', True)
    """
    totals = counts.sum(axis=1, keepdims=True)
    share = counts / np.maximum(totals, 1)
    share[np.arange(len(classes)), np.arange(len(classes))] = 0
    share[totals[:, 0] < LEAST_ITEMS_OF_A_CLASS] = 0
    share[:, len(classes) :] = 0  # a score, or "unsure", is no wrong answer
    c, a = np.unravel_index(share.argmax(), share.shape)
    if totals.max(initial=0) < LEAST_ITEMS_OF_A_CLASS:
        return "too few items seen by people", False
    if share[c, a] < TOLD:
        return "no clear bias", False
    said = f"says {answers[a]} for {100 * share[c, a]:.0f} % of what people call {classes[c]}"
    return f"{said} ({counts[c, a]:g} of {totals[c, 0]:g})", True


def judge_verdict(accuracy: Interval | None, kappa: float | None, n: int, guess: float) -> str:
    """Name how far a judge can be trusted; `guess` is the accuracy of always naming the most common class."""
    if accuracy is None:
        return "never seen by people"
    if n < 2 * LEAST_ITEMS_OF_A_CLASS:
        return "too few items"
    if kappa is None or guess >= 1:
        return "cannot be told: one class only"
    if accuracy.high < guess or kappa < 0:
        return WORSE_THAN_ONE_CLASS
    if kappa < FAIR:
        return HARDLY_BETTER
    return AGREES_WELL if kappa >= GOOD else AGREES_FAIRLY


@dataclass(frozen=True)
class Replacement:
    """Whether a judge may replace a person.

    Attributes
    ----------
    winning_rate, average_advantage : float
    people : int
        People the judge was compared with.
    passes : bool
    """

    winning_rate: float
    average_advantage: float
    people: int
    passes: bool


def may_replace(
    said: IntArray, judge: IntArray, margin: float = MARGIN, level: float = LEVEL, least: int = LEAST_ITEMS_OF_A_PERSON
) -> Replacement | None:
    """Test whether a judge may replace a person: the alternative annotator test of Calderon, Reichart and Dror (2025).

    Each person in turn is left out. On every item that the person and others saw, the judge and the person are scored by the
    share of the others who said the same. The judge wins against a person if it is at least as good on enough more items, less
    a margin that stands for people's cost, by a one-sided paired test (t from 30 items, Wilcoxon's below); p-values of all
    people are taken together by the procedure of Benjamini and Yekutieli. The *winning rate* is the share of people the judge
    wins against; from one half on it may replace a person. The *average advantage* is the mean share of items on which the
    judge is at least as good.

    Parameters
    ----------
    said : ndarray of int, shape (n, n_people)
        What people said, -1 where nothing.
    judge : ndarray of int, shape (n,)
        What the judge said, -1 where nothing.
    margin : float
        By how much people must be better to be worth their cost.
    level : float
        Of the false discoveries.
    least : int
        Items that a person must share with others and the judge.

    Returns
    -------
    Replacement or None
        None where no person shares enough items with another.
    """
    p_values, shares = [], []
    for person in range(said.shape[1]):
        others = np.delete(said, person, axis=1)
        rows = (said[:, person] >= 0) & (judge >= 0) & (others >= 0).any(axis=1)
        if rows.sum() < least:
            continue
        mine, its = _score(said[rows, person], others[rows]), _score(judge[rows], others[rows])
        wins, losses = (its >= mine).astype(float), (mine >= its).astype(float)
        shares.append(wins.mean())
        p_values.append(_p_value(losses - wins, margin))
    if not shares:
        return None
    rate = float(discoveries(np.array(p_values), np.ones(len(p_values), bool), level, dependent=True).mean())
    return Replacement(rate, float(np.mean(shares)), len(shares), rate >= 0.5)


def _score(answer: IntArray, others: IntArray) -> FloatArray:
    present = others >= 0
    return np.asarray(((others == answer[:, None]) & present).sum(axis=1) / present.sum(axis=1))


def _p_value(difference: FloatArray, margin: float) -> float:
    """Return the p-value for people being better by less than the margin."""
    if np.ptp(difference) == 0:
        return 0.0 if difference[0] < margin else 1.0
    if len(difference) >= NORMAL:
        return float(ttest_1samp(difference, margin, alternative="less").pvalue)
    return float(wilcoxon(difference - margin, alternative="less").pvalue)


@dataclass(frozen=True)
class OrderBias:
    """How a judge's verdicts differ between two orders.

    Attributes
    ----------
    answer : str
        The answer whose share differs most.
    orders : tuple of str
    shift : Interval
        Its share in the first order less that in the second.
    flipped : float or None
        Share of items judged in both orders on which the verdict changed.
    items : int
        Items judged in both orders.
    """

    answer: str
    orders: tuple[str, str]
    shift: Interval
    flipped: float | None
    items: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "orders": list(self.orders), "shift": self.shift.as_dict(), "text": self.in_words()}

    def in_words(self) -> str:
        """Return what was found, in a sentence."""
        first, second = self.orders
        if self.shift.low <= 0 <= self.shift.high:
            text = f"no clear effect of order on {self.answer}"
        else:
            more = "more" if self.shift.estimate > 0 else "less"
            text = (
                f"says {self.answer} {100 * abs(self.shift.estimate):.0f} points {more} often in order {first} than in {second}"
            )
        between = f" ({100 * self.shift.low:+.0f} to {100 * self.shift.high:+.0f})"
        if self.flipped is None:
            return text + between
        return f"{text}{between}; changes its verdict on {100 * self.flipped:.0f} % of {counted(self.items, 'item')}"


def order_bias(verdicts: Verdicts, order: IntArray, names: tuple[str, ...], judge: int) -> OrderBias | None:
    """Compare a judge's verdicts in the two most common orders; ``order`` (n_verdicts,) are codes of ``names``, -1 for none."""
    mine = (verdicts.judge == judge) & (order >= 0)
    counts = np.bincount(order[mine], minlength=max(len(names), 2))
    top = np.sort(np.argsort(-counts, kind="stable")[:2])
    if counts[top].min() < LEAST_IN_EACH_ORDER:
        return None
    tables = [np.bincount(verdicts.answer[mine & (order == o)], minlength=len(verdicts.answers)) for o in top]
    shares = [table / table.sum() for table in tables]
    a = int(np.abs(shares[0] - shares[1]).argmax())
    one, two = (wilson(float(share[a]), int(table.sum())) for share, table in zip(shares, tables, strict=True))
    said = np.full((2, verdicts.n_items), -1)
    for k, o in enumerate(top):
        rows = mine & (order == o)
        said[k, verdicts.item[rows]] = verdicts.answer[rows]
    both = (said >= 0).all(axis=0)
    flipped = float((said[0] != said[1])[both].mean()) if both.any() else None
    orders = names[int(top[0])], names[int(top[1])]
    return OrderBias(verdicts.answers[a], orders, difference(one, two), flipped, int(both.sum()))
