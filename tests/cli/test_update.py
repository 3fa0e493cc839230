"""`crowdassay update` as somebody uses it who has only its messages to go by."""

import json

import pytest


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


def test_labels_given_again_are_noticed(run, model, tmp_path):
    _, out, _ = run("update", model, tmp_path / "labels.csv")
    assert "The model had all of these labels already, word for word" in out
    other = tmp_path / "other.csv"
    other.write_text("item,worker,label\ni0,w0,x\ni0,w1,y\ni0,new,x\n")
    facts = json.loads(run("update", model, other, "--json")[1])
    assert (facts["n_new_labels"], facts["n_known_labels"]) == (3, 1)
    other.write_text("item,worker,label\ni0,w0,x\ni1,newer,x\n")
    assert "word for word" not in run("update", model, other)[1]


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
