"""The one interface of all estimators."""

from __future__ import annotations

import dataclasses
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self, cast

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result, find_winners
from crowdassay.engines.base import Engine
from crowdassay.engines.spark_session import is_spark
from crowdassay.errors import NotFittedError, ParameterError
from crowdassay.estimators.checks import check_types
from crowdassay.estimators.limits import check_memory, one_class
from crowdassay.io.frames import as_labels, to_frame
from crowdassay.io.truth import take_gold
from crowdassay.io.values import listed
from crowdassay.solvers.outcome import Progress, Solution
from crowdassay.threads import one_blas_thread

Announce = Callable[[str], None]


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Estimator(ABC):
    """Fit labels, then ask for labels, probabilities, workers and items.

    A subclass is a dataclass whose fields are its parameters, with a method `_fit`. Parameters follow scikit-learn's
    conventions: the constructor only stores them, `get_params`, `set_params` and cloning work, and what a fit finds ends
    in an underscore. Results come in the caller's own kind of frame.
    """

    method: ClassVar[str]
    tables: ClassVar[tuple[float, float]] = (12.0, 0.0)
    """How many arrays of the size workers x classes^2, and items x classes^2, a fit holds at a time, about."""

    @abstractmethod
    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        """Fit encoded labels; everything a user sees is decoded from the result."""

    def _count_tables(self, labels: Labels) -> tuple[float, float]:
        """Return how many arrays of workers x classes^2 and of items x classes^2 numbers the fit holds at a time."""
        return self.tables

    @abstractmethod
    def _judge(self, labels: Labels) -> FloatArray:
        """Return class probabilities (n_items, n_classes) of new labels, the workers as fitted."""

    def fit(
        self,
        data: Any,
        y: object = None,
        *,
        gold: Any = None,
        progress: Progress | None = None,
        announce: Announce | None = None,
    ) -> Self:
        """Fit the labels.

        Parameters
        ----------
        data : Labels, path, frame, or triple (items, workers, labels)
            A Spark frame is fitted inside Spark, and the tables of the result are Spark frames.
        y : ignored
            For scikit-learn's sake.
        gold : frame, mapping or path, optional
            Items whose class is known; they are never overruled.
        progress : callable, optional
            Called after every step with the number of iterations so far and the objective.
        announce : callable, optional
            Called with a sentence when there is a wait, such as the first compilation.
        """
        check_types(self)
        if is_spark(data):
            from crowdassay.estimators.from_spark import fit_frame  # noqa: PLC0415  it builds on this file

            self.result_: Any = fit_frame(self, data, gold=gold, progress=progress, announce=announce)
            return self
        started = time.perf_counter()
        labels = as_labels(data)
        if gold is not None:
            labels = take_gold(labels, gold)
        check_memory(labels, *self._count_tables(labels))
        with one_blas_thread():
            result = self._fit(labels, progress, announce) if labels.n_classes > 1 else one_class(labels, self.method)
        self.result_ = dataclasses.replace(result, seconds=time.perf_counter() - started)
        return self

    def solve(self, engine: Engine, progress: Progress | None = None) -> Solution:
        """Fit labels that an engine holds, wherever they are; only methods made of sums over workers can."""
        raise ParameterError(
            f"The method '{self.method}' needs all labels in memory; elsewhere take assay, minimax, dawid-skene or majority."
        )

    @property
    def solves(self) -> bool:
        """Whether `solve` works: the method is made of sums over workers."""
        return type(self).solve is not Estimator.solve

    def check_solves(self) -> None:
        """Refuse, before any work, a method that needs all labels in memory."""
        if not self.solves:
            self.solve(cast(Engine, None))

    def settings(self, solution: Solution) -> dict[str, Any]:
        """Return what was asked for and what it came to, for a summary."""
        return {}

    def refit(self, data: Any, previous: Result | None) -> Self:
        """Fit, going on from an earlier result where the model can; most start anew."""
        return self.fit(data)

    def partial_fit(self, data: Any, y: object = None) -> Self:
        """Take in new labels of old or new items: only these items are solved again, the workers stay as fitted.

        A later `refresh` fits the workers too, and goes on from there. Without an earlier fit this is one.
        """
        from crowdassay.persistence.update import update  # noqa: PLC0415  it needs this module

        if "result_" not in self.__dict__:
            return self.fit(data)
        update(self, data)
        return self

    def refresh(self) -> Self:
        """Fit all labels so far again, those that `partial_fit` took in among them, going on from the workers as they are."""
        from crowdassay.persistence.update import sound  # noqa: PLC0415  it needs this module

        result = self._fitted()
        return self.refit(result.labels, result if sound(result) else None)

    def save(self, folder: Any) -> None:
        """Write the fitted model to a folder, from which `crowdassay.load_model` reads it."""
        from crowdassay.persistence.saved import save_model  # noqa: PLC0415  it needs this module

        save_model(self, folder)

    def _solve_items(self, labels: Labels) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        """Return class probabilities, coordinates and difficulty of items with the workers as fitted; None without any."""
        return self._judge(labels), None, None

    def _stranger(self) -> FloatArray:
        """Return the worker table of somebody never seen, shape (n_classes, n_classes)."""
        n_classes = self._fitted().labels.n_classes
        return np.full((n_classes, n_classes), -np.log(n_classes))

    def _expander(self, labels: Labels) -> Callable[[FloatArray], FloatArray] | None:
        """Return what turns item coordinates into tables, where items have any."""
        return None

    def fit_predict(self, data: Any, y: object = None, **options: Any) -> Any:
        """Fit the labels and return the label of every item."""
        return self.fit(data, y, **options).predict()

    def predict(self, data: Any = None) -> Any:
        """Return item, label, probability and tied for the fitted items, or for new labels with the workers as fitted."""
        return to_frame(*self._tables(data, Result.labels_table))

    def predict_proba(self, data: Any = None) -> Any:
        """Return item and one column of probabilities per class, likewise."""
        return to_frame(*self._tables(data, Result.posterior_table))

    def _tables(self, data: Any, table: Callable[[Result], Any]) -> tuple[Any, str]:
        result = self._fitted()
        if data is None:
            return getattr(result, table.__name__)(), result.labels.frame  # a result in Spark has tables of its own
        if is_spark(data) or result.labels.frame == "spark":
            raise ParameterError("In Spark only the items of the fit are labelled; fit old and new labels together.")
        labels = as_labels(data, classes=result.labels.class_names) if not isinstance(data, Labels) else data
        check_classes(result.labels, labels)
        posterior = self._judge(labels) if labels.n_classes > 1 else np.ones((labels.n_items, 1))
        return table(decide(result, labels, posterior)), labels.frame

    def _fitted(self) -> Result:
        if "result_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} has not been fitted; call fit(labels) first.")
        return self.__dict__["result_"]

    @property
    def labels_(self) -> Any:
        """Frame of item, label, probability, tied."""
        return self.predict()

    @property
    def posterior_(self) -> Any:
        """Frame of item and the probability of each class."""
        return self.predict_proba()

    @property
    def workers_(self) -> Any:
        """Frame of worker, n_labels, accuracy with an interval, verdict, evidence, looks_like, confusion and sigma."""
        return to_frame(self._fitted().workers_table(), self._fitted().labels.frame)

    @property
    def items_(self) -> Any:
        """Frame of item, n_labels, probability, standing, entropy, vote_share, difficulty and its verdict, and tau."""
        return to_frame(self._fitted().items_table(), self._fitted().labels.frame)

    @property
    def classes_(self) -> list[Any]:
        """The classes in order."""
        return self._fitted().labels.classes.to_pylist()

    @property
    def confusion_(self) -> FloatArray:
        """Expected confusion of each worker, shape (n_workers, n_classes, n_classes)."""
        return self._fitted().confusion

    @property
    def sigma_(self) -> FloatArray | None:
        """Worker tables, shape (n_workers, n_classes, n_classes), or None where the model has none."""
        return self._fitted().sigma

    @property
    def tau_(self) -> FloatArray | None:
        """Item tables, shape (n_items, n_classes, n_classes), or None where the model has none."""
        return self._fitted().tau

    @property
    def objective_(self) -> float | None:
        """What the fit maximised, at its end."""
        return self._fitted().objective

    @property
    def history_(self) -> tuple[float, ...]:
        """The objective after every step."""
        return self._fitted().history

    @property
    def n_iter_(self) -> int:
        """Passes over the labels."""
        return self._fitted().n_iter

    @property
    def converged_(self) -> bool:
        """Whether the fit stopped by itself."""
        return self._fitted().converged

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters by name."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise ParameterError(f"{type(self).__name__} has no parameter '{name}'; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) is not field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def decide(fitted: Result, labels: Labels, posterior: FloatArray) -> Result:
    """Return a result that holds new items' probabilities and nothing about workers."""
    return dataclasses.replace(fitted, labels=labels, posterior=posterior, winners=find_winners(posterior))


def check_classes(fitted: Labels, new: Labels) -> None:
    """Refuse labels whose codes stand for other classes than those of the fit."""
    if new.class_names != fitted.class_names:
        raise ParameterError(
            f"These labels have the classes {listed(new.class_names)} but the fit had {listed(fitted.class_names)}; "
            "encode them with classes=estimator.classes_."
        )


def match_workers(fitted: Labels, new: Labels) -> np.ndarray:
    """Return for every worker of ``new`` the code among the fitted workers, -1 for a stranger; shape (n_workers,)."""
    import pyarrow.compute as pc  # noqa: PLC0415

    found = pc.index_in(new.workers.cast("string"), value_set=fitted.workers.cast("string"))
    return np.asarray(found.fill_null(-1), dtype=np.int64)
