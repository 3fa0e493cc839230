"""Label Studio: JSON, JSON_MIN, CSV and TSV exports."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError
from crowdassay.io.formats.answers import parsed
from crowdassay.io.formats.look import Look, records
from crowdassay.io.formats.record import (
    NO_ANSWER,
    SEVERAL,
    Import,
    Rows,
    Wanted,
    as_list,
    as_name,
    choose_question,
    mapping,
    objects,
    text_column,
)
from crowdassay.io.formats.table import is_filled, leave_out, one_choice, read_columns
from crowdassay.io.values import shown, shown_file

CLASSES = ("choices", "rating", "number", "taxonomy")  # kinds of answer that can be classes; text only when asked for
REGION = frozenset({"start", "end", "x", "y", "points", "brushDataURL"})  # an answer about a part of the item
SMALL = ("annotator", "annotation_id", "lead_time")  # always there in JSON_MIN, CSV and TSV
OWN = frozenset({*SMALL, "id", "created_at", "updated_at", "agreement", "history"})


def recognise(seen: Look) -> bool:
    """Tell whether tasks hold annotations, or rows Label Studio's own columns."""
    if seen.has(*SMALL):
        return True
    if not isinstance(seen.first, dict) or not all(name.endswith(".json") for name in seen.names):
        return False
    tasks = seen.has("data") and any(isinstance(seen.first.get(name), list) for name in ("annotations", "completions"))
    return tasks or (seen.has("result", "completed_by") and isinstance(seen.first.get("task"), dict))


def read(seen: Look, wanted: Wanted) -> Import:
    """Read the answers to one control tag; skipped annotations and drafts are left out."""
    if seen.has(*SMALL):
        return _read_small(seen, wanted)
    rows = Rows()
    for _, record in records(seen):
        task, annotations = record, record.get("annotations", record.get("completions"))
        if annotations is None and isinstance(record.get("task"), dict):  # one annotation per file, its task inside
            task, annotations = record["task"], [record]
        item = _item(task, wanted.item)
        for annotation in objects(annotations):
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                rows.drop("skipped")
                continue
            answers = _answers(annotation, wanted.question)
            rows.add(item, _annotator(annotation.get("completed_by")), answers)
            if annotation.get("ground_truth"):
                rows.add_gold(item, answers)
        rows.drop("draft", len(objects(task.get("drafts"))))
        for prediction in objects(task.get("predictions")):
            rows.add_prediction(item, prediction.get("model_version"), _answers(prediction, wanted.question))
    columns = {"item": wanted.item or "id", "worker": "completed_by", "label": "result"}
    return rows.finish(seen.path.name, wanted, columns)


def choices(value: Any) -> list[Any]:
    """List what an answer's value holds, whichever kind of control tag it comes from.

    >>> choices({"choices": ["a", "b"]}), choices({"taxonomy": [["animal", "cat"]]}), choices("a")
    (['a', 'b'], ['animal / cat'], ['a'])
    """
    if isinstance(value, list):
        return [choice for part in value for choice in choices(part)]
    if not isinstance(value, dict):
        return as_list(value)
    for kind in (*CLASSES, "text"):
        if kind in value:
            found = as_list(value[kind])
            paths = kind == "taxonomy"
            return [" / ".join(map(str, path)) if paths and isinstance(path, list) else path for path in found]
    return []


def _answers(annotation: dict[str, Any], question: str | None) -> dict[str, list[Any]]:
    answers: dict[str, list[Any]] = {}
    for entry in objects(annotation.get("result")):
        value, name = entry.get("value"), str(entry.get("from_name"))
        if not isinstance(value, dict) or REGION & value.keys():
            continue
        if any(kind in value for kind in CLASSES) or ("text" in value and name == question):
            answers.setdefault(name, []).extend(choices(value))
    return answers


def _annotator(completed_by: Any) -> Any:
    if isinstance(completed_by, dict):
        return completed_by.get("email") or completed_by.get("id")
    return completed_by


def _item(task: dict[str, Any], field: str | None) -> Any:
    data = mapping(task.get("data"))
    if field is not None:
        name = field.removeprefix("data.")
        return data[name] if name in data else task.get(name)
    if task.get("id") is not None:
        return task["id"]
    return next(iter(data.values())) if len(data) == 1 else data or None


def _read_small(seen: Look, wanted: Wanted) -> Import:
    if wanted.predictions:
        raise DataError("CSV and JSON_MIN exports of Label Studio hold no predictions; export JSON for --predictions.")
    item, source = wanted.item or "id", seen.path.name
    tags = [name for name in seen.header if name not in OWN and not name.startswith("_data_")]
    names = tags if wanted.question is None else [wanted.question]
    if seen.kind == "delimited":
        if wanted.question is not None:
            choose_question(tags, wanted.question, source)
        if item not in seen.header:
            raise ColumnError(
                f"There is no column {shown(item)} for the item in {shown_file(source)}; name one with --item-column."
            )
        table = read_columns(seen, [item, "annotator", *names])
    else:
        table = _table_of([record for _, record in records(seen)], item, wanted.question, source)
    question = wanted.question or _varying(table, item, source)
    labels, several = one_choice(table[question], lambda text: choices(parsed(text)))
    worker = table["annotator"]
    rows = pa.table({"item": table[item], "worker": worker, "label": labels})
    reasons = {"no annotation": pc.invert(is_filled(worker)), SEVERAL: several, NO_ANSWER: pc.invert(is_filled(labels))}
    rows, dropped = leave_out(rows, {reason: pc.fill_null(mask, True) for reason, mask in reasons.items()})
    columns = {"item": item, "worker": "annotator", "label": question}
    return Import(rows["item"], rows["worker"], rows["label"], columns, question, dropped)


def _table_of(found: list[dict[str, Any]], item: str, question: str | None, source: str) -> pa.Table:
    keys = dict.fromkeys(key for record in found for key in record if key not in OWN and not key.startswith("_data_"))
    tags = list(keys) if question is None else [choose_question(list(keys), question, source)]
    names = dict.fromkeys([item, "annotator", *tags])
    # The worker may be an object with an email, as in the full export.
    cells = {
        name: [_annotator(record.get(name)) if name == "annotator" else record.get(name) for record in found] for name in names
    }
    return pa.table({name: text_column(map(as_name, column), source) for name, column in cells.items()})


def _varying(table: pa.Table, item: str, source: str) -> str:
    """Tell answers from data: only answers can differ between the annotations of one task."""
    tags = [name for name in table.column_names if name not in {item, "annotator"}]
    if len(tags) == 1:
        return tags[0]
    # Columns are numbered here: Arrow takes a name that begins with a dot for a path.
    plain = pa.Table.from_arrays([table[name] for name in (item, *tags)], names=[str(n) for n in range(1 + len(tags))])
    counts = plain.group_by("0").aggregate([(str(n), "count_distinct") for n in range(1, 1 + len(tags))])
    varying = [name for n, name in enumerate(tags, 1) if (pc.max(counts[f"{n}_count_distinct"]).as_py() or 0) > 1]
    return choose_question(varying or tags, None, source)
