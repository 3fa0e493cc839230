"""The Spark engine in real sessions: local, Connect and a cluster of two executors on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import KOS, Assay, DawidSkene, MajorityVote, MinimaxEntropy
from crowdassay.checks.engines import problems
from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.spark import session as spark_session
from crowdassay.engines.spark import write as spark_write
from crowdassay.engines.spark.data import encode_frame, plain_columns
from crowdassay.engines.spark.place import SparkPlace
from crowdassay.errors import ColumnError, CrowdassayError, DataError, ParameterError
from crowdassay.labels.cells import float_text
from crowdassay.labels.frames import as_labels
from crowdassay.models.family import Model
from crowdassay.models.structures import STRUCTURES, resolve
from crowdassay.results.run import fit
from crowdassay.results.write import write_result
from support.java import find_java
from support.parity import same_result

# PySpark warns of pandas 3, and leaves sockets to the collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning", "ignore::UserWarning"),
]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.warehouse.dir": os.path.join(tempfile.gettempdir(), "spark-warehouse"),
    "spark.sql.codegen.wholeStage": "false",  # compiling is slower than interpreting so few rows
}
METHODS = (
    MajorityVote(),
    DawidSkene(prior="estimated", smoothing=0.1, max_iter=2),
    MinimaxEntropy(starts=1, max_iter=2),
    MinimaxEntropy(starts=1, max_iter=2, item_structure="none"),
)


@contextmanager
def started(master, **settings):
    from pyspark.sql import SparkSession

    find_java()
    # What a Connect server runs Python with; classic sessions must find this Python by themselves.
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    spark = SparkSession.builder.master(master).config(map=SETTINGS | settings).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@pytest.fixture(scope="module", params=["local[2]", "local-cluster[2,1,1024]"])
def sessions(request):
    """A classic session and, on the local one, a session of Spark Connect; one Spark after the other."""
    if request.param != "local[2]":
        with started(request.param) as spark:
            yield {"cluster": spark}
        return
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    plugin = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    with started("local[2]", **plugin) as spark:
        connected = ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()
        yield {"classic": spark, "connect": connected}
        connected.stop()


def coded(spark, labels):
    """Encode labels whose ids are their codes, so that Spark gives them the same."""
    table = pa.table({"item": labels.label_item, "worker": labels.worker, "label": labels.label})
    known = np.flatnonzero(labels.gold >= 0)
    gold = {int(j): int(labels.gold[j]) for j in known} if len(known) else None
    return encode_frame(spark.createDataFrame(table), classes=range(labels.n_classes), gold=gold, partitions=3)


def test_fits_are_those_of_the_local_engine(sessions):
    labels = problems()["three classes"]
    labels = labels.with_gold(np.where(np.arange(labels.n_items) % 5 == 2, 1, -1))
    for spark in sessions.values():
        data = coded(spark, labels)
        engine, local = SparkPlace(data).engine(gathered=False), LocalEngine(labels, gathered=False)
        assert (engine.n_items, engine.n_labels, data.n_gold) == (labels.n_items, labels.n_labels, 3)
        np.testing.assert_array_equal(engine.worker_counts, local.worker_counts)
        for method in (*METHODS, Assay()) if "cluster" in sessions else METHODS:  # the default elsewhere: see the next test
            found, expected = method.solve(engine), method.solve(local)
            if expected.objective is not None:
                assert found.objective == pytest.approx(expected.objective, rel=1e-9)
            judgements = [solution.predict(LocalEngine(labels, gathered=False)) for solution in (found, expected)]
            clear = judgements[1].winners.sum(axis=1) == 1
            np.testing.assert_array_equal(judgements[0].winners[clear], judgements[1].winners[clear])


@pytest.mark.parametrize(
    "method", [Assay(), DawidSkene(max_iter=2), MinimaxEntropy(max_iter=2)], ids=lambda method: method.method
)
def test_every_table_and_word_is_that_of_memory(sessions, method):
    """Classic and Connect, with labels gathered and with the way of many labels."""
    if "cluster" in sessions:
        pytest.skip("once is enough")
    labels = problems()["three classes"]
    names = [str(name) for name in range(labels.n_items)], [str(name) for name in range(labels.n_workers)]
    for spark in sessions.values():
        with closing(SparkPlace(coded(spark, labels))) as place:
            here = replace(labels, items=pa.array(names[0]).cast(pa.int64()), workers=pa.array(names[1]).cast(pa.int64()))
            here = replace(here, report=place.facts.report, classes=place.facts.classes)
            for gather_below in (10**9, 0):
                same_result(
                    fit(method, place, gather_below=gather_below), fit(method, MemoryPlace(here), gather_below=gather_below)
                )


def test_classes_that_differ_in_case_alone(sessions):
    for spark in sessions.values():
        frame = spark.createDataFrame(pa.table({**FRAME, "answer": ["Yes", "yes"] * 8}))
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            assert MajorityVote().fit(frame).posterior_.toArrow().column_names == ["task", "Yes", "yes"]
        finally:
            spark.conf.set("spark.sql.caseSensitive", "false")
        with pytest.raises(DataError, match="differ in upper and lower case alone"):
            MajorityVote().fit(frame)


def test_floating_point_ids_and_labels_are_written_as_in_memory(sessions):
    numbers = [1.0, 1.5, 2.0, 1e15, 0.1, 1e-5, 1.5e-7, 1e22, 12345678.5, -0.5, 1.25e10 + 0.5, 2.5e300, float("nan")]
    frame = pa.table({"item": numbers, "worker": ["u"] * len(numbers), "label": [1.0, 1.5] * 6 + [2.0]})
    expected = [float_text(frame[name].combine_chunks()).to_pylist() for name in ("item", "label")]
    for spark in sessions.values():
        found = plain_columns(spark.createDataFrame(frame), {})[0].toArrow()
        assert [found[name].to_pylist() for name in ("item", "label")] == expected


def test_several_columns_make_the_item_as_in_memory(sessions):
    rows = [(f"q{n % 4}", (1.0, 2.5, 3.0)[n // 4 % 3], f"j{n // 12}", n % 3) for n in range(36)]
    frame = pa.table(dict(zip(("question_id", "turn", "judge", "score"), zip(*rows, strict=True), strict=True)))
    truth = pa.table({"question_id": ["q1", "q2"], "turn": [1.0, 2.5], "truth": ["0", "2"]})
    named = {"item": "question_id,turn", "worker": None, "label": None}
    local = as_labels(frame, item_column=["question_id", "turn"])
    for spark in sessions.values():
        there = spark.createDataFrame(frame)
        found, names = plain_columns(there, named)
        assert sorted(found.toArrow()["item"].to_pylist()) == sorted(local.items.take(local.label_item).to_pylist())
        assert names["item"] == "question_id,turn"
        for known in (truth, spark.createDataFrame(truth)):
            held = encode_frame(there, columns=named, gold=known)
            assert (held.n_items, held.n_gold) == (12, 2)
            held.close()
        both = {**named, "worker": "judge,turn"}
        told = as_labels(frame, item_column=["question_id", "turn"], worker_column=["judge", "turn"])
        found, names = plain_columns(there, both)
        assert sorted(found.toArrow()["worker"].to_pylist()) == sorted(told.workers.take(pa.array(told.worker)).to_pylist())
        assert names["worker"] == "judge,turn"
        with pytest.raises(ColumnError, match=r"\(24 of 36\) .* `item_column` 'question_id,turn'"):
            encode_frame(there)
        with pytest.raises(DataError, match="label column holds an infinite number"):
            encode_frame(spark.createDataFrame(pa.table({"item": [1, 1], "worker": [1, 2], "label": [1.0, float("inf")]})))


def test_nul_in_what_spark_reads_itself(sessions):
    for spark in sessions.values():
        for role in ("item", "worker", "label"):
            rows = {"item": ["a", "b"], "worker": ["u", "v"], "label": ["x", "y"]}
            rows[role][1] += "\0"
            with pytest.raises(DataError, match=r"holds a NUL character \(1 row\)"):
                encode_frame(spark.createDataFrame(pa.table(rows)))


def test_headers_that_a_spreadsheet_would_run(sessions, tmp_path):
    for name, spark in sessions.items():
        frame = spark.createDataFrame(pa.table({"item": ["a"], "=1+1": [0.5], "-1": [0.5]}))
        spark_write.write_tables({"posteriors": frame}, {}, str(tmp_path / name), "csv", raw=False)
        (part,) = (tmp_path / name / "posteriors.csv").glob("part-*.csv")
        assert part.read_text().splitlines()[0] == "item,'=1+1,-1"


def test_every_structure(sessions):
    labels = problems()["ragged"]
    sigma = np.random.default_rng(0).normal(size=(labels.n_workers, labels.n_classes, labels.n_classes))
    for spark in sessions.values():
        data, local = coded(spark, labels), LocalEngine(labels, gathered=False)
        for number, structure in enumerate(STRUCTURES):
            # By turns: the driver adds, or the executors do.
            engine = SparkPlace(data, direct_bytes=0 if number % 3 == 0 else 10**9).engine(gathered=False)
            weights = Weights.FREE if number % 2 else Weights.VOTES
            basis = resolve(structure, labels.n_classes).basis()
            both = [one.sweep(Model(basis, basis, 1.0, 2.0), sigma, np.zeros(4), weights) for one in (engine, local)]
            assert both[0].objective == pytest.approx(both[1].objective, rel=1e-9)
            np.testing.assert_allclose(both[0].gradient, both[1].gradient, atol=1e-8)
            np.testing.assert_allclose(both[0].totals, both[1].totals)


def test_a_lost_executor_changes_nothing(sessions):
    if "cluster" not in sessions:
        pytest.skip("only a cluster has executors to lose")
    data = coded(sessions["cluster"], problems()["three classes"])
    executors = executor_processes(data)
    assert len(executors) == 2
    lost = max(executors)

    class Shaken(SparkPlace):
        jobs = 0

        def _run(self, task):
            self.jobs += 1
            if self.jobs == 3:
                os.kill(lost, signal.SIGKILL)
            return super()._run(task)

    method = MinimaxEntropy(starts=1, max_iter=4)
    calm, shaken = (method.solve(place.engine(gathered=False)) for place in (SparkPlace(data), Shaken(data)))
    assert shaken.history == calm.history
    np.testing.assert_array_equal(shaken.sigma, calm.sigma)
    assert lost not in executor_processes(data)


def executor_processes(data):
    """Return the processes of the executors: the parents of the daemons whose children run our Python."""

    def ask(batches):
        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"daemon": [os.getppid()]})

    daemons = set(data.blocks.mapInArrow(ask, "daemon bigint").toArrow()["daemon"].to_pylist())
    return {int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(daemon)])) for daemon in daemons}


FRAME = {
    "task": ["a", "a", "a", "b", "b", "b", "c", "c", "c", "d", "d", None, "e", "e", "=f", "=f"],
    "annotator": ["u", "v", "w", "u", "v", "w", "u", "v", "w", "u", "v", "w", " ", "u", "v", "w"],
    "answer": ["no", "no", "yes", "yes", "yes", "yes", "no", "no", "no", "yes", "no", "no", "no", "no", "yes", "yes"],
}


def test_a_frame_handed_to_an_estimator(sessions):
    table = pa.table(FRAME)
    for spark in sessions.values():
        frame = spark.createDataFrame(table)
        method = DawidSkene(smoothing=0.1, max_iter=4)
        local = DawidSkene(smoothing=0.1, max_iter=4).fit(table, gold={"d": "yes"})
        method.fit(frame, gold={"d": "yes"})
        assert method.result_.facts.report.dropped == local.result_.labels.report.dropped
        assert method.classes_.tolist() == ["no", "yes"]
        assert method.objective_ == pytest.approx(local.objective_, rel=1e-9)
        for name in ("labels_", "posterior_", "items_", "workers_"):
            found = getattr(method, name)
            assert spark_session.is_spark(found)
            key = found.columns[0]
            rows, expected = (
                sorted(part.to_pylist(), key=lambda row: row[key]) for part in (found.toArrow(), getattr(local, name))
            )
            for row, other in zip(rows, expected, strict=True):
                assert row == pytest.approx({column: other[column] for column in row})
        assert method.result_.parameters == local.result_.parameters
        with pytest.raises(ParameterError, match="only the items of the fit are labelled"):
            method.predict(frame)


def test_from_the_command_line(sessions, run, tmp_path):
    if "classic" not in sessions:
        pytest.skip("once is enough")
    import csv
    import json

    (tmp_path / "truth.csv").write_text("item,label\na,no\nb,no\nz,no\n")
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([FRAME, *zip(*FRAME.values(), strict=True)])
    options = ("--engine", "spark", "--method", "minimax", "--max-iter", 5, "--truth", tmp_path / "truth.csv")
    where = ("--out", tmp_path / "out", "--temp-dir", tmp_path / "t")
    more = ("--report", tmp_path / "report.html", "--next", tmp_path / "next.csv")
    code, out, err = run("aggregate", tmp_path / "labels.csv", *options, *where, *more)
    assert code == 0, err
    assert "Against the truth of 2 items: error 50.00%" in out
    assert "Hardest items" in out
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["engine"], summary["n_items"], summary["truth_items_without_labels"]) == ("spark", 6, 1)
    parts = list((tmp_path / "out" / "labels.csv").glob("part-*.csv"))
    rows = [row for part in parts for row in csv.DictReader(part.open())]
    assert sorted(row["item"] for row in rows) == ["'=f", "a", "b", "c", "d", "e"]
    assert list((tmp_path / "t").iterdir()) == []
    page = (tmp_path / "report.html").read_text()
    assert "14 labels of 6 items by 3 workers" in page
    assert "Against the truth of 2 items" in page
    assert (tmp_path / "next.csv").read_text().startswith("item,label,probability,ask,labels_needed")
    code, _, err = run("aggregate", "no_such_table", *options[:2], "--method", "majority")
    assert (code, err.splitlines()[-1]) == (1, "Error: Spark knows no table 'no_such_table'; check its name and catalog.")


@contextmanager
def full_disk(monkeypatch):
    """Let the disk be full at the third job that writes, and expect to be told."""
    calls = iter(range(99))

    def failing(job):
        if next(calls) == 2:
            raise OSError(28, "No space left on device")
        return spark_session.run(job)

    with monkeypatch.context() as patch:
        patch.setattr(spark_write, "run", failing)
        with pytest.raises(OSError, match="No space"):
            yield


def test_results_appear_at_once(sessions, tmp_path, monkeypatch):
    """A write that fails between tables leaves the old result as it was, and nothing beside it."""
    if "classic" not in sessions:
        pytest.skip("only here files are moved by us")
    frame = sessions["classic"].createDataFrame(pa.table(FRAME))
    old, new = (MajorityVote().fit(frame).result_, DawidSkene(smoothing=0.1, max_iter=2).fit(frame).result_)
    folder = tmp_path / "out"
    write_result(old, {"mark": "old"}, folder, "parquet")
    (folder / "mine.txt").write_text("a file of somebody else")
    with full_disk(monkeypatch):
        write_result(new, {"mark": "new"}, folder, "parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert '"old"' in (folder / "summary.json").read_text()
    assert len(list((folder / "labels.parquet").glob("part-*"))) > 0
    write_result(new, {"mark": "new"}, folder, "csv")
    assert sorted(path.name for path in folder.iterdir()) == [
        "items.csv", "labels.csv", "mine.txt", "posterior.csv", "summary.json", "workers.csv",
    ]  # fmt: skip
    assert '"new"' in (folder / "summary.json").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_over_connect_an_unfinished_result_has_no_summary(sessions, tmp_path, monkeypatch):
    if "connect" not in sessions:
        pytest.skip("elsewhere results appear at once")
    result = MajorityVote().fit(sessions["connect"].createDataFrame(pa.table(FRAME))).result_
    write_result(result, {"mark": "old"}, tmp_path, "parquet")

    def summary():
        return "".join(part.read_text() for part in (tmp_path / "summary.json").glob("part-*"))

    assert '"old"' in summary()
    with full_disk(monkeypatch):
        write_result(result, {"mark": "new"}, tmp_path, "parquet")
    assert summary() == ""


def test_a_failed_fit_leaves_no_folder(sessions, tmp_path):
    def fail(sweeps, objective):
        raise KeyboardInterrupt

    for spark in sessions.values():
        frame = spark.createDataFrame(pa.table(FRAME))
        with pytest.raises(KeyboardInterrupt), closing(SparkPlace(encode_frame(frame, spool=str(tmp_path)))) as place:
            fit(DawidSkene(max_iter=3), place, progress=fail)
        assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_done_is_said(sessions, monkeypatch):
    if "cluster" in sessions:
        pytest.skip("once is enough")
    for spark in sessions.values():
        frame = spark.createDataFrame(pa.table(FRAME))
        with pytest.raises(ParameterError, match="'kos' needs all labels in memory"):
            KOS().fit(frame)
        with pytest.raises(ParameterError, match="Choosing gamma needs all labels in memory"):
            MinimaxEntropy(gamma="auto").fit(frame, validation={"a": "no"})
        with pytest.raises(DataError, match="The gold gives item 'a' different labels"):
            MajorityVote().fit(frame, gold=spark.createDataFrame(pa.table({"item": ["a", "a"], "label": ["no", "yes"]})))
        with monkeypatch.context() as patch:
            patch.setattr(spark_session, "available_memory", lambda: 1000)
            with pytest.raises(DataError, match=r"The tables of 3 workers and 2 classes take 96 B each, .* has 1 KB free"):
                MajorityVote().fit(frame)


def test_executors_without_the_package(sessions):
    if "cluster" in sessions:
        pytest.skip("once is enough")

    def task(batches):
        raise ModuleNotFoundError("No module named 'crowdassay'")

    for spark in sessions.values():
        frame = spark.createDataFrame(pa.table(FRAME)).mapInArrow(task, "n int")
        with pytest.raises(CrowdassayError, match="executors has no module 'crowdassay'; install crowdassay on the executors"):
            spark_session.run(frame.toArrow)


def test_changes_whose_effect_is_known(sessions):
    """Rows in another order, classes of other names in another order, every item copied: the answer follows."""
    if "classic" not in sessions:
        pytest.skip("once is enough")
    labels = problems()["three classes"]
    rows = np.column_stack([labels.label_item, labels.worker, labels.label])

    def chances(rows, names, frame_of):
        """Return the probabilities by item, in the order of the codes of the classes."""
        columns = {"item": rows[:, 0], "worker": rows[:, 1], "label": [names[code] for code in rows[:, 2]]}
        method = DawidSkene(prior="estimated", smoothing=0.0, max_iter=2).fit(frame_of(pa.table(columns)))
        table = method.posterior_
        table = (table.toArrow() if spark_session.is_spark(table) else table).sort_by("item")
        return np.column_stack([table[name] for name in names])

    known = chances(rows, ["a", "b", "c"], lambda table: table)
    order, spark = np.random.default_rng(0).permutation(len(rows)), sessions["classic"]
    turned = chances(rows[order], ["z", "y", "x"], lambda table: spark.createDataFrame(table).repartition(3))
    np.testing.assert_allclose(turned, known, atol=1e-9)
    copies = rows + np.array([labels.n_items, 0, 0])
    twice = chances(np.concatenate([rows, copies]), ["a", "b", "c"], spark.createDataFrame)
    np.testing.assert_allclose(twice, np.concatenate([known, known]), atol=1e-9)
