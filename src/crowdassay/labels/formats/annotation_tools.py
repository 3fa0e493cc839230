"""Tools for annotation, but for Label Studio: doccano, Prodigy, Kili, Argilla, Labelbox and Potato, in this order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.formats.parse import SPANS, as_list, as_name, field_of, file_stem, first_of, objects, parsed, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import mapping, shown, shown_file
from crowdassay.read_options import ReadOptions

# doccano
ANSWER_KEYS = ("label", "labels", "cats")
# Prodigy
UNNAMED_SESSION = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d$")  # what Prodigy calls a session that was given no name
# Kili
# Labels that are nobody's judgement, and why they are left out.
NOT_ANNOTATIONS = {"AUTOSAVE": "drafts", "REVIEW": "reviews"}
MODEL_LABELS = frozenset({"PREDICTION", "INFERENCE"})
# Argilla
RESPONSES_ENDING, SUGGESTION_ENDING = ".responses", ".suggestion"
OLD_ENDING = "-suggestion"  # beside a question of a feedback dataset, before version 2
RESPONSE_KEYS = ("user_id", "value", "status")
UNFINISHED = ("discarded", "draft")
# Labelbox
V1_FIELDS = ("Labeled Data", "Created By", "Label")  # what every record of v1 has
CLASSIFICATION_ANSWERS = ("radio_answer", "checklist_answers", "checklist_answer", "answers", "answer")
V1_ITEMS = ("DataRow ID", "Labeled Data")  # the oldest have no ids of data rows
# Potato
POTATO_ITEM, POTATO_ANSWERS, POTATO_TEXT = "instance_id", "label_annotations", "displayed_text"
POTATO_WORKERS = ("user_id", "user")
OPTION_MARK = ":::"  # between a question and an option in the name of a column
PAGE_ENDING = ".html"  # of what Potato calls surveyflow: pages of consent, of instructions, of questions about the person
NOT_TICKED, TICKED = frozenset({"", "false", "none", "null"}), frozenset({"1", "true", "on"})


def recognise_doccano(probe: Probe) -> bool:
    """Return whether records have a text or file and a list of labels, and no worker column."""
    if len({PurePosixPath(name).suffix for name in probe.names}) > 1:
        return False
    lists = any(isinstance(probe.first.get(name), list) or (probe.archived and name in probe.first) for name in ANSWER_KEYS)
    users = any("user" in entry for entry in objects(probe.first.get("annotations")))
    return (users or lists) and not any(ROLES["worker"].is_named(name) for name in probe.keys - {"username"})


def read_doccano(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the labels; the worker is the file's name, or `username` or `annotations[].user` in old exports."""
    rows = Annotations(wanted.item_column or "id", "file name")
    for name, record in probe.named_records():
        item = record.get(wanted.item_column) if wanted.item_column else record.get("id", record.get("doc_id"))
        rows.add_text(item, record.get("text", record.get("data")))
        if isinstance(record.get("annotations"), list):
            users: dict[str | None, list[Any]] = defaultdict(list)
            for annotation in objects(record["annotations"]):
                users[as_name(annotation.get("user"))].append(annotation.get("label"))
            for user, labels in users.items():
                rows.add(item, user, {"label": labels})
            continue
        worker = record.get("username")
        if worker is None:
            worker = file_stem(name)
            if not wanted.worker_from_filename and (not probe.archived or worker.lower() == "all"):
                raise DataError(
                    f"{shown_file(name)} does not say who gave which label: doccano writes each user's labels to a file of "
                    "their own only when the project does not share annotations across all users; export such a project and "
                    "give its whole zip. If this file holds the labels of one user, after whom it is named, say "
                    "--worker-from-filename."
                )
        answers = {field: as_list(record[field]) for field in ANSWER_KEYS if field in record}
        if name.lower().endswith(".csv"):  # which joins labels into one text
            answers = {field: [one for text in given for one in text.split("#")] for field, given in answers.items()}
        answers = {field: given for field, given in answers.items() if _classes(given) == given}
        if answers:
            rows.add(item, worker, answers)
        else:
            rows.drop(SPANS)
    return rows


def read_prodigy(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the options chosen, or accept and reject in binary tasks; ignored tasks are left out."""
    field, unnamed = wanted.item_column, set()
    rows = Annotations(field or "_input_hash or _task_hash", "_annotator_id")
    for name, record in ((name, version) for name, outer in probe.named_records() for version in _versions(outer)):
        worker = as_name(record.get("_annotator_id") or record.get("_session_id"))
        if wanted.worker_from_filename:
            worker = file_stem(name)
        if worker and UNNAMED_SESSION.search(worker):
            unnamed.add(worker)
        manual, view, answer = "options" in record or "accept" in record, str(record.get("_view_id", "")), record.get("answer")
        if answer == "ignore":
            rows.drop("ignored")
        elif manual and answer == "reject":  # a remark on the task: Prodigy's own review leaves it out too
            rows.drop("rejected")
        elif not manual and (view.endswith("_manual") or view == "relations"):
            rows.drop(SPANS)
        else:
            hashes = ("_input_hash", "_task_hash") if manual else ("_task_hash", "_input_hash")
            item = first_of(record, hashes) if field is None else field_of(record, field, "meta")
            asked = "accept" if manual else "answer"
            rows.add(item, worker, {asked: as_list(record.get(asked))}, time=record.get("_timestamp"))
            rows.add_text(item, record.get("text"))
    if not rows.has_workers() and not rows.dropped:
        raise DataError(
            f"{probe.shown} does not say who gave which answer: no record has _annotator_id or _session_id; "
            "annotate in named sessions (add ?session=name to the address) and export with db-out again, or, if every worker "
            "has a file, say --worker-from-filename."
        )
    if unnamed:
        rows.note(
            f"Sessions without a name: {len(unnamed)}; their workers are named after the time they began, so that one person "
            "may look like many. Name sessions with ?session=name."
        )
    return rows


def _versions(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record as it is; of one that was reviewed, what each session had answered, and not the reviewer's word.

    >>> list(_versions({"_task_hash": 7, "answer": "accept", "versions": [{"answer": "reject", "sessions": ["ann"]}]}))
    [{'_task_hash': 7, 'answer': 'reject', 'sessions': ['ann'], '_session_id': 'ann'}]
    """
    versions = [version for version in objects(record.get("versions")) if as_list(version.get("sessions"))]
    if not versions:
        yield record
    shared = {name: value for name, value in record.items() if name not in {"versions", "_annotator_id", "accept", "answer"}}
    for version in versions:
        for session in as_list(version["sessions"]):
            yield {**shared, **version, "_session_id": session}


def recognise_kili(probe: Probe) -> bool:
    """Return whether a record is an asset whose labels have a response in JSON."""
    return any("jsonResponse" in label for label in _kili_labels(mapping(probe.first)))


def read_kili(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the categories of every job; a label that its author replaced is left out."""
    field = wanted.item_column or "id"
    rows = Annotations(field, "labels.author")
    for asset in probe.records():
        rows.add_text(asset.get(field), asset.get("content"))
        for label in _kili_labels(asset):
            kind, response = label.get("labelType"), mapping(parsed(label.get("jsonResponse")))
            answers = {
                job: [choice.get("name") for choice in objects(content["categories"])]
                for job, content in response.items()
                if "categories" in mapping(content)
            }
            if kind in NOT_ANNOTATIONS:
                rows.drop(NOT_ANNOTATIONS[kind])
            elif kind in MODEL_LABELS:
                rows.add_prediction(asset.get(field), label.get("modelName"), answers)
            elif label.get("isLatestLabelForUser") is False:
                rows.drop("replaced by a later label")
            else:
                author = mapping(label.get("author"))
                worker = author.get("email") or author.get("id")
                rows.add(asset.get(field), worker, answers, label.get("createdAt"), label.get("secondsToLabel"))
    return rows


def _kili_labels(asset: dict[str, Any]) -> list[dict[str, Any]]:
    return objects(asset.get("labels")) or objects([asset.get("latestLabel")])


def recognise_argilla(probe: Probe) -> bool:
    """Return whether records hold responses by question."""
    nested = isinstance(probe.first, dict) and isinstance(probe.first.get("responses"), dict) and probe.has("fields")
    flat = any(name.endswith(f"{RESPONSES_ENDING}.users") for name in probe.keys)
    return (
        nested or flat or any(name.endswith(OLD_ENDING) and name.removesuffix(OLD_ENDING) in probe.keys for name in probe.keys)
    )


def read_argilla(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the responses to one question; discarded ones and drafts are left out where the export tells."""
    rows, silent = Annotations(wanted.item_column or "id", "user_id", "responses.*"), False
    for record in probe.records():
        field = wanted.item_column
        item = record.get("id", record.get("_server_id")) if field is None else field_of(record, field, "fields")
        answers: dict[Any, dict[str, list[Any]]] = defaultdict(dict)
        states: dict[Any, set[Any]] = defaultdict(set)
        for question, user, value, status in _responses(record):
            answers[as_name(user)][question] = _classes(value)
            states[as_name(user)].add(as_name(status))
        for user, given in answers.items():
            silent |= None in states[user]
            if left_out := [state for state in UNFINISHED if state in states[user]]:
                rows.drop(left_out[0])
            else:
                rows.add(item, user, given)
        agents: dict[Any, dict[str, list[Any]]] = defaultdict(dict)
        for question, agent, value in _suggestions(record):
            agents[as_name(agent)][question] = _classes(value)
        for agent, given in agents.items():
            rows.add_prediction(item, agent, given)
    if silent:
        rows.note(
            "This export does not say which responses are drafts or were discarded, so all were kept; "
            "to_list(flatten=True) and to_datasets() do say."
        )
    return rows


def _responses(record: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield question, user, value and status of every response."""
    nested = record.get("responses")
    if isinstance(nested, dict):
        for question, several in nested.items():
            yield from ((question, *map(given.get, RESPONSE_KEYS)) for given in objects(several))
        return
    for name in [name.removesuffix(OLD_ENDING) for name in record if name.endswith(OLD_ENDING)]:
        several = record.get(name)
        if isinstance(several, dict):  # a column of lists, as Parquet has it
            lists = [as_list(several.get(key)) for key in RESPONSE_KEYS]
            several = [dict(zip(RESPONSE_KEYS, cells, strict=True)) for cells in zip(*lists, strict=False)]
        yield from ((name, *map(given.get, RESPONSE_KEYS)) for given in objects(several))
    for name, several in record.items():
        if name.endswith(RESPONSES_ENDING) and isinstance(several, list):
            users, states = as_list(record.get(f"{name}.users")), as_list(record.get(f"{name}.status"))
            for user, value, status in zip(users, several, states or [None] * len(several), strict=False):
                yield name.removesuffix(RESPONSES_ENDING), user, value, status


def _suggestions(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    nested = record.get("suggestions")
    if isinstance(nested, dict):
        for question, given in nested.items():
            if isinstance(given, dict):
                yield question, given.get("agent"), given.get("value")
        return
    for name, value in record.items():
        if name.endswith(SUGGESTION_ENDING) and value is not None:
            yield name.removesuffix(SUGGESTION_ENDING), record.get(f"{name}.agent"), value


def _classes(value: Any) -> list[Any]:
    return [choice for choice in as_list(value) if not isinstance(choice, list | dict)]  # rankings and spans are objects


def recognise_labelbox(probe: Probe) -> bool:
    """Return whether a record is a data row with projects, or has the fields of v1."""
    if probe.has(*V1_FIELDS):
        return True
    return probe.has("data_row", "projects") and isinstance(mapping(probe.first).get("projects"), dict)


def read_labelbox(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all classifications; skipped labels are left out."""
    if probe.has(*V1_FIELDS):
        return _read_first(probe, wanted)
    field = (wanted.item_column or "id").removeprefix("data_row.")
    rows, projects = Annotations(f"data_row.{field}", "label_details.created_by"), set()
    for record in probe.records():
        row = mapping(record.get("data_row"))
        item = row.get(field)
        rows.add_text(item, row.get("row_data"))
        for project, content in mapping(record.get("projects")).items():
            for label in objects(mapping(content).get("labels")):
                projects.add(project)
                facts = mapping(label.get("performance_details"))
                if facts.get("skipped"):
                    rows.drop("skipped")
                    continue
                details = mapping(label.get("label_details"))
                answers = _labelbox_answers(objects(mapping(label.get("annotations")).get("classifications")))
                rows.add(item, details.get("created_by"), answers, details.get("created_at"), facts.get("seconds_to_create"))
    if rows.annotations and not rows.has_workers():
        raise DataError(
            f"{probe.shown} does not say who gave which label: no label has label_details; export it with label "
            "details (label_details=True)."
        )
    if len(projects) > 1:
        rows.note(f"Labels of {len(projects)} projects were taken together.")
    return rows


def _read_first(probe: Probe, wanted: ReadOptions) -> Annotations:
    field = wanted.item_column or next(name for name in V1_ITEMS if name in probe.keys)
    rows = Annotations(field, "Created By")
    needed = (field, "Created By", "Label")
    if probe.kind == "delimited" and (missing := [name for name in needed if name not in probe.header]):
        raise ColumnError(f"There is no column {shown(missing[0])} in {probe.shown}.")
    for record in read_table(probe, rows, needed, ("Created At", "Seconds to Label", "Skipped")):
        label = parsed(record.get("Label"))
        if record.get("Skipped") in {True, "true", "True"} or label in ("Skip", "Skipped"):
            rows.drop("skipped")
            continue
        answers = _labelbox_answers(objects(mapping(label).get("classifications")))
        if not answers:  # exports before 2020 have one key for each question
            answers = {
                str(name): [choice for choice in as_list(value) if isinstance(choice, str)]
                for name, value in mapping(label).items()
                if name not in {"objects", "classifications", "relationships"} and isinstance(value, str | list)
            }
        rows.add(record.get(field), record.get("Created By"), answers, record.get("Created At"), record.get("Seconds to Label"))
        rows.add_text(record.get(field), record.get("Labeled Data"))
    return rows


def _labelbox_answers(classifications: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return what was chosen for each classification; free text is no class."""
    answers: dict[str, list[Any]] = {}
    for given in classifications:
        held = next((given[key] for key in CLASSIFICATION_ANSWERS if isinstance(given.get(key), dict | list)), None)
        if held is not None:
            chosen = as_list(_name(held)) if isinstance(held, dict) else [_name(choice) for choice in objects(held)]
            answers[str(_name(given))] = chosen
    return answers


def _name(choice: dict[str, Any]) -> Any:
    return choice.get("name", choice.get("title", choice.get("value")))


def recognise_potato(probe: Probe) -> bool:
    """Return whether a record has the answers to all questions, or columns are called after a question and an option."""
    return probe.has(POTATO_ANSWERS) or any(OPTION_MARK in name for name in probe.header)


def read_potato(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the options chosen of every question; pages of the survey around the items are left out.

    Such a page ends in .html and asks what no item is asked.
    """
    worker = next((name for name in POTATO_WORKERS if name in probe.keys), None)
    if worker is None:
        raise DataError(
            f"{probe.shown} does not say who gave which label: it is what Potato writes for one user; give the file "
            "annotated_instances that it writes for all users together."
        )
    item = wanted.item_column or (POTATO_ITEM if POTATO_ITEM in probe.keys else "id")
    rows = Annotations(item, worker)
    options = [name for name in probe.header if OPTION_MARK in name]
    records = read_table(probe, rows, [item, worker], [POTATO_TEXT, POTATO_ITEM, POTATO_ANSWERS, *options])
    given = [_by_option(record, options) for record in records]
    names = [as_name(record.get(POTATO_ITEM, record.get("id"))) or "" for record in records]
    asked = {
        question for name, answers in zip(names, given, strict=True) if not name.endswith(PAGE_ENDING) for question in answers
    }
    said: dict[tuple[str, str], set[str]] = defaultdict(set)
    for answers in given:
        for question, option, value in chain(*answers.values()):
            said[question, option].add(value.casefold())
    for record, name, answers in zip(records, names, given, strict=True):
        if asked and name.endswith(PAGE_ENDING) and not asked & answers.keys():
            rows.drop("page of the survey")
            continue
        rows.add_text(record.get(item), record.get(POTATO_TEXT))
        rows.add(record.get(item), record.get(worker), _potato_answers(answers, said))
    return rows


def _by_option(record: dict[str, Any], columns: Sequence[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Return by question what a record says of each option: question, option and value.

    >>> _by_option({"tone:::warm": "1", "tone:::cold": ""}, ["tone:::warm", "tone:::cold"])
    {'tone': [('tone', 'warm', '1')]}
    >>> _by_option({"label_annotations": {"tone": {"warm": True, "cold": False}, "sure": "yes"}}, [])
    {'tone': [('tone', 'warm', 'true'), ('tone', 'cold', 'false')], 'sure': [('sure', '', 'yes')]}
    """
    cells = [(*name.partition(OPTION_MARK)[::2], record.get(name)) for name in columns]
    for question, options in mapping(parsed(record.get(POTATO_ANSWERS))).items():
        several = options.items() if isinstance(options, dict) else [("", choice) for choice in as_list(options)]
        cells += [(question, option, value) for option, value in several]
    given: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for question, option, value in cells:
        if (text := (as_name(value) or "").strip()) != "":
            given[question].append((question, option, text))
    return dict(given)


def _potato_answers(
    answers: Mapping[str, Sequence[tuple[str, str, str]]], said: Mapping[tuple[str, str], set[str]]
) -> dict[str, list[str]]:
    """Return the options chosen of every question; numbers and texts, which have many values, answer questions of their own.

    ``said`` is all that the file says of each option: what is ticked has one value, its number or its name.

    >>> said = {("tone", "warm"): {"1"}, ("tone", "cold"): {"2"}, ("sure", "slider"): {"20", "75"}}
    >>> _potato_answers({"tone": [("tone", "cold", "2")], "sure": [("sure", "slider", "75")]}, said)
    {'tone': ['cold'], 'sure': ['75']}
    """
    found: dict[str, list[str]] = {}
    for question, given in answers.items():
        for _, option, value in given:
            alone = all(other != question or name == option for other, name in said)
            ticked = said[question, option] - {"0"} - NOT_TICKED
            if option == "" or (len(ticked) > 1 and not ticked <= TICKED):
                own = question if alone or option == "" else f"{question}{OPTION_MARK}{option}"
                found.setdefault(own, []).append(value)
            else:
                chosen = found.setdefault(question, [])
                # An unticked box may be written as 0, which is an answer where it stands by itself.
                unticked = value == "0" and (len(given) > 1 or bool(ticked))
                if value.casefold() not in NOT_TICKED and not unticked:
                    chosen.append(value if option == f"scale_{value}" else option)
    return found
