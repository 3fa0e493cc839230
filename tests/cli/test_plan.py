"""`crowdassay plan` as a user runs it."""

import csv
import json

import pytest


@pytest.fixture
def job(tmp_path, run):
    run("simulate", "--out", tmp_path, "--items", 120, "--workers", 12, "--labels-per-item", 3, "--seed", 1)
    return tmp_path


def rows(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_it_assigns_what_nobody_has_labelled_and_keeps_the_budget(job, run):
    code, out, _ = run("plan", job / "labels.csv", "--budget", 40, "--out", job / "a.csv", "--decisions", job / "d.csv")
    assert code == 0
    assert "Planned: 40 labels, in 1 batch, for 40.00." in out
    given = {(row["item"], row["worker"]) for row in rows(job / "labels.csv")}
    asked = [(row["item"], row["worker"]) for row in rows(job / "a.csv")]
    assert len(set(asked)) == 40
    assert not set(asked) & given
    assert sum(row["decision"] == "label" for row in rows(job / "d.csv")) == 40


def test_the_loop_of_plan_label_update_plan(job, run):
    run("aggregate", job / "labels.csv", "--save-model", job / "model", "--quiet")
    assert run("plan", job / "model", "--budget", 15, "--out", job / "a.csv", "--quiet") == (0, "", "")
    truth = {row["item"]: row["label"] for row in rows(job / "truth.csv")}
    asked = rows(job / "a.csv")
    lines = [f"{row['item']},{row['worker']},{truth[row['item']]}" for row in asked]
    (job / "new.csv").write_text("\n".join(["item,worker,label", *lines]), encoding="utf-8")
    run("update", job / "model", job / "new.csv", "--quiet")
    run("plan", job / "model", "--budget", 15, "--out", job / "b.csv", "--quiet")
    before = {(row["item"], row["worker"]) for row in asked}
    assert not before & {(row["item"], row["worker"]) for row in rows(job / "b.csv")}


def test_prices_people_and_an_expert(job, run):
    (job / "cost.csv").write_text("worker,cost\nw1,0.02\nw2,0.05\nnew,0.01\n", encoding="utf-8")
    (job / "who.csv").write_text("worker;capacity\nw1;3\nw2;\nnew;\n", encoding="utf-8")
    command = ("plan", job / "labels.csv", "--budget", 2, "--expert-cost", 0.3, "--json", "--out", job / "a.csv")
    code, out, _ = run(*command, "--cost", job / "cost.csv", "--workers", job / "who.csv")
    facts, asked = json.loads(out), rows(job / "a.csv")
    assert code == 0
    assert facts["spend"] <= 2
    assert facts["planned_trials"] == sum(row["worker"] == "new" for row in asked) == 5
    assert sum(row["worker"] == "w1" for row in asked) <= 3
    assert all(float(row["cost"]) == 0.3 and not row["worker"] for row in asked if row["reason"] == "expert")
    assert facts["planned_experts"] == sum(row["reason"] == "expert" for row in asked)


def test_it_stops_when_the_limit_is_within_the_target(job, run):
    code, out, _ = run("plan", job / "labels.csv", "--budget", 10, "--target-error", 0.9, "--out", job / "a.csv")
    assert code == 0
    assert out.splitlines()[1].startswith("Stop: estimated error")
    assert rows(job / "a.csv") == []
    _, out, _ = run("plan", job / "labels.csv", "--budget", 10, "--target-error", 0.001)
    assert "Go on:" in out


@pytest.mark.slow
def test_known_items_are_checked(job, run):
    _, plain, _ = run("plan", job / "labels.csv", "--budget", 10, "--json")
    _, checked, _ = run("plan", job / "labels.csv", "--budget", 10, "--json", "--gold", job / "truth.csv")
    assert json.loads(checked)["known_items"] == 120
    assert json.loads(checked)["upper_limit"] < json.loads(plain)["upper_limit"]


def test_a_new_job_is_sized(run):
    code, out, _ = run("plan", "--new", "--items", 10000, "--classes", 3, "--like", "relevance")
    assert code == 0
    assert "labels per item" in out
    assert "Order" in out
    _, out, _ = run("plan", "--new", "--items", 500, "--classes", "no,yes", "--json", "--label-cost", 0.05)
    found = json.loads(out)
    assert found["rows"][0]["cost"] == 25.0
    assert found["advised"] in found["rows"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["LABELS"], "--budget"),
        ([], "--new"),
        (["LABELS", "--budget", "0"], "budget"),
        (["LABELS", "--budget", "5", "--target-error", "5"], "--target-error"),
        (["LABELS", "--budget", "5", "--expert-cost", "-1"], "--expert-cost"),
        (["LABELS", "--budget", "5", "--error-cost", "0"], "--error-cost"),
        (["LABELS", "--budget", "5", "--rate", "maybe"], "maybe"),
        (["LABELS", "--budget", "5", "--like", "relevance"], "--new"),
        (["LABELS", "--budget", "5", "--out", "plan.txt"], ".csv"),
        (["LABELS", "--budget", "5", "--cost", "nowhere.csv"], "nowhere.csv"),
        (["LABELS", "--budget", "5", "--seed", "-1"], "seed"),
        (["LABELS", "--new", "--items", "5", "--classes", "2"], "--new"),
        (["--new", "--items", "5"], "--classes"),
        (["--new", "--items", "5", "--classes", "2", "--budget", "3"], "--budget"),
        (["--new", "--items", "5", "--classes", "2", "--like", "cooking"], "relevance"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(job, run, arguments, word):
    code, out, err = run("plan", *(str(job / "labels.csv") if part == "LABELS" else part for part in arguments))
    assert code == 2
    assert out == ""
    assert word in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "exit_code", "words"),
    [("", 1, "empty"), ("who,cost\nw1,2\n", 2, "No worker column"), ("worker\nw1\n", 2, "No cost column"),
     ("worker,cost\nw1,x\n", 1, "cost in data row 1"), ("worker,cost\nw1,1\nw1,2\n", 1, "in data row 2"),
     ("worker,cost\n,1\n", 1, "worker in data row 1"), ("worker,cost\n", 1, "no worker")],
)  # fmt: skip
def test_a_bad_price_list_is_refused(job, run, text, exit_code, words):
    (job / "cost.csv").write_text(text, encoding="utf-8")
    code, _, err = run("plan", job / "labels.csv", "--budget", 5, "--cost", job / "cost.csv", "--out", job / "a.csv")
    assert (code, words in err) == (exit_code, True)
    assert not (job / "a.csv").exists()


@pytest.mark.slow
def test_labels_a_model_and_a_store_are_planned_alike(job, run):
    from crowdassay.service.store.open import open_store

    run("aggregate", job / "labels.csv", "--save-model", job / "model", "--quiet")
    store = open_store(job / "job.db")
    store.add(rows(job / "labels.csv"))
    store.close()
    plans = []
    for source in ("labels.csv", "model", "job.db"):
        assert run("plan", job / source, "--budget", 9, "--out", job / "a.csv", "--quiet") == (0, "", "")
        plans.append((job / "a.csv").read_text(encoding="utf-8"))
    assert plans[0] == plans[1] == plans[2]
    assert run("plan", f"sqlite:///{job / 'job.db'}", "--budget", 9, "--out", job / "a.csv", "--quiet")[0] == 0
    assert (job / "a.csv").read_text(encoding="utf-8") == plans[0]


@pytest.mark.slow
def test_a_store_knows_items_without_labels_and_classes_itself(job, run):
    from crowdassay.service.store.open import open_store
    from crowdassay.service.store.records import NewItem, Truth
    from crowdassay.service.store.truths import add_items, add_truths

    store = open_store(job / "job.db")
    store.add(rows(job / "labels.csv"))
    truth = rows(job / "truth.csv")[:4]
    with store.home.write() as session:
        add_items(session, [(0, NewItem("nobody's"))])
        add_truths(session, [(n, Truth(row["item"], row["label"])) for n, row in enumerate(truth)], source="test")
    store.close()
    before = (job / "job.db").read_bytes()
    _, out, _ = run("plan", job / "job.db", "--budget", 30, "--json", "--out", job / "a.csv")
    asked = [row["item"] for row in rows(job / "a.csv")]
    assert json.loads(out)["known_items"] == 4
    assert asked[0] == "nobody's"
    assert not {row["item"] for row in truth} & set(asked)
    assert (job / "job.db").read_bytes() == before
    code, _, err = run("plan", job / "job.db", "--budget", 9, "--gold", job / "truth.csv")
    assert code == 2
    assert "store has its own" in err


@pytest.mark.slow
def test_it_says_what_known_items_would_do(job, run):
    _, out, _ = run("plan", job / "labels.csv", "--budget", 10)
    assert "nothing checks it: no class is known" in out
    _, out, _ = run("plan", job / "labels.csv", "--budget", 10, "--gold", job / "truth.csv")
    assert "no class is known" not in out
