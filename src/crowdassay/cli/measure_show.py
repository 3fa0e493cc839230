"""What `crowdassay measure` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from crowdassay.cli.tables import say_written
from crowdassay.measurement.facets import ManyFacet
from crowdassay.results.report.findings import number, small
from crowdassay.text import short as shown

SHOWN = 8
CERTAIN = 0.05


def show(model: ManyFacet, tables: dict[str, Any], options: dict[str, Any]) -> None:
    """Print the facets, the ends of the raters and the scale, and what the tests have found."""
    console, ratings = Console(highlight=False, markup=False), model._ratings
    item = ratings.facets[model._item]
    lower = ", ".join(ratings.facets[f] for f in range(len(ratings.facets)) if f not in model._positive)
    console.print(
        f"Read {ratings.n_ratings:,} ratings from {ratings.source}, scores {ratings.values[0]:g} to {ratings.values[-1]:g}. "
        f"What is measured is {item}: higher measures mean higher ratings" + (f"; of {lower}, lower ones." if lower else ".")
    )
    scale = "one rating scale" if model.steps is None else f"thresholds for each {model.steps} (partial credit)"
    console.print(
        f"Fitted by {model.estimation} maximum likelihood, {scale}: log-likelihood {model.log_likelihood_:,.2f} after "
        f"{model.n_iter_} steps. {item} has mean {model.centre_:.2f} and standard deviation {model.spread_:.2f} logits."
    )
    for note in model.notes_:
        console.print(f"Note: {note}")
    console.print()
    heads = ("facet", "elements", "sd", "error", "separation", "reliability", "alike: p")
    table = Table(*heads, title="Facets", title_justify="left")
    for row in tables["facets"].to_pylist():
        figures = (row["sd"], row["rmse"], row["separation"], row["reliability"])
        table.add_row(shown(row["facet"]), f"{row['elements']:,}", *map(number, figures), small(row["p"]))
    console.print(table)
    _show_raters(console, model, tables["measures"].to_pylist())
    if model.steps is None:
        _show_scale(console, tables)
    _show_tests(console, tables)
    say_written(console, options, "the variable map")


def _show_raters(console: Console, model: ManyFacet, measures: list[dict[str, Any]]) -> None:
    place = model._rater_facet()
    rater = model._ratings.facets[place]
    rows = [row for row in measures if row["facet"] == rater and row["measure"] == row["measure"]]
    rows.sort(key=lambda row: -row["measure"])
    ends = rows if len(rows) <= 2 * SHOWN else [*rows[:SHOWN], *rows[-SHOWN:]]
    title = f"{rater}. {'Highest' if place in model._positive else 'Most severe'} first"
    table = Table(rater, "ratings", "mean", "measure", "error", "infit", "outfit", title=title, title_justify="left")
    for row in ends:
        figures = (row["mean_rating"], row["measure"], row["standard_error"], row["infit"], row["outfit"])
        table.add_row(shown(row["element"]), f"{row['ratings']:,}", *map(number, figures))
    console.print(table)
    if len(rows) > len(ends):
        console.print(f"{len(rows) - len(ends):,} between these are not shown.")


def _show_scale(console: Console, tables: dict[str, Any]) -> None:
    below = {
        row["to"]: f"{row['threshold']:.2f} ± {row['standard_error']:.2f}" + (" disordered" if row["disordered"] else "")
        for row in tables["thresholds"].to_pylist()
    }
    table = Table("score", "ratings", "average logit", "outfit", "threshold below", title="Scale", title_justify="left")
    for row in tables["categories"].to_pylist():
        figures = number(row["average_logit"]), number(row["outfit"])
        table.add_row(f"{row['score']:g}", f"{row['ratings']:,}", *figures, below.get(row["score"], ""))
    console.print(table)


def _show_tests(console: Console, tables: dict[str, Any]) -> None:
    """Print how many interactions, differences and drifts stand out, and the most telling ones."""
    for name, title, other, value in (
        ("interactions", "pairs of elements are rated otherwise together than apart", "with", "bias"),
        ("differences", "elements are seen differently by group", "rated higher in", "difference"),
        ("drift", "raters drift", "facet", "over_all_its_time"),
    ):
        if name not in tables:
            continue
        tested = [row for row in tables[name].to_pylist() if row["p"] is not None and row["p"] == row["p"]]
        certain = [row for row in tested if row["q"] <= CERTAIN]
        console.print(f"{len(certain):,} of {len(tested):,} {title} (false discovery rate {CERTAIN:g}).")
        table = Table("element", other, value.replace("_", " "), "error", "p", "q")
        for row in certain[:SHOWN]:
            beside = row.get("other_element") or (
                f"{row['rated_higher_in']} than {row['rated_lower_in']}" if "df" in row else row["facet"]
            )
            error = row["standard_error"] if value != "over_all_its_time" else abs(row[value] / row["z"])
            figures = number(row[value]), number(error), small(row["p"]), small(row["q"])
            table.add_row(shown(row["element"]), shown(beside), *figures)
        if certain:
            console.print(table)
