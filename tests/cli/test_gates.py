"""Conditions that fail a run, prices, and errors that programs can read."""

import json

import pytest

from crowdassay.cli.gates import (
    AGGREGATE_FIGURES,
    aggregate_figures,
    check_conditions,
    read_conditions,
)
from crowdassay.cli.rate import figures as rate_figures
from crowdassay.errors import ParameterError

EXAMPLE = "estimated_error > 5%"
FACTS = {
    "rate": {"pass": {"estimate": 0.91, "low": 0.85, "high": 0.95}, "v1.2 fail": {"low": 0.1}},
    "worth": 2.5,
    "n_people_labels": 50,
    "judges": [{"judge": "gpt-4.1", "accuracy": {"low": 0.7}, "kappa": None}],
    "by": {"model.a": {"rate": {"pass": {"low": 0.4}}}},
    "settled": True,
}


def check(text, facts=FACTS):
    [gate] = check_conditions(read_conditions([text], "pass_rate.low < 0.9"), *rate_figures(facts))
    return gate


def failures(texts, summary):
    gates = check_conditions(read_conditions(texts, EXAMPLE, AGGREGATE_FIGURES), aggregate_figures(summary))
    return [str(gate) for gate in gates if gate.failed]


@pytest.mark.parametrize(
    ("text", "failed", "value"),
    [
        ("pass_rate.low < 0.9", True, 0.85),
        ("pass_rate.low<0.8", False, 0.85),
        ("rate.pass.high >= 95%", True, 0.95),
        ("pass.estimate > 0.5", True, 0.91),
        ("worth < 3", True, 2.5),
        ("n_people_labels < 30", False, 50),
        ("v1.2 fail_rate.low > 0.05", True, 0.1),
        ("judges.gpt-4.1.accuracy.low < 0.8", True, 0.7),
        ("by.model.a.rate.pass.low <= 0.4", True, 0.4),
    ],
)
def test_conditions_hold_or_not(text, failed, value):
    gate = check(text)
    assert (gate.failed, gate.value) == (failed, value)
    assert gate.as_dict() == {"condition": text, "value": value, "failed": failed}


@pytest.mark.parametrize("text", ["", "pass_rate.low", "pass_rate.low < high", "< 3", "a << 3"])
def test_what_is_no_condition_is_a_sentence(text):
    with pytest.raises(ParameterError, match=r"pass_rate\.low < 0\.9|there is no"):
        check(text)


@pytest.mark.parametrize("name", ["pas_rate.low", "pass_rate", "settled", "judges.gpt-4.1.accuracy.low.more"])
def test_unknown_figures_are_refused_and_some_that_there_are_named(name):
    with pytest.raises(ParameterError, match=rf"there is no '{name}'; there are 'pass_rate\.low', 'v1\.2 fail_rate\.low'"):
        check(f"{name} < 1")


def test_what_could_not_be_told_fails():
    gate = check("judges.gpt-4.1.kappa < 1")
    assert (gate.failed, gate.value) == (True, None)
    assert str(gate) == "judges.gpt-4.1.kappa is unknown, so that 'judges.gpt-4.1.kappa < 1' cannot be told."


@pytest.fixture
def story(tmp_path, run):
    assert run("simulate", "--story", "reviews", "--seed", 5, "--out", tmp_path / "reviews")[0] == 0
    return tmp_path / "reviews"


def test_a_condition_that_holds_fails_the_run_and_says_so(run, story):
    code, out, err = run("aggregate", story / "labels.csv", "--method", "majority", "--quiet", "--fail-if", "settled < 100%")
    assert code == 1
    assert out == ""
    assert "Failed: settled is 0." in err
    code, out, err = run("aggregate", story / "labels.csv", "--method", "majority", "--quiet", "--fail-if", "tied > 1e6")
    assert (code, out, err) == (0, "", "")


def test_json_holds_what_a_pipeline_asks_about(run, story):
    code, out, _ = run(
        "aggregate", story / "labels.csv", "--method", "dawid-skene", "--json", "--cost", 0.05, "--fail-if", "removed > 0"
    )
    found = json.loads(out)
    assert code == 1
    assert found["failed_gates"] == ["removed is 1, and the run fails if removed > 0."]
    assert found["estimated_error"] is None
    assert "the default gives one" in found["why_no_estimated_error"]
    assert 0 < found["n_settled"] <= 480
    assert found["flagged_workers"][0]["worker"] == "Zack"
    assert found["flagged_workers"][0]["action"] == "remove"
    assert found["flagged_workers"][0]["reasons"]
    assert found["cost"]["spent"] == pytest.approx(120)


@pytest.mark.parametrize("text", ["nonsense", "error > 5", "settled >> 1", "tied > x", "tied > 1.2.3"])
def test_conditions_that_are_none_are_refused_before_anything_is_computed(text):
    with pytest.raises(ParameterError, match=r"estimated_error > 5%|there is no '.*'; there are 'estimated_error'"):
        read_conditions([text], EXAMPLE, AGGREGATE_FIGURES)


def test_an_error_rate_needs_a_truth(run):
    code, _, err = run("aggregate", "nowhere.csv", "--fail-if", "error_rate > 1%")
    assert (code, "needs --truth" in err) == (2, True)


def test_every_figure_can_be_asked_about():
    summary = {
        "estimated_error": {"rate": 0.1}, "error_rate": 0.2, "n_settled": 5, "n_items": 10, "n_tied": 1, "n_labels": 30,
        "flagged_workers": [{"action": "remove"}, {"action": "retrain"}], "converged": False,
    }  # fmt: skip
    assert len(failures([f"{name} >= 0" for name in AGGREGATE_FIGURES], summary)) == len(AGGREGATE_FIGURES)
    assert failures(["flagged > 2", "not_converged < 1", "settled != 50%"], summary) == []


def test_what_is_unknown_does_not_pass():
    summary = {
        "estimated_error": None, "n_settled": 0, "n_items": 1, "n_tied": 0, "n_labels": 1, "flagged_workers": [],
        "converged": True,
    }  # fmt: skip
    assert "cannot be told" in failures(["estimated_error > 5%"], summary)[0]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [(["nothing.csv"], 2, "no file"), (["--nonsense"], 2, "--nonsense"), (["labels.csv", "--fail-if", "x"], 2, "--fail-if")],
)
def test_errors_are_json_too(run, story, monkeypatch, arguments, code, words):
    monkeypatch.chdir(story)
    found, out, err = run("aggregate", *arguments, "--json")
    assert found == code
    assert err == ""
    error = json.loads(out)["error"]
    assert error["exit_code"] == code
    assert words in error["message"]


def test_a_column_may_say_what_was_paid(run, tmp_path):
    path = tmp_path / "labels.csv"
    rows = [
        f"i{j},{who},{'ba'[j % 2] if (j, who) == (0, 'cy') else 'ab'[j % 2]},{price}"
        for j in range(20)
        for who, price in (("ann", 0.1), ("bob", 0.2), ("cy", ""))
    ]
    path.write_text("item,worker,label,reward\n" + "\n".join(rows) + "\n")
    code, out, _ = run("aggregate", path, "--json", "--cost", "reward", "--method", "majority")
    assert code == 0
    assert json.loads(out)["cost"]["spent"] == pytest.approx(6.0)
    path.write_text(path.read_text().replace("0.2", "plenty", 1))
    code, out, err = run("aggregate", path, "--cost", "reward", "--method", "majority")
    assert code == 1
    assert "The cost in data row 2 of 'labels.csv' is 'plenty', which is no number" in err
    assert run("aggregate", path, path, "--cost", "reward")[0] == 2
    assert "between 0 and" in run("aggregate", path, "--cost", "-3")[2]


def test_strict_and_quiet_says_why(run, story):
    code, out, err = run("aggregate", story / "labels.csv", "--method", "dawid-skene", "--max-iter", 1, "--strict", "--quiet")
    assert (code, out) == (1, "")
    assert "did not converge" in err


def test_what_was_written_is_said(run, story, tmp_path):
    files = {"--next": tmp_path / "next.csv", "--report": tmp_path / "report.html"}
    code, out, _ = run(
        "aggregate", story / "labels.csv", "--method", "majority", *(part for pair in files.items() for part in pair)
    )
    said = " ".join(out.split())
    assert code == 0
    assert "Nothing was written" not in said
    assert "Wrote the items to label next to" in said
    assert "Wrote the report to" in said
    assert "Light, quiet, well made" in (tmp_path / "report.html").read_text() or "review-" in said
    code, out, _ = run("aggregate", story / "labels.csv", "--method", "majority")
    assert "Nothing was written" in out
