"""Appen, formerly Figure Eight and CrowdFlower: the full report CSV."""

from __future__ import annotations

import pyarrow as pa

from crowdassay.errors import DataError
from crowdassay.io.formats.look import Look, is_named
from crowdassay.io.formats.record import SEVERAL, Import, Wanted, choose_question, gold_table
from crowdassay.io.formats.table import is_filled, is_true, item_column, leave_out, one_choice, read_columns
from crowdassay.io.values import shown_file

UNIT, WORKER, GOLD = "_unit_id", "_worker_id", "_gold"
AGGREGATED = ("_unit_state", "_trusted_judgments")
LEFT_OUT = {"_tainted": "tainted", "_missed": "missed test question"}


def recognise(seen: Look) -> bool:
    """Tell whether the header has units and workers, or is that of an aggregated report."""
    return seen.has(UNIT) and (seen.has(WORKER) or bool(set(AGGREGATED) & seen.keys))


def read(seen: Look, wanted: Wanted) -> Import:
    """Read one question; tainted and missed judgements are left out, and personal columns are never read."""
    if not seen.has(WORKER):
        raise DataError(
            f"{shown_file(seen.path.name)} is an aggregated report: it holds one label per unit and not who gave which; "
            "download the full report of the same job instead."
        )
    # Every question has a column of its test answers; columns of the uploaded data have none.
    own = [name for name in seen.header if not name.startswith(("_", "orig_")) and not name.endswith((GOLD, "_gold_reason"))]
    asked = [name for name in own if name + GOLD in seen.header] or [name for name in own if is_named(name, "label")]
    question = choose_question(asked if wanted.question is None and asked else own, wanted.question, seen.path.name)
    item = item_column(seen, wanted.item, "", UNIT)
    marks = [name for name in LEFT_OUT if name in seen.header]
    golden = [name for name in ("_golden", question + GOLD) if name in seen.header]
    table = read_columns(seen, [item, WORKER, question, *marks, *golden])
    labels, several = one_choice(table[question], _lines)
    rows = pa.table({"item": table[item], "worker": table[WORKER], "label": labels})
    reasons = {LEFT_OUT[name]: is_true(table[name]) for name in marks}
    rows, dropped = leave_out(rows, {**reasons, SEVERAL: several})
    gold, notes = None, []
    if question + GOLD in golden:
        known = table.filter(is_true(table["_golden"]) if "_golden" in golden else is_filled(table[question + GOLD]))
        only, many = one_choice(known[question + GOLD], _lines)
        gold = gold_table(zip(known[item].to_pylist(), only.to_pylist(), strict=True), seen.path.name)
        if units := set(known[item].filter(many).to_pylist()):
            notes.append(f"Test questions that accept several answers are not counted as gold: {len(units)}.")
    if "missed test question" in dropped:
        notes.append("Judgements that missed a test question were left out; workers may look better than they are.")
    columns = {"item": item, "worker": WORKER, "label": question}
    return Import(rows["item"], rows["worker"], rows["label"], columns, question, dropped, gold, tuple(notes))


def _lines(cell: str) -> list[str]:
    return [line for line in cell.splitlines() if line.strip()]  # several answers stand on several lines
