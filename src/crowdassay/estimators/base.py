"""The one interface of all estimators."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Ability, Announce, Engine
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.place_labels import place_labels
from crowdassay.engines.spark.session import is_spark
from crowdassay.errors import ParameterError
from crowdassay.estimators.fittable import Fittable
from crowdassay.estimators.rows import row_truth, wide_rows
from crowdassay.labels.frames import as_labels
from crowdassay.labels.labels import Facts, Labels
from crowdassay.labels.record import DECISIONS, LIKELIEST, class_values, decide_classes
from crowdassay.read_options import ReadOptions
from crowdassay.results.parameters import check_choice, check_order, check_types, gap_note, match_classes
from crowdassay.results.result import Result
from crowdassay.results.run import fit
from crowdassay.solvers.solution import ByTables, Progress, Solution


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Estimator(Fittable, ABC):
    """Fit labels, then ask for labels, probabilities, workers and items.

    A subclass is a dataclass whose fields are its parameters, with a method `solve` that turns an engine into a `Solution`;
    `crowdassay.results.run.fit` makes the result of it. A model that predicts new labels otherwise than by its workers' tables
    has a `_predict_proba` too. All share two parameters. ``settled`` is the probability from which a label is called settled.
    The fit does not depend on it, so that setting it on a fitted estimator changes what the result says at once. ``decide``
    says which class becomes the label of an item: ``"likeliest"``, the default, is wrong least often; for classes in order
    ``"median"`` and ``"mean"`` lie nearer to the truth where they are wrong (`crowdassay.labels.record.decide_classes`).
    Parameters follow scikit-learn's conventions (`Fittable`). Results come in the caller's own kind of frame, and of files,
    matrices and records as pandas frames where pandas is installed; ``result_.frame("labels", kind="polars")`` gives another.
    """

    method: ClassVar[str]
    by_sums: ClassVar[bool] = False
    """Whether the method is made of sums over workers, so that labels need not be in memory."""
    memory_tables: ClassVar[tuple[float, float]] = (12.0, 0.0)
    """How many arrays of the size workers x classes^2, and items x classes^2, a fit holds at a time, about."""

    settled: float | None = None
    """Probability from which a label is called settled, such as 0.9; None takes the method's own."""
    decide: str = LIKELIEST
    """Which class becomes the label of an item: 'likeliest', or of classes in order 'median' or 'mean'."""

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
        log_p = match_rows(fitted.labels, labels, fitted.sigma, self._stranger())
        n_classes = labels.n_classes
        log_prior = np.full(n_classes, -np.log(n_classes)) if fitted.log_prior is None else fitted.log_prior
        return ByTables(log_p, log_prior)(LocalEngine(labels, threads=getattr(self, "threads", None))).posterior

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        gold: object = None,
        engine: str = "local",
        progress: Progress | None = None,
        announce: Announce | None = None,
        **reading: object,
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

    def set_params(self, **parameters: object) -> Self:
        """Change parameters by name. A fit knows nothing of ``settled``, so that its result follows at once.

        >>> from crowdassay import MajorityVote
        >>> fitted = MajorityVote().fit((list("aaab"), list("xyzx"), [0, 0, 1, 1]))
        >>> fitted.result_.insight.totals.settled, fitted.set_params(settled=0.6).result_.insight.totals.settled
        (1, 2)
        """
        super().set_params(**parameters)
        if parameters.get("settled") is not None and "result_" in self.__dict__:
            check_types(self)
            self.result_ = self.result_.changed(settled=float(cast("float", self.settled)))
        return self

    def needs_memory(self) -> str | None:
        """Return why all labels must be in memory; None where the method is made of sums over workers."""
        return None if self.by_sums else f"The method '{self.method}' needs all labels in memory: take another"

    def needs_order(self) -> bool:
        """Return whether the order of the classes matters."""
        return False

    def check(self, facts: Facts) -> None:
        """Refuse labels that the method cannot take: texts whose order nobody gave, where it matters."""
        check_choice("decide", self.decide, DECISIONS)
        if self.needs_order():
            check_order(facts)
        elif self.decide != LIKELIEST:
            check_order(facts, f"The {self.decide}")

    def count_tables(self, facts: Facts, *, gathered: bool) -> tuple[float, float]:
        """Return how many arrays of workers x classes^2 and of items x classes^2 numbers the fit holds at a time."""
        return self.memory_tables

    def slow(self, facts: Facts) -> str | None:
        """Return a sentence, before it begins, on a fit that will take long; None where it will not."""
        return None

    def notes_on(self, facts: Facts) -> tuple[str, ...]:
        """Return what the user should know of these labels and this method."""
        return gap_note(facts) if self.needs_order() else ()

    def fallback(self) -> Estimator | None:
        """Return what is to be tried where this one fails; None where there is nothing left."""
        return None

    def referee(self) -> Estimator | None:
        """Return the method by whose probabilities this fit is compared with the vote; None where it is not compared."""
        return None

    def _used(self) -> Estimator:
        """Return the estimator that the result is of: this one, or the one that was used instead."""
        result = self._fitted()
        if result.fallback is None:
            return self
        used: Estimator = dataclasses.replace(result.fallback)
        used.result_ = result.changed(fallback=None)
        return used

    def refit(self, data: object, previous: Result | None) -> Self:
        """Fit, going on from an earlier result where the model can; most start anew."""
        return self.fit(data)

    def partial_fit(self, data: object, y: object = None, *, repeats: str = "keep") -> Self:
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

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder, from which `crowdassay.load_model` reads it."""
        from crowdassay.results.saved.folder import save_model  # noqa: PLC0415  seldom needed

        save_model(self, folder)

    def solve_items(self, labels: Labels) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        """Return class probabilities, coordinates and difficulty of items with the workers as fitted; None without any."""
        if labels.n_classes == 1:  # no method has learned anything
            return np.ones((labels.n_items, 1)), None, None
        return self._used()._solve_items(labels)

    def _solve_items(self, labels: Labels) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        """Return what `solve_items` does, of labels with two classes or more."""
        return self._predict_proba(labels), None, None

    def _stranger(self) -> FloatArray:
        """Return the table (n_classes, n_classes) of a worker never seen; by default what they say counts for nothing."""
        n_classes = self._fitted().facts.n_classes
        return np.full((n_classes, n_classes), -np.log(n_classes))

    def _expander(self, labels: Labels) -> Callable[[FloatArray], FloatArray] | None:
        """Return what turns item coordinates into tables, where items have any."""
        return None

    def fit_predict(self, data: object, y: object = None, **options: Any) -> Any:
        """Fit the labels and return the label of every item, as `predict` does."""
        self.fit(data, y, **options)
        found = self._by_row(data)
        return self.predict() if found is None else found[1]

    def predict(self, data: object = None) -> Any:
        """Return item, label, probability and tied for the fitted items, or for new labels with the workers as fitted.

        Of a wide frame or a matrix, the class of every row, shape (n_rows,), as scikit-learn expects: its scorers,
        `cross_val_predict`, pipelines and grid search work on these. A row without any label gets what is usual in the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from crowdassay import DawidSkene
        >>> matrix = np.array([[0, 0, np.nan], [1, 1, 1], [0, 0, 1], [1, np.nan, 1]])  # items by workers
        >>> fitted = DawidSkene(smoothing=0.1).fit(matrix)
        >>> fitted.predict(matrix).tolist(), fitted.predict_proba(matrix).shape
        ([0, 1, 0, 1], (4, 2))
        """
        found = None if data is None else self._by_row(data)
        return self._frame("labels", data) if found is None else found[1]

    def predict_proba(self, data: object = None) -> Any:
        """Return item and one column of probabilities per class, likewise.

        Of a wide frame or a matrix, the probabilities of every row, shape (n_rows, n_classes), in the order of `classes_`.
        """
        found = None if data is None else self._by_row(data)
        return self._frame("posterior", data) if found is None else found[0]

    def _by_row(self, data: object) -> tuple[FloatArray, np.ndarray] | None:
        """Return class probabilities (n_rows, n_classes), as `classes_`, and classes (n_rows,) of wide data; None of other."""
        result = self._fitted()
        rows = None if is_spark(data) else wide_rows(data, {**self._read_alike(), "classes": result.facts.class_names})
        if rows is None:
            return None
        labels, row, n_rows = rows
        posterior = np.tile(result.posterior.mean(axis=0), (n_rows, 1))  # what is usual, for rows without a label
        posterior[row] = self._predicted(labels).posterior
        code = decide_classes(posterior, result.decide, class_values(labels)).argmax(axis=1)
        return posterior[:, self._sorted()], np.array(result.facts.classes.to_pylist())[code]

    def score(self, data: object, y: object) -> float:
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

    def _frame(self, name: str, data: object) -> Any:
        return (self._fitted() if data is None else self._predicted(data)).frame(name)

    def _read_alike(self) -> dict[str, Any]:
        """Return how the labels of the fit were read, as far as new ones must be read alike."""
        return dict(self.__dict__.get("_reading", {}))

    def _predicted(self, data: object) -> Result:
        """Return what the workers as fitted make of new labels, which are read as those of the fit were."""
        result = self._fitted()
        if is_spark(data) or not result.place.in_memory or result.place.writes:
            raise ParameterError("Elsewhere than in memory only the items of the fit are labelled; fit old and new together.")
        reading = {**self._read_alike(), "classes": result.facts.class_names}
        labels = data if isinstance(data, Labels) else as_labels(data, **reading)
        match_classes(result.labels, labels)
        posterior = self.solve_items(labels)[0]
        winners = decide_classes(posterior, result.decide, class_values(labels))
        return dataclasses.replace(result, labels=labels, posterior=posterior, winners=winners, fitted_place=None)

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
    def classes_(self) -> np.ndarray:
        """The classes, sorted as scikit-learn sorts them, shape (n_classes,); a scale's order is ``result_.facts.class_names``.

        Its scorers, such as ``neg_log_loss``, take the columns of `predict_proba` to be in this order, and so are the tables
        `confusion_`, `sigma_` and `tau_`.
        """
        return np.array(self._fitted().facts.classes.to_pylist())[self._sorted()]

    def _sorted(self) -> IntArray:
        """Return the codes of the classes in the order of `classes_`."""
        return np.argsort(np.array(self._fitted().facts.classes.to_pylist()), kind="stable")

    def _in_order(self, tables: FloatArray | None) -> FloatArray | None:
        """Return tables (n, n_classes, n_classes) with their classes in the order of `classes_`."""
        order = self._sorted()
        return tables if tables is None or (np.diff(order) > 0).all() else tables[:, order[:, None], order]

    @property
    def confusion_(self) -> FloatArray:
        """Expected confusion of each worker, shape (n_workers, n_classes, n_classes)."""
        return cast("FloatArray", self._in_order(self._fitted().confusion))

    @property
    def sigma_(self) -> FloatArray | None:
        """Worker tables, shape (n_workers, n_classes, n_classes), or None where the model has none."""
        return self._in_order(self._fitted().sigma)

    @property
    def tau_(self) -> FloatArray | None:
        """Item tables, shape (n_items, n_classes, n_classes), or None where the model has none."""
        return self._in_order(self._fitted().tau)

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


def match_workers(fitted: Labels, new: Labels) -> np.ndarray:
    """Return for every worker of ``new`` the code among the fitted workers, -1 for a stranger; shape (n_workers,)."""
    import pyarrow.compute as pc  # noqa: PLC0415

    codes = pc.index_in(new.workers.cast("string"), value_set=fitted.workers.cast("string"))
    return np.asarray(codes.fill_null(-1), dtype=np.int64)


def match_rows(fitted: Labels, new: Labels, known: FloatArray, stranger: FloatArray | float) -> FloatArray:
    """Return for every worker of ``new`` the fitted row of ``known`` (n_workers, ...), or the stranger's, of shape (...)."""
    code = match_workers(fitted, new)
    return np.where((code >= 0).reshape(-1, *[1] * (known.ndim - 1)), known[code], stranger)
