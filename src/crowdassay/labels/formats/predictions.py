"""Results as tools import them: predictions for Label Studio, suggestions for Argilla, labelled texts for doccano."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from crowdassay.errors import DataError, FileError
from crowdassay.labels.choices import JOINED
from crowdassay.labels.folder import SUMMARY, TABLE_FORMS, is_ours
from crowdassay.labels.formats.annotation_tools import ANSWER_KEYS
from crowdassay.labels.formats.label_studio import Control, controls_in, item_of, tasks_in
from crowdassay.labels.formats.parse import as_name, field_of, objects
from crowdassay.labels.formats.record import choose_question
from crowdassay.labels.probe import probe
from crowdassay.labels.raw import JSON_SUFFIXES, as_utf8, check_file
from crowdassay.labels.roles import ROLES, Role
from crowdassay.labels.source import read_table
from crowdassay.labels.values import mapping, number_of, shown, shown_file
from crowdassay.labels.write import unguarded
from crowdassay.read_options import ReadOptions

AGENT = "crowdassay"  # by which tools know whose predictions these are
QUESTION, SHOWN_AS = "label", "text"  # names of the question and of what is shown, where no task says them
SCORE_DIGITS = 6
NUMBER_DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # numbers as numbers, so that they can be written again
RESULT_ROLES = (
    replace(ROLES["item"], option=None),
    replace(ROLES["label"], option=None),
    Role("probability", None, ("probability",), kind="number"),
)
Task = dict[str, Any]  # whatever a tool calls its tasks, as JSON


class Prediction(NamedTuple):
    """The label of an item, and how probable it is."""

    item: str
    label: str
    score: float | None


def read_predictions(path: Path) -> list[Prediction]:
    """Read the labels of a folder that `aggregate --out` wrote, or of its table of labels."""
    file = path
    if path.is_dir():
        tables = [path / f"labels.{ending}" for ending in dict.fromkeys(TABLE_FORMS.values())]
        file = next((table for table in tables if table.is_file()), path)
        if file == path or not is_ours(path / SUMMARY):
            raise FileError(f"{shown_file(path)} is no folder of results; name one that `crowdassay aggregate --out` wrote.")
    table, _, _ = read_table(file, RESULT_ROLES, {})
    item, label, score = (table[role].cast("string").to_pylist() for role in ("item", "label", "probability"))
    plain = (lambda text: text) if file.suffix.lower() == ".parquet" else unguarded
    scores = (None if p is None or (number := number_of(p)) is None else round(number, SCORE_DIGITS) for p in score)
    rows = zip(item, label, scores, strict=True)
    found = [Prediction(plain(one), plain(said), p) for one, said, p in rows if one is not None and said is not None]
    if not found:
        raise DataError(f"There are no labels in {shown_file(file)}.")
    return found


def read_tasks(path: Path) -> list[Task]:
    """Read the tasks of a tool from JSON or JSONL, as they are."""
    file, kind = check_file(path)
    if kind not in JSON_SUFFIXES:
        raise FileError(f"{shown_file(path)} holds no tasks; name the tool's export as JSON or JSONL.")
    with as_utf8(file) as (text, _):
        return objects(list(probe(text).values(NUMBER_DECODER)))


def label_studio(predictions: Mapping[str, Prediction], tasks: Sequence[Task] | None, wanted: ReadOptions) -> Iterator[Task]:
    """Yield tasks with a prediction each, as Label Studio imports them (JSON, 1.x)."""
    control = Control(wanted.question or QUESTION, SHOWN_AS)
    if tasks is not None:
        tasks = list(chain.from_iterable(map(tasks_in, tasks)))
        found = {one.name: one for one in controls_in(tasks, wanted.question)}
        control = found[choose_question(list(found), wanted.question, "--tasks")] if found else control
    else:
        tasks = [{"id": name, "data": {SHOWN_AS: name}} for name in predictions]
    for task in tasks:
        one = predictions.get(as_name(item_of(task, wanted.item_column)) or "")
        if one is None:
            continue
        result = control.answer(one.label, several=wanted.options == "set")
        kept: Task = {name: task[name] for name in ("id", "data", "meta") if name in task}
        yield {**kept, "annotations": [], "predictions": [{"model_version": AGENT, "score": one.score, "result": result}]}


def argilla(predictions: Mapping[str, Prediction], tasks: Sequence[Task] | None, wanted: ReadOptions) -> Iterator[Task]:
    """Yield records with a suggestion each, as Argilla imports them (``Dataset.records.from_json``, 2.x)."""
    question, values = wanted.question or QUESTION, []
    if tasks is not None:
        if not all(isinstance(record.get("fields"), dict) for record in tasks):
            raise DataError("These records of Argilla have no fields; write them with `dataset.records.to_json`.")
        given = {name: said for record in tasks for name, said in _answered(record)}
        question = choose_question(list(given), wanted.question, "--tasks") if given else question
        values = [given[question]] if question in given else []
    else:
        tasks = [{"id": name, "fields": {SHOWN_AS: name}} for name in predictions]
    for record in tasks:
        item = record.get("id") if wanted.item_column is None else field_of(record, wanted.item_column, "fields")
        one = predictions.get(as_name(item) or "")
        if one is None:
            continue
        suggestion = {"value": _argilla_value(one.label, values, wanted), "score": one.score, "agent": AGENT}
        kept = {name: record.get(name) or {} for name in ("metadata", "vectors")}
        suggestions = {question: suggestion}
        yield {"id": record.get("id"), "fields": record["fields"], **kept, "suggestions": suggestions, "responses": {}}


def _answered(record: Task) -> Iterator[tuple[str, Any]]:
    """Yield every question that a record answers, with a value."""
    for name, several in mapping(record.get("responses")).items():
        yield from ((name, given.get("value")) for given in objects(several))
    for name, given in mapping(record.get("suggestions")).items():
        yield name, mapping(given).get("value")


def _argilla_value(label: str, values: Sequence[Any], wanted: ReadOptions) -> Any:
    """Return a label as the question takes it: a number for a rating, a list where several may be chosen."""
    if wanted.options == "set" or (values and isinstance(values[0], list)):
        return label.split(JOINED) if wanted.options == "set" else [label]
    number = number_of(label) if values and isinstance(values[0], int) else None
    return label if number is None else int(number)


def doccano(predictions: Mapping[str, Prediction], tasks: Sequence[Task] | None, wanted: ReadOptions) -> Iterator[Task]:
    """Yield texts with a label each, as doccano imports them (JSONL, 1.x); the probability becomes a fact about the text."""
    if tasks is None:
        tasks = [{"id": name, SHOWN_AS: name} for name in predictions]
    for record in tasks:
        one = predictions.get(as_name(record.get(wanted.item_column or "id")) or "")
        if one is None:
            continue
        kept = {name: value for name, value in record.items() if name not in {*ANSWER_KEYS, "Comments"}}
        labels = one.label.split(JOINED) if wanted.options == "set" else [one.label]
        yield {**kept, "label": labels, "probability": one.score}


Writer = Callable[[Mapping[str, Prediction], Sequence[Task] | None, ReadOptions], Iterator[Task]]
TOOLS: dict[str, tuple[Writer, str]] = {
    "label-studio": (label_studio, ".json"),
    "argilla": (argilla, ".json"),
    "doccano": (doccano, ".jsonl"),
}


def written(tool: str, predictions: Sequence[Prediction], tasks: Sequence[Task] | None, wanted: ReadOptions) -> list[Task]:
    """Return results as a tool imports them; of several labels of an item the first stays.

    Parameters
    ----------
    tool : {'label-studio', 'argilla', 'doccano'}
    predictions : sequence of Prediction
    tasks : sequence of dict or None
        What the tool itself exported: what it shows is kept, and what it has no result for is left out. Without it the
        name of an item is all that is shown.
    wanted : ReadOptions
        ``question``, ``item_column`` and ``options`` as they were when the labels were read.

    Examples
    --------
    >>> one = Prediction("t1", "warm", 0.9)
    >>> written("doccano", [one], [{"id": "t1", "text": "Hello", "label": []}], ReadOptions())
    [{'id': 't1', 'text': 'Hello', 'label': ['warm'], 'probability': 0.9}]
    """
    by_item: dict[str, Prediction] = {}
    for one in predictions:
        by_item.setdefault(one.item, one)
    found = list(TOOLS[tool][0](by_item, tasks, wanted))
    if not found:
        raise DataError(
            f"No item of the results, such as {shown(predictions[0].item)}, is among the tasks; name with --item-column what "
            "the items were told by when the labels were read."
        )
    return found


def as_bytes(tool: str, tasks: Sequence[Task]) -> bytes:
    """Return tasks as a file: a JSON list with a task on each line, or lines alone."""
    lines = [json.dumps(task, ensure_ascii=False, allow_nan=False) for task in tasks]
    text = "\n".join(lines) if TOOLS[tool][1] == ".jsonl" else "[\n" + ",\n".join(lines) + "\n]"
    return f"{text}\n".encode(errors="backslashreplace")  # half of a surrogate pair becomes JSON's own escape
