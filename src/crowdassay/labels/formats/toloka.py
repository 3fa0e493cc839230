"""Toloka: the TSV of assignments."""

from __future__ import annotations

from crowdassay.errors import ColumnError
from crowdassay.labels.formats.parse import as_list, each_row, is_filled, item_column, parsed, read_columns
from crowdassay.labels.formats.record import Annotations, choose_question
from crowdassay.labels.probe import Probe
from crowdassay.read_options import ReadOptions

INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
WORKER, STATUS, HINT, TASK = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "HINT:text", "ASSIGNMENT:task_id"
STARTED, SUBMITTED = "ASSIGNMENT:started", "ASSIGNMENT:submitted"
LEFT_OUT = ("rejected", "skipped", "expired")
BETWEEN = " | "  # inputs that tell an item together


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the outputs; rejected, skipped and expired assignments and training tasks are left out."""
    outputs = [name.removeprefix(OUTPUT) for name in probe.header if name.startswith(OUTPUT)]
    if wanted.question is not None:
        outputs = [choose_question(outputs, wanted.question.removeprefix(OUTPUT), probe.path.name)]
    items = _item_columns(probe, wanted.item_column)
    rows = Annotations({"item": ", ".join(items), "worker": WORKER, "label": f"{OUTPUT}*"})
    golden = [GOLDEN + name for name in outputs if GOLDEN + name in probe.header]
    optional = [name for name in (STATUS, HINT, SUBMITTED, *golden) if name in probe.header]
    names = [*items, WORKER, *(OUTPUT + name for name in outputs), *optional]
    columns = read_columns(probe, names, [*items, WORKER, OUTPUT + outputs[0]], rows)
    for row in each_row(columns):
        cells = [row[name] for name in items]
        item = BETWEEN.join(cell or "" for cell in cells) if any(map(is_filled, cells)) else None
        known = {name: _choices(row.get(GOLDEN + name)) for name in outputs}
        if any(known.values()):
            rows.add_gold(item, known)
        status = (row.get(STATUS) or "").strip().lower()
        if status in LEFT_OUT:
            rows.drop(status)
        elif is_filled(row.get(HINT)):
            rows.drop("training task")
        else:
            rows.add(item, row[WORKER], {name: _choices(row[OUTPUT + name]) for name in outputs}, time=row.get(SUBMITTED))
    return rows


def _item_columns(probe: Probe, wanted: str | None) -> list[str]:
    """Return what tells an item: the only input, else the task's id, else all inputs together."""
    item = item_column(probe, wanted, INPUT, TASK)
    if item in probe.header:
        return [item]
    inputs = [name for name in probe.header if name.startswith(INPUT)]
    if not inputs:
        raise ColumnError(f"{probe.shown} has neither {TASK} nor {INPUT} columns; name the item's with --item-column.")
    return inputs


def _choices(cell: str | None) -> list[str]:
    """Return what a cell holds: a JSON list of several choices, or one."""
    if not is_filled(cell):
        return []
    value = parsed(cell)
    return [str(choice) for choice in as_list(value)] if isinstance(value, list) else [str(cell)]
