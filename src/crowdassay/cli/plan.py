"""`crowdassay plan`: what to label next, by whom, and when to stop."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, Grouped, column_options, currency_option, quiet_option, read, settled_option, split
from crowdassay.cli.outputs import check_outputs, form_of, print_json
from crowdassay.errors import ParameterError

if TYPE_CHECKING:
    from crowdassay.estimators.base import Estimator
    from crowdassay.findings.money import Money
    from crowdassay.planning.plan import Planned
    from crowdassay.planning.sizing import Sizing

NEW = ("items", "like")  # options of --new alone
EXISTING = (
    "budget", "cost", "workers", "max_per_item", "batch_size", "rate", "error_cost", "expert_cost", "out", "decisions", "curve",
    "gold", "method", "settled",
)  # fmt: skip
PASSED_ON = (
    "budget", "target_error", "label_cost", "expert_cost", "error_cost", "max_per_item", "batch_size", "rate", "seed",
)  # fmt: skip
KNOWN_TO_MODELS = ("gold", "method", "classes")  # options that say what models and stores know themselves


@click.command(cls=Grouped)
@click.argument("source", nargs=-1)
@column_options
@click.option("--budget", type=float, help="Money to spend, in the unit of the costs: the number of labels where each costs 1.")
@click.option("--cost", type=PATH, help="File of worker,cost: the price of a label of each worker.")
@click.option("--label-cost", type=float, default=1.0, show_default=True, help="Price of a label where no file gives one.")
@click.option("--expert-cost", type=float, help="Price of an expert, who knows an item's class; without it no expert is asked.")
@currency_option
@click.option("--error-cost", type=float, help="What a wrong label costs you: nothing is asked for that is worth less.")
@click.option("--target-error", type=float, help="Stop when the upper limit of the error is at most this, such as 0.05.")
@click.option("--max-per-item", type=int, help="Labels that an item may have, those given included.")
@click.option("--batch-size", type=int, help="Labels to ask for at a time; a tenth of the budget by default, at least 100.")
@click.option("--workers", type=PATH, help="File of worker[,cost,capacity]: who can be asked.")
@click.option("--rate", help="Plan for the share of this class among the items, instead of the error.")
@click.option("--gold", type=PATH, help="File of item,label whose classes are known: they check the limit.")
@click.option("--method", help="How to fit labels; 'assay' by default. A saved model has its own.")
@settled_option
@click.option("--out", type=PATH, help="Write the assignments (.csv or .xlsx): batch, item, worker, cost, gain.")
@click.option("--decisions", type=PATH, help="Write what to do with every item (.csv or .xlsx): stop, label, ...")
@click.option("--curve", type=PATH, help="Draw the expected error against the spend (.svg or .png).")
@click.option("--new", is_flag=True, help="Nothing is labelled yet: say how many labels and known items to order.")
@click.option("--items", type=int, help="--new: number of items.")
@click.option("--like", help="--new: the kind of job, such as relevance; all kinds by default.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same plan.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else.")
@quiet_option
def plan(source: tuple[str, ...], new: bool, **options: Any) -> None:
    """Plan further labels for SOURCE: labels, as for 'aggregate'; a model that 'aggregate --save-model' wrote; or the store
    of 'crowdassay serve'.

    Items and workers are paired by the expected fall of the error for the money. Do the first batch, add the labels
    ('crowdassay update'), and plan again. With --new and without SOURCE: how much to order before anything is labelled.
    """
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
    from crowdassay.planning.sizing import size_job

    if source:
        raise ParameterError("--new is for a job without labels; leave out the file or --new.")
    if options["items"] is None or options["classes"] is None:
        raise ParameterError("--new needs --items and --classes, their numbers.")
    classes = number_of_classes(options["classes"].strip())
    sizing = size_job(
        options["items"], classes, like=options["like"], target_error=options["target_error"], cost=options["label_cost"]
    )
    if options["quiet"]:
        return
    if options["as_json"]:
        facts = {
            "rows": [row.__dict__ for row in sizing.rows],
            "advised": None if sizing.advised is None else sizing.advised.__dict__,
            "known_items": [{"known_items": m, "upper_limit": high} for m, high in sizing.known],
            "known_items_advised": sizing.known_advised,
            "groups": sizing.groups,
        }
        print_json(facts)
    else:
        show_sizing(sizing, options)


def number_of_classes(text: str) -> int:
    """Return the number that was given, or that of the names that were."""
    if text.removeprefix("-").isdecimal():
        return int(text)
    names = set(split(text))
    if len(names) < 2:
        raise ParameterError(f"--classes takes their number or their names, such as 3 or no,yes; not '{text}'.")
    return len(names)


def plan_existing(source: tuple[str, ...], options: dict[str, Any]) -> None:
    """Plan for labels, a saved model or a store."""
    from crowdassay.findings.money import check_currency
    from crowdassay.planning.plan import check_numbers
    from crowdassay.planning.plan import plan as make_plan
    from crowdassay.planning.prices import read_people

    if options["budget"] is None:
        raise ParameterError("Say with --budget how much there is to spend.")
    check_numbers(*(options[name] for name in ("budget", "target_error", "error_cost", "max_per_item", "batch_size")))
    check_currency(options["currency"])
    check_outputs(
        [*source, *(options[name] for name in ("cost", "workers", "gold"))],
        tables=[options["out"], options["decisions"]],
        pictures=[options["curve"]],
    )
    workers, costs = (None, {}) if options["workers"] is None else read_people(options["workers"])
    if options["cost"] is not None:
        costs |= read_people(options["cost"], need_cost=True)[1]
    fitted = find_fitted(source, options)
    made = make_plan(fitted, workers=workers, worker_costs=costs or None, **{name: options[name] for name in PASSED_ON})
    write_files(made, options)
    show(made, fitted.result_.money(made.price, expert_cost=options["expert_cost"], currency=options["currency"]), options)


def write_files(made: Planned, options: dict[str, Any]) -> None:
    """Write the files that were asked for."""
    from crowdassay.labels.write import write_table

    curve = None if options["curve"] is None else made.curve()  # refused before anything is written
    for name, table in {"out": made.assignments, "decisions": made.decisions}.items():
        if (path := options[name]) is not None:
            write_table(table(), path, form_of(path))
    if curve is not None:
        from crowdassay.results.report.charts import curve_chart

        curve_chart(curve, made.target).save(options["curve"])


def find_fitted(source: tuple[str, ...], options: dict[str, Any]) -> Estimator:
    """Return a saved model, or a method fitted to the labels of files or of a store."""
    from crowdassay.cli.running import working
    from crowdassay.estimators.load import load_estimator
    from crowdassay.estimators.methods import find_method
    from crowdassay.labels.folder import MODEL_HEAD
    from crowdassay.labels.truth import take_gold
    from crowdassay.service.fits.process import read_store
    from crowdassay.service.store.open import is_store

    only = source[0] if len(source) == 1 else ""
    if only and (Path(only) / MODEL_HEAD).is_file():
        refuse(KNOWN_TO_MODELS, options, f"the model in '{only}'")
        model = load_estimator(only)
        return model if options["settled"] is None else model.set_params(settled=options["settled"])
    method = find_method(options["method"] or "assay")
    stored = bool(only) and is_store(only)
    if stored:
        refuse([name for name in KNOWN_TO_MODELS if name != "method"], options, "the store")
    with working("Reading ...", quiet=options["quiet"]):
        data = read_store(only)[0] if stored else read(source, options)
    if options["gold"] is not None:
        data = take_gold(data, options["gold"])
    with working("Fitting ...", quiet=options["quiet"]):
        return method.make(settled=options["settled"]).fit(data)


def refuse(names: list[str] | tuple[str, ...], options: dict[str, Any], who: str) -> None:
    """Refuse options that say what the source knows itself."""
    for name in names:
        if options[name] is not None:
            raise ParameterError(f"--{name} goes with files of labels; {who} has its own.")


def show(made: Planned, money: Money, options: dict[str, Any]) -> None:
    """Print where the job stands, what would settle it for which price, and what was planned."""
    from crowdassay.cli.aggregate_show import print_cost
    from crowdassay.labels.values import counted
    from crowdassay.results.show import terminal

    facts = made.summary()
    if options["quiet"]:
        return
    if options["as_json"]:
        ways = [asdict(way) for way in money.ways]
        print_json({**facts, "open_items": money.open_items, "ways": ways, "notes": made.notes})
        return
    click.echo(
        f"{counted(facts['labels'], 'label')} on {counted(facts['items'], 'item')}, {facts['items_settled']:,} of them settled."
    )
    if facts["known_items"]:
        wrong = counted(facts["known_items_wrong"], "was", "were")
        click.echo(f"Of {counted(facts['known_items'], 'known item')}, {wrong} labelled wrong.")
    says = facts["says"]
    click.echo(f"{says[0].upper()}{says[1:]}.")
    if (sentence := about_known_items(facts)) is not None:
        click.echo(sentence)
    if not facts["stop"] and facts["target_error"] is not None and facts["estimated_error"] is not None:
        click.echo(way_to_target(facts, money))
    if not facts["stop"]:
        print_cost(terminal(), money, spent=False, told=True)
    click.echo(what_is_planned(facts, money))
    if facts["batches"] > 1:
        click.echo("Do batch 1, add its labels, and plan again: later batches are a forecast.")
    for note in made.notes:
        click.echo(f"Note: {note}")
    for name in ("out", "decisions", "curve"):
        if options[name] is not None:
            click.echo(f"Wrote {options[name]}.")


def about_known_items(facts: dict[str, Any]) -> str | None:
    """Return what further known items would do for the limit; None where it need not be narrower."""
    from crowdassay.labels.values import counted

    target, error, advised = facts["target_error"], facts["estimated_error"], facts["known_items_advised"]
    if facts["stop"] or error is None or (target is not None and error > target):  # in the last case more labels come first
        return None
    wide = "" if facts["known_items"] else "The limit is wide because nothing checks it: no class is known. "
    if advised is None:
        never = "" if target is None else f"Known items alone cannot bring the limit to {100 * target:.1f} %."
        return (wide + never).strip() or None
    more = counted(advised, "more known item") if facts["known_items"] else f"{counted(advised, 'known item')} (--gold)"
    high = f"{100 * facts['upper_limit_with_these']:.1f} %"
    so = "" if target is None else ", and you could stop"
    return f"{wide}With about {more}, labelled as well as estimated, it would be {high}{so}."


def what_is_planned(facts: dict[str, Any], money: Money) -> str:
    """Return how many labels of which kind are planned, and what they are expected to bring."""
    from crowdassay.labels.values import counted

    if not facts["batches"]:
        return "Nothing is planned."
    kinds = [counted(facts["planned_labels"], "label")]
    if facts["planned_trials"]:
        kinds.append(counted(facts["planned_trials"], "trial label"))
    if facts["planned_experts"]:
        kinds.append(f"{counted(facts['planned_experts'], 'item')} for an expert")
    batches, expected = counted(facts["batches"], "batch"), facts["expected_error_after"]
    after = "" if expected is None else f" Expected error after them: {100 * expected:.1f} %."
    return f"Planned: {', '.join(kinds)}, in {batches}, for {money.amount(facts['spend'])}.{after}"


def way_to_target(facts: dict[str, Any], money: Money) -> str:
    """Return how far it is to the target."""
    from crowdassay.labels.values import counted

    target = f"{100 * facts['target_error']:.1f} %"
    if facts["labels_for_target"] is None:
        return f"More labels by these workers are not expected to bring the error to {target}; an expert could."
    if facts["labels_for_target"] <= 0:
        return f"The estimate is within {target}, its upper limit is not."
    labels, cost = counted(facts["labels_for_target"], "more label"), money.amount(facts["spend_for_target"])
    return f"About {labels}, for {cost}, should bring the estimate to {target}."


def show_sizing(sizing: Sizing, options: dict[str, Any]) -> None:
    """Print the table and the advice."""
    from crowdassay.labels.values import counted
    from crowdassay.planning.sizing import SIZES
    from crowdassay.results.show import print_table, terminal

    console = terminal()
    print_table(console, SIZES, sizing.table(), ["labels_per_item", "error", "error_low", "labels", "cost"])
    if sizing.advised is None:
        target = f"{100 * options['target_error']:.2g} %"
        console.print(
            f"No number of labels up to {sizing.rows[-1].labels_per_item} is expected to reach {target}: plan for experts."
        )
    else:
        n = counted(sizing.advised.labels_per_item, "label")
        console.print(f"Order {n} per item: {counted(sizing.advised.labels, 'label')} for {sizing.advised.cost:,.2f}.")
    (_, bare), *known = sizing.known
    limits = ", ".join(f"{high:.0%} with {counted(m, 'known item')}" for m, high in known)
    console.print(f"Upper limit of the error to expect: {bare:.0%} without known items{', ' if known else ''}{limits}.")
    if sizing.known_advised:
        console.print(f"So know the class of {counted(sizing.known_advised, 'item')} beforehand.")
    kind = "of this kind" if options["like"] else "of all kinds"
    console.print(
        f"Learned from {counted(sizing.groups, 'group')} of public datasets {kind}; your job may differ as they do. To know "
        "more, label a few items and plan from these."
    )
