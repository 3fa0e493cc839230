"""Labels that mean that none was given: named several at a time, and noticed when they are not named."""

import json

import numpy as np
import pyarrow as pa
import pytest

from crowdassay.labels.classes import arrange_classes
from crowdassay.labels.report import similar_names

ROWS = ["item,worker,label"] + [f"i{j},w{i},{'yes' if (i + j) % 3 else 'no'}" for j in range(12) for i in range(3)]


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("\n".join([*ROWS, "i0,w4,skip", "i1,w4,?", "i2,w4,yes"]))
    return path


@pytest.mark.parametrize("extra", [(), ("--engine", "files"), ("more",)])
def test_several_labels_may_mean_none(run, labels, tmp_path, extra):
    if extra == ("more",):
        extra = (tmp_path / "more.csv",)
        extra[0].write_text("item,worker,label\ni3,w4,skip\n")
    code, out, _ = run("aggregate", labels, *extra, "--method", "majority", "--missing", "skip", "--missing", "?", "--json")
    assert code == 0
    summary = json.loads(out)
    assert summary["classes"] == ["no", "yes"]
    assert summary["n_labels"] == 37


@pytest.mark.parametrize("engine", ["local", "files"])
def test_an_answer_that_is_none_is_noticed(run, labels, engine):
    command = ("aggregate", labels, "--method", "majority", "--engine", engine, "--json")
    notes = " ".join(json.loads(run(*command)[1])["import_report"]["notes"])
    assert "Taken as a class each: '?' (rows: 1), 'skip' (rows: 1); " in notes
    assert "--missing '?' --missing 'skip'" in notes
    rest = json.loads(run(*command, "--missing", "skip", "--missing", "?")[1])["import_report"]["notes"]
    assert not any("no answer" in note for note in rest)


@pytest.mark.parametrize("word", ["N/A", "Unsure", "don't know", "Don’t  know.", "weiß nicht", "WEISS NICHT", "SKIP", "?"])
def test_how_people_do_not_answer(word):
    assert "no answer was given" in arrange_classes(pa.array(["yes", word, "no"]), np.ones(3, int))[2][-1]


@pytest.mark.parametrize("engine", ["local", "files"])
@pytest.mark.parametrize("word", ["NA", "nan", "NULL", "<NA>"])
def test_what_tables_write_for_no_answer_is_asked_about(run, labels, engine, word):
    labels.write_text("\n".join([*ROWS, f"i0,w4,{word}", "i1,w4,yes"]))
    command = ("aggregate", labels, "--method", "majority", "--engine", engine, "--json")
    code, _, err = run(*command[:-1])
    assert (
        code,
        f"Error: Some labels are '{word}', by which tables mean that nobody answered; say --missing '{word}'" in err,
    ) == (1, True)
    assert json.loads(run(*command, "--missing", word)[1])["classes"] == ["no", "yes"]
    assert json.loads(run(*command, "--classes", f"no,yes,{word}")[1])["classes"] == ["no", "yes", word]


@pytest.mark.parametrize("word", ["none", "other", "unknown", "neutral", "0", "no"])
def test_what_may_well_be_a_class(word):
    assert arrange_classes(pa.array(["yes", word]), np.ones(2, int))[2] == []


@pytest.mark.parametrize("engine", ["local", "files"])
def test_one_person_under_two_names_is_noticed(run, tmp_path, engine):
    path = tmp_path / "labels.csv"
    path.write_text("\n".join([*ROWS, "i0,Bob  Hope,yes", "i1,bob hope ,no", "i2,bobhope,no"]))
    report = json.loads(run("aggregate", path, "--method", "majority", "--engine", engine, "--json")[1])["import_report"]
    (note,) = [note for note in report["notes"] if "kept apart" in note]
    assert "'Bob  Hope', 'bob hope '; if they are one" in note
    assert "bobhope" not in note


def test_many_alike_are_not_all_listed():
    names = [f"{letter}{end}" for letter in "abcdef" for end in ("", " ")]
    (note,) = similar_names(pa.array(names))
    assert note.count("; ") == 3
    assert "and 3 more groups" in note
    assert similar_names(pa.array([1, 2])) == []
