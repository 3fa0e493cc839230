"""Feedback on answers of language models, by people, judges and code: MLflow, Langfuse, Phoenix, LangSmith and Braintrust."""

from __future__ import annotations

import re
from typing import Any

from crowdassay.labels.formats.parse import as_list, as_name, first_of, first_record, objects, parsed, read_table
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import counted, mapping, number_of
from crowdassay.read_options import ReadOptions

# MLflow: how scores end in versions 2 and 3, and the reason that goes with each
METRIC_VERSION = re.compile(r"/v\d+$")
SCORE_ENDINGS = {"/score": "/justification", "/value": "/rationale"}
TRACE_IDS = ("request_id", "trace_id", "client_request_id", "id")
# Langfuse
SCORE_FIELDS = {
    "trace": ("traceId", "trace_id", "sessionId", "session_id", "datasetRunId", "dataset_run_id"),
    "observation": ("observationId", "observation_id"),
    "kind": ("dataType", "data_type"),
    "author": ("authorUserId", "author_user_id", "authorUserName"),
    "label": ("stringValue", "string_value", "value"),
    "time": ("timestamp", "createdAt", "created_at"),
}
SCORE_COLUMNS = ("name", "value", "source")
TEXT_SCORES = frozenset({"CORRECTION", "TEXT"})  # kinds of score that hold an answer, not a verdict
BY_PEOPLE = "ANNOTATION"
# Phoenix, whose frames spell names differently from its records
ANNOTATED = ("span_id", "context.span_id", "trace_id", "session_id")
ANNOTATION_NAMES = ("annotation_name", "name")
ANNOTATION_LABELS = ("result.label", "label", "result.score", "score")
PHOENIX_PERSON = "HUMAN"
# LangSmith
RUN_IDS = ("run_id", "trace_id", "session_id")
LANGSMITH_PERSON = "app"
# Braintrust
BRAINTRUST_FIELDS = ("span_id", "root_span_id", "experiment_id", "_xact_id")


def recognise_mlflow(probe: Probe) -> bool:
    """Return whether rows have scores as MLflow names them, or assessments with a source."""
    return any(_metric(name, probe.keys) for name in probe.keys) or bool(_assessments(mapping(probe.first)))


def read_mlflow(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read scores: an item is a row or trace; a worker is a metric, or the source of an assessment.

    Every metric is a question of its own, with a scale of its own. Assessments that failed, or that another one has replaced,
    are counted.
    """
    rows = Annotations(wanted.item_column or "row", "metric", one_each=True)
    for number, record in enumerate(probe.records()):
        name = wanted.item_column or next((key for key in TRACE_IDS if record.get(key) is not None), None)
        item = record.get(name) if name else mapping(record.get("info")).get("trace_id", str(number))
        rows.columns["item"] = name or rows.columns["item"]
        assessments = _assessments(record)
        for key, value in record.items():
            if not assessments and (metric := _metric(key, set(record))):
                rows.add(item, metric, {metric: as_list(value)})
        for given in assessments:
            rows.columns["worker"] = "assessment source"
            feedback = mapping(given.get("feedback", given.get("expectation")))
            if given.get("valid") is False:
                rows.drop("replaced by a later assessment")
            elif feedback.get("error") is not None or given.get("error") is not None:
                rows.drop("error")
            else:
                source = given["source"]
                worker = source.get("source_id") or source.get("sourceId") or source.get("source_type")
                name, value = given.get("assessment_name", given.get("name")), feedback.get("value", given.get("value"))
                rows.add(item, worker, {str(name): as_list(value)}, time=given.get("create_time"))
    return rows


def _metric(name: str, names: set[str]) -> str | None:
    """Return the metric whose score a column is: ``similarity/v1/score``, ``safety/value`` beside ``safety/rationale``."""
    for ending, reason in SCORE_ENDINGS.items():
        if name.endswith(ending):
            stem = name.removesuffix(ending)
            if METRIC_VERSION.search(stem) or stem + reason in names:
                return METRIC_VERSION.sub("", stem)
    return None


def _assessments(record: dict[str, Any]) -> list[dict[str, Any]]:
    assessments = record.get("assessments", mapping(record.get("info")).get("assessments"))
    return [one for one in objects(parsed(assessments)) if isinstance(one.get("source"), dict)]


def recognise_langfuse(probe: Probe) -> bool:
    """Return whether records are scores of traces, also where the interface gives scores in pages."""
    names = _names(probe)
    return names.issuperset(SCORE_COLUMNS) and bool({"traceId", "trace_id"} & names)


def read_langfuse(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read scores: an item is a trace, observation or session; a worker is who scored it; a question is a score's name."""
    rows = Annotations(wanted.item_column or "traceId", "authorUserId or source", one_each=True)
    more = [name for names in SCORE_FIELDS.values() for name in names]
    for record in read_table(probe, rows, SCORE_COLUMNS, [*more, wanted.item_column or ""], inside="data"):
        facts = {fact: first_of(record, names, blank=False) for fact, names in SCORE_FIELDS.items()}
        if str(facts["kind"]).upper() in TEXT_SCORES:
            rows.drop("a text, no score")
            continue
        item = f"{facts['trace']} / {facts['observation']}" if facts["observation"] else facts["trace"]
        if wanted.item_column:
            item = record.get(wanted.item_column)
        worker = facts["author"] or record.get("source")
        rows.add(item, worker, {str(record.get("name")): as_list(facts["label"])}, time=facts["time"])
    _tell_unnamed(rows, BY_PEOPLE)
    return rows


def recognise_phoenix(probe: Probe) -> bool:
    """Return whether records are annotations of spans, traces or sessions, also where the interface gives them in pages."""
    names = _names(probe)
    return "annotator_kind" in names and bool(names & {*ANNOTATED, *ANNOTATION_NAMES})


def read_phoenix(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read annotations: an item is a span, trace or session; a worker is a person, a judge or code; a question is a name."""
    rows = Annotations(wanted.item_column or "span_id", "user_id, identifier or annotator_kind", one_each=True)
    more = [*ANNOTATED, *ANNOTATION_NAMES, *ANNOTATION_LABELS, "result", "user_id", "identifier", "metadata", "created_at",
            "document_position", wanted.item_column or ""]  # fmt: skip
    for record in read_table(probe, rows, ("annotator_kind",), more, inside="data"):
        item, place = first_of(record, ANNOTATED, blank=False), record.get("document_position")
        if wanted.item_column:
            item = record.get(wanted.item_column)
        elif place not in (None, ""):
            item = f"{item} / document {as_name(place)}"
        result = mapping(parsed(record.get("result")))
        inside = {f"result.{name}": value for name, value in result.items()}
        label = first_of({**record, **inside}, ANNOTATION_LABELS, blank=False)
        kind = as_name(record.get("annotator_kind"))
        names = ("user_id", "identifier") if kind == PHOENIX_PERSON else ("identifier",)
        worker = first_of(record, names, blank=False) or mapping(parsed(record.get("metadata"))).get("model")
        name = as_name(first_of(record, ANNOTATION_NAMES, blank=False))
        rows.add(item, worker or kind, {str(name): as_list(label)}, time=record.get("created_at"))
    _tell_unnamed(rows, PHOENIX_PERSON)
    return rows


def read_langsmith(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read feedback: an item is a run, a worker is who gave it, a question is its key."""
    rows = Annotations(wanted.item_column or "run_id", "feedback_source", one_each=True)
    more = [*RUN_IDS, "score", "value", "created_at", wanted.item_column or ""]
    for record in read_table(probe, rows, ("key", "feedback_source"), more):
        item = record.get(wanted.item_column) if wanted.item_column else first_of(record, RUN_IDS, blank=False)
        source = mapping(parsed(record.get("feedback_source")))
        kind, user = as_name(source.get("type")), as_name(first_of(source, ("user_id", "user_name", "ls_user_id"), blank=False))
        # Whoever runs a judge is not the judge.
        worker = kind if user is None else user if kind in (None, LANGSMITH_PERSON) else f"{kind} ({user})"
        value = parsed(record.get("value"))
        label = record.get("score") if value in (None, "") or isinstance(value, dict | list) else value
        rows.add(item, worker, {str(record.get("key")): as_list(label)}, time=record.get("created_at"))
    _tell_unnamed(rows, LANGSMITH_PERSON)
    return rows


def recognise_braintrust(probe: Probe) -> bool:
    """Return whether records are spans of an experiment with scores by name, also where the interface gives them in pages."""
    first = first_record(probe, "events")
    scores = first.get("scores")
    known = any(name in first for name in BRAINTRUST_FIELDS) or {"input", "output", "expected"} <= first.keys()
    if not known or not isinstance(scores, dict):
        return known and scores is None
    return all(one is None or isinstance(one, int | float) or number_of(str(one)) is not None for one in scores.values())


def read_braintrust(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read scores: an item is a span that was scored, a worker and a question is a score's name."""
    rows = Annotations(wanted.item_column or "id", "scores", one_each=True)
    for record in read_table(probe, rows, (), inside="events"):
        scores = mapping(record.get("scores"))
        item = record.get(wanted.item_column or "id")
        if scores:  # spans inside an output have none
            rows.add_facts(item, question=as_name(record.get("input")), experiment=record.get("experiment_id"))
            rows.add_text(item, record.get("output"))
        for name, score in scores.items():
            rows.add(item, name, {str(name): as_list(score)}, time=record.get("created"))
    return rows


def _names(probe: Probe) -> set[str]:
    """Return the names of a table or of the first record, which may be on a page."""
    return probe.keys if "name" in probe.keys or probe.header else set(first_record(probe, "data"))


def _tell_unnamed(rows: Annotations, worker: str) -> None:
    """Note how many scores are by people who do not say who they are, and so are one worker."""
    if unnamed := sum(annotation.worker == worker for annotation in rows.annotations):
        do, these = ("does", "this person is") if unnamed == 1 else ("do", "these people are")
        rows.note(
            f"{counted(unnamed, 'score')} by people {do} not say by whom, so that {these} one worker, {worker}; export the "
            "author as well, if you can."
        )
