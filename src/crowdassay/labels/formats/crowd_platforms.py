"""Crowdsourcing platforms, but for Mechanical Turk: Toloka, Appen, Zooniverse and SageMaker Ground Truth, in this order."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import BETWEEN_PARTS
from crowdassay.labels.extras import from_american
from crowdassay.labels.formats.parse import answers_in, as_list, is_filled, item_column, objects, parsed, read_table, varying
from crowdassay.labels.formats.record import Annotations, choose_question
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import mapping, shown_file
from crowdassay.read_options import ReadOptions

# Toloka
TOLOKA_INPUT, TOLOKA_OUTPUT, TOLOKA_GOLD = "INPUT:", "OUTPUT:", "GOLDEN:"
TOLOKA_WORKER, TOLOKA_STATUS, TOLOKA_TASK = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:task_id"
TOLOKA_TIME, TOLOKA_HINT = "ASSIGNMENT:submitted", "HINT:text"
REFUSED_STATES = ("rejected", "skipped", "expired")
# Appen, formerly Figure Eight and CrowdFlower
APPEN_UNIT, APPEN_WORKER, APPEN_GOLD = "_unit_id", "_worker_id", "_gold"
AGGREGATED_COLUMNS = ("_unit_state", "_trusted_judgments")
MISSED = "missed test question"
MISSED_NOTE = "Judgements that missed a test question were left out; workers may look better than they are."
TRUE_CELLS = frozenset({"true", "1", "yes", "x"})
# Zooniverse
USER_COLUMNS = ("user_name", "user_id")
# SageMaker Ground Truth
RESPONSE_FOLDER, ALL_WORKERS = "worker-response", "annotationsFromAllWorkers"
ITERATION_FOLDER = re.compile(r"iteration-\d+$")
TIMED_FILE = re.compile(r"\d{4}-\d\d-\d\d[T_ ]")  # what the service names a response after


def read_toloka(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the outputs; rejected, skipped and expired assignments and training tasks are left out."""
    outputs = [name.removeprefix(TOLOKA_OUTPUT) for name in probe.header if name.startswith(TOLOKA_OUTPUT)]
    if wanted.question is not None:
        outputs = [choose_question(outputs, wanted.question.removeprefix(TOLOKA_OUTPUT), probe.path.name)]
    item = item_column(probe, wanted.item_column, TOLOKA_INPUT, TOLOKA_TASK)  # the only input, or else the task's id
    items = [item] if item in probe.header else [name for name in probe.header if name.startswith(TOLOKA_INPUT)]
    if not items:
        raise ColumnError(
            f"{probe.shown} has neither {TOLOKA_TASK} nor {TOLOKA_INPUT} columns; name the item's with --item-column."
        )
    rows = Annotations(", ".join(items), TOLOKA_WORKER, f"{TOLOKA_OUTPUT}*")
    marked = [mark + name for mark in (TOLOKA_OUTPUT, TOLOKA_GOLD) for name in outputs]
    more = [TOLOKA_STATUS, TOLOKA_HINT, TOLOKA_TIME, *marked]
    for row in read_table(probe, rows, [*items, TOLOKA_WORKER, TOLOKA_OUTPUT + outputs[0]], more):
        cells = [row[name] for name in items]
        told = BETWEEN_PARTS.join(cell or "" for cell in cells) if any(map(is_filled, cells)) else None
        known = {name: _listed(row.get(TOLOKA_GOLD + name)) for name in outputs}
        if any(known.values()):
            rows.add_gold(told, known)
        status = (row.get(TOLOKA_STATUS) or "").strip().lower()
        if status in REFUSED_STATES:
            rows.drop(status)
        elif is_filled(row.get(TOLOKA_HINT)):
            rows.drop("training task")
        else:
            answers = {name: _listed(row[TOLOKA_OUTPUT + name]) for name in outputs}
            rows.add(told, row[TOLOKA_WORKER], answers, time=row.get(TOLOKA_TIME))
    return rows


def _listed(cell: str | None) -> list[str]:
    """Return what a cell holds: a JSON list of several choices, or one."""
    value = parsed(cell) if is_filled(cell) else []
    return [str(choice) for choice in value] if isinstance(value, list) else [str(cell)]


def recognise_appen(probe: Probe) -> bool:
    """Return whether the header has units and workers, or is that of an aggregated report, or units hold judgements."""
    if probe.kind == "records":
        return bool(_judgements(probe.first))
    return probe.has(APPEN_UNIT) and (probe.has(APPEN_WORKER) or bool(set(AGGREGATED_COLUMNS) & probe.keys))


def read_appen(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the questions; tainted and missed judgements are left out, and personal columns are never read."""
    if probe.kind == "records":
        return _read_json(probe, wanted)
    if not probe.has(APPEN_WORKER):
        raise DataError(
            f"{probe.shown} is an aggregated report: it holds one label per unit and not who gave which; "
            "download the full report of the same job instead."
        )
    item = item_column(probe, wanted.item_column, "", APPEN_UNIT)
    rows = Annotations(item, APPEN_WORKER)
    own = [name for name in probe.header if not name.startswith(("_", "orig_"))]
    own = [name for name in own if not name.endswith((APPEN_GOLD, "_gold_reason"))]
    asked = own if wanted.question is None else [choose_question(own, wanted.question, probe.path.name)]
    # Every question of a job with test questions has a column of their answers; columns of the uploaded data have none.
    if wanted.question is None and (tested := [name for name in own if name + APPEN_GOLD in probe.header]):
        asked = tested
    optional = ["_tainted", "_missed", "_golden", "_created_at", *(name + APPEN_GOLD for name in asked)]
    rows_read = read_table(probe, rows, [item, APPEN_WORKER], [*asked, *optional])
    if wanted.question is None:
        asked = varying(rows_read, item, asked, blank=True) or asked
        if asked is own:
            asked = [name for name in own if ROLES["label"].is_named(name)] or own
    tested_units: set[Any] = set()
    for row in rows_read:
        answers = {name: _lines(row[name]) for name in asked}
        known = {name: _lines(row.get(name + APPEN_GOLD)) for name in asked}
        if any(known.values()) and _is_true(row.get("_golden", "true")):
            if any(len(several) > 1 for several in known.values()):
                tested_units.add(row[item])
            rows.add_gold(row[item], {name: given for name, given in known.items() if len(given) == 1})
        if not _is_untrusted(rows, tainted=_is_true(row.get("_tainted")), missed=_is_true(row.get("_missed"))):
            rows.add(row[item], row[APPEN_WORKER], answers, time=from_american(row.get("_created_at")))
    if rows.dropped[MISSED]:
        question = shown_file(asked[0]) if len(asked) == 1 else "QUESTION"
        rows.note(
            f"{MISSED_NOTE} To keep them, and those that are tainted, say --from plain --item-column {shown_file(item)} "
            f"--worker-column {APPEN_WORKER} --label-column {question}."
        )
    if tested_units:
        rows.note(f"Test questions that accept several answers are not counted as gold: {len(tested_units)}.")
    return rows


def _read_json(probe: Probe, wanted: ReadOptions) -> Annotations:
    rows = Annotations(wanted.item_column or "id", "worker_id", "results.judgments.data.*")
    for unit in probe.records():
        item = mapping(unit.get("data")).get(wanted.item_column) if wanted.item_column else unit.get("id")
        for judgement in _judgements(unit):
            if _is_untrusted(rows, tainted=judgement.get("tainted") is True, missed=judgement.get("missed") is True):
                continue
            answers = {
                name: [choice for choice in as_list(value) if is_filled(str(choice))]
                for name, value in mapping(judgement.get("data")).items()
                if not any(isinstance(choice, dict) for choice in as_list(value))
            }
            rows.add(item, judgement.get("worker_id"), answers, time=judgement.get("created_at"))
        known = {name: as_list(value) for name, value in mapping(unit.get("gold_data", unit.get("gold_answers"))).items()}
        if unit.get("state") == "golden" and known:
            rows.add_gold(item, known)
    if rows.dropped[MISSED]:
        rows.note(MISSED_NOTE)
    return rows


def _is_untrusted(rows: Annotations, *, tainted: bool, missed: bool) -> bool:
    """Return whether a judgement is left out, and count it."""
    if tainted or missed:
        rows.drop("tainted" if tainted else MISSED)
    return tainted or missed


def _is_true(cell: str | None) -> bool:
    return (cell or "").strip().lower() in TRUE_CELLS


def _judgements(unit: Any) -> list[dict[str, Any]]:
    results = mapping(mapping(unit).get("results"))
    return [entry for entry in objects(results.get("judgments")) if "worker_id" in entry]


def _lines(cell: str | None) -> list[str]:
    r"""Split what check boxes send: on several lines, or as a list in JSON.

    >>> _lines("a\nb"), _lines('["a", "b"]'), _lines("[a]"), _lines("[]")
    (['a', 'b'], ['a', 'b'], ['[a]'], [])
    """
    listed = parsed(cell)
    if isinstance(listed, list) and all(isinstance(part, str) for part in listed):
        return [part for part in listed if part.strip()]
    return [line for line in (cell or "").splitlines() if line.strip()]


def read_zooniverse(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the answers to all question tasks; drawings and texts are left out."""
    item = item_column(probe, wanted.item_column, "", "subject_ids" if "subject_ids" in probe.header else "subject_data")
    worker = next((name for name in USER_COLUMNS if name in probe.header), "user_name")
    rows = Annotations(item, worker, "annotations.*")
    rows_read = read_table(probe, rows, [item, worker, "annotations"], ["created_at", "workflow_id"])
    several = len({row.get("workflow_id") for row in rows_read}) > 1  # tasks are numbered in each workflow anew
    for row in rows_read:
        before = f"{row['workflow_id']}." if several else ""
        subject: Any = row[item]
        if item == "subject_data":  # an object with the subject's id as its key
            subject = next(iter(mapping(parsed(subject))), subject)
        answers: dict[str, list[Any]] = {}
        for given in _tasks(parsed(row["annotations"])):
            value = as_list(given.get("value"))
            surveyed = [part["choice"] for part in objects(value) if "choice" in part]  # which animals are there
            if surveyed or not objects(value):
                answers[f"{before}{given.get('task')}"] = surveyed or [part for part in value if part is not None]
        time = (row.get("created_at") or "").removesuffix(" UTC") or None
        rows.add(subject, row[worker], answers, time=time)
    return rows


def _tasks(annotations: Any) -> list[dict[str, Any]]:
    tasks = []
    for given in objects(annotations):
        inner = given.get("value")
        if isinstance(inner, list) and inner and all(isinstance(part, dict) and "task" in part for part in inner):
            tasks += _tasks(inner)  # several tasks on one page
        else:
            tasks.append(given)
    return tasks


def recognise_sagemaker(probe: Probe) -> bool:
    """Return whether there are workers' responses, or a manifest."""
    inside = any(RESPONSE_FOLDER in PurePosixPath(name).parts for name in probe.names)
    return inside or bool(_responses(probe.first)) or (not probe.archived and _is_manifest(probe.first))


def read_sagemaker(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read what every worker answered; a manifest of consolidated labels is refused."""
    if probe.archived:
        inside = [name for name in probe.names if RESPONSE_FOLDER in PurePosixPath(name).parts]
        probe = replace(probe, names=inside or probe.names)
    by_folder = probe.archived and _by_folder(probe.names)
    where = "folder" if by_folder else "file name" if probe.archived or _responses(probe.first) else "source-ref or source"
    label = "content.*" if where.startswith("source") else "answerContent.*"
    rows = Annotations(where if probe.archived else wanted.item_column or where, "workerId", label)
    for name, record in probe.named_records():
        place = PurePosixPath(name)
        item = (place.parent.name or probe.path.name) if by_folder else place.stem
        for response in _responses(record):
            given = answers_in(parsed(response.get("answerContent")))
            rows.add(item, response.get("workerId"), given, response.get("submissionTime"), response.get("timeSpentInSeconds"))
        answers = _from_all(record)
        for response in answers or []:
            content = mapping(response.get("annotationData")).get("content")
            source = record.get("source-ref", record.get("source"))
            source = record.get(wanted.item_column) if wanted.item_column else source
            rows.add(source, response.get("workerId"), answers_in(parsed(content)))
        if answers is None and _is_manifest(record):
            raise DataError(
                f"{probe.shown} holds one consolidated label per object and not who gave which; give the folder "
                f"annotations/{RESPONSE_FOLDER} of the same job instead."
            )
    return rows


def _by_folder(names: list[str]) -> bool:
    """Return whether every object has a folder, .../<iteration>/<object>/<time>.json, not a file in a folder of all."""
    places = [PurePosixPath(name) for name in names]
    folders = {place.parent for place in places}
    if len(places) == 1:
        return str(places[0].parent) != "." or bool(TIMED_FILE.match(places[0].stem))
    return len(folders) > 1 and not all(ITERATION_FOLDER.match(folder.name) for folder in folders)


def _responses(record: Any) -> list[dict[str, Any]]:
    answers = mapping(record).get("answers")
    several = answers if isinstance(answers, list) else [record]
    return [entry for entry in objects(several) if "workerId" in entry and "answerContent" in entry]


def _from_all(record: dict[str, Any]) -> list[dict[str, Any]] | None:
    for part in (record, *record.values()):
        if isinstance(part, dict) and isinstance(part.get(ALL_WORKERS), list):
            return objects(part[ALL_WORKERS])
    return None


def _is_manifest(record: Any) -> bool:
    if not isinstance(record, dict) or not {"source", "source-ref"} & record.keys():
        return False
    return _from_all(record) is not None or any(name.endswith("-metadata") for name in record)
