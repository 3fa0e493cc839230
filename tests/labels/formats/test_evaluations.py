"""What evaluation tools write: an item is a test case or sample, a worker a judge, scorer or model, a label the verdict."""

import json
import zipfile

import pytest

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, json_lines, rows_of, write


def graded(test, provider, *components, success=True):
    parts = [
        {"pass": passed, "score": float(passed), "reason": "r", "assertion": {"type": kind, **more}}
        for kind, passed, more in components
    ]
    grading = {"pass": success, "score": 1.0, "reason": "r", "componentResults": parts} if parts else None
    return {
        "promptIdx": 0,
        "testIdx": test,
        "provider": {"id": provider, "label": ""},
        "vars": {"q": f"question {test}"},
        "response": {"output": "text"},
        "success": success,
        "score": 1.0,
        "gradingResult": grading,
    }


def test_promptfoo(tmp_path):
    results = [
        graded(
            n,
            "openai:gpt-4o",
            ("llm-rubric", True, {"provider": "anthropic:claude"}),
            ("llm-rubric", n > 0, {}),
            ("contains", True, {"metric": "has"}),
        )
        for n in range(2)
    ]
    path = write(
        tmp_path / "results.json", json.dumps({"evalId": "e", "results": {"version": 3, "results": results, "stats": {}}})
    )
    labels = read_labels(path)
    assert labels.report.format == "promptfoo"
    assert labels.workers.to_pylist() == ["llm-rubric (anthropic:claude)", "llm-rubric", "has"]
    assert labels.items[0].as_py() == "openai:gpt-4o / prompt 0 / test 0"
    assert (labels.n_labels, labels.class_names) == (6, ("fail", "pass"))
    plain = [graded(n, provider, success=n == 0) for n in range(2) for provider in ("a", "b")]
    path = write(tmp_path / "plain.json", json.dumps({"results": {"results": plain}}))
    assert rows_of(read_labels(path))[0] == ("test 0", "a", "pass")


def sample(number, epoch=1, **scores):
    return {
        "id": number,
        "epoch": epoch,
        "input": "q",
        "target": "t",
        "scores": {name: {"value": value} for name, value in scores.items()},
    }


def test_inspect_json(tmp_path):
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "openai/gpt-4o"}}
    log["samples"] = [
        sample(1, strict="C", loose="I"),
        sample(2, strict="I", loose="I"),
        {"id": 3, "epoch": 1, "error": {}, "scores": None},
    ]
    path = write(tmp_path / "log.json", json.dumps(log))
    labels = read_labels(path)
    assert rows_of(labels) == [("1", "loose", "I"), ("1", "strict", "C"), ("2", "loose", "I"), ("2", "strict", "I")]
    assert labels.report.dropped == {"error": 1}
    other = write(tmp_path / "other.json", json.dumps({**log, "eval": {"task": "t", "model": "b"}}))
    assert read_labels([path, other]).items.to_pylist()[:3] == ["openai/gpt-4o / 1", "openai/gpt-4o / 2", "b / 1"]
    log["samples"] = [sample(1, epoch, judge={"helpful": 1, "harmless": 0}) for epoch in (1, 2)]
    with pytest.raises(ParameterError, match="'helpful', 'harmless'"):
        read_labels(write(path, json.dumps(log)))
    assert read_labels(path, question="helpful").items.to_pylist() == ["1 / epoch 1", "1 / epoch 2"]


def test_inspect_eval(tmp_path):
    path = tmp_path / "2024_task.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}}))
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": {"task": "t", "model": "m"}}))
        archive.writestr("summaries.json", "[]")
        for number in (1, 2):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample(number, judge="C" if number == 1 else "I")))
    assert rows_of(read_labels(path)) == [("1", "judge", "C"), ("2", "judge", "I")]


def test_lm_evaluation_harness(tmp_path):
    for model, right in (("llama", 1.0), ("mistral", 0.0)):
        records = [
            {
                "doc_id": n,
                "doc": {"q": "x"},
                "target": "4",
                "arguments": [["x"]],
                "resps": [["4"]],
                "filtered_resps": ["4"],
                "filter": "none",
                "metrics": ["exact_match"],
                "doc_hash": "h",
                "exact_match": right,
            }
            for n in range(2)
        ]
        (tmp_path / model).mkdir()
        write(tmp_path / model / "samples_gsm8k_2024-05-01T10-00-00.000000.jsonl", json_lines(records))
    labels = read_labels(str(tmp_path / "*" / "samples_*.jsonl"))
    assert rows_of(labels)[:2] == [("gsm8k / 0", "llama", "1.0"), ("gsm8k / 0", "mistral", "0.0")]
    assert (labels.report.question, labels.n_items) == ("exact_match", 2)


def test_deepeval(tmp_path):
    metrics = [
        {"name": "Relevancy", "threshold": 0.5, "success": True, "score": 0.9, "evaluationModel": "gpt-4o"},
        {"name": "Bias", "threshold": 0.5, "success": False, "score": 0.6, "evaluationModel": "gpt-4o"},
        {"name": "Faithfulness", "success": False, "error": "timeout"},
    ]
    run = {
        "testFile": "t.py",
        "testCases": [{"name": "case 1", "input": "q", "actualOutput": "a", "success": False, "metricsData": metrics}],
    }
    path = write(tmp_path / "run.json", json.dumps(run))
    labels = read_labels(path)
    assert rows_of(labels) == [("case 1", "Bias (gpt-4o)", "fail"), ("case 1", "Relevancy (gpt-4o)", "pass")]
    assert labels.report.dropped == {"error": 1}
    assert rows_of(read_labels(path, question="Bias")) == [("case 1", "Bias (gpt-4o)", "0.6")]
    with pytest.raises(ParameterError, match=r"several metrics \('Relevancy', 'Bias'\); choose one with `question`"):
        read_labels(path, question="score")
    snake = {
        "test_results": [
            {"name": "case 1", "metrics_data": [{"name": "Bias", "success": True, "score": 1, "evaluation_model": None}]}
        ]
    }
    assert rows_of(read_labels(write(path, json.dumps(snake)))) == [("case 1", "Bias", "pass")]


def test_openai_evals(tmp_path):
    events = [{"spec": {"eval_name": "test.dev", "completion_fns": ["gpt-4"], "run_id": "r"}}]
    for n in range(2):
        common = {
            "run_id": "r",
            "event_id": n,
            "sample_id": f"test.{n}",
            "created_by": "",
            "created_at": "2024-05-01 10:00:00+00:00",
        }
        events.append({**common, "type": "sampling", "data": {"sampled": ["x"]}})
        events.append({**common, "type": "match", "data": {"correct": n == 0, "expected": "x", "picked": "x"}})
    path = write(tmp_path / "log.jsonl", json_lines([*events, {"final_report": {"accuracy": 0.5}}]))
    labels = read_labels(path)
    assert rows_of(labels) == [("test.0", "gpt-4", "true"), ("test.1", "gpt-4", "false")]
    assert labels.report.format == "openai-evals"


def test_mlflow(tmp_path):
    table = {
        "columns": ["inputs", "outputs", "answer_similarity/v1/score", "toxicity/v1/score"],
        "data": [["q", "a", 4, 0], ["r", "b", 1, 1]],
    }
    path = write(tmp_path / "eval_results_table.json", json.dumps(table))
    assert rows_of(read_labels(path, question="toxicity")) == [("0", "toxicity", "0"), ("1", "toxicity", "1")]
    traces = [
        {
            "trace_id": f"tr-{n}",
            "assessments": [
                {"assessment_name": "correct", "source": {"source_type": kind, "source_id": who}, "feedback": {"value": n == 0}}
                for kind, who in (("HUMAN", "ann"), ("LLM_JUDGE", "gpt-4"))
            ],
        }
        for n in range(2)
    ]
    labels = read_labels(write(tmp_path / "traces.json", json.dumps(traces)))
    assert rows_of(labels)[:2] == [("tr-0", "ann", "true"), ("tr-0", "gpt-4", "true")]


def test_langfuse(tmp_path):
    rows = [
        ["s1", "t1", "", "helpful", "1", "", "EVAL", ""],
        ["s2", "t1", "", "helpful", "0", "", "ANNOTATION", "ann"],
        ["s3", "t1", "o1", "tone", "", "warm", "API", ""],
    ]
    header = ["id", "traceId", "observationId", "name", "value", "stringValue", "source", "authorUserId"]
    path = write(tmp_path / "scores.csv", csv_text(header, rows))
    assert rows_of(read_labels(path, question="helpful")) == [("t1", "EVAL", "1"), ("t1", "ann", "0")]
    records = [dict(zip(header, row, strict=True)) for row in rows]
    assert rows_of(read_labels(write(tmp_path / "scores.jsonl", json_lines(records)), question="tone")) == [
        ("t1 / o1", "API", "warm")
    ]


def test_reward_bench(tmp_path):
    for judge, results in (("gpt-4", [1, 0]), ("claude", [1, 1])):
        record = {"id": ["a", "b"], "subset": ["chat", "chat"], "text_chosen": ["x", "y"], "results": results, "model": judge}
        write(tmp_path / f"{judge}.json", json.dumps(record))
    assert rows_of(read_labels(tmp_path)) == [
        ("a", "claude", "1"),
        ("a", "gpt-4", "1"),
        ("b", "claude", "1"),
        ("b", "gpt-4", "0"),
    ]


def test_promptfoo_errors_are_no_verdicts(tmp_path):
    """Errors of the provider (failureReason 2) and of the grader are counted; sets of assertions are read part by part."""
    fine = graded(0, "m", ("contains", True, {}))
    fine["gradingResult"]["componentResults"] = [
        {"pass": False, "score": 0, "assertion": None, "componentResults": [
            {"pass": True, "score": 1, "assertion": {"type": "equals"}},
            {"pass": False, "score": 0, "assertion": {"type": "llm-rubric"}},
        ]},
        {"pass": True, "score": 1, "assertion": {"type": "human", "value": "Thumbs up"}},
    ]  # fmt: skip
    grader = graded(1, "m", ("llm-rubric", False, {}))
    grader["gradingResult"]["componentResults"][0]["metadata"] = {"graderError": True}
    broken = {**graded(2, "m", success=False), "failureReason": 2, "error": "429", "response": {"error": "429"}}
    failed = {**graded(3, "m", ("equals", False, {}), success=False), "failureReason": 1, "error": "no match"}
    results = [fine, grader, broken, failed]
    path = write(tmp_path / "results.json", json.dumps({"results": {"version": 3, "results": results}}))
    labels = read_labels(path)
    assert rows_of(labels) == [
        ("m / prompt 0 / test 0", "equals", "pass"),
        ("m / prompt 0 / test 0", "human", "pass"),
        ("m / prompt 0 / test 0", "llm-rubric", "fail"),
        ("m / prompt 0 / test 3", "equals", "fail"),
    ]
    assert labels.report.dropped == {"error": 2}
    path = write(tmp_path / "first.json", json.dumps({"version": 1, "results": results, "stats": {}}))
    assert read_labels(path).n_labels == 4  # the first versions have the list at the top


def test_inspect_logs_that_broke_off_or_are_old(tmp_path):
    header = {"version": 2, "eval": {"task": "t", "model": "m"}}
    path = tmp_path / "broken.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps(header))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample(1, judge="C")))
        archive.writestr("samples/2_epoch_1.json", json.dumps(sample(2, judge="N")))
        archive.writestr("samples/3_epoch_1.json", json.dumps({**sample(3, judge="I"), "invalidation": {"reason": "r"}}))
        archive.writestr("samples/4_epoch_1.json", json.dumps({**sample(4), "scores": {"judge": {"explanation": "none"}}}))
    labels = read_labels(path)
    assert rows_of(labels) == [("1", "judge", "C"), ("2", "judge", "N")]
    assert labels.report.dropped == {"invalidated": 1, "no answer": 1}
    assert any("status is started" in note for note in labels.report.notes)
    old = {"id": 1, "epoch": 1, "input": "q", "target": "t", "score": {"value": "I"}}
    path = tmp_path / "old.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("start.json", json.dumps(header))
        archive.writestr("results.json", json.dumps({"status": "success"}))
        archive.writestr("samples/1_epoch_1.json", json.dumps(old))
        archive.writestr("samples/2_epoch_1.json", json.dumps({**old, "id": 2, "score": {"value": "C"}}))
    labels = read_labels(path)
    assert rows_of(labels) == [("1", "score", "I"), ("2", "score", "C")]
    assert not any("status" in note for note in labels.report.notes)
    log = {**header, "status": "success", "samples": [sample(1, judge=float("nan")), sample(2, judge=0.5), sample(3, judge=1)]}
    labels = read_labels(write(tmp_path / "log.json", json.dumps(log)))  # not a number stands for "not scored"
    assert (labels.n_labels, labels.report.dropped) == (2, {"no answer": 1})


def test_lm_evaluation_harness_filters_metrics_and_old_files(tmp_path):
    common = {"doc": {}, "target": "4", "arguments": {"gen_args_0": {"arg_0": "x"}}, "resps": [["4"]], "filtered_resps": ["4"]}
    records = [
        {"doc_id": n, **common, "filter": name, "metrics": ["exact_match"], "doc_hash": "h", "prompt_hash": "p",
         "target_hash": "t", "exact_match": float(name == "flexible-extract")}
        for n in range(2) for name in ("strict-match", "flexible-extract")
    ]  # fmt: skip
    (tmp_path / "org__model").mkdir()
    path = write(tmp_path / "org__model" / "samples_gsm8k_2025-01-02T03-04-05.678901.jsonl", json_lines(records))
    assert rows_of(read_labels(path))[:2] == [
        ("gsm8k / 0", "org__model (flexible-extract)", "1.0"),
        ("gsm8k / 0", "org__model (strict-match)", "0.0"),
    ]
    old = [{"doc_id": n, **common, "acc": 1.0, "acc_norm": 0.0, "perplexity": [1, 2]} for n in range(2)]
    path = write(tmp_path / "old.jsonl", json_lines(old))
    with pytest.raises(ParameterError, match="'acc', 'acc_norm'"):
        read_labels(path)
    assert read_labels(path, question="acc_norm").class_names == ("0.0",)
    path = write(tmp_path / "none.jsonl", json_lines([{"doc_id": 0, **common, "metrics": ["bleu"], "bleu": ["a", "b"]}]))
    with pytest.raises(DataError, match="no metric that is one number"):
        read_labels(path)


def test_deepeval_latest_run_cache_and_names(tmp_path):
    """Cases that pytest names alike stay apart, and a metric without a verdict has not failed."""
    metrics = [{"name": "Bias", "score": 0.2, "threshold": 0.5}, {"name": "Relevancy", "success": True, "score": 1.0}]
    cases = [{"name": "test_answers", "order": n, "success": True, "metricsData": metrics} for n in range(2)]
    latest = {"testRunData": {"testCases": cases, "conversationalTestCases": []}, "testRunLink": None}
    path = write(tmp_path / "latest_test_run.json", json.dumps(latest))
    labels = read_labels(path)
    assert rows_of(labels) == [("test_answers 0", "Relevancy", "pass"), ("test_answers 1", "Relevancy", "pass")]
    assert labels.report.dropped == {"no answer": 2}
    cached = {
        json.dumps({"input": f"q{n}", "actual_output": "a", "model": None}): {
            "cached_metrics_data": [
                {"metric_data": {"name": "Bias", "success": n == 0, "score": 0.1, "evaluationModel": "gpt-4o"},
                 "metric_configuration": {"threshold": 0.5}}
            ]
        }
        for n in range(2)
    }  # fmt: skip
    path = write(tmp_path / "deepeval-cache.json", json.dumps({"test_cases_lookup_map": cached}))
    assert rows_of(read_labels(path)) == [("test case 0", "Bias (gpt-4o)", "pass"), ("test case 1", "Bias (gpt-4o)", "fail")]
    assert rows_of(read_labels(path, item_column="input"))[0] == ("q0", "Bias (gpt-4o)", "pass")


def test_openai_evals_graded_by_a_model(tmp_path):
    """Graders name their metrics as they like; what could not be parsed stays, and errors are counted."""
    events = [{"spec": {"completion_fns": ["gpt-4", "gpt-4o"], "eval_name": "joke.dev", "base_eval": "joke", "run_id": "r"}}]
    for n, choice in enumerate(["Yes", "No", "__invalid__", None, "error"]):
        common = {"run_id": "r", "event_id": n, "sample_id": f"joke.dev.{n}", "created_by": "", "created_at": "2024-05-01"}
        events.append({**common, "type": "sampling", "data": {"prompt": [], "sampled": ["x"]}})
        if choice == "error":
            events.append({**common, "type": "error", "data": {"type": "RateLimitError", "message": "m"}})
        elif choice:
            events.append({**common, "type": "metrics", "data": {"funny": choice, "sampled": [1]}})
    labels = read_labels(write(tmp_path / "log.jsonl", json_lines([*events, {"final_report": {"counts/funny/Yes": 1}}])))
    assert rows_of(labels) == [
        ("joke.dev.0", "gpt-4 + gpt-4o", "Yes"),
        ("joke.dev.1", "gpt-4 + gpt-4o", "No"),
        ("joke.dev.2", "gpt-4 + gpt-4o", "__invalid__"),
    ]
    assert labels.report.dropped == {"error": 1, "no verdict": 1}
    assert labels.report.question == "funny"
    assert any("__invalid__" in note for note in labels.report.notes)


def test_mlflow_three(tmp_path):
    table = [
        {"trace_id": f"tr-{n}", "correctness/value": "yes", "correctness/rationale": "r", "own/value": 3, "state": "OK"}
        for n in range(2)
    ]
    labels = read_labels(write(tmp_path / "results.json", json.dumps(table)))
    assert rows_of(labels) == [("tr-0", "correctness", "yes"), ("tr-1", "correctness", "yes")]
    given = {"source": {"source_type": "LLM_JUDGE", "source_id": "gpt-4"}, "assessment_name": "safe", "trace_id": "t"}
    assessments = [
        {**given, "feedback": {"value": "no"}, "valid": False},
        {**given, "feedback": {"value": "yes"}, "valid": True, "overrides": "a-1"},
        {**given, "feedback": {"error": {"error_code": "RATE_LIMIT"}}, "source": {"source_type": "CODE", "source_id": "f"}},
    ]
    trace = {"info": {"trace_id": "tr-9", "assessments": assessments}, "data": {"spans": []}}
    labels = read_labels(write(tmp_path / "traces.json", json.dumps([trace])))
    assert rows_of(labels) == [("tr-9", "gpt-4", "yes")]
    assert labels.report.dropped == {"replaced by a later assessment": 1, "error": 1}


def test_langfuse_blobs_pages_and_sessions(tmp_path):
    common = {"timestamp": "2024-05-29 13:46:19.963000", "environment": "default", "comment": None}
    scores = [
        {"id": "1", "trace_id": "t1", "session_id": None, "observation_id": None, "name": "ok", "value": 1.0,
         "string_value": "True", "data_type": "BOOLEAN", "source": "EVAL", **common},
        {"id": "2", "trace_id": "t1", "session_id": None, "observation_id": None, "name": "ok", "value": 0.0,
         "string_value": "False", "data_type": "BOOLEAN", "source": "ANNOTATION", **common},
        {"id": "3", "trace_id": None, "session_id": "s1", "observation_id": None, "name": "ok", "value": 1.0,
         "string_value": "True", "data_type": "BOOLEAN", "source": "API", **common},
        {"id": "4", "trace_id": "t1", "session_id": None, "observation_id": None, "name": "output", "value": 0.0,
         "string_value": "a better answer", "data_type": "CORRECTION", "source": "ANNOTATION", **common},
    ]  # fmt: skip
    expected = [("s1", "API", "True"), ("t1", "ANNOTATION", "False"), ("t1", "EVAL", "True")]
    for text in (json_lines(scores), json.dumps({"data": scores, "meta": {"page": 1}})):
        labels = read_labels(write(tmp_path / "scores.json", text))
        assert sorted(rows_of(labels)) == expected
        assert labels.report.dropped == {"a text, no score": 1}
        assert any("1 score by people does not say by whom" in note for note in labels.report.notes)


def test_reward_bench_ties_are_told(tmp_path):
    record = {
        "id": ["1", "2", "3"], "subset": ["chat"] * 3, "text_chosen": ["x"] * 3, "text_rejected": ["y"] * 3,
        "results": [1, 0, 0.5], "model": "judge", "model_type": "Generative", "chat_template": "tokenizer",
    }  # fmt: skip
    labels = read_labels(write(tmp_path / "judge.json", json.dumps(record)))
    assert rows_of(labels) == [("1", "judge", "1"), ("2", "judge", "0"), ("3", "judge", "0.5")]
    assert any("1 verdict of 0.5" in note for note in labels.report.notes)


def test_an_archive_packed_in_another_way_is_refused_by_name(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
    data = path.read_bytes().replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x5d\x00"
    )
    path.write_bytes(data)
    with pytest.raises(DataError, match="packed by method 93"):
        read_labels(path)


def test_metrics_of_a_table_are_questions_of_their_own(tmp_path):
    """W19: two reading-grade levels and a correctness score were three workers on one scale of 21 classes."""
    names = ["ari_grade_level/v1/score", "flesch_kincaid_grade_level/v1/score", "answer_correctness/v1/score"]
    table = {"columns": ["inputs", *names], "data": [[f"q{n}", 7.5 + n, 9.1 + n, 1 + n % 5] for n in range(8)]}
    path = write(tmp_path / "eval_results_table.json", json.dumps(table))
    with pytest.raises(ParameterError, match=r"several questions \('ari_grade_level', .*choose one with `question`"):
        read_labels(path)
    labels = read_labels(path, question="answer_correctness")
    assert labels.class_names == ("1", "2", "3", "4", "5")
    assert labels.workers.to_pylist() == ["answer_correctness"]
    assert (labels.report.question, labels.report.dropped) == ("answer_correctness", {})


@pytest.mark.parametrize(
    "reason",
    [
        "Custom function threw error: x is not defined\nStack Trace: Error",
        "Python code execution failed: name 'x' is not defined",
        "Ruby code execution failed: no such file",
        "Invalid regex pattern: Unterminated group",
        "Could not extract JSON from llm-rubric response",
        "No output",
    ],
)
def test_promptfoo_assertions_that_threw_have_not_judged(tmp_path, reason):
    """W18: only `graderError` was looked at, so that a broken check counted as a fail of the output."""
    results = [graded(n, "m", ("javascript", False, {}), ("contains", n == 0, {})) for n in range(3)]
    results[0]["gradingResult"]["componentResults"][0]["reason"] = reason
    labels = read_labels(write(tmp_path / "results.json", json.dumps({"results": {"results": results}})))
    assert labels.report.dropped == {"error": 1}
    assert [row for row in rows_of(labels) if row[1] == "javascript"] == [
        ("m / prompt 0 / test 1", "javascript", "fail"),
        ("m / prompt 0 / test 2", "javascript", "fail"),
    ]
    results[0]["gradingResult"]["componentResults"][0]["reason"] = "Could not parse the date: it throws no error"
    labels = read_labels(write(tmp_path / "results.json", json.dumps({"results": {"results": results}})))
    assert (labels.n_labels, labels.report.dropped) == (6, {})


def test_promptfoo_prompts_without_assertions_are_different_items(tmp_path):
    """W18: two prompts of a test became repeats of one item; providers share an item although each has its own promptIdx."""
    results = [
        {**graded(0, provider, success=label == "short"), "promptIdx": place, "prompt": {"label": label, "raw": "filled in"}}
        for place, (provider, label) in enumerate([("a", "short"), ("a", "long"), ("b", "short"), ("b", "long")])
    ]
    labels = read_labels(write(tmp_path / "results.json", json.dumps({"results": {"results": results}})))
    assert rows_of(labels) == [
        ("prompt 0 / test 0", "a", "pass"),
        ("prompt 0 / test 0", "b", "pass"),
        ("prompt 1 / test 0", "a", "fail"),
        ("prompt 1 / test 0", "b", "fail"),
    ]
    assert labels.report.repeats == 0


def test_promptfoo_without_provider_or_assertion_says_nothing(tmp_path):
    """W18: a missing provider became worker "None", and "No assertions" a pass."""
    results = [graded(n, "m", success=n > 0) for n in range(4)]
    results[3]["provider"] = None
    labels = read_labels(write(tmp_path / "results.json", json.dumps({"results": {"results": results}})))
    assert labels.workers.to_pylist() == ["m"]
    assert labels.report.dropped == {"missing worker": 1}
    nameless = graded(0, "m", ("equals", True, {}))
    nameless["provider"] = {}
    labels = read_labels(write(tmp_path / "results.json", json.dumps({"results": {"results": [nameless]}})))
    assert labels.items.to_pylist() == ["prompt 0 / test 0"]
    for result in results:
        result["gradingResult"] = {"pass": True, "score": 1, "reason": "No assertions", "tokensUsed": {}}
    with pytest.raises(DataError, match=r"every judgement was left out .no assertion: 4"):
        read_labels(write(tmp_path / "results.json", json.dumps({"results": {"results": results}})))


def test_promptfoo_parts_of_a_set_that_stand_behind_it_count_once(tmp_path):
    """W18: promptfoo writes the parts of a set of assertions twice, inside the set and behind it."""
    parts = [{"pass": n == 0, "score": 1 - n, "reason": "r", "assertion": {"type": kind}} for n, kind in enumerate("ab")]
    whole = {"pass": False, "score": 0.5, "reason": "r", "componentResults": parts, "assertion": {"type": "assert-set"}}
    other = {"pass": True, "score": 1, "reason": "r", "assertion": {"type": "c"}}
    result = {**graded(0, "m"), "gradingResult": {"pass": False, "score": 0, "componentResults": [whole, *parts, other]}}
    labels = read_labels(write(tmp_path / "results.json", json.dumps({"results": {"results": [result]}})))
    assert [row[1:] for row in rows_of(labels)] == [("a", "pass"), ("b", "fail"), ("c", "pass")]


def test_mt_bench_single_scores(tmp_path):
    """exports.md: the item is question, model and turn; the worker is the judge; -1 is no score."""
    records = [
        {"question_id": 81, "model": model, "judge": ["gpt-4", f"single-v1{'-multi-turn' * (turn == 2)}"], "user_prompt": "...",
         "judgment": "Rating: [[9]]", "score": score, "turn": turn, "tstamp": 1687222882.5}
        for model, turn, score in (("alpaca-13b", 1, 9), ("alpaca-13b", 2, -1), ("vicuna-13b", 1, 7.5), ("vicuna-13b", 2, 10))
    ]  # fmt: skip
    labels = read_labels(write(tmp_path / "gpt-4_single.jsonl", json_lines(records)))
    assert labels.report.format == "mt-bench"
    assert rows_of(labels) == [
        ("81 / alpaca-13b / turn 1", "gpt-4", "9"),
        ("81 / vicuna-13b / turn 1", "gpt-4", "7.5"),
        ("81 / vicuna-13b / turn 2", "gpt-4", "10"),
    ]
    assert labels.report.dropped == {"no answer": 1}


def phoenix(span, kind, result, identifier="", user=None, name="correct"):
    return {
        "id": "U3Bhbg==", "created_at": "2025-06-01T10:00:00+00:00", "updated_at": "2025-06-01T10:00:00+00:00", "source": "API",
        "user_id": user, "name": name, "annotator_kind": kind, "result": result, "metadata": {}, "identifier": identifier,
        "span_id": span,
    }  # fmt: skip


def test_phoenix_annotations(tmp_path):
    """exports.md: people and judges together; a question is an annotation's name; the label counts before the score."""
    records = [
        phoenix("s1", "HUMAN", {"label": "yes", "score": 1.0, "explanation": None}, user="VXNlcjox"),
        phoenix("s1", "LLM", {"label": "no", "score": 0.0, "explanation": "wrong"}, "gpt-4o-judge"),
        phoenix("s2", "LLM", {"label": "yes", "score": 1.0, "explanation": "right"}, "gpt-4o-judge"),
        phoenix("s2", "CODE", {"label": None, "score": 0.25, "explanation": None}, name="overlap"),
        phoenix("s2", "HUMAN", {"label": "yes", "score": None, "explanation": None}),
        phoenix("s3", "HUMAN", None, user="VXNlcjox"),
    ]
    expected = [("s1", "VXNlcjox", "yes"), ("s1", "gpt-4o-judge", "no"), ("s2", "HUMAN", "yes"), ("s2", "gpt-4o-judge", "yes")]
    for text in (json_lines(records), json.dumps({"data": records, "next_cursor": None})):
        labels = read_labels(write(tmp_path / "annotations.json", text), question="correct")
        assert (labels.report.format, labels.report.dropped) == ("phoenix", {"no answer": 1})
        assert rows_of(labels) == expected
        assert any("1 score by people does not say by whom" in note for note in labels.report.notes)
    header = ["span_id", "annotation_name", "annotator_kind", "result.label", "result.score", "identifier", "user_id"]
    rows = [
        [one["span_id"], one["name"], one["annotator_kind"], *((one["result"] or {}).get(part) for part in ("label", "score")),
         one["identifier"], one["user_id"]]
        for one in records
    ]  # fmt: skip
    path = write(tmp_path / "annotations.csv", csv_text(header, rows))
    assert rows_of(read_labels(path, question="correct")) == expected
    assert rows_of(read_labels(path, question="overlap")) == [("s2", "CODE", "0.25")]
    with pytest.raises(ParameterError, match="'correct', 'overlap'"):
        read_labels(path)


def langsmith(run, score, value, source, key="helpful"):
    return {
        "id": "f", "created_at": "2025-06-01T10:00:00", "modified_at": "2025-06-01T10:00:00", "run_id": run, "trace_id": "t",
        "key": key, "score": score, "value": value, "comment": None, "correction": None, "feedback_source": source,
    }  # fmt: skip


def test_langsmith_feedback(tmp_path):
    """exports.md: a question is a key; a person is told by the user's id, and whoever runs a judge is not the judge."""
    person, judge = {"type": "app", "user_id": "u1"}, {"type": "model", "user_id": "u1", "metadata": {"__run": {}}}
    records = [
        langsmith("r1", 1.0, None, person),
        langsmith("r1", 0.0, None, judge),
        langsmith("r2", None, "good", {"type": "api"}, key="tone"),
        langsmith("r2", 1.0, {"corrected": "x"}, judge),
        langsmith("r3", None, None, person),
    ]
    path = write(tmp_path / "feedback.jsonl", json_lines(records))
    labels = read_labels(path, question="helpful")
    assert (labels.report.format, labels.report.dropped) == ("langsmith", {"no answer": 1})
    assert rows_of(labels) == [("r1", "model (u1)", "0.0"), ("r1", "u1", "1.0"), ("r2", "model (u1)", "1.0")]
    assert rows_of(read_labels(path, question="tone")) == [("r2", "api", "good")]
    with pytest.raises(ParameterError, match="'helpful', 'tone'"):
        read_labels(path)
    header = list(records[0])
    cells = [[json.dumps(cell) if isinstance(cell, dict) else cell for cell in record.values()] for record in records]
    path = write(tmp_path / "feedback.csv", csv_text(header, cells))
    assert rows_of(read_labels(path, question="helpful")) == rows_of(labels)
    frames = [[str(cell) if isinstance(cell, dict) else cell for cell in record.values()] for record in records]
    path = write(tmp_path / "frame.csv", csv_text(header, frames))  # a data frame writes objects as Python does
    assert rows_of(read_labels(path, question="helpful")) == rows_of(labels)


@pytest.mark.parametrize("version", ["new", "old"])
def test_ragas(tmp_path, version):
    """W19, exports.md: a row is an item, and every metric is a question of its own."""
    names = {
        "new": ["user_input", "retrieved_contexts", "response", "reference"],
        "old": ["question", "contexts", "answer", "ground_truth"],
    }[version]
    rows = [["where?", "['a', 'b']", "here", "there", 0.5, 1.0, ""], ["who?", "['c']", "me", "you", 1.0, "", ""]]
    header = [*names, "faithfulness", "answer_relevancy", "remark"]
    records = [{name: cell for name, cell in zip(header, row, strict=True) if cell != ""} for row in rows]
    texts = {"ragas.csv": csv_text(header, rows), "ragas.jsonl": json_lines([{**one, names[1]: ["a"]} for one in records])}
    for name, text in texts.items():
        path = write(tmp_path / name, text)
        with pytest.raises(ParameterError, match="'faithfulness', 'answer_relevancy'"):
            read_labels(path)
        labels = read_labels(path, question="faithfulness")
        assert labels.report.format == "ragas"
        assert rows_of(labels) == [("0", "faithfulness", "0.5"), ("1", "faithfulness", "1.0")]
        labels = read_labels(path, question="answer_relevancy")
        assert (rows_of(labels), labels.report.dropped) == ([("0", "answer_relevancy", "1.0")], {"no answer": 1})


def test_a_table_of_workers_with_contexts_is_not_from_ragas(tmp_path):
    table = csv_text(["question", "contexts", "worker", "answer"], [["q", "c", "ann", "yes"], ["q", "c", "bob", "no"]])
    assert rows_of(read_labels(write(tmp_path / "a.csv", table))) == [("q", "ann", "yes"), ("q", "bob", "no")]


def test_braintrust(tmp_path):
    """exports.md: an item is a span with scores; every score is a question of its own."""
    records = [
        {"id": f"e{n}", "span_id": f"s{n}", "root_span_id": f"s{n}", "is_root": True, "experiment_id": "x", "input": f"q{n}",
         "output": "a", "expected": "b", "scores": {"Factuality": n % 2, "Human": None if n else 1}, "created": "2025-06-01"}
        for n in range(2)
    ]  # fmt: skip
    records.append({**records[0], "id": "inner", "span_id": "s9", "is_root": False, "scores": None})
    for text in (json_lines(records), json.dumps({"events": records})):
        path = write(tmp_path / "experiment.json", text)
        labels = read_labels(path, question="Factuality")
        assert labels.report.format == "braintrust"
        assert rows_of(labels) == [("e0", "Factuality", "0"), ("e1", "Factuality", "1")]
        labels = read_labels(path, question="Human")
        assert (rows_of(labels), labels.report.dropped) == ([("e0", "Human", "1")], {"no answer": 1})
        with pytest.raises(ParameterError, match="'Factuality', 'Human'"):
            read_labels(path)


def test_inspect_scorers_of_different_scales_are_questions_of_their_own(tmp_path):
    """W19: right or wrong, and a measure between 0 and 1, are no verdicts on one question."""
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    log["samples"] = [sample(1, match="C", f1=0.37), sample(2, match="I", f1=0.81)]
    path = write(tmp_path / "log.json", json.dumps(log))
    with pytest.raises(ParameterError, match="'match', 'f1'"):
        read_labels(path)
    labels = read_labels(path, question="match")
    assert (rows_of(labels), labels.report.dropped) == ([("1", "match", "C"), ("2", "match", "I")], {})
