"""`crowdassay aggregate`: labels in, truth out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from crowdassay.cli.reading import read, reading_options

FITTING = (
    "gamma", "gammas", "folds", "seed", "reading", "alpha", "beta", "solver", "prior", "smoothing",
    "threads", "max_sweeps", "tolerance",
)  # fmt: skip

MINIMAX = ("gamma", "gammas", "folds", "reading", "alpha", "beta", "solver")  # options that only the paper's method has


@click.command()
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
@click.option("--prior", help="dawid-skene: class prior, 'uniform' (the default) or 'estimated'.")
@click.option("--smoothing", type=float, help="dawid-skene: added to every count; 0 by default.")
@click.option("--truth", type=click.Path(path_type=Path), help="File of item,label to score against.")
@click.option("--gold", type=click.Path(path_type=Path), help="File of item,label whose classes are known and kept.")
@click.option(
    "--calibration", type=click.Path(path_type=Path), help="With --truth: draw how honest the probabilities are (.svg or .png)."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the result tables.")
@click.option(
    "--format", "form", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True, help="Of the tables."
)
@click.option("--raw", is_flag=True, help="Leave text cells that a spreadsheet would take for formulas as they are.")
@click.option("--threads", type=int, help="Number of threads; all cores by default. The result does not depend on it.")
@click.option("--max-sweeps", type=int, help="Passes over the labels allowed.")
@click.option("--tolerance", type=float, help="Relative change of the objective at which to stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def aggregate(labels: Path, method: str | None, **options: Any) -> None:
    """Aggregate LABELS into one label per item.

    LABELS is a table (CSV, TSV, JSONL or Parquet, plain or .gz) or the export of an annotation tool, recognised by content.
    """
    from crowdassay.cli.progress import progress_line
    from crowdassay.cli.summary import print_summary, summarise
    from crowdassay.errors import ParameterError
    from crowdassay.estimators.methods import find_method
    from crowdassay.io.tables import write_result
    from crowdassay.io.truth import match_truth
    from crowdassay.io.write import check_writable
    from crowdassay.metrics.calibration import calibration
    from crowdassay.report.charts import calibration_chart, check_chart, save_chart

    fitting = {name: options[name] for name in FITTING if options[name] is not None}
    method = method or ("minimax" if set(MINIMAX) & set(fitting) else "assay")
    chosen = find_method(method)
    if "gamma" in fitting and fitting["gamma"] != "auto":
        fitting["gamma"] = number("--gamma", fitting["gamma"])
    if "gammas" in fitting:
        fitting["gammas"] = tuple(number("--gammas", text) for text in fitting["gammas"].split(","))
    for option in ("gammas", "folds", "reading", "validation"):
        if options[option] is not None and fitting.get("gamma") != "auto":
            raise ParameterError(f"--{option} goes with --gamma auto.")
    if "gamma" in fitting and "alpha" in fitting:
        raise ParameterError("Give --gamma or --alpha, not both: alpha follows from gamma.")
    if chosen.estimator.method == "majority":
        fitting.pop("threads", None)  # counting votes needs no threads, and asking for some does no harm
    estimator = chosen.make(**fitting)
    if options["out"] is not None:
        check_writable(options["out"])
    if options["calibration"] is not None:
        if options["truth"] is None:
            raise ParameterError("--calibration needs --truth to compare with.")
        check_chart(options["calibration"])
    data = read(labels, options)
    truth = None if options["truth"] is None else match_truth(data, options["truth"], what="truth")
    known = {} if options["validation"] is None else {"validation": options["validation"]}
    with progress_line(quiet=options["quiet"]) as (progress, announce):
        estimator.fit(data, gold=options["gold"], progress=progress, announce=announce, **known)
    result = estimator.result_
    ordered = chosen.ordered or options["classes"] is not None or data.numeric
    summary = summarise(result, method, truth, ordered=ordered)
    if options["calibration"] is not None and truth is not None:
        save_chart(calibration_chart(calibration(result, truth[0])), options["calibration"])
    if options["out"] is not None:
        write_result(result, summary, options["out"], options["form"], raw=options["raw"])
    if options["as_json"]:
        import json

        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    elif not options["quiet"]:
        print_summary(result, summary, options["out"], options["form"])


def number(option: str, text: str) -> float:
    """Return the number an option gives, or say what was given instead."""
    from crowdassay.errors import ParameterError

    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"{option} takes a number{' or auto' if option == '--gamma' else 's'}, not '{text}'.") from None
