"""What is read is never written over, and a folder is ours only by what is in it."""

import json
import os

import pytest

LABELS = "item,worker,label\na,u,x\na,v,y\nb,u,x\nb,v,x\n"


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "labels.csv").write_text(LABELS)
    return folder


def unchanged(folder, call):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, _, err = call()
    assert code == 2, err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return err


@pytest.mark.parametrize("summary", ["{}", '{"version": "1.0", "name": "mine"}', "no json"])
def test_labels_beside_a_summary_of_somebodys_own(run, own, summary):
    (own / "summary.json").write_text(summary)
    err = unchanged(own, lambda: run("aggregate", own / "labels.csv", "--method", "majority", "--out", own))
    assert "overwrite it" in err or "written over" in err
    other = own.parent / "elsewhere.csv"
    other.write_text(LABELS)
    assert "no summary.json of ours" in unchanged(own, lambda: run("aggregate", other, "--method", "majority", "--out", own))


def test_labels_in_a_folder_of_results(run, own, tmp_path):
    assert run("aggregate", own / "labels.csv", "--method", "majority", "--out", tmp_path / "r")[0] == 0
    again = ("aggregate", own / "labels.csv", "--method", "majority", "--out", tmp_path / "r")
    assert run(*again)[0] == 0  # our own results are replaced
    err = unchanged(tmp_path, lambda: run(*again, "--truth", tmp_path / "r" / "labels.csv"))
    assert "is read by this command" in err
    os.symlink(tmp_path / "r", tmp_path / "link")
    assert "is read by this command" in unchanged(
        tmp_path, lambda: run(*again[:-1], tmp_path / "link", "--gold", tmp_path / "r" / "labels.csv")
    )


@pytest.mark.parametrize(
    ("command", "table", "first"),
    [
        (("rank",), "left,right,winner\na,b,a\nb,c,b\nc,a,c\n", "ranking.csv"),
        (("measure", "--facets", "rater,task"), "rater,task,score\na,x,1\na,y,2\nb,x,2\nb,y,1\n", "measures.csv"),
    ],
)
def test_own_tables_are_replaced_and_others_are_not(run, own, tmp_path, command, table, first):
    (tmp_path / "table.csv").write_text(table)
    again = (command[0], tmp_path / "table.csv", *command[1:], "--out", tmp_path / "r")
    assert run(*again)[0] == run(*again)[0] == 0
    results = tmp_path / "results"
    assert run("aggregate", own / "labels.csv", "--method", "majority", "--out", results)[0] == 0
    assert "no summary.json of ours" in unchanged(results, lambda: run(*again[:-1], results))
    (tmp_path / "r" / first).write_text(table)
    err = unchanged(tmp_path, lambda: run(command[0], tmp_path / "r" / first, *again[2:]))
    assert "is read by this command" in err


def test_patterns_and_folders_are_expanded(run, tmp_path):
    days = tmp_path / "days"
    days.mkdir()
    for day in (1, 2):
        (days / f"day-{day}.csv").write_text(LABELS)
    for labels in (str(days / "day-*.csv"), days):
        err = unchanged(
            days, lambda labels=labels: run("aggregate", labels, "--method", "majority", "--next", days / "day-1.csv")
        )
        assert "is read by this command" in err
        err = unchanged(days, lambda labels=labels: run("convert", labels, "--out", days / "day-2.csv"))
        assert "is read by this command" in err


def test_a_model_beside_somebodys_model_json(run, own, tmp_path):
    (own / "model.json").write_text(json.dumps({"mine": True}))
    (own / "labels.parquet").write_bytes(b"mine")
    start = ("aggregate", own / "labels.csv", "--method", "majority")
    before = {path: path.read_bytes() for path in own.iterdir()}
    assert run(*start, "--save-model", own)[0] == 2
    assert {path: path.read_bytes() for path in own.iterdir()} == before
    assert "need a folder each" in run(*start, "--out", tmp_path / "d", "--save-model", tmp_path / "d")[2]
    assert run(*start, "--save-model", tmp_path / "m")[0] == 0
    err = unchanged(tmp_path / "m", lambda: run(*start, "--out", tmp_path / "m"))
    assert "holds a model" in err


@pytest.mark.parametrize(
    ("command", "table", "outputs"),
    [
        (("aggregate", "--method", "majority"), LABELS, ("--out", "oo", "--next", "oo/labels.csv")),
        (("aggregate", "--method", "majority"), LABELS, ("--out", "oo", "--next", "oo/Items.CSV")),
        (("aggregate", "--method", "majority"), LABELS, ("--out", "link/r", "--next", "real/r/workers.csv")),
        (("aggregate", "--method", "majority"), LABELS, ("--out", "oo.csv", "--next", "oo.csv")),
        (("aggregate", "--method", "majority"), LABELS, ("--out", "oo.csv/tables", "--next", "oo.csv")),
        (("aggregate", "--method", "majority"), LABELS, ("--out", "tables", "--save-model", "Tables")),
        (("aggregate", "--method", "majority"), LABELS, ("--out", "sqlite:///z.csv", "--next", "z.csv")),
        (("aggregate", "--method", "majority"), LABELS, ("--save-model", "m.html", "--report", "m.html")),
        (("plan", "--budget", "1"), LABELS, ("--out", "z.csv", "--decisions", "z.csv")),
        (("plan", "--budget", "1"), LABELS, ("--out", "z.csv", "--decisions", "Z.csv")),
        (("plan", "--budget", "1"), LABELS, ("--out", "link/z.csv", "--decisions", "real/z.csv")),
        (("convert",), LABELS, ("--out", "z.csv", "--gold-out", "./z.csv")),
        (("rate", "--people", "u"), LABELS, ("--next", "z.csv", "--items", "z.csv")),
        (("rate", "--people", "u"), LABELS, ("--report", "z.html", "--items", "z.html")),
        (("rank",), "left,right,winner\na,b,a\nb,c,b\nc,a,c\n", ("--out", "r.html", "--report", "r.html")),
        (("measure", "--facets", "rater,task"), "rater,task,score\na,x,1\nb,y,2\n", ("--chart", "r.svg", "--out", "r.svg/t")),
    ],
)
def test_l7_two_outputs_of_one_run_are_not_one_file(run, tmp_path, monkeypatch, command, table, outputs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(table)
    (tmp_path / "real").mkdir()
    os.symlink("real", "link")
    err = unchanged(tmp_path, lambda: run(command[0], "table.csv", *command[1:], *outputs))
    assert "another output of this command" in err
    assert sorted(os.listdir()) == ["link", "real", "table.csv"]


def test_outputs_beside_each_other_are_written(run, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS)
    out = tmp_path / "r"
    outputs = ("--out", out, "--next", out / "next.csv", "--report", out / "page.html", "--save-model", out / "model")
    assert run("aggregate", tmp_path / "labels.csv", "--method", "majority", *outputs)[0] == 0
    assert {"labels.csv", "summary.json", "next.csv", "page.html", "model"} <= {path.name for path in out.iterdir()}
