"""`crowdassay measure`: many-facet Rasch measurement of ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped
from crowdassay.cli.tables import check_outputs, print_json, split, table_options, write_tables

if TYPE_CHECKING:
    import pyarrow as pa

    from crowdassay.measurement.facets import ManyFacet

    Interactions = list[tuple[str, str, pa.Table]]

FILES = (
    "measures.csv", "facets.csv", "categories.csv", "thresholds.csv", "interactions.csv", "differences.csv",
    "group_shifts.csv", "drift.csv", "summary.json",
)  # fmt: skip
MISFIT = 1.5  # infit or outfit above which ratings are called noisier than the model
MARK = "n_ratings"  # by which a summary is known to be of this command


@click.command(cls=Grouped)
@click.argument("ratings", type=click.Path(path_type=Path))
@click.option("--facets", required=True, help="Columns that a rating depends on, such as rater,task or essay,judge,criterion.")
@click.option(
    "--positive", help="Facets whose measure raises ratings; the first is what is measured. Else the first that is not a rater."
)
@click.option(
    "--steps", help="A facet each element of which has thresholds of its own (partial credit). Else one rating scale."
)
@click.option(
    "--estimation",
    type=click.Choice(["marginal", "joint"]),
    default="marginal",
    show_default=True,
    help="Integrate what is measured over a population, or estimate it along with the rest, as Facets does.",
)
@click.option("--correct", is_flag=True, help="--estimation joint: shrink by (L - 1) / L, with L ratings for each object.")
@click.option("--interaction", multiple=True, help="Two facets, such as rater,task, to test for bias; may be given again.")
@click.option("--group", help="Column of groups: tests whether elements are seen differently by group.")
@click.option("--time", "time", help="Column of times or dates: tests whether raters drift.")
@click.option("--score-column", help="Column that holds the rating; found by name otherwise.")
@click.option("--max-iter", default=100, show_default=True, help="Steps of Newton's method.")
@table_options(page="the variable map and all tables", picture="The variable map", condition="rater.reliability < 0.8")
def measure(ratings: Path, as_json: bool, **options: Any) -> int:
    """Place raters, tasks and other facets of RATINGS on one scale, with errors, fit, bias between facets, groups and drift."""
    from crowdassay.cli.gates import check_conditions, read_conditions, tell_failures
    from crowdassay.cli.measure_show import show
    from crowdassay.cli.running import working
    from crowdassay.measurement.facets import ManyFacet

    conditions = read_conditions(options["fail_if"], "rater.reliability < 0.8")
    check_outputs(ratings, FILES, MARK, options)
    facets = split(options["facets"])
    pairs = [_two(text, facets) for text in options["interaction"]]
    model = ManyFacet(
        facets=facets,
        positive=split(options["positive"]),
        **{name: options[name] for name in ("steps", "estimation", "correct", "max_iter")},
    )
    with working("Measuring ...", quiet=as_json):
        model.fit(
            ratings,
            score_column=options["score_column"],
            group_column=options["group"],
            time_column=options["time"],
            allow_drops=options["allow_drops"],
        )
        together = [(one, two, model.interactions(one, two)) for one, two in pairs]
        tables = gather(model, together)
    gates = check_conditions(conditions, figures(model, tables))
    summary = summarise(model) | ({"gate": [gate.as_dict() for gate in gates]} if gates else {})
    write_tables(options["out"], FILES, MARK, tables, summary)
    _draw(model, together, options)
    if as_json:
        print_json(summary, tables)
    else:
        show(model, tables, options)
    return tell_failures(gate for gate in gates if gate.failed)


def _two(text: str, facets: list[str]) -> tuple[str, str]:
    from crowdassay.errors import ParameterError

    names = split(text)
    if len(names) != 2 or names[0] == names[1] or any(name not in facets for name in names):
        raise ParameterError(f"--interaction needs two of the facets, such as {','.join(facets[:2])}, not '{text}'.")
    return names[0], names[1]


def _draw(model: ManyFacet, together: Interactions, options: dict[str, Any]) -> None:
    if options["chart"] is not None:
        from crowdassay.measurement.charts import wright_map

        wright_map(model).save(options["chart"])
    if options["report"] is not None:
        from crowdassay.measurement.page import measuring_page
        from crowdassay.results.report.findings import write_findings

        write_findings(measuring_page(model, options["report_title"], together), options["report"])


def gather(model: ManyFacet, together: Interactions) -> dict[str, Any]:
    """Return all tables that were asked for."""
    import pyarrow as pa

    tables = {
        "measures": model.measures_,
        "facets": model.facets_,
        "categories": model.categories_,
        "thresholds": model.thresholds_,
    }
    rows = []
    for one, two, table in together:
        names = {one: "element", two: "other_element"}
        named = table.rename_columns([names.get(name, name) for name in table.column_names])
        for place, (column, facet) in enumerate((("facet", one), ("other_facet", two))):
            named = named.add_column(place, column, pa.array([facet] * table.num_rows, pa.string()))
        rows.append(named)
    if rows:
        tables["interactions"] = pa.concat_tables(rows)
    if model._ratings.group is not None:
        tables |= {"differences": model.differences_, "group_shifts": model.group_shifts_}
    if model._ratings.time is not None:
        tables["drift"] = model.drift_
    return tables


def figures(model: ManyFacet, tables: dict[str, Any]) -> dict[str, float | None]:
    """Return what conditions may ask about: the whole, then the figures of each facet."""
    import math

    figures: dict[str, float | None] = {
        "not_converged": float(not model.converged_),
        "not_connected": float(not model.connected_),
        "disordered": float(sum(bool(row["disordered"]) for row in tables["thresholds"].to_pylist())),
    }
    for row in tables["facets"].to_pylist():
        for name in ("reliability", "separation", "sd"):
            known = row[name] is not None and not math.isnan(row[name])
            figures[f"{row['facet']}.{name}"] = float(row[name]) if known else None
    for row in tables["measures"].to_pylist():
        worst = max(row["infit"], row["outfit"])  # not a number for extreme elements, which is above nothing
        place = f"{row['facet']}.misfits"
        figures[place] = (figures.get(place) or 0.0) + float(worst > MISFIT)
    return figures


def summarise(model: ManyFacet) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    from crowdassay.version import VERSION

    ratings = model._ratings
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
