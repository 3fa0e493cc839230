"""The expert's sheet on the command line: written, filled in, given back, enlarged, and never written over."""

import csv
import json
import re
from base64 import b64decode
from pathlib import Path

import pytest

from crowdassay import aggregate
from crowdassay.cli.main import main
from crowdassay.planning.expert import draw_items

ITEMS = [f"item-{number}" for number in range(60)]


@pytest.fixture
def labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        (item, f"w{w}", "no" if (n + (w == n % 4)) % 2 else "yes", f"Text {n}")
        for n, item in enumerate(ITEMS)
        for w in range(4)
    ]
    with open("labels.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("item", "worker", "label", "text"), *rows])
    return "labels.csv"


def run(*arguments):
    with pytest.raises(SystemExit) as ending:
        main(["aggregate", "labels.csv", *arguments])
    return ending.value.code


def read(path="expert.csv"):
    with open(path, newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def fill(answers, path="expert.csv"):
    rows = read(path)
    for row in rows:
        row["label"] = answers.get(row["item"], row["label"])
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def write_truth(known):
    with open("truth.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("item", "label"), *known.items()])


def drawn(n):
    return [ITEMS[j] for j in draw_items(ITEMS, n)]


def truth(items):
    return {item: "no" if ITEMS.index(item) % 2 else "yes" for item in items}


def test_the_sheet_holds_the_items_drawn_their_texts_and_no_answers(labels, capsys):
    assert run("--expert", "expert.csv", "--expert-items", "20") == 0
    rows = read()
    assert [row["item"] for row in rows] == drawn(20)
    assert rows[0]["text"] == f"Text {ITEMS.index(rows[0]['item'])}"
    assert {(row["label"], row["drawn"], row["classes"]) for row in rows} == {("", "at random", "no | yes")}
    assert set(rows[0]) == {"item", "text", "label", "drawn", "classes"}
    assert "crowdassay aggregate labels.csv --gold expert.csv" in capsys.readouterr().out


def test_the_sheet_of_the_example_is_drawn_by_the_command(tmp_path):
    """It is filled in by the truth; the rows are the ones that are drawn."""
    story = Path(__file__).parents[2] / "examples" / "reviews"
    with pytest.raises(SystemExit):
        main(["aggregate", str(story / "labels.csv"), "--expert", str(tmp_path / "expert.csv"), "--quiet"])
    truth = {row["item"]: row["label"] for row in read(story / "truth.csv")}
    assert read(story / "expert.csv") == [row | {"label": truth[row["item"]]} for row in read(tmp_path / "expert.csv")]


def test_a_workbook_offers_the_classes_and_comes_back(labels):
    assert run("--expert", "expert.xlsx", "--quiet") == 0
    calamine = pytest.importorskip("python_calamine")
    cells = calamine.CalamineWorkbook.from_path("expert.xlsx").get_sheet_by_index(0).to_python()
    assert cells[0] == ["item", "text", "label", "drawn"]
    assert [row[0] for row in cells[1:]] == drawn(50)
    assert calamine.CalamineWorkbook.from_path("expert.xlsx").get_sheet_by_name("choices").to_python() == [["no"], ["yes"]]
    assert run("--gold", "expert.xlsx", "--quiet") == 0  # nothing is answered yet, and that is no mistake


def test_answers_are_known_and_the_rest_is_said_once(labels, capsys):
    run("--expert", "expert.csv", "--quiet")
    fill(truth(drawn(30)))
    assert run("--gold", "expert.csv") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("20 of 50 rows of the sheet are not yet answered.") == 1
    assert "25 more answers of an expert" in out
    run("--gold", "expert.csv", "--json")
    summary = json.loads(capsys.readouterr().out)
    assert (summary["n_gold"], summary["import_report"]["drawn"]) == (30, 30)
    after = summary["error_after_answers"]
    now = summary["estimated_error"]
    assert after["answers"] == 25
    assert after["high"] - after["low"] < now["high"] - now["low"]


def test_items_left_out_above_answered_ones_are_told(labels, capsys):
    run("--expert", "expert.csv", "--quiet")
    fill(truth(drawn(30)[5:]))
    run("--gold", "expert.csv", "--json")
    summary = json.loads(capsys.readouterr().out)
    assert summary["import_report"]["drawn"] == 0
    assert "5 of them stand above answered ones" in " ".join(summary["import_report"]["notes"])


def test_a_label_that_is_no_class_is_refused_by_its_row(labels, capsys):
    run("--expert", "expert.csv", "--quiet")
    third = drawn(3)[2]
    fill({third: "maybe"})
    assert run("--gold", "expert.csv") == 1
    assert f"(row 4, item '{third}': 'maybe'). The classes are 'no', 'yes'" in capsys.readouterr().err


def test_answers_are_never_written_over(labels, capsys):
    run("--expert", "expert.csv", "--quiet")
    assert run("--expert", "expert.csv", "--quiet") == 0  # there is nothing to lose
    fill(truth(drawn(1)))
    before = read()
    assert run("--expert", "expert.csv") != 0
    assert "'expert.csv' holds 1 answer; give it with --gold as well" in capsys.readouterr().err
    assert read() == before
    assert run("--expert", "labels.csv") != 0
    assert "is no sheet for an expert" in capsys.readouterr().err


def test_a_command_to_type_again_says_that_the_salt_is_to_be_added(labels, capsys):
    salted = "--pseudonymise", "--salt", "pepper"
    for options in (salted, (*salted, "--expert", "expert.csv")):
        assert run(*options) == 0
        said = capsys.readouterr().out
        command, after = said.split("  crowdassay aggregate ")[1].split("\n", 1)
        assert "--pseudonymise" in command
        assert "pepper" not in said
        assert " ".join(after.split()).startswith("Add --salt with the same salt")
    assert run("--expert", "other.csv") == 0
    assert "--salt" not in capsys.readouterr().out


def test_more_rows_keep_the_answers(labels):
    run("--expert", "expert.csv", "--expert-items", "20", "--quiet")
    fill(truth(drawn(10)))
    with open("expert.csv", "a", encoding="utf-8") as stream:
        stream.write(f"{ITEMS[0]},,yes,,\n" if ITEMS[0] not in drawn(40) else f"{drawn(60)[-1]},,yes,,\n")
    assert run("--gold", "expert.csv", "--expert", "expert.csv", "--expert-items", "40", "--quiet") == 0
    rows = read()
    assert [row["item"] for row in rows if row["drawn"]] == [i for i in drawn(41) if i != rows[-1]["item"]][:40]
    assert {row["item"]: row["label"] for row in rows[:10]} == truth(drawn(10))
    assert (rows[-1]["label"], rows[-1]["drawn"]) == ("yes", "")  # somebody's own row is known, but not drawn
    run("--gold", "expert.csv", "--expert", "expert.csv", "--expert-items", "5", "--quiet")
    assert len([row for row in read() if row["drawn"]]) == 40  # a sample never shrinks


def test_python_draws_the_same_items_and_takes_the_table_back(labels):
    run("--expert", "expert.csv", "--quiet")
    result = aggregate("labels.csv").result_
    table = result.expert_sample(50)
    assert list(table["item"]) == [row["item"] for row in read()]
    filled = table.assign(label=list(truth(drawn(50)).values()))
    known = aggregate("labels.csv", gold=filled).result_
    assert known.insight.error.at_random
    assert not aggregate("labels.csv", gold=truth(drawn(50))).result_.insight.error.at_random


def test_engines_draw_the_same_items(labels):
    run("--expert", "expert.csv", "--quiet")
    run("--expert", "files.csv", "--engine", "files", "--quiet")
    assert [row["item"] for row in read("files.csv")] == [row["item"] for row in read()]
    fill(truth(drawn(20)), "files.csv")
    assert run("--gold", "files.csv", "--engine", "files", "--expert", "files.csv", "--quiet") == 0
    assert sum(row["label"] != "" for row in read("files.csv")) == 20


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--expert-items", "5"], "--expert-items goes with --expert"),
        (["--expert", "e.csv", "--expert-items", "0"], "--expert-items must be 1 or more, not 0"),
        (["--expert", "e.txt"], "must end in .xlsx or .csv"),
    ],
)
def test_what_cannot_be_is_refused(labels, capsys, arguments, said):
    assert run(*arguments) != 0
    assert said in capsys.readouterr().err


def test_the_report_offers_the_same_sheet(labels):
    assert run("--report", "report.html", "--expert", "expert.csv", "--quiet") == 0
    with open("report.html", encoding="utf-8") as stream:
        found = re.search(r'download="expert.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', stream.read())
    with open("offered.csv", "wb") as stream:
        stream.write(b64decode(found.group(1)))
    assert read("offered.csv") == read()
    assert run("--gold", "offered.csv", "--quiet") == 0


@pytest.mark.parametrize("name", ["rte", "music_genre", "web_search"])
def test_the_whole_story_keeps_its_promises(name, real, tmp_path, monkeypatch, capsys):
    """First run, sheet, answers in two portions, report: the truth plays the expert, and judges what was promised."""
    monkeypatch.chdir(tmp_path)
    labels, codes = real(name)
    items = [str(item) for item in labels.items.to_pylist()]
    known = {item: str(labels.class_names[code]) for item, code in zip(items, codes, strict=True) if code >= 0}
    given = zip(labels.label_item.tolist(), labels.worker.tolist(), labels.label.tolist(), strict=True)
    with open("labels.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(("item", "worker", "label"))
        writer.writerows((items[j], f"w{i}", labels.class_names[c]) for j, i, c in given if items[j] in known)
    assert run("--expert", "expert.csv") == 0
    for answers, more in (
        (30, ["--expert", "expert.csv", "--expert-items", "100"]),
        (100, ["--out", "out", "--report", "r.html"]),
    ):
        items = [row["item"] for row in read()][:answers]
        fill({item: known[item] for item in items})
        capsys.readouterr()
        assert run("--gold", "expert.csv", "--json", *more) == 0
        summary = json.loads(capsys.readouterr().out)
        assert summary["import_report"]["drawn"] == summary["n_gold"] == answers
        write_truth(known)
        run("--gold", "expert.csv", "--truth", "truth.csv", "--json")
        measured = json.loads(capsys.readouterr().out)
        wrong = measured["error_rate"] * (1 - answers / measured["n_items"])
        limits = summary["estimated_error"]
        assert limits["low"] <= wrong <= limits["high"]
        widths = [limits["high"] - limits["low"], *(summary["error_after_answers"][end] for end in ("low", "high"))]
        assert widths[2] - widths[1] < widths[0]
    with open("out/items.csv", newline="", encoding="utf-8") as stream:
        settled = {row["item"] for row in csv.DictReader(stream) if row["standing"] == "settled"}
    with open("out/labels.csv", newline="", encoding="utf-8") as stream:
        found = {row["item"]: row["label"] for row in csv.DictReader(stream)}
    assert sum(found[item] != known[item] for item in settled) <= 0.05 * len(settled) + 1
