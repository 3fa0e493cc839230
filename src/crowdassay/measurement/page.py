"""The view of a many-facet measurement: its tables, figures and page, and what the terminal prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crowdassay.labels.values import counted
from crowdassay.measurement.charts import fit_chart, wright_map
from crowdassay.measurement.facets import ManyFacet
from crowdassay.measurement.residuals import BIASES, DIFFERENCES, DRIFT, GROUP_SHIFTS
from crowdassay.measurement.tables import (
    CATEGORIES,
    FACETS,
    FACETS_SHOWN,
    MEASURES_TABLE,
    THRESHOLDS,
    categories_table,
    facets_table,
    measures_table,
    thresholds_table,
)
from crowdassay.results.report.chart import Chart
from crowdassay.results.report.page import Findings
from crowdassay.results.show import Section, card, print_table, table_section
from crowdassay.tables import Column, Row, TableOf, undefined
from crowdassay.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console

MISFIT = 1.5  # infit or outfit above which ratings are called noisier than the model
CERTAIN = 0.05  # false discovery rate of what the terminal shows
ENDS_ON_PAGE, ENDS_PRINTED = 15, 8  # elements shown at either end of a facet
SCALE_SHOWN = (
    "score", "ratings", "share", "average_logit", "expected_logit", "outfit",
    Column("threshold", format="figure"), Column("standard_error", "error", "figure"),
)  # fmt: skip
MAP_TEXT = "All facets on one scale: the further what is measured stands above a rater, the higher that rater rates it."
FACETS_TITLE = "How far the elements of each facet lie apart"
FACETS_TEXT = "Reliability near 1: the order of the elements would come out the same again. p tests whether they differ at all."
FIT_TEXT = "1 is as expected; above 1.5 ratings are noisier than the model, below 0.5 too predictable. The worst first."
SCALE_TEXT = "A threshold is where two neighbouring scores are equally likely. Thresholds and average logits should rise."
FACET_FIGURES = ("reliability", "separation", "sd")


@dataclass(frozen=True)
class DepartureTest:
    """How a test of departures from the model is shown.

    Attributes
    ----------
    table : TableOf
    title, text : str
        Of its section on the page; {0} and {1} stand for facets or for the unit of time.
    found : str
        What the terminal says was found.
    shown : tuple of str
        Its columns that people see.
    """

    table: TableOf
    title: str
    text: str
    found: str
    shown: tuple[str, ...]


DEPARTURES = (
    DepartureTest(
        BIASES,
        "Do {0} and {1} interact?",
        "Logits by which two elements together are rated higher than apart. q is the false discovery rate.",
        "pairs of elements are rated otherwise together than apart",
        ("element", "other_element", "ratings", "bias", "standard_error", "p", "q"),
    ),
    DepartureTest(
        DIFFERENCES,
        "Are elements seen differently by group?",
        "Logits between the groups that rate an element highest and lowest, beyond what the groups have in common.",
        "elements are seen differently by group",
        ("element", "facet", "rated_higher_in", "rated_lower_in", "difference", "standard_error", "p", "q"),
    ),
    DepartureTest(
        DRIFT,
        "Does {0} drift?",
        "Logits of severity gained per {1}, and over all the time at work.",
        "raters drift",
        ("element", "ratings", "drift", "standard_error", "over_all_its_time", "p", "q"),
    ),
)


class FacetsView:
    """What a fitted many-facet model shows.

    Parameters
    ----------
    model : ManyFacet
    interactions : sequence of pairs of str
        Facets to test for bias.
    """

    def __init__(self, model: ManyFacet, interactions: Sequence[tuple[str, str]] = ()) -> None:
        self.model, self.ratings = model, model._fitted()
        self.biases = {pair: model._bias_table(*pair) for pair in interactions}

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """All tables that were asked for, by the names of their files."""
        model = self.model
        tables = {
            MEASURES_TABLE.name: measures_table(model),
            FACETS.name: facets_table(model),
            CATEGORIES.name: categories_table(model),
            THRESHOLDS.name: thresholds_table(model),
        }
        if self.biases:
            tables[BIASES.name] = pa.concat_tables(self.biases.values())
        if self.ratings.group is not None:
            elements, cells = zip(*model._group_tests(), strict=True)
            tables |= {DIFFERENCES.name: pa.concat_tables(elements), GROUP_SHIFTS.name: pa.concat_tables(cells)}
        if self.ratings.time is not None:
            tables[DRIFT.name] = model._drift_table()
        return tables

    def summary(self) -> dict[str, Any]:
        """Return what ``summary.json`` holds."""
        model, ratings = self.model, self.ratings
        return {
            "version": VERSION,
            "facets": list(ratings.facets),
            "measured": ratings.facets[model._item],
            "positive": [ratings.facets[f] for f in sorted(model._positive)],
            "steps": model.steps,
            "estimation": model.estimation,
            "n_ratings": ratings.n_ratings,
            "scores": ratings.values.tolist(),
            "centre": model.centre_,
            "spread": model.spread_,
            "log_likelihood": model.log_likelihood_,
            "converged": model.converged_,
            "n_iter": model.n_iter_,
            "connected": model.connected_,
            "dropped": ratings.dropped,
            "notes": model.notes_,
        }

    def figures(self) -> dict[str, float | None]:
        """Return what conditions may ask about: the whole, then the figures of each facet."""
        figures: dict[str, float | None] = {
            "not_converged": float(not self.model.converged_),
            "not_connected": float(not self.model.connected_),
            "disordered": float(sum(self.tables[THRESHOLDS.name]["disordered"].to_pylist())),
        }
        for row in self.tables[FACETS.name].to_pylist():
            for name in FACET_FIGURES:
                figures[f"{row['facet']}.{name}"] = None if undefined(row[name]) else float(row[name])
        for row in self.tables[MEASURES_TABLE.name].to_pylist():
            worst = max(row["infit"], row["outfit"])  # not a number for extreme elements, which is above nothing
            place = f"{row['facet']}.misfits"
            figures[place] = (figures.get(place) or 0.0) + float(worst > MISFIT)
        return figures

    def chart(self) -> Chart:
        """Return the variable map."""
        return wright_map(self.model)

    def page(self, title: str | None) -> Findings:
        """Return the page."""
        model, ratings = self.model, self.ratings
        rater = ratings.facets[model._rater_facet()]
        sections = [
            Section("map", "Variable map", MAP_TEXT),
            table_section("facets", FACETS_TITLE, FACETS, self.tables[FACETS.name], FACETS_SHOWN, text=FACETS_TEXT),
            Section("fit", f"Fit of {rater}", FIT_TEXT),
            *(self._facet_section(f) for f in range(len(ratings.facets))),
            table_section("scale", "The scale", CATEGORIES, self._scale(), SCALE_SHOWN, text=SCALE_TEXT),
            *self._test_sections(),
        ]
        connected = "yes" if model.connected_ else "no"
        cards = [
            card("Ratings", f"{ratings.n_ratings:,}", f"scores {ratings.values[0]:g} to {ratings.values[-1]:g}"),
            card(ratings.facets[model._item], f"{model.spread_:.2f} logits", "how far they lie apart (standard deviation)"),
            card("Connected", connected, "whether ratings alone compare every element with every other"),
        ]
        return Findings(
            title or f"Measurement of {ratings.source}",
            f"{counted(ratings.n_ratings, 'rating')}; facets {', '.join(ratings.facets)}; "
            f"{model.estimation} maximum likelihood.",
            sections,
            model.notes_,
            cards,
            {"map": self.chart(), "fit": fit_chart(self.tables[MEASURES_TABLE.name], rater)},
        )

    def _ends(self, facet: int, count: int, *, measured: bool = False) -> tuple[list[dict[str, Any]], int]:
        """Return the elements of a facet with the highest and the lowest measures, and how many lie between.

        With ``measured``, elements without a measure are left out; otherwise they come last.
        """
        name = self.ratings.facets[facet]
        rows = [row for row in self.tables[MEASURES_TABLE.name].to_pylist() if row["facet"] == name]
        rows = [row for row in rows if not (measured and undefined(row["measure"]))]
        rows = sorted(rows, key=lambda row: -(-1e9 if undefined(row["measure"]) else round(row["measure"], 6)))
        ends = rows if len(rows) <= 2 * count else [*rows[:count], *rows[-count:]]
        return ends, len(rows) - len(ends)

    def _facet_section(self, facet: int) -> Section:
        """Return the section on one facet; a star marks measures of extreme elements."""
        rows, between = self._ends(facet, ENDS_ON_PAGE)
        number = MEASURES_TABLE.column("measure")
        for row in rows:
            row["measure"] = number.cell(row) + (" *" if row["extreme"] else "")
        return table_section(
            f"facet-{facet}",
            f"{self.ratings.facets[facet]}: higher is rated {'higher' if facet in self.model._positive else 'lower'}",
            MEASURES_TABLE,
            rows,
            ("element", "ratings", "mean_rating", MEASURES_TABLE.column("measure", format="figure"), "standard_error",
             "fair_average", "infit", "outfit"),
            note=f"{between:,} elements between these are in the table measures." if between else "",
        )  # fmt: skip

    def _scale(self) -> list[Row]:
        """Return the scores, each with the threshold below it where all elements share one scale."""
        steps = {} if self.model._steps is not None else {r["to"]: r for r in self.tables[THRESHOLDS.name].to_pylist()}
        rows: list[Row] = []
        for row in self.tables[CATEGORIES.name].to_pylist():
            step = steps.get(row["score"])
            cells = [THRESHOLDS.column(name).cell(step) for name in ("threshold", "standard_error")] if step else ["", ""]
            word = " disordered" if step and step["disordered"] else ""
            below = f"{cells[0]} ± {cells[1]}{word}" if step else ""
            rows.append(row | {"threshold": cells[0] + word, "standard_error": cells[1], "below": below})
        return rows

    def _test_sections(self) -> list[Section]:
        """Return sections on interactions, groups and drift: the most telling rows of each."""
        ratings, sections = self.ratings, []
        biases, groups, drifts = DEPARTURES
        cases: list[tuple[str, DepartureTest, tuple[str, ...], pa.Table]] = [
            (f"bias-{n}", biases, pair, table) for n, (pair, table) in enumerate(self.biases.items())
        ]
        if DIFFERENCES.name in self.tables:
            cases.append(("groups", groups, (), self.tables[DIFFERENCES.name].sort_by("p")))
        if DRIFT.name in self.tables:
            about = (ratings.facets[self.model._rater_facet()], ratings.time_unit)
            cases.append(("drift", drifts, about, self.tables[DRIFT.name]))
        for name, test, words, table in cases:
            titles = dict(zip(("element", "other_element"), words, strict=True)) if test is biases else {}
            shown = [test.table.column(one, title=titles[one]) if one in titles else one for one in test.shown]
            more = f"The {ENDS_ON_PAGE} most telling of {len(table):,} rows." if len(table) > ENDS_ON_PAGE else ""
            sections.append(
                table_section(
                    name, test.title.format(*words), test.table, table.slice(0, ENDS_ON_PAGE), shown,
                    text=test.text.format(*words), note=more,
                )
            )  # fmt: skip
        return sections

    def show(self, console: Console) -> None:
        """Print the facets, the ends of the raters and the scale, and what the tests have found."""
        model, ratings = self.model, self.ratings
        item, values = ratings.facets[model._item], ratings.values
        lower = ", ".join(ratings.facets[f] for f in range(len(ratings.facets)) if f not in model._positive)
        console.print(
            f"Read {counted(ratings.n_ratings, 'rating')} from {ratings.source}, scores {values[0]:g} to {values[-1]:g}. "
            "What is "
            f"measured is {item}: higher measures mean higher ratings" + (f"; of {lower}, lower ones." if lower else ".")
        )
        scale = "one rating scale" if model.steps is None else f"thresholds for each {model.steps} (partial credit)"
        console.print(
            f"Fitted by {model.estimation} maximum likelihood, {scale}: log-likelihood {model.log_likelihood_:,.2f} after "
            f"{model.n_iter_} steps. {item} has mean {model.centre_:.2f} and standard deviation {model.spread_:.2f} logits."
        )
        for note in model.notes_:
            console.print(f"Note: {note}")
        console.print()
        print_table(console, FACETS, self.tables[FACETS.name], FACETS_SHOWN, title="Facets")
        self._show_raters(console)
        if model.steps is None:
            shown = ("score", "ratings", "average_logit", "outfit", Column("below", "threshold below", "figure"))
            print_table(console, CATEGORIES, self._scale(), shown, title="Scale")
        for test in DEPARTURES:
            if test.table.name in self.tables:
                self._show_test(console, test)

    def _show_raters(self, console: Console) -> None:
        place = self.model._rater_facet()
        rater = self.ratings.facets[place]
        rows, between = self._ends(place, ENDS_PRINTED, measured=True)
        shown = ("ratings", "mean_rating", "measure", "standard_error", "infit", "outfit")
        title = f"{rater}. {'Highest' if place in self.model._positive else 'Most severe'} first"
        print_table(console, MEASURES_TABLE, rows, (MEASURES_TABLE.column("element", title=rater), *shown), title=title)
        if between:
            console.print(f"{between:,} between these are not shown.")

    def _show_test(self, console: Console, test: DepartureTest) -> None:
        """Print how many rows of a test stand out, and the most telling ones."""
        tested = [row for row in self.tables[test.table.name].to_pylist() if not undefined(row["p"])]
        certain = [row for row in tested if row["q"] <= CERTAIN]
        console.print(f"{len(certain):,} of {len(tested):,} {test.found} (false discovery rate {CERTAIN:g}).")
        if certain:
            print_table(console, test.table, certain[:ENDS_PRINTED], test.shown)
