"""The view of a ranking: charts, the page, and what the terminal prints."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crowdassay.labels.values import counted
from crowdassay.ranking.bradley_terry import BradleyTerry
from crowdassay.ranking.tables import (
    GROUP_RANKINGS,
    NEXT_PAIRS,
    RANKED_WORKERS,
    RANKING,
    RANKING_SHOWN,
    STYLES,
    WINS,
    ranking_table,
    rankings_by_group,
    workers_table,
)
from crowdassay.results.report.chart import BLUE, ORANGE, Chart
from crowdassay.results.report.charts import Records, draw, heat_map, number, numbered, rounded, tooltip, with_intervals
from crowdassay.results.report.page import Findings
from crowdassay.results.show import Section, card, print_table, table_section
from crowdassay.text import short
from crowdassay.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console

RANKED_SHOWN, MATRIX_SHOWN, MATRIX_NUMBERED = 80, 40, 20  # items in charts: of the ranking, of the matrix, with numbers in it
MOST_IN_WINS = 1000  # items up to which the table of wins is written
WORKERS_RANKED_SHOWN, WORKERS_PRINTED, ITEMS_PRINTED = 15, 5, 30
NEXT_SHOWN = ("left", "right", "order_may_be_wrong")
RANKING_FIGURES = ("rank", "best_rank", "worst_rank", "score", "low", "high", "win_rate")


class RankingView:
    """What a fitted ranking shows.

    Parameters
    ----------
    model : BradleyTerry
    n_next : int, optional
        How many pairs to compare next to name.
    """

    def __init__(self, model: BradleyTerry, n_next: int | None = None) -> None:
        self.model, self.pairs, self.n_next = model, model._fitted(), n_next
        self.ranking = ranking_table(model)
        self.by_group = rankings_by_group(model)

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """All tables that were asked for, by the names of their files."""
        model, pairs = self.model, self.pairs
        tables = {RANKING.name: self.ranking}
        if len(pairs.workers):
            tables[RANKED_WORKERS.name] = workers_table(model)
        if pairs.n_items <= MOST_IN_WINS:
            names, beats = self.ranking["item"].to_pylist(), model.win_matrix()
            tables[WINS.name] = pa.table(
                {"item": names, **{name: beats[:, n] for n, name in enumerate(names) if name != "item"}}
            )
        if self.by_group:
            named = (one.add_column(0, "group_name", pa.array([name] * len(one), pa.string())) for name, one in self.by_group)
            tables[GROUP_RANKINGS.name] = pa.concat_tables(named)
        if pairs.styles:
            tables[STYLES.name] = model._style_table()
        if self.n_next is not None:
            tables[NEXT_PAIRS.name] = model._next_table(self.n_next)
        return tables

    @property
    def least_reliable(self) -> pa.Table:
        """The workers, the least reliable first; none where workers are taken to be alike."""
        if not self.model._effects:
            return workers_table(self.model).slice(0, 0)
        workers = self.tables[RANKED_WORKERS.name]
        return workers.take(pa.array(np.argsort(np.asarray(workers["reliability"]), kind="stable")))

    def summary(self) -> dict[str, Any]:
        """Return what ``summary.json`` holds."""
        model, pairs = self.model, self.pairs
        return {
            "version": VERSION,
            "columns": pairs.columns,
            "n_comparisons": pairs.n_comparisons,
            "n_items": pairs.n_items,
            "n_workers": len(pairs.workers),
            "n_ties": pairs.n_ties,
            "ties": model.ties,
            "intervals": model.intervals,
            "confidence": model.confidence,
            "position_bias": model.position_bias_,
            "tie": model.tie_,
            "spread": model.spread_,
            "log_likelihood": model.log_likelihood_,
            "converged": model.converged_,
            "n_iter": model.n_iter_,
            "dropped": pairs.dropped,
            "notes": model.notes_,
        }

    def figures(self) -> dict[str, float | None]:
        """Return what conditions may ask about: the whole, then each item's figures."""
        whole: dict[str, float | None] = {
            "not_converged": float(not self.model.converged_),
            "n_parts": float(len(set(self.ranking["part"].to_pylist()))),
            "position_bias": self.model.position_bias_,
        }
        rows = self.ranking.to_pylist()
        return whole | {f"{row['item']}.{name}": float(row[name]) for row in rows for name in RANKING_FIGURES}

    def chart(self) -> Chart:
        """Return the ranking with its intervals."""
        return interval_chart(self.ranking, self.model.confidence)

    def page(self, title: str | None) -> Findings:
        """Return the page."""
        model, pairs, ranking = self.model, self.pairs, self.ranking
        sections, charts = self._sections(), {"ranking": self.chart(), "matrix": matrix_chart(model, ranking)}
        charts |= {f"group-{n}": interval_chart(one, model.confidence) for n, (_, one) in enumerate(self.by_group)}
        first = sum(rank == 1 for rank in ranking["best_rank"].to_pylist())
        size, best = counted(pairs.n_items, "item"), short(ranking["item"][0].as_py(), 18)
        cards = [
            card("Comparisons", f"{pairs.n_comparisons:,}", f"of {size}; {pairs.n_ties / pairs.n_comparisons:.0%} tied"),
            card("Best", best, "surely above all others" if first == 1 else f"leads, but {first} could be first")
            if first < len(ranking)
            else card("Best", "not known", f"each of {size} could be first"),
            card("Left side", f"{model.position_bias_:+.2f}", "logits in its favour")
            if model._side_told
            else card("Left side", "not known", "the scores allow for none"),
        ]
        return Findings(
            title or f"Ranking from {pairs.source}",
            f"{counted(pairs.n_comparisons, 'comparison')} of {size}; ties: {model.ties}; intervals: {model.intervals}.",
            sections,
            model.notes_,
            cards,
            charts,
        )

    def _sections(self) -> list[Section]:
        tables, workers = self.tables, self.least_reliable
        sections = [
            table_section(
                "ranking", "Ranking", RANKING, self.ranking.slice(0, RANKED_SHOWN), RANKING_SHOWN,
                text="Scores are logits: 1 more wins 73% of decided comparisons. Items that share a letter cannot be told "
                "apart.",
            ),
            Section(
                "matrix",
                "Who beats whom",
                "The chance that the row beats the column, neither side favoured; a tie counts half.",
            ),
            *(Section(f"group-{n}", f"Ranking in {short(name)}") for n, (name, _) in enumerate(self.by_group)),
        ]  # fmt: skip
        if len(workers):
            shown = ("worker", "comparisons", "reliability", "left_bias", "left_bias_error", "agreement")
            more = len(workers) - WORKERS_RANKED_SHOWN
            sections.append(
                table_section(
                    "workers", "Workers", RANKED_WORKERS, workers.slice(0, WORKERS_RANKED_SHOWN), shown,
                    text="Reliability 1 is average, 0 answers at random; bias is in logits for the left side. The least "
                    "reliable first.",
                    note=f"{counted(more, 'more is', 'more are')} in the table workers." if more > 0 else "",
                )
            )  # fmt: skip
        if STYLES.name in tables:
            text = "Logits that one standard deviation more on the left is worth, whatever is compared."
            sections.append(table_section("style", "Style", STYLES, tables[STYLES.name], text=text))
        if NEXT_PAIRS.name in tables:
            text = "Where the order is most in doubt and a comparison tells most."
            sections.append(
                table_section("next", "What to compare next", NEXT_PAIRS, tables[NEXT_PAIRS.name], NEXT_SHOWN, text=text)
            )
        return sections

    def show(self, console: Console) -> None:
        """Print the ranking, the least reliable workers, and what to compare next."""
        model, pairs, tables, workers = self.model, self.pairs, self.tables, self.least_reliable
        columns = ", ".join(f"{role} = {short(name)}" for role, name in pairs.columns.items())
        people = f" by {counted(len(pairs.workers), 'worker')}" if len(pairs.workers) else ""
        console.print(
            f"Read {counted(pairs.n_comparisons, 'comparison')} of {counted(pairs.n_items, 'item')}{people} from "
            f"{pairs.source} ({columns}); {counted(pairs.n_ties, 'is a tie', 'are ties')}."
        )
        factor = math.exp(model.spread_["reliability"])
        differ = f"; workers' reliability varies by a factor of {factor:.2f}" if model._effects else ""
        side = "left" if model.position_bias_ >= 0 else "right"
        favoured = f"; the {side} side is favoured by {abs(model.position_bias_):.2f}" if model._side_told else ""
        console.print(f"Scores vary by {model.spread_['scores']:.2f} logits{favoured}{differ}.")
        for note in model.notes_:
            console.print(f"Note: {note}")
        console.print()
        for title, table in [("Ranking", self.ranking), *((f"Ranking in {short(name)}", one) for name, one in self.by_group)]:
            interval = RANKING.column("low", title=f"{model.confidence:.0%} interval")
            shown = ("rank", "best_rank", "item", "score", interval, "group", RANKING.column("comparisons", title="pairs"))
            print_table(console, RANKING, table.slice(0, ITEMS_PRINTED), shown, title=title)
            if len(table) > ITEMS_PRINTED:
                console.print(f"{counted(len(table) - ITEMS_PRINTED, 'more is', 'more are')} not shown.")
        console.print("Items that share a letter in the column group cannot be told apart.")
        if len(workers):
            least = workers.slice(0, WORKERS_PRINTED)
            heads = ("worker", "comparisons", "reliability", "left_bias", "agreement")
            print_table(console, RANKED_WORKERS, least, heads, title="Least reliable workers")
        for row in tables[STYLES.name].to_pylist() if STYLES.name in tables else ():
            if math.isnan(row["effect"]):
                continue
            console.print(
                f"One SD more {short(row['style'])} is worth {row['effect']:+.2f} ± {row['standard_error']:.2f} logits."
            )
        if NEXT_PAIRS.name in tables:
            print_table(console, NEXT_PAIRS, tables[NEXT_PAIRS.name], NEXT_SHOWN, title="Compare next")


def interval_chart(table: pa.Table, confidence: float) -> Chart:
    """Return scores with their intervals, best first."""
    rows = table.slice(0, RANKED_SHOWN).to_pylist()
    records: Records = [
        {"row": n, "item": short(row["item"]), "group": row["group"], "ranks": f"{row['best_rank']} to {row['worst_rank']}"}
        | {name: rounded(row[name]) for name in ("score", "low", "high")}
        for n, row in enumerate(rows)
    ]
    names = [f"{row['rank']}  {short(row['item'], 28)}" for row in rows]
    place = {"y": numbered("row", names, labelLimit=260), "color": {"value": BLUE}}
    hover = tooltip(
        item="item", score=("score", ".2f"), low=("from", ".2f"), high=("to", ".2f"), ranks="rank may be", group="group"
    )
    score = number("score", f"score, {confidence:.0%} interval", scale={"zero": False})
    layers, says = with_intervals(place, score, hover), "Points: scores with intervals"
    return draw("Ranking", says, records, layers, best_shown(table, RANKED_SHOWN), width=520, height=max(20 * len(rows), 60))


def matrix_chart(model: BradleyTerry, table: pa.Table) -> Chart:
    """Return a heat map of the chance that one item beats another, the best first."""
    beats = model.win_matrix()[:MATRIX_SHOWN, :MATRIX_SHOWN]
    names = [short(name, 16) for name in table["item"].to_pylist()[:MATRIX_SHOWN]]
    records: Records = [
        {"row": i, "column": j, "one": names[i], "other": names[j], "chance": rounded(beats[i, j])}
        for i in range(len(names))
        for j in range(len(names))
        if i != j
    ]
    size = min(max(34 * len(names), 160), 640)
    across = numbered("column", names, "against", labelLimit=120, orient="top", labelAngle=-45)
    place = {"x": across, "y": numbered("row", names, "wins", labelLimit=120)}
    hover = tooltip(one="one", other="against", chance=("chance to win", ".0%"))
    scale = {"domain": [0, 0.5, 1], "range": [ORANGE, "#9aa4b233", BLUE]}
    colour = {"color": number("chance", scale=scale, legend={"format": ".0%", "orient": "right"})}
    layers = heat_map(place, colour, hover, "chance", ".0%", numbers=len(names) <= MATRIX_NUMBERED)
    says = "Heat map: chance that the row beats the column"
    return draw("Who beats whom", says, records, layers, best_shown(table, MATRIX_SHOWN), width=size, height=size)


def best_shown(table: pa.Table, most: int) -> str:
    """Return a note on how many items a chart shows, where it does not show all."""
    return "" if table.num_rows <= most else f"The best {most} of {table.num_rows:,} are shown."
