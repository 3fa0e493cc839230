"""Mechanical Turk's assignments as its programming interface gives them: the answers of a worker as one XML text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from crowdassay.labels.formats.parse import answers_in, each_row, objects, parsed, read_columns
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

HIT, WORKER, ANSWER, STATUS, TIME = "HITId", "WorkerId", "Answer", "AssignmentStatus", "SubmitTime"
XML = "QuestionFormAnswers"
LIST = "Assignments"  # which holds them in what the interface returns
FORM = "taskAnswers"  # the answers of a form, as JSON
# Only these few elements matter, and no entity is ever expanded but the five that stand for characters.
ONE = re.compile(r"<Answer>(.*?)</Answer>", re.DOTALL)
QUESTION = re.compile(r"<QuestionIdentifier>(.*?)</QuestionIdentifier>", re.DOTALL)
GIVEN = re.compile(r"<(?:FreeText|SelectionIdentifier|OtherSelectionText)>(.*?)</", re.DOTALL)


def recognise(probe: Probe) -> bool:
    """Tell whether rows or records are assignments with their answers in XML."""
    if probe.kind == "delimited":
        return {HIT, WORKER, ANSWER} <= set(probe.header) and XML.encode() in (probe.start or probe.data or b"")
    first = next(iter(objects(mapping(probe.first).get(LIST))), mapping(probe.first))
    return {HIT, WORKER, ANSWER} <= first.keys() and XML in str(first[ANSWER])


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all questions; rejected assignments are left out."""
    rows = Annotations({"item": wanted.item_column or HIT, "worker": WORKER, "label": f"{ANSWER}.*"})
    for row in _assignments(probe, rows, rows.columns["item"]):
        if str(row.get(STATUS)).strip().lower() == "rejected":
            rows.drop("rejected")
        else:
            time = row.get(TIME)
            rows.add(row.get(rows.columns["item"]), row.get(WORKER), answers_in_xml(str(row.get(ANSWER) or "")), time=time)
    return rows


def answers_in_xml(text: str) -> dict[str, list[Any]]:
    """Return what was answered to each question.

    >>> answers_in_xml("<Answer><QuestionIdentifier>tone</QuestionIdentifier><FreeText>R&amp;B</FreeText></Answer>")
    {'tone': ['R&B']}
    """
    answers: dict[str, list[Any]] = {}
    for one in ONE.findall(text):
        question = QUESTION.search(one)
        given = [html.unescape(value).strip() for value in GIVEN.findall(one)]
        if question is None:
            continue
        if question[1] == FORM and given:
            answers.update(answers_in(parsed(given[0])))
        else:
            answers[html.unescape(question[1])] = [value for value in given if value]
    return answers


def _assignments(probe: Probe, rows: Annotations, item: str) -> Iterator[dict[str, Any]]:
    if probe.kind == "delimited":
        more = [name for name in (STATUS, TIME) if name in probe.header]
        yield from each_row(
            read_columns(probe, list(dict.fromkeys([item, WORKER, ANSWER, *more])), [item, WORKER, ANSWER], rows)
        )
        return
    for record in probe.records():
        yield from objects(record[LIST]) if LIST in record else [record]
