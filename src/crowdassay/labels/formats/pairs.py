"""Tables and JSON with a row for each item and a pair of columns for each judgement: Worker1, Answer1, Worker2, Answer2."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.contents import is_id, words_of
from crowdassay.labels.formats.not_workers import LEAST_ROWS_SHARED
from crowdassay.labels.formats.parse import is_filled, item_column, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.formats.wide import ROWS_SAMPLED, cells_of
from crowdassay.labels.formats.wide_columns import are_classes
from crowdassay.labels.formats.wide_items import INDEX_NAMES
from crowdassay.labels.jsontext import flat
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import are_numbers, listed, mapping
from crowdassay.read_options import ReadOptions

NAME_GAP = r"[\s_\-.]*"
# Of which the endings of columns consist that name a numbered worker: rater_1_user_id.
PERSON_WORDS = frozenset({"id", "name", "email", "code", "initials", "hash", "uuid", "key", "model", *ROLES["worker"].words})


def recognise(probe: Probe) -> bool:
    """Return whether numbered columns of workers stand beside columns of labels with the same numbers."""
    return len(_pairs_of(_with_header(probe))[0]) > 1


def _with_header(probe: Probe) -> Probe:
    """Return a table as it is, and records with the names of the first as their header, values inside objects among them."""
    first = flat(mapping(probe.first)) if probe.kind == "records" else {}
    return replace(probe, header=[name for name, cell in first.items() if not isinstance(cell, dict)]) if first else probe


def _rows_of(probe: Probe, limit: int | None = None) -> list[dict[str, str]]:
    """Return the rows of a table, or records laid out as one, by column; none where they make no table."""
    try:
        cells = cells_of(probe, limit=limit)
    except DataError:  # whoever reads the file says what is wrong
        return []
    names = probe.header if probe.kind == "delimited" else cells[0]
    return [dict(zip(names, map(str.strip, row), strict=True)) for row in cells[1:] if len(row) == len(names)]


def _pairs_of(probe: Probe) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the pairs of columns: beside columns called like labels, or beside any where those of workers hold names.

    Workers agree now and then; names of several workers in a row never do. The columns may also be those of one numbered
    worker: ``rater_1_name`` holds the name, and ``rater_1_tone`` what this one said.
    """
    workers, labels = _pairs(probe.header)
    if workers:
        return workers, labels
    others = _pairs(probe.header, named=False)
    named, answers = _by_person(probe.header) if not any(map(ROLES["worker"].is_named, probe.header)) else ({}, {})
    rows = _rows_of(probe, ROWS_SAMPLED) if others[0] or (named and answers) else []
    if others[0] and _are_names(rows, others[0].values()):
        return others
    who = next((columns for columns in named.values() if _are_names(rows, columns.values(), again=True)), {})
    asked = {end: columns for end, columns in answers.items() if columns.keys() == who.keys()}
    asked = {end: columns for end, columns in asked.items() if _are_answers(rows, who, columns)}
    return (who, asked) if asked else ({}, {})


def _are_names(rows: Sequence[Mapping[str, str]], columns: Collection[str], *, again: bool = False) -> bool:
    """Return whether columns hold names of workers: in no row one comes twice, and over all rows some do come ``again``."""
    given = [[row[name] for name in columns if row.get(name)] for row in rows]
    every = [cell for cells in given for cell in cells]
    apart = len(given) >= LEAST_ROWS_SHARED and all(len(set(cells)) == len(cells) for cells in given)
    return apart and any(len(cells) > 1 for cells in given) and not (again and len(set(every)) == len(every))


def _are_answers(rows: Sequence[Mapping[str, str]], workers: Mapping[str, str], columns: Mapping[str, str]) -> bool:
    """Return whether columns hold classes, or numbers under a label's name, and not what holds of a person, as an age does.

    >>> rows = [{"r1 id": w, "r1 age": age, "r1 tone": tone} for w, age in (("ann", "31"), ("bob", "45")) for tone in "ab"]
    >>> [_are_answers(rows, {"1": "r1 id"}, {"1": name}) for name in ("r1 age", "r1 tone")]
    [False, True]
    """
    named = [(workers[number], name) for number, name in columns.items()]
    given = [(row[who], row[name]) for row in rows for who, name in named if row.get(who) and row.get(name)]
    cells, people = [cell for _, cell in given], {who for who, _ in given}
    known = 2 * len(people) <= len(given) and len(set(given)) == len(people) and len(set(cells)) > 1
    rated = are_numbers(cells) and all(set(words_of(name)) & set(ROLES["label"].spellings) for name in columns.values())
    return bool(cells) and (are_classes(cells) or rated) and not known


def _by_person(header: Sequence[str]) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return by ending, and by number, the columns of numbered workers that name them, and those of all other endings.

    >>> _by_person(["id", "rater_1_user_id", "rater_1_tone", "rater_2_user_id", "rater_2_tone", "rater_1"])
    ({'user_id': {'1': 'rater_1_user_id', '2': 'rater_2_user_id'}}, {'tone': {'1': 'rater_1_tone', '2': 'rater_2_tone'}})
    """
    found: dict[str, dict[str, str]] = {}
    pattern = rf"(?:.*\.)?(?:{'|'.join(ROLES['worker'].words)}){NAME_GAP}(\d+)[\s_\-.]+(.+)"
    for name in header:
        if match := re.fullmatch(pattern, name, re.IGNORECASE):
            found.setdefault(match[2], {}).setdefault(match[1], name)
    several = {end: columns for end, columns in found.items() if len(columns) > 1}
    named = {end for end in several if words_of(end) and PERSON_WORDS.issuperset(words_of(end))}
    return {end: several[end] for end in several if end in named}, {end: several[end] for end in several if end not in named}


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read a judgement from each pair of columns that is filled."""
    probe = _with_header(probe)
    workers, labels = _pairs_of(probe)
    if not workers:
        raise DataError(
            f"{probe.shown} has no numbered workers beside what each said; name the columns, or the tool with --from."
        )
    named = [name for name in probe.header if ROLES["item"].is_named(name)]
    named += [name for name in probe.header if name.lower() in INDEX_NAMES]
    used = [*workers.values(), *(name for columns in labels.values() for name in columns.values())]
    if not named:
        some = _rows_of(probe, ROWS_SAMPLED)
        ids = [name for name in probe.header if is_id(name) and name not in used]
        named = [name for name in ids if len({row.get(name) for row in some}) == len(some)]
    if not named and wanted.item_column is None:
        raise ColumnError(f"No item column found among {listed(probe.header)} in {probe.shown}; name it with --item-column.")
    item = item_column(probe, wanted.item_column, "", named[0] if named else "")
    rows = Annotations(item, f"{next(iter(workers.values()))}...")
    for row in read_table(probe, rows, [item], used) if probe.kind == "delimited" else _rows_of(probe):
        for number, column in workers.items():
            given = {stem: columns[number] for stem, columns in labels.items()}
            answers = {stem: [row[name]] if is_filled(row[name]) else [] for stem, name in given.items()}
            if is_filled(row[column]) or any(answers.values()):  # an item may have fewer judgements than others
                rows.add(row[item], row[column], answers)
    rows.note(f"Each judgement is a pair of columns: {listed(list(workers.values()))} hold the workers.")
    return rows


def _pairs(header: Sequence[str], *, named: bool = True) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the workers' columns by number, and for each stem of labels, or of any, the columns of the same numbers.

    >>> _pairs(["HITID", "Worker1", "Answer1", "Worker2", "Answer2", "Answer"])
    ({'1': 'Worker1', '2': 'Worker2'}, {'Answer': {'1': 'Answer1', '2': 'Answer2'}})
    >>> _pairs(["text", "annotator1", "annotator2", "label"])
    ({}, {})
    """
    workers: dict[str, str] = {}
    labels: dict[str, dict[str, str]] = {}
    words = {role: "|".join(ROLES[role].words) for role in ("worker", "label")}
    stem = words["label"] if named else r".*[^\W\d_]"
    for name in header:
        if match := re.fullmatch(
            rf"(?:{words['worker']}){NAME_GAP}(?:id)?{NAME_GAP}(\d+){NAME_GAP}(?:id)?", name, re.IGNORECASE
        ):
            workers.setdefault(match[1], name)
        elif match := re.fullmatch(rf"({stem}){NAME_GAP}(\d+)", name, re.IGNORECASE):
            labels.setdefault(match[1], {})[match[2]] = name
    labels = {stem: columns for stem, columns in labels.items() if columns.keys() == workers.keys()}
    return (workers, labels) if labels else ({}, {})
