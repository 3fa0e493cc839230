"""Amazon Mechanical Turk: the batch results CSV; Turkle writes the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.io.formats.answers import answers_in, parsed
from crowdassay.io.formats.look import Look
from crowdassay.io.formats.record import Import, Rows, Wanted
from crowdassay.io.formats.table import item_column, read_columns
from crowdassay.io.values import listed, shown_file

INPUT, ANSWER, JSON = "Input.", "Answer.", "taskAnswers"
NUMBERED = re.compile(r"(.*?)(\d+)")
BOOLEANS = {"true": True, "false": False, "": False, "on": True}


def recognise(seen: Look) -> bool:
    """Tell whether the header has HITs, workers and answers."""
    return seen.has("HITId", "WorkerId") and any(name.startswith(ANSWER) for name in seen.header)


def read(seen: Look, wanted: Wanted) -> Import:
    """Read the answers to one question; rejected assignments are left out."""
    answer_names = [name for name in seen.header if name.startswith(ANSWER)]
    input_names = [name for name in seen.header if name.startswith(INPUT)]
    # A wanted item may be the stem of numbered inputs, which is no column.
    stem = None if wanted.item is None else wanted.item.removeprefix(INPUT)
    numbered = _numbered(name.removeprefix(INPUT) for name in input_names)
    one_item = None if stem in numbered else item_column(seen, wanted.item, INPUT, "HITId")
    status = [name for name in ("AssignmentStatus", "Reject") if name in seen.header]
    columns = read_columns(seen, ["HITId", "WorkerId", *status, *input_names, *answer_names]).to_pydict()
    rows, unpivoted = Rows(), None
    flat = [_answers(cells) for cells in zip(*_named(columns, answer_names), strict=True)]
    if stem in numbered or wanted.item is None:
        unpivoted = _unpivot(numbered, {question for answers in flat for question in answers}, stem, seen)
    for n, answers in enumerate(flat):
        worker = columns["WorkerId"][n]
        if _rejected(columns, n):
            rows.drop("rejected")
        elif unpivoted:
            input_stem, numbers = unpivoted
            for number in numbers:
                item = columns[f"{INPUT}{input_stem}{number}"][n]
                asked = {
                    question.removesuffix(number): value for question, value in answers.items() if _number(question) == number
                }
                if item is None and not any(asked.values()):
                    continue  # the last HIT of a batch may be half full
                rows.add(item, worker, asked)
        else:
            rows.add(columns[one_item or "HITId"][n], worker, answers)
    where = f"{INPUT}{unpivoted[0]}1..." if unpivoted else one_item or "HITId"
    notes = (
        ["Every HIT asks about several items: inputs and answers of the same number were taken together."] if unpivoted else []
    )
    if not unpivoted and one_item == "HITId" and len(input_names) > 1:
        notes.append(f"Items are HITs; to tell them by an input instead, give --item-column, one of {listed(input_names)}.")
    return rows.finish(seen.path.name, wanted, {"item": where, "worker": "WorkerId", "label": "Answer.*"}, notes)


def _named(columns: Mapping[str, list[Any]], names: Sequence[str]) -> list[list[tuple[str, str]]]:
    return [[(name.removeprefix(ANSWER), cell or "") for cell in columns[name]] for name in names]


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
        if question and len(choices) > 1 and all(cell.lower() in BOOLEANS for cell in choices.values()):
            answers[question] = [choice for choice, cell in choices.items() if BOOLEANS[cell.lower()]]
        else:
            for choice, cell in choices.items():
                answers[f"{question}.{choice}" if question else choice] = [cell] if cell.strip() else []
    return answers


def _rejected(columns: Mapping[str, list[Any]], n: int) -> bool:
    status, reason = columns.get("AssignmentStatus"), columns.get("Reject")
    return bool((status and (status[n] or "").strip().lower() == "rejected") or (reason and (reason[n] or "").strip()))


def _number(name: str) -> str | None:
    found = NUMBERED.fullmatch(name)
    return found.group(2) if found else None


def _numbered(names: Any) -> dict[str, set[str]]:
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
            f"Every HIT in {shown_file(seen.path.name)} asks about several items, and any input among "
            f"{listed(stems)} could name them; choose one with --item-column."
        )
    return (stems[0], sorted(inputs[stems[0]], key=int)) if stems else None
