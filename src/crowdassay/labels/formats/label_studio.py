"""Label Studio: its exports, which questions a project asks, and a label written as an answer to one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any, NamedTuple

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.choices import JOINED
from crowdassay.labels.formats.parse import (
    SPANS,
    as_list,
    as_name,
    file_stem,
    objects,
    only_of_few,
    parsed,
    read_table,
    varying,
)
from crowdassay.labels.formats.record import BETWEEN, Annotations, choose_question
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping, number_of, shown
from crowdassay.read_options import ReadOptions

# Kinds of answer that can be classes; text only when asked for.
CHOICE_KINDS = ("choices", "rating", "number", "taxonomy", "selected")
REGION_KEYS = frozenset({"start", "end", "x", "y", "points", "brushDataURL"})  # an answer about a part of the item
MIN_COLUMNS = ("annotator", "annotation_id", "lead_time")  # always there in JSON_MIN, CSV and TSV
SHOWN_DATA = ("text", "image", "url", "audio", "video")  # data that people see
OWN_COLUMNS = frozenset({*MIN_COLUMNS, "id", "created_at", "updated_at", "agreement", "history"})
TAG_TYPES = {"selected": "pairwise"}  # control tags whose type is not called as what their values hold
TAG_VALUES = {TAG_TYPES.get(kind, kind): kind for kind in CHOICE_KINDS}  # by the tag's name in lower case


def recognise(probe: Probe) -> bool:
    """Return whether tasks hold annotations, or rows Label Studio's own columns."""
    if probe.has(*MIN_COLUMNS):
        return True
    if not isinstance(probe.first, dict) or not all(name.endswith(".json") for name in probe.names):
        return False
    first = next(tasks_in(probe.first), {})
    tasks = "data" in first and any(isinstance(first.get(name), list) for name in ("annotations", "completions"))
    return tasks or (probe.has("result", "completed_by") and isinstance(probe.first.get("task"), dict))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all control tags; skipped annotations and drafts are left out."""
    if probe.has(*MIN_COLUMNS):
        return _read_small(probe, wanted)
    by_file = wanted.worker_from_filename  # everybody is number 1 where each has a Label Studio of their own
    rows = no_annotations(wanted)
    for name, record in ((name, task) for name, outer in probe.named_records() for task in tasks_in(outer)):
        task, annotations = record, record.get("annotations", record.get("completions"))
        if annotations is None and isinstance(record.get("task"), dict):  # one annotation per file, its task inside
            task, annotations = record["task"], [record]
        add_task(rows, task, objects(annotations), wanted, file_stem(name) if by_file else None)
        rows.drop("draft", len(objects(task.get("drafts"))))
        for prediction in objects(task.get("predictions")):
            answers = _answers(prediction, wanted.question)
            rows.add_prediction(item_of(task, wanted.item_column), prediction.get("model_version"), answers)
    return rows


def no_annotations(wanted: ReadOptions) -> Annotations:
    """Return where annotations are gathered, with the names of what tells items, workers and labels."""
    worker = "file name" if wanted.worker_from_filename else "completed_by"
    return Annotations(wanted.item_column or "id", worker)


def add_task(
    rows: Annotations, task: dict[str, Any], annotations: list[dict[str, Any]], wanted: ReadOptions, worker: str | None = None
) -> None:
    """Add what people said of a task, be it from an export or from a webhook; ``worker`` where the file tells who it was."""
    item, shows = item_of(task, wanted.item_column), mapping(task.get("data"))
    rows.add_text(item, next((shows[name] for name in SHOWN_DATA if name in shows), None))
    for annotation in annotations:
        if annotation.get("was_cancelled") or annotation.get("skipped"):
            rows.drop("skipped")
            continue
        answers = _answers(annotation, wanted.question)
        if not answers and any(_is_of_part(entry.get("value")) for entry in objects(annotation.get("result"))):
            rows.drop(SPANS)
            continue
        told = annotator_of(annotation.get("completed_by", annotation.get("created_username"))) if worker is None else worker
        rows.add(item, told, answers, annotation.get("created_at"), annotation.get("lead_time"))
        if annotation.get("ground_truth"):
            rows.add_gold(item, answers)


def tasks_in(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a task as it is, or the tasks of a project or of several.

    >>> list(tasks_in({"projects": [{"tasks": [{"id": 1}, {"id": 2}]}]}))
    [{'id': 1}, {'id': 2}]
    """
    inside = objects(record.get("projects")) or objects(record.get("tasks"))
    if not inside:
        yield record
    for one in inside:
        yield from tasks_in(one)


def choices(value: Any) -> list[Any]:
    """List what an answer's value holds, whichever kind of control tag it comes from.

    >>> choices({"choices": ["a", "b"]}), choices({"taxonomy": [["animal", "cat"]]}), choices("a")
    (['a', 'b'], ['animal / cat'], ['a'])
    >>> choices([{"start": 3, "end": 9, "text": "a word", "labels": ["NOUN"]}])
    []
    """
    if isinstance(value, list):
        return [choice for part in value for choice in choices(part)]
    if not isinstance(value, dict):
        return as_list(value)
    if _is_of_part(value):
        return []
    for kind in (*CHOICE_KINDS, "text"):
        if kind in value:
            paths = kind == "taxonomy"
            return [BETWEEN.join(map(str, one)) if paths and isinstance(one, list) else one for one in as_list(value[kind])]
    return []


def _answers(annotation: dict[str, Any], question: str | None) -> dict[str, list[Any]]:
    answers: dict[str, list[Any]] = {}
    for entry in class_entries(annotation, question):
        answers.setdefault(str(entry.get("from_name")), []).extend(choices(entry["value"]))
    return answers


def class_entries(annotation: dict[str, Any], question: str | None) -> Iterator[dict[str, Any]]:
    """Yield the entries of a result that may be classes of the whole item: of every kind of choice, of text if asked for."""
    for entry in objects(annotation.get("result")):
        value = entry.get("value")
        if not isinstance(value, dict) or _is_of_part(value):
            continue
        if any(kind in value for kind in CHOICE_KINDS) or ("text" in value and str(entry.get("from_name")) == question):
            yield entry


def _is_of_part(value: Any) -> bool:
    """Return whether the value of an answer is about a part of the item, such as a span."""
    return not REGION_KEYS.isdisjoint(mapping(value))


def annotator_of(completed_by: Any) -> Any:
    """Return who annotated: the email if it is there, else the id."""
    if isinstance(completed_by, dict):
        return completed_by.get("email") or completed_by.get("id")
    return completed_by


def item_of(task: dict[str, Any], field: str | None) -> Any:
    """Return what names the item of a task: a field of its data or its own, else its number, else what it shows."""
    data = mapping(task.get("data"))
    if field is not None:
        name = field.removeprefix("data.")
        return data[name] if name in data else task.get(name)
    if task.get("id") is not None:
        return task["id"]
    return next(iter(data.values())) if len(data) == 1 else data or None


def _read_small(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read JSON_MIN, CSV or TSV, which have a record for each annotation."""
    if wanted.predictions:
        raise DataError("CSV and JSON_MIN exports of Label Studio hold no predictions; export JSON for --predictions.")
    item, source = wanted.item_column or "id", probe.path.name
    by_file = wanted.worker_from_filename
    rows = Annotations(item, "file name" if by_file else "annotator")
    if probe.kind == "delimited" and item not in probe.header:
        raise ColumnError(f"There is no column {shown(item)} for the item in {probe.shown}; name one with --item-column.")
    names = [name for name in probe.header if name not in OWN_COLUMNS - {"created_at", "lead_time", "id"}]
    tasks = read_table(probe, rows, [item, "annotator"], names)
    keys = probe.header or list(dict.fromkeys(key for record in tasks for key in record))
    tags = [name for name in keys if name not in OWN_COLUMNS and name != item and not name.startswith("_data_")]
    if wanted.question is not None:
        tags = [choose_question(tags, wanted.question, source)]
    elif len(tags) > 1:
        few = only_of_few(tasks, item, tags)
        tags = varying(tasks, item, tags, blank=False) or ([few] if few else tags)
    for record in tasks:
        if as_name(record.get("annotator")) in {None, ""}:
            rows.drop("no annotation")
            continue
        given = {name: parsed(record.get(name)) for name in tags}
        answers = {name: choices(value) for name, value in given.items()}
        if not any(answers.values()) and any(_is_of_part(one) for value in given.values() for one in as_list(value)):
            rows.drop(SPANS)
            continue
        worker = file_stem(source) if by_file else annotator_of(record["annotator"])
        rows.add(record.get(item), worker, answers, record.get("created_at"), record.get("lead_time"))
    return rows


class Control(NamedTuple):
    """A control tag: its name, which is the question, the tag it is about, and what the values of its answers hold."""

    name: str
    to_name: str
    kind: str = "choices"

    def answer(self, label: str, *, several: bool = False) -> list[dict[str, Any]]:
        """Return a label as the result of an annotation, empty where this kind of tag cannot hold it.

        It is read back by `choices`; ``several`` says that it is a set of choices.

        >>> Control("tone", "text").answer("a|b", several=True)[0]["value"]
        {'choices': ['a', 'b']}
        >>> Control("stars", "text", "rating").answer("4")[0]["value"], Control("stars", "text", "rating").answer("many")
        ({'rating': 4}, [])
        """
        chosen: list[Any] = label.split(JOINED) if several else [label]
        value: Any = chosen
        if self.kind == "taxonomy":
            value = [path.split(BETWEEN) for path in chosen]
        elif self.kind == "selected":
            value = label
        elif self.kind in {"rating", "number"}:
            number = number_of(label)
            if number is None:
                return []
            value = int(number) if number.is_integer() else number
        kind = TAG_TYPES.get(self.kind, self.kind)
        return [{"from_name": self.name, "to_name": self.to_name, "type": kind, "value": {self.kind: value}}]


class _ConfigReader(HTMLParser):
    """Gathers the control tags of a labelling configuration; a parser of HTML expands no entities of its own making."""

    def __init__(self) -> None:
        super().__init__()
        self.controls: list[Control] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in TAG_VALUES and given.get("name") and given.get("perregion", "").lower() != "true":
            self.controls.append(Control(given["name"], given.get("toname", ""), TAG_VALUES[tag]))


def controls_of(config: str) -> list[Control]:
    """Return the control tags of a labelling configuration whose answers are classes of the whole item, in order.

    >>> controls_of('<View><Text name="t" value="$t"/><Choices name="tone" toName="t"><Choice value="warm"/></Choices></View>')
    [Control(name='tone', to_name='t', kind='choices')]
    """
    reader = _ConfigReader()
    with suppress(AssertionError):  # by which the parser gives up on a marked section that is none
        reader.feed(config.encode(errors="replace").decode())  # half of a surrogate pair could not be answered
        reader.close()
    return reader.controls


def find_control(config: str, question: str | None) -> Control:
    """Return the control tag of a question, or the only one there is, in a labelling configuration."""
    found = {one.name: one for one in controls_of(config)}
    if not found:
        raise ParameterError("The labelling configuration asks no question whose answers are classes of the whole task.")
    return found[choose_question(list(found), question, "label_config")]


def controls_in(tasks: Iterable[dict[str, Any]], question: str | None) -> list[Control]:
    """Return the control tags that the annotations and predictions of some tasks answer, in order, each once."""
    found: dict[str, Control] = {}
    for task in tasks:
        for said in (*objects(task.get("annotations")), *objects(task.get("completions")), *objects(task.get("predictions"))):
            for entry in class_entries(said, question):
                kind = next((kind for kind in CHOICE_KINDS if kind in entry["value"]), "text")
                name = str(entry.get("from_name"))
                found.setdefault(name, Control(name, str(entry.get("to_name") or ""), kind))
    return list(found.values())
