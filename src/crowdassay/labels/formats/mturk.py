"""Amazon Mechanical Turk: the batch results CSV, as Turkle writes it too, and the assignments of its programming interface."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.contents import CLOCK_WORDS, words_of
from crowdassay.labels.extras import find_times
from crowdassay.labels.formats.parse import answers_in, first_record, is_filled, item_column, parsed, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import listed, number_of
from crowdassay.read_options import ReadOptions

MTURK_INPUT, MTURK_ANSWER, FORM_ANSWERS = "Input.", "Answer.", "taskAnswers"
DIGITS_IN_NAME = re.compile(r"\d+")
BOX_STATES = {"true": True, "false": False, "": False, "on": True}
EMPTY_ANSWERS = frozenset({"", "{}", "[]"})  # how a question without an answer may look
BUTTON_NAMES = frozenset({"submit", "submitbutton", "submit_button", "submitbtn"})
SENT_BACK = frozenset({"workerid", "hitid", "assignmentid"})  # which some forms send back with the answers
MOST_REPEATED = 0.1  # part of the judgements that may repeat before an input is not what tells items apart
# What else is read, by the names that the web site and the command line tools give it, in lower case.
OTHER_COLUMNS = {
    "status": ("assignmentstatus",),
    "reject": ("reject",),
    "time": ("assignmentsubmittime", "submittime"),
    "duration": ("worktimeinseconds",),
}
MTURK_TIME = re.compile(r"\w{3} (\w{3}) (\d{1,2}) (\d\d:\d\d:\d\d) (\w+) (\d{4})")
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\dT")
MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
TIME_ZONES = {"PST": "-08:00", "PDT": "-07:00"}  # whatever else it writes is UTC
# The programming interface gives the answers of a worker as one XML text.
API_HIT, API_WORKER, API_ANSWER, API_STATUS, API_TIME = "HITId", "WorkerId", "Answer", "AssignmentStatus", "SubmitTime"
XML_MARK = "QuestionFormAnswers"
API_LIST = "Assignments"  # which holds them in what the interface returns
# Only these few elements matter, and no entity is ever expanded but the five that stand for characters.
ANSWER_XML = re.compile(r"<Answer>(.*?)</Answer>", re.DOTALL)
QUESTION_XML = re.compile(r"<QuestionIdentifier>(.*?)</QuestionIdentifier>", re.DOTALL)
CHOICE_XML = re.compile(r"<(?:FreeText|SelectionIdentifier|OtherSelectionText)>(.*?)</", re.DOTALL)


def recognise(probe: Probe) -> bool:
    """Return whether the header has HITs, workers and answers."""
    named = {name.lower() for name in probe.header}  # the command line tools wrote them in lower case
    batch = {"hitid", "workerid"} <= named and any(name.startswith(MTURK_ANSWER) for name in probe.header)
    return batch or _is_of_api(probe)


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all questions; rejected assignments are left out."""
    if _is_of_api(probe):
        return _read_api(probe, wanted)
    if probe.kind == "records":
        raise DataError(f"{probe.shown} holds no assignments of Mechanical Turk with HITId, WorkerId and Answer.")
    input_names = [name for name in probe.header if name.startswith(MTURK_INPUT)]
    named = {name.lower(): name for name in reversed(probe.header)}
    hit, who = named["hitid"], named["workerid"]
    # A wanted item may be the stem of numbered inputs, which is no column.
    stem = None if wanted.item_column is None else wanted.item_column.removeprefix(MTURK_INPUT)
    numbered = _numbered(name.removeprefix(MTURK_INPUT) for name in input_names)
    one_item = None if stem in numbered else item_column(probe, wanted.item_column, MTURK_INPUT, hit)
    rows = Annotations(one_item or hit, who, f"{MTURK_ANSWER}*")
    answer_names = _asked([name for name in probe.header if name.startswith(MTURK_ANSWER)], wanted.question)
    extra = {known: named[name] for known, names in OTHER_COLUMNS.items() for name in names if name in named}
    parts = [MTURK_INPUT + name for columns in numbered.values() for name in columns.values()]
    if one_item == hit and wanted.item_column is None:
        parts = input_names  # of which those that differ are offered
    needed = [hit, who, *([one_item] if one_item else []), answer_names[0]]
    rows_read = read_table(probe, rows, needed, [*extra.values(), *parts, *answer_names])
    if wanted.item_column is None and one_item not in {None, hit} and _is_shared(rows_read, str(one_item), hit, who):
        rows.note(f"Items are HITs, because different HITs have the same {one_item}.")
        one_item = rows.columns["item"] = hit
    if wanted.question is None:
        answer_names = _questions(rows_read, answer_names)
    radios = _radios(rows_read, answer_names)
    flat = [_answers(row, answer_names, radios) for row in rows_read]
    unpivoted: dict[str, tuple[str, dict[str, str]]] = {}
    questions = {question for answers in flat for question in answers}
    if stem in numbered or (wanted.item_column is None and (wanted.question or "").removeprefix(MTURK_ANSWER) not in questions):
        stem, unpivoted = _unpivot(numbered, _numbered(questions), stem, probe)
    for row, answers in zip(rows_read, flat, strict=True):
        known = {name: row[column] for name, column in extra.items()}
        facts = {"time": _time(known.get("time")), "duration": known.get("duration")}
        if (known.get("status") or "").strip().lower() == "rejected" or is_filled(known.get("reject")):
            rows.drop("rejected")
            continue
        if not unpivoted:
            rows.add(row[one_item or hit], row[who], answers, **facts)
        for item_name, asked in unpivoted.values():
            item, given = row[MTURK_INPUT + item_name], {kind: answers.get(name, []) for kind, name in asked.items()}
            if item is not None or any(given.values()):  # the last HIT of a batch may be half full
                rows.add(item, row[who], given, **facts)
    if unpivoted:
        first = next(iter(unpivoted.values()))[0]
        rows.columns["item"] = MTURK_INPUT + (str(stem) if "*" in str(stem) else f"{first}...")  # a pattern, or the first
        rows.note("Every HIT asks about several items: inputs and answers of the same number were taken together.")
    elif one_item == hit and wanted.item_column is None and len(input_names) > 1:
        telling = [name for name in input_names if len({row[name] for row in rows_read}) > 1]
        if telling:
            rows.note(f"Items are HITs; to tell them by an input instead, give --item-column, one of {listed(telling)}.")
    return rows


def _asked(names: list[str], question: str | None) -> list[str]:
    """Return the columns that can hold the answers to a question; no others are read."""
    if question is None:
        return names
    start = MTURK_ANSWER + question.removeprefix(MTURK_ANSWER)
    return [name for name in names if name.startswith(start) or name == MTURK_ANSWER + FORM_ANSWERS] or names


def _is_shared(rows: Sequence[Mapping[str, str | None]], item: str, hit: str, who: str) -> bool:
    """Return whether one input stands for many HITs, so that taking it for the item would make workers repeat themselves."""
    by_input, by_hit = ({(row[name], row[who]) for row in rows} for name in (item, hit))
    again = len(by_hit) - len(by_input)
    never_differs = len({row[item] for row in rows}) == 1
    return again > (0 if never_differs else MOST_REPEATED * len(rows))


def _questions(rows: Sequence[Mapping[str, str | None]], names: list[str]) -> list[str]:
    """Leave out ids that a form sends back, buttons and clocks, which ask nothing, unless there is nothing else."""
    asked = [name for name in names if name.removeprefix(MTURK_ANSWER).lower() not in SENT_BACK] or names
    asked = [name for name in asked if not _is_button(name, [row[name] for row in rows])] or asked
    return [name for name in asked if not _is_clock(name, [row[name] for row in rows])] or asked


def _is_clock(name: str, cells: Sequence[str | None]) -> bool:
    """Return whether a column is what a page measured: it is called after times and holds times or numbers alone.

    >>> _is_clock("Answer.startTime", ["1474605989", "{}"]), _is_clock("Answer.time", ["in the morning", "9"])
    (True, False)
    """
    given = [cell.strip() for cell in cells if cell is not None and cell.strip() not in EMPTY_ANSWERS]
    if not given or CLOCK_WORDS.isdisjoint(words_of(name.removeprefix(MTURK_ANSWER))):
        return False
    rest = [cell for cell in given if number_of(cell) is None and _time(cell) is None]
    return not rest or find_times(pa.array(rest)) is not None


def _is_button(name: str, cells: Sequence[str | None]) -> bool:
    """Return whether a column is what a form's button sends, and so asks nothing.

    >>> _is_button("Answer.submit", ["Submit", "Submit"]), _is_button("Answer.submit", ["A", "B"])
    (True, False)
    """
    sent = {(cell or "").strip() for cell in cells} - EMPTY_ANSWERS
    return name.removeprefix(MTURK_ANSWER).lower() in BUTTON_NAMES and len(sent) < 2


def _radios(rows: Sequence[Mapping[str, str | None]], names: Sequence[str]) -> frozenset[str]:
    """Return the questions that are spread over columns ``question.choice`` of booleans."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[name.removeprefix(MTURK_ANSWER).rpartition(".")[0]].append(name)
    return frozenset(
        question
        for question, spread in groups.items()
        if question
        and len(spread) > 1
        and all((cell or "").strip().lower() in BOX_STATES for row in rows for cell in map(row.get, spread))
    )


def _answers(row: Mapping[str, str | None], names: Sequence[str], radios: frozenset[str]) -> dict[str, list[Any]]:
    """Return what one row answers to each question; one radio may be spread over columns ``question.choice``."""
    answers: dict[str, list[Any]] = {}
    for column in names:
        name, cell = column.removeprefix(MTURK_ANSWER), row[column] or ""
        question, _, choice = name.rpartition(".")
        if name == FORM_ANSWERS:
            answers.update(answers_in(parsed(cell)) if cell else {})
        elif question in radios:
            chosen = answers.setdefault(question, [])
            if BOX_STATES[cell.strip().lower()]:
                chosen.append(choice)
        else:
            answers[name] = _choices(cell)
    return answers


def _choices(cell: str) -> list[str]:
    """Split what check boxes send, ``a|b``.

    >>> _choices("a|b"), _choices("{}"), _choices("a | b"), _choices("a")
    (['a', 'b'], [], ['a | b'], ['a'])
    """
    if cell.strip() in EMPTY_ANSWERS:
        return []
    parts = cell.split("|")
    return parts if all(part and part == part.strip() for part in parts) else [cell]


def _time(text: str | None) -> str | None:
    """Write Mechanical Turk's times as ISO 8601.

    >>> _time("Mon Mar 04 11:26:13 PST 2019")
    '2019-03-04T11:26:13-08:00'
    """
    if ISO_DATE.match(text or ""):  # as programs write that fetch assignments themselves
        return text
    match = MTURK_TIME.fullmatch((text or "").strip())
    if match is None or match[1] not in MONTH_NAMES:
        return None
    return f"{match[5]}-{MONTH_NAMES.index(match[1]) + 1:02}-{int(match[2]):02}T{match[3]}{TIME_ZONES.get(match[4], '+00:00')}"


def _numbered(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Group names that differ in one number: by what they have in common, each name by its number.

    >>> _numbered(["q01", "q02", "note", "field_1_1", "field_2_1"])
    {'q': {'1': 'q01', '2': 'q02'}, 'field_*_1': {'1': 'field_1_1', '2': 'field_2_1'}}
    """
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    for name in names:
        for match in DIGITS_IN_NAME.finditer(name):
            rest = name[match.end() :]
            groups[name[: match.start()] + (f"*{rest}" if rest else "")].setdefault(str(int(match.group())), name)
    return {common: columns for common, columns in groups.items() if len(columns) > 1}


def _unpivot(
    inputs: Mapping[str, Mapping[str, str]], answers: Mapping[str, Mapping[str, str]], wanted: str | None, probe: Probe
) -> tuple[str | None, dict[str, tuple[str, dict[str, str]]]]:
    """Return the stem of inputs that have the numbers of answers, and for each number its input, and its answers by question.

    A HIT with such inputs holds several items; of one that is an item by itself there are no numbers.
    """
    numbers = [columns.keys() for columns in answers.values()]
    stems = [stem for stem, columns in inputs.items() if columns.keys() in numbers and wanted in {None, stem}]
    if len(stems) > 1:
        raise ParameterError(
            f"The inputs and answers in {probe.shown} are numbered. If a HIT asks about one item, say "
            f"--item-column HITId; if it asks about several, name what tells them with --item-column: {listed(stems)}."
        )
    if not stems:
        return wanted, {}
    asked = {
        number: (name, {kind: columns[number] for kind, columns in answers.items() if number in columns})
        for number, name in sorted(inputs[stems[0]].items(), key=lambda pair: int(pair[0]))
    }
    return stems[0], asked


def _is_of_api(probe: Probe) -> bool:
    """Return whether rows or records are assignments with their answers in XML."""
    if probe.kind == "delimited":
        return probe.has(API_HIT, API_WORKER, API_ANSWER) and XML_MARK.encode() in (probe.start or probe.data or b"")
    first = first_record(probe, API_LIST)
    return {API_HIT, API_WORKER, API_ANSWER} <= first.keys() and XML_MARK in str(first[API_ANSWER])


def _read_api(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all questions; rejected assignments are left out."""
    item = wanted.item_column or API_HIT
    if probe.kind == "delimited":
        item = item_column(probe, wanted.item_column, "", API_HIT)
    rows = Annotations(item, API_WORKER, f"{API_ANSWER}.*")
    for row in read_table(probe, rows, [item, API_WORKER, API_ANSWER], [API_STATUS, API_TIME], inside=API_LIST):
        if str(row.get(API_STATUS)).strip().lower() == "rejected":
            rows.drop("rejected")
        else:
            answers = answers_in_xml(str(row.get(API_ANSWER) or ""))
            rows.add(row.get(item), row.get(API_WORKER), answers, time=row.get(API_TIME))
    return rows


def answers_in_xml(text: str) -> dict[str, list[Any]]:
    """Return what was answered to each question.

    >>> answers_in_xml("<Answer><QuestionIdentifier>tone</QuestionIdentifier><FreeText>R&amp;B</FreeText></Answer>")
    {'tone': ['R&B']}
    """
    answers: dict[str, list[Any]] = {}
    for one in ANSWER_XML.findall(text):
        question = QUESTION_XML.search(one)
        given = [html.unescape(value).strip() for value in CHOICE_XML.findall(one)]
        if question is not None and question[1] == FORM_ANSWERS and given:
            answers.update(answers_in(parsed(given[0])))
        elif question is not None:
            answers[html.unescape(question[1])] = [value for value in given if value]
    return answers
