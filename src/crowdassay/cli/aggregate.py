"""`crowdassay aggregate`: labels in, truth out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import (
    PATH,
    Grouped,
    choice,
    currency_option,
    decide_option,
    gold_option,
    quiet_option,
    reading_options,
    settled_option,
    split,
    truth_option,
)
from crowdassay.cli.outputs import check_outputs, form_of, is_same, print_json, table_options
from crowdassay.cli.places import open_place
from crowdassay.cli.running import noting
from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.read_options import AS_IT_IS, Opening

if TYPE_CHECKING:
    from crowdassay.arrays import FloatArray
    from crowdassay.cli.gates import Condition
    from crowdassay.estimators.base import Estimator
    from crowdassay.estimators.methods import Preset
    from crowdassay.labels.labels import Facts
    from crowdassay.results.result import Result

FITTING = (
    "ordered", "decide", "gold_workers", "gamma", "gammas", "folds", "seed", "reading", "alpha", "beta", "solver", "prior",
    "smoothing", "threads", "max_iter", "tol", "settled",
)  # fmt: skip

MINIMAX = ("gamma", "gammas", "folds", "reading", "alpha", "beta", "solver")  # options that only the paper's method has


@click.command(cls=Grouped)
@reading_options
@click.option("--method", help="One of those that 'crowdassay methods' lists; 'assay' by default, 'minimax' with its options.")
@click.option("--gamma", help="minimax: strength of the regularisation, or 'auto' to choose it from the data.")
@click.option("--gammas", help="--gamma auto: what to choose from, separated by commas; 1/256 to 4 by default.")
@click.option("--folds", type=int, help="--gamma auto: into how many parts labels are dealt; 5 by default.")
@click.option("--reading", help="--gamma auto: weigh classes by 'predictive' (the default) or 'uniform' probabilities.")
@click.option("--validation", type=PATH, help="--gamma auto: choose by this file of item,label instead.")
@click.option("--seed", type=int, help="For whatever is drawn at random; 0 by default.")
@click.option("--alpha", type=float, help="minimax: penalty on worker parameters, instead of gamma.")
@click.option("--beta", type=float, help="minimax: penalty on item parameters, instead of gamma.")
@click.option("--solver", help="minimax: 'profiled' (fast, the default) or 'algorithm1' (the paper's, literally).")
@click.option(
    "--ordered", is_flag=True, default=None, help="assay: model the classes as a scale, in the order of --order or numbers."
)
@decide_option
@click.option("--prior", help="dawid-skene: class prior, 'estimated' (the default) or 'uniform'.")
@click.option("--smoothing", type=float, help="dawid-skene: added to every count; 0 by default.")
@settled_option
@truth_option
@gold_option
@click.option("--gold-workers", help="assay: workers to be believed, though they may be wrong, separated by commas.")
@click.option("--calibration", type=PATH, help="With --truth: draw how honest the probabilities are (.svg or .png).")
@click.option("--out", type=PATH, help="Folder for the result tables, or sqlite:///FILE or postgresql://...")
@click.option("--next", "ask", type=PATH, help="Write the items most worth another label (.csv or .xlsx).")
@click.option("--disputes", type=PATH, help="Write the items that workers disagree on and who said what (.csv or .xlsx).")
@click.option("--feedback", type=PATH, help="Folder for one sheet for each worker with their likely mistakes.")
@click.option("--expert", type=PATH, help="Write items drawn at random for an expert to answer (.xlsx or .csv), for --gold.")
@click.option("--expert-items", type=int, help="--expert: how many; 50 by default.")
@click.option("--report", type=PATH, help="Write the report, one .html file that opens offline.")
@click.option("--report-title", help="--report: its title.")
@click.option("--cost", help="The price of a label, such as 0.05, or the column of LABELS that says what each was paid.")
@click.option("--expert-cost", type=float, help="The price of an expert's answer to an item, such as 1.50.")
@currency_option
@table_options
@click.option("--save-model", type=PATH, help="Folder for the fitted model, for 'crowdassay update'.")
@choice(
    "--engine",
    values=["auto", "local", "files", "gpu", "spark"],
    help="Where the labels are during the fit; auto is memory, or files where memory will not do.",
)
@click.option("--memory", help="Memory to use at most, about, such as 1GB; --engine files keeps to it.")
@click.option("--temp-dir", type=PATH, help="--engine files: folder for temporary files.")
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
@quiet_option
def aggregate(labels: tuple[str, ...], method: str | None, **options: Any) -> int:
    """Aggregate LABELS into one label per item.

    LABELS is a table (CSV, TSV, JSONL or Parquet, plain or .gz) or the export of an annotation tool, recognised by content; or
    several tables of the same columns, a folder of them, or a pattern such as 'day-*.csv'; or - for standard input,
    sqlite:///FILE?table=NAME, postgresql://USER@HOST/DATABASE?query=SELECT..., a .duckdb file, https:// or s3://.
    """
    from crowdassay.cli.aggregate_show import print_summary
    from crowdassay.cli.gates import aggregate_figures, check_conditions, tell_failures
    from crowdassay.cli.running import progress_line, working
    from crowdassay.results.summary import summarise

    chosen, estimator = choose(method, options)
    conditions = check_asked(labels, options)
    quiet = options["quiet"] or options["as_json"]
    known = {} if options["validation"] is None else {"validation": options["validation"]}
    with ExitStack() as stack:
        with progress_line(quiet=quiet) as (progress, announce):
            place = stack.enter_context(open_place(labels, options, estimator, announce))
            estimator.fit(place, progress=progress, announce=announce, **known)
        result = estimator.result_
        opening = Opening(options["sheet"], options["encoding"])
        paid = None if options["cost"] is None else read_cost(options["cost"], labels[0], place.facts, opening)
        prices = {"cost": paid, "expert_cost": options["expert_cost"], "currency": options["currency"]}
        summary, failed = None, []
        if options["out"] is not None or not options["quiet"] or conditions:
            with working("Describing workers and items ...", quiet=quiet):
                ordered = estimator.needs_order() or bool(options["ordered"])
                summary = summarise(result, chosen.name, ordered=ordered, money=result.money(**prices))
        if conditions and summary is not None:
            gates = check_conditions(
                conditions, aggregate_figures(summary), whys={"estimated_error": summary["why_no_estimated_error"]}
            )
            summary["failed_gates"] = failed = [str(gate) for gate in gates if gate.failed]
        if options["out"] is not None and summary is not None:
            from crowdassay.results.write import write_result

            with working("Writing ...", quiet=quiet), noting(f"the tables in '{options['out']}'"):
                write_result(result, summary, options["out"], options["form"], raw=options["raw"])
        rows = write_more(result, prices, options)
        if options["save_model"] is not None:
            with noting(f"the model in '{options['save_model']}'"):
                estimator.save(options["save_model"])
        if options["as_json"] and not options["quiet"]:
            print_json(summary)
        elif summary is not None and not options["quiet"]:
            print_summary(result, summary, result.money(**prices), {**options, "labels": labels, "rows": rows})
    if options["strict"] and not result.converged:
        failed = [*failed, f"The fit did not converge, and --strict demands it; raise --max-iter from {result.n_iter}."]
    return tell_failures(failed)


def write_more(result: Result, prices: dict[str, Any], options: dict[str, Any]) -> dict[str, int]:
    """Write what was asked for beyond the tables; return how many rows that ask something each sheet for people holds."""
    rows = {}
    for name, table in {"ask": lambda: result.next_table(result.money(**prices)), "disputes": result.disputes_table}.items():
        if (path := options[name]) is not None:
            from crowdassay.labels.write import write_table

            with noting(f"'{path}'"):
                made = table()
                write_table(made, path, form_of(path, options["form"]), raw=options["raw"])
            rows[name] = made.num_rows
    if options["feedback"] is not None:
        from crowdassay.results.feedback import write_feedback

        with noting(f"the feedback in '{options['feedback']}'"):
            rows["feedback"] = write_feedback(result, options["feedback"], options["form"], raw=options["raw"])
    if options["expert"] is not None:
        from crowdassay.planning.expert import KNOWN_ITEMS
        from crowdassay.results.expert import answered_before, expert_table, write_sheet

        n, classes = options["expert_items"] or KNOWN_ITEMS, list(map(str, result.facts.class_names))
        with noting(f"'{options['expert']}'"):
            sheet = expert_table(result, n, answered_before(options["gold"]))
            write_sheet(sheet, classes, options["expert"])
        rows["expert"] = sheet["label"].null_count
    if options["calibration"] is not None:
        from crowdassay.results.report.charts import calibration_chart

        if not result.insight.against.known:
            raise DataError("--calibration has nothing to draw: every item of the truth was given as gold.")
        chart = calibration_chart(result.insight.against.records)
        with noting(f"'{options['calibration']}'"):
            chart.save(options["calibration"])
    if options["report"] is not None:
        with noting(f"'{options['report']}'"):
            result.report(options["report"], title=options["report_title"], **prices)
    return rows


def check_asked(labels: tuple[str, ...], options: dict[str, Any]) -> list[Condition]:
    """Refuse, before any work, what does not go together or could not be written; return the conditions of --fail-if."""
    from crowdassay.cli.gates import AGGREGATE_FIGURES, read_conditions
    from crowdassay.findings.money import check_currency, check_price
    from crowdassay.labels.folder import FEEDBACK_MARK, INDEX_FILES, MODEL_FILES, MODEL_HEAD, SUMMARY

    conditions = read_conditions(options["fail_if"], "estimated_error > 5%", AGGREGATE_FIGURES)
    if options["truth"] is None:
        if any(one.name == "error_rate" for one in conditions):
            raise ParameterError("--fail-if error_rate needs --truth to compare with; estimated_error does not.")
        if options["calibration"] is not None:
            raise ParameterError("--calibration needs --truth to compare with.")
    if options["report_title"] is not None and options["report"] is None:
        raise ParameterError("--report-title goes with --report.")
    if options["expert_items"] is not None and options["expert"] is None:
        raise ParameterError("--expert-items goes with --expert.")
    if options["expert_items"] is not None and options["expert_items"] < 1:
        raise ParameterError(f"--expert-items must be 1 or more, not {options['expert_items']}.")
    if (cost := options["cost"]) is not None:
        if (each := price(cost)) is not None:
            check_price(each)
        elif len(labels) != 1 or not Path(labels[0]).is_file():
            raise ParameterError(f"--cost '{cost}' names a column, which needs one file of labels; give a price such as 0.05.")
    if options["expert_cost"] is not None:
        check_price(options["expert_cost"], "An expert's answer")
    check_currency(options["currency"])
    if options["currency"] and cost is None and options["expert_cost"] is None:
        raise ParameterError("--currency goes with --cost or --expert-cost.")
    if options["engine"] == "spark" and options["form"] not in {"csv", "parquet"}:
        raise ParameterError(f"Spark writes tables as CSV or Parquet; leave out --format {options['form']}.")
    model, out = options["save_model"], options["out"]
    if model is not None and out is not None and is_same(str(out), model):
        raise FileError("The tables and the model need a folder each; name another for --out or --save-model.")
    gold, expert = options["gold"], options["expert"]
    same = gold is not None and expert is not None and is_same(gold, expert)  # its answers are kept
    if expert is not None and not same:
        from crowdassay.results.expert import check_sheet

        check_sheet(expert)
    check_outputs(
        [*labels, options["truth"], options["validation"], None if same else gold],
        tables=[options["ask"], options["disputes"], expert],
        pages=[options["report"]],
        pictures=[options["calibration"]],
        folders=[(model, MODEL_FILES, MODEL_HEAD), (options["feedback"], INDEX_FILES, SUMMARY, (FEEDBACK_MARK,))],
        results=out,
        spark=options["engine"] == "spark",
    )
    return conditions


def choose(method: str | None, options: dict[str, Any]) -> tuple[Preset, Estimator]:
    """Return the method asked for, or that the options are for, and its estimator with these."""
    from crowdassay.estimators.methods import find_method

    fitting = {name: options[name] for name in FITTING if options[name] is not None}
    chosen = find_method(method or ("minimax" if set(MINIMAX) & set(fitting) else "assay"))
    if "gamma" in fitting and fitting["gamma"] != "auto":
        fitting["gamma"] = number("--gamma", fitting["gamma"])
    if "gold_workers" in fitting:
        fitting["gold_workers"] = tuple(split(fitting["gold_workers"]))
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


def number(option: str, text: str) -> float:
    """Return the number an option gives, or say what was given instead."""
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


def read_cost(text: str, source: str, facts: Facts, opening: Opening = AS_IT_IS) -> float | FloatArray:
    """Return the price of a label, or what each worker was paid by a column of the labels (n_workers,).

    Rows without a label were paid for as well, so that all rows of a worker count.
    """
    import numpy as np
    import pyarrow.compute as pc

    from crowdassay.labels.study_columns import encode_numbers, read_columns
    from crowdassay.labels.values import as_text

    if (each := price(text)) is not None:
        return each
    if facts.report.format != "plain":
        raise DataError(f"--cost '{text}' names a column, which only plain tables have; give a price such as 0.05.")
    given = {"worker": facts.report.columns["worker"], "cost": text}
    columns = read_columns(source, ("worker", "cost"), given, "prices", opening)
    amounts = pc.utf8_ltrim(as_text(columns.table["cost"]), characters=" $€£")
    place = pc.index_in(as_text(columns.table["worker"]), value_set=as_text(facts.workers))
    paid = np.zeros(facts.n_workers + 1)  # the last is for workers none of whose labels counts
    codes = pc.fill_null(place, facts.n_workers).to_numpy()
    np.add.at(paid, codes, np.nan_to_num(encode_numbers(amounts, "cost", columns.source)))
    return paid[:-1]
