"""The commands measure and rank, from a file to tables, pages and pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xlsxwriter


@pytest.fixture
def ratings(tmp_path):
    rng = np.random.default_rng(0)
    quality, severity = rng.normal(size=30), rng.normal(size=5)
    lines = ["task,rater,day,lang,rating"]
    for task in range(30):
        for rater in range(5):
            score = int(np.clip(round(3 + quality[task] - severity[rater] + rng.normal()), 1, 5))
            lines.append(f"t{task},r{rater},2024-05-{1 + (task * 7 + rater) % 28:02d},{'de' if task % 2 else 'en'},{score}")
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def pairs(tmp_path):
    rng = np.random.default_rng(1)
    score = np.array([1.0, 0.3, -0.3, -1.0])
    lines = ["left,right,worker,winner,kind"]
    for n in range(300):
        left, right = rng.permutation(4)[:2]
        won = "left" if rng.random() < 1 / (1 + np.exp(score[right] - score[left])) else "right"
        lines.append(f"m{left},m{right},w{n % 7},{'tie' if rng.random() < 0.1 else won},{'k' if n % 2 else 'l'}")
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_measure_writes_tables_and_a_page(run, ratings, tmp_path):
    pytest.importorskip("vl_convert")
    out, page, picture = tmp_path / "out", tmp_path / "page.html", tmp_path / "map.svg"
    options = [
        "--group",
        "lang",
        "--time",
        "day",
        "--interaction",
        "rater,task",
        "--out",
        out,
        "--report",
        page,
        "--chart",
        picture,
    ]
    code, said, error = run("measure", ratings, "--facets", "rater,task", *options)
    assert (code, error) == (0, "")
    assert "What is measured is task" in said
    assert sorted(path.name for path in out.iterdir()) == [
        "categories.csv", "differences.csv", "drift.csv", "facets.csv", "group_shifts.csv", "interactions.csv", "measures.csv",
        "summary.json", "thresholds.csv",
    ]  # fmt: skip
    assert json.loads((out / "summary.json").read_text())["measured"] == "task"
    text = page.read_text(encoding="utf-8")
    assert "Variable map" in text
    assert "https:" not in text.split("<script>")[0].replace("https://vega.github.io", "")
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_measure_prints_json_and_nothing_else(run, ratings):
    code, said, _ = run("measure", ratings, "--facets", "rater,task", "--estimation", "joint", "--json")
    assert code == 0
    found = json.loads(said)
    assert found["n_ratings"] == 150
    assert {row["facet"] for row in found["tables"]["measures"]} == {"rater", "task"}
    assert found["facets"] == ["rater", "task"]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--facets", "rater"], 2, "At least two facets"),
        (["--facets", "rater,tsk"], 2, "There is no column 'tsk'"),
        (["--facets", "rater,task", "--interaction", "rater,day"], 2, "--interaction needs two of the facets"),
        (["--facets", "rater,task", "--score-column", "lang"], 1, "are no numbers but"),
        (["--facets", "rater,task", "--score-column", "lang", "--classes", "de"], 1, "which --classes does not name"),
        (["--facets", "rater,task", "--report", "page.txt"], 2, "must end in .html"),
        (["--facets", "rater,task", "--positive", "day"], 2, "not among the facets"),
    ],
)
def test_measure_refuses(run, ratings, options, code, words):
    found, said, error = run("measure", ratings, *options)
    assert (found, said) == (code, "")
    assert words in error
    assert error.count("\n") == 1


def test_measure_refuses_a_missing_file_and_an_empty_one(run, tmp_path):
    assert run("measure", tmp_path / "none.csv", "--facets", "a,b")[0] == 2
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert run("measure", empty, "--facets", "a,b")[0] == 1


def test_rank_writes_tables_and_a_page(run, pairs, tmp_path):
    pytest.importorskip("vl_convert")
    out, page = tmp_path / "out", tmp_path / "page.html"
    code, said, error = run(
        "rank", pairs, "--group", "kind", "--next", 2, "--out", out, "--report", page, "--chart", tmp_path / "r.svg"
    )
    assert (code, error) == (0, "")
    assert "Compare next" in said
    assert sorted(path.name for path in out.iterdir()) == [
        "groups.csv",
        "next.csv",
        "ranking.csv",
        "summary.json",
        "wins.csv",
        "workers.csv",
    ]
    assert (out / "ranking.csv").read_text().splitlines()[1].startswith("m0,1,")
    assert "Who beats whom" in page.read_text(encoding="utf-8")


def test_rank_prints_json(run, pairs):
    code, said, _ = run("rank", pairs, "--ties", "rao-kupper", "--intervals", "bootstrap", "--resamples", 20, "--json")
    assert code == 0
    found = json.loads(said)
    assert found["n_comparisons"] == 300
    assert found["tables"]["ranking"][0]["item"] == "m0"
    assert (
        json.loads(run("rank", pairs, "--ties", "rao-kupper", "--intervals", "bootstrap", "--resamples", 20, "--json")[1])
        == found
    )


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--winner-column", "kind"], 1, "neither of the two compared"),
        (["--prior", "much"], 2, "--prior needs a number"),
        (["--next", "0"], 2, "--next needs"),
        (["--style", "length"], 2, "There is no column 'length'"),
        (["--left-column", "lft"], 2, "There is no column 'lft'"),
        (["--chart", "x.pdf"], 2, "must end in .svg or .png"),
    ],
)
def test_rank_refuses(run, pairs, options, code, words):
    found, said, error = run("rank", pairs, *options)
    assert (found, said) == (code, "")
    assert words in error


def test_conditions_end_a_run_with_exit_code_one(run, ratings, pairs, tmp_path):
    code, said, error = run("rank", pairs, "--fail-if", "m3.rank > 1", "--fail-if", "m0.worst_rank > 3", "--json")
    assert code == 1
    assert "Failed: m3.rank is 4, and the run fails if m3.rank > 1." in error
    gates = json.loads(said)["gate"]
    assert [gate["failed"] for gate in gates] == [True, False]
    assert run("rank", pairs, "--fail-if", "n_parts > 1")[0] == 0
    code, _, error = run("measure", ratings, "--facets", "rater,task", "--fail-if", "rater.reliability > 10%")
    assert (code, "and the run fails if rater.reliability > 10%." in error) == (1, True)
    page = tmp_path / "page.html"
    for command, bad, message in (
        (("rank", pairs), "m9.rank > 1", "there is no 'm9.rank'"),
        (("rank", pairs), "m1 good", "write it like 'model-x.worst_rank > 3'"),
        (("measure", ratings, "--facets", "rater,task"), "judge.sd > 1", "there is no 'judge.sd'"),
    ):
        code, _, error = run(*command, "--fail-if", bad, "--report", page)
        assert (code, message in error, page.exists()) == (2, True, False)


def test_sheets_of_a_workbook_and_cells_that_stand_for_none(run, ratings, pairs, tmp_path):
    """Both studies name the sheet as aggregate does, and measure says which rating stands for none."""
    rows = [line.split(",") for line in ratings.read_text(encoding="utf-8").splitlines()]
    rows[1][-1], rows[2][-1] = "NULL", "-9"
    with xlsxwriter.Workbook(str(tmp_path / "study.xlsx")) as book:
        for name, table in (("about", [["who", "when"], ["us", "now"]]), ("ratings", rows)):
            sheet = book.add_worksheet(name)
            for n, row in enumerate(table):
                sheet.write_row(n, 0, row)
        sheet = book.add_worksheet("pairs")
        for n, line in enumerate(pairs.read_text(encoding="utf-8").splitlines()):
            sheet.write_row(n, 0, line.split(","))
    book, facets = tmp_path / "study.xlsx", ("--facets", "rater,task", "--sheet", "ratings")
    code, _, err = run("measure", book, *facets)
    assert code == 1
    assert "'NULL', which is no number" in err
    code, out, _ = run("measure", book, *facets, "--missing", "NULL", "--missing", "-9", "--json")
    facts = json.loads(out)
    assert (code, facts["n_ratings"], facts["dropped"]) == (0, 148, {"no score": 2})
    code, out, _ = run("rank", book, "--sheet", "pairs", "--json")
    assert (code, json.loads(out)["n_comparisons"]) == (0, 300)
    assert run("rank", book, "--sheet", "pears")[0] == 2
