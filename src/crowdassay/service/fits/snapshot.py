"""The last fit, as reads need it: in memory, never changed, replaced as a whole by the next."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crowdassay.findings.items import ItemStanding
from crowdassay.labels.labels import Labels
from crowdassay.models.assay.constants import default_constants
from crowdassay.service.store.records import WorkerRow

if TYPE_CHECKING:
    from crowdassay.estimators.base import Estimator

NAMES_DECODED_AT_A_TIME = 2000  # with more, requests would have to wait
FACTS_FILE, STANDINGS_FILE, PLANNING_FILE = "facts.json", "standings.npy", "planning.npz"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A fit of all labels up to number ``upto``."""

    fit: int  # its number
    upto: int
    corrected: int  # the number of the last correction that it knows
    estimator: Estimator  # fitted; it predicts items from labels that came later
    names: list[str]  # the items, in order of the arrays below
    index: dict[str, int]  # from item to its place
    posterior: np.ndarray  # (n_items, n_classes)
    code: np.ndarray  # (n_items,), as the next three
    probability: np.ndarray
    standing: np.ndarray
    n_labels: np.ndarray
    order: np.ndarray  # items that are not settled, the least sure first
    classes: tuple[str, ...]
    plan: dict[str, np.ndarray]  # ``tables``, ``crowd`` and ``log_prior``, as in `crowdassay.planning.state.State`
    workers: dict[str, int]  # from worker to its place in the tables
    facts: dict[str, Any]  # notes, and what was summed over all items
    about: dict[str, WorkerRow]  # what was found of each worker, by name

    @property
    def settled(self) -> float:
        """Probability from which a label counts as settled."""
        return float(self.estimator.result_.settled)


def read_snapshot(fit: int, upto: int, parts: Mapping[str, bytes], settled: float | None = None) -> Snapshot:
    """Make a snapshot from the files of a fit, which may have been made with another probability for what is settled."""
    from crowdassay.estimators.load import load_estimator  # noqa: PLC0415 - slow to load, and a server is up before its first fit

    with tempfile.TemporaryDirectory(prefix="crowdassay-fit-") as folder:
        for name, data in parts.items():
            if name not in {FACTS_FILE, STANDINGS_FILE, PLANNING_FILE}:
                (Path(folder) / name).write_bytes(data)
        estimator = load_estimator(folder).set_params(settled=settled or default_constants().settled)
    result = estimator.result_
    labels: Labels = result.labels
    names: list[str] = []
    index: dict[str, int] = {}
    for first in range(0, labels.n_items, NAMES_DECODED_AT_A_TIME):
        some = [str(name) for name in labels.items.slice(first, NAMES_DECODED_AT_A_TIME).to_pylist()]
        index.update(zip(some, range(first, first + len(some)), strict=True))
        names += some
    facts = json.loads(parts[FACTS_FILE])
    standing = np.frombuffer(parts[STANDINGS_FILE], np.uint8).copy()
    sure = np.where(result.probability >= result.settled, ItemStanding.SETTLED, ItemStanding.OPEN)
    by_probability = np.isin(standing, [ItemStanding.OPEN, ItemStanding.SETTLED])
    standing[by_probability] = sure[by_probability]
    unsure = np.round(1 - result.probability, 9)
    order = np.argsort(-unsure, kind="stable")
    return Snapshot(
        fit=fit,
        upto=upto,
        corrected=int(facts.get("corrected", 0)),  # none could be made before fits wrote this down
        estimator=estimator,
        names=names,
        index=index,
        posterior=result.posterior,
        code=result.code,
        probability=result.probability,
        standing=standing,
        n_labels=np.diff(labels.starts),
        order=order[~np.isin(standing[order], [ItemStanding.SETTLED, ItemStanding.KNOWN])],
        classes=labels.class_names,
        plan=dict(np.load(io.BytesIO(parts[PLANNING_FILE]))),
        workers={str(name): place for place, name in enumerate(labels.workers.to_pylist())},
        facts=facts,
        about={row["worker"]: WorkerRow(**row) for row in facts.pop("workers")},
    )


def predict_proba(snapshot: Snapshot, items: Sequence[Sequence[tuple[str, str]]]) -> np.ndarray:
    """Return class probabilities (n_items, n_classes) of items given as lists of (worker, label), the workers as fitted.

    Every label must be one of the fit's classes.
    """
    codes = {name: code for code, name in enumerate(snapshot.classes)}
    workers: dict[str, int] = {}
    rows = [
        (place, workers.setdefault(worker, len(workers)), codes[label])
        for place, said in enumerate(items)
        for worker, label in said
    ]
    item, worker, label = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    labels = Labels.from_codes(
        item,
        worker,
        label,
        items=pa.array([str(place) for place in range(len(items))]),
        workers=pa.array(list(workers), pa.string()),
        classes=pa.array(list(snapshot.classes), pa.string()),
    )
    table = snapshot.estimator.predict_proba(labels)
    return np.column_stack([np.asarray(column) for column in table.columns[1:]])
