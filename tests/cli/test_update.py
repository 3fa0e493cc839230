"""`crowdassay update` as somebody uses it who has only its messages to go by."""

import json
import subprocess
import threading
from contextlib import ExitStack

import pytest

from crowdassay import load_model
from crowdassay.labels.workspace import folder_locked
from support.databases import PYTHON, environment
from support.service import RUN


@pytest.fixture
def model(run, tmp_path):
    labels = tmp_path / "labels.csv"
    rows = [f"i{j},w{i},{'xy'[(j + (i * j) % 5 // 4) % 2]}" for j in range(30) for i in range(5)]
    labels.write_text("\n".join(["item,worker,label", *rows]))
    assert run("aggregate", labels, "--method", "dawid-skene", "--save-model", tmp_path / "model", "--quiet")[0] == 0
    return tmp_path / "model"


def test_the_advice_to_refit_can_be_followed(run, model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("\n".join(["item,worker,label", *(f"n{j},w{i},x" for j in range(10) for i in range(5))]))
    _, out, _ = run("update", model, new)
    advice = out.strip().splitlines()[-1]
    assert advice == f"The workers have not been fitted to 50 of these labels; crowdassay update {model} --refit does that."
    command = advice.partition("; crowdassay ")[2].partition(" does that")[0].split()
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert out.startswith("Fitted the workers again in ")
    facts = json.loads(run("update", model, "--refit", "--json")[1])
    assert (facts["n_labels"], facts["labels_since_fit"]) == (200, 0)
    assert "n_new_labels" not in facts


def test_nothing_to_do_is_a_slip(run, model):
    code, out, err = run("update", model)
    assert (code, out) == (2, "")
    assert "Name the file of new labels, or give --refit" in err


def rows(model):
    """The labels of a model, as names."""
    labels = load_model(model).result_.labels
    names = [labels.items.to_pylist(), labels.workers.to_pylist(), labels.class_names]
    codes = zip(labels.label_item, labels.worker, labels.label, strict=True)
    return sorted(tuple(book[code] for book, code in zip(names, row, strict=True)) for row in codes)


def test_the_same_file_sent_again_changes_nothing(run, model, tmp_path):
    before, stamp = rows(model), (model / "model.json").read_bytes()
    code, out, _ = run("update", model, tmp_path / "labels.csv")
    assert code == 0
    assert out.splitlines()[-2:] == [
        "The model had 150 of these labels already (same item, worker and label): they were not counted again.",
        "Nothing was added to the model.",
    ]
    assert rows(model) == before
    assert (model / "model.json").read_bytes() == stamp
    other = tmp_path / "other.csv"
    other.write_text("item,worker,label\ni0,w0,x\ni0,w1,y\ni0,new,x\n")
    facts = json.loads(run("update", model, other, "--json")[1])
    assert (facts["n_new_labels"], facts["n_known_labels"], facts["n_labels"]) == (2, 1, 152)
    other.write_text("item,worker,label\ni0,new,x\ni0,new,x\n")  # the second of two is a further judgement
    facts = json.loads(run("update", model, other, "--json")[1])
    assert (facts["n_new_labels"], facts["n_known_labels"], facts["n_labels"]) == (1, 1, 153)


@pytest.mark.parametrize(
    ("repeats", "labels", "said"),
    [
        ("keep", ["x", "y"], "Took in 1 label"),
        ("first", ["x"], "Left out 1 label of workers who had labelled the item before (--repeats first)."),
        ("last", ["y"], "Replaced 1 older label by the same workers on the same items (--repeats last)."),
    ],
)
def test_conflicts_with_labels_of_the_model_follow_the_policy(run, model, tmp_path, repeats, labels, said):
    new = tmp_path / "new.csv"
    new.write_text("item,worker,label\ni0,w0,y\n")
    code, out, _ = run("update", model, new, "--repeats", repeats)
    assert code == 0
    assert said in out
    assert [label for item, worker, label in rows(model) if (item, worker) == ("i0", "w0")] == labels


def test_a_conflict_can_be_an_error(run, model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("item,worker,label\ni1,new,y\ni0,w0,y\n")
    before = rows(model)
    code, _, err = run("update", model, new, "--repeats", "error")
    assert code == 1
    assert "the model has another label by worker 'w0' on item 'i0' (1 such label in all)" in err
    assert rows(model) == before


@pytest.mark.slow
def test_updates_at_once_lose_nothing(model, tmp_path):
    """Each waits for the others: the folder is locked from reading it to replacing it."""
    updates = []
    for number in range(3):
        new = tmp_path / f"new{number}.csv"
        new.write_text("\n".join(["item,worker,label", *(f"n{j},p{number},x" for j in range(20))]))
        command = [PYTHON, "-c", RUN, "update", str(model), str(new), "--quiet"]
        updates.append(subprocess.Popen(command, env=environment()))
    assert [one.wait(120) for one in updates] == [0] * 3
    assert sum(worker.startswith("p") for _, worker, _ in rows(model)) == 60
    assert sorted(path.name for path in model.parent.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("more", [(), ("--json",), ("--refit",)])
def test_m16_quiet_updates_print_nothing_even_when_they_wait(run, model, tmp_path, more):
    new = tmp_path / "new.csv"
    new.write_text("item,worker,label\ni0,w0,y\ni0,,y\n")
    held = ExitStack()
    held.enter_context(folder_locked(model))
    other = threading.Timer(0.3, held.close)
    other.start()
    assert run("update", model, new, "--quiet", *more) == (0, "", "")
    other.join()
    assert ("i0", "w0", "y") in rows(model)


def test_tables_do_not_go_into_a_model(run, model, tmp_path):
    new, before = tmp_path / "new.csv", rows(model)
    new.write_text("item,worker,label\ni0,late,x\n")
    (tmp_path / "link").symlink_to(model)
    for out in (model, tmp_path / "link", model / ".." / "model"):
        code, _, err = run("update", model, new, "--out", out)
        assert (code, "the model's own folder; name another for the tables" in err) == (2, True)
        code, _, err = run("aggregate", new, "--out", out, "--method", "majority")
        assert (code, "holds a model (model.json); name another folder for the tables" in err) == (2, True)
    assert rows(model) == before
    both = tmp_path / "both"
    code, _, err = run("aggregate", new, "--out", both, "--save-model", both, "--method", "majority")
    assert (code, "need a folder each" in err) == (2, True)
    assert not both.exists()


def test_left_out_rows_and_notes_are_told(run, model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("item,worker,label\ni0,late,x\ni1,late,\ni2,late,y\n")
    out = run("update", model, new)[1]
    assert "Left out 1 row: missing label." in out


def test_what_is_left_out_is_said_and_kept(run, model, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("item,worker,label\ni0,w9,x\ni1,,y\n,w1,y\ni2,w9,y\n")
    code, out, _ = run("update", model, new, "--out", tmp_path / "out")
    assert code == 0
    assert "Read 2 labels of 2 items by 1 worker" in out
    assert out.count("Left out 1 row") == 2
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert sum(summary["import_report"]["dropped"].values()) == 2
    assert summary["import_report"]["rows_read"] == 154
    facts = json.loads(run("update", model, new, "--json")[1])
    assert sum(facts["dropped"].values()) == 2
