"""Evaluations of language models: what scorers, assertions, metrics, judges and people said of outputs.

Inspect, promptfoo, DeepEval, lm-evaluation-harness, OpenAI evals, RewardBench, ragas and MT-Bench, in this order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.formats.parse import as_list, as_name, file_stem, first_of, objects, parsed, read_table, verdict
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.probe import Probe
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import counted, listed, mapping, number_of
from crowdassay.read_options import ReadOptions

# Inspect: the header of a log that is complete, that broke off, and of the first versions, whose header has no status.
SAMPLES_FOLDER = "samples"
LOG_HEADERS = ("header.json", "_journal/start.json", "start.json")
ONE_VALUE = "value"  # what a score is called that has no parts
INSPECT_VERDICTS = frozenset({"C", "I", "P", "N", "0", "1", "0.0", "0.5", "1.0", "true", "false", None})
# promptfoo: the reason for failing that is none, since the provider, or the evaluation, broke down; how reasons begin where an
# assertion itself broke down; and what is said where there is none
BROKE_DOWN = "2"
ASSERTION_THREW = re.compile(
    r"Custom function threw error|(?:Python|Ruby) code execution failed|Webhook error:|Invalid regex pattern|"
    r"Could not extract JSON from|llm-rubric produced malformed response|API (?:call )?error:|No output$"
)
NOTHING_ASSERTED = "No assertions"
# DeepEval, whose versions spell names differently
CASE_KEYS = ("testCases", "test_cases", "test_results", "testResults", "conversationalTestCases")
METRIC_KEYS = ("metricsData", "metrics_data", "metricsMetadata", "cached_metrics_data")
RUN_KEYS = ("testRunData", "test_run_data")  # the run itself, in the file of the latest run
SCORE = "score"  # what may be asked for where there is one metric
CACHE_KEYS = ("test_cases_lookup_map", "testCasesLookupMap")
# lm-evaluation-harness: logged samples, a JSONL file for each task and model
SAMPLE_FIELDS = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
                           "prompt_hash", "target_hash"})  # fmt: skip
SAMPLES_FILE = re.compile(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT[\d\-.:]+)?$")
# OpenAI evals: the events of a run. Of a match the verdict; of metrics all of them, since graders are free to name theirs.
SAMPLED_EVENT, ERROR_EVENT = "sampling", "error"
VERDICT_EVENTS = {"match": ("correct",), "pick_option": ("picked",), "metrics": None}
# ragas, in its two versions: what a row holds beside the scores
RAGAS_CONTEXTS = frozenset({"retrieved_contexts", "contexts"})
RAGAS_FIELDS = RAGAS_CONTEXTS | {
    "user_input", "response", "reference", "reference_contexts", "rubrics", "rubric", "multi_responses", "question", "answer",
    "ground_truth", "ground_truths", "retrieved_context_ids", "reference_context_ids", "synthesizer_name", "",
}  # fmt: skip
RAGAS_METRIC = re.compile(
    "faithful|relevan|precision|recall|correct|similarity|harmful|malicious|coheren|concise|factual|entit|noise|rouge|bleu|"
    "summar|rubric|groundedness|utilization|accuracy|score"
)
# RewardBench and alike: what one judge preferred, pair by pair
TIED_VERDICT = "0.5"
JUDGE_FIELDS = ("model", "judge", "model_name")


def recognise_inspect(probe: Probe) -> bool:
    """Return whether a log has an evaluation with samples, or an archive the parts of one."""
    if probe.kind == "zip":
        return any(name in probe.names for name in LOG_HEADERS) and bool(_sample_files(probe))
    return probe.has("eval", "samples") and "task" in mapping(mapping(probe.first).get("eval"))


def read_inspect(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the scores: an item is a sample, a worker is a scorer."""
    rows = Annotations("sample id", "scorer")
    model, status, samples = "", "success", []
    header = next((name for name in LOG_HEADERS if name in probe.names), None)
    for record in (replace(probe, names=[header]) if header else probe).records():
        model = str(mapping(record.get("eval")).get("model", ""))
        status = str(record.get("status", "started" if header in LOG_HEADERS[:2] else status))
        samples += objects(record.get("samples"))
    if header:
        samples = list(replace(probe, names=_sample_files(probe)).records())
    if status != "success":
        rows.note(f"The evaluation did not end well (its status is {status}): some of its samples may be missing.")
    repeated = any(as_name(sample.get("epoch")) not in {None, "1"} for sample in samples)
    for sample in samples:
        item = str(sample.get("id"))
        if not probe.alone and model:
            item = f"{model} / {item}"
        if repeated:
            item += f" / epoch {sample.get('epoch')}"
        scores = mapping(sample.get("scores"))
        if not scores and sample.get("score") is not None:
            scores = {"score": sample["score"]}  # as the first versions have it
        if sample.get("invalidation") is not None:
            rows.drop("invalidated", max(len(scores), 1))
            continue
        if not scores:
            rows.drop("error" if sample.get("error") is not None else "no score")
        for scorer, score in scores.items():
            value = score.get("value") if isinstance(score, dict) else score
            several = value if isinstance(value, dict) else {ONE_VALUE: value}
            rows.add(item, scorer, {str(name): as_list(part) for name, part in several.items() if not isinstance(part, dict)})
        rows.add_facts(item, model=model or None, question=sample.get("id"))
        rows.add_text(item, sample.get("input"))
    _keep_scales_apart(rows)
    return rows


def _keep_scales_apart(rows: Annotations) -> None:
    """Make every scorer a question of its own where one of several measures something else than right and wrong."""
    said: dict[str, set[str | None]] = {}
    for annotation in rows.annotations:
        said.setdefault(annotation.worker, set()).update(map(as_name, annotation.answers.get(ONE_VALUE, ())))
    if len(said) > 1 and any(values - INSPECT_VERDICTS for values in said.values()):
        rows.one_each = True
        rows.annotations = [
            one._replace(answers={one.worker if name == ONE_VALUE else name: value for name, value in one.answers.items()})
            for one in rows.annotations
        ]


def _sample_files(probe: Probe) -> list[str]:
    return [name for name in probe.names if PurePosixPath(name).parts[0] == SAMPLES_FOLDER]


def recognise_promptfoo(probe: Probe) -> bool:
    """Return whether results hold a list of graded outputs."""
    return any("success" in one and ("gradingResult" in one or "prompt" in one) for one in _results(probe.first)[:1])


def read_promptfoo(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read verdicts: an item is one output, a worker is an assertion that graded it; without assertions, the provider."""
    rows = Annotations("provider, prompt and test", "assertion", "pass")
    for record in probe.records():
        tests: dict[str | None, int] = {}
        results = _results(record)
        # A prompt has another promptIdx for each provider.
        templates = {name: number for number, name in enumerate(dict.fromkeys(map(_template, results)))}
        for result in results:
            prompt = templates[_template(result)]
            number = result.get("testIdx", tests.setdefault(as_name(result.get("vars")), len(tests)))
            provider = _provider(result.get("provider"))
            grading = mapping(result.get("gradingResult"))
            parts = list(_graded_parts(grading))
            broken = result.get("error") and not result.get("response")
            if as_name(result.get("failureReason")) == BROKE_DOWN or (broken and not parts):
                rows.drop("error")
            elif parts:
                named = () if provider is None else (provider,)
                item = " / ".join((*named, f"prompt {result.get('promptIdx', 0)}", f"test {number}"))
                rows.add_facts(item, provider=provider, prompt=prompt, test=number)
                rows.add_text(item, mapping(result.get("response")).get("output"))
                _add_assertions(rows, item, parts)
            elif grading.get("reason") == NOTHING_ASSERTED:
                rows.drop("no assertion")
            else:
                several = len(templates) > 1
                item = f"prompt {prompt} / test {number}" if several else f"test {number}"
                rows.columns |= {"item": "prompt and test" if several else "test", "worker": "provider"}
                rows.add_facts(item, prompt=prompt, test=number)
                rows.add(item, provider, {"pass": verdict(result.get("success"))})
    return rows


def _add_assertions(rows: Annotations, item: str, parts: list[dict[str, Any]]) -> None:
    """Add what each assertion says of an output; where it broke down, it has not judged the output."""
    times: Counter[str] = Counter()
    for part in parts:
        name = _assertion(mapping(part.get("assertion")))
        times[name] += 1
        threw = ASSERTION_THREW.match(str(part.get("reason") or "").strip()) and not part.get("pass")
        if threw or part.get("error") or mapping(part.get("metadata")).get("graderError"):
            rows.drop("error")
        else:
            worker = name if times[name] == 1 else f"{name} ({times[name]})"
            rows.add(item, worker, {"pass": verdict(part.get("pass"))})


def _template(result: dict[str, Any]) -> str | None:
    """Return what tells prompts apart before variables are filled in: their id or label, else their place."""
    return as_name(result.get("promptId") or mapping(result.get("prompt")).get("label") or result.get("promptIdx"))


def _results(record: Any) -> list[dict[str, Any]]:
    """Return the results: ``results.results`` since version 2, ``results`` before."""
    outer = mapping(record).get("results")
    return objects(outer.get("results") if isinstance(outer, dict) else outer)


def _graded_parts(grading: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what each assertion found; a set of assertions holds parts of its own, which may stand behind it once more."""
    again: list[Any] = []
    for part in objects(grading.get("componentResults")):
        if part in again:
            again.remove(part)
            continue
        inner = list(_graded_parts(part))
        again = [{**one, "assertion": one.get("assertion") or part.get("assertion")} for one in inner]
        yield from inner or [part]


def _provider(provider: Any) -> str | None:
    return as_name((provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider or None)


def _assertion(assertion: dict[str, Any]) -> str:
    """Name a judge by its metric, else by its kind and the model that grades."""
    if assertion.get("metric"):
        return str(assertion["metric"])
    kind, model = str(assertion.get("type") or "assertion"), assertion.get("provider")
    return f"{kind} ({_provider(model)})" if model else kind


def recognise_deepeval(probe: Probe) -> bool:
    """Return whether test cases hold metrics."""
    return any(first_of(case, METRIC_KEYS) is not None for case in _cases(probe.first)[:1])


def read_deepeval(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the verdicts: an item is a test case, a worker is a metric with the model that evaluates it."""
    rows = Annotations(wanted.item_column or "test case", "metric", one_each=True)
    metrics: dict[str, None] = {}
    for record in probe.records():
        cases = _cases(record)
        for case, name in zip(cases, _case_names(cases), strict=True):
            item = case.get(wanted.item_column) if wanted.item_column else name
            rows.add_text(item, first_of(case, ("actualOutput", "actual_output", "input")))
            for given in objects(first_of(case, METRIC_KEYS)):
                metric = mapping(first_of(given, ("metric_data", "metric_metadata"))) or given
                if metric.get("error") or metric.get("skipped"):
                    rows.drop("error" if metric.get("error") else "skipped")
                    continue
                model = first_of(metric, ("evaluationModel", "evaluation_model"))
                worker = str(first_of(metric, ("name", "metric")))
                metrics.setdefault(worker)
                answers: dict[str, list[Any]] = {"success": verdict(metric.get("success"))}
                if wanted.question is not None:
                    answers[SCORE if wanted.question == SCORE else worker] = as_list(metric.get("score"))
                rows.add(item, f"{worker} ({model})" if model else worker, answers)
    if wanted.question == SCORE and len(metrics) > 1:
        raise ParameterError(
            f"{probe.shown} holds the scores of several metrics ({listed(metrics)}); choose one with --question."
        )
    if wanted.question is None:
        rows.note("The verdicts, pass and fail, were taken; --question METRIC takes the scores of a metric.")
    return rows


def _cases(record: Any) -> list[dict[str, Any]]:
    """Return the test cases: of a run, of the latest run, or of the cache, where the case itself is the key."""
    if not isinstance(record, dict):
        return []
    if first_of(record, METRIC_KEYS) is not None:
        return [record]
    if (within := first_of(record, RUN_KEYS)) is not None:
        return _cases(within)
    cached = mapping(first_of(record, CACHE_KEYS))
    cases = [{**mapping(parsed(key)), **mapping(case)} for key, case in cached.items()]
    return cases + [case for name in CASE_KEYS for case in objects(record.get(name))]


def _case_names(cases: list[dict[str, Any]]) -> list[str]:
    """Name test cases by name, with their place where names repeat, as pytest's parameters make them."""
    named = [as_name(case.get("name")) for case in cases]
    if None not in named and len(set(named)) == len(named):
        return [str(name) for name in named]
    return [
        f"{name or 'test case'} {case.get('order', number)}"
        for number, (name, case) in enumerate(zip(named, cases, strict=True))
    ]


def read_lm_eval(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the metrics: an item is a document of a task, a worker is the model, after which the folder is named."""
    stem = file_stem(probe.path.name)
    named = SAMPLES_FILE.fullmatch(stem)
    task, model = (named[1] if named else stem), stem if wanted.worker_from_filename else probe.path.absolute().parent.name
    rows = Annotations("task and doc_id", "folder")
    samples = list(probe.records())
    filters = {as_name(record.get("filter")) for record in samples}
    for record in samples:
        worker = f"{model} ({record.get('filter')})" if len(filters) > 1 else model
        metrics = record.get("metrics") or [key for key in record if key not in SAMPLE_FIELDS]
        scores = {str(name): record.get(name) for name in metrics}
        answers = {
            name: [score] for name, score in scores.items() if isinstance(score, bool) or number_of(str(score)) is not None
        }
        item = f"{task} / {as_name(record.get('doc_id'))}"
        rows.add_facts(item, task=task)
        rows.add(item, worker, answers)
    if not any(annotation.answers for annotation in rows.annotations):
        raise DataError(f"{probe.shown} holds no metric that is one number for each document.")
    rows.note("The worker is the model, which only the folder's name tells; --worker-from-filename takes the file's.")
    return rows


def recognise_openai_evals(probe: Probe) -> bool:
    """Return whether a log begins with the run's specification, or holds its events."""
    spec = mapping(mapping(probe.first).get("spec"))
    return "eval_name" in spec or probe.has("run_id", "event_id", "sample_id", "type", "data")


def read_openai_evals(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read the verdicts: an item is a sample, a worker is the model that was evaluated.

    Several models are one chain, in which the last may be the grader.
    """
    rows = Annotations("sample_id", "completion_fns")
    model = ""
    asked, judged, failed = set(), set(), set()
    for record in probe.records():
        if spec := mapping(record.get("spec")):
            names = as_list(spec.get("completion_fns")) or as_list(spec.get("model_name") or spec.get("model"))
            model = " + ".join(str(as_name(name)) for name in names)
            continue
        kind, item = record.get("type"), as_name(record.get("sample_id"))
        if kind == SAMPLED_EVENT:
            asked.add(item)
        elif kind == ERROR_EVENT:
            failed.add(item)
        elif kind in VERDICT_EVENTS:
            data = mapping(record.get("data"))
            answers = {
                name: as_list(data[name])
                for name in VERDICT_EVENTS[kind] or data
                if data.get(name) is not None and not isinstance(data[name], dict | list)
            }
            judged.add(item)
            rows.add(item, model or record.get("run_id"), answers, time=record.get("created_at"))
    rows.drop("error", len(failed - judged))
    rows.drop("no verdict", len(asked - judged - failed))
    return rows


def read_reward_bench(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read verdicts: an item is a pair, a worker is the judge, named in the file or else after it."""
    rows = Annotations("id", "model", "results")
    halves = 0
    for record in probe.records():
        for number, pair in enumerate(_pairs(record)):
            item, judge, preferred = pair.get("id"), first_of(pair, JUDGE_FIELDS), pair.get("results")
            halves += as_name(preferred) == TIED_VERDICT
            worker = file_stem(probe.path.name) if judge is None else judge
            name = f"pair {number}" if item is None else item
            rows.add_facts(name, subset=pair.get("subset"))
            rows.add(name, worker, {"results": as_list(preferred)})
    if halves:
        rows.note(f"{counted(halves, 'verdict')} of {TIED_VERDICT}: a tie, or an answer of the judge that could not be read.")
    return rows


def _pairs(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield pairs; one object may hold all of them as lists of equal length."""
    if not isinstance(record.get("results"), list):
        yield record
        return
    count = len(record["results"])
    for number in range(count):
        yield {
            name: value[number] if isinstance(value, list) and len(value) == count else value for name, value in record.items()
        }


def recognise_ragas(probe: Probe) -> bool:
    """Return whether a table has questions, answers and contexts beside metrics, and no column of workers."""
    metrics = any(map(RAGAS_METRIC.search, probe.keys - RAGAS_FIELDS))
    return metrics and bool(probe.keys & RAGAS_CONTEXTS) and not any(map(ROLES["worker"].is_named, probe.keys))


def read_ragas(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read scores: an item is a row, a worker and a question is a metric, which is a column of numbers."""
    rows = Annotations(wanted.item_column or "row", "metric", one_each=True)
    records = read_table(probe, rows, (), probe.header)
    cells: dict[str, list[Any]] = {}
    for record in records:
        for name, value in record.items():
            if name not in RAGAS_FIELDS and (text := as_name(value)) is not None and text.strip().lower() not in {"", "nan"}:
                cells.setdefault(name, []).append(number_of(text))
    metrics = [name for name, numbers in cells.items() if None not in numbers]
    for number, record in enumerate(records):
        item = record.get(wanted.item_column) if wanted.item_column else str(number)
        question = first_of(record, ("user_input", "question"))
        rows.add_facts(item, question=as_name(question))
        rows.add_text(item, first_of(record, ("response", "answer")))
        for name in metrics:
            score = as_name(record.get(name))
            rows.add(item, name, {name: as_list(None if score is None or score.lower() == "nan" else record[name])})
    return rows


def read_mt_bench(probe: Probe, wanted: ReadOptions) -> Annotations:
    """Read single scores: an item is a model's answer to a turn of a question, a worker is the judge, whatever its prompt."""
    rows = Annotations("question_id, model and turn", "judge", "score")
    for record in probe.records():
        question, model, turn = (as_name(record.get(name)) for name in ("question_id", "model", "turn"))
        item = f"{question} / {model} / turn {turn}"
        judge, score = record.get("judge"), as_name(record.get("score"))
        rows.add_facts(item, question=question, model=model, turn=turn)
        worker = judge[0] if isinstance(judge, list) and judge else judge
        rows.add(item, worker, {"score": as_list(None if number_of(score or "") == -1 else score)}, time=record.get("tstamp"))
    return rows
