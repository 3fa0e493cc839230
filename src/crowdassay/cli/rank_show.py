"""What `crowdassay rank` prints."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Table

from crowdassay.cli.tables import say_written
from crowdassay.ranking.bradley_terry import BradleyTerry
from crowdassay.text import short as shown

SHOWN = 30
WORST = 5


def show(model: BradleyTerry, tables: dict[str, Any], grouped: list[tuple[str, Any]], options: dict[str, Any]) -> None:
    """Print the ranking, the least reliable workers, and what to compare next."""
    console, pairs, spread = Console(highlight=False, markup=False), model._fitted(), model.spread_
    columns = ", ".join(f"{role} = {shown(name)}" for role, name in pairs.columns.items())
    people = f" by {len(pairs.workers):,} workers" if len(pairs.workers) else ""
    console.print(
        f"Read {pairs.n_pairs:,} comparisons of {pairs.n_items:,} items{people} from {pairs.source} ({columns}); "
        f"{int((pairs.outcome == 2).sum()):,} are ties."
    )
    differ = f"; workers' reliability varies by a factor of {math.exp(spread['reliability']):.2f}" if model._effects else ""
    side = "left" if model.position_bias_ >= 0 else "right"
    favoured = f"; the {side} side is favoured by {abs(model.position_bias_):.2f}" if model.position else ""
    console.print(f"Scores vary by {spread['scores']:.2f} logits{favoured}{differ}.")
    for note in model.notes_:
        console.print(f"Note: {note}")
    console.print()
    for title, table in [("Ranking", tables["ranking"]), *((f"Ranking in {shown(name)}", table) for name, table in grouped)]:
        _show_ranking(console, title, table, model.confidence)
    console.print("Items that share a letter in the column group cannot be told apart.")
    if model._effects:
        _show_workers(console, tables["workers"])
    if "style" in tables:
        for row in tables["style"].to_pylist():
            console.print(
                f"One SD more {shown(row['style'])} is worth {row['effect']:+.2f} ± {row['standard_error']:.2f} logits."
            )
    if "next" in tables:
        grid = Table("one", "other", "order may be wrong", title="Compare next", title_justify="left")
        for row in tables["next"].to_pylist():
            grid.add_row(shown(row["left"]), shown(row["right"]), f"{row['order_may_be_wrong']:.0%}")
        console.print(grid)
    say_written(console, options, "the ranking")


def _show_ranking(console: Console, title: str, table: Any, confidence: float) -> None:
    heads = ("rank", "may be", "item", "score", f"{confidence:.0%} interval", "group", "pairs")
    grid = Table(*heads, title=title, title_justify="left")
    for row in table.slice(0, SHOWN).to_pylist():
        grid.add_row(
            f"{row['rank']}", f"{row['best_rank']} to {row['worst_rank']}", shown(row["item"]), f"{row['score']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}", row["group"], f"{row['comparisons']:,}",
        )  # fmt: skip
    console.print(grid)
    if table.num_rows > SHOWN:
        console.print(f"{table.num_rows - SHOWN:,} more are not shown.")


def _show_workers(console: Console, workers: Any) -> None:
    heads = ("worker", "comparisons", "reliability", "left bias", "agrees with ranking")
    grid = Table(*heads, title="Least reliable workers", title_justify="left")
    for row in workers.sort_by("reliability").slice(0, WORST).to_pylist():
        agrees = "–" if row["agreement"] is None or row["agreement"] != row["agreement"] else f"{row['agreement']:.0%}"
        figures = f"{row['comparisons']:,}", f"{row['reliability']:.2f}", f"{row['left_bias']:+.2f}", agrees
        grid.add_row(shown(row["worker"]), *figures)
    console.print(grid)
