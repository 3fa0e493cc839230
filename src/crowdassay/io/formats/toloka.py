"""Toloka: the TSV of assignments."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.io.formats.look import Look
from crowdassay.io.formats.record import Import, Wanted, choose_question, gold_table
from crowdassay.io.formats.table import is_filled, item_column, leave_out, read_columns

INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
WORKER, STATUS, HINT = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "HINT:text"
LEFT_OUT = ("rejected", "skipped", "expired")


def recognise(seen: Look) -> bool:
    """Tell whether the header has workers and outputs."""
    return seen.has(WORKER) and any(name.startswith(OUTPUT) for name in seen.header)


def read(seen: Look, wanted: Wanted) -> Import:
    """Read one output; rejected, skipped and expired assignments and training tasks are left out."""
    outputs = [name.removeprefix(OUTPUT) for name in seen.header if name.startswith(OUTPUT)]
    asked = None if wanted.question is None else wanted.question.removeprefix(OUTPUT)
    question = choose_question(outputs, asked, seen.path.name)
    item = item_column(seen, wanted.item, INPUT, "ASSIGNMENT:task_id")
    optional = [name for name in (STATUS, HINT, GOLDEN + question) if name in seen.header]
    table = read_columns(seen, [item, WORKER, OUTPUT + question, *optional])
    gold = None
    if GOLDEN + question in optional:
        known = table.filter(is_filled(table[GOLDEN + question])).select([item, GOLDEN + question])
        gold = gold_table(zip(*known.to_pydict().values(), strict=True), seen.path.name)
    reasons = {}
    if STATUS in optional:
        status = pc.utf8_lower(pc.utf8_trim_whitespace(table[STATUS]))
        reasons = {reason: pc.fill_null(pc.equal(status, reason), False) for reason in LEFT_OUT}
    if HINT in optional:
        reasons["training task"] = is_filled(table[HINT])
    rows = pa.table({"item": table[item], "worker": table[WORKER], "label": table[OUTPUT + question]})
    rows, dropped = leave_out(rows, reasons)
    columns = {"item": item, "worker": WORKER, "label": OUTPUT + question}
    return Import(rows["item"], rows["worker"], rows["label"], columns, question, dropped, gold)
