"""`crowdassay rank`: a ranking from comparisons of two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.grouped import Grouped
from crowdassay.cli.measure import split

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry

FILES = ("ranking.csv", "workers.csv", "wins.csv", "groups.csv", "style.csv", "next.csv", "summary.json")
SHOWN = 30
MOST_IN_MATRIX = 1000
LEAST_IN_GROUP = 20  # comparisons below which a group gets no ranking of its own


@click.command(cls=Grouped, short_help="Rank what was compared two at a time.")
@click.argument("pairs", type=click.Path(path_type=Path))
@click.option(
    "--ties",
    type=click.Choice(["davidson", "rao-kupper", "half"]),
    default="davidson",
    show_default=True,
    help="How ties come about, or count each as half a win.",
)
@click.option(
    "--both-bad", type=click.Choice(["tie", "drop"]), default="tie", show_default=True, help="What to do where both were bad."
)
@click.option("--no-position", is_flag=True, help="Take it that neither side has an advantage.")
@click.option("--no-reliability", is_flag=True, help="Take it that all workers are alike.")
@click.option("--prior", help="Standard deviation of the scores in logits, or none; estimated otherwise.")
@click.option(
    "--intervals",
    type=click.Choice(["sandwich", "bootstrap", "model"]),
    default="sandwich",
    show_default=True,
    help="How to find intervals.",
)
@click.option("--confidence", default=0.95, show_default=True, help="Share of intervals that hold the real value.")
@click.option("--resamples", default=200, show_default=True, help="--intervals bootstrap: how many.")
@click.option("--seed", default=0, show_default=True, help="The same seed draws the same items (bootstrap).")
@click.option(
    "--style", help="What else differs between the sides, such as length: columns length_left and length_right, or length."
)
@click.option("--group", help="Column: a ranking for each group besides.")
@click.option("--next", "next_pairs", type=int, help="Name this many pairs to compare next.")
@click.option("--left-column", help="Column of the left one; found by name (left, model_a ...) otherwise.")
@click.option("--right-column", help="Column of the right one.")
@click.option("--winner-column", help="Column of the winner: left, right, a name, tie or both bad.")
@click.option("--worker-column", help="Column of who compared; there need be none.")
@click.option(
    "--winners",
    type=click.Choice(["auto", "side", "name"]),
    default="auto",
    show_default=True,
    help="Whether winners are sides (left, model_a) or names of what was compared.",
)
@click.option("--allow-drops", is_flag=True, help="Go on even if more than half of the rows miss a value.")
@click.option("--max-iter", default=200, show_default=True, help="Steps of Newton's method.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the tables, as CSV.")
@click.option("--report", type=click.Path(path_type=Path), help="A page with the ranking and who beats whom (.html).")
@click.option("--chart", type=click.Path(path_type=Path), help="The ranking as a picture (.svg or .png).")
@click.option("--report-title", help="Title of the page.")
@click.option(
    "--fail-if", multiple=True, help="End with exit code 1 if this holds, such as 'model-x.worst_rank > 3'; again for more."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def rank(pairs: Path, as_json: bool, **options: Any) -> int:
    """Rank what was compared two at a time in PAIRS: scores with intervals, ties, and how reliable each worker is."""
    from crowdassay.cli.fail_if import check_conditions, read_conditions, tell_failures
    from crowdassay.cli.measure import check_outputs
    from crowdassay.cli.paths import refuse_inputs
    from crowdassay.cli.progress import working
    from crowdassay.errors import ParameterError
    from crowdassay.io.folder import check_free, replacing_folder
    from crowdassay.io.write import check_writable, write_json, write_table
    from crowdassay.ranking.bradley_terry import BradleyTerry
    from crowdassay.ranking.pairs import read_pairs

    out, conditions = options["out"], read_conditions(options["fail_if"], "model-x.worst_rank > 3")
    refuse_inputs([pairs], [options["report"], options["chart"]])
    check_outputs(out, options["report"], options["chart"])
    if out is not None:
        check_writable(out)
        check_free(out, FILES, FILES[-1])
    if options["next_pairs"] is not None and options["next_pairs"] < 1:
        raise ParameterError("--next needs a number of at least 1.")
    model = BradleyTerry(
        ties=options["ties"],
        position=not options["no_position"],
        reliability=not options["no_reliability"],
        prior=_prior(options["prior"]),
        **{name: options[name] for name in ("intervals", "confidence", "resamples", "seed", "max_iter")},
    )
    names = ("left_column", "right_column", "winner_column", "worker_column", "winners", "both_bad", "allow_drops")
    data = read_pairs(
        pairs, group_column=options["group"], style=split(options["style"]), **{name: options[name] for name in names}
    )
    with working(f"Ranking {data.n_pairs:,} comparisons ...", quiet=as_json):
        model.fit(data)
        grouped = rankings_by_group(model)
        tables = gather(model, grouped, options["next_pairs"])
    gates = check_conditions(conditions, figures(model, tables["ranking"]))
    summary = summarise(model) | ({"gate": gates} if gates else {})
    if out is not None:
        with replacing_folder(out, FILES, FILES[-1]) as fresh:
            for name, table in tables.items():
                write_table(table, fresh / f"{name}.csv", "csv")
            write_json(summary, fresh / FILES[-1])
    if options["chart"] is not None:
        from crowdassay.ranking.page import interval_chart

        interval_chart(tables["ranking"], model.confidence).save(options["chart"])
    if options["report"] is not None:
        from crowdassay.ranking.page import ranking_page
        from crowdassay.report.findings import write_findings

        page = ranking_page(model, options["report_title"], [(name, table) for name, table, _ in grouped], tables.get("next"))
        write_findings(page, options["report"])
    if as_json:
        import json

        from crowdassay.io.write import finite

        body = summary | {"tables": {name: table.to_pylist() for name, table in tables.items() if name != "wins"}}
        click.echo(json.dumps(finite(body), indent=2, ensure_ascii=False))
    else:
        show(model, tables, grouped, options)
    return tell_failures(gates)


def _prior(given: str | None) -> float | str | None:
    from crowdassay.errors import ParameterError

    if given is None or given == "estimated":
        return "estimated"
    if given == "none":
        return None
    try:
        return float(given)
    except ValueError:
        raise ParameterError(f"--prior needs a number, none or estimated, not '{given}'.") from None


def rankings_by_group(model: BradleyTerry) -> list[tuple[str, Any, list[str]]]:
    """Return for each group its name, its ranking and notes; groups with hardly any comparisons have none."""
    import dataclasses

    import numpy as np

    pairs = model._fitted()
    if pairs.group is None or pairs.groups is None:
        return []
    found = []
    for g, name in enumerate(pairs.groups.to_pylist()):
        rows = pairs.group == g
        if rows.sum() < LEAST_IN_GROUP:
            model.notes_.append(f"The group '{name}' has only {int(rows.sum())} comparisons, so no ranking of its own.")
            continue
        part = pairs.only(rows)
        used, codes = np.unique(np.concatenate([part.left, part.right]), return_inverse=True)
        part = dataclasses.replace(
            part, left=codes[: part.n_pairs], right=codes[part.n_pairs :], items=pairs.items.take(used), group=None,
            groups=None, notes=(), dropped={},
        )  # fmt: skip
        settings = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
        own = type(model)(**settings).fit(part)
        found.append((str(name), own._ranking(), own.notes_))
    return found


def gather(model: BradleyTerry, grouped: list[tuple[str, Any, list[str]]], count: int | None) -> dict[str, Any]:
    """Return all tables that were asked for."""
    import pyarrow as pa

    tables = {"ranking": model._ranking()}
    if len(model._pairs.workers):
        tables["workers"] = model.workers_
    if model._pairs.n_items <= MOST_IN_MATRIX:
        names = tables["ranking"]["item"].to_pylist()
        beats = model.win_matrix()
        tables["wins"] = pa.table({"item": names, **{name: beats[:, n] for n, name in enumerate(names) if name != "item"}})
    if grouped:
        tables["groups"] = pa.concat_tables(
            [table.add_column(0, "group_name", pa.array([name] * table.num_rows, pa.string())) for name, table, _ in grouped]
        )
    if model._pairs.styles:
        tables["style"] = model.style_
    if count is not None:
        tables["next"] = model.next_pairs(count)
    return tables


def figures(model: BradleyTerry, ranking: Any) -> dict[str, float | None]:
    """Return what conditions may ask about: the whole, then each item's figures."""
    names = ("rank", "best_rank", "worst_rank", "score", "low", "high", "win_rate")
    whole: dict[str, float | None] = {
        "not_converged": float(not model.converged_),
        "n_parts": float(len(set(ranking["part"].to_pylist()))),
        "position_bias": model.position_bias_,
    }
    return whole | {f"{row['item']}.{name}": float(row[name]) for row in ranking.to_pylist() for name in names}


def summarise(model: BradleyTerry) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    from crowdassay.version import VERSION

    pairs = model._fitted()
    return {
        "version": VERSION,
        "columns": pairs.columns,
        "n_comparisons": pairs.n_pairs,
        "n_items": pairs.n_items,
        "n_workers": len(pairs.workers),
        "n_ties": int((pairs.outcome == 2).sum()),
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


def show(
    model: BradleyTerry, tables: dict[str, Any], grouped: list[tuple[str, Any, list[str]]], options: dict[str, Any]
) -> None:
    """Print the ranking, the least reliable workers, and what to compare next."""
    from rich.console import Console
    from rich.table import Table

    from crowdassay.cli.summary import shown

    console, pairs = Console(highlight=False, markup=False), model._fitted()
    columns = ", ".join(f"{role} = {shown(name)}" for role, name in pairs.columns.items())
    people = f" by {len(pairs.workers):,} workers" if len(pairs.workers) else ""
    console.print(
        f"Read {pairs.n_pairs:,} comparisons of {pairs.n_items:,} items{people} from {pairs.source} ({columns}); "
        f"{int((pairs.outcome == 2).sum()):,} are ties."
    )
    spread = model.spread_
    differ = (
        f"; workers' reliability varies by a factor of {2.718281828 ** spread['reliability']:.2f}" if model._effects else ""
    )
    console.print(
        f"Scores vary by {spread['scores']:.2f} logits; the left side is favoured by {model.position_bias_:.2f}{differ}."
    )
    for note in model.notes_:
        console.print(f"Note: {note}")
    console.print()
    for title, table in [("Ranking", tables["ranking"]), *((f"Ranking in {shown(name)}", table) for name, table, _ in grouped)]:
        grid = Table(
            "rank",
            "item",
            "score",
            f"{model.confidence:.0%} interval",
            "rank may be",
            "group",
            "comparisons",
            title=title,
            title_justify="left",
        )
        for row in table.slice(0, SHOWN).to_pylist():
            grid.add_row(
                f"{row['rank']}", shown(row["item"]), f"{row['score']:.2f}", f"{row['low']:.2f} to {row['high']:.2f}",
                f"{row['best_rank']} to {row['worst_rank']}", row["group"], f"{row['comparisons']:,}",
            )  # fmt: skip
        console.print(grid)
        if table.num_rows > SHOWN:
            console.print(f"{table.num_rows - SHOWN:,} more are not shown.")
    console.print("Items that share a letter in the column group cannot be told apart.")
    if model._effects:
        grid = Table(
            "worker",
            "comparisons",
            "reliability",
            "left bias",
            "agrees with ranking",
            title="Least reliable workers",
            title_justify="left",
        )
        for row in tables["workers"].sort_by("reliability").slice(0, 5).to_pylist():
            agrees = "–" if row["agreement"] is None or row["agreement"] != row["agreement"] else f"{row['agreement']:.0%}"
            grid.add_row(
                shown(row["worker"]), f"{row['comparisons']:,}", f"{row['reliability']:.2f}", f"{row['left_bias']:+.2f}", agrees
            )
        console.print(grid)
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
    written = [
        f"{word} to {options[name]}"
        for name, word in (("out", "tables"), ("report", "the page"), ("chart", "the ranking"))
        if options[name]
    ]
    console.print(f"Wrote {', '.join(written)}." if written else "No tables were written; give --out DIR for them.")
