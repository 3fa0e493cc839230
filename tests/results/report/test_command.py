"""`crowdassay aggregate --report` as a user would try it."""

import csv
import json

import pytest


@pytest.fixture
def simulated(tmp_path, run):
    assert run("simulate", "--out", tmp_path / "sim", "--items", 60, "--workers", 8, "--classes", 3, "--seed", 4)[0] == 0
    return tmp_path / "sim"


@pytest.mark.slow
def test_a_report_is_written_beside_the_tables(run, simulated, tmp_path):
    out = tmp_path / "results"
    arguments = ["aggregate", simulated / "labels.csv", "--truth", simulated / "truth.csv", "--method", "dawid-skene"]
    for _ in range(2):  # the second run finds the first one's files
        code, printed, _ = run(*arguments, "--out", out, "--report", out / "report.html", "--report-title", "Ducks & geese")
        assert code == 0
        assert f"Wrote the report to {out / 'report.html'}." in printed
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<h1>Ducks &amp; geese</h1>" in page
    assert "Against the truth of 60 items" in page
    with (out / "workers.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert all(float(row["accuracy_low"]) <= float(row["accuracy"]) <= float(row["accuracy_high"]) for row in rows)
    assert {row["action"] for row in rows} <= {"keep", "retrain", "talk to", "remove"}
    assert any("agrees with the others on" in row["evidence"] for row in rows)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--report", "report.pdf"], "must end in .html"),
        (["--report-title", "Ducks"], "goes with --report"),
        (["--report", "/proc/nowhere/report.html"], "/proc"),
        (["--report", "report.pdf", "--engine", "files"], "must end in .html"),
    ],
)
def test_a_report_that_cannot_be_is_refused_at_once(run, simulated, options, words):
    code, out, err = run("aggregate", simulated / "labels.csv", *options)
    assert code == 2
    assert out == ""
    assert words in err


def test_what_cannot_be_known_is_said(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,worker,label\n1,ann,x\n2,ann,y\n3,bob,x\n")
    out = tmp_path / "results"
    code, printed, _ = run("aggregate", path, "--out", out, "--method", "majority")
    assert code == 0
    assert "no worker can be judged" in " ".join(printed.split())
    assert "Least reliable workers" not in printed
    notes = json.loads((out / "summary.json").read_text(encoding="utf-8"))["notes"]
    assert any("is an assumption" in note for note in notes)
    assert any("2 groups" in note for note in notes)
    with (out / "items.csv").open(encoding="utf-8") as file:
        assert {row["standing"] for row in csv.DictReader(file)} == {"unidentifiable"}
