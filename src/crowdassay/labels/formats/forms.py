"""Forms and surveys: a row for each person and a column for each item, as Google Forms and Qualtrics write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import count

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.columns import check_given, matching_columns, split_names
from crowdassay.labels.contents import words_of
from crowdassay.labels.formats.blocks import LEAST_QUESTIONS, alike_places, answer_one, are_alike, blocks_alike, numbered_ways
from crowdassay.labels.formats.foreign import SURVEY_MARKS, code_of, is_of_limesurvey
from crowdassay.labels.formats.not_workers import NUMBERED_THINGS, QUESTION_MARKS, is_nothing
from crowdassay.labels.formats.parse import is_filled
from crowdassay.labels.formats.record import Import
from crowdassay.labels.formats.stems import as_pattern, family_of
from crowdassay.labels.formats.wide import ROWS_SAMPLED, cells_of, wide_texts
from crowdassay.labels.formats.wide_columns import same_answers
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES, plain_name
from crowdassay.labels.values import counted, listed, number_of, shown, shown_file
from crowdassay.read_options import ReadOptions, join_names

PERSON_NAMES = ("emailaddress", "email", "responseid", "prolificpid", "prolificid", "")  # the last: the names in a JSON object
LEAST_ROWS = 4  # rows with their header from which on rows without names may be persons'
ITEMS_LISTED = 3
PATTERNS_LISTED = 8
LEAST_ASKED = 10  # columns named by several words each from which on rows that are answered alike are persons'
A_NUMBERED_THING = re.compile(rf"(?:{'|'.join(sorted(NUMBERED_THINGS))})[\s_\-.]*\d+", re.IGNORECASE)
MOST_AGAIN = 0.1  # share of rows, at most, whose person has answered before, where a row is a person's
LEAST_WORDS = 3  # in the name of a question
MOST_NAME_WORDS = 3  # in what names a person
A_TIME = re.compile(r"\d{1,4}([./-]) ?\d{1,2}\1 ?\d{1,4}[.,]?(?: .*?|T)\d{1,2}[:.]\d\d.*")  # in whatever order and language
PARTED = re.compile(r"(\D+)\d+(\D+\d+)")  # a question of several on each item, such as Q3_1
RECORD_NAMES = ("recordid", "submissionid")
PERSON_CODES = ("token", "id")
GOOGLE_FIRST = "Timestamp"  # the first column of Google Forms
# When a page of Qualtrics was clicked and sent, and how often; R writes dots for blanks.
PAGE_TIMING = re.compile(r".*[_\-]\s*(?:first[ ._]click|last[ ._]click|page[ ._]submit|click[ ._]count)", re.IGNORECASE)
# What forms write down about a person that is no answer.
ABOUT_PERSON = frozenset({
    *ROLES["time"].words, *ROLES["duration"].words, "startdate", "enddate", "status", "ipaddress", "progress", "finished",
    "recordeddate", "durationinseconds", "duration(inseconds)", "locationlatitude", "locationlongitude", "distributionchannel",
    "userlanguage", "recipientlastname", "recipientfirstname", "recipientemail", "externalreference", "externaldatareference",
})  # fmt: skip


def recognise(probe: Probe) -> bool:
    """Return whether every row is another person's, and all other columns are answered in the same few words."""
    if probe.kind != "delimited" or any(ROLES[role].best(probe.header) for role in ("item", "label")):
        return False
    if any(mark.fits(probe) for mark in SURVEY_MARKS):  # which asks all sorts of things: only the user knows what is an item
        return False
    if (person := _person(probe.header)) is not None and not probe.header[person]:
        return False  # rows that pandas or R named are items' as well as persons'
    groups = _answers(probe, unnamed=probe.header[:1] == [GOOGLE_FIRST], again=0.0)
    return len(groups) == 1 and are_alike(groups[0])


def proposal(probe: Probe) -> list[str]:
    """Return in which case which option reads a file with a row for each person and several columns answered alike."""
    if probe.kind != "delimited":
        return []
    if is_of_limesurvey(probe) and (said := _proposal_of_codes(probe)):
        return said
    person, record = _person(probe.header), _record(probe.header)
    if any(map(ROLES["item"].is_named, probe.header)) or (person is None and record is not None):
        return [] if record is None else _proposal_of_blocks(probe, record)
    if person is None:
        return _proposal_of_nobody(probe)
    case = "if every worker has a row, and every item a column, say --from forms"
    groups = _answers(probe)
    named = probe.header[person] or len(groups) == 1  # rows that pandas or R named may be items as well
    if not named or not any(map(are_alike, groups)):
        return []
    return (len(groups) > 1 and _proposal_of_blocks(probe, person)) or [case]


def _proposal_of_blocks(probe: Probe, person: int) -> list[str]:
    """Propose blocks of columns that are answered alike, where every row has a name of its own; nothing where none is."""
    columns = _columns(probe, person)
    return _said_of(probe.header, _blocks(probe.header, columns, person), person, list(probe.header)) if columns else []


def _blocks(header: Sequence[str], columns: Mapping[int, Sequence[str]], person: int | None) -> dict[str, list[int]]:
    """Return blocks of columns that are answered alike, by what stands for them alone: a pattern, or else all their names.

    >>> columns = {n: "aba" for n in range(1, 4)}
    >>> _blocks(["who", "q_1", "q_2", "q_3", "q_1_Page Submit"], columns, 0)
    {'q_*': [1, 2, 3]}
    >>> _blocks(["who", "rate_1", "rate_2", "rate_3", "rate_date"], columns, 0)
    {'rate_1,rate_2,rate_3': [1, 2, 3]}
    """
    bare = {n for n, cells in columns.items() if all(map(is_nothing, cells))}
    blocks: dict[str, list[int]] = {}
    for way, group in blocks_alike(header, columns).items():
        alone = {*_named(header, way, person)} - bare == {*group}
        blocks[way if alone else join_names([header[n] for n in group])] = group
    return blocks


def _proposal_of_nobody(probe: Probe) -> list[str]:
    """Propose to take rows for persons where nothing names them: neither persons, nor items with a name or text each."""
    rows = cells_of(probe, limit=ROWS_SAMPLED)
    if len(rows) < LEAST_ROWS or any(len(row) != len(probe.header) for row in rows):
        return []
    columns = [[cell.strip() for cell in column] for column in zip(*rows[1:], strict=True)]
    times = [n for n, column in enumerate(columns) if _are_times(column)]
    if asking := _proposal_of_questions(probe.header, columns, dated=times[:1] == [0]):
        return asking
    alike = max(alike_places(columns), key=len, default=[])
    group = family_of(probe.header, alike) or alike
    rest = [one for n, one in enumerate(columns) if n not in group and n not in times]  # which name no rows
    texts = [one for one in rest if any(number_of(cell) is None for cell in one)]
    named = any(len(set(one)) == len(one) for one in rest) or (texts and len(set(zip(*texts, strict=True))) == len(columns[0]))
    if len(group) < LEAST_QUESTIONS or named or not are_alike([columns[n] for n in group]):
        return []
    way, items = as_pattern(probe.header, group), listed([probe.header[n] for n in group], ITEMS_LISTED)
    said = f"if every row is a worker's and {items} stand for what was labelled, say --from forms --item-column '{way}'"
    return [said] if "*" in way and "'" not in way else []


def _proposal_of_questions(header: Sequence[str], columns: Sequence[Sequence[str]], *, dated: bool) -> list[str]:
    """Propose whole questions that are answered alike as items; what names the person is different in every row.

    ``dated`` is whether rows begin with a time, as Google Forms writes them in every language, so that fewer questions do.
    """
    asked = {n: cells for n, cells in enumerate(columns) if _asks(header[n])}
    blocks = {way: group for way, group in blocks_alike(header, asked).items() if asked.keys() >= {*_named(header, way, None)}}
    if len(next(iter(blocks.values()), [])) < (LEAST_QUESTIONS if dated else LEAST_ASKED):
        return []
    inside = {n for group in blocks.values() for n in group}
    names = [n for n, cells in enumerate(columns) if n not in inside and _are_names(cells) and not _are_times(cells)]
    brief = [n for n in names if all(len(cell.split()) <= MOST_NAME_WORDS for cell in columns[n])]
    if not dated and any(n not in asked and n not in brief for n in names):  # a text each, which may be what was judged
        return []
    return _said_of(header, blocks, brief[0] if brief else None, header)


def _asks(name: str) -> bool:
    """Return whether a column is named by a whole question or its number, or by a row of a grid of questions.

    >>> [_asks(name) for name in ("War es klar?", "Tone [warm]", "I felt at home", "Ann Lee", "rater 1 tone", "年齢は？", "Q3")]
    [True, True, True, False, False, True, True]
    """
    whose = ROLES["worker"].words
    if A_NUMBERED_THING.fullmatch(name):
        return True
    return not any(word in whose for word in words_of(name)) and (
        name.endswith(QUESTION_MARKS) or re.search(r"\S *\[.+\]", name) is not None or len(name.split()) >= LEAST_WORDS
    )


def _are_times(column: Sequence[str]) -> bool:
    """Return whether a column holds days with the time of the day.

    >>> _are_times(["12.23.2024 20:00:33", ""]), _are_times(["2024. 3. 25 오후 3:12:01"]), _are_times(["2024-12-23"])
    (True, True, False)
    """
    given = [cell for cell in column if not is_nothing(cell)]
    return bool(given) and all(map(A_TIME.fullmatch, given))


def _proposal_of_codes(probe: Probe) -> list[str]:
    """Propose questions of LimeSurvey that differ in one number and are answered in the same words, and who answered."""
    header, *body = cells_of(probe, limit=ROWS_SAMPLED)
    columns = [
        [cell.strip() for cell in column] for column in zip(*(row for row in body if len(row) == len(header)), strict=True)
    ]
    codes = [code_of(name) for name in probe.header]
    ways = dict.fromkeys(way for n, code in enumerate(codes) if columns for way in numbered_ways(code, probe.header[n]))
    sets = {way: [n for n, name in enumerate(probe.header) if fnmatchcase(name, way)] for way in ways}
    alike = {way: group for way, group in sets.items() if answer_one([columns[n] for n in group])}
    people = [n for code in PERSON_CODES for n in range(len(columns)) if codes[n] == code and _are_names(columns[n])]
    if not alike or not people:
        return []
    again = [n for n in range(len(columns)) if codes[n] == PERSON_CODES[0] and n not in people and any(columns[n])]
    return [f"{said}{_or_again(probe.header, again)}" for said in _said_of(probe.header, alike, people[0], codes)]


def _or_again(header: Sequence[str], again: Sequence[int]) -> str:
    """Return the option by which a column of people some of whom answered again names the worker; nothing without one."""
    return "".join(
        f", or --worker-column {in_quotes(header[n])} if a person may have answered more than once" for n in again[:1]
    )


def _said_of(
    header: Sequence[str], blocks: Mapping[str, Sequence[int]], person: int | None, shown_as: Sequence[str]
) -> list[str]:
    """Return in which case which options read the first of some blocks, by their patterns, and which other patterns do."""
    if not blocks:
        return []
    (way, group), *others = blocks.items()
    more = f" (or another pattern, such as {listed(other for other, _ in others[:ITEMS_LISTED])})" if others else ""
    items = listed([shown_as[n] for n in group], ITEMS_LISTED)
    said = f"if every row is a worker's and {items} stand for what was labelled, say --from forms"
    who = "" if person is None else f" --worker-column {in_quotes(header[person])}"
    return [f"{said}{who} --item-column {in_quotes(way)}{more}"]


def _are_names(column: Sequence[str]) -> bool:
    return all(column) and len(set(column)) == len(column)


def in_quotes(text: str) -> str:
    """Return a text in quotes for a command line: double ones around an apostrophe."""
    return f'"{text}"' if "'" in text else shown_file(text)


def _answers(probe: Probe, *, unnamed: bool = False, again: float = MOST_AGAIN) -> list[list[list[str]]]:
    """Return the columns of answers in groups that are answered alike; none if rows are no persons', named or not."""
    person = _person(probe.header)
    columns = _columns(probe, person, again) if person is not None or unnamed else {}
    return [[list(columns.values())[n] for n in group] for group in alike_places(list(columns.values()))]


def _columns(probe: Probe, person: int | None, again: float = MOST_AGAIN) -> dict[int, list[str]]:
    """Return the columns that may be answers, by place; none if rows are cut short, or too many are of one person."""
    rows = cells_of(probe, limit=ROWS_SAMPLED)
    body = _answered(rows)
    if len(body) < 2 or any(len(row) != len(probe.header) for row in rows):
        return {}
    if person is not None and len(body) - len({row[person] for row in body}) > again * len(body):
        return {}
    return {n: [row[n].strip() for row in body] for n in _asked(probe.header, person)}


def _answered(rows: Sequence[list[str]]) -> Sequence[list[str]]:
    """Return the rows below the header, and below the questions' texts and their ids in JSON, as Qualtrics writes them."""
    told = [n for n, row in enumerate(rows[:3]) if any(cell.startswith('{"ImportId"') for cell in row)]
    return rows[told[-1] + 1 if told else 1 :]


def said_of_survey(probe: Probe) -> str:
    """Return how to read a survey, which asks all sorts of things: by columns answered alike, or else by their names."""
    header = [name.strip() for name in probe.header]
    columns = _columns(probe, _person(header)) if probe.kind == "delimited" else {}
    if said := _said_of(header, _blocks(header, columns, _person(header)), None, header):
        return said[0]
    return f"say --from forms, and which columns are items with --item-column, a pattern such as {_ways_by_name(header)}"


def _ways_by_name(header: Sequence[str]) -> str:
    """Return patterns by names alone: of all questions, or of each where numbered ones have the same parts.

    >>> _ways_by_name(["Id", *(f"Q{n}_{part}" for n in (1, 2, 3) for part in (1, 2))])
    "'Q*', or 'Q*_1', 'Q*_2' where each of several questions was asked of every item"
    >>> _ways_by_name(["Id", "Q1", "Q2", "Q3"])
    "'Q*'"
    """
    ends = Counter(found.group(1, 2) for name in header if (found := PARTED.fullmatch(name)))
    ways = [f"{start}*{end}" for (start, end), often in ends.items() if often >= LEAST_QUESTIONS and start == "Q"]
    parts = f", or {listed(ways, ITEMS_LISTED)} where each of several questions was asked of every item"
    return f"'Q*'{parts if len(ways) > 1 else ''}"


def read(probe: Probe, wanted: ReadOptions) -> Import:
    """Read an answer from each cell of the columns that are items."""
    rows, source = cells_of(probe), probe.shown
    header, width = [name.strip() for name in rows[0]], max(map(len, rows))
    body = [row + [""] * (width - len(row)) for row in _answered(rows)]
    if not body:
        raise DataError(f"No labels found: {source} holds a header only.")
    if wanted.worker_column is not None:
        check_given("worker", wanted.worker_column, header)
    person = _person(header) if wanted.worker_column is None else header.index(wanted.worker_column)
    asked = _asked(header, person) if wanted.item_column is None else _named(header, wanted.item_column, person)
    cells = {n: [row[n].strip() for row in body] for n in asked}
    groups = alike_places([cells[n] for n in asked])
    if not any(any(map(is_filled, column)) for column in cells.values()):
        raise DataError(f"No labels found in {source}: no column that may be an item holds an answer.")
    if len(groups) > 1 and wanted.item_column is None:
        raise ColumnError(_said_of_kinds(header, cells, groups, source, may_name=person is None and len(groups) == 2))
    filled = [n for n in asked if any(map(is_filled, cells[n]))]
    names = _told_apart(header)
    notes = [f"Each row is a person's answers, and each of these columns is an item: {listed([names[n] for n in filled])}."]
    if again := [names[n] for n in filled if sum(header[m] == header[n] for m in filled) > 1]:
        notes.append(f"Columns of one name are different items, told apart by their place: {listed(again)}.")
    if len(filled) < len(asked):
        empty = [names[n] for n in asked if n not in filled]
        notes.append(f"{counted(len(empty), 'column')} of items held no answer: {listed(empty, ITEMS_LISTED)}.")
    covered = range(len(header)) if wanted.item_column is None else _covered(header, wanted.item_column, person)
    if aside := [n for n in covered if n not in asked and n != person and _is_timing(header[n])]:
        notes.append(
            f"{counted(len(aside), 'column')} of page timings were left aside; one that is an item must be named itself."
        )
    if wanted.item_column is not None:
        others = [n for n in _asked(header, person) if n not in asked]
        every = [[row[n].strip() for row in body] for n in (*filled, *others)]
        called = [names[n] for n in (*filled, *others)]
        notes += same_answers(called, every, range(len(filled)), "name a column with --item-column as well if it is an item")
    if person is None:
        notes.append("No column names the person: workers are numbered by row, from 0.")
    workers = [str(n) if person is None else row[person].strip() for n, row in enumerate(body)]
    table = wide_texts(workers, [names[n] for n in asked], [[row[n] for row in body] for n in asked], probe.path.name)
    imported = table.rows(wanted, source)
    worker = "row" if person is None else header[person] or "name"
    columns = {"item": wanted.item_column or "column", "worker": worker, "label": "cell"}
    return replace(imported, item=imported.worker, worker=imported.item, columns=columns, notes=tuple(notes))


def _named(header: Sequence[str], given: str, person: int | None) -> list[int]:
    """Return the columns that a user named as items, by names or patterns that commas separate; one with a comma is itself.

    A pattern stands for no page timings; one that is named is an item.

    >>> _named(["who", "q1", "q2", "a, b"], "q1,q2", 0), _named(["who", "q1", "q2", "a, b"], "*, b", 0)
    ([1, 2], [3])
    """
    exactly = {given, *split_names(given, [*header, *(apart := _told_apart(header))])}
    chosen = _covered(header, given, person)
    places = [n for n in chosen if not _is_timing(header[n]) or not exactly.isdisjoint((header[n], apart[n]))]
    if not places:
        raise ColumnError(
            f"The columns of {shown(given)} hold page timings, which are no answers; name those of answers with --item-column."
        )
    return places


def _covered(header: Sequence[str], given: str, person: int | None) -> list[int]:
    """Return the columns that names or patterns stand for, whatever they hold."""
    apart = _told_apart(header)
    every = list(dict.fromkeys([*header, *apart]))
    whole = any(fnmatchcase(name, given) for name in every)
    named = matching_columns(every, [given] if whole else split_names(given, every))
    places = [n for n, name in enumerate(header) if n != person and (name in named or apart[n] in named)]
    if not places:
        raise ColumnError(f"The column {shown(named[0])} cannot be both the worker and the item; name another for one.")
    return places


def _told_apart(header: Sequence[str]) -> list[str]:
    """Return names of which the second of several that are the same has a number, and so on.

    >>> _told_apart(["Q3", "Q1", "Q3", "Q3", "Q3 (2)"])
    ['Q3', 'Q1', 'Q3 (3)', 'Q3 (4)', 'Q3 (2)']
    """
    names: list[str] = []
    for name in header:
        numbered = (f"{name} ({n})" for n in count(2))
        names.append(name if name not in names else next(one for one in numbered if one not in names and one not in header))
    return names


def _said_of_kinds(
    header: Sequence[str], cells: Mapping[int, Sequence[str]], groups: Sequence[Sequence[int]], source: str, *, may_name: bool
) -> str:
    """Return what to say of columns that are not all answered alike: which are, and how to name them.

    ``may_name`` is whether one column beside a group of others may be the person's.
    """
    asked, blocks = list(cells), _blocks(header, cells, _person(header))
    who = "name the person's with --worker-column, or " if may_name and min(map(len, groups)) == 1 else "name "
    what = "those that are items with --item-column, a pattern such as"
    if not blocks:
        kinds = "; ".join(listed([header[asked[n]] for n in group]) for group in groups[:PATTERNS_LISTED])
        kinds += f" and {len(groups) - PATTERNS_LISTED} other kinds" if len(groups) > PATTERNS_LISTED else ""
        return f"The columns of {source} are not all answered alike ({kinds}); {who}{what} {_ways_by_name(header)}."
    ways = [f"{shown(way)} ({len(group)} columns)" for way, group in blocks.items()]
    more = f" and {len(ways) - PATTERNS_LISTED} more" if len(ways) > PATTERNS_LISTED else ""
    return (
        f"The columns of {source} are not all answered alike; {who}{what} one of these, whose columns are: "
        f"{', '.join(ways[:PATTERNS_LISTED])}{more}."
    )


def _record(header: Sequence[str]) -> int | None:
    """Return the column that numbers the answer sheets of a survey: a person each, though other tables call items so."""
    return next((n for n, name in enumerate(header) if plain_name(name) in RECORD_NAMES), None)


def _person(header: Sequence[str]) -> int | None:
    """Return the column that names the person."""
    spellings = [word + ending for word in ROLES["worker"].words for ending in ("", "id", *ROLES["worker"].late_endings)]
    plain = [plain_name(name) for name in header]
    return next((plain.index(spelling) for spelling in (*spellings, *PERSON_NAMES) if spelling in plain), None)


def _asked(header: Sequence[str], person: int | None) -> list[int]:
    return [n for n, name in enumerate(header) if n != person and plain_name(name) not in ABOUT_PERSON and not _is_timing(name)]


def _is_timing(name: str) -> bool:
    """Return whether a column tells when a page was clicked or sent, or how often, which is no answer.

    >>> [_is_timing(name) for name in ("Q1_First Click", "t_Page.Submit", "Timing - Click Count", "First Click", "Q1_1")]
    [True, True, True, False, False]
    """
    return PAGE_TIMING.fullmatch(name.strip()) is not None
