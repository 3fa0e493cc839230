"""`Result`: everything a fit found out. It yields its tables in blocks, wherever the labels are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Place
from crowdassay.engines.blocks import Block
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.errors import ParameterError
from crowdassay.findings.connection import ConnectedGroups
from crowdassay.findings.disputes import disputes_table, mistakes_table
from crowdassay.findings.insight import Insight, describe
from crowdassay.findings.items import ItemInsight
from crowdassay.findings.money import Money, count_money
from crowdassay.findings.passes import PredictBlock, TwoPasses
from crowdassay.findings.scores import score
from crowdassay.labels.folder import output_path
from crowdassay.labels.frames import to_frame
from crowdassay.labels.labels import Facts
from crowdassay.labels.record import LIKELIEST, Record
from crowdassay.labels.values import counted, shown
from crowdassay.planning.expert import KNOWN_ITEMS
from crowdassay.results.parameters import check_choice

if TYPE_CHECKING:
    from crowdassay.results.report.gallery import Gallery

DescribeItems = Callable[[Block], ItemInsight]
TABLES_OF_ITEMS = ("labels", "posterior", "items")
OF_EVERY_ITEM = {  # what a result has only where the labels are in memory
    "labels": "The labels",
    "posterior": "The probabilities of every item",
    "winners": "The classes of every item",
}


@dataclass(frozen=True, eq=False)
class FittedPlace:
    """Where the labels of a result are, what the fit says of a block of them, and what was found in two passes over all."""

    place: Place
    predict: PredictBlock | None = None
    found: TwoPasses | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Result(Record):
    """The outcome of one fit.

    The attributes are those of `Record`. ``facts`` (`crowdassay.labels.facts.Facts`) has the workers, the classes and the
    counts, wherever the labels are. Where they are not in memory, ``labels``, ``posterior`` and ``winners`` stay with them, and
    asking for these is an error; `blocks` and the tables give what is said of the items.

    Examples
    --------
    >>> from crowdassay import MajorityVote
    >>> result = MajorityVote().fit((list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 1])).result_
    >>> result.posterior.tolist(), result.tied.tolist()
    ([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [False, False, True])
    """

    fitted_place: FittedPlace | None = None
    fallback: Any = None
    """The estimator that was used instead of the one that was asked for, where that one's fit did not stand."""

    @classmethod
    def elsewhere(cls, fitted_place: FittedPlace, **values: object) -> Result:
        """Return the result of labels that are not in memory; ``values`` are the attributes that have not the items' size."""
        result = object.__new__(cls)  # without the arrays that the usual way asks for
        vars(result).update(values, fitted_place=fitted_place)
        return result

    def changed(self, **values: object) -> Result:
        """Return the same result with some attributes changed, wherever its labels are."""
        names = {field.name for field in fields(self)}
        result = object.__new__(type(self))
        vars(result).update({name: value for name, value in vars(self).items() if name in names}, **values)
        return result

    if not TYPE_CHECKING:  # a type checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            """Refuse what has the size of the items and is not in memory."""
            if name not in OF_EVERY_ITEM or "fitted_place" not in vars(self):
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            raise ParameterError(
                f"{OF_EVERY_ITEM[name]} stay in {self.place.engine_name}; ask for result.facts, the tables, or result.blocks()."
            )

    @cached_property
    def place(self) -> Place:
        """Where the labels are."""
        return MemoryPlace(self.labels) if self.fitted_place is None else self.fitted_place.place

    @property
    def facts(self) -> Facts:
        """What is known of the labels without looking at single items: workers, classes, counts, and how they were read."""
        return self.place.facts

    @cached_property
    def insight(self) -> Insight:
        """What the result says of workers and items, and how surely."""
        return describe(self.place, self._predict, self, None if self.fitted_place is None else self.fitted_place.found)

    @property
    def chart(self) -> Gallery:
        """Charts of the result, such as ``result.chart.workers()``."""
        from crowdassay.results.report.gallery import Gallery  # noqa: PLC0415  charts load when one is drawn

        return Gallery(self.insight)

    def score(self, truth: object, *, ordered: bool = False) -> dict[str, Any]:
        """Compare the labels with the truth, a file, a frame, a mapping or class codes: `crowdassay.findings.scores.score`.

        The dictionary holds ``error_rate`` and, for classes in order, ``rmse`` and ``mae``; items given as gold are left out.
        """
        return score(self, truth, ordered=ordered)

    def report(
        self,
        path: str | Path,
        *,
        truth: object = None,
        title: str | None = None,
        cost: float | FloatArray | None = None,
        expert_cost: float | None = None,
        currency: str = "",
        contents: Mapping[Any, Any] | None = None,
    ) -> None:
        """Write the report, one HTML file that opens offline; truth as a file, a frame, a mapping or class codes.

        ``cost``, ``expert_cost`` and ``currency`` are those of `money`; ``contents`` says by item what it is, a text or the
        path of a picture.
        """
        if truth is None and self.place.truth_counts is not None:
            truth = self.insight.against
        from crowdassay.results.report.build import build_report  # noqa: PLC0415  charts load when one is drawn
        from crowdassay.results.report.page import check_report, write_findings  # noqa: PLC0415

        path = output_path(path)
        check_report(path)  # before there is anything to report
        money = self.money(cost, expert_cost=expert_cost, currency=currency)
        from crowdassay.results.expert import expert_table  # noqa: PLC0415  it needs results

        expert = None if self.spread is None or self.insight.totals.known else expert_table(self)
        page = build_report(
            self.insight, truth=truth, title=title, money=money, contents=contents, folder=path.parent, expert=expert
        )
        write_findings(page, path)

    def money(self, cost: float | FloatArray | None = None, *, expert_cost: float | None = None, currency: str = "") -> Money:
        """Count what was spent, what of it on workers to remove, and what labels and an expert would settle for which price.

        ``cost`` is the price of a label, or what each worker has been paid (n_workers,); ``expert_cost`` that of an expert's
        answer to an item. Without a price the numbers of labels and answers are counted all the same.

        >>> from crowdassay import Assay
        >>> labels = (list("aaabbbccc"), ["ann", "bob", "cy"] * 3, list("xxyyxxyyy"))
        >>> money = Assay().fit(labels).result_.money(0.05, expert_cost=1.0)
        >>> [(way.asks, way.cost) for way in money.ways if way.ask == "expert"]
        [("an expert's answers to 3 items", 3.0)]
        """
        return count_money(self.insight, cost, expert=expert_cost, currency=currency)

    def next_steps(self, money: Money | None = None) -> list[str]:
        """Return what to do, the most useful first, a sentence or two each, as the report says it."""
        from crowdassay.results.report.overview import next_steps  # noqa: PLC0415  seldom needed

        return next_steps(self.insight, money)

    def blocks(self) -> Iterator[ItemInsight]:
        """Yield what is to be said of the items, block by block and in order; in memory they are one block."""
        if self.place.in_memory:
            yield self.insight
            return
        yield from self.place.blocks(self._describe_items)

    def labels_table(self) -> Any:
        """Tabulate item, label, probability, tied."""
        return self._table("labels")

    def posterior_table(self) -> Any:
        """Tabulate item, then the probability of each class in class order."""
        return self._table("posterior")

    def items_table(self) -> Any:
        """Tabulate the items: see `crowdassay.findings.items.ItemInsight.items_table`."""
        return self._table("items")

    def workers_table(self) -> pa.Table:
        """Tabulate the workers: see `crowdassay.findings.insight.Insight.workers_table`."""
        return self.insight.workers_table()

    def cell_table(self) -> pa.Table | None:
        """Tabulate what workers answer to what in rows, where classes are many: see `Insight.cell_table`."""
        return self.insight.cell_table()

    def parameters_table(self) -> pa.Table:
        """Tabulate what workers answer to what: see `crowdassay.findings.insight.Insight.confusion_table`."""
        return self.insight.confusion_table()

    def next_table(self, money: Money | None = None) -> pa.Table:
        """Tabulate open items in the order in which to begin: see `crowdassay.findings.insight.Insight.next_table`."""
        return self.insight.next_table(money)

    def disputes_table(self) -> pa.Table:
        """Tabulate what workers disagree on: see `crowdassay.findings.disputes.disputes_table`."""
        self._check_in_memory("Who said what about disputed items")
        return disputes_table(self.insight)

    def mistakes_table(self, worker: object = None) -> pa.Table:
        """Tabulate the likely mistakes of one worker, or of all: see `crowdassay.findings.disputes.mistakes_table`."""
        self._check_in_memory("The likely mistakes of workers")
        code = None
        if worker is not None:
            names = [str(name) for name in self.labels.workers.to_pylist()]
            if str(worker) not in names:
                raise ParameterError(f"There is no worker {shown(worker)} among the {counted(len(names), 'worker')}.")
            code = names.index(str(worker))
        return mistakes_table(self.insight, code, only_known=self.insight.chance)

    def disputes(self) -> Any:
        """Return a frame of the items on which workers disagree, the least sure first, with their texts and who said what.

        Items whose class is known are left out; settled ones come last, and ``standing`` says so.

        >>> from crowdassay import Assay
        >>> result = Assay().fit((list("aaabbb"), ["ann", "bob", "cy"] * 2, ["no", "yes", "yes", "no", "no", "no"])).result_
        >>> result.disputes().select(["item", "said"]).to_pylist()
        [{'item': 'a', 'said': 'yes: bob and cy; no: ann'}]
        """
        return self._own_frame(self.disputes_table())

    def feedback(self, worker: object) -> Any:
        """Return a frame of a worker's likely mistakes, the surest first: item, text, label given, label found, how sure.

        A label is shown where it is wrong with a probability of 0.8 or more, or where the item's class is known.

        >>> from crowdassay import Assay
        >>> labels = (list("aabb"), ["ann", "bob"] * 2, ["no", "yes", "no", "no"])
        >>> Assay().fit(labels, gold={"a": "yes"}).result_.feedback("ann").to_pylist()
        [{'item': 'a', 'given': 'no', 'label': 'yes', 'sure': 1.0, 'standing': 'known'}]
        """
        return self._own_frame(self.mistakes_table(worker))

    def expert_sample(self, n: int = KNOWN_ITEMS) -> Any:
        """Return the first n items that an expert should answer, drawn at random, as the kind of frame that labels came in.

        They are those of ``crowdassay aggregate --expert``. Fill in the column ``label`` and give the table back as gold: its
        column ``drawn`` tells that its items stand for all.
        """
        from crowdassay.results.expert import expert_table  # noqa: PLC0415  seldom needed

        return self._own_frame(expert_table(self, n))

    def frame(self, name: str, *, own_names: bool = True, kind: str | None = None) -> Any:
        """Return a table as the kind of frame that the labels came in, or as another.

        Labels from a file, a matrix or a list of records came in none: their tables are pandas frames where pandas is
        installed, and PyArrow tables elsewhere.

        Parameters
        ----------
        name : {'labels', 'posterior', 'workers', 'items', 'parameters', 'next', 'disputes'}
        own_names : bool
            Whether items, workers and labels are called as in the caller's own frame.
        kind : {'pandas', 'polars', 'pyarrow'}, optional
            Another kind of frame than the labels came in. The tables of items of labels in Spark stay there.

        Examples
        --------
        >>> from crowdassay import MajorityVote
        >>> result = MajorityVote().fit([{"item": "a", "worker": "ann", "label": 1}]).result_
        >>> result.frame("labels", kind="pyarrow").to_pylist()
        [{'item': 'a', 'label': 1, 'probability': 1.0, 'tied': False}]
        """
        names = self.facts.report.own_names if own_names else {}
        table = getattr(self, f"{name}_table")()
        if name in TABLES_OF_ITEMS and not self.place.in_memory:
            if hasattr(table, "withColumnsRenamed"):
                return table.withColumnsRenamed(renamed(table.columns, names))
            return table if kind is None else to_frame(table, kind)
        return self._own_frame(table, names, kind)

    def soft_labels(self, shape: str = "matrix") -> Any:
        """Return every item's class probabilities in the shape that trainers take.

        Parameters
        ----------
        shape : {'matrix', 'rows'}
            A matrix (n_items, n_classes), items and classes in the order of the tables, for a loss that takes probabilities; or
            a frame of item, label and weight, a row for each class that an item may have, for a trainer that takes weights of
            examples. The weights of an item add up to one.

        Examples
        --------
        >>> from crowdassay import MajorityVote
        >>> result = MajorityVote().fit((list("aabb"), list("xyxy"), ["no", "no", "no", "yes"])).result_
        >>> result.soft_labels().tolist()
        [[1.0, 0.0], [0.5, 0.5]]
        >>> result.soft_labels("rows").to_pydict()
        {'item': ['a', 'b', 'b'], 'label': ['no', 'no', 'yes'], 'weight': [1.0, 0.5, 0.5]}
        """
        check_choice("shape", shape, ("matrix", "rows"))
        if shape == "matrix":
            return self.posterior.copy()
        item, code = np.nonzero(self.posterior > 0)
        names = {"item": self.labels.items.take(pa.array(item)), "label": self.labels.classes.take(pa.array(code))}
        return self._own_frame(pa.table({**names, "weight": self.posterior[item, code]}))

    def close(self) -> None:
        """Release the labels where they are held elsewhere; their tables of items cannot be read afterwards."""
        self.place.close()

    def _own_frame(self, table: pa.Table, names: Mapping[str, str] | None = None, kind: str | None = None) -> Any:
        """Return a table as the kind of frame that the labels came in, by default with the caller's names of columns."""
        new = renamed(table.column_names, self.facts.report.own_names if names is None else names)
        table = table.rename_columns([new.get(column, column) for column in table.column_names])
        return self.place.frame(table) if kind is None else to_frame(table, kind)

    def _check_in_memory(self, what: str) -> None:
        if not self.place.in_memory:
            raise ParameterError(f"{what} can be listed where all labels are in memory; take the engine 'local'.")

    def _table(self, name: str) -> Any:
        if self.place.in_memory:
            return item_table(self.insight, name) if name == "items" else ITEM_TABLES[name](self)
        return self.place.table(partial(tabulate_items, self._describe_items, name))

    @property
    def _describe_items(self) -> DescribeItems:
        """What is said of the items of a block, as a task that can travel."""
        return partial(describe_items, self._predict, self.insight.connection, self.insight.mean_difficulty)

    @property
    def _predict(self) -> PredictBlock:
        """What the fit says of a block; of the one that is in memory it has been computed already."""
        elsewhere = None if self.fitted_place is None else self.fitted_place.predict
        return (lambda block: (self, None)) if elsewhere is None else partial(predict_settled, elsewhere, self.settled)

    def __repr__(self) -> str:
        state = "" if self.objective is None else f", {'converged' if self.converged else 'not converged'}"
        if not self.place.in_memory:
            sure = f", held in {self.place.engine_name}"
        elif self.labels.shared_items.any():
            sure = f", mean probability {self.probability.mean():.3f}"
        else:  # one label an item, or one worker: the probabilities are the method's assumptions
            sure = ", nothing shows who is right"
        decided = "" if self.decide == LIKELIEST else f", labels by the {self.decide}"
        return f"Result({self.method}, {counted(self.facts.n_items, 'item')}{decided}{sure}{state})"

    def _repr_html_(self) -> str:
        from crowdassay.results.report.notebook import result_html  # noqa: PLC0415  charts load when one is drawn

        return result_html(self.insight)


def predict_settled(predict: PredictBlock, settled: float, block: Block) -> tuple[Record, FloatArray | None]:
    """Predict a block, its labels settled from a probability on: a task that can travel."""
    record, expected = predict(block)
    return replace(record, settled=settled), expected


def describe_items(predict: PredictBlock, connection: ConnectedGroups, mean_difficulty: float, block: Block) -> ItemInsight:
    """Predict the items of a block and describe them."""
    return ItemInsight(predict(block)[0], connection, mean_difficulty)


def tabulate_items(describe: DescribeItems, name: str, block: Block) -> pa.Table:
    """Describe the items of a block and make one of their tables."""
    return item_table(describe(block), name)


ITEM_TABLES = {"labels": Record.labels_table, "posterior": Record.posterior_table}


def item_table(items: ItemInsight, name: str) -> pa.Table:
    """Return one of the tables of some items."""
    return items.items_table() if name == "items" else ITEM_TABLES[name](items.record)


def renamed(columns: Sequence[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return new names of columns by old ones: the caller's, but where another column has that name already.

    >>> renamed(["item", "label", "probability"], {"item": "task", "worker": "who", "label": "probability"})
    {'item': 'task'}
    """
    taken = {column.casefold() for column in columns}
    new = {role: name for role, name in names.items() if role in columns and name.casefold() not in taken - {role.casefold()}}
    return {role: name for role, name in new.items() if role != name}
