"""Files of tools that are known but not read: refused by name, with what to export instead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.formats.marks import Mark
from crowdassay.labels.formats.parse import is_map
from crowdassay.labels.probe import Probe
from crowdassay.labels.raw import kind_of, opened
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import mapping, shown, shown_file

PLAIN_TABLE = "a table with one row per judgement: item, worker, label"
XML_BYTES = 1 << 12  # bytes of other files that are looked at
MARKS_PARTS = "it marks parts of texts or pictures, which are no classes"
FOR_TAGS = f"{MARKS_PARTS}. For image tags, write {PLAIN_TABLE}, from each annotator's own job"
FOR_DOCUMENTS = f"{MARKS_PARTS}. For document labels, write {PLAIN_TABLE}"
QUALTRICS_JSON = "an export of Qualtrics as JSON", f"export it as CSV, and write the answers as {PLAIN_TABLE}"
SURVEY_MARKS = (Mark("ResponseId", "StartDate"), Mark("Response ID", "Start Date"))
FOREIGN_TABLES = (
    (
        SURVEY_MARKS, "a survey of Qualtrics, with a row per person and a column per question",
        "say --from forms, and which columns are items with --item-column, a pattern such as 'Q*'",
    ),
    ((Mark(start="#FORMAT=WebAnno"),), "a WebAnno TSV of INCEpTION or WebAnno", FOR_DOCUMENTS),
)  # fmt: skip
FOREIGN_RECORDS = (
    ((Mark("images", "annotations", "categories"),), "a COCO file", f"{MARKS_PARTS}. Give {PLAIN_TABLE}"),
    (
        (Mark("categories", "items", "info"), Mark("version", "tags", "shapes", "tracks")), "an export of CVAT", FOR_TAGS,
    ),
    (
        (Mark("%TYPES"), Mark("%FEATURE_STRUCTURES"), Mark("%VIEWS")), "an export of INCEpTION (UIMA CAS)", FOR_DOCUMENTS,
    ),
    ((Mark("responseId", "values"),), *QUALTRICS_JSON),
)  # fmt: skip


def refuse_foreign(probe: Probe) -> None:
    """Raise `DataError` if a file is one that a known tool writes and that we do not read."""
    known = FOREIGN_TABLES if probe.header else FOREIGN_RECORDS
    tool = next(((what, remedy) for marks, what, remedy in known if any(mark.fits(probe) for mark in marks)), None)
    if tool is None and not probe.header:
        tool = QUALTRICS_JSON if _holds_responses(probe) else _unnamed(probe.first)
    if tool is not None:
        raise DataError(f"{probe.shown} is {tool[0]}; {tool[1]}.")


def refuse_other(path: Path) -> None:
    """Raise `DataError` if a file's extension is one that a known tool uses and that we do not read."""
    if tool := _other(path):
        raise DataError(f"{shown_file(path.name)} is {tool[0]}; {tool[1]}.")


def _unnamed(first: Any) -> tuple[str, str] | None:
    """Return what is missing where labels are there but not whose they are."""
    if is_map(first):
        return "an object of objects with names and labels", (
            "say --from wide if the outer names are items and the inner ones workers, --from forms if the outer are workers"
        )
    if (named := _maps_labels(mapping(first))) is not None:
        return f"a file whose {shown(named)} give a label for each of several names", (
            f"say --from nested if these names are workers; otherwise give {PLAIN_TABLE}"
        )
    if (named := _lists_labels(mapping(first))) is not None:
        return f"a file whose {shown(named)} list labels without saying who gave which", f"give {PLAIN_TABLE}"
    return None


def _maps_labels(record: dict[str, Any]) -> str | None:
    """Return the key of an object that may be labels by worker, or answers by question.

    >>> _maps_labels({"id": "1", "votes": {"ann": "a", "bob": "b"}}), _maps_labels({"worker": "ann", "votes": {"q1": "a"}})
    ('votes', None)
    """
    if any(ROLES["worker"].is_named(name) for name in record):
        return None
    return next(
        (name for name, value in record.items() if ROLES["label"].is_named(name.removesuffix("s")) and is_map({"": value})),
        None,
    )


def _lists_labels(record: dict[str, Any]) -> str | None:
    """Return the key of several labels whose workers are not known.

    >>> _lists_labels({"id": "1", "annotator_labels": ["yes", "no"]}), _lists_labels({"user": "ann", "labels": ["a", "b"]})
    ('annotator_labels', None)
    """
    if any(ROLES["worker"].is_named(name) for name in record):
        return None
    plurals = tuple(f"{word}s" for word in ROLES["label"].words)
    for name, value in record.items():
        several = isinstance(value, list) and len(value) > 1 and not any(isinstance(one, list | dict) for one in value)
        if several and name.lower().endswith(plurals):
            return name
    return None


def _holds_responses(probe: Probe) -> bool:
    responses = mapping(probe.first).get("responses")
    return isinstance(responses, list) and bool(responses) and "responseId" in mapping(responses[0])


def _other(path: Path) -> tuple[str, str] | None:
    suffix = kind_of(path)
    if suffix == ".ann":
        return "a brat annotation file", f"{MARKS_PARTS}. Give {PLAIN_TABLE}"
    if suffix not in {".xml", ".xmi"}:
        return None
    with opened(path) as stream:
        start = stream.read(XML_BYTES).decode("utf-8", errors="replace")
    if re.search(r"<annotations>\s*<version>", start):
        return "an export of CVAT", FOR_TAGS
    if "http://www.omg.org/XMI" in start:
        return "an export of INCEpTION (UIMA XMI)", FOR_DOCUMENTS
    return "an XML file", f"give {PLAIN_TABLE}, as CSV, JSON or Parquet"
