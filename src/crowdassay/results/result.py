"""`Result`: everything a fit found out. It yields its tables in blocks, wherever the labels are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Place
from crowdassay.engines.blocks import Block
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.errors import ParameterError
from crowdassay.findings.connection import ConnectedGroups
from crowdassay.findings.insight import Insight, describe
from crowdassay.findings.items import ItemInsight
from crowdassay.findings.money import Money, count_money
from crowdassay.findings.passes import PredictBlock, TwoPasses
from crowdassay.findings.scores import score
from crowdassay.labels.facts import Facts
from crowdassay.labels.record import Record

if TYPE_CHECKING:
    from crowdassay.results.report.gallery import Gallery

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

    @classmethod
    def elsewhere(cls, fitted_place: FittedPlace, **values: Any) -> Result:
        """Return the result of labels that are not in memory; ``values`` are the attributes that have not the items' size."""
        result = object.__new__(cls)  # without the arrays that the usual way asks for
        vars(result).update(values, fitted_place=fitted_place)
        return result

    def changed(self, **values: Any) -> Result:
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

    def score(self, truth: Any, *, ordered: bool = False) -> dict[str, Any]:
        """Compare the labels with the truth, a file, a frame, a mapping or class codes: `crowdassay.findings.scores.score`.

        The dictionary holds ``error_rate`` and, for classes in order, ``rmse`` and ``mae``; items given as gold are left out.
        """
        return score(self, truth, ordered=ordered)

    def report(
        self,
        path: Any,
        *,
        truth: Any = None,
        title: str | None = None,
        cost: float | FloatArray | None = None,
        contents: Mapping[Any, Any] | None = None,
    ) -> None:
        """Write the report, one HTML file that opens offline; truth as a file, a frame, a mapping or class codes.

        ``cost`` is the price of a label, or what each worker has been paid (n_workers,); ``contents`` says by item what it
        is, a text or the path of a picture.
        """
        if truth is None and self.place.truth_counts is not None:
            truth = self.insight.against
        from crowdassay.results.report.build import write_report  # noqa: PLC0415  charts load when one is drawn

        write_report(self.insight, path, truth=truth, title=title, cost=cost, contents=contents)

    def money(self, cost: float | FloatArray) -> Money:
        """Count what was spent, what of it on workers to remove, and what it would cost to settle the rest.

        ``cost`` is the price of a label, or what each worker has been paid (n_workers,).
        """
        return count_money(self.insight, cost)

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

    def next_table(self) -> pa.Table:
        """Tabulate the items most worth a label: see `crowdassay.findings.insight.Insight.next_table`."""
        return self.insight.next_table()

    def frame(self, name: str, *, own_names: bool = True) -> Any:
        """Return a table as the kind of frame that the labels came in.

        Parameters
        ----------
        name : {'labels', 'posterior', 'workers', 'items', 'parameters', 'next'}
        own_names : bool
            Whether items, workers and labels are called as in the caller's own frame.
        """
        names = self.facts.report.own_names if own_names else {}
        if name in TABLES_OF_ITEMS and not self.place.in_memory:
            frame = self._table(name)
            return frame.withColumnsRenamed(renamed(frame.columns, names)) if hasattr(frame, "withColumnsRenamed") else frame
        table = self._table(name) if name in TABLES_OF_ITEMS else getattr(self, f"{name}_table")()
        new = renamed(table.column_names, names)
        return self.place.frame(table.rename_columns([new.get(column, column) for column in table.column_names]))

    def close(self) -> None:
        """Release the labels where they are held elsewhere; their tables of items cannot be read afterwards."""
        self.place.close()

    def _table(self, name: str) -> Any:
        if self.place.in_memory:
            return item_table(self.insight, name) if name == "items" else ITEM_TABLES[name](self)
        return self.place.table(TabulateItems(self._describe_items, name))

    @property
    def _describe_items(self) -> DescribeItems:
        insight = self.insight
        return DescribeItems(self._predict, insight.connection, insight.mean_difficulty)

    @property
    def _predict(self) -> PredictBlock:
        elsewhere = None if self.fitted_place is None else self.fitted_place.predict
        return InMemoryPosterior(self) if elsewhere is None else elsewhere

    def __repr__(self) -> str:
        state = "" if self.objective is None else f", {'converged' if self.converged else 'not converged'}"
        sure = (
            f", mean probability {self.probability.mean():.3f}"
            if self.place.in_memory
            else f", held in {self.place.engine_name}"
        )
        return f"Result({self.method}, {self.facts.n_items:,} items{sure}{state})"

    def _repr_html_(self) -> str:
        from crowdassay.results.report.notebook import result_html  # noqa: PLC0415  charts load when one is drawn

        return result_html(self.insight)


@dataclass(frozen=True, eq=False)
class InMemoryPosterior:
    """What a fit says of the one block that is in memory, where it has been computed already."""

    record: Record

    def __call__(self, block: Block) -> tuple[Record, None]:
        """Return it."""
        return self.record, None


@dataclass(frozen=True, eq=False)
class DescribeItems:
    """What is to be said of the items of a block, as a task that can travel."""

    predict: PredictBlock
    connection: ConnectedGroups
    mean_difficulty: float

    def __call__(self, block: Block) -> ItemInsight:
        """Predict the block and describe its items."""
        return ItemInsight(self.predict(block)[0], self.connection, self.mean_difficulty)


@dataclass(frozen=True, eq=False)
class TabulateItems:
    """A table of the items of a block, as a task that can travel."""

    describe: DescribeItems
    name: str

    def __call__(self, block: Block) -> pa.Table:
        """Describe the items of the block and make their table."""
        return item_table(self.describe(block), self.name)


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
