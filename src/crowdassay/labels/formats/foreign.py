"""Files of tools that are known but not read: refused by name, with what to export instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.delimited import first_rows
from crowdassay.labels.formats.marks import Mark
from crowdassay.labels.formats.parse import is_map, objects
from crowdassay.labels.jsontext import records_by_name
from crowdassay.labels.probe import Probe
from crowdassay.labels.raw import kind_of, opened
from crowdassay.labels.roles import ITEM_WORKER_LABEL, ROLES, plain_name
from crowdassay.labels.values import mapping, shown, shown_file
from crowdassay.read_options import join_names

PLAIN_TABLE = "a table with one row per judgement: item, worker, label"
XML_BYTES = 1 << 12  # bytes of other files that are looked at
MARKS_PARTS = "it marks parts of texts or pictures, which are no classes"
FOR_TAGS = f"{MARKS_PARTS}. For image tags, write {PLAIN_TABLE}, from each annotator's own job"
FOR_DOCUMENTS = f"{MARKS_PARTS}. For document labels, write {PLAIN_TABLE}"
QUALTRICS_JSON = "an export of Qualtrics as JSON", f"export it as CSV, and write the answers as {PLAIN_TABLE}"
SURVEY_MARKS = (Mark("ResponseId", "StartDate"), Mark("Response ID", "Start Date"))
TAG = re.compile(r"[BIESLU]-[A-Za-z][\w-]*")  # what a token is tagged with: the beginning, the inside or the end of a name
SURE_TAG = ("B-", "I-")  # without which the other letters begin names of other things, such as E-t5-base
TOKENS_LOOKED_AT = 200  # rows
SPAN_COLUMNS = tuple(
    (form.format(first), form.format(last))
    for form in ("{}offset", "{}char", "char{}", "{}index", "{}idx", "{}position", "{}pos", "span{}", "{}")
    for first, last in (("start", "end"), ("begin", "end"))
)
LIMESURVEY = frozenset({"id", "lastpage", "startlanguage"})  # codes of its first columns
REDCAP_ID = "recordid"
QUALTRICS_ID = "responseid"
QUALTRICS = frozenset({"distributionchannel", "recordeddate", "startdate", "userlanguage"})  # columns beside it
REDCAP_ENDINGS = ("complete", "surveytimestamp", "dataaccessgroup", "surveyidentifier")  # of columns beside it
IBEX_ROW = re.compile(r"\d{9,},[0-9a-f]{32},[^,]+,\d+,\d+,")  # time, hash of who answered, controller, and two numbers
IBEX_BYTES = 1 << 14  # that hold the comments above the first rows
IBEX = (
    "a file of results of PCIbex, whose rows have no header and hold different things",
    "keep the rows that hold answers, all of one length and without the comments, which say what each field is, and name "
    "fields by their number, such as --no-header --item-column 4 --worker-column 2 --label-column 11 (the second says who "
    "answered, the eleventh what, where the tenth is Choice or Selection)",
)
FOREIGN_TABLES = (
    ((Mark(start="#FORMAT=WebAnno"),), "a WebAnno TSV of INCEpTION or WebAnno", FOR_DOCUMENTS),
)  # fmt: skip
ERROR_SPANS = Mark("rater", "target", "category", "severity")
SEGMENTS = (("globalsegid",), ("segid",), ("segmentid",), ("docid", "docsegid"), ("doc", "docsegid"))  # what tells a segment
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
        responses = objects(mapping(probe.first).get("responses"))
        tool = QUALTRICS_JSON if responses and "responseId" in responses[0] else _unnamed(probe)
    if probe.header and any(mark.fits(probe) for mark in SURVEY_MARKS):
        from crowdassay.labels.formats.forms import said_of_survey  # noqa: PLC0415 - seldom needed

        tool = "a survey of Qualtrics, with a row per person and a column per question", said_of_survey(probe)
    if tool is None and probe.header and ERROR_SPANS.fits(probe):
        tool = (
            "a table of error spans (MQM), of which a segment may have several",
            f"give {PLAIN_TABLE}, such as the worst severity that each rater found in a segment{_of_errors(probe.header)}",
        )
    if tool is None and is_of_ibex(probe):
        tool = IBEX
    if tool is None and (probe.header or probe.keys):
        tool = _parts_of_texts(probe)
    if tool is not None:
        raise DataError(f"{probe.shown} is {tool[0]}; {tool[1]}.")


def _of_errors(header: Sequence[str]) -> str:
    """Return the options that read one column of errors in segments, where columns for them are there; nothing elsewhere.

    >>> _of_errors(["system", "doc", "seg_id", "rater", "category", "severity"]).partition(", which")[0]
    "; or say --item-column 'system,seg_id' --worker-column 'rater' --label-column 'severity'"
    >>> _of_errors(["doc", "annotator", "start", "end", "label"])
    ''
    """
    names = {plain_name(name): name for name in reversed(header)}
    segment = [names[part] for part in next((parts for parts in SEGMENTS if names.keys() >= {*parts}), ())]
    items = [names["system"], *segment] if "system" in names and segment else segment or ROLES["item"].best(header)[:1]
    workers, severity = ROLES["worker"].best(header), names.get("severity")
    if not items or not workers or severity is None:
        return ""
    return (
        f"; or say --item-column {shown_file(join_names(items))} --worker-column {shown_file(workers[0])} --label-column "
        f"{shown_file(severity)}, which reads one column of it: labels of a rater that repeat a segment are several errors then"
    )


def is_of_limesurvey(probe: Probe) -> bool:
    """Return whether a table is a survey of LimeSurvey: a row for each person, a column for each question."""
    return {code_of(name) for name in probe.header} >= LIMESURVEY


def is_of_survey(probe: Probe) -> bool:
    """Return whether a table is a survey of LimeSurvey, REDCap or Qualtrics, whose id of a row is a person's and no item's."""
    names = set(map(plain_name, probe.header))
    of_redcap = REDCAP_ID in names and any(name.endswith(REDCAP_ENDINGS) for name in names)
    return is_of_limesurvey(probe) or of_redcap or (QUALTRICS_ID in names and not QUALTRICS.isdisjoint(names))


def code_of(name: str) -> str:
    """Return the code of a question, which LimeSurvey writes before its text.

    >>> code_of("R1Q1. Is it clear?"), code_of("token")
    ('R1Q1', 'token')
    """
    return name.partition(". ")[0]


def is_of_ibex(probe: Probe) -> bool:
    """Return whether the first rows of a text, below comments, are of Ibex or PCIbex.

    >>> row = f"1498778944,{'a1' * 16},AcceptabilityJudgment,27,0,neut8,8,How?,Neutral,NULL,4700"
    >>> [is_of_ibex(Probe(Path(), "delimited", start=text)) for text in (f"# Results{chr(10)}{row}".encode() * 2, b"time,hash")]
    [True, False]
    """
    lines = (probe.start or probe.data or b"")[:IBEX_BYTES].decode("utf-8", errors="replace").splitlines()
    rows = [line for line in lines if line.strip() and not line.startswith("#")][:2]
    return len(rows) > 1 and all(map(IBEX_ROW.match, rows))


def _parts_of_texts(probe: Probe) -> tuple[str, str] | None:
    """Return what is said of a table whose rows are tokens with tags, or spans of a text from one character to another."""
    rows = first_rows(probe.start or probe.data or b"", probe.dialect) if probe.dialect else [mapping(probe.first)]
    found = [ROLES[role].best(list(probe.keys)) for role in ITEM_WORKER_LABEL]
    if all(found):
        judged = {(str(row.get(found[0][0])), str(row.get(found[1][0]))) for row in rows}
        if len(judged) == len(rows):
            return None  # one label by each worker on each token or part, which is an item
    if (tag := _tag(probe.header, rows[:TOKENS_LOOKED_AT])) is not None:
        return f"a table of tokens with tags such as {shown(tag)} (CoNLL)", FOR_DOCUMENTS
    for first, last in SPAN_COLUMNS:
        names = [next((name for name in probe.keys if plain_name(name) == one), None) for one in (first, last)]
        spans = [[str(row.get(name, "")) for name in names if name] for row in rows if all(names)]
        if spans and all(ends[0].isdecimal() and ends[1].isdecimal() and int(ends[0]) <= int(ends[1]) for ends in spans):
            said = f"a table of spans, each from {shown(names[0])} to {shown(names[1])} of a text"
            return said, f"{FOR_DOCUMENTS}{_of_errors(probe.header)}"
    return None


def _tag(header: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a tag of tokens, from a column that holds tags of beginnings or insides; the first line may be tokens as well.

    >>> _tag(["text", "by"], [{"text": "a frog", "by": "E-t5-base"}])
    >>> _tag(["EU", "S-ORG"], [{"EU": "in", "S-ORG": "O"}, {"EU": "New", "S-ORG": "B-LOC"}])
    'S-ORG'
    """
    if "-DOCSTART-" in header:
        return "-DOCSTART-"
    names = list(dict.fromkeys([*header, *(name for row in rows for name in row)]))
    for name in names:
        cells = [name if name in header else None, *(row.get(name) for row in rows)]
        tags = [cell for cell in cells if isinstance(cell, str) and TAG.fullmatch(cell)]
        if any(tag.startswith(SURE_TAG) for tag in tags):
            return tags[0]
    return None


def refuse_other(path: Path) -> None:
    """Raise `DataError` if a file's extension is one that a known tool uses and that we do not read."""
    suffix, tool = kind_of(path), None
    if suffix in {".conll", ".conllu", ".iob", ".bio"}:
        tool = "a file of tokens with tags (CoNLL)", FOR_DOCUMENTS
    elif suffix == ".ann":
        tool = "a brat annotation file", f"{MARKS_PARTS}. Give {PLAIN_TABLE}"
    elif suffix in {".xml", ".xmi"}:
        with opened(path) as stream:
            start = stream.read(XML_BYTES).decode("utf-8", errors="replace")
        tool = "an XML file", f"give {PLAIN_TABLE}, as CSV, JSON or Parquet"
        if re.search(r"<annotations>\s*<version>", start):
            tool = "an export of CVAT", FOR_TAGS
        elif "http://www.omg.org/XMI" in start:
            tool = "an export of INCEpTION (UIMA XMI)", FOR_DOCUMENTS
    if tool is not None:
        raise DataError(f"{shown_file(path.name)} is {tool[0]}; {tool[1]}.")


def _unnamed(probe: Probe) -> tuple[str, str] | None:
    """Return what is missing where labels are there but not whose they are.

    >>> _unnamed(Probe(Path(), "records", first={"worker": "ann", "votes": {"q1": "a"}}))
    """
    record = next(probe.rows(), {}) if records_by_name(probe.first) else mapping(probe.first)
    if is_map(probe.first) and not all(ROLES[role].best(list(record)) for role in ITEM_WORKER_LABEL):
        from crowdassay.labels.formats.wide import proposal_matrix  # noqa: PLC0415 - seldom needed

        if not proposal_matrix(probe):
            return "an object of objects, not of labels by name", f"give {PLAIN_TABLE}"
        return "an object of objects with names and labels", (
            "say --from wide if the outer names are items and the inner ones workers, --from forms if the outer are workers"
        )
    said = _without_workers(probe) if _may_list_labels(record) else None
    if said is not None or ROLES["worker"].best(list(record)):
        return said
    for name, value in record.items():
        if ROLES["label"].is_named(name.removesuffix("s")) and is_map({"": value}):
            from crowdassay.labels.formats.nested import proposal_objects  # noqa: PLC0415 - seldom needed

            told = "say --from nested if these names are workers; otherwise " if proposal_objects(probe) else ""
            return f"a file whose {shown(name)} give a label for each of several names", f"{told}give {PLAIN_TABLE}"
    plurals = tuple(f"{word}s" for word in ROLES["label"].words)
    for name, value in record.items():
        several = isinstance(value, list) and len(value) > 1 and not any(isinstance(one, list | dict) for one in value)
        if several and name.lower().endswith(plurals):
            return f"a file whose {shown(name)} list labels without saying who gave which", f"give {PLAIN_TABLE}"
    return None


def _without_workers(probe: Probe) -> tuple[str, str] | None:
    """Return what lists of labels lack, and what to do; None where a file has none."""
    from crowdassay.labels.formats.nested import said_of_places  # noqa: PLC0415 - seldom needed

    said = said_of_places(probe)
    return None if said is None else (f"a file whose {said[0]}", said[1])


def _may_list_labels(record: Mapping[str, Any]) -> bool:
    """Return whether a record holds a list of several, and no worker; a model beside it may be what was rated.

    Without a label of its own it may be in lists of objects, or in numbered objects.
    """
    worker = ROLES["worker"].best(list(record))[:1]
    plain = [name for name, value in record.items() if not isinstance(value, list)]
    rated = worker and plain_name(worker[0]).removesuffix("id") in ROLES["worker"].late_words and not ROLES["label"].best(plain)
    several = any(isinstance(value, list) and len(value) > 1 for value in record.values())
    numbered = sum(isinstance(value, dict) and any(map(str.isdigit, name)) for name, value in record.items()) > 1
    inside = (numbered or any(map(objects, record.values()))) and not ROLES["label"].best(plain)
    return (rated or not worker) and (several or inside)
