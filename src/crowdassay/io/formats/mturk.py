"""Amazon Mechanical Turk: the batch results CSV; Turkle writes the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.io.formats.answers import answers_in, parsed
from crowdassay.io.formats.record import Rows
from crowdassay.io.formats.table import each_row, is_filled, item_column, read_columns
from crowdassay.io.look import Look
from crowdassay.io.values import listed, shown_file
from crowdassay.read_options import ReadOptions

INPUT, ANSWER, JSON = "Input.", "Answer.", "taskAnswers"
NUMBERED = re.compile(r"(.*?)(\d+)")
BOOLEANS = {"true": True, "false": False, "": False, "on": True}
NOTHING = frozenset({"", "{}", "[]"})  # how a question without an answer may look
BUTTONS = frozenset({"submit", "submitbutton", "submit_button", "submitbtn"})
SHARED = 0.1  # part of the judgements that may repeat before an input is not what tells items apart
# What else is read, by the names that the web site and the command line tools give it, in lower case.
MORE = {
    "status": ("assignmentstatus",),
    "reject": ("reject",),
    "time": ("assignmentsubmittime", "submittime"),
    "duration": ("worktimeinseconds",),
}
TIME = re.compile(r"\w{3} (\w{3}) (\d{1,2}) (\d\d:\d\d:\d\d) (\w+) (\d{4})")
ISO = re.compile(r"\d{4}-\d\d-\d\dT")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ZONES = {"PST": "-08:00", "PDT": "-07:00"}  # whatever else it writes is UTC


def recognise(seen: Look) -> bool:
    """Tell whether the header has HITs, workers and answers."""
    named = {name.lower() for name in seen.header}  # the command line tools wrote them in lower case
    return {"hitid", "workerid"} <= named and any(name.startswith(ANSWER) for name in seen.header)


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read the answers to all questions; rejected assignments are left out."""
    answer_names = [name for name in seen.header if name.startswith(ANSWER)]
    input_names = [name for name in seen.header if name.startswith(INPUT)]
    named = {name.lower(): name for name in reversed(seen.header)}
    hit, who = named["hitid"], named["workerid"]
    # A wanted item may be the stem of numbered inputs, which is no column.
    stem = None if wanted.item_column is None else wanted.item_column.removeprefix(INPUT)
    numbered = _numbered(name.removeprefix(INPUT) for name in input_names)
    one_item = None if stem in numbered else item_column(seen, wanted.item_column, INPUT, hit)
    extra = {known: named[name] for known, names in MORE.items() for name in names if name in named}
    rows = Rows({"item": one_item or hit, "worker": who, "label": f"{ANSWER}*"})
    answer_names = _asked(answer_names, wanted.question)
    several = [name for name in input_names if one_item is None or (wanted.item_column is None and _stem(name) in numbered)]
    names = list(dict.fromkeys([hit, who, *extra.values(), *([one_item] if one_item else []), *several, *answer_names]))
    columns = read_columns(seen, names, [hit, who, *([one_item] if one_item else []), answer_names[0]], rows)
    found = list(each_row(columns))
    if wanted.item_column is None and one_item not in {None, hit} and _is_shared(found, str(one_item), hit, who):
        rows.note(f"Items are HITs, because different HITs have the same {one_item}.")
        one_item = rows.columns["item"] = hit
    if wanted.question is None:
        answer_names = [name for name in answer_names if not _is_button(name, columns[name])] or answer_names
    radios = _radios(columns, answer_names)
    flat = [_answers([(name.removeprefix(ANSWER), row[name] or "") for name in answer_names], radios) for row in found]
    unpivoted = None
    if stem in numbered or wanted.item_column is None:
        unpivoted = _unpivot(numbered, {question for answers in flat for question in answers}, stem, seen)
    for row, answers in zip(found, flat, strict=True):
        known = {name: row[column] for name, column in extra.items()}
        facts = {"time": _time(known.get("time")), "duration": known.get("duration")}
        if _rejected(known):
            rows.drop("rejected")
        elif unpivoted:
            for number in unpivoted[1]:
                item = row[f"{INPUT}{unpivoted[0]}{number}"]
                asked = {
                    question.removesuffix(number): value for question, value in answers.items() if _number(question) == number
                }
                if item is None and not any(asked.values()):
                    continue  # the last HIT of a batch may be half full
                rows.add(item, row[who], asked, **facts)
        else:
            rows.add(row[one_item or hit], row[who], answers, **facts)
    if unpivoted:
        rows.columns["item"] = f"{INPUT}{unpivoted[0]}1..."
        rows.note("Every HIT asks about several items: inputs and answers of the same number were taken together.")
    elif one_item == hit and len(input_names) > 1 and wanted.item_column is None:
        rows.note(f"Items are HITs; to tell them by an input instead, give --item-column, one of {listed(input_names)}.")
    return rows


def _asked(names: list[str], question: str | None) -> list[str]:
    """Return the columns that can hold the answers to a question; no others are read."""
    if question is None:
        return names
    start = ANSWER + question.removeprefix(ANSWER)
    return [name for name in names if name.startswith(start) or name == ANSWER + JSON] or names


def _stem(name: str) -> str:
    found = NUMBERED.fullmatch(name.removeprefix(INPUT))
    return found.group(1) if found else name


def _is_shared(found: Sequence[Mapping[str, str | None]], item: str, hit: str, who: str) -> bool:
    """Tell whether one input stands for many HITs, so that taking it for the item would make workers repeat themselves."""
    by_input, by_hit = ({(row[name], row[who]) for row in found} for name in (item, hit))
    again = len(by_hit) - len(by_input)
    never_differs = len({row[item] for row in found}) == 1
    return again > (0 if never_differs else SHARED * len(found))


def _is_button(name: str, cells: Sequence[str | None]) -> bool:
    """Tell whether a column is what a form's button sends, and so asks nothing.

    >>> _is_button("Answer.submit", ["Submit", "Submit"]), _is_button("Answer.submit", ["A", "B"])
    (True, False)
    """
    return name.removeprefix(ANSWER).lower() in BUTTONS and len({(cell or "").strip() for cell in cells} - NOTHING) < 2


def _radios(columns: Mapping[str, Sequence[str | None]], names: Sequence[str]) -> frozenset[str]:
    """Return the questions that are spread over columns ``question.choice`` of booleans."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[name.removeprefix(ANSWER).rpartition(".")[0]].append(name)
    return frozenset(
        question
        for question, spread in groups.items()
        if question
        and len(spread) > 1
        and all((cell or "").strip().lower() in BOOLEANS for name in spread for cell in columns[name])
    )


def _answers(cells: Sequence[tuple[str, str]], radios: frozenset[str]) -> dict[str, list[Any]]:
    """Return what one row answers to each question; one radio may be spread over columns ``question.choice``."""
    answers: dict[str, list[Any]] = {}
    for name, cell in cells:
        question, _, choice = name.rpartition(".")
        if name == JSON:
            answers.update(answers_in(parsed(cell)) if cell else {})
        elif question in radios:
            chosen = answers.setdefault(question, [])
            if BOOLEANS[cell.strip().lower()]:
                chosen.append(choice)
        else:
            answers[name] = _choices(cell)
    return answers


def _choices(cell: str) -> list[str]:
    """Split what check boxes send, ``a|b``.

    >>> _choices("a|b"), _choices("{}"), _choices("a | b"), _choices("a")
    (['a', 'b'], [], ['a | b'], ['a'])
    """
    if cell.strip() in NOTHING:
        return []
    parts = cell.split("|")
    return parts if all(part and part == part.strip() for part in parts) else [cell]


def _rejected(known: Mapping[str, str | None]) -> bool:
    return (known.get("status") or "").strip().lower() == "rejected" or is_filled(known.get("reject"))


def _time(text: str | None) -> str | None:
    """Write Mechanical Turk's times as ISO 8601.

    >>> _time("Mon Mar 04 11:26:13 PST 2019")
    '2019-03-04T11:26:13-08:00'
    """
    if ISO.match(text or ""):  # as programs write that fetch assignments themselves
        return text
    found = TIME.fullmatch((text or "").strip())
    if found is None or found[1] not in MONTHS:
        return None
    return f"{found[5]}-{MONTHS.index(found[1]) + 1:02}-{int(found[2]):02}T{found[3]}{ZONES.get(found[4], '+00:00')}"


def _number(name: str) -> str | None:
    found = NUMBERED.fullmatch(name)
    return found.group(2) if found else None


def _numbered(names: Iterable[str]) -> dict[str, set[str]]:
    stems: dict[str, set[str]] = defaultdict(set)
    for name in names:
        if found := NUMBERED.fullmatch(name):
            stems[found.group(1)].add(found.group(2))
    return {stem: numbers for stem, numbers in stems.items() if len(numbers) > 1}


def _unpivot(
    inputs: Mapping[str, set[str]], questions: set[str], wanted: str | None, seen: Look
) -> tuple[str, list[str]] | None:
    """Find inputs ``x1, x2...`` whose numbers are those of answers ``q1, q2...``: several items in one HIT."""
    answered = _numbered(questions)
    stems = [stem for stem, numbers in inputs.items() if any(numbers == found for found in answered.values())]
    if wanted is not None:
        stems = [stem for stem in stems if stem == wanted]
    if len(stems) > 1:
        raise ParameterError(
            f"The inputs and answers in {shown_file(seen.path.name)} are numbered. If a HIT asks about one item, say "
            f"--item-column HITId; if it asks about several, name what tells them with --item-column: {listed(stems)}."
        )
    return (stems[0], sorted(inputs[stems[0]], key=int)) if stems else None
