"""The one table of exports that are understood, and finding out which one a file is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.formats import (
    appen,
    argilla,
    deepeval,
    doccano,
    forms,
    inspect_log,
    kili,
    label_studio,
    labelbox,
    langfuse,
    lm_eval,
    matrices,
    mlflow,
    mturk,
    nested,
    openai_evals,
    pairs,
    prodigy,
    promptfoo,
    reward_bench,
    sagemaker,
    toloka,
    zooniverse,
)
from crowdassay.labels.formats.foreign import refuse_foreign
from crowdassay.labels.formats.record import Import, Rows, file_stem
from crowdassay.labels.probe import Probe
from crowdassay.labels.values import no_such
from crowdassay.read_options import ReadOptions

PLAIN = "plain"
NAMED_BY_FILE = ("doccano", "label-studio", "lm-eval", "prodigy")  # which see to the names of files themselves
PREDICTING = ("label-studio", "argilla", "kili")
HEADED = ("mturk", "toloka", "appen", "zooniverse", "langfuse", "pairs")  # tables that are nothing without their columns


@dataclass(frozen=True)
class Format:
    """What a tool exports.

    Attributes
    ----------
    summary : str
    kinds : tuple of str
        Kinds of file it comes in, as `Probe.kind` says.
    recognise : callable
        Tells by content whether a file is one; None if only the user can.
    read : callable
        Returns the judgements with their answers to every question, or the rows themselves where there is one question.
    """

    summary: str
    kinds: tuple[str, ...]
    recognise: Callable[[Probe], bool] | None
    read: Callable[[Probe, ReadOptions], Rows | Import]


JSON, TABLE, ARCHIVES = ("records",), ("delimited",), ("zip", "folder")

FORMATS = {
    "label-studio": Format(
        "Label Studio: JSON, JSON_MIN, CSV or TSV", JSON + TABLE + ARCHIVES, label_studio.recognise, label_studio.read
    ),
    "prodigy": Format("Prodigy: JSONL from db-out", JSON, prodigy.recognise, prodigy.read),
    "argilla": Format("Argilla: records as JSON, JSONL or Parquet", (*JSON, "parquet"), argilla.recognise, argilla.read),
    "labelbox": Format("Labelbox: NDJSON (v2), JSON or CSV (v1)", JSON + TABLE, labelbox.recognise, labelbox.read),
    "sagemaker": Format("SageMaker Ground Truth: worker-response folder", JSON + ARCHIVES, sagemaker.recognise, sagemaker.read),
    "doccano": Format("doccano: zip with one file per user", JSON + ARCHIVES, doccano.recognise, doccano.read),
    "mturk": Format(
        "Mechanical Turk or Turkle: batch results CSV, or assignments as JSON", JSON + TABLE, mturk.recognise, mturk.read
    ),
    "toloka": Format("Toloka: assignments TSV", TABLE, toloka.recognise, toloka.read),
    "appen": Format("Appen or Figure Eight: full report as CSV or JSON", JSON + TABLE, appen.recognise, appen.read),
    "zooniverse": Format("Zooniverse: classifications CSV", TABLE, zooniverse.recognise, zooniverse.read),
    "kili": Format("Kili: assets with the labels of all authors, as JSON", JSON, kili.recognise, kili.read),
    "promptfoo": Format("promptfoo: results JSON", JSON, promptfoo.recognise, promptfoo.read),
    "inspect": Format("Inspect: logs as JSON or .eval", (*JSON, "zip"), inspect_log.recognise, inspect_log.read),
    "lm-eval": Format("lm-evaluation-harness: samples JSONL", JSON, lm_eval.recognise, lm_eval.read),
    "deepeval": Format("DeepEval: test run JSON", JSON, deepeval.recognise, deepeval.read),
    "openai-evals": Format("OpenAI evals: the run's JSONL", JSON, openai_evals.recognise, openai_evals.read),
    "mlflow": Format("MLflow: evaluation table or traces as JSON", JSON, mlflow.recognise, mlflow.read),
    "langfuse": Format("Langfuse: scores as CSV, JSON or JSONL", JSON + TABLE, langfuse.recognise, langfuse.read),
    "reward-bench": Format("RewardBench: verdicts on pairs as JSON", JSON, reward_bench.recognise, reward_bench.read),
    "nested": Format("JSON with an object per item that holds its judgements", JSON, nested.recognise, nested.read),
    "pairs": Format("a table with a row per item and a pair of columns per judgement", TABLE, pairs.recognise, pairs.read),
    "wide": Format(
        "a table with a row per item and a column per worker, as cleanlab and MACE have it",
        (*JSON, *TABLE, "array"),
        matrices.recognise_wide,
        matrices.read_matrix,
    ),
    "forms": Format("a table with a row per person and a column per item", JSON + TABLE, forms.recognise, forms.read),
    "snorkel": Format("Snorkel: label matrix as CSV or .npy", (*TABLE, "array"), None, matrices.read_matrix),
    "nltk": Format("nltk: triples of coder, item, label", JSON + TABLE, matrices.recognise_triples, matrices.read_triples),
}
ALIASES = {"cleanlab": "wide", "mace": "wide"}


def recognise(probe: Probe) -> str:
    """Return the name of the format, 'plain' if none is recognised; refuse what a known tool wrote that is not read."""
    for name, form in FORMATS.items():
        if form.recognise is not None and probe.kind in form.kinds and form.recognise(probe):
            return name
    refuse_foreign(probe)
    return PLAIN


def read(name: str, probe: Probe, wanted: ReadOptions) -> Rows | Import:
    """Read an export of the tool that is named."""
    form = FORMATS[name]
    if probe.kind not in form.kinds:
        raise DataError(f"{probe.shown} cannot come from {name}; what can be read is {form.summary}.")
    if wanted.predictions and name not in PREDICTING:
        raise ParameterError(f"What {name} exports holds no model predictions; leave out --predictions.")
    if name in HEADED and probe.kind == "delimited" and form.recognise is not None and not form.recognise(probe):
        raise DataError(f"{probe.shown} lacks the columns of {name}; what can be read is {form.summary}.")
    rows_read = form.read(probe, wanted)
    if wanted.worker_from_filename:
        _take_file_names(name, probe, rows_read)
    if wanted.item_column is not None and wanted.item_column not in rows_read.columns["item"]:
        raise ParameterError(f"In {probe.shown} items are told by their {rows_read.columns['item']}; leave out --item-column.")
    return rows_read


def _take_file_names(name: str, probe: Probe, rows: Rows | Import) -> None:
    """Name the worker of every judgement after the file, whoever the export says it was."""
    if name in NAMED_BY_FILE:
        return
    if not isinstance(rows, Rows) or probe.archived:
        raise ParameterError(f"What {name} exports says who gave which label; leave out --worker-from-filename.")
    worker = file_stem(probe.path.name)
    rows.judgements = [judgement._replace(worker=worker) for judgement in rows.judgements]
    rows.columns["worker"] = "file name"


def check_format(name: str | None) -> str | None:
    """Return the name of a format, an alias resolved; refuse one that does not exist."""
    if name is None or name == PLAIN or name in FORMATS:
        return name
    if name in ALIASES:
        return ALIASES[name]
    raise ParameterError(no_such("format", name, [PLAIN, *FORMATS, *ALIASES]))
