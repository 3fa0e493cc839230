"""Mechanical Turk's assignments as its programming interface gives them: the answers of a worker as one XML text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from crowdassay.labels.formats.parse import answers_in, objects, parsed, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import mapping
from crowdassay.read_options import ReadOptions

API_HIT, API_WORKER, API_ANSWER, API_STATUS, API_TIME = "HITId", "WorkerId", "Answer", "AssignmentStatus", "SubmitTime"
XML_MARK = "QuestionFormAnswers"
API_LIST = "Assignments"  # which holds them in what the interface returns
FORM_QUESTION = "taskAnswers"  # the answers of a form, as JSON
# Only these few elements matter, and no entity is ever expanded but the five that stand for characters.
ANSWER_XML = re.compile(r"<Answer>(.*?)</Answer>", re.DOTALL)
QUESTION_XML = re.compile(r"<QuestionIdentifier>(.*?)</QuestionIdentifier>", re.DOTALL)
CHOICE_XML = re.compile(r"<(?:FreeText|SelectionIdentifier|OtherSelectionText)>(.*?)</", re.DOTALL)


def recognise(probe: Probe) -> bool:
    """Return whether rows or records are assignments with their answers in XML."""
    if probe.kind == "delimited":
        return probe.has(API_HIT, API_WORKER, API_ANSWER) and XML_MARK.encode() in (probe.start or probe.data or b"")
    first = next(iter(objects(mapping(probe.first).get(API_LIST))), mapping(probe.first))
    return {API_HIT, API_WORKER, API_ANSWER} <= first.keys() and XML_MARK in str(first[API_ANSWER])


def read(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all questions; rejected assignments are left out."""
    item = wanted.item_column or API_HIT
    rows = Annotations({"item": item, "worker": API_WORKER, "label": f"{API_ANSWER}.*"})
    for row in _assignments(probe, rows, item):
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
        if question is None:
            continue
        if question[1] == FORM_QUESTION and given:
            answers.update(answers_in(parsed(given[0])))
        else:
            answers[html.unescape(question[1])] = [value for value in given if value]
    return answers


def _assignments(probe: Probe, rows: Annotations, item: str) -> Iterator[dict[str, Any]]:
    if probe.kind == "delimited":
        yield from read_table(probe, rows, [item, API_WORKER, API_ANSWER], [API_STATUS, API_TIME])
        return
    for record in probe.records():
        yield from objects(record[API_LIST]) if API_LIST in record else [record]
