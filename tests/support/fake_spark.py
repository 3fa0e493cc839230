"""A frame with as much of Spark in it as a sweep needs, so that the whole suite runs in a second."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle

from crowdassay.engines.spark.data import SparkLabels
from crowdassay.engines.spark.tasks import PARTITION_BLOCKS, Pack
from crowdassay.labels.labels import Labels


@dataclass
class FakeFrame:
    """Partitions of Arrow batches."""

    parts: list[list[pa.RecordBatch]]

    @property
    def sparkSession(self) -> type[FakeSession]:
        return FakeSession

    def select(self, *names: str) -> FakeFrame:
        return FakeFrame([[batch.select(list(names)) for batch in part] for part in self.parts])

    def mapInArrow(self, task, schema: str) -> FakeFrame:
        names = re.findall(r"(?:^|, )(?:`((?:[^`]|``)*)`|(\w+)) ", schema)
        names = [quoted.replace("``", "`") or bare for quoted, bare in names]
        task = cloudpickle.loads(cloudpickle.dumps(task))
        made = FakeFrame([list(task(iter(part))) for part in self.parts])
        assert all(batch.schema.names == names for part in made.parts for batch in part)
        return made

    def repartition(self, number: int, column: str) -> FakeFrame:
        rows = [batch.slice(row, 1) for part in reversed(self.parts) for batch in part for row in range(len(batch))]
        return FakeFrame([[row for row in rows if row[column][0].as_py() % number == part] for part in range(number)])

    @property
    def rdd(self) -> FakeCollection:
        return FakeCollection([[tuple(row.values()) for batch in part for row in batch.to_pylist()] for part in self.parts])

    def toArrow(self) -> pa.Table:
        return pa.Table.from_batches([batch for part in reversed(self.parts) for batch in part])


@dataclass
class FakeCollection:
    """Partitions of rows."""

    parts: list[list]

    def persist(self) -> FakeCollection:
        return self

    def map(self, task) -> FakeCollection:
        return FakeCollection([[task(row) for row in part] for part in self.parts])

    def mapPartitions(self, task) -> FakeCollection:
        task = cloudpickle.loads(cloudpickle.dumps(task))
        return FakeCollection([list(task(iter(part))) for part in self.parts])

    def collect(self) -> list:
        return [row for part in reversed(self.parts) for row in part]


class FakeSession:
    """As much of a session as a place asks for."""

    class sparkContext:
        master = "cluster"

    class conf:
        @staticmethod
        def get(name: str) -> str:
            return {"spark.sql.caseSensitive": "false"}[name]

    @staticmethod
    def createDataFrame(table: pa.Table) -> FakeFrame:
        return FakeFrame([table.to_batches()])


def fake_labels(labels: Labels, partitions: int = 3, least: int = 40, truth: np.ndarray | None = None) -> SparkLabels:
    """Deal the items out to partitions and pack them as executors would; what travels is pickled, as Spark does."""
    item = labels.label_item
    table = pa.table(
        {
            "item": labels.items.take(pa.array(item)),
            "worker": labels.worker,
            "label": labels.label,
            "gold": labels.gold[item],
            "truth": np.full(len(item), -1) if truth is None else truth[item],
        }
    )
    parts = []
    for part in range(partitions):
        rows = table.filter(pa.array(item % partitions == part)).to_batches(max_chunksize=7)
        parts.append(list(Pack(least).pack(rows, part * PARTITION_BLOCKS)))
    return SparkLabels(
        FakeFrame(parts), labels.n_items, labels.n_labels, labels.n_gold, labels.longest, partitions,
        labels.workers, labels.classes, labels.worker_counts, labels.class_counts, "string", "string", labels.report,
        None if truth is None else {"items": int((truth >= 0).sum()), "unknown_items": 0},
    )  # fmt: skip
