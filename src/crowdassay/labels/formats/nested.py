"""Objects in JSON that hold the judgements of an item: a list of them, one list of workers and one of labels, or a map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

import pyarrow as pa

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import BETWEEN_PARTS, join_cells
from crowdassay.labels.columns import split_names
from crowdassay.labels.contents import is_id, words_of
from crowdassay.labels.formats.foreign import PLAIN_TABLE
from crowdassay.labels.formats.numbered import WORKER_FILES, add_things, if_items, labels_of_things, numbered_things
from crowdassay.labels.formats.parse import as_list, as_name, objects
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.formats.unnamed import (
    is_called,
    judged_by_class,
    left_beside,
    lists_by_class,
    places_in_lists,
    questions_in,
    said_of_lists,
    worker_key,
    workers_by_class,
)
from crowdassay.labels.formats.wide_columns import are_classes
from crowdassay.labels.formats.wide_items import numbered_rows
from crowdassay.labels.jsontext import only_list
from crowdassay.labels.probe import OUTER_KEY, Probe
from crowdassay.labels.roles import NUMBERED_WORKER, RATERS, ROLES, plain_name
from crowdassay.labels.values import listed, mapping, shown, shown_file
from crowdassay.read_options import ReadOptions, join_names

# What lists of tokens are called, which have tags beside them.
TOKENS = frozenset({"text", "sentence", "document", "utterance"})
BESIDE_ITEMS = "judgement beside an item"  # the key under which what stood in parallel lists is put together
DEEPEST = 6  # objects within objects that are looked at


def recognise(probe: Probe) -> bool:
    """Return whether the first object, or the first of an object of objects, holds judgements with their workers."""
    if _is_table(only_list(probe.first)) and len(list(islice(probe.records(), 2))) == 1:
        return False
    first = [record for _, record in _within(mapping(probe.first))]
    told = any(_where(record) is not None for record in first)
    return told or (any(map(lists_by_class, first)) and bool(_all_within(probe)[1][0]))


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read every judgement of every item."""
    told = wanted.format == "nested"
    pairs, (by, notes) = _all_within(probe, told=told)
    items = _item(pairs, wanted, probe)
    item = join_names(items) or "row"
    names = _names(pairs, items)
    where = next(filter(None, (_where(record, told=told) for _, record in pairs)), None)
    records = [record for _, record in pairs]
    things, asked = labels_of_things(records, wanted.question) if told and where is None else ([], [])
    places = places_in_lists(records, probe.shown) if told and where is None and not things else None
    rows = Annotations(item, *((f"place in {places[0]}",) if places else _told(pairs, where)))
    if not items:
        rows.note(numbered_rows(_different(pairs)))
    if wanted.item_column is not None and (finer := _together(pairs)) and len(set(map(as_name, names))) < len(pairs):
        rows.note(f"Some records have the same {item}; each is told apart with --item-column {shown_file(join_names(finer))}.")
    rows.columns["worker"] = by or rows.columns["worker"]
    rows.notes += notes
    if places:
        rows.note(f"{shown(places[0])} names nobody: the first of every list was taken for worker 1, the second for worker 2.")
    if things:
        add_things(rows, [*zip(names, records, things, strict=True)], asked)
        if not (rows.has_workers() or wanted.worker_from_filename):
            raise ColumnError(f"Nobody is named in {probe.shown}; {WORKER_FILES}.")
        return rows
    for number, (name, record) in enumerate(zip(names, records, strict=True)):
        rows.add_text(name, record.get("text"))
        said = enumerate(places[1][number], 1) if places else _judgements(record, wanted.question, told=told)
        for worker, answers in said:
            rows.add(name, str(worker) if places else worker, answers)
    return rows


def _told(pairs: Sequence[tuple[str | None, Mapping[str, Any]]], where: tuple[str, ...] | None) -> tuple[str, str]:
    """Return what names the worker and what the label, an asterisk for the question, where judgements are at some keys.

    >>> _told([(None, {"votes": [{"rater": "ann", "score": 3}]})], ("votes",))
    ('rater', '*')
    >>> _told([("i1", {"votes": {"ann": 3}})], ("votes",))
    ('votes (keys)', '* (values)')
    """
    inside = [record.get(where[0]) for _, record in pairs] if where else []
    if any(isinstance(value, dict) for value in inside):
        return f"{(where or ())[0]} (keys)", "* (values)"
    named = (who for value in inside for judgement in objects(value) if (who := worker_key(judgement)) is not None)
    return next(named, (where or (OUTER_KEY,))[0]), "*"


def _all_within(
    probe: Probe, *, told: bool = False
) -> tuple[list[tuple[str | None, Mapping[str, Any]]], tuple[str, list[str]]]:
    """Return all that `_within` yields, and where lists by class tell workers, and notes: each judgement is written out there.

    Of lists of objects for each class only the user can say that they are (``told``).
    """
    pairs = [pair for outer in probe.records() for pair in _within(outer)]
    records = [record for _, record in pairs]
    if any(_where(record) is not None for record in records):
        return pairs, ("", [])
    classes, again = workers_by_class(records)
    who = ""
    if classes:
        more = f" {listed(again)} list some of these again and were left out." if again else ""
        notes = [f"Each class has a list of its workers: {listed(classes.values())}.{more}"]
    elif told and (found := judged_by_class(records))[0]:
        classes, who = found
        notes = [f"Each class has a list of objects with its {who}: {listed(classes)}.", *left_beside(records, classes, who)]
    else:
        return pairs, ("", [])
    for number, (key, record) in enumerate(pairs):
        said = [(one[who] if who else one, label) for label, name in classes.items() for one in as_list(record.get(name))]
        pairs[number] = key, {**record, "judgements": [{"worker": one, "label": label} for one, label in said]}
    return pairs, (who or f"{next(iter(classes.values()))}...", notes)


def _names(pairs: Sequence[tuple[str | None, Mapping[str, Any]]], items: Sequence[str]) -> list[Any]:
    """Return the item of every object: what its keys tell together, or its number."""
    if not items:
        return list(map(str, range(len(pairs))))
    cells = [[key if name == OUTER_KEY and key is not None else record.get(name) for key, record in pairs] for name in items]
    return (
        cells[0]
        if len(cells) == 1
        else join_cells([pa.array(map(as_name, column), pa.string()) for column in cells]).to_pylist()
    )


def said_of_places(probe: Probe) -> tuple[str, str] | None:
    """Return what labels in lists or numbered objects lack in JSON, and what to do; None where there are no such labels."""
    pairs, _ = _all_within(probe)
    records = [record for _, record in pairs]
    way = "--from nested"
    try:
        _item(pairs, ReadOptions(), probe)
    except ColumnError:
        way = f"{way} --item-column {shown_file(join_names(_together(pairs)))}" if _together(pairs) else way
    classes, who = judged_by_class(records)
    if classes:
        what = f"{listed(classes)} list objects with {shown(who)}"
        return what, f"if these keys are classes and {shown(who)} is who chose them, say {way}; otherwise give {PLAIN_TABLE}"
    things, asked = labels_of_things(records, None)
    if things and all(things):
        what = f"{listed(things[0])} each hold {listed(asked)}"
        return what, f"{if_items('these', way)}; otherwise give {PLAIN_TABLE}"
    return said_of_lists(records, way)


def proposal_objects(probe: Probe) -> str | None:
    """Return the option by which names inside every object are workers, tried on all; None if that would be a misreading."""
    try:
        pairs = [pair for outer in probe.records() for pair in _within(outer)]
    except DataError:
        return None
    said = [[*_judgements(record, None, told=True)] for _, record in pairs]
    cells = [str(choice) for given in said for _, answers in given for choices in answers.values() for choice in choices]
    return "--from nested" if said and all(said) and are_classes(cells) else None


def _within(outer: Mapping[str, Any]) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield an object by itself, or the objects that it holds, with their keys, where it holds nothing else.

    >>> list(_within({"annotator": "ann", "date": "today", "votes": {"i1": "a"}}))
    [('i1', {'judgements': [{'annotator': 'ann', 'label': 'a'}]})]
    """
    lists = [value for value in outer.values() if isinstance(value, list)]
    maps = [value for name, value in outer.items() if isinstance(value, dict) and is_called(name, "label", "s")]
    item = any(ROLES["item"].is_named(name) for name in outer)  # of which the map's names are questions
    if (found := _beside_items(outer)) is not None:
        yield from _said_in_lists(outer, *found)
    elif (who := worker_key(outer)) is not None and len(maps) == 1 and not item:  # all that one worker said, by item
        for item, said in maps[0].items():
            only = next(iter(said.values())) if isinstance(said, dict) and len(said) == 1 else said
            yield item, {"judgements": [{who: outer[who], **(only if isinstance(only, dict) else {"label": only})}]}
    elif outer and all(isinstance(value, dict) for value in outer.values()):
        yield from outer.items()
    elif _where(outer) is None and len(lists) == 1 and any(map(_where, objects(lists[0]))):  # with facts about the whole
        yield from ((None, record) for record in objects(lists[0]))
    elif any(map(numbered_things, only_list(outer))):
        yield from ((None, {**({who: outer[who]} if who else {}), **record}) for record in only_list(outer))
    elif deep := list(_deep(outer)) if _where(outer) is None else []:
        yield from deep
    else:
        yield None, outer


def _beside_items(outer: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, list[str]] | None:
    """Return the one object in a worker's record that lists items, the key of its list, and those of the lists of their labels.

    >>> _beside_items({"worker": "ann", "data": {"filename": ["a.wav", "b.wav"], "rating": [3, 1], "age": ["31"]}})[1:]
    ('filename', ['rating'])
    >>> _beside_items({"worker": "ann", "data": {"filename": ["a.wav", "b.wav"], "rating": [3]}})
    """
    found = []
    for _, inner in _inside(outer) if worker_key(outer) is not None else ():
        lists = {name: value for name, value in inner.items() if isinstance(value, list) and len(value) > 1}
        plain = [name for name, value in lists.items() if not any(isinstance(one, list | dict) for one in value)]
        for item in ROLES["item"].best([name for name in plain if plain_name(name) not in TOKENS]):
            labels = questions_in([{name: None for name in plain if len(lists[name]) == len(lists[item])}], None)
            found += [(inner, item, [name for name in labels if name != item])]
    return found[0] if len(found) == 1 and found[0][2] else None


def _said_in_lists(
    outer: Mapping[str, Any], inner: Mapping[str, Any], item: str, labels: Sequence[str]
) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield a record for each entry of parallel lists, with what the object that holds them says once for all."""
    who = str(worker_key(outer))
    facts = {name: value for name, value in inner.items() if not isinstance(value, list | dict) and name != who}
    for n, cell in enumerate(inner[item]):
        yield None, {**facts, item: cell, BESIDE_ITEMS: [{who: outer[who], **{label: inner[label][n] for label in labels}}]}


def _deep(outer: Mapping[str, Any]) -> Iterator[tuple[str | None, Mapping[str, Any]]]:
    """Yield the objects deep in a record with an id that list judgements with their workers, with the keys that lead to each.

    >>> list(_deep({"id": 7, "asked": {"0": {"gpt": {"reviews": [{"rater": "ann", "rating": 3}]}}}}))
    [('7 | 0 | gpt', {'reviews': [{'rater': 'ann', 'rating': 3}]})]
    """
    plain = [name for name, value in outer.items() if not isinstance(value, list | dict)]
    ids = [name for name in plain if is_id(name)] or ROLES["item"].best(plain)
    if not ids:
        return
    found = [
        (path, inner)
        for path, inner in _inside(outer)
        if path and (where := _where(inner)) and isinstance(inner[where[0]], list)
    ]
    first = len({path[0] for path, _ in found}) == 1 and all(len(path) > 1 for path, _ in found)  # which says nothing
    for path, inner in found:
        yield BETWEEN_PARTS.join(map(str, (outer[ids[0]], *path[first:]))), inner


def _inside(record: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield an object and the objects in it, each with the keys that lead to it.

    >>> list(_inside({"a": {"b": {}}}))
    [((), {'a': {'b': {}}}), (('a',), {'b': {}}), (('a', 'b'), {})]
    """
    yield path, record
    for name, value in record.items():
        if isinstance(value, dict) and len(path) < DEEPEST:
            yield from _inside(value, (*path, name))


def _where(record: Mapping[str, Any], *, told: bool = False) -> tuple[str, ...] | None:
    """Return the key of the list or map of judgements, or the keys of the lists of workers and labels; None if there are none.

    Of a map only the user can say that its names are workers (``told``), unless they say so themselves.

    >>> _where({"id": 1, "votes": [{"rater": "ann", "score": 3}]})
    ('votes',)
    >>> _where({"annotators": "Ann1,Ann2", "annotations": "0,1"})
    ('annotators', 'annotations')
    >>> _where({"id": 1, "votes": {"annotator1": "a", "annotator2": "b"}}), _where({"id": 1, "votes": {"tone": "a"}})
    (('votes',), None)
    >>> _where({"annotators": "ann,bob", "annotations": {"ann": "-4", "bob": "3"}})
    ('annotations',)
    >>> _where({"study": 1, "labels": [{"item": "a", "rater": "ann", "score": 3}, {"item": "b", "rater": "ann", "score": 2}]})
    """
    for name, value in record.items():
        inside = objects(value)
        if inside and worker_key(inside[0]) and questions_in(inside, None) and not _name_items(inside):
            return (name,)
    ids = {f"{word}ids" for word in ("worker", *RATERS)}
    workers = [name for name in record if is_called(name, "worker", "s")] or [
        name for name in record if plain_name(name) in ids
    ]
    labels = [name for name in record if is_called(name, "label", "s")]
    who = {str(worker) for name in workers for worker in _parts(record[name]) if not isinstance(worker, dict | list)}
    for name, value in record.items():
        named = is_called(name, "worker", "s") or (name in labels and told)
        if _gives_labels(value) and (
            named or all(map(NUMBERED_WORKER.fullmatch, value)) or (name in labels and who.issuperset(value))
        ):
            return (name,)
    if len(workers) == len(labels) == 1 and (given := _parts(record[workers[0]])) and not isinstance(given[0], dict | list):
        return (workers[0], labels[0]) if len(given) == len(_parts(record[labels[0]])) else None
    if len(workers) == 1 and not labels and (given := as_list(record[workers[0]])) and not isinstance(given[0], dict | list):
        return (workers[0], *asked) if (asked := _label_lists(record, len(given))) else None
    return None


def _label_lists(record: Mapping[str, Any], size: int) -> list[str]:
    """Return the keys of lists of so many labels, one for each question.

    >>> _label_lists({"labels_task1": ["a", "b"], "labels_task2": ["x", "y"], "ages": [31, 45], "labels_all": ["a"]}, 2)
    ['labels_task1', 'labels_task2']
    """
    lists = [name for name, value in record.items() if isinstance(value, list) and len(value) == size]
    return [name for name in lists if any(is_called(word, "label", "s") for word in words_of(name))]


def _name_items(inside: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether judgements name items of their own, so that they are a table of labels and what holds them no item."""
    names = (name for name in inside[0] if ROLES["item"].is_named(name))
    return any(len({str(judgement.get(name)) for judgement in inside}) > 1 for name in names)


def _is_table(records: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether workers come again and again in a list, so that it is no list of what they said of one item."""
    workers = [as_name(record[who]) for record in records if (who := worker_key(record)) is not None]
    return bool(workers) and 2 * len(set(workers)) <= len(workers)


def _gives_labels(value: Any) -> bool:
    """Return whether a value is a map from names to labels: plain values, or lists of such.

    >>> _gives_labels({"ann": "a", "bob": ["a", "b"]}), _gives_labels({"ann": {"tone": "a"}}), _gives_labels({})
    (True, False, False)
    """
    given = [one for label in mapping(value).values() for one in as_list(label)]
    return bool(mapping(value)) and not any(isinstance(one, list | dict) for one in given)


def _judgements(record: Mapping[str, Any], question: str | None, *, told: bool) -> Iterator[tuple[Any, dict[str, list[Any]]]]:
    where = _where(record, told=told)
    if where is not None and isinstance(record[where[0]], dict):
        first = record[where[0]]
        alike = [name for name, value in record.items() if isinstance(value, dict) and first.keys() == value.keys()]
        asked = [name for name in alike if name == where[0] or _gives_labels(record[name])]  # by the same workers
        for worker in first:
            yield worker, {name: as_list(record[name][worker]) for name in asked}
    elif where is not None and len(where) == 1:
        inside = objects(record[where[0]])
        asked = questions_in(inside, question)
        for judgement in inside:
            worker = worker_key(judgement)
            yield (judgement[worker] if worker else None), {name: as_list(judgement.get(name)) for name in asked}
    elif where is not None:
        workers, *labels = (_parts(record[name]) for name in where)
        for worker, *given in zip(workers, *labels, strict=True):
            yield worker, {name: as_list(label) for name, label in zip(where[1:], given, strict=True)}


def _parts(value: Any) -> list[Any]:
    """Return a list, or what commas separate.

    >>> _parts("0,1"), _parts(["a"]), _parts(None)
    (['0', '1'], ['a'], [])
    """
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else as_list(value)


def _item(pairs: Sequence[tuple[str | None, Mapping[str, Any]]], wanted: ReadOptions, probe: Probe) -> list[str]:
    """Return the keys that name the item; none where nothing is called like one, so that every object is an item."""
    keys = list(dict.fromkeys(key for _, record in pairs for key in record))
    if wanted.item_column is not None:
        asked = split_names(wanted.item_column, keys)
        if lacking := [name for name in asked if name not in keys and name != OUTER_KEY]:
            raise ColumnError(f"{probe.shown} has no key {shown(lacking[0])} for the item, only {listed(keys)}.")
        return asked
    if pairs and pairs[0][0] is not None:
        return [OUTER_KEY]
    if (found := _beside_items(mapping(probe.first))) is not None:
        return [_only_item(pairs, found[1], probe)]
    # Every object is an item of its own, so that only what is different in all of them can tell items.
    every = _different(pairs)
    ids = [key for key in every if key.lower().endswith("id")]
    if named := ids[:1] or ROLES["item"].best(every):
        return named[:1]
    if not probe.alone or ROLES["item"].best(keys) or any(map(is_id, keys)):  # which come again, or in another file
        if len(parts := _together(pairs)) > 1:
            raise ColumnError(
                f"None of the keys {listed(keys)} of {probe.shown} tells items apart alone; {listed(parts)} together do: say "
                f"--item-column {shown_file(join_names(parts))}."
            )
        raise ColumnError(
            f"Nothing among the keys {listed(keys)} of {probe.shown} tells items apart; name one with --item-column."
        )
    return []


def _only_item(pairs: Sequence[tuple[str | None, Mapping[str, Any]]], item: str, probe: Probe) -> str:
    """Return the key of lists of items; raise `ColumnError` where what was asked of them may differ from worker to worker."""
    own = {item, BESIDE_ITEMS}
    facts = {key: {as_name(record.get(key)) for _, record in pairs} for _, record in pairs for key in record if key not in own}
    clocks = [*ROLES["time"].spellings, *ROLES["duration"].spellings]
    people = len({as_name(next(iter(record[BESIDE_ITEMS][0].values()))) for _, record in pairs if BESIDE_ITEMS in record})
    may = [key for key, cells in facts.items() if not is_id(key) and plain_name(key) not in clocks]
    may = [key for key in may if (people == 1 and not probe.alone) or 1 < len(facts[key]) < people]
    if may:
        raise ColumnError(
            f"Items in {probe.shown} are told by {shown(item)}; if what was asked of them depends on {shown(may[0])} too, say "
            f"--item-column {shown_file(join_names([item, may[0]]))}, otherwise --item-column {shown_file(item)}"
            f"{f' (the same holds of {listed(may[1:])})' if may[1:] else ''}."
        )
    return item


def _together(pairs: Sequence[tuple[str | None, Mapping[str, Any]]]) -> list[str]:
    """Return the ids, or ids and names, that are different in every object together; none where none are.

    >>> _together([(None, {"id": 1, "model": "a", "n": 3}), (None, {"id": 1, "model": "b"}), (None, {"id": 2, "model": "b"})])
    ['id', 'model']
    """
    keys = dict.fromkeys(key for _, record in pairs for key in record)
    plain = [key for key in keys if not any(isinstance(one.get(key), dict | list) for _, one in pairs)]
    named = [key for key in plain if is_id(key) or any(ROLES[role].best([key]) for role in ("item", "worker"))]
    for parts in (parts for size in (1, 2, 3) for parts in combinations(named, size)):
        if len({tuple(map(as_name, map(one.get, parts))) for _, one in pairs}) == len(pairs):
            return list(parts)
    return []


def _different(pairs: Sequence[tuple[str | None, Mapping[str, Any]]]) -> list[str]:
    """Return the keys whose values are different in every object."""
    keys = list(dict.fromkeys(key for _, record in pairs for key in record))
    single = {key: {cell for _, one in pairs if not isinstance(cell := one.get(key), dict | list)} for key in keys}
    return [key for key, values in single.items() if len(values - {None}) == len(pairs)]
