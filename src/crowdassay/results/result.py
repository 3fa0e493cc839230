"""`Result`: everything a fit found out. It yields its tables in blocks, wherever the labels are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

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
from crowdassay.labels.record import Record

if TYPE_CHECKING:
    from crowdassay.results.report.gallery import Gallery

TABLES = ("labels", "posterior", "items")  # those of the items


@dataclass(frozen=True, eq=False)
class Held:
    """Where the labels of a result are, and what the fit makes of a block of them."""

    place: Place
    judge: PredictBlock | None = None
    found: TwoPasses | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Result(Record):
    """The outcome of one fit.

    The attributes are those of `Record`. Where the labels are in memory, so is what the fit says of every item. Elsewhere
    arrays of the size of the items stay with the labels: ``labels`` are then `crowdassay.labels.facts.Facts`, and `blocks` and
    the tables give what is said of the items.

    Examples
    --------
    >>> from crowdassay import MajorityVote
    >>> result = MajorityVote().fit((list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 1])).result_
    >>> result.posterior.tolist(), result.tied.tolist()
    ([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [False, False, True])
    """

    held: Held | None = None

    @cached_property
    def place(self) -> Place:
        """Where the labels are."""
        return MemoryPlace(self.labels) if self.held is None else self.held.place

    @cached_property
    def insight(self) -> Insight:
        """What the result says of workers and items, and how surely."""
        return describe(self.place, self._judge, self, None if self.held is None else self.held.found)

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
        yield from self.place.blocks(self._look)

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
        names = self.labels.report.own_names if own_names else {}
        if name in TABLES and not self.place.in_memory:
            frame = self._table(name)
            return frame.withColumnsRenamed(renamed(frame.columns, names)) if hasattr(frame, "withColumnsRenamed") else frame
        table = self._table(name) if name in TABLES else getattr(self, f"{name}_table")()
        new = renamed(table.column_names, names)
        return self.place.frame(table.rename_columns([new.get(column, column) for column in table.column_names]))

    def close(self) -> None:
        """Let go of the labels where they are held elsewhere; the tables of the items can then be had no more."""
        self.place.close()

    def _table(self, name: str) -> Any:
        if self.place.in_memory:
            return item_table(self.insight, name) if name == "items" else ITEM_TABLES[name](self)
        return self.place.table(Tabulate(self._look, name))

    @property
    def _look(self) -> Look:
        insight = self.insight
        return Look(self._judge, insight.connection, insight.mean_difficulty)

    @property
    def _judge(self) -> PredictBlock:
        return Known(self) if self.held is None or self.held.judge is None else self.held.judge

    def __repr__(self) -> str:
        state = "" if self.objective is None else f", {'converged' if self.converged else 'not converged'}"
        sure = (
            f", mean probability {self.probability.mean():.3f}"
            if self.place.in_memory
            else f", held in {self.place.engine_name}"
        )
        return f"Result({self.method}, {self.labels.n_items:,} items{sure}{state})"

    def _repr_html_(self) -> str:
        from crowdassay.results.report.notebook import result_html  # noqa: PLC0415  charts load when one is drawn

        return result_html(self.insight)


@dataclass(frozen=True, eq=False)
class Known:
    """What a fit makes of the one block that is in memory: known already."""

    record: Record

    def __call__(self, block: Block) -> tuple[Record, None]:
        """Return it."""
        return self.record, None


@dataclass(frozen=True, eq=False)
class Look:
    """What is to be said of the items of a block, as a task that can travel."""

    judge: PredictBlock
    connection: ConnectedGroups
    mean_difficulty: float

    def __call__(self, block: Block) -> ItemInsight:
        """Judge the block."""
        return ItemInsight(self.judge(block)[0], self.connection, self.mean_difficulty)


@dataclass(frozen=True, eq=False)
class Tabulate:
    """A table of the items of a block, as a task that can travel."""

    look: Look
    name: str

    def __call__(self, block: Block) -> pa.Table:
        """Judge the block and make its table."""
        return item_table(self.look(block), self.name)


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


class Away:
    """Stands for an array of the size of the items that stays where the labels are."""

    def __init__(self, name: str, place: str) -> None:
        self._words = f"{name} of every item stay in {place}, with the labels: ask for the tables, or result.blocks()."

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ParameterError(self._words)

    __array__ = __getitem__ = __len__ = __iter__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()


def away(name: str, place: str) -> FloatArray:
    """Return what stands for an array that is not here."""
    return Away(name, place)  # type: ignore[return-value]
