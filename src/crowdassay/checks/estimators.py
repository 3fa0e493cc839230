"""Conformance suite for estimators: what every method must do, whatever its model.

Each check takes a function that makes a fresh estimator and a small problem, and fails with an `AssertionError` in words.
Third parties can run it on estimators of their own: ``for check in CHECKS: check(make, labels)``.
"""

from __future__ import annotations

import pickle  # only for bytes of our own  # nosec B403
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from crowdassay.estimators.base import Estimator
from crowdassay.labels.labels import Labels

Make = Callable[[], Estimator]
RUNS_TOLERANCE = 1e-4  # two runs that differ in rounding may stop at slightly different points


def check_probabilities(make: Make, labels: Labels) -> None:
    """Probabilities lie in [0, 1], sum to one, and the label is the most probable class."""
    result = make().fit(labels).result_
    assert result.posterior.shape == (labels.n_items, labels.n_classes), "one row per item, one column per class"
    assert np.isfinite(result.posterior).all(), "a probability is not a number"
    assert (result.posterior >= 0).all(), "a probability is negative"
    assert np.abs(result.posterior.sum(axis=1) - 1).max() < 1e-9, "the probabilities of an item do not sum to 1"
    assert result.winners[np.arange(labels.n_items), result.code].all(), "the label is not among the winners"


def check_tables(make: Make, labels: Labels) -> None:
    """The four tables have a row for every item or worker, in vocabulary order, and no missing number."""
    result = make().fit(labels).result_
    for table, key, vocabulary in (
        (result.labels_table(), "item", labels.items),
        (result.posterior_table(), "item", labels.items),
        (result.workers_table(), "worker", labels.workers),
        (result.items_table(), "item", labels.items),
    ):
        assert table[key].combine_chunks().equals(vocabulary), f"the {key} column is not the vocabulary"
        assert all(column.null_count == 0 for column in table.columns), "a cell is missing"
    assert np.allclose(result.confusion.sum(axis=2), 1.0), "a row of a confusion table does not sum to 1"
    assert ((result.accuracy >= 0) & (result.accuracy <= 1)).all(), "an accuracy is outside [0, 1]"


def check_history(make: Make, labels: Labels) -> None:
    """The objective only rises, and its last value is the one reported; a method without one says so by an empty history."""
    result = make().fit(labels).result_
    if result.objective is None:
        assert result.history == (), "there is a history of an objective, and no objective"
        return
    assert result.history, "there is an objective, and no history of it"
    steps = np.diff(result.history)
    assert steps.min(initial=0.0) >= -1e-8 * abs(result.objective), "the objective fell"
    assert abs(result.history[-1] - result.objective) <= 1e-6 * abs(result.objective), "the last step is not the objective"


def check_repeatable(make: Make, labels: Labels) -> None:
    """The same input gives the same output."""
    first, second = (make().fit(labels).result_.posterior for _ in range(2))
    assert np.array_equal(first, second), "two fits of the same labels differ"


def check_row_order(make: Make, labels: Labels) -> None:
    """Shuffling the rows changes nothing but rounding."""
    order = np.random.default_rng(0).permutation(labels.n_labels)
    names = {"items": labels.items, "workers": labels.workers, "classes": labels.classes}
    shuffled = Labels.from_codes(labels.label_item[order], labels.worker[order], labels.label[order], **names)
    difference = np.abs(make().fit(labels).result_.posterior - make().fit(shuffled).result_.posterior).max()
    assert difference < RUNS_TOLERANCE, f"row order moved a probability by {difference:.1e}"


def check_class_names(make: Make, labels: Labels) -> None:
    """Classes by other names in the opposite order are the same classes: probabilities follow them."""
    last = labels.n_classes - 1
    names = pa.array([f"class {last - c}" for c in range(labels.n_classes)])
    turned = replace(labels, label=(last - labels.label).astype(labels.label.dtype), classes=names)
    one, other = (make().fit(data).result_.posterior for data in (labels, turned))
    difference = np.abs(one - other[:, ::-1]).max()
    assert difference < RUNS_TOLERANCE, f"renaming the classes moved a probability by {difference:.1e}"


def check_progress(make: Make, labels: Labels) -> None:
    """Whoever follows a fit hears of every step in order, and sees the objective rise where the method has one."""
    heard: list[tuple[int, float]] = []
    result = make().fit(labels, progress=lambda step, value: heard.append((step, value))).result_
    steps = [step for step, _ in heard]
    assert steps == sorted(steps), "progress went back"
    assert all(np.isfinite(value) for _, value in heard), "progress told something that is no number"
    if result.objective is not None and heard and result.n_iter > 1:
        assert max(value for _, value in heard) >= result.objective - 1e-6 * abs(result.objective), (
            "progress never reached the end"
        )


def check_gold(make: Make, labels: Labels) -> None:
    """A known class is never overruled."""
    gold = np.full(labels.n_items, -1)
    gold[:3] = (labels.votes()[:3].argmax(axis=1) + 1) % labels.n_classes
    result = make().fit(labels.with_gold(gold)).result_
    assert np.array_equal(result.code[:3], gold[:3]), "a known class was overruled"
    assert np.array_equal(result.posterior[:3], np.eye(labels.n_classes)[gold[:3]]), "a known class is not certain"


def check_parameters(make: Make, labels: Labels) -> None:
    """Parameters can be read, set and printed, and make an equal estimator."""
    estimator = make()
    again = type(estimator)(**estimator.get_params())
    assert again.get_params() == estimator.get_params(), "get_params does not rebuild the estimator"
    assert repr(again) == repr(estimator), "repr is not a function of the parameters"
    assert type(estimator).__name__ in repr(estimator), "repr does not name the estimator"


def check_pickle(make: Make, labels: Labels) -> None:
    """A fitted estimator survives pickling."""
    fitted = make().fit(labels)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301  our own bytes, a moment old  # nosec B301
    assert np.array_equal(again.result_.posterior, fitted.result_.posterior), "pickling changed the probabilities"


def check_predict(make: Make, labels: Labels) -> None:
    """The fitted items, handed in as new labels, get probabilities again; strangers among the workers are taken."""
    fitted = make().fit(labels)
    again = fitted.predict_proba(labels)
    assert again.num_rows == labels.n_items, "predict_proba lost items"
    numbers = np.array([again[name].to_numpy() for name in again.column_names[1:]])
    assert np.isfinite(numbers).all(), "a probability of new labels is not a number"
    assert np.abs(numbers.sum(axis=0) - 1).max() < 1e-9, "the probabilities of new labels do not sum to 1"
    renamed = replace(labels, workers=labels.workers.take(list(range(labels.n_workers - 1, -1, -1))))
    assert fitted.predict(renamed).num_rows == labels.n_items, "predict lost items"


CHECKS = (
    check_probabilities,
    check_tables,
    check_history,
    check_repeatable,
    check_row_order,
    check_class_names,
    check_progress,
    check_gold,
    check_parameters,
    check_pickle,
    check_predict,
)
