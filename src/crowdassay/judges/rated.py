"""What `rate` found, as a record that turns into JSON and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.judges.panel import Judge, OrderBias
from crowdassay.judges.people import People
from crowdassay.judges.ppi import Interval
from crowdassay.judges.rates import Rates, as_rates
from crowdassay.judges.redundancy import Dropped, Likeness, Spent
from crowdassay.judges.verdicts import Verdicts
from crowdassay.labels.frames import to_frame
from crowdassay.tables import Column, TableOf

DISAGREEMENTS = (("all",), ("agreed", "disputed"), ("agreed", "in between", "disputed"))  # names of one, two, three strata

JUDGES = TableOf(
    "judges",
    (
        Column("judge", format="name", about="The judge."),
        Column("items", format="count", about="Items it judged that people saw."),
        Column("accuracy", format="precise share", about="Share of those on which it says what most people say."),
        Column("accuracy_low", "95% interval", "precise share", "Lower limit of the accuracy.", to="accuracy_high"),
        Column("accuracy_high", format="precise share", about="Upper limit of the accuracy."),
        Column("kappa", format="number", about="Agreement with people beyond chance."),
        Column("verdict", about="How far the judge can be trusted."),
        Column("bias", about="The wrong answer that it gives most."),
    ),
)
GROUPS = TableOf(
    "groups",
    (
        Column("group", format="name", about="The group of items."),
        Column("estimate", "rate", "precise share", "The rate of the class that means success, or else of the first."),
        Column("low", "interval", "precise share", "Lower limit of the rate.", to="high"),
        Column("high", format="precise share", about="Upper limit of the rate."),
        Column("seen", "people saw", "figure", "How many of its items people saw."),
    ),
)
NEXT_FOR_PEOPLE = TableOf(
    "next",
    (
        Column("item", format="name", about="An item for people, drawn at random within its stratum."),
        Column("judges", about="Whether the judges agree on it."),
        Column("label", "people would say", "name", "The class that people would most likely name."),
        Column("probability", format="share", about="Its probability."),
    ),
)


@dataclass(frozen=True, eq=False)
class Rated:
    """Rates of the classes and what is known of the judges.

    Attributes
    ----------
    verdicts : Verdicts
    people : People
    blind : ndarray, shape (n_items, n_classes)
        Probability that people would name each class, for each item, made without what people said of it.
    rates, alone, claimed : list of Interval
        The rate of each class: by people with the judges' help, by people alone, and as the judges alone claim.
    judges : list of Judge
    likeness : Likeness
    dropped : tuple of Dropped
    costed : bool
        Whether costs were given.
    spent : Spent or None
        What was paid, where people's costs were given.
    ahead : Ahead
    orders : list of OrderBias or None
    groups, differences
        As `rate_groups` gives them.
    confidence : float
    beyond : bool
    notes : tuple of str
    frame : str
        Kind of frame in which ``judges_``, ``items_`` and ``next_`` are handed back: the caller's.

    Examples
    --------
    >>> from crowdassay import rate
    >>> truth = ["pass", "fail"] * 30
    >>> rows = [(j, who, said) for who in ("model", "ann") for j, said in enumerate(truth)]
    >>> rated = rate(tuple(zip(*rows)), people=["ann"])
    >>> rated.rate["pass"].as_dict()["estimate"], [judge.name for judge in rated.judges]
    (0.5, ['model'])
    """

    verdicts: Verdicts
    people: People
    blind: FloatArray
    rates: Rates
    alone: Rates
    claimed: Rates
    judges: list[Judge]
    likeness: Likeness
    dropped: tuple[Dropped, ...]
    costed: bool
    spent: Spent | None
    ahead: Ahead
    orders: list[OrderBias | None] | None
    groups: dict[str, Any] | None
    differences: list[dict[str, Any]] | None
    confidence: float
    beyond: bool
    notes: tuple[str, ...]
    frame: str = "pyarrow"

    @property
    def judges_(self) -> Any:
        """Frame of judge, items that people saw, accuracy with an interval, kappa, verdict and bias."""
        return to_frame(self.judges_table(), self.frame)

    def judges_table(self) -> pa.Table:
        """Tabulate the judges, see `JUDGES`."""
        limits = [one.accuracy for one in self.judges]
        return JUDGES.fill(
            judge=[one.name for one in self.judges],
            items=[one.items for one in self.judges],
            accuracy=pa.array([one and one.estimate for one in limits], pa.float64()),
            accuracy_low=pa.array([one and one.low for one in limits], pa.float64()),
            accuracy_high=pa.array([one and one.high for one in limits], pa.float64()),
            kappa=pa.array([one.kappa for one in self.judges], pa.float64()),
            verdict=[one.verdict for one in self.judges],
            bias=[one.bias for one in self.judges],
        )

    @property
    def by_accuracy(self) -> list[int]:
        """The judges, the most accurate first, those that people never saw last."""
        return sorted(range(len(self.judges)), key=lambda i: -(one.estimate if (one := self.judges[i].accuracy) else -1))

    @property
    def items_(self) -> Any:
        """Frame of every item: see `items`."""
        return to_frame(self.items(), self.frame)

    @property
    def next_(self) -> Any:
        """Frame of the next items for people: see `next_items`."""
        return to_frame(self.next_items(), self.frame)

    @property
    def rate(self) -> dict[str, Interval]:
        """The rate of each class, by name."""
        return dict(zip(self.verdicts.classes, self.rates, strict=True))

    @property
    def droppable(self) -> list[int]:
        """Judges without whom nothing is lost, in the order of dropping."""
        return [step.judge for step in self.dropped if step.bearable]

    def items(self) -> pa.Table:
        """Return for each item the probability that people would name each class, and what people said."""
        verdicts, people = self.verdicts, self.people
        best, named = self.blind.argmax(axis=1), people.code
        said = [None if row < 0 else verdicts.classes[named[row]] for row in people.place(verdicts.n_items)]
        columns: dict[str, Any] = {
            "item": verdicts.items,
            "label": pa.array([verdicts.classes[c] for c in best]),
            "probability": pa.array(self.blind.max(axis=1)),
            "people": pa.array(said, pa.string()),
        }
        for c, name in enumerate(verdicts.classes):
            columns[f"probability:{name}"] = pa.array(self.blind[:, c])
        return pa.table(columns)

    def next_items(self) -> pa.Table:
        """Return the next items for people, those of the most doubtful kind first."""
        rows, stratum = self.ahead.item, self.ahead.stratum
        kinds = DISAGREEMENTS[int(stratum.max(initial=0))]
        best = self.blind[rows].argmax(axis=1)
        return NEXT_FOR_PEOPLE.fill(
            item=self.verdicts.items.take(pa.array(rows, pa.int64())),
            judges=pa.array([kinds[h] for h in stratum], pa.string()),
            label=pa.array([self.verdicts.classes[c] for c in best], pa.string()),
            probability=pa.array(self.blind[rows].max(axis=1)),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        verdicts, people, like = self.verdicts, self.people, self.likeness
        names = verdicts.judges
        cluster = {i: number for number, group in enumerate(like.clusters) for i in group}
        judges = []
        for i, one in enumerate(self.judges):
            record = one.as_dict(verdicts.classes, verdicts.answers)
            record["cluster"] = cluster.get(i)
            record["can_be_dropped"] = i in self.droppable if self.dropped else None
            if self.orders is not None:
                bias = self.orders[i]
                record["order_bias"] = None if bias is None else bias.as_dict()
            judges.append(record)
        fields: dict[str, Any] = {
            "rate": as_rates(self.rates, verdicts.classes),
            "people_only": as_rates(self.alone, verdicts.classes),
            "panel_only": as_rates(self.claimed, verdicts.classes),
            "worth": _number(like.worth),
            "worth_interval": {"low": _number(like.low), "high": _number(like.high)},
            "judges": judges,
            "n_people_labels": people.n_labels,
            "n_people_items": len(people.item),
            "n_items": verdicts.n_items,
            "n_judges": len(names),
            "classes": list(verdicts.classes),
            "answers": list(verdicts.answers),
            "confidence": self.confidence,
            "about": "the process that made the items" if self.beyond else "these items",
            "people_error": {"rate": round(people.error, 4), "se": round(people.error_se, 4), "pairs": people.pairs},
            "clusters": [[names[i] for i in group] for group in like.clusters],
            "error_correlation": [[_number(value) for value in row] for row in like.correlation],
            "drop": [
                {"judge": names[step.judge], "loss": round(step.loss, 4), "se": round(step.error, 4),
                 "cost_saved": round(step.saved, 4), "without_loss": step.bearable}
                for step in self.dropped
            ],
            "cost": None if self.spent is None else self.spent.as_dict(),
            "next": [str(value) for value in self.next_items()["item"].to_pylist()],
            "next_width": round(self.ahead.narrower, 4),
            "notes": list(self.notes),
        }  # fmt: skip
        if self.groups is not None:
            fields["by"], fields["differences"] = self.groups, self.differences
        return fields


def group_rows(groups: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the rows of `GROUPS` for the class of that name."""
    unknown = dict.fromkeys(("estimate", "low", "high"))
    return [
        {
            **(one["rate"][name] if one["rate"] else unknown),
            "group": group,
            "seen": f"{one['n_people_items']:,} of {one['n_items']:,}",
        }
        for group, one in groups.items()
    ]


def _number(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class Ahead:
    """Items for people.

    Attributes
    ----------
    item : ndarray of int, shape (m,)
    stratum : ndarray of int, shape (m,)
    narrower : float
        Expected width of the interval with these labels, as a share of what it is now.
    """

    item: IntArray
    stratum: IntArray
    narrower: float


def items_ahead(blind: FloatArray, stratum: IntArray, people: People, size: int, generator: np.random.Generator) -> Ahead:
    r"""Return the next items for people: those that narrow the interval most for each label.

    Of :math:`m` more labels, stratum :math:`h` (by how far judges disagree) gets what it lacks to the best allocation,
    :math:`n_h \propto N_h \sqrt{\overline{q(1 - q)}_h}` (Neyman 1934), with :math:`q` the prediction of what people would
    say. Within a stratum items are drawn at random: whoever picks the oddest ones learns nothing about the rate.

    Parameters
    ----------
    blind : ndarray, shape (n_items, n_classes)
        Predictions of what people would say.
    stratum : ndarray of int, shape (n_items,)
        By disagreement, as `disputed_strata` gives them.
    people : People
    size : int
        How many items.
    generator : numpy.random.Generator
    """
    free = np.ones(len(blind), bool)
    free[people.item] = False
    n_strata = int(stratum.max()) + 1
    sizes = np.bincount(stratum, minlength=n_strata).astype(float)
    seen = np.bincount(stratum[people.item], minlength=n_strata).astype(float)
    open_ = np.bincount(stratum[free], minlength=n_strata).astype(float)
    doubt = np.bincount(stratum, weights=(blind * (1 - blind)).sum(axis=1), minlength=n_strata) / sizes
    size = min(size, int(free.sum()))
    more = allocate(sizes * np.sqrt(doubt), seen, open_, size)
    chosen = []
    for h in np.argsort(-doubt, kind="stable"):
        rows = np.flatnonzero(free & (stratum == h))
        chosen.append(generator.permutation(rows)[: more[h]])
    item = np.concatenate(chosen) if chosen else np.zeros(0, int)
    if seen.min() < 2:  # as if drawn from all alike
        sizes, seen, more, doubt = (np.array([values.sum()]) for values in (sizes, seen, more, doubt))
    before, after = _variance(sizes, doubt, seen), _variance(sizes, doubt, seen + more)
    return Ahead(item, stratum[item], float(np.sqrt(after / before)) if before > 0 else 1.0)


def allocate(wish: FloatArray, seen: FloatArray, free: FloatArray, size: int) -> IntArray:
    """Return how many items to take of each stratum, so that all together come nearest to shares in proportion to `wish`.

    >>> allocate(np.array([1.0, 3.0]), np.array([5.0, 5.0]), np.array([50.0, 50.0]), 10).tolist()
    [0, 10]
    """
    more = np.zeros(len(wish), int)
    for _ in range(size):
        with np.errstate(divide="ignore", invalid="ignore"):
            lack = np.where(more < free, wish**2 / ((seen + more) * (seen + more + 1)), -1.0)
        lack = np.where((more < free) & (seen + more < 2), np.inf, lack)  # two of each, for a variance
        more[int(lack.argmax())] += 1
    return more


def _variance(sizes: FloatArray, doubt: FloatArray, seen: FloatArray) -> float:
    share = sizes / sizes.sum()
    return float((share**2 * doubt * (1 - seen / sizes) / np.maximum(seen, 1)).sum())
