"""Toloka: the TSV of assignments."""

from __future__ import annotations

from crowdassay.errors import ColumnError
from crowdassay.labels.formats.parse import as_list, is_filled, item_column, parsed, read_table
from crowdassay.labels.formats.record import Annotations, choose_question
from crowdassay.labels.probe import Probe
from crowdassay.read_options import ReadOptions

TOLOKA_INPUT, TOLOKA_OUTPUT, TOLOKA_GOLD = "INPUT:", "OUTPUT:", "GOLDEN:"
TOLOKA_WORKER, TOLOKA_STATUS, TOLOKA_TASK = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:task_id"
TOLOKA_TIME, TOLOKA_HINT = "ASSIGNMENT:submitted", "HINT:text"
REFUSED_STATES = ("rejected", "skipped", "expired")
BETWEEN_INPUTS = " | "  # inputs that tell an item together


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the outputs; rejected, skipped and expired assignments and training tasks are left out."""
    outputs = [name.removeprefix(TOLOKA_OUTPUT) for name in probe.header if name.startswith(TOLOKA_OUTPUT)]
    if wanted.question is not None:
        outputs = [choose_question(outputs, wanted.question.removeprefix(TOLOKA_OUTPUT), probe.path.name)]
    items = _item_columns(probe, wanted.item_column)
    rows = Annotations({"item": ", ".join(items), "worker": TOLOKA_WORKER, "label": f"{TOLOKA_OUTPUT}*"})
    marked = [mark + name for mark in (TOLOKA_OUTPUT, TOLOKA_GOLD) for name in outputs]
    more = [TOLOKA_STATUS, TOLOKA_HINT, TOLOKA_TIME, *marked]
    for row in read_table(probe, rows, [*items, TOLOKA_WORKER, TOLOKA_OUTPUT + outputs[0]], more):
        cells = [row[name] for name in items]
        item = BETWEEN_INPUTS.join(cell or "" for cell in cells) if any(map(is_filled, cells)) else None
        known = {name: _choices(row.get(TOLOKA_GOLD + name)) for name in outputs}
        if any(known.values()):
            rows.add_gold(item, known)
        status = (row.get(TOLOKA_STATUS) or "").strip().lower()
        if status in REFUSED_STATES:
            rows.drop(status)
        elif is_filled(row.get(TOLOKA_HINT)):
            rows.drop("training task")
        else:
            answers = {name: _choices(row[TOLOKA_OUTPUT + name]) for name in outputs}
            rows.add(item, row[TOLOKA_WORKER], answers, time=row.get(TOLOKA_TIME))
    return rows


def _item_columns(probe: Probe, wanted: str | None) -> list[str]:
    """Return what tells an item: the only input, else the task's id, else all inputs together."""
    item = item_column(probe, wanted, TOLOKA_INPUT, TOLOKA_TASK)
    if item in probe.header:
        return [item]
    inputs = [name for name in probe.header if name.startswith(TOLOKA_INPUT)]
    if not inputs:
        raise ColumnError(
            f"{probe.shown} has neither {TOLOKA_TASK} nor {TOLOKA_INPUT} columns; name the item's with --item-column."
        )
    return inputs


def _choices(cell: str | None) -> list[str]:
    """Return what a cell holds: a JSON list of several choices, or one."""
    if not is_filled(cell):
        return []
    value = parsed(cell)
    return [str(choice) for choice in as_list(value)] if isinstance(value, list) else [str(cell)]
