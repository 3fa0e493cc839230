"""The one table of exports that are understood, and finding out which one a file is.

Every format declares the marks by which its files are known. Only where one of them fits is its module loaded, to confirm
it where a mark alone is not enough, and to read the file. A plain table of items, workers and labels has no mark.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.formats.foreign import is_of_ibex, refuse_foreign
from crowdassay.labels.formats.marks import Mark, holds_more, is_list, is_numbered, is_unnamed
from crowdassay.labels.formats.parse import file_stem
from crowdassay.labels.formats.record import Annotations, Import
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import no_such
from crowdassay.read_options import ReadOptions

PLAIN_FORMAT = "plain"
NAMED_BY_FILE = ("doccano", "label-studio", "lm-eval", "prodigy")  # which see to the names of files themselves
PREDICTING = ("label-studio", "argilla", "kili")
# Tables that are nothing without their columns.
HEADED = ("mturk", "toloka", "appen", "zooniverse", "potato", "langfuse", "phoenix", "langsmith", "ragas", "pairs")


class Format:
    """What a tool exports.

    Parameters
    ----------
    summary : str
    kinds : tuple of str
        Kinds of file it comes in, as `Probe.kind` says.
    module : str
        The module of this package that reads it by its function ``read``, ``read_x`` if this is ``module.x``: it returns the
        annotations with their answers to every question, or the rows themselves where there is one question.
    *marks : Mark
        One of which its files have; none if only the user can tell.
    confirmed : bool
        Whether the module's function ``recognise``, or ``recognise_x``, decides where a mark fits; otherwise the mark does.
    """

    def __init__(self, summary: str, kinds: tuple[str, ...], module: str, *marks: Mark, confirmed: bool = True) -> None:
        self.summary, self.kinds, self.module, self.marks, self.confirmed = summary, kinds, module, marks, confirmed

    def fits(self, probe: Probe) -> bool:
        """Return whether a file is of this format."""
        if probe.kind not in self.kinds or not any(mark.fits(probe) for mark in self.marks):
            return False
        return not self.confirmed or bool(self.load("recognise")(probe))

    def load(self, function: str) -> Callable[..., Any]:
        """Return a function of the format's module, which is loaded now."""
        module, _, own = self.module.partition(".")
        found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), f"{function}_{own}" if own else function)
        return found


JSON_FILE, TABLE_FILE, ARCHIVE_FILE = ("records",), ("delimited",), ("zip", "folder")
EITHER_FILE = JSON_FILE + TABLE_FILE

EXPORT_FORMATS = {
    "label-studio": Format(
        "Label Studio: JSON, JSON_MIN, CSV or TSV", EITHER_FILE + ARCHIVE_FILE, "label_studio",
        Mark("annotator", "annotation_id", "lead_time"), Mark("data"), Mark("tasks"), Mark("projects"),
        Mark("result", "completed_by"),
    ),
    "prodigy": Format(
        "Prodigy: JSONL from db-out", JSON_FILE, "annotation_tools.prodigy",
        Mark("answer", "_task_hash"), Mark("answer", "_input_hash"), confirmed=False,
    ),
    "argilla": Format(
        "Argilla: records as JSON, JSONL or Parquet", (*JSON_FILE, "parquet"), "annotation_tools.argilla",
        Mark("responses", "fields"), Mark(end=".responses.users"), Mark(end="-suggestion"),
    ),
    "labelbox": Format(
        "Labelbox: NDJSON (v2), JSON or CSV (v1)", EITHER_FILE, "annotation_tools.labelbox",
        Mark("Labeled Data", "Created By", "Label"), Mark("data_row", "projects"),
    ),
    "sagemaker": Format(
        "SageMaker Ground Truth: worker-response folder", JSON_FILE + ARCHIVE_FILE, "crowd_platforms.sagemaker",
        Mark(member="worker-response"), Mark("workerId", "answerContent"), Mark("answers"), Mark("source"), Mark("source-ref"),
    ),
    "doccano": Format(
        "doccano: zip with one file per user", JSON_FILE + ARCHIVE_FILE, "annotation_tools.doccano",
        *(Mark(key, shown) for key in ("id", "doc_id") for shown in ("text", "data", "filename")),
    ),
    "mturk": Format(
        "Mechanical Turk or Turkle: batch results CSV, or assignments as JSON", EITHER_FILE, "mturk",
        Mark(start="Answer."), Mark("HITId", "WorkerId", "Answer"), Mark("Assignments"),
    ),
    "toloka": Format(
        "Toloka: assignments TSV", TABLE_FILE, "crowd_platforms.toloka",
        Mark("ASSIGNMENT:worker_id", start="OUTPUT:"), confirmed=False,
    ),
    "appen": Format(
        "Appen or Figure Eight: full report as CSV or JSON", EITHER_FILE, "crowd_platforms.appen",
        Mark("_unit_id"), Mark("results"),
    ),
    "zooniverse": Format(
        "Zooniverse: classifications CSV", TABLE_FILE, "crowd_platforms.zooniverse",
        *(Mark("classification_id", "annotations", subject) for subject in ("subject_ids", "subject_data")), confirmed=False,
    ),
    "kili": Format(
        "Kili: assets with the labels of all authors, as JSON", JSON_FILE, "annotation_tools.kili",
        Mark("labels"), Mark("latestLabel"),
    ),
    "potato": Format(
        "Potato: annotated_instances as TSV, CSV, JSON or JSONL", EITHER_FILE, "annotation_tools.potato",
        *(Mark(who, "instance_id") for who in ("user", "user_id")), Mark("displayed_text", "label_annotations"),
    ),
    "ibex": Format("Ibex: the raw results", TABLE_FILE, "ibex", Mark(shape=is_of_ibex)),
    "promptfoo": Format("promptfoo: results JSON", JSON_FILE, "evaluations.promptfoo", Mark("results")),
    "inspect": Format(
        "Inspect: logs as JSON or .eval", (*JSON_FILE, "zip"), "evaluations.inspect",
        Mark("eval", "samples"), Mark(member="header.json"), Mark(member="start.json"),
    ),
    "lm-eval": Format(
        "lm-evaluation-harness: samples JSONL", JSON_FILE, "evaluations.lm_eval",
        Mark("doc_id", "doc", "filtered_resps"), confirmed=False,
    ),
    "deepeval": Format(
        "DeepEval: test run JSON", JSON_FILE, "evaluations.deepeval",
        *map(Mark, (
            "testCases", "test_cases", "test_results", "testResults", "conversationalTestCases", "testRunData", "test_run_data",
            "test_cases_lookup_map", "testCasesLookupMap", "metricsData", "metrics_data", "metricsMetadata",
            "cached_metrics_data",
        )),
    ),
    "openai-evals": Format(
        "OpenAI evals: the run's JSONL", JSON_FILE, "evaluations.openai_evals",
        Mark("spec"), Mark("run_id", "event_id", "sample_id", "type", "data"),
    ),
    "mlflow": Format(
        "MLflow: evaluation table or traces as JSON", JSON_FILE, "feedback.mlflow",
        Mark(end="/score"), Mark(end="/value"), Mark("assessments"), Mark("info"),
    ),
    "langfuse": Format(
        "Langfuse: scores as CSV, JSON or JSONL", EITHER_FILE, "feedback.langfuse",
        Mark("name", "value", "source"), Mark("data"),
    ),
    "phoenix": Format(
        "Phoenix: annotations as JSON, JSONL or CSV", EITHER_FILE, "feedback.phoenix", Mark("annotator_kind"), Mark("data"),
    ),
    "langsmith": Format(
        "LangSmith: feedback as JSON, JSONL or CSV", EITHER_FILE, "feedback.langsmith",
        *(Mark("key", "feedback_source", said) for said in ("score", "value")), confirmed=False,
    ),
    "braintrust": Format(
        "Braintrust: an experiment's spans as JSON or JSONL", JSON_FILE, "feedback.braintrust", Mark("scores"), Mark("events"),
    ),
    "ragas": Format(
        "ragas: the table of scores as CSV, JSON or JSONL", EITHER_FILE, "evaluations.ragas",
        Mark("user_input", "response"), Mark("question", "answer", "contexts"),
    ),
    "mt-bench": Format(
        "MT-Bench: single scores as JSONL", JSON_FILE, "evaluations.mt_bench",
        Mark("question_id", "model", "judge", "score", "turn"), confirmed=False,
    ),
    "reward-bench": Format(
        "RewardBench: verdicts on pairs as JSON", JSON_FILE, "evaluations.reward_bench",
        *(Mark("results", "subset", key) for key in ("scores_chosen", "scores_rejected", "text_chosen", "chosen")),
        confirmed=False,
    ),
    "nested": Format(
        "JSON with an object per item that holds its judgements", JSON_FILE, "nested", Mark(shape=holds_more),
    ),
    "pairs": Format(
        "a table with a row per item and a pair of columns per judgement", EITHER_FILE, "pairs", Mark(shape=is_numbered),
    ),
    "wide": Format(
        "a table with a row per item and a column per worker, as cleanlab and MACE have it", (*EITHER_FILE, "array"),
        "wide.matrix", Mark(shape=is_unnamed),
    ),
    "forms": Format("a table with a row per person and a column per item", EITHER_FILE, "forms", Mark(shape=is_unnamed)),
    "snorkel": Format("Snorkel: label matrix as CSV or .npy", (*TABLE_FILE, "array"), "wide.matrix"),
    "nltk": Format("nltk: triples of coder, item, label", EITHER_FILE, "wide.triples", Mark(shape=is_list)),
}  # fmt: skip
ALIASES = {"cleanlab": "wide", "mace": "wide"}


def recognise(probe: Probe) -> str:
    """Return the name of the format, 'plain' if none is recognised; refuse what a known tool wrote that is not read."""
    for name, form in EXPORT_FORMATS.items():
        if form.fits(probe):
            return name
    refuse_foreign(probe)
    return PLAIN_FORMAT


def read(name: str, probe: Probe, wanted: ReadOptions) -> Annotations | Import:
    """Read an export of the tool that is named."""
    form = EXPORT_FORMATS[name]
    if probe.kind not in form.kinds:
        raise DataError(f"{probe.shown} cannot come from {name}; what can be read is {form.summary}.")
    if wanted.predictions and name not in PREDICTING:
        raise ParameterError(f"What {name} exports holds no model predictions; leave out --predictions.")
    if name in HEADED and probe.kind == "delimited" and not form.fits(probe):
        raise DataError(f"{probe.shown} lacks the columns of {name}; what can be read is {form.summary}.")
    rows: Annotations | Import = form.load("read")(probe, wanted)
    if wanted.worker_from_filename and name not in NAMED_BY_FILE:  # whoever the export says it was
        if not isinstance(rows, Annotations) or probe.archived:
            raise ParameterError(f"What {name} exports says who gave which label; leave out --worker-from-filename.")
        worker = file_stem(probe.path.name)
        rows.annotations = [annotation._replace(worker=worker) for annotation in rows.annotations]
        rows.columns["worker"] = "file name"
    if wanted.item_column is not None and wanted.item_column not in rows.columns["item"]:
        raise ParameterError(f"In {probe.shown} items are told by their {rows.columns['item']}; leave out --item-column.")
    return rows


def check_format(name: str | None) -> str | None:
    """Return the name of a format, an alias resolved; refuse one that does not exist."""
    if name is not None and name not in (every := [PLAIN_FORMAT, *EXPORT_FORMATS, *ALIASES]):
        raise ParameterError(no_such("format", name, every))
    return name if name is None else ALIASES.get(name, name)
