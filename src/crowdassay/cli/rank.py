"""`crowdassay rank`: a ranking from comparisons of two."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped
from crowdassay.cli.tables import check_outputs, print_json, split, table_options, write_tables

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry

FILES = ("ranking.csv", "workers.csv", "wins.csv", "groups.csv", "style.csv", "next.csv", "summary.json")
MOST_IN_MATRIX = 1000
MARK = "n_comparisons"  # by which a summary is known to be of this command


@click.command(cls=Grouped)
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
@click.option("--max-iter", default=200, show_default=True, help="Steps of Newton's method.")
@table_options(page="the ranking and who beats whom", picture="The ranking", condition="model-x.worst_rank > 3")
def rank(pairs: Path, as_json: bool, **options: Any) -> int:
    """Rank what was compared two at a time in PAIRS: scores with intervals, ties, and how reliable each worker is."""
    from crowdassay.cli.gates import check_conditions, read_conditions, tell_failures
    from crowdassay.cli.rank_show import show
    from crowdassay.cli.running import working
    from crowdassay.errors import ParameterError
    from crowdassay.ranking.bradley_terry import BradleyTerry
    from crowdassay.ranking.groups import rankings_by_group
    from crowdassay.ranking.pairs import read_pairs

    conditions = read_conditions(options["fail_if"], "model-x.worst_rank > 3")
    check_outputs(pairs, FILES, MARK, options)
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
    summary = summarise(model) | ({"gate": [gate.as_dict() for gate in gates]} if gates else {})
    write_tables(options["out"], FILES, MARK, tables, summary)
    if options["chart"] is not None:
        from crowdassay.ranking.page import interval_chart

        interval_chart(tables["ranking"], model.confidence).save(options["chart"])
    if options["report"] is not None:
        from crowdassay.ranking.page import ranking_page
        from crowdassay.results.report.findings import write_findings

        page = ranking_page(model, options["report_title"], grouped, tables.get("next"))
        write_findings(page, options["report"])
    if as_json:
        print_json(summary, {name: table for name, table in tables.items() if name != "wins"})
    else:
        show(model, tables, grouped, options)
    return tell_failures(gate for gate in gates if gate.failed)


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


def gather(model: BradleyTerry, grouped: list[tuple[str, Any]], count: int | None) -> dict[str, Any]:
    """Return all tables that were asked for."""
    import pyarrow as pa

    from crowdassay.ranking.tables import ranking_table

    tables = {"ranking": ranking_table(model)}
    if len(model._pairs.workers):
        tables["workers"] = model.workers_
    if model._pairs.n_items <= MOST_IN_MATRIX:
        names = tables["ranking"]["item"].to_pylist()
        beats = model.win_matrix()
        tables["wins"] = pa.table({"item": names, **{name: beats[:, n] for n, name in enumerate(names) if name != "item"}})
    if grouped:
        tables["groups"] = pa.concat_tables(
            [table.add_column(0, "group_name", pa.array([name] * table.num_rows, pa.string())) for name, table in grouped]
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
