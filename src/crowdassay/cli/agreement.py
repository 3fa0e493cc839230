"""`crowdassay agreement`: how far workers agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, Grouped, choice, confidence_option, json_option, read, reading_options
from crowdassay.cli.outputs import check_outputs, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from crowdassay.findings.agreement import Agreement
    from crowdassay.tables import Column

MEASURE_TITLES = {
    "agreement": "Raw agreement",
    "alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
}
FILES = ("classes.csv", "workers.csv", "pairs.csv", "overall.csv")
WORKERS_SHOWN = 5
CLASSES_PRINTED = 20


@click.command(cls=Grouped)
@reading_options
@choice("--level", values=["nominal", "ordinal", "interval"], help="What alpha takes the classes for: names, ranks or numbers.")
@click.option("--resamples", default=1000, show_default=True, help="Draws of the bootstrap behind the intervals; 0 for none.")
@confidence_option
@click.option("--seed", default=0, show_default=True, help="The same seed draws the same items (bootstrap).")
@click.option("--out", type=PATH, help="Folder for the tables, as CSV.")
@json_option
def agreement(labels: tuple[str, ...], as_json: bool, out: Path | None, **options: Any) -> None:
    """Measure how far workers agree on LABELS: overall, by class, by worker and by pair of workers."""
    from crowdassay.findings.agreement import agreement as measure
    from crowdassay.labels.folder import replacing_folder
    from crowdassay.labels.write import write_table

    check_outputs(labels, folders=[(out, FILES, FILES[-1])])
    data = read(labels, options)
    measured = measure(data, **{name: options[name] for name in ("level", "resamples", "seed", "confidence")})
    if out is not None:
        with replacing_folder(out, FILES, FILES[-1]) as fresh:
            for name, table in measured.tables.items():
                write_table(table, fresh / f"{name}.csv", "csv")
    if as_json:
        print_json(measured.as_dict())
    else:
        show(measured, out)


def show(measured: Agreement, out: Path | None) -> None:
    """Print the tables: the whole of the first two, the ends of the others."""
    from crowdassay.findings.agreement import CLASS_AGREEMENT, OVERALL_AGREEMENT, PAIR_AGREEMENT, WORKERS_AGREEMENT
    from crowdassay.labels.values import counted
    from crowdassay.results.show import print_table, terminal
    from crowdassay.text import joined

    console, counts = terminal(), measured.counts
    tables = {name: table.to_pylist() for name, table in measured.tables.items() if name != "workers"}
    console.print(
        f"Read: {counted(counts['labels'], 'label')} of {counted(counts['items'], 'item')} by "
        f"{counted(counts['workers'], 'worker')}. {counted(counts['judgements_compared'], 'judgement')} of "
        f"{counted(counts['items_compared'], 'item')} can be compared with another worker's: "
        f"{counted(counts['pairs_compared'], 'pair')}."
    )
    console.print()
    limits = f"{measured.confidence:.0%} interval"
    overall = [{**row, "measure": MEASURE_TITLES[row["measure"]]} for row in tables["overall"]]
    columns: list[str | Column] = ["measure", "value", OVERALL_AGREEMENT.column("low", title=limits)]
    print_table(console, OVERALL_AGREEMENT, overall, columns, title=f"Overall ({measured.level})")
    for why in dict.fromkeys(row["undefined"] for row in overall if row["undefined"]):
        measures = [row["measure"] for row in overall if row["undefined"] == why]
        console.print(f"{joined(measures)} {'is' if len(measures) == 1 else 'are'} undefined: {why}.")
    if not counts["pairs_compared"]:
        print_where(console, out)
        return
    console.print(
        f"Cohen's kappa: {counted(counts['worker_pairs'], 'pair')} of workers. Left out: "
        f"{counted(counts['worker_pairs_with_few_items'], 'pair')} with too few common items, "
        f"{counted(counts['worker_pairs_with_one_class'], 'pair')} with one class only."
    )
    console.print()
    classes = [{**row, "judgements": round(row["judgements"])} for row in tables["classes"][:CLASSES_PRINTED]]
    between = CLASS_AGREEMENT.column("alpha_low", title=limits)
    columns = ["class", "judgements", "agreement", "alpha", between, "fleiss_kappa"]
    print_table(console, CLASS_AGREEMENT, classes, columns, title="By class")
    workers = [{**row, "items": f"{row['items']:,}{' (few)' if row['few'] else ''}"} for row in least_agreeing(measured)]
    items, between = WORKERS_AGREEMENT.column("items", format="figure"), WORKERS_AGREEMENT.column("agreement_low", title=limits)
    columns = ["worker", items, "agreement", between, "kappa", "alpha_without"]
    print_table(console, WORKERS_AGREEMENT, workers, columns, title="Workers who agree least")
    for end in ("most", "least"):
        pairs = [row for row in tables["pairs"] if row["end"] == end][:WORKERS_SHOWN]
        if pairs:
            columns = ["worker", "other", "items", "agreement", "kappa"]
            print_table(console, PAIR_AGREEMENT, pairs, columns, title=f"Pairs who agree {end}")
    print_where(console, out)


def print_where(console: Console, out: Path | None) -> None:
    """Print which tables were written."""
    if out is not None:
        console.print(f"Wrote overall, classes, workers and pairs (.csv) to {out}.")


def least_agreeing(measured: Agreement) -> list[dict[str, Any]]:
    """Return the workers of lowest agreement, those with few items only where there are no others."""
    import pyarrow.compute as pc

    table = measured.tables["workers"]
    many = table.filter(pc.invert(table["few"]))
    table = (many if many.num_rows else table).filter(pc.is_valid((many if many.num_rows else table)["agreement"]))
    rows: list[dict[str, Any]] = table.sort_by("agreement").slice(0, WORKERS_SHOWN).to_pylist()
    return rows
