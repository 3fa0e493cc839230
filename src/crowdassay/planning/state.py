"""Where a labelling job stands: all that a plan is made from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray, row_max
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import SETTLED, Record
from crowdassay.models.assay.dependence import Dependence
from crowdassay.planning.tables import tell_apart, worker_tables

EQUAL = 1e-9  # probabilities that differ by less are equal


@dataclass(frozen=True, eq=False)
class State:
    """Class probabilities of items, tables of workers, and who has labelled what.

    Attributes
    ----------
    posterior : ndarray of shape (n_items, n_classes)
    log_prior : ndarray of shape (n_classes,)
    tables : ndarray of shape (n_workers, n_classes, n_classes)
        What each worker answers to each class, as far as the others' labels tell, drawn towards the crowd's table: see
        `crowdassay.planning.tables`. A worker of whom little is known has nearly the crowd's.
    crowd : ndarray of shape (n_classes, n_classes)
        What a typical worker answers.
    labels : Labels
        For the items' names, known classes and who has labelled them.
    workers : pyarrow.Array
        The workers of the labels, then any who have not been seen.
    copies : ndarray of int, shape (n_pairs, 2)
        Workers who look like copies of one another: neither is asked about what the other has labelled.
    law : Dependence
    settled : float
        Probability from which a label counts as settled, as the fit has it.
    """

    posterior: FloatArray
    log_prior: FloatArray
    tables: FloatArray
    crowd: FloatArray
    labels: Labels
    workers: pa.Array
    copies: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    law: Dependence = field(default_factory=Dependence)
    settled: float = SETTLED

    @classmethod
    def of(
        cls, record: Record, *, crowd: FloatArray | None = None, copies: IntArray | None = None, law: Dependence | None = None
    ) -> State:
        """Take the state from what a fit found; without ``crowd`` it is the pooled table of all workers."""
        prior, law = _log_prior(record), law or Dependence()
        tables, crowd = worker_tables(record.labels, record.posterior, prior, law, crowd)
        return cls(
            record.posterior,
            prior,
            tables,
            crowd,
            record.labels,
            record.labels.workers,
            np.empty((0, 2), np.int64) if copies is None else copies,
            law,
            record.settled,
        )

    @classmethod
    def typical(cls, record: Record, crowd: FloatArray) -> State:
        """Take the state without a table for each worker, two passes over all labels: for what asks typical workers alone."""
        tables, crowd, labels = np.empty((0, *crowd.shape)), crowd / crowd.sum(axis=1, keepdims=True), record.labels
        return cls(record.posterior, _log_prior(record), tables, crowd, labels, labels.workers, settled=record.settled)

    @classmethod
    def of_result(cls, result: Any) -> State:
        """Take the state from a `Result`, with what it says of workers: the crowd's table, and who looks like whose copy."""
        insight = result.insight
        pairs = [(pair.worker, pair.other) for pair in insight.copies[0]]
        return cls.of(result, crowd=insight.crowd, copies=np.array(pairs, np.int64).reshape(-1, 2))

    @property
    def n_labels(self) -> IntArray:
        """Labels that each item has, shape (n_items,)."""
        return np.diff(self.labels.starts)

    @property
    def known(self) -> BoolArray:
        """Whether an item's class is known, shape (n_items,)."""
        return np.asarray(self.labels.gold >= 0)

    @property
    def probability(self) -> FloatArray:
        """Probability of each item's likeliest class, shape (n_items,); 1 where the class is known."""
        return np.where(self.known, 1.0, row_max(self.posterior))

    @property
    def n_seen(self) -> IntArray:
        """Labels that each worker has given, shape (n_workers,); 0 for those not seen."""
        return np.bincount(self.labels.worker, minlength=len(self.workers))

    @cached_property
    def apart(self) -> FloatArray:
        """How far each worker's answers to two classes are apart, shape (n_workers, n_classes, n_classes)."""
        return tell_apart(self.tables)

    @cached_property
    def crowd_apart(self) -> FloatArray:
        """How far a typical worker's answers to two classes are apart, shape (n_classes, n_classes)."""
        return tell_apart(self.crowd)

    def rivals(self, only: int | None = None) -> tuple[IntArray, IntArray]:
        """Return the two likeliest classes of each item, (n_items,) each; or one class, and the likeliest of the others."""
        if only is None:
            return self._leading
        return self._with_rival(np.full(len(self.posterior), only))

    @cached_property
    def _leading(self) -> tuple[IntArray, IntArray]:
        return self._with_rival((self.posterior + EQUAL * self.crowd_apart.sum(axis=1)).argmax(axis=1))

    def _with_rival(self, first: IntArray) -> tuple[IntArray, IntArray]:
        """Add the likeliest other class; of equals the one told apart best, so that the order of classes does not count."""
        rest = self.posterior + EQUAL * self.crowd_apart[first]
        rest[np.arange(len(rest)), first] = -1.0
        return first, rest.argmax(axis=1)

    def after(self, record: Record) -> State:
        """Return the state after an update: later probabilities and labels; workers as they were, and new ones as typical.

        It takes no time, where `of` looks at every label anew; `update` leaves workers as they are, too.
        """
        new = record.labels.n_workers - len(self.tables)
        tables = np.concatenate([self.tables, np.repeat(self.crowd[None], max(new, 0), axis=0)])
        return replace(self, posterior=record.posterior, labels=record.labels, workers=record.labels.workers, tables=tables)

    def with_workers(self, names: list[str]) -> State:
        """Return the state with further workers, of whom nothing is known, after the others."""
        text = self.workers.cast(pa.string()).to_pylist()
        new = [name for name in dict.fromkeys(names) if name not in set(text)]
        if not new:
            return self
        strangers = np.repeat(self.crowd[None], len(new), axis=0)
        return replace(self, workers=pa.array([*text, *new]), tables=np.concatenate([self.tables, strangers]))


def _log_prior(record: Record) -> FloatArray:
    mass = record.posterior.sum(axis=0) + 1.0
    return np.log(mass / mass.sum()) if record.log_prior is None else np.maximum(record.log_prior, -20.0)
