"""The place for whatever a user hands over: labels, a path, a frame in memory, a frame of Spark, or a place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdassay.engines.base import Place
from crowdassay.engines.gpu.engine import GpuPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.spark.session import is_spark
from crowdassay.errors import ParameterError
from crowdassay.labels.frames import as_labels
from crowdassay.labels.report import warn_of
from crowdassay.labels.truth import take_gold
from crowdassay.read_options import ReadOptions

ENGINES = ("local", "gpu")


def place_labels(
    data: Any,
    *,
    gold: Any = None,
    engine: str = "local",
    threads: int | None = None,
    worker_arrays: float = 66.0,
    reading: Mapping[str, Any] | None = None,
) -> Place:
    """Return the place that holds these labels.

    Parameters
    ----------
    data : Labels, path, frame, triple (items, workers, labels), or Place
        The labels of a Spark frame stay in Spark.
    gold : frame, mapping or path, optional
        Items whose class is known.
    engine : {'local', 'gpu'}
        For labels in memory: where they are swept.
    threads : int, optional
    worker_arrays : float
        How many arrays of the size workers x classes^2 a fit is going to hold at a time.
    reading : mapping, optional
        Options of `crowdassay.as_labels`: columns, classes, repeats and so on.
    """
    asked = ReadOptions.of(reading or {})
    if engine not in ENGINES:
        raise ParameterError(f"engine must be 'local' or 'gpu', not {engine!r}; labels elsewhere are given as a place.")
    if is_spark(data):
        from crowdassay.engines.spark.data import encode_frame  # noqa: PLC0415  seldom needed
        from crowdassay.engines.spark.place import SparkPlace  # noqa: PLC0415

        if reason := asked.refusal("spark"):
            raise ParameterError(reason)
        columns = {role: asked.columns[role] for role in ("item", "worker", "label")}
        held = encode_frame(
            data, columns=columns, classes=asked.classes, gold=gold, worker_arrays=worker_arrays, allow_drops=asked.allow_drops
        )
        warn_of(held.report)
        return SparkPlace(held)
    if isinstance(data, Place):
        if gold is not None:
            raise ParameterError("Give the gold where the labels are read: a place has its own.")
        if asked.set():
            raise ParameterError("These labels are encoded already; give columns, classes and repeats where they are read.")
        return data
    labels = as_labels(data, **(reading or {}))
    labels = labels if gold is None else take_gold(labels, gold)
    return (GpuPlace if engine == "gpu" else MemoryPlace)(labels, threads=threads)
