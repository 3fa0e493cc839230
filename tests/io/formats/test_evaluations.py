"""What evaluation tools write: an item is a test case or sample, a worker a judge, scorer or model, a label the verdict."""

import json
import zipfile

import pytest

from crowdassay.errors import ParameterError
from crowdassay.io.files import read_labels
from exports import csv_text, json_lines, rows_of, write


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
    assert read_labels(path, question="score").class_names == ("0.6", "0.9")
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
    labels = read_labels(write(tmp_path / "eval_results_table.json", json.dumps(table)))
    assert rows_of(labels) == [
        ("0", "answer_similarity", "4"),
        ("0", "toxicity", "0"),
        ("1", "answer_similarity", "1"),
        ("1", "toxicity", "1"),
    ]
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
