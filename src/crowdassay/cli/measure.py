"""`crowdassay measure`: many-facet Rasch measurement of ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, Grouped, choice, reading_option, split
from crowdassay.cli.study import StudyCommand
from crowdassay.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdassay.results.show import StudyView

MEASURE = StudyCommand(
    tables=("measures", "facets", "categories", "thresholds", "interactions", "differences", "group_shifts", "drift"),
    mark="n_ratings",
    page="the variable map and all tables",
    picture="the variable map",
    condition="rater.reliability < 0.8",
)
FACET_SETTINGS = ("steps", "estimation", "correct", "max_iter")


@click.command(cls=Grouped)
@click.argument("ratings", type=PATH)
@click.option("--facets", required=True, help="Columns that a rating depends on, such as rater,task or essay,judge,criterion.")
@click.option(
    "--positive", help="Facets whose measure raises ratings; the first is what is measured. Else the first that is not a rater."
)
@click.option(
    "--steps", help="A facet each element of which has thresholds of its own (partial credit). Else one rating scale."
)
@choice(
    "--estimation",
    values=["marginal", "joint"],
    help="Integrate what is measured over a population, or estimate it along with the rest, as Facets does.",
)
@click.option("--correct", is_flag=True, help="--estimation joint: shrink by (L - 1) / L, with L ratings for each object.")
@click.option("--interaction", multiple=True, help="Two facets, such as rater,task, to test for bias; may be given again.")
@click.option("--group", help="Column of groups: tests whether elements are seen differently by group.")
@click.option(
    "--cluster",
    help="Column of the question (or prompt): ratings of one are alike, and errors allow for it. Found by name otherwise.",
)
@click.option("--time", "time", help="Column of times or dates: tests whether raters drift.")
@click.option("--score-column", help="Column that holds the rating; found by name otherwise.")
@click.option("--bins", help="How many classes to make of the ratings, as of a slider's, or their edges separated by commas.")
@click.option("--classes", help="Where ratings are words: all of them, the lowest first, separated by commas.")
@reading_option("missing")
@reading_option("sheet")
@reading_option("encoding")
@click.option("--no-header", is_flag=True, help="The first row names no columns: they are named by number, from 1.")
@click.option("--max-iter", default=100, show_default=True, help="Steps of Newton's method.")
@MEASURE.options
def measure(ratings: Path, **options: Any) -> int:
    """Place raters, tasks and other facets of RATINGS on one scale, with errors, fit, bias between facets, groups and drift."""
    return MEASURE.run(ratings, options, lambda: prepare(ratings, options))


def prepare(path: Path, options: dict[str, Any]) -> tuple[str, Callable[[], StudyView]]:
    """Check the options; return what reads and fits the ratings."""
    from crowdassay.measurement.facets import ManyFacet
    from crowdassay.measurement.page import FacetsView

    facets = split(options["facets"])
    pairs = [_two(text, facets) for text in options["interaction"]]
    settings = {name: options[name] for name in FACET_SETTINGS}
    model = ManyFacet(facets=facets, positive=split(options["positive"]), **settings)

    def fit() -> StudyView:
        model.fit(
            path,
            score_column=options["score_column"],
            group_column=options["group"],
            time_column=options["time"],
            question_column=options["cluster"],
            allow_drops=options["allow_drops"],
            classes=split(options["classes"]) or None,
            **{name: options[name] for name in ("bins", "missing", "sheet", "encoding", "no_header")},
        )
        return FacetsView(model, pairs)

    return "Measuring ...", fit


def _two(text: str, facets: list[str]) -> tuple[str, str]:
    names = split(text)
    if len(names) != 2 or names[0] == names[1] or any(name not in facets for name in names):
        raise ParameterError(f"--interaction needs two of the facets, such as {','.join(facets[:2])}, not '{text}'.")
    return names[0], names[1]
