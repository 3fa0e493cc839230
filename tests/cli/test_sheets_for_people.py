"""`crowdassay aggregate --disputes --feedback`: sheets that Excel opens, in a folder that is ours."""

import csv
import json

import pytest

LABELS = "item,worker,label,text\n" + "".join(
    f"i{n},{who},{'no' if (who == '=2+5' and n < 3) else 'yes'},=HYPERLINK({n})\n"
    for n in range(6)
    for who in ("ann", "bob", "cy", "=2+5")
)


@pytest.fixture
def labels(tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS, encoding="utf-8")
    (tmp_path / "gold.csv").write_text("item,label\ni0,yes\ni1,yes\n", encoding="utf-8")
    return tmp_path / "labels.csv"


def rows(path):
    with path.open(encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def test_sheets_for_excel(run, labels, tmp_path):
    places = ("--disputes", tmp_path / "d.csv", "--feedback", tmp_path / "f", "--next", tmp_path / "n.csv")
    code, out, err = run("aggregate", labels, "--gold", tmp_path / "gold.csv", *places, "--format", "excel-csv")
    assert code == 0, err
    assert "Wrote a sheet for each worker with likely mistakes" in out
    assert all((tmp_path / name).read_bytes().startswith(b"\xef\xbb\xbf") for name in ("d.csv", "n.csv", "f/index.csv"))
    (disputed,) = rows(tmp_path / "d.csv")
    assert (disputed["item"], disputed["said"]) == ("i2", "yes: ann, bob and cy; no: =2+5")
    assert disputed["text"] == "'=HYPERLINK(2)"
    index = {row["worker"]: row for row in rows(tmp_path / "f" / "index.csv")}
    assert index["ann"]["file"] == ""
    mine = index["'=2+5"]
    assert mine["known_mistakes"] == "2"
    sheet = rows(tmp_path / "f" / mine["file"])
    assert [(row["item"], row["given"], row["label"], row["sure"], row["standing"]) for row in sheet[:2]] == [
        ("i0", "no", "yes", "1", "known"),
        ("i1", "no", "yes", "1", "known"),
    ]
    assert "worker" not in sheet[0], "nobody sees what others said"
    assert len(sheet) == int(mine["likely_mistakes"])


def test_workbooks(run, labels, tmp_path):
    calamine = pytest.importorskip("python_calamine")
    args = (
        "--gold",
        tmp_path / "gold.csv",
        "--disputes",
        tmp_path / "d.xlsx",
        "--feedback",
        tmp_path / "f",
        "--format",
        "xlsx",
    )
    assert run("aggregate", labels, *args, "--quiet")[0] == 0
    (sheet,) = (path for path in (tmp_path / "f").glob("*.xlsx") if path.stem != "index")
    for path in (tmp_path / "d.xlsx", sheet):
        header, *body = calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
        assert header[:2] == ["item", "text"]
        assert body


def test_a_second_run_replaces_its_own_sheets_and_keeps_others(run, labels, tmp_path):
    folder = tmp_path / "f"
    args = ("aggregate", labels, "--gold", tmp_path / "gold.csv", "--feedback", folder, "--quiet")
    assert run(*args)[0] == 0
    (folder / "letter.txt").write_text("mine")
    assert run(*args, "--format", "xlsx")[0] == 0
    assert (folder / "letter.txt").read_text() == "mine"
    assert not list(folder.glob("*.csv"))
    labels.write_text(LABELS.replace(",no,", ",yes,"), encoding="utf-8")
    assert run(*args)[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["index.csv", "letter.txt", "summary.json"]


def test_files_of_others_are_never_written_over(run, labels, tmp_path):
    args = ("aggregate", labels, "--gold", tmp_path / "gold.csv", "--quiet", "--feedback")
    assert run(*args, tmp_path / "f")[0] == 0
    (sheet,) = json.loads((tmp_path / "f" / "summary.json").read_bytes())["feedback"]
    for folder, marked in ((tmp_path / "own", False), (tmp_path / "ours", True)):
        folder.mkdir()
        if marked:
            (folder / "summary.json").write_text('{"version": "1", "feedback": ["../labels.csv", "gone.csv", 3]}')
        (folder / sheet).write_text("mine")
        code, _, err = run(*args, folder)
        assert code == 2
        assert f"holds '{sheet}'" in err or f"holds {sheet}" in err
        assert (folder / sheet).read_text() == "mine"
    assert run("aggregate", labels, "--out", tmp_path / "r", "--quiet")[0] == 0
    assert run(*args, tmp_path / "r")[0] == 2
    assert run("aggregate", labels, "--out", tmp_path / "f", "--quiet")[0] == 2
    assert labels.read_text(encoding="utf-8") == LABELS


def test_two_outputs_in_one_place(run, labels, tmp_path):
    assert run("aggregate", labels, "--disputes", tmp_path / "x.csv", "--next", tmp_path / "x.csv")[0] == 2
    assert run("aggregate", labels, "--feedback", tmp_path / "x", "--out", tmp_path / "x")[0] == 2
    assert run("aggregate", labels, "--disputes", tmp_path / "x.doc")[0] == 2
    assert not list(tmp_path.glob("x*"))


def test_labels_in_files_say_which_engine_it_takes(run, labels, tmp_path):
    for option in ("--disputes", "--feedback"):
        code, _, err = run("aggregate", labels, "--engine", "files", option, tmp_path / "x.csv")
        assert code == 2
        assert f"{option} needs all labels in memory; leave it out, or take --engine local." in err
