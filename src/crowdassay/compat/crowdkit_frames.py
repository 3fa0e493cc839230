"""crowd-kit's frames to `Labels` and back: task, worker and label columns, and the names it gives its results."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, MissingExtraError
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ["task", "worker", "label"]


def pandas() -> Any:
    """Return pandas, or say how to get it."""
    try:
        return import_module("pandas")
    except ImportError:
        raise MissingExtraError("crowd-kit's interface needs pandas; install it with: pip install pandas") from None


@dataclass(frozen=True, eq=False)
class Coded:
    """A frame of task, worker and label as `Labels`, with the frame's own values in the order of the codes."""

    labels: Labels
    tasks: pd.Index
    workers: pd.Index
    classes: pd.Index

    def series(self, values: FloatArray | pd.Index | float, index: pd.Index, name: str) -> pd.Series:
        """Return a named Series."""
        return pandas().Series(values, index=index, name=name)

    def prior(self, share: FloatArray | float) -> pd.Series:
        """Return how common the classes are taken to be, shape (n_classes,) or all alike."""
        return self.series(share, self.classes.rename("label"), "prior")


def three_columns(data: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that are needed; crowd-kit's own answer to gaps in them depends on the method."""
    if not isinstance(data, pandas().DataFrame):
        raise DataError(f"A pandas DataFrame of task, worker and label is needed, not a {type(data).__name__}.")
    data = data[NEEDED]
    gaps = int(data.isna().any(axis=1).sum())
    if gaps:
        raise DataError(f"Rows without a task, worker or label: {gaps}; leave them out with data.dropna(subset={NEEDED}).")
    return data


def code_frame(
    data: pd.DataFrame,
    true_labels: pd.Series | None = None,
    classes: pd.Index | None = None,
    *,
    sort_tasks: bool = False,
    sort_labels: bool = True,
) -> Coded:
    """Encode a frame; a missing column is a KeyError, as in crowd-kit.

    ``true_labels``, known labels by task, become the gold of `Labels`; ``classes`` may not occur among the labels. Tasks and
    labels that are not sorted are in order of appearance. crowd-kit does either, by method, with the pandas it was made for
    (before 3.0).
    """
    pd = pandas()
    data = three_columns(data)
    item, tasks = pd.factorize(data["task"], sort=sort_tasks)
    worker, workers = pd.factorize(data["worker"])
    values = pd.Index(data["label"].unique())
    for more in (classes, None if true_labels is None else pd.Index(true_labels[true_labels.index.isin(tasks)].unique())):
        if more is not None:
            values = values.append(more.difference(values)) if len(more.difference(values)) else values
    if sort_labels:
        with suppress(TypeError):  # labels of several kinds have no order
            values = values.sort_values()
    labels = Labels.from_codes(
        item, worker, values.get_indexer(data["label"]), items=_words(tasks), workers=_words(workers), classes=_words(values)
    )
    if true_labels is not None:
        known = true_labels[~true_labels.index.duplicated()].reindex(tasks)
        gold = np.where(known.notna(), values.get_indexer(known), -1)
        labels = labels.with_gold(gold)
    return Coded(labels, pd.Index(tasks, name="task"), pd.Index(workers, name="worker"), values)


def share_right(data: pd.DataFrame, truth: pd.Series) -> pd.Series:
    """Return the share of right answers of each worker, by a Series of labels by task that may name several for a task.

    The same answer given twice by a worker to a task counts once.
    """
    pd = pandas()
    data = three_columns(data).drop_duplicates()
    data = data[data["task"].isin(truth.dropna().index)]
    right = pd.MultiIndex.from_frame(data[["task", "label"]]).isin(pd.MultiIndex.from_arrays([truth.index, truth.to_numpy()]))
    share = pd.Series(right.astype(float), index=data.index).groupby(data["worker"]).mean()
    return share.rename_axis("worker").rename("skill")


class Aggregator:
    """crowd-kit's ways to call a method that finds labels and probabilities by task when it is fitted."""

    labels_: pd.Series
    probas_: pd.DataFrame

    def fit(self, data: pd.DataFrame, *known: pd.Series, **named: pd.Series) -> Self:
        """Fit a frame of task, worker and label."""
        raise NotImplementedError

    def fit_predict(self, data: pd.DataFrame, *known: pd.Series, **named: pd.Series) -> pd.Series:
        """Fit, and return the label of every task; further arguments are those of `fit`."""
        return self.fit(data, *known, **named)._vote(data).labels_

    def fit_predict_proba(self, data: pd.DataFrame, *known: pd.Series, **named: pd.Series) -> pd.DataFrame:
        """Fit, and return the probability of every label, likewise."""
        return self.fit(data, *known, **named)._vote(data).probas_

    def _vote(self, data: pd.DataFrame) -> Self:
        """Find labels and probabilities where the fit has not done so."""
        return self

    def _keep_nothing(self, kind: str) -> Self:
        """Keep what an empty frame comes to, labels being of a kind."""
        self.probas_, self.labels_ = pandas().DataFrame(), pandas().Series([], dtype=kind, name="agg_label")
        return self

    def _keep(self, coded: Coded, posterior: FloatArray, code: IntArray | None = None) -> None:
        """Keep probabilities (n_items, n_classes) and labels, the most probable unless their codes are given."""
        code = find_winners(posterior).argmax(axis=1) if code is None else code
        self.probas_ = pandas().DataFrame(posterior, index=coded.tasks, columns=coded.classes.rename("label"))
        self.labels_ = coded.series(coded.classes.take(code), coded.tasks, "agg_label")


def _words(index: pd.Index) -> pa.Array:
    return pa.array([str(value) for value in index], pa.string())
