"""The Spark engine under the conformance suite, without Spark: what executors run, and how sums are added."""

import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay.checks.engines import ENGINE_CHECKS, problems
from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.spark import session as spark_session
from crowdassay.engines.spark import tasks as spark_tasks
from crowdassay.engines.spark.place import DIRECT_BYTES, MOST_MISSED, SparkPlace
from crowdassay.engines.spark.tasks import Pack, block_items, rows_of
from support.fake_spark import fake_labels

pytestmark = pytest.mark.slow

ENGINES = {
    "collected": lambda labels: SparkPlace(fake_labels(labels)).engine(gathered=False),
    "sharded": lambda labels: SparkPlace(fake_labels(labels), direct_bytes=0).engine(gathered=False),
}


@pytest.fixture(autouse=True)
def own_disk(tmp_path, monkeypatch):
    """An executor's folder, in which sweeps leave copies of blocks."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},elsewhere")
    return tmp_path


@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", ENGINES)
def test_conformance(name, check):
    check(ENGINES[name])


def test_shards_cover_all_workers():
    labels = problems()["binary"]
    data = fake_labels(labels, partitions=50)  # more shards are asked for than there are workers
    engine = SparkPlace(data, direct_bytes=0).engine(gathered=False)
    log_p = np.full((labels.n_workers, 2, 2), np.log(0.5))
    found = engine.count(log_p, np.log([0.5, 0.5]), Weights.VOTES)
    np.testing.assert_allclose(found.counts, LocalEngine(labels).count(log_p, np.log([0.5, 0.5]), Weights.VOTES).counts)


def test_blocks_end_with_an_item_however_batches_are_cut():
    item = np.repeat([3, 5, 8, 9], [4, 11, 1, 2])
    rows = {name: np.arange(18) for name in ("worker", "label", "gold", "truth")}
    table = pa.table({"item": item, **rows})
    for size in (1, 3, 18):
        blocks = list(rows_of(Pack(least=5).pack(table.to_batches(max_chunksize=size), 7)))
        assert [name for block in blocks for name in block_items(block).to_pylist()] == [3, 5, 8, 9]
        assert [block["block"].as_py() for block in blocks] == list(range(7, 7 + len(blocks)))
        workers = np.concatenate([np.frombuffer(block["worker"].as_py(), np.int32) for block in blocks])
        assert workers.tolist() == list(range(18))
        gold = np.concatenate([np.frombuffer(block["gold"].as_py(), np.int32) for block in blocks])
        assert gold.tolist() == [0, 4, 15, 16]


def test_cells_of_bytes_stay_where_they_are():
    batch = pa.RecordBatch.from_pydict({"code": pa.array([b"left out", b"ab", b"", b"cdef"], pa.binary())}).slice(1)
    cells = [row["code"] for row in rows_of([batch])]
    assert [cell.as_py() for cell in cells] == [b"ab", b"", b"cdef"]
    first = batch["code"].buffers()[2].address
    assert [cell.as_buffer().address - first for cell in cells] == [8, 10, 10]


def test_what_a_worker_has_loaded_is_frozen_once(monkeypatch):
    frozen = []
    monkeypatch.setattr(spark_tasks.gc, "freeze", lambda: frozen.append(True))
    spark_tasks.settle.cache_clear()
    spark_tasks.settle()
    assert frozen == []
    spark_tasks.settle.cache_clear()
    monkeypatch.setattr(spark_tasks, "task_context", lambda: "a task")
    for _ in range(2):
        spark_tasks.settle()
    assert frozen == [True]


def test_a_session_of_our_own_tells_java_what_it_was_told(monkeypatch):
    told = []

    class Builder:
        appName = config = lambda self, *_, **__: self

        def getOrCreate(self):
            told.append(os.environ["SPARK_SUBMIT_OPTS"])
            raise OSError

    monkeypatch.setattr("pyspark.sql.SparkSession", SimpleNamespace(builder=Builder()))
    monkeypatch.setattr(spark_session, "check_java", lambda: None)
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dours=no")
    with pytest.raises(OSError):  # noqa: PT011
        spark_session.open_session()
    assert told == [f"{spark_session.JAVA} -Dours=no"]
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dours=no"


@pytest.mark.parametrize("direct", [0, DIRECT_BYTES], ids=["sharded", "collected"])
def test_later_sweeps_read_copies(own_disk, direct):
    labels = problems()["three classes"]
    place, prior = SparkPlace(fake_labels(labels), direct_bytes=direct), np.zeros(3)
    engine = place.engine(gathered=False)
    log_p = np.log(np.random.default_rng(0).dirichlet(np.ones(3), (labels.n_workers, 3)))
    blocks, first = place._rows, engine.count(log_p, prior)
    place._rows = None  # what is not to be read again
    np.testing.assert_array_equal(engine.count(log_p, prior).counts, first.counts)
    place._rows = blocks
    for _ in range(MOST_MISSED + 1):
        next(own_disk.glob("*/*.arrow")).unlink()
        assert engine.count(log_p, prior).objective == first.objective
        assert engine.count(log_p, prior).objective == first.objective
    next(own_disk.glob("*/*.arrow")).unlink()
    assert engine.count(log_p, prior).objective == first.objective
    left = len(list(own_disk.glob("*/*.arrow")))
    engine.count(log_p, prior)
    assert len(list(own_disk.glob("*/*.arrow"))) == left, "copies that go missing are still made again"
    place.data.blocks.unpersist = lambda: None
    place.close()
    assert not list(own_disk.iterdir())
