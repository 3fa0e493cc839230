"""The datasets of the benchmarks: labels, truth, and which of them count as one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay import read_labels
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass(frozen=True, eq=False)
class Dataset:
    """One dataset; ``truth`` (n_items,) is -1 where unknown, ``people`` whether workers are people."""

    name: str
    group: str
    people: bool
    ordered: bool
    labels: Labels
    truth: np.ndarray


def datasets(most: float = np.inf, names: Sequence[str] = ()) -> Iterator[Dataset]:
    """Read every dataset found, the smallest first, without those of more labels than ``most``."""
    metas = [json.loads(path.read_text(encoding="utf-8")) for path in DATA.glob("*/meta.json")]
    for meta in sorted(metas, key=lambda meta: (meta["labels"], meta["name"])):
        if meta["labels"] <= most and (not names or meta["name"] in names):
            folder = DATA / meta["name"]
            labels = read_labels(folder / "labels.csv", classes=meta["classes"])
            yield Dataset(
                meta["name"], meta["group"], meta["workers_are"] == "people", meta["kind"] == "ordinal", labels,
                match_truth(labels, folder / "truth.csv")[0],
            )  # fmt: skip


def by_group(sets: Sequence[Any], values: Sequence[float]) -> dict[str, float]:
    """Return the mean of a value over the datasets of each group."""
    groups: dict[str, list[float]] = {}
    for one, value in zip(sets, values, strict=True):
        groups.setdefault(one.group, []).append(value)
    return {name: float(np.mean(members)) for name, members in groups.items()}


def mean_of_groups(sets: Sequence[Any], values: Sequence[float]) -> float:
    """Return the mean over groups of the mean within each; datasets of one group count as one."""
    return float(np.mean(list(by_group(sets, values).values())))


def calibration_error(posterior: np.ndarray, winners: np.ndarray, truth: np.ndarray) -> float:
    """Return the expected calibration error in ten bins where the truth is known, a tie counting in part."""
    known = np.flatnonzero(truth >= 0)
    code = winners[known].argmax(axis=1)
    sure = posterior[known, code]
    right = winners[known, truth[known]] / winners[known].sum(axis=1)
    place = np.clip(np.ceil(sure * 10 - 1e-9).astype(int) - 1, 0, 9)
    return float(np.abs(np.bincount(place, sure - right, 10)).sum() / len(known))
