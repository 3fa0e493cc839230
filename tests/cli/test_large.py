"""`aggregate` from files larger than memory, and `update`."""

import csv
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.cli.places import memory_needed, too_large
from crowdassay.estimators.dawid_skene import DawidSkene
from crowdassay.estimators.scaled import GLAD
from crowdassay.labels.labels import COMPILED_LABELS

pytestmark = pytest.mark.slow

MEASURED = """
import re, sys, threading, time
from pathlib import Path
from crowdassay.cli.main import main
most = 0
def watch():
    global most
    while True:
        most = max(most, int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024)
        time.sleep(0.005)
threading.Thread(target=watch, daemon=True).start()
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(most)
"""  # of resident memory, what is not mapped from files: how much of the libraries is resident differs between machines


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    labels, truth = simulate(np.random.default_rng(0), n_items=300, n_workers=12, n_classes=2)
    names = (labels.items.take(pa.array(labels.label_item)), labels.workers.take(pa.array(labels.worker)))
    table = pa.table([*names, labels.classes.take(pa.array(labels.label))], names=["item", "worker", "label"])
    pyarrow.csv.write_csv(table, folder / "labels.csv")
    pyarrow.csv.write_csv(pa.table({"item": labels.items, "label": pa.array(truth)}), folder / "truth.csv")
    (folder / "parts").mkdir()
    pyarrow.csv.write_csv(table.slice(0, 700), folder / "parts/1.csv")
    pyarrow.csv.write_csv(table.slice(700), folder / "parts/2.csv")
    return folder


@pytest.mark.parametrize("method", ["majority", "dawid-skene"])
def test_files_give_the_summary_and_tables_of_memory(run, answers, tmp_path, method):
    common = ["aggregate", answers / "labels.csv", "--method", method, "--truth", answers / "truth.csv", "--json"]
    code, local, _ = run(*common, "--out", tmp_path / "local")
    assert code == 0
    code, files, _ = run(*common, "--out", tmp_path / "files", "--engine", "files", "--temp-dir", tmp_path / "tmp")
    assert code == 0
    local, files = json.loads(local), json.loads(files)
    assert files.pop("engine") == "files"
    for name, value in files.items():
        if name not in {"seconds", "n_iter", "parameters"}:
            assert value == pytest.approx(local[name], rel=1e-9) if isinstance(value, float) else value == local[name], name
    assert list((tmp_path / "tmp").iterdir()) == []
    for name in ("labels.csv", "posterior.csv", "workers.csv", "items.csv"):
        numbers = [pyarrow.csv.read_csv(tmp_path / kind / name) for kind in ("local", "files")]
        for column in numbers[0].column_names:
            one, other = (table[column].to_pylist() for table in numbers)
            assert one == (pytest.approx(other, abs=1e-9) if isinstance(one[0], float) else other)


def test_the_report_and_the_lists_of_memory(run, answers, tmp_path):
    common = ["aggregate", answers / "labels.csv", "--method", "dawid-skene", "--truth", answers / "truth.csv"]
    told = {}
    for engine in ("local", "files"):
        paths = {name: tmp_path / f"{engine}{name}" for name in (".html", "-next.csv", ".svg")}
        asked = ("--report", paths[".html"], "--next", paths["-next.csv"], "--calibration", paths[".svg"])
        code, out, err = run(*common, *asked, "--engine", engine, "--temp-dir", tmp_path / "tmp")
        assert code == 0, err
        assert "Wrote the report to" in out
        told[engine] = {name: path.read_text() for name, path in paths.items()}, out[out.index("Least reliable") :]
    rows = [list(csv.DictReader(told[engine][0]["-next.csv"].splitlines())) for engine in told]
    assert [row["item"] for row in rows[0]] == [row["item"] for row in rows[1]]
    assert rows[0][0]["item"] in told["files"][0][".html"]
    assert len(told["files"][0][".html"]) == pytest.approx(len(told["local"][0][".html"]), abs=500)
    assert told["files"][0][".svg"] == told["local"][0][".svg"]
    assert told["files"][1].replace("files", "local") == told["local"][1]


def test_people_see_what_happened(run, answers, tmp_path):
    where = ("--engine", "files", "--temp-dir", tmp_path, "--memory", "1GB")
    code, out, err = run("aggregate", answers / "parts", "--method", "minimax", "--truth", answers / "truth.csv", *where)
    assert code == 0
    assert "Encoding and sorting" in err
    for said in (
        "Read 1,500 labels of 300 items by 12 workers from 2 files",
        "engine files.",
        "error",
        "Hardest items",
        "what to do",
        "Nothing was written",
    ):
        assert said in " ".join(out.split()), said


@pytest.mark.parametrize("given", [["parts"], ["parts/*.csv"], ["parts/1.csv", "parts/2.csv"]])
def test_several_files_in_memory(run, answers, given):
    paths = [answers / name for name in given]
    code, out, _ = run("aggregate", *paths, "--method", "majority", "--json")
    assert code == 0
    expected = json.loads(run("aggregate", answers / "labels.csv", "--method", "majority", "--json")[1])
    found = json.loads(out)
    assert found["mean_probability"] == expected["mean_probability"]
    assert found["import_report"]["source"] == "2 files"


def test_what_needs_memory_is_refused(run, answers, tmp_path):
    start = ("aggregate", answers / "labels.csv", "--engine", "files")
    for options, said in (
        (("--weight-column", "label"), "--weight-column needs all labels in memory"),
        (("--method", "glad"), "needs all labels in memory"),
        (("--from", "prodigy"), "crowdassay convert"),
        (("--memory", "lots"), "such as 1GB"),
        (("--method", "majority", "--save-model", tmp_path / "m"), "--save-model needs all labels in memory"),
    ):
        code, _, err = run(*start, *(("--method", "majority") if "--method" not in options else ()), *options)
        assert (code, said in err) == (2, True), err
    code, _, err = run("aggregate", answers / "parts", "--use-gold")
    assert code == 2
    assert "--use-gold goes with exports of annotation tools" in err


def test_files_are_chosen_where_memory_will_not_do(answers, capsys):
    def large(estimator, memory):
        return too_large((str(answers / "labels.csv"),), {"memory": memory, "quiet": False}, estimator)

    assert 1e5 < memory_needed(answers / "labels.csv") < 1e6
    assert large(DawidSkene(), "50KB")
    assert not large(DawidSkene(), None)
    assert not large(GLAD(), "50KB")
    assert "dawid-skene and majority need less, with --engine files" in capsys.readouterr().err


def test_more_workers_than_the_memory_has_room_for_are_refused_before_the_fit(run, tmp_path, monkeypatch):
    monkeypatch.setattr("crowdassay.cli.places.PER_WORKER", 50_000_000)
    path = tmp_path / "labels.csv"
    path.write_text("item,worker,label\n" + "".join(f"i{n // 3},w{n % 15},{n % 2}\n" for n in range(60)))
    code, _, err = run("aggregate", path, "--engine", "files", "--memory", "600MB", "--out", tmp_path / "out")
    assert code == 1
    assert "What is said of 15 workers takes about 750 MB of memory, more than the 600 MB of --memory; give more." in err
    assert not (tmp_path / "out").exists()
    assert run("aggregate", path, "--engine", "files", "--memory", "800MB", "--out", tmp_path / "out")[0] == 0


def test_memory_is_kept_to(run, tmp_path):
    """Labels of several blocks; the fit, the spool and the tables stay below what is asked for."""
    generator = np.random.default_rng(0)
    n = 2_400_000
    table = {
        "item": np.repeat(np.arange(n // 5), 5),
        "worker": generator.integers(5000, size=n),
        "label": generator.integers(2, size=n),
    }
    order = generator.permutation(n)
    text = {name: pa.array(values[order]).cast(pa.string()) for name, values in table.items()}
    command = [
        "--method", "dawid-skene", "--max-iter", "3", "--engine", "files", "--memory", "600MB",
        "--temp-dir", tmp_path / "tmp", "--out", tmp_path / "out", "--format", "parquet", "--quiet",
    ]  # fmt: skip
    # The compiler takes memory of its own, once: some of the labels, but enough for all that only long columns need.
    pq.write_table(pa.table(text).slice(0, COMPILED_LABELS + 1), tmp_path / "some.parquet")
    assert run("aggregate", tmp_path / "some.parquet", *command)[0] == 0
    pq.write_table(pa.table(text), tmp_path / "labels.parquet")
    measured = [sys.executable, "-c", MEASURED, "aggregate", tmp_path / "labels.parquet", *command]
    done = subprocess.run(list(map(str, measured)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 200e6 < int(done.stdout.split()[-1]) < 450e6  # the rest is left for libraries
    assert pq.read_metadata(tmp_path / "out/labels.parquet").num_rows == n // 5


def test_update(run, answers, tmp_path):
    model, new = tmp_path / "model", tmp_path / "new.csv"
    code, _, _ = run("aggregate", answers / "labels.csv", "--method", "dawid-skene", "--save-model", model, "--quiet")
    assert code == 0
    had = (answers / "labels.csv").read_text()
    worker = next(f"w{n}" for n in range(1, 100) if f"\ni5,w{n}," not in had)
    new.write_text(f"item,worker,label\ni5,{worker},1\ni5,nobody,0\nfresh,w2,0\n")
    code, out, _ = run("update", model, new)
    assert code == 0
    assert "Took in 3 labels: judged 2 items again" in out
    assert "The model now holds 1,503 labels of 301 items" in out
    code, out, _ = run("update", model, new, "--refit", "--json", "--out", tmp_path / "out")
    assert code == 0
    facts = json.loads(out)
    assert facts["n_labels"] == 1503  # it had them all
    assert facts["refit_n_iter"] > 0
    assert facts["labels_since_fit"] == 0
    assert (tmp_path / "out/labels.csv").read_text().count("\n") == 302
    new.write_text(f"item,worker,label\ni5,{worker},2\n")
    code, _, err = run("update", model, new)
    assert code == 1
    assert "'2'" in err
    code, _, err = run("update", tmp_path / "nothing", new)
    assert code == 2
    assert "There is no model" in err
