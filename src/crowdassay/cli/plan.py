"""`crowdassay plan`: what to label next, by whom, and when to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped, column_options
from crowdassay.cli.outputs import refuse_inputs
from crowdassay.cli.plan_show import show_sizing, tell
from crowdassay.cli.plan_source import find_fitted

if TYPE_CHECKING:
    from crowdassay.planning.plan import Planned

NEW = ("items", "like")  # options of --new alone
EXISTING = (
    "budget", "cost", "workers", "max_per_item", "batch_size", "rate", "error_cost", "expert_cost", "out", "decisions", "curve",
    "gold", "method",
)  # fmt: skip
PASSED_ON = (
    "budget", "target_error", "label_cost", "expert_cost", "error_cost", "max_per_item", "batch_size", "rate", "seed",
)  # fmt: skip


@click.command(cls=Grouped)
@click.argument("source", nargs=-1)
@column_options
@click.option("--budget", type=float, help="Money to spend, in the unit of the costs: the number of labels where each costs 1.")
@click.option("--cost", type=click.Path(path_type=Path), help="File of worker,cost: the price of a label of each worker.")
@click.option("--label-cost", type=float, default=1.0, show_default=True, help="Price of a label where no file gives one.")
@click.option("--expert-cost", type=float, help="Price of an expert, who knows an item's class; without it no expert is asked.")
@click.option("--error-cost", type=float, help="What a wrong label costs you: nothing is asked for that is worth less.")
@click.option("--target-error", type=float, help="Stop when the upper limit of the error is at most this, such as 0.05.")
@click.option("--max-per-item", type=int, help="Labels that an item may have, those given included.")
@click.option("--batch-size", type=int, help="Labels to ask for at a time; a tenth of the budget by default, at least 100.")
@click.option("--workers", type=click.Path(path_type=Path), help="File of worker[,cost,capacity]: who can be asked.")
@click.option("--rate", help="Plan for the share of this class among the items, instead of the error.")
@click.option(
    "--gold", type=click.Path(path_type=Path), help="File of item,label whose classes are known: they check the limit."
)
@click.option("--method", help="How to fit labels; 'assay' by default. A saved model has its own.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the assignments (.csv): batch, item, worker, cost, gain.")
@click.option("--decisions", type=click.Path(path_type=Path), help="Write what to do with every item (.csv): stop, label, ...")
@click.option("--curve", type=click.Path(path_type=Path), help="Draw the expected error against the spend (.svg or .png).")
@click.option("--new", is_flag=True, help="Nothing is labelled yet: say how many labels and known items to order.")
@click.option("--items", type=int, help="--new: number of items.")
@click.option("--like", help="--new: the kind of job, such as relevance; all kinds by default.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same plan.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def plan(source: tuple[str, ...], new: bool, **options: Any) -> None:
    """Plan further labels for SOURCE: labels, as for 'aggregate'; a model that 'aggregate --save-model' wrote; or the store
    of 'crowdassay serve'.

    Items and workers are paired by the expected fall of the error for the money. Do the first batch, add the labels
    ('crowdassay update'), and plan again. With --new and without SOURCE: how much to order before anything is labelled.
    """
    from crowdassay.errors import ParameterError

    if options["seed"] < 0:
        raise ParameterError(f"seed must be zero or a positive whole number, not {options['seed']}.")
    if new:
        if given := next((name for name in EXISTING if options[name] is not None), None):
            raise ParameterError(f"--{given.replace('_', '-')} goes with labels, a model or a store, not with --new.")
        size_new(source, options)
        return
    for name in NEW:
        if options[name] is not None:
            raise ParameterError(f"--{name} goes with --new.")
    if not source:
        raise ParameterError("Name the labels, the model or the store to plan for; or give --new with --items and --classes.")
    plan_existing(source, options)


def size_new(source: tuple[str, ...], options: dict[str, Any]) -> None:
    """Print how much to order before anything is labelled."""
    import json

    from crowdassay.errors import ParameterError
    from crowdassay.planning.sizing import size_job

    if source:
        raise ParameterError("--new is for a job without labels; leave out the file or --new.")
    if options["items"] is None or options["classes"] is None:
        raise ParameterError("--new needs --items and --classes, their numbers.")
    classes = number_of_classes(options["classes"].strip())
    sizing = size_job(
        options["items"], classes, like=options["like"], target_error=options["target_error"], cost=options["label_cost"]
    )
    if options["as_json"]:
        facts = {
            "rows": [row.__dict__ for row in sizing.rows],
            "advised": None if sizing.advised is None else sizing.advised.__dict__,
            "known_items": [{"known_items": m, "upper_limit": high} for m, high in sizing.known],
            "known_items_advised": sizing.known_advised,
            "groups": sizing.groups,
        }
        click.echo(json.dumps(facts, indent=2))
    elif not options["quiet"]:
        show_sizing(sizing, options)


def number_of_classes(text: str) -> int:
    """Return the number that was given, or that of the names that were."""
    from crowdassay.errors import ParameterError

    if text.removeprefix("-").isdecimal():
        return int(text)
    names = {name.strip() for name in text.split(",")} - {""}
    if len(names) < 2:
        raise ParameterError(f"--classes takes their number or their names, such as 3 or no,yes; not '{text}'.")
    return len(names)


def plan_existing(source: tuple[str, ...], options: dict[str, Any]) -> None:
    """Plan for labels, a saved model or a store."""
    from crowdassay.planning.plan import plan as make_plan
    from crowdassay.planning.prices import ENDLESS, read_people

    check_options(source, options)
    available = None if options["workers"] is None else read_people(options["workers"])
    prices = None if options["cost"] is None else read_people(options["cost"], need_cost=True)
    costs = {**(available.cost if available else {}), **(prices.cost if prices else {})}
    made = make_plan(
        find_fitted(source, options),
        workers=None if available is None else {name: available.capacity.get(name, ENDLESS) for name in available.names},
        worker_costs=costs or None,
        **{name: options[name] for name in PASSED_ON},
    )
    write_files(made, options)
    tell(made, options)


def check_options(source: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse what makes no sense, before anything is read."""
    from crowdassay.errors import ParameterError
    from crowdassay.planning.plan import check_numbers

    if options["budget"] is None:
        raise ParameterError("Say with --budget how much there is to spend.")
    check_numbers(*(options[name] for name in ("budget", "target_error", "error_cost", "max_per_item", "batch_size")))
    check_outputs(options)
    refuse_inputs(
        [*source, *(options[name] for name in ("cost", "workers", "gold"))],
        [options[name] for name in ("out", "decisions", "curve")],
    )


def write_files(made: Planned, options: dict[str, Any]) -> None:
    """Write the files that were asked for."""
    from crowdassay.labels.write import write_table

    if options["out"] is not None:
        write_table(made.assignments(), options["out"])
    if options["decisions"] is not None:
        write_table(made.decisions(), options["decisions"])
    if options["curve"] is not None:
        from crowdassay.results.report.chart import save_chart
        from crowdassay.results.report.charts import curve_chart

        save_chart(curve_chart(made.curve(), made.target), options["curve"])


def check_outputs(options: dict[str, Any]) -> None:
    """Refuse files that could not be written, before there is anything to write."""
    from crowdassay.errors import FileError
    from crowdassay.labels.folder import check_writable

    for name in ("out", "decisions"):
        if options[name] is not None:
            if options[name].suffix.lower() != ".csv":
                raise FileError(f"'{options[name]}' must end in .csv.")
            check_writable(options[name].parent)
    if options["curve"] is not None:
        from crowdassay.results.report.chart import check_chart

        check_chart(options["curve"])
