"""What the records and rows of exports hold: names, choices, nested answers, and the columns of tables."""

from __future__ import annotations

import ast
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from crowdassay.errors import DataError
from crowdassay.labels.columns import check_given
from crowdassay.labels.jsontext import EXACT_DECODER
from crowdassay.labels.probe import Probe
from crowdassay.labels.source import open_columns
from crowdassay.labels.values import mapping, text_of

if TYPE_CHECKING:
    from crowdassay.labels.formats.record import Annotations

LEAST_ITEMS = 10  # from which on data of items differ from labels by how many values they have
NEARLY_ALL = 0.9  # part of the items that have a value of their own
SPANS = "spans, not classes"  # why an annotation of parts of an item is left out
CHOICE_KEYS = ("label", "labels")  # what Amazon's form elements call the choice


def as_name(value: Any) -> str | None:
    """Write an id or label as text; None for what is missing.

    >>> as_name(7), as_name(True), as_name(["a"]), as_name(None)
    ('7', 'true', '["a"]', None)
    """
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, list | dict) else text_of(value)


def file_stem(name: str) -> str:
    """Return a file's name without folder and extension, as files are named after workers.

    >>> file_stem("export/ann.b.json.gz")
    'ann.b'
    """
    return PurePosixPath(name).name.removesuffix(".gz").rsplit(".", 1)[0]


def as_list(value: Any) -> list[Any]:
    """Return what was chosen as a list: a list as it is, nothing as an empty one."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; none if it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def is_map(value: Any) -> bool:
    """Return whether a JSON value is an object of objects that hold nothing but values.

    >>> is_map({"i1": {"ann": "a"}, "i2": {}}), is_map({"i1": {"votes": []}}), is_map({"i1": {}}), is_map([])
    (True, False, False, False)
    """
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(row, dict) for row in value.values())
        and any(value.values())
        and not any(isinstance(cell, list | dict) for row in value.values() for cell in row.values())
    )


def first_of(record: Mapping[str, Any], names: Sequence[str], *, blank: bool = True) -> Any:
    """Return the first of some fields that is there, as tools spell names differently from version to version.

    An empty text counts only if ``blank``.

    >>> first_of({"traceId": "", "trace_id": 7}, ("traceId", "trace_id"), blank=False), first_of({}, ("id",))
    (7, None)
    """
    given = (record[name] for name in names if record.get(name) is not None)
    return next((value for value in given if blank or value != ""), None)


def first_record(probe: Probe, inside: str) -> dict[str, Any]:
    """Return the first record, which may be in a list inside of the first one, as interfaces give pages."""
    return next(iter(objects(mapping(probe.first).get(inside))), mapping(probe.first))


def field_of(record: Mapping[str, Any], field: str, inside: str) -> Any:
    """Return a field of a record, or of the object inside it that holds what a user gave.

    >>> field_of({"id": 1, "meta": {"url": "a"}}, "url", "meta"), field_of({"id": 1}, "id", "meta")
    ('a', 1)
    """
    return record.get(field, mapping(record.get(inside)).get(field.removeprefix(f"{inside}.")))


def verdict(passed: Any) -> list[str]:
    """Return what a check says as a choice: pass, fail, or none where it did not run."""
    return [] if passed is None else ["pass" if passed else "fail"]


def answers_in(content: Any, name: str = "") -> dict[str, list[Any]]:
    """Flatten what a form submitted.

    A choice is a value, ``{"label": value}``, ``{"labels": [values]}`` or ``{"value": true, "other": false}``.

    >>> answers_in({"tone": {"label": "warm"}, "topic": {"cats": True, "dogs": False}, "sure": "yes"})
    {'tone': ['warm'], 'topic': ['cats'], 'sure': ['yes']}

    A check box by itself is a question that was answered either way.

    >>> answers_in({"rude": True, "spam": False, "adult": {"on": False}})
    {'rude': [True], 'spam': [False], 'adult': [False]}
    """
    if isinstance(content, Mapping):
        if name and set(content) == {"on"}:
            return answers_in(content["on"], name)
        if name and content and all(isinstance(value, bool) for value in content.values()):
            return {name: [key for key, chosen in content.items() if chosen]}
        answers: dict[str, list[Any]] = {}
        for key, value in content.items():
            inner = name if name and key in CHOICE_KEYS else f"{name}.{key}" if name else str(key)
            answers.update(answers_in(value, inner))
        return answers
    if any(isinstance(value, Mapping) for value in as_list(content)):
        return {key: value for part in content for key, value in answers_in(part, name).items()}
    return {name: as_list(content)}


def parsed(text: Any) -> Any:
    """Return the JSON value a text holds, or an object or a list of such as Python writes it into a table, or the text itself.

    >>> parsed('{"type": "app"}'), parsed("{'type': 'app', 'by': None}"), parsed("{'type'")
    ({'type': 'app'}, {'type': 'app', 'by': None}, "{'type'")
    >>> parsed("{'a', 'b'}"), parsed("{'by': {1, 2}}")
    ("{'a', 'b'}", "{'by': {1, 2}}")
    >>> parsed("[{'answer': 'dime store'}]"), parsed("['a']")
    ([{'answer': 'dime store'}], "['a']")
    """
    if not isinstance(text, str) or text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return EXACT_DECODER.decode(text.strip())
    except (json.JSONDecodeError, RecursionError):
        if not text.startswith(("{'", "[{'")):
            return text
    try:
        value = ast.literal_eval(text)
        json.dumps(value)  # which refuses sets, bytes and whatever else JSON cannot hold
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return value


def read_table(
    probe: Probe, rows: Annotations, needed: Sequence[str], more: Sequence[str] = (), inside: str = ""
) -> list[dict[str, Any]]:
    """Read the rows of a table, as text by column, of which no other is read; or the same in JSON, whole objects.

    Rows may end early, once they have reached the columns that are needed; blank lines are no rows.

    Parameters
    ----------
    probe : Probe
    rows : Annotations
        Where it is noted what the file's rows lack.
    needed : sequence of str
        Columns that are there.
    more : sequence of str
        Columns to read as well where they are there.
    inside : str
        The key of the list that holds them, in JSON that comes in pages.
    """
    if probe.kind != "delimited":
        pages = ((record, record.get(inside)) for record in probe.records())
        return [one for record, page in pages for one in (objects(page) if isinstance(page, list) else [record])]
    source = open_columns(probe, list(dict.fromkeys([*needed, *(name for name in more if name in probe.header)])), needed)
    table = source.read()
    if not table.num_rows:
        raise DataError(f"No labels found: {probe.shown} holds a header only.")
    if source.lenient is not None and source.lenient.short:
        rows.tallies["Some rows end before the last column ({}); what they lack is empty.", "row"] += source.lenient.short
    if source.lenient is not None and source.lenient.windows:
        rows.tallies["Some cells are not UTF-8 and were read as Windows-1252: {}.", "cell"] += source.lenient.windows
    return [row for row in table.to_pylist() if any(map(is_filled, row.values()))]


def item_column(probe: Probe, wanted: str | None, prefix: str, otherwise: str) -> str:
    """Return the column that names the item: the one asked for, the only one with the prefix, or the tool's id."""
    if wanted is not None:
        for name in (wanted, prefix + wanted):
            if name in probe.header:
                return name
        check_given("item", wanted, probe.header)
    inputs = [name for name in probe.header if prefix and name.startswith(prefix)]
    return inputs[0] if len(inputs) == 1 else otherwise


def varying(rows: Sequence[Mapping[str, Any]], item: str, names: Sequence[str], *, blank: bool) -> list[str]:
    """Return the names of answers: only these differ between the annotations of one item, and its data never do.

    ``blank`` is whether an empty cell differs from a filled one.

    >>> rows = [{"id": "1", "text": "t", "tone": "warm"}, {"id": "1", "text": "t", "tone": "cold"}]
    >>> varying(rows, "id", ["text", "tone"], blank=False)
    ['tone']
    """
    found: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for row in rows:
        for name in names:
            cell = (as_name(row.get(name)) or "").strip()
            if cell or blank:
                found[name, as_name(row.get(item))].add(cell)
    differ = {name for (name, _), cells in found.items() if len(cells) > 1}
    return [name for name in names if name in differ]


def only_of_few(rows: Sequence[Mapping[str, Any]], item: str, names: Sequence[str]) -> str | None:
    """Return the one name of few values where all others have another value for nearly every item; None where none is.

    Most items must have several rows: what people said of one alone may be as different as what it shows.

    >>> rows = [{"id": n // 2, "image": f"{n // 2}.jpg", "tone": "ab"[n // 2 % 2]} for n in range(20)]
    >>> only_of_few(rows, "id", ["image", "tone"]), only_of_few(rows[::2], "id", ["image", "tone"])
    ('tone', None)
    """
    times = Counter(as_name(row.get(item)) for row in rows)
    shared = sum(count > 1 for count in times.values())
    if len(times) < LEAST_ITEMS or 2 * shared < len(times):
        return None
    by_item = {name: {as_name(row.get(item)): as_name(row.get(name)) for row in rows if row.get(name)} for name in names}
    few = [name for name, cells in by_item.items() if 1 < len(set(cells.values())) <= len(cells) / 2]
    own = [name for name, cells in by_item.items() if len(set(cells.values())) >= NEARLY_ALL * len(times)]
    return few[0] if len(few) == 1 and len(few) + len(own) == len(names) else None


def is_filled(cell: str | None) -> bool:
    """Return whether a cell holds more than blanks."""
    return bool(cell and cell.strip())
