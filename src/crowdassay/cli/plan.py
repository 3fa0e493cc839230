"""`crowdassay plan`: what to label next, by whom, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.grouped import Grouped
from crowdassay.cli.paths import refuse_inputs
from crowdassay.cli.reading import column_options, read

if TYPE_CHECKING:
    from crowdassay.data.labels import Labels
    from crowdassay.fit.result import Result
    from crowdassay.planning.assign import Plan
    from crowdassay.planning.job import Standing
    from crowdassay.planning.sizing import Sizing
    from crowdassay.planning.state import State

NEW = ("items", "like")  # options of --new alone
EXISTING = (
    "budget",
    "cost",
    "workers",
    "max_per_item",
    "batch_size",
    "rate",
    "error_cost",
    "out",
    "decisions",
    "gold",
    "method",
)


@click.command(cls=Grouped, short_help="Say what to label next, by whom, and when to stop.")
@click.argument("source", nargs=-1)
@column_options
@click.option("--budget", type=float, help="Money to spend, in the unit of the costs: the number of labels where each costs 1.")
@click.option("--cost", type=click.Path(path_type=Path), help="File of worker,cost: the price of a label of each worker.")
@click.option("--label-cost", type=float, default=1.0, show_default=True, help="Price of a label where no file gives one.")
@click.option("--expert-cost", type=float, help="Price of an expert, who knows an item's class; nobody is asked otherwise.")
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
    """Plan further labels for SOURCE: labels, as for 'aggregate', or a model that 'aggregate --save-model' wrote.

    Items and workers are paired by the expected fall of the error for the money. Do the first batch, add the labels
    ('crowdassay update'), and plan again. With --new and without SOURCE: how much to order before anything is labelled.
    """
    from crowdassay.errors import ParameterError

    if options["seed"] < 0:
        raise ParameterError(f"seed must be zero or a positive whole number, not {options['seed']}.")
    if new:
        size_new(source, options)
        return
    for name in NEW:
        if options[name] is not None:
            raise ParameterError(f"--{name} goes with --new.")
    if not source:
        raise ParameterError("Name the labels or the model to plan for; or give --new with --items and --classes.")
    plan_existing(source, options)


def plan_existing(source: tuple[str, ...], options: dict[str, Any]) -> None:
    """Plan for labels or a saved model."""
    import numpy as np

    from crowdassay.errors import ParameterError
    from crowdassay.io.write import write_table
    from crowdassay.planning.assign import Plan, check_plan
    from crowdassay.planning.assign import plan as make_plan
    from crowdassay.planning.job import assess, curve_records, items_table
    from crowdassay.planning.prices import make_offer, read_people
    from crowdassay.planning.state import State

    if options["budget"] is None:
        raise ParameterError("Say with --budget how much there is to spend.")
    check_plan(options["budget"], options["max_per_item"], options["batch_size"])
    target, worth = options["target_error"], options["error_cost"]
    if target is not None and not 0 < target < 1:
        raise ParameterError(f"--target-error must lie between 0 and 1, such as 0.05, not {target:g}.")
    if worth is not None and not worth > 0:
        raise ParameterError(f"--error-cost must be a positive number, not {worth:g}.")
    check_outputs(options)
    refuse_inputs(
        [*source, *(options[name] for name in ("cost", "workers", "gold"))],
        [options[name] for name in ("out", "decisions", "curve")],
    )
    available = None if options["workers"] is None else read_people(options["workers"])
    prices = None if options["cost"] is None else read_people(options["cost"], need_cost=True)
    result, fit = find_result(source, options)
    found = result.insight
    copies = [(pair.worker, pair.other) for pair in found.copies[0]]
    state = State.of(result, crowd=found.crowd, copies=np.array(copies, np.int64).reshape(-1, 2))
    state, offer, notes = make_offer(
        state, available=available, prices=prices, label_cost=options["label_cost"], expert=options["expert_cost"]
    )
    standing = assess(state, method=result.method, fit=fit, seed=options["seed"])
    if target is not None and standing.limit.high <= target:
        made = Plan.nothing()
    else:
        made = make_plan(
            state,
            options["budget"],
            offer=offer,
            max_per_item=options["max_per_item"],
            batch_size=options["batch_size"],
            rate=class_code(state, options["rate"]),
            least=0.0 if worth is None else 1 / worth,
            seed=options["seed"],
        )
    price = float(offer.cost.mean())
    if options["out"] is not None:
        write_table(made.table(state), options["out"])
    if options["decisions"] is not None:
        write_table(items_table(state, made, max_per_item=options["max_per_item"]), options["decisions"])
    if options["curve"] is not None:
        from crowdassay.report.chart import save_chart
        from crowdassay.report.curves import curve_chart

        save_chart(curve_chart(curve_records(standing, cost=price), target), options["curve"])
    facts = summarise(state, made, standing, price, target)
    tell(facts, [*notes, *standing.notes, *made.notes], options)


def find_result(source: tuple[str, ...], options: dict[str, Any]) -> tuple[Result, Callable[[Labels], Result]]:
    """Return the result of a saved model or of a fit to labels, and what fits other labels in the same way."""
    from crowdassay.cli.progress import working
    from crowdassay.errors import ParameterError
    from crowdassay.estimators.load import load_model
    from crowdassay.estimators.methods import find_method
    from crowdassay.io.truth import take_gold
    from crowdassay.persistence.saved import HEAD

    if len(source) == 1 and (Path(source[0]) / HEAD).is_file():
        for name in ("gold", "method", "classes"):
            if options[name] is not None:
                raise ParameterError(f"--{name} goes with labels; the model in '{source[0]}' has its own.")
        model = load_model(source[0])
        return model.result_, lambda labels: type(model)(**model.get_params()).fit(labels).result_
    method = find_method(options["method"] or "assay")
    with working("Reading ...", quiet=options["quiet"]):
        data = read(source, options)
    if options["gold"] is not None:
        data = take_gold(data, options["gold"])
    with working("Fitting ...", quiet=options["quiet"]):
        return method.make().fit(data).result_, lambda labels: method.make().fit(labels).result_


def class_code(state: State, name: str | None) -> int | None:
    """Return the code of a class."""
    from crowdassay.errors import ParameterError

    if name is None:
        return None
    if name not in state.labels.class_names:
        raise ParameterError(f"--rate takes one of the classes ({', '.join(state.labels.class_names[:12])}), not '{name}'.")
    return state.labels.class_names.index(name)


def check_outputs(options: dict[str, Any]) -> None:
    """Refuse files that could not be written, before there is anything to write."""
    from crowdassay.errors import FileError
    from crowdassay.io.write import check_writable

    for name in ("out", "decisions"):
        if options[name] is not None:
            if options[name].suffix.lower() != ".csv":
                raise FileError(f"'{options[name]}' must end in .csv.")
            check_writable(options[name].parent)
    if options["curve"] is not None:
        from crowdassay.report.chart import check_chart

        check_chart(options["curve"])


def summarise(state: State, made: Plan, standing: Standing, price: float, target: float | None) -> dict[str, Any]:
    """Return what --json prints."""
    import numpy as np

    from crowdassay.planning.offer import EXPERT

    limit, curve = standing.limit, standing.curve
    asked = int((~made.trial & (made.worker != EXPERT)).sum())
    solved = float((1 - state.probability[made.item[made.worker == EXPERT]]).sum()) / max(int((~state.known).sum()), 1)
    after = max(float(np.interp(asked, curve.labels, curve.error)) - solved * limit.error / max(limit.raw, 1e-9), 0.0)
    needed = None if target is None else curve.labels_for(target)
    return {
        "items": state.labels.n_items,
        "labels": state.labels.n_labels,
        "known_items": limit.known,
        "known_items_wrong": limit.wrong,
        "estimated_error": limit.error,
        "upper_limit": limit.high,
        "target_error": target,
        "says": limit.says(target),
        "stop": target is not None and limit.high <= target,
        "planned_labels": asked,
        "planned_trials": int(made.trial.sum()),
        "planned_experts": int((made.worker == EXPERT).sum()),
        "batches": int(made.batch.max(initial=0)),
        "spend": float(made.cost.sum()),
        "expected_error_after": after,
        "labels_for_target": needed,
        "spend_for_target": None if needed is None else needed * price,
    }


def tell(facts: dict[str, Any], notes: list[str], options: dict[str, Any]) -> None:
    """Print where the job stands and what was planned."""
    import json

    from crowdassay.io.values import counted

    if options["as_json"]:
        click.echo(json.dumps({**facts, "notes": notes}, indent=2, ensure_ascii=False))
        return
    if options["quiet"]:
        return
    click.echo(f"{counted(facts['labels'], 'label')} on {counted(facts['items'], 'item')}.")
    if facts["known_items"]:
        click.echo(
            f"Known items checked: {facts['known_items']:,}, of which {facts['known_items_wrong']:,} were labelled wrong."
        )
    says = facts["says"]
    click.echo(f"{says[0].upper()}{says[1:]}.")
    if facts["stop"]:
        click.echo("Nothing is planned.")
    else:
        if options["target_error"] is not None:
            click.echo(_way(facts))
        kinds = [counted(facts["planned_labels"], "label")]
        if facts["planned_trials"]:
            kinds.append(counted(facts["planned_trials"], "trial label"))
        if facts["planned_experts"]:
            kinds.append(f"{counted(facts['planned_experts'], 'item')} for an expert")
        batches = "1 batch" if facts["batches"] == 1 else f"{facts['batches']:,} batches"
        click.echo(
            f"Planned: {', '.join(kinds)}, in {batches}, for {facts['spend']:,.2f}. Expected error after them: "
            f"{100 * facts['expected_error_after']:.1f} %."
        )
        if facts["batches"] > 1:
            click.echo("Do batch 1, add its labels, and plan again: later batches are a forecast.")
    for note in notes:
        click.echo(f"Note: {note}")
    for name in ("out", "decisions", "curve"):
        if options[name] is not None:
            click.echo(f"Wrote {options[name]}.")


def _way(facts: dict[str, Any]) -> str:
    """Say how far it is to the target."""
    target = f"{100 * facts['target_error']:.1f} %"
    if facts["labels_for_target"] is None:
        return f"More labels by these workers are not expected to bring the error to {target}; an expert could."
    if facts["labels_for_target"] <= 0:
        return f"The estimate is below {target}, its upper limit is not: known items (--gold) narrow the limit."
    return (
        f"About {facts['labels_for_target']:,.0f} more labels, for {facts['spend_for_target']:,.2f}, are expected to bring the "
        f"estimate to {target}."
    )


def size_new(source: tuple[str, ...], options: dict[str, Any]) -> None:
    """Say how much to order before anything is labelled."""
    import json

    from crowdassay.errors import ParameterError
    from crowdassay.planning.sizing import size_job

    if source:
        raise ParameterError("--new is for a job without labels; leave out the file or --new.")
    if options["items"] is None or options["classes"] is None:
        raise ParameterError("--new needs --items and --classes, their numbers.")
    if given := next((name for name in EXISTING if options[name] is not None), None):
        raise ParameterError(f"--{given.replace('_', '-')} goes with labels or a model, not with --new.")
    text = options["classes"].strip()
    classes = int(text) if text.isdecimal() else len([name for name in text.split(",") if name.strip()])
    found = size_job(
        options["items"], classes, like=options["like"], target_error=options["target_error"], cost=options["label_cost"]
    )
    if options["as_json"]:
        facts = {
            "rows": [row.__dict__ for row in found.rows],
            "advised": None if found.advised is None else found.advised.__dict__,
            "known_items": [{"known_items": m, "upper_limit": high} for m, high in found.known],
            "known_items_advised": found.known_advised,
            "groups": found.groups,
        }
        click.echo(json.dumps(facts, indent=2))
    elif not options["quiet"]:
        show_sizing(found, options)


def show_sizing(found: Sizing, options: dict[str, Any]) -> None:
    """Print the table and the advice."""
    from rich.console import Console
    from rich.table import Table

    from crowdassay.io.values import counted
    from crowdassay.planning.sizing import COVERED

    console = Console(highlight=False, markup=False)
    rows = Table("labels per item", "expected error", f"{COVERED:.0%} of jobs", "labels", "cost")
    for row in found.rows:
        between = f"{100 * row.error_low:.1f} to {100 * row.error_high:.1f} %"
        rows.add_row(str(row.labels_per_item), f"{100 * row.error:.1f} %", between, f"{row.labels:,}", f"{row.cost:,.2f}")
    console.print(rows)
    if found.advised is None:
        target = f"{100 * options['target_error']:.1f} %"
        console.print(
            f"No number of labels up to {found.rows[-1].labels_per_item} is expected to reach {target}: plan for experts."
        )
    else:
        n = counted(found.advised.labels_per_item, "label")
        console.print(f"Order {n} per item: {found.advised.labels:,} labels for {found.advised.cost:,.2f}.")
    limits = ", ".join(f"{high:.0%} with {m}" for m, high in found.known)
    console.print(f"Know the class of {found.known_advised} items beforehand. Upper limit of the error to expect: {limits}.")
    kind = "of this kind" if options["like"] else "of all kinds"
    console.print(f"Learned from {counted(found.groups, 'group')} of public datasets {kind}; your job may differ as they do.")
