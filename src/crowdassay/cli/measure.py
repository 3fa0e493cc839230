"""`crowdassay measure`: many-facet Rasch measurement of ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.grouped import Grouped

if TYPE_CHECKING:
    from crowdassay.measurement.facets import ManyFacet

FILES = (
    "measures.csv", "facets.csv", "categories.csv", "thresholds.csv", "interactions.csv", "differences.csv",
    "group_shifts.csv", "drift.csv", "summary.json",
)  # fmt: skip
SHOWN = 8
MISFIT = 1.5  # infit or outfit above which ratings are called noisier than the model
CERTAIN = 0.05


@click.command(cls=Grouped, short_help="Measure raters, tasks and other facets.")
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
@click.option("--allow-drops", is_flag=True, help="Go on even if more than half of the rows miss a value.")
@click.option("--max-iter", default=100, show_default=True, help="Steps of Newton's method.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the tables, as CSV.")
@click.option("--report", type=click.Path(path_type=Path), help="A page with the variable map and all tables (.html).")
@click.option("--chart", type=click.Path(path_type=Path), help="The variable map as a picture (.svg or .png).")
@click.option("--report-title", help="Title of the page.")
@click.option(
    "--fail-if", multiple=True, help="End with exit code 1 if this holds, such as 'rater.reliability < 0.8'; again for more."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def measure(ratings: Path, as_json: bool, **options: Any) -> int:
    """Place raters, tasks and other facets of RATINGS on one scale, with errors, fit, bias between facets, groups and drift."""
    from crowdassay.cli.fail_if import check_conditions, read_conditions, tell_failures
    from crowdassay.cli.paths import refuse_inputs
    from crowdassay.cli.progress import working
    from crowdassay.io.folder import check_free, replacing_folder
    from crowdassay.io.write import check_writable, write_json, write_table
    from crowdassay.measurement.facets import ManyFacet

    out, report, chart = options["out"], options["report"], options["chart"]
    conditions = read_conditions(options["fail_if"], "rater.reliability < 0.8")
    refuse_inputs([ratings], [report, chart])
    check_outputs(out, report, chart)
    if out is not None:
        check_writable(out)
        check_free(out, FILES, FILES[-1])
    facets = split(options["facets"])
    pairs = [_two(text, facets) for text in options["interaction"]]
    model = ManyFacet(
        facets=facets,
        positive=split(options["positive"]),
        steps=options["steps"],
        estimation=options["estimation"],
        correct=options["correct"],
        max_iter=options["max_iter"],
    )
    with working("Measuring ...", quiet=as_json):
        model.fit(
            ratings,
            score_column=options["score_column"],
            group_column=options["group"],
            time_column=options["time"],
            allow_drops=options["allow_drops"],
        )
        tables = gather(model, pairs)
    gates = check_conditions(conditions, figures(model, tables))
    summary = summarise(model) | ({"gate": gates} if gates else {})
    if out is not None:
        with replacing_folder(out, FILES, FILES[-1]) as fresh:
            for name, table in tables.items():
                write_table(table, fresh / f"{name}.csv", "csv")
            write_json(summary, fresh / FILES[-1])
    if report is not None or chart is not None:
        _draw(model, pairs, report, chart, options["report_title"])
    if as_json:
        import json

        from crowdassay.io.write import finite

        body = summary | {"tables": {name: table.to_pylist() for name, table in tables.items()}}
        click.echo(json.dumps(finite(body), indent=2, ensure_ascii=False))
    else:
        show(model, tables, options)
    return tell_failures(gates)


def split(text: str | None) -> list[str]:
    """Return names separated by commas."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _two(text: str, facets: list[str]) -> tuple[str, str]:
    from crowdassay.errors import ParameterError

    names = split(text)
    if len(names) != 2 or names[0] == names[1] or any(name not in facets for name in names):
        raise ParameterError(f"--interaction needs two of the facets, such as {','.join(facets[:2])}, not '{text}'.")
    return names[0], names[1]


def check_outputs(out: Path | None, report: Path | None, chart: Path | None) -> None:
    """Refuse what cannot be written before there is anything to write."""
    if report is not None:
        from crowdassay.report.build import check_report

        check_report(report)
    if chart is not None:
        from crowdassay.report.chart import check_chart

        check_chart(chart)


def _draw(model: ManyFacet, pairs: list[tuple[str, str]], report: Path | None, chart: Path | None, title: str | None) -> None:
    from crowdassay.measurement.charts import wright_map
    from crowdassay.measurement.page import measuring_page
    from crowdassay.report.findings import write_findings

    if chart is not None:
        wright_map(model).save(chart)
    if report is not None:
        from crowdassay.measurement.interactions import interactions

        found = []
        for one, two in pairs:
            places = model._ratings.facet(one), model._ratings.facet(two)
            found.append(
                (one, two, interactions(model._ratings, model._design, model._fit.covariance, model._residuals, *places))
            )
        write_findings(measuring_page(model, title, found), report)


def gather(model: ManyFacet, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Return all tables that were asked for."""
    import pyarrow as pa

    tables = {
        "measures": model.measures_,
        "facets": model.facets_,
        "categories": model.categories_,
        "thresholds": model.thresholds_,
    }
    found = []
    for one, two in pairs:
        table = model.interactions(one, two)
        names = {one: "element", two: "other_element"}
        table = table.rename_columns([names.get(name, name) for name in table.column_names])
        table = table.add_column(0, "facet", pa.array([one] * table.num_rows, pa.string()))
        found.append(table.add_column(1, "other_facet", pa.array([two] * table.num_rows, pa.string())))
    if found:
        tables["interactions"] = pa.concat_tables(found)
    if model._ratings.group is not None:
        tables |= {"differences": model.differences_, "group_shifts": model.group_shifts_}
    if model._ratings.time is not None:
        tables["drift"] = model.drift_
    return tables


def figures(model: ManyFacet, tables: dict[str, Any]) -> dict[str, float | None]:
    """Return what conditions may ask about: the whole, then the figures of each facet."""
    import math

    found: dict[str, float | None] = {
        "not_converged": float(not model.converged_),
        "not_connected": float(not model.connected_),
        "disordered": float(sum(bool(row["disordered"]) for row in tables["thresholds"].to_pylist())),
    }
    for row in tables["facets"].to_pylist():
        for name in ("reliability", "separation", "sd"):
            known = row[name] is not None and not math.isnan(row[name])
            found[f"{row['facet']}.{name}"] = float(row[name]) if known else None
    for row in tables["measures"].to_pylist():
        worst = max(row["infit"], row["outfit"])  # not a number for extreme elements, which is above nothing
        place = f"{row['facet']}.misfits"
        found[place] = (found.get(place) or 0.0) + float(worst > MISFIT)
    return found


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


def show(model: ManyFacet, tables: dict[str, Any], options: dict[str, Any]) -> None:
    """Print the facets, the ends of the raters and the scale, and what the tests have found."""
    from rich.console import Console
    from rich.table import Table

    from crowdassay.cli.summary import shown
    from crowdassay.report.findings import number, small

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
    table = Table(
        "facet",
        "elements",
        "sd",
        "mean error",
        "separation",
        "reliability",
        "all alike: p",
        title="Facets",
        title_justify="left",
    )
    for row in tables["facets"].to_pylist():
        figures = (row["sd"], row["rmse"], row["separation"], row["reliability"])
        table.add_row(shown(row["facet"]), f"{row['elements']:,}", *map(number, figures), small(row["p"]))
    console.print(table)
    rater = ratings.facets[model._rater_facet()]
    rows = [row for row in tables["measures"].to_pylist() if row["facet"] == rater and row["measure"] == row["measure"]]
    rows.sort(key=lambda row: -row["measure"])
    ends = rows if len(rows) <= 2 * SHOWN else [*rows[:SHOWN], *rows[-SHOWN:]]
    word = "Most severe first" if model._rater_facet() not in model._positive else "Highest first"
    people = Table(
        rater, "ratings", "mean", "measure", "error", "infit", "outfit", title=f"{rater}. {word}", title_justify="left"
    )
    for row in ends:
        five = (row["mean_rating"], row["measure"], row["standard_error"], row["infit"], row["outfit"])
        people.add_row(shown(row["element"]), f"{row['ratings']:,}", *map(number, five))
    console.print(people)
    if len(rows) > len(ends):
        console.print(f"{len(rows) - len(ends):,} between these are not shown.")
    if model.steps is None:
        scale_table = Table(
            "score", "ratings", "average logit", "outfit", "threshold below", title="Scale", title_justify="left"
        )
        steps = {row["to"]: row for row in tables["thresholds"].to_pylist()}
        for row in tables["categories"].to_pylist():
            step = steps.get(row["score"])
            told = (
                ""
                if step is None
                else f"{step['threshold']:.2f} ± {step['standard_error']:.2f}" + (" disordered" if step["disordered"] else "")
            )
            scale_table.add_row(
                f"{row['score']:g}", f"{row['ratings']:,}", number(row["average_logit"]), number(row["outfit"]), told
            )
        console.print(scale_table)
    _show_tests(console, tables)
    written = [f"tables to {options['out']}"] if options["out"] else []
    written += [f"the page to {options['report']}"] if options["report"] else []
    written += [f"the variable map to {options['chart']}"] if options["chart"] else []
    console.print(f"Wrote {', '.join(written)}." if written else "No tables were written; give --out DIR for them.")


def _show_tests(console: Any, tables: dict[str, Any]) -> None:
    """Print how many interactions, differences and drifts stand out, and the most telling ones."""
    from rich.table import Table

    from crowdassay.cli.summary import shown
    from crowdassay.report.findings import number, small

    for name, title, value in (
        ("interactions", "pairs of elements are rated otherwise together than apart", "bias"),
        ("differences", "elements are seen differently by group", "difference"),
        ("drift", "raters drift", "over_all_its_time"),
    ):
        if name not in tables:
            continue
        rows = tables[name].to_pylist()
        tested = [row for row in rows if row["p"] is not None and row["p"] == row["p"]]
        found = [row for row in tested if row["q"] <= CERTAIN]
        console.print(f"{len(found):,} of {len(tested):,} {title} (false discovery rate {CERTAIN:g}).")
        table = Table("element", "with", value.replace("_", " "), "error", "p", "q")
        for row in found[:SHOWN]:
            other = row.get("other_element") or (
                f"{row['rated_higher_in']} over {row['rated_lower_in']}" if "df" in row else row["facet"]
            )
            error = row["standard_error"] if value != "over_all_its_time" else abs(row[value] / row["z"])
            table.add_row(
                shown(row["element"]), shown(other), number(row[value]), number(error), small(row["p"]), small(row["q"])
            )
        if found:
            console.print(table)
