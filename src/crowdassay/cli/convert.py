"""`crowdassay convert`: what a tool exports in, plain item, worker, label out; or results in, what a tool imports out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, Grouped, Options, read, read_options, reading_options
from crowdassay.cli.outputs import check_outputs, form_of, print_json
from crowdassay.errors import ParameterError
from crowdassay.read_options import flag

if TYPE_CHECKING:
    import pyarrow as pa

    from crowdassay.labels.labels import Labels


TOOL_NAMES = ("label-studio", "argilla", "doccano")
OF_RESULTS = ("question", "item_column", "options")  # reading options that also say how results become tasks


@click.command(cls=Grouped)
@reading_options
@click.option("--out", type=PATH, required=True, help="File for item,worker,label: .csv, .xlsx or .parquet; with --to, JSON.")
@click.option("--to", "tool", type=click.Choice(TOOL_NAMES), help="LABELS are results; write what this tool imports.")
@click.option("--tasks", type=PATH, help="--to: the tool's export as JSON, whose tasks keep what they show.")
@click.option("--gold-out", type=PATH, help="File for the gold found in the export, as item,label.")
@click.option("--raw", is_flag=True, help="Leave text cells that a spreadsheet would take for formulas as they are.")
@click.option("--json", "as_json", is_flag=True, help="Print the import report as JSON and nothing else.")
def convert(labels: tuple[str, ...], out: Path, gold_out: Path | None, raw: bool, as_json: bool, **options: Any) -> None:
    """Write LABELS, often an annotation tool's export, as a plain table of item, worker and label.

    Several files, folders and patterns such as 'Batch_*.csv' are read as one export.

    With --to, LABELS is a folder that `aggregate --out` wrote, or its table of labels, and what is written are predictions
    that a tool imports.
    """
    tool, tasks = options.pop("tool"), options.pop("tasks")
    if tool is not None:
        convert_results(labels, tool, tasks, out, {**options, "gold_out": gold_out, "raw": raw}, as_json=as_json)
        return
    if tasks is not None:
        raise ParameterError("--tasks goes with --to, which says for which tool results are written.")
    from crowdassay.cli.aggregate_show import print_report
    from crowdassay.labels.files import table_of
    from crowdassay.labels.values import counted
    from crowdassay.labels.write import write_table

    forms = {path: form_of(path) for path in (out, gold_out) if path is not None}
    check_outputs(labels, files=[out, gold_out])
    data = read(labels, {**options, "use_gold": options["use_gold"] or gold_out is not None})
    write_table(table_of(data), out, forms[out], raw=raw)
    if gold_out is not None:
        write_table(gold_table(data), gold_out, forms[gold_out], raw=raw)
    if as_json:
        print_json(data.report.as_dict())
    else:
        print_report(data)
        click.echo(f"Wrote {counted(data.n_labels, 'label')} to {out}{f' and the gold to {gold_out}' if gold_out else ''}.")


def convert_results(
    results: tuple[str, ...], tool: str, tasks: Path | None, out: Path, options: Options, *, as_json: bool
) -> None:
    """Write results as a tool imports them."""
    from crowdassay.labels.formats.predictions import TOOLS, as_bytes, read_predictions, read_tasks, written
    from crowdassay.labels.values import counted
    from crowdassay.labels.write import write_bytes

    wanted = read_options(options)
    strange = [flag(name) for name in wanted.set() if name not in OF_RESULTS]
    strange += [f"--{name.replace('_', '-')}" for name in ("gold_out", "raw") if options[name]]
    if strange or wanted.options == "each":
        raise ParameterError(f"{strange[0] if strange else '--options each'} goes with labels, and --to takes results.")
    ending = TOOLS[tool][1]
    if len(results) != 1:
        raise ParameterError("--to takes one folder of results, or its table of labels.")
    if out.suffix.lower() != ending:
        raise ParameterError(f"'{out.name}' must end in {ending}, which is what {tool} imports.")
    check_outputs([*results, tasks], files=[out])
    predictions = read_predictions(Path(results[0]))
    found = written(tool, predictions, None if tasks is None else read_tasks(tasks), wanted)
    write_bytes(as_bytes(tool, found), out)
    missing = max(0, len({one.item for one in predictions}) - len(found))
    if as_json:
        print_json({"tool": tool, "written": len(found), "without_task": missing})
        return
    click.echo(f"Wrote the labels of {counted(len(found), 'item')} to {out}, as {tool} imports them.")
    if missing:
        click.echo(f"Left out {counted(missing, 'item')} of the results: {tasks} holds no such task.")


def gold_table(labels: Labels) -> pa.Table:
    """Return one row per item whose class is known."""
    import numpy as np
    import pyarrow as pa

    known = np.flatnonzero(labels.gold >= 0)
    return pa.table({"item": labels.items.take(pa.array(known)), "label": labels.classes.take(pa.array(labels.gold[known]))})
