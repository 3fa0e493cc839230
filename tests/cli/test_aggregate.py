"""The command line as a user would try it."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def simulated(tmp_path, run):
    code, out, _ = run("simulate", "--out", tmp_path / "sim", "--items", 60, "--workers", 8, "--classes", 3, "--seed", 4)
    assert code == 0
    assert "300 labels of 60 items by 8 workers" in out
    return tmp_path / "sim"


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "minimax", "minimax-ordinal"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_are_written(run, simulated, tmp_path, method, form):
    out = tmp_path / "results"
    code, printed, _ = run(
        "aggregate",
        simulated / "labels.csv",
        "--truth",
        simulated / "truth.csv",
        "--method",
        method,
        "--out",
        out,
        "--format",
        form,
    )
    assert code == 0
    assert "Read 300 labels of 60 items by 8 workers from labels.csv" in printed
    assert "Least reliable workers" in printed
    assert "Hardest items" in printed
    names = {path.name for path in out.iterdir()}
    assert names == {f"{name}.{form}" for name in ("labels", "posterior", "workers", "items")} | {"summary.json"}
    if form == "csv":
        with (out / "posterior.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        header = list(rows[0])
        total = [sum(float(row[name]) for name in header[1:]) for row in rows]
    else:
        table = pq.read_table(out / "posterior.parquet")
        header, total = table.column_names, sum(table[name].to_numpy() for name in table.column_names[1:])
    assert header == ["item", "0", "1", "2"]
    np.testing.assert_allclose(total, 1.0)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert (summary["method"], summary["n_items"], summary["truth_items"]) == (method, 60, 60)
    assert 0 <= summary["error_rate"] < 0.5
    assert summary["rmse"] >= summary["mae"] >= summary["error_rate"]


def test_json_is_alone_on_standard_output(run, simulated):
    code, out, _ = run("aggregate", simulated / "labels.csv", "--json", "--gamma", "0.5", "--threads", "1")
    summary = json.loads(out)
    assert code == 0
    assert summary["parameters"]["gamma"] == 0.5
    assert summary["parameters"]["alpha"] == 0.5 * 9
    assert summary["classes"] == ["0", "1", "2"]
    assert summary["import_report"]["rows_kept"] == 300


def test_quiet_prints_nothing(run, simulated, tmp_path):
    assert run("aggregate", simulated / "labels.csv", "--quiet", "--out", tmp_path / "r") == (0, "", "")


def test_gold_is_kept(run, simulated, tmp_path):
    (tmp_path / "gold.csv").write_text("item,label\ni1,2\ni2,0\n")
    out = tmp_path / "r"
    assert run("aggregate", simulated / "labels.csv", "--gold", tmp_path / "gold.csv", "--out", out, "--quiet")[0] == 0
    with (out / "labels.csv").open(encoding="utf-8") as file:
        labels = {row["item"]: row for row in csv.DictReader(file)}
    assert (labels["i1"]["label"], float(labels["i1"]["probability"])) == ("2", 1.0)
    assert (labels["i2"]["label"], float(labels["i2"]["probability"])) == ("0", 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "files"])
def test_gold_is_no_success(run, simulated, tmp_path, engine):
    truth, some = simulated / "truth.csv", tmp_path / "some.csv"
    header, *rows = truth.read_text().splitlines()
    some.write_text("\n".join([header, *rows[:10]]))
    command = ("aggregate", simulated / "labels.csv", "--truth", truth, "--method", "majority", "--engine", engine)
    free = json.loads(run(*command, "--json")[1])
    told = json.loads(run(*command, "--gold", some, "--json")[1])
    assert (told["truth_items"], told["truth_items_gold"]) == (free["truth_items"] - 10, 10)
    out = run(*command, "--gold", some)[1]
    assert "Left out: 10 items given as gold." in " ".join(out.split())
    code, out, _ = run(*command, "--gold", truth, "--report", tmp_path / "report.html")
    assert code == 0
    assert f"Not scored: the truth knows {free['truth_items']} items, all given as gold." in " ".join(out.split())
    assert "nothing left to score" in (tmp_path / "report.html").read_text()
    code, _, err = run(*command, "--gold", truth, "--calibration", tmp_path / "c.svg")
    assert code == 1
    assert "--calibration has nothing to draw" in err


def test_class_order_is_as_given(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(
        "task,annotator,answer\n"
        + "".join(f"t{j},{w},{['bad', 'good', 'fair'][(j + w) % 3]}\n" for j in range(9) for w in range(3))
    )
    code, out, _ = run("aggregate", path, "--method", "minimax-ordinal", "--classes", "bad,fair,good,great", "--json")
    assert code == 0
    assert json.loads(out)["classes"] == ["bad", "fair", "good", "great"]
    assert json.loads(out)["import_report"]["columns"] == {"item": "task", "worker": "annotator", "label": "answer"}


def test_gamma_is_chosen_and_the_table_shown(run, simulated):
    code, out, _ = run(
        "aggregate", simulated / "labels.csv", "--gamma", "auto", "--gammas", "0.1,1", "--folds", "3", "--seed", "7"
    )
    assert code == 0
    assert "Chosen by held-out log-likelihood per label (predictive, 3 folds): gamma = 0.1: " in out
    summary = json.loads(run("aggregate", simulated / "labels.csv", "--gamma", "auto", "--gammas", "0.1,1", "--json")[1])
    assert [row["candidate"] for row in summary["selection"]["rows"]] == ["gamma = 0.1", "gamma = 1"]
    assert summary["parameters"]["gamma"] == summary["selection"]["best"]


def test_gamma_is_chosen_by_a_validation_set(run, simulated):
    arguments = ("aggregate", simulated / "labels.csv", "--gamma", "auto", "--validation", simulated / "truth.csv", "--json")
    assert "60 known items" in json.loads(run(*arguments)[1])["selection"]["criterion"]


def test_calibration_is_drawn(run, simulated, tmp_path):
    path = tmp_path / "calibration.svg"
    arguments = ("aggregate", simulated / "labels.csv", "--truth", simulated / "truth.csv", "--calibration", path, "--quiet")
    assert run(*arguments) == (0, "", "")
    assert path.read_text(encoding="utf-8").startswith("<svg")


def test_not_converged_is_said(run, simulated):
    code, out, _ = run("aggregate", simulated / "labels.csv", "--method", "minimax", "--max-iter", "3", "--json")
    assert code == 0
    assert json.loads(out)["converged"] is False
    assert "raise --max-iter" in json.loads(out)["notes"][-1]


BAD = {
    "missing file": (2, "nowhere.csv", [], None, "no file"),
    "empty file": (1, "labels.csv", [], "", "no labels found"),
    "header only": (1, "labels.csv", [], "item,worker,label\n", "no labels found"),
    "missing column": (2, "labels.csv", [], "item,who,label\n1,a,x\n", "--worker-column"),
    "wrong column": (2, "labels.csv", ["--worker-column", "wroker"], "item,worker,label\n1,a,x\n", "worker"),
    "label outside classes": (1, "labels.csv", ["--classes", "x,z"], "item,worker,label\n1,a,x\n1,b,y\n", "'y'"),
    "no such method": (2, "labels.csv", ["--method", "magic"], "item,worker,label\n1,a,x\n1,b,y\n", "minimax-ordinal"),
    "gamma for majority": (2, "labels.csv", ["--method", "majority", "--gamma", "1"], "item,worker,label\n1,a,x\n", "gamma"),
    "negative gamma": (2, "labels.csv", ["--gamma", "-1"], "item,worker,label\n1,a,x\n1,b,y\n", "positive"),
    "gamma and alpha": (2, "labels.csv", ["--gamma", "1", "--alpha", "1"], "item,worker,label\n1,a,x\n1,b,y\n", "not both"),
    "gammas without auto": (2, "labels.csv", ["--gammas", "1,2"], "item,worker,label\n1,a,x\n1,b,y\n", "--gamma auto"),
    "gamma is no number": (2, "labels.csv", ["--gamma", "much"], "item,worker,label\n1,a,x\n1,b,y\n", "'much'"),
    "calibration without truth": (2, "labels.csv", ["--calibration", "a.svg"], "item,worker,label\n1,a,x\n", "--truth"),
    "nonsense sweeps": (2, "labels.csv", ["--max-iter", "0"], "item,worker,label\n1,a,x\n1,b,y\n", "max_iter"),
    "nonsense threads": (2, "labels.csv", ["--threads", "0"], "item,worker,label\n1,a,x\n1,b,y\n", "threads"),
    "repeats": (1, "labels.csv", ["--repeats", "error"], "item,worker,label\n1,a,x\n1,a,y\n", "--repeats"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence_and_changes_nothing(run, tmp_path, case):
    expected, name, options, text, words = BAD[case]
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    before = sorted(tmp_path.rglob("*"))
    code, out, err = run("aggregate", path, "--out", tmp_path / "results", *options)
    assert (code, out) == (expected, "")
    assert words.lower() in err.lower()
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", ["truth", "gold"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,label\ni1,9\n", "'9'"),
        ("item,label\ni1,0\ni1,1\n", "'i1'"),
        ("item,label\nelsewhere,0\n", "none of"),
        ("", "no "),
    ],
)
def test_bad_truth_and_gold(run, simulated, tmp_path, kind, text, words):
    path = tmp_path / f"{kind}.csv"
    path.write_text(text)
    code, out, err = run("aggregate", simulated / "labels.csv", f"--{kind}", path, "--out", tmp_path / "r")
    assert (code, out) == (1, "")
    assert words in err.lower()
    assert not (tmp_path / "r").exists()


def test_output_that_is_a_file_is_refused_before_the_fit(run, simulated, tmp_path):
    (tmp_path / "taken").write_text("mine")
    code, _, err = run("aggregate", simulated / "labels.csv", "--out", tmp_path / "taken")
    assert code == 2
    assert "taken" in err
    assert (tmp_path / "taken").read_text() == "mine"


def test_names_cannot_act_on_a_terminal_or_a_spreadsheet(run, tmp_path):
    path = tmp_path / "labels.csv"
    rows = [
        (f"t{j}", worker, "yes" if (j % 2) ^ ((j + n) % 7 == 0) else "no")
        for j in range(40)
        for n, worker in enumerate(("=1+1", "[red]x[/red]", "\x1b[31mz"))
    ]
    path.write_text("item,worker,label\n" + "".join(",".join(row) + "\n" for row in rows))
    code, out, _ = run("aggregate", path, "--out", tmp_path / "r", "--method", "dawid-skene")
    assert code == 0
    assert "\x1b[31m" not in out
    assert "[red]x[/red]" in out
    with (tmp_path / "r" / "workers.csv").open(encoding="utf-8", newline="") as file:
        assert {row["worker"] for row in csv.DictReader(file)} == {"'=1+1", "[red]x[/red]", "\x1b[31mz"}


def test_methods_are_listed(run):
    from crowdassay.estimators.methods import METHODS

    code, out, _ = run("methods")
    assert code == 0
    assert len(out.splitlines()) == len(METHODS)
    assert list(json.loads(run("methods", "--json")[1])) == list(METHODS)


def test_simulate_is_repeatable_by_seed(run, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run("simulate", "--out", tmp_path / name, "--seed", seed)
    a, b, c = ((tmp_path / name / "labels.csv").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_interruption_is_exit_code_3(run, simulated, monkeypatch):
    from crowdassay.estimators.minimax import MinimaxEntropy

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MinimaxEntropy, "solve", interrupted)
    code, _, err = run("aggregate", simulated / "labels.csv", "--method", "minimax")
    assert code == 3
    assert "Interrupted" in err


def test_workers_who_cannot_be_judged_are_not_called_the_least_reliable(run, tmp_path):
    (tmp_path / "labels.csv").write_text("item,worker,label\na,u,x\nb,u,y\nc,v,x\nd,v,y\n")
    code, out, _ = run("aggregate", tmp_path / "labels.csv", "--out", tmp_path / "out")
    assert (code, "Least reliable workers" in out) == (0, False)
    with (tmp_path / "out" / "workers.csv").open(encoding="utf-8", newline="") as file:
        assert {row["action"] for row in csv.DictReader(file)} == {"cannot tell"}
