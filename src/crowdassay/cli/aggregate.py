"""`crowdassay aggregate`: labels in, truth out."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped, reading_options
from crowdassay.cli.outputs import check_out, refuse_inputs, table_options, write_out
from crowdassay.cli.places import engine_options, open_place
from crowdassay.cli.running import noting

if TYPE_CHECKING:
    from crowdassay.arrays import FloatArray
    from crowdassay.estimators.base import Estimator
    from crowdassay.estimators.methods import Preset
    from crowdassay.labels.facts import Facts
    from crowdassay.results.result import Result

FITTING = (
    "ordered", "gold_workers", "gamma", "gammas", "folds", "seed", "reading", "alpha", "beta", "solver", "prior", "smoothing",
    "threads", "max_iter", "tol",
)  # fmt: skip

MINIMAX = ("gamma", "gammas", "folds", "reading", "alpha", "beta", "solver")  # options that only the paper's method has


@click.command(cls=Grouped)
@reading_options
@click.option("--method", help="One of those that 'crowdassay methods' lists; 'assay' by default, 'minimax' with its options.")
@click.option("--gamma", help="minimax: strength of the regularisation, or 'auto' to choose it from the data.")
@click.option("--gammas", help="--gamma auto: what to choose from, separated by commas; 1/256 to 4 by default.")
@click.option("--folds", type=int, help="--gamma auto: into how many parts labels are dealt; 5 by default.")
@click.option("--reading", help="--gamma auto: weigh classes by 'predictive' (the default) or 'uniform' probabilities.")
@click.option("--validation", type=click.Path(path_type=Path), help="--gamma auto: choose by this file of item,label instead.")
@click.option("--seed", type=int, help="For whatever is drawn at random; 0 by default.")
@click.option("--alpha", type=float, help="minimax: penalty on worker parameters, instead of gamma.")
@click.option("--beta", type=float, help="minimax: penalty on item parameters, instead of gamma.")
@click.option("--solver", help="minimax: 'profiled' (fast, the default) or 'algorithm1' (the paper's, literally).")
@click.option(
    "--ordered", is_flag=True, default=None, help="assay: the classes are a scale, in the order of --order or numbers."
)
@click.option("--prior", help="dawid-skene: class prior, 'estimated' (the default) or 'uniform'.")
@click.option("--smoothing", type=float, help="dawid-skene: added to every count; 0 by default.")
@click.option("--truth", type=click.Path(path_type=Path), help="File of item,label to score against.")
@click.option("--gold", type=click.Path(path_type=Path), help="File of item,label whose classes are known and kept.")
@click.option("--gold-workers", help="assay: workers to be believed, though they may be wrong, separated by commas.")
@click.option(
    "--calibration", type=click.Path(path_type=Path), help="With --truth: draw how honest the probabilities are (.svg or .png)."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for the result tables, or sqlite:///FILE or postgresql://..."
)
@click.option("--next", "ask", type=click.Path(path_type=Path), help="Write the items most worth another label (.csv).")
@click.option("--report", type=click.Path(path_type=Path), help="Write the report, one .html file that opens offline.")
@click.option("--report-title", help="--report: its title.")
@click.option("--cost", help="The price of a label, such as 0.05, or the column of LABELS that says what each was paid.")
@table_options
@click.option("--save-model", type=click.Path(path_type=Path), help="Folder for the fitted model, for 'crowdassay update'.")
@engine_options
@click.option("--threads", type=int, help="Number of threads; all cores by default. The result does not depend on it.")
@click.option("--max-iter", type=int, help="Passes over the labels allowed.")
@click.option("--tol", type=float, help="Relative change of the objective at which to stop.")
@click.option("--strict", is_flag=True, help="End with exit code 1 if the fit did not converge.")
@click.option(
    "--fail-if",
    "fail_if",
    multiple=True,
    metavar="CONDITION",
    help="End with exit code 1 if this holds, such as 'estimated_error > 5%' or 'removed > 0'; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def aggregate(labels: tuple[str, ...], method: str | None, **options: Any) -> int:
    """Aggregate LABELS into one label per item.

    LABELS is a table (CSV, TSV, JSONL or Parquet, plain or .gz) or the export of an annotation tool, recognised by content; or
    several tables of the same columns, a folder of them, or a pattern such as 'day-*.csv'; or - for standard input,
    sqlite:///FILE?table=NAME, postgresql://USER@HOST/DATABASE?query=SELECT..., a .duckdb file, https:// or s3://.
    """
    from crowdassay.cli.aggregate_show import tell
    from crowdassay.cli.gates import aggregate_conditions, aggregate_figures, check_conditions, tell_failures
    from crowdassay.cli.running import progress_line, working
    from crowdassay.labels.folder import MODEL_FILES, RESULT_FILES
    from crowdassay.results.summary import summarise

    chosen, estimator = choose(method, options)
    conditions = aggregate_conditions(options["fail_if"], truth=options["truth"] is not None)
    check_cost(options["cost"], labels)
    if options["out"] is not None:
        check_out(options["out"], spark=options["engine"] == "spark")
    check_pictures(options)
    refuse_inputs(
        [*labels, *(options[name] for name in ("truth", "gold", "validation"))],
        [options[name] for name in ("ask", "report", "calibration")],
        [(options["out"], RESULT_FILES), (options["save_model"], MODEL_FILES)],
    )
    quiet = options["quiet"] or options["as_json"]
    known = {} if options["validation"] is None else {"validation": options["validation"]}
    with ExitStack() as stack:
        with progress_line(quiet=quiet) as (progress, announce):
            place = stack.enter_context(open_place(labels, options, estimator, announce))
            estimator.fit(place, progress=progress, announce=announce, **known)
        result = estimator.result_
        summary, failed = None, []
        if options["out"] is not None or not options["quiet"] or conditions:
            with working("Describing workers and items ...", quiet=quiet):
                paid = read_cost(options["cost"], labels, place.facts)
                ordered = chosen.ordered or bool(options["ordered"])
                summary = summarise(result, chosen.name, ordered=ordered, cost=paid)
            gates = check_conditions(conditions, aggregate_figures(summary))
            failed = [str(gate) for gate in gates if gate.failed]
            if gates:
                summary["failed_gates"] = failed
        if options["out"] is not None and summary is not None:
            with working("Writing ...", quiet=quiet), noting(f"the tables in '{options['out']}'"):
                write_out(result, summary, options["out"], options["form"], raw=options["raw"])
        show_more(result, labels, options)
        if options["save_model"] is not None:
            with noting(f"the model in '{options['save_model']}'"):
                estimator.save(options["save_model"])
        if summary is not None and not options["quiet"]:
            tell(result, summary, options)
    if options["strict"] and not result.converged:
        failed = [*failed, f"The fit did not converge, and --strict demands it; raise --max-iter from {result.n_iter}."]
    return tell_failures(failed)


def show_more(result: Result, labels: tuple[str, ...], options: dict[str, Any]) -> None:
    """Write what was asked for beyond the tables: items to label next, the calibration, the report."""
    if options["ask"] is not None:
        from crowdassay.labels.write import write_table

        with noting(f"'{options['ask']}'"):
            write_table(result.insight.next_table(), options["ask"], raw=options["raw"])
    if options["calibration"] is not None:
        from crowdassay.errors import DataError
        from crowdassay.results.report.chart import save_chart
        from crowdassay.results.report.charts import calibration_chart

        if not result.insight.against.known:
            raise DataError("--calibration has nothing to draw: every item of the truth was given as gold.")
        chart = calibration_chart(result.insight.against.records)
        with noting(f"'{options['calibration']}'"):
            save_chart(chart, options["calibration"])
    if options["report"] is not None:
        cost = read_cost(options["cost"], labels, result.place.facts)
        with noting(f"'{options['report']}'"):
            result.report(options["report"], title=options["report_title"], cost=cost)


def choose(method: str | None, options: dict[str, Any]) -> tuple[Preset, Estimator]:
    """Return the method asked for, or that the options are for, and its estimator with these."""
    from crowdassay.errors import ParameterError
    from crowdassay.estimators.methods import find_method

    fitting = {name: options[name] for name in FITTING if options[name] is not None}
    chosen = find_method(method or ("minimax" if set(MINIMAX) & set(fitting) else "assay"))
    if "gamma" in fitting and fitting["gamma"] != "auto":
        fitting["gamma"] = number("--gamma", fitting["gamma"])
    if "gold_workers" in fitting:
        fitting["gold_workers"] = tuple(name.strip() for name in fitting["gold_workers"].split(",") if name.strip())
    if "gammas" in fitting:
        fitting["gammas"] = tuple(number("--gammas", text) for text in fitting["gammas"].split(","))
    for option in ("gammas", "folds", "reading", "validation"):
        if options[option] is not None and fitting.get("gamma") != "auto":
            raise ParameterError(f"--{option} goes with --gamma auto.")
    if "gamma" in fitting and "alpha" in fitting:
        raise ParameterError("Give --gamma or --alpha, not both: alpha follows from gamma.")
    if chosen.estimator.method == "majority":
        fitting.pop("threads", None)  # counting votes needs no threads, and asking for some does no harm
    return chosen, chosen.make(**fitting)


def check_pictures(options: dict[str, Any]) -> None:
    """Refuse a chart, report or model that could not be written, before there is anything to write."""
    from crowdassay.errors import FileError, ParameterError
    from crowdassay.labels.folder import check_writable

    if options["calibration"] is not None:
        from crowdassay.results.report.chart import check_chart

        if options["truth"] is None:
            raise ParameterError("--calibration needs --truth to compare with.")
        check_chart(options["calibration"])
    if options["ask"] is not None:
        if options["ask"].suffix.lower() != ".csv":
            raise FileError(f"'{options['ask']}' must end in .csv.")
        check_writable(options["ask"].parent)
    if options["save_model"] is not None:
        check_writable(options["save_model"])
        if options["out"] is not None and os.path.realpath(str(options["out"])) == os.path.realpath(options["save_model"]):
            raise FileError("The tables and the model need a folder each; name another for --out or --save-model.")
    if options["report"] is not None:
        from crowdassay.results.report.page import check_report

        check_report(options["report"])
    elif options["report_title"] is not None:
        raise ParameterError("--report-title goes with --report.")


def number(option: str, text: str) -> float:
    """Return the number an option gives, or say what was given instead."""
    from crowdassay.errors import ParameterError

    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{option} takes a number{' or auto' if option == '--gamma' else 's'}, not '{text}'.") from None


def price(text: str) -> float | None:
    """Return the price that a text gives; None where it is the name of a column."""
    try:
        return float(text)
    except ValueError:
        return None


def check_cost(text: str | None, labels: tuple[str, ...]) -> None:
    """Refuse a price that is none, and a column where there is not one table to read it from."""
    from crowdassay.errors import ParameterError
    from crowdassay.findings.money import check_price

    if text is None:
        return
    each = price(text)
    if each is not None:
        check_price(each)
    elif len(labels) != 1 or not Path(labels[0]).is_file():
        raise ParameterError(f"--cost '{text}' names a column, which needs one file of labels; give a price such as 0.05.")


def read_cost(text: str | None, labels: tuple[str, ...], facts: Facts) -> float | FloatArray | None:
    """Return the price of a label, what each worker was paid (n_workers,), or None where neither was asked for.

    Rows without a label were paid for as well, so that all rows of a worker count.
    """
    import numpy as np

    from crowdassay.errors import DataError
    from crowdassay.labels.probe import probe
    from crowdassay.labels.source import open_source

    if text is None:
        return None
    each = price(text)
    if each is not None:
        return each
    path = Path(labels[0])
    if facts.report.format != "plain":
        raise DataError(f"--cost '{text}' names a column, which only plain tables have; give a price such as 0.05.")
    names = {"worker": facts.report.columns["worker"], "label": text}
    table = open_source(probe(path), ("worker", "label"), names).read()
    paid = np.zeros(facts.n_workers)
    place = {str(name): i for i, name in enumerate(facts.workers.to_pylist())}
    for row, (worker, amount) in enumerate(zip(table["worker"].to_pylist(), table["label"].to_pylist(), strict=True), 1):
        value = None if amount is None or str(amount).strip() == "" else price(str(amount).strip().lstrip("$€£"))
        if value is None and amount is not None and str(amount).strip():
            raise DataError(f"Row {row} of {path.name} has the price '{amount}', which is no number; mend it or give a price.")
        if value is not None and str(worker) in place:
            paid[place[str(worker)]] += value
    return paid
