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
TIME = re.compile(r"\w{3} (\w{3}) (\d{1,2}) (\d\d:\d\d:\d\d) (\w+) (\d{4})")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ZONES = {"PST": "-08:00", "PDT": "-07:00"}  # whatever else it writes is UTC


def recognise(seen: Look) -> bool:
    """Tell whether the header has HITs, workers and answers."""
    return seen.has("HITId", "WorkerId") and any(name.startswith(ANSWER) for name in seen.header)


def read(seen: Look, wanted: ReadOptions) -> Rows:
    """Read the answers to all questions; rejected assignments are left out."""
    answer_names = [name for name in seen.header if name.startswith(ANSWER)]
    input_names = [name for name in seen.header if name.startswith(INPUT)]
    # A wanted item may be the stem of numbered inputs, which is no column.
    stem = None if wanted.item_column is None else wanted.item_column.removeprefix(INPUT)
    numbered = _numbered(name.removeprefix(INPUT) for name in input_names)
    one_item = None if stem in numbered else item_column(seen, wanted.item_column, INPUT, "HITId")
    more = ("AssignmentStatus", "Reject", "SubmitTime", "WorkTimeInSeconds")
    extra = [name for name in more if name in seen.header]
    rows = Rows({"item": one_item or "HITId", "worker": "WorkerId", "label": f"{ANSWER}*"})
    answer_names = _asked(answer_names, wanted.question)
    several = [name for name in input_names if one_item is None or (wanted.item_column is None and _stem(name) in numbered)]
    names = ["HITId", "WorkerId", *extra, *([one_item] if one_item else []), *several, *answer_names]
    columns = read_columns(seen, names, ["HITId", "WorkerId", *([one_item] if one_item else []), answer_names[0]], rows)
    found = list(each_row(columns))
    flat = [_answers([(name.removeprefix(ANSWER), row[name] or "") for name in answer_names]) for row in found]
    unpivoted = None
    if stem in numbered or wanted.item_column is None:
        unpivoted = _unpivot(numbered, {question for answers in flat for question in answers}, stem, seen)
    for row, answers in zip(found, flat, strict=True):
        facts = {"time": _time(row.get("SubmitTime")), "duration": row.get("WorkTimeInSeconds")}
        if _rejected(row):
            rows.drop("rejected")
        elif unpivoted:
            for number in unpivoted[1]:
                item = row[f"{INPUT}{unpivoted[0]}{number}"]
                asked = {
                    question.removesuffix(number): value for question, value in answers.items() if _number(question) == number
                }
                if item is None and not any(asked.values()):
                    continue  # the last HIT of a batch may be half full
                rows.add(item, row["WorkerId"], asked, **facts)
        else:
            rows.add(row[one_item or "HITId"], row["WorkerId"], answers, **facts)
    if unpivoted:
        rows.columns["item"] = f"{INPUT}{unpivoted[0]}1..."
        rows.note("Every HIT asks about several items: inputs and answers of the same number were taken together.")
    elif one_item == "HITId" and len(input_names) > 1 and wanted.item_column is None:
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


def _answers(cells: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """Return what one row answers to each question; one radio may be spread over columns ``question.choice``."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    answers: dict[str, list[Any]] = {}
    for name, cell in cells:
        if name == JSON:
            answers.update(answers_in(parsed(cell)) if cell else {})
        else:
            question, _, choice = name.rpartition(".")
            groups[question][choice] = cell
    for question, choices in groups.items():
        if question and len(choices) > 1 and all(cell.strip().lower() in BOOLEANS for cell in choices.values()):
            answers[question] = [choice for choice, cell in choices.items() if BOOLEANS[cell.strip().lower()]]
        else:
            for choice, cell in choices.items():
                answers[f"{question}.{choice}" if question else choice] = _choices(cell)
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


def _rejected(row: Mapping[str, str | None]) -> bool:
    return (row.get("AssignmentStatus") or "").strip().lower() == "rejected" or is_filled(row.get("Reject"))


def _time(text: str | None) -> str | None:
    """Write Mechanical Turk's times as ISO 8601.

    >>> _time("Mon Mar 04 11:26:13 PST 2019")
    '2019-03-04T11:26:13-08:00'
    """
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
