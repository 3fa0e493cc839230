"""`crowdassay convert`: what a tool exports in, plain item, worker, label out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped, read, reading_options
from crowdassay.cli.outputs import refuse_inputs

if TYPE_CHECKING:
    import pyarrow as pa

    from crowdassay.labels.labels import Labels


@click.command(cls=Grouped)
@reading_options
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File for item,worker,label: .csv or .parquet.")
@click.option("--gold-out", type=click.Path(path_type=Path), help="File for the gold found in the export, as item,label.")
@click.option("--raw", is_flag=True, help="Leave text cells that a spreadsheet would take for formulas as they are.")
@click.option("--json", "as_json", is_flag=True, help="Print the import report as JSON and nothing else.")
def convert(labels: tuple[str, ...], out: Path, gold_out: Path | None, raw: bool, as_json: bool, **options: Any) -> None:
    """Write LABELS, often an annotation tool's export, as a plain table of item, worker and label.

    Several files, folders and patterns such as 'Batch_*.csv' are read as one export.
    """
    import json

    from crowdassay.cli.aggregate_show import print_report
    from crowdassay.labels.files import table_of
    from crowdassay.labels.folder import check_writable
    from crowdassay.labels.write import write_table

    forms = {path: form_of(path) for path in (out, gold_out) if path is not None}
    for path in forms:
        check_writable(path.parent)
    refuse_inputs(labels, forms)
    data = read(labels, {**options, "use_gold": options["use_gold"] or gold_out is not None})
    write_table(table_of(data), out, forms[out], raw=raw)
    if gold_out is not None:
        write_table(gold_table(data), gold_out, forms[gold_out], raw=raw)
    if as_json:
        click.echo(json.dumps(data.report.as_dict(), indent=2, ensure_ascii=False))
    else:
        print_report(data)
        click.echo(f"Wrote {data.n_labels:,} labels to {out}{f' and the gold to {gold_out}' if gold_out else ''}.")


def form_of(path: Path) -> str:
    """Return the kind of table that a file's name asks for."""
    from crowdassay.errors import ParameterError

    form = path.suffix.lower().removeprefix(".")
    if form not in {"csv", "parquet"}:
        raise ParameterError(f"'{path.name}' must end in .csv or .parquet.")
    return form


def gold_table(labels: Labels) -> pa.Table:
    """Return one row per item whose class is known."""
    import numpy as np
    import pyarrow as pa

    known = np.flatnonzero(labels.gold >= 0)
    return pa.table({"item": labels.items.take(pa.array(known)), "label": labels.classes.take(pa.array(labels.gold[known]))})
