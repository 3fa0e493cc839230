"""The one interface of all estimators."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Ability, Engine
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.place_labels import place_labels
from crowdassay.engines.spark.session import is_spark
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.fittable import Fittable
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.facts import Facts
from crowdassay.labels.frames import as_labels, three_columns
from crowdassay.labels.labels import Labels
from crowdassay.labels.native import as_narwhal, frame_columns, sequence_column
from crowdassay.labels.record import find_winners
from crowdassay.labels.wide import frame_cells, matrix_cells
from crowdassay.read_options import ReadOptions
from crowdassay.results.parameters import check_types, match_classes
from crowdassay.results.result import Result
from crowdassay.results.run import fit
from crowdassay.solvers.posteriors import ByTables
from crowdassay.solvers.solution import Announce, Progress, Solution


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Estimator(Fittable, ABC):
    """Fit labels, then ask for labels, probabilities, workers and items.

    A subclass is a dataclass whose fields are its parameters, with a method `solve` that turns an engine into a `Solution`;
    `crowdassay.results.run.fit` makes the result of it. A model that predicts new labels otherwise than by its workers' tables
    has a `_predict_proba` too. Parameters follow scikit-learn's conventions (`Fittable`). Results come in the caller's own
    kind of frame.
    """

    method: ClassVar[str]
    memory_tables: ClassVar[tuple[float, float]] = (12.0, 0.0)
    """How many arrays of the size workers x classes^2, and items x classes^2, a fit holds at a time, about."""

    @abstractmethod
    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Fit the workers to the labels that an engine holds.

        Where `needs_memory` returns None the engine may be any, and only the sums that it returns are seen. Otherwise its
        labels are in memory, and `_local` returns it as such.

        Parameters
        ----------
        engine : Engine
        progress : callable, optional
            Called after every step with the number of iterations so far and the objective.
        start : ndarray of shape (n_workers, n_classes, n_classes), optional
            Worker tables of an earlier fit, from which a method that can goes on.
        """

    def _local(self, engine: Engine) -> LocalEngine:
        """Return an engine whose labels are in memory as what it is; refuse another."""
        if Ability.LABELS not in engine.can:
            raise ParameterError(f"{self.needs_memory()}, or take --engine local.")
        return cast("LocalEngine", engine)

    def _predict_proba(self, labels: Labels) -> FloatArray:
        """Return class probabilities (n_items, n_classes) of new labels, the workers as fitted: by their tables."""
        fitted = self._fitted()
        assert fitted.sigma is not None
        code = match_workers(fitted.labels, labels)
        log_p = np.where((code >= 0)[:, None, None], fitted.sigma[code], self._stranger())
        n_classes = labels.n_classes
        log_prior = np.full(n_classes, -np.log(n_classes)) if fitted.log_prior is None else fitted.log_prior
        return ByTables(log_p, log_prior)(LocalEngine(labels, threads=getattr(self, "threads", None))).posterior

    def fit(
        self,
        data: Any,
        y: object = None,
        *,
        gold: Any = None,
        engine: str = "local",
        progress: Progress | None = None,
        announce: Announce | None = None,
        **reading: Any,
    ) -> Self:
        """Fit the labels.

        Parameters
        ----------
        data : Labels, path, frame, triple (items, workers, labels), or place
            A Spark frame is fitted inside Spark, and the tables of the result are Spark frames.
        y : ignored
            For scikit-learn's sake; known classes that the model may learn from are ``gold``.
        gold : frame, mapping or path, optional
            Items whose class is known; they are never overruled.
        engine : {'local', 'gpu'}
            Where labels in memory are swept: by the processor, or on a GPU.
        progress : callable, optional
            Called after every step with the number of iterations so far and the objective.
        announce : callable, optional
            Called with a sentence when there is a wait, such as the first compilation.
        **reading
            How to read the labels, as for `crowdassay.as_labels`: ``item_column="task"``, ``classes``, ``repeats`` and so on.
        """
        check_types(self)
        threads = getattr(self, "threads", None)
        place = place_labels(
            data, gold=gold, engine=engine, threads=threads, worker_arrays=self.memory_tables[0], reading=reading
        )
        try:
            self.result_: Result = fit(self, place, progress=progress, announce=announce)
        except BaseException:
            if place is not data:
                place.close()
            raise
        self._reading: dict[str, Any] = self.result_.facts.report.again(reading)
        return self

    def needs_memory(self) -> str | None:
        """Return why all labels must be in memory; None where the method is made of sums over workers."""
        return f"The method '{self.method}' needs all labels in memory: take another"

    def check(self, facts: Facts) -> None:
        """Refuse labels that the method cannot take."""

    def count_tables(self, facts: Facts, *, gathered: bool) -> tuple[float, float]:
        """Return how many arrays of workers x classes^2 and of items x classes^2 numbers the fit holds at a time."""
        return self.memory_tables

    def slow(self, facts: Facts) -> str | None:
        """Return a sentence, before it begins, on a fit that will take long; None where it will not."""
        return None

    def notes_on(self, facts: Facts) -> tuple[str, ...]:
        """Return what the user should know of these labels and this method."""
        return ()

    def fallback(self) -> Estimator | None:
        """Return the same method with other parameters, to be tried where this one fails; None where there is none left."""
        return None

    def refit(self, data: Any, previous: Result | None) -> Self:
        """Fit, going on from an earlier result where the model can; most start anew."""
        return self.fit(data)

    def partial_fit(self, data: Any, y: object = None, *, repeats: str = "keep") -> Self:
        """Take in new labels of old or new items: only these items are solved again, the workers stay as fitted.

        Labels that the fit has already (same item, worker and class) are not counted again, and other labels by a worker on
        the same item follow ``repeats``: 'keep', 'first', 'last' or 'error', as with ``crowdassay update``. A later `refresh`
        fits the workers too, and goes on from there. Without an earlier fit this is one.
        """
        from crowdassay.results.saved.update import update  # noqa: PLC0415  seldom needed

        if "result_" not in self.__dict__:
            return self.fit(data) if isinstance(data, Labels) else self.fit(data, repeats=repeats)
        update(self, data, repeats=repeats)
        return self

    def refresh(self) -> Self:
        """Fit all labels so far again, those that `partial_fit` took in among them, going on from the workers as they are."""
        from crowdassay.results.saved.update import sound  # noqa: PLC0415  seldom needed

        result = self._fitted()
        return self.refit(result.labels, result if sound(result) else None)

    def save(self, folder: Any) -> None:
        """Write the fitted model to a folder, from which `crowdassay.load_model` reads it."""
        from crowdassay.results.saved.folder import save_model  # noqa: PLC0415  seldom needed

        save_model(self, folder)

    def _solve_items(self, labels: Labels) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        """Return class probabilities, coordinates and difficulty of items with the workers as fitted; None without any."""
        return self._predict_proba(labels), None, None

    def _stranger(self) -> FloatArray:
        """Return the table (n_classes, n_classes) of a worker never seen; by default what they say counts for nothing."""
        n_classes = self._fitted().facts.n_classes
        return np.full((n_classes, n_classes), -np.log(n_classes))

    def _expander(self, labels: Labels) -> Callable[[FloatArray], FloatArray] | None:
        """Return what turns item coordinates into tables, where items have any."""
        return None

    def fit_predict(self, data: Any, y: object = None, **options: Any) -> Any:
        """Fit the labels and return the label of every item."""
        return self.fit(data, y, **options).predict()

    def predict(self, data: Any = None) -> Any:
        """Return item, label, probability and tied for the fitted items, or for new labels with the workers as fitted."""
        return self._frame("labels", data)

    def predict_proba(self, data: Any = None) -> Any:
        """Return item and one column of probabilities per class, likewise."""
        return self._frame("posterior", data)

    def score(self, data: Any, y: Any) -> float:
        """Return the share of items that are labelled right: what scikit-learn's model selection maximises.

        Parameters
        ----------
        data : Labels, frame, matrix, or triple (items, workers, labels)
            Labels of items, of the fit or new; they are labelled with the workers as fitted.
        y : sequence, or file, frame or mapping of item and label
            The true class of every row of ``data``: of each item in a wide frame or matrix, of each label in a long one, where
            all labels of an item have the same. Items whose class is missing are left out.

        Examples
        --------
        >>> from crowdassay import DawidSkene
        >>> labels = (list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 0])
        >>> DawidSkene(smoothing=0.1).fit(labels).score(labels, [0, 0, 1, 1, 1, 1])
        0.6666666666666667
        """
        truth = row_truth(data, y, ReadOptions.of(self._read_alike()))
        return 1.0 - float(self._predicted(data).score(truth)["error_rate"])

    def _frame(self, name: str, data: Any) -> Any:
        return (self._fitted() if data is None else self._predicted(data)).frame(name)

    def _read_alike(self) -> dict[str, Any]:
        """Return how the labels of the fit were read, as far as new ones must be read alike."""
        return dict(self.__dict__.get("_reading", {}))

    def _predicted(self, data: Any) -> Result:
        """Return what the workers as fitted make of new labels, which are read as those of the fit were."""
        result = self._fitted()
        if is_spark(data) or not result.place.in_memory or result.place.writes:
            raise ParameterError("Elsewhere than in memory only the items of the fit are labelled; fit old and new together.")
        reading = {**self._read_alike(), "classes": result.facts.class_names}
        labels = data if isinstance(data, Labels) else as_labels(data, **reading)
        match_classes(result.labels, labels)
        posterior = self._predict_proba(labels) if labels.n_classes > 1 else np.ones((labels.n_items, 1))
        return decide(result, labels, posterior)

    def _fitted(self) -> Result:
        result: Result = super()._fitted()
        return result

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
        """Frame of worker, n_labels, accuracy with an interval, verdict, action, evidence and looks_like."""
        return self._fitted().frame("workers")

    @property
    def parameters_(self) -> Any:
        """Frame of worker, true, observed, share with an interval, labels, and the model's sigma: who answers what to what."""
        return self._fitted().frame("parameters")

    @property
    def next_(self) -> Any:
        """Frame of the items most worth another label: item, label, probability, labels_needed and what they gain."""
        return self._fitted().frame("next")

    @property
    def items_(self) -> Any:
        """Frame of item, n_labels, probability, standing, entropy, vote_share, difficulty and its verdict, and tau."""
        return self._fitted().frame("items")

    @property
    def classes_(self) -> list[Any]:
        """The classes in order."""
        return self._fitted().facts.classes.to_pylist()

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

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags  # noqa: PLC0415  only scikit-learn asks

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


def decide(fitted: Result, labels: Labels, posterior: FloatArray) -> Result:
    """Return a result that holds new items' probabilities and nothing about workers."""
    return dataclasses.replace(fitted, labels=labels, posterior=posterior, winners=find_winners(posterior), fitted_place=None)


def match_workers(fitted: Labels, new: Labels) -> np.ndarray:
    """Return for every worker of ``new`` the code among the fitted workers, -1 for a stranger; shape (n_workers,)."""
    import pyarrow.compute as pc  # noqa: PLC0415

    codes = pc.index_in(new.workers.cast("string"), value_set=fitted.workers.cast("string"))
    return np.asarray(codes.fill_null(-1), dtype=np.int64)


def row_truth(data: Any, y: Any, asked: ReadOptions) -> Any:
    """Return a table of item and label where ``y`` has a class for every row of the data; a truth by item stays as it is.

    >>> row_truth((list("aab"), list("xyx"), [0, 1, 1]), [0, 0, 1], ReadOptions()).to_pydict()
    {'item': ['a', 'a', 'b'], 'label': [0, 0, 1]}
    """
    if isinstance(y, str | Path | Mapping) or as_narwhal(y) is not None:
        return y
    items, values = row_items(data, asked), sequence_column(y, "label")
    if items is None or len(items) != len(values):
        rows = "a file" if items is None else f"{len(items):,} rows"
        raise DataError(f"There are {len(values):,} true classes for {rows}; give one for each row, or item and label.")
    return pa.table({"item": items, "label": values})


def row_items(data: Any, asked: ReadOptions) -> ArrowColumn | None:
    """Return the item of every row of a frame or matrix, or of every label of a triple; None where rows are not told apart."""
    if isinstance(data, Labels | str | Path):
        return data.items if isinstance(data, Labels) else None
    if getattr(data, "ndim", 1) == 2 and hasattr(data, "dtype"):
        return matrix_cells(data).items
    if asked.worker_columns or asked.format == "wide":
        taken = frame_cells(data, asked)
        return None if taken is None else taken[0].items
    columns = frame_columns(data, ("item",), asked.columns)
    return columns[0][0] if columns else three_columns(data)[0]
