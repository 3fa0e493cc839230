"""Take new labels into a fitted model: re-solve the items they touch, the workers as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.engines.confusion import confusion_tables
from crowdassay.engines.memory.weak_items import WeakItemCoordinates
from crowdassay.labels.frames import as_labels
from crowdassay.labels.join import take_items
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import class_values, decide_classes
from crowdassay.results.parameters import match_classes
from crowdassay.results.result import Result
from crowdassay.results.saved.folder import check_savable
from crowdassay.results.saved.merge import Sifted, merge, sift
from crowdassay.results.saved.pseudonyms import check_pseudonyms
from crowdassay.statistics import log_softmax

SINCE = "labels_since_fit"


@dataclass(frozen=True, eq=False)
class Update:
    """What new labels did to a model.

    Attributes
    ----------
    result : Result
        Of all labels, old and new.
    sifted : Sifted
        Which labels were taken in, and how many were known or in conflict.
    touched : ndarray of int, shape (n_touched,)
        Codes of the items that were solved again.
    changed : int
        Old items among them whose label is another now.
    """

    result: Result
    sifted: Sifted
    touched: IntArray
    changed: int


def update(estimator: Any, data: object, *, repeats: str = "keep") -> Update:
    """Add labels of old or new items, by old or new workers, to a fitted estimator's result, which is replaced.

    Labels that the fit has already (same item, worker and class) are not counted again; other labels by a worker on an item
    labelled before follow ``repeats``. Only the items that got labels are solved again, with the workers as they were fitted;
    strangers among the workers count as in `Estimator.predict`. The workers' own figures wait for the next fit or
    `Estimator.refresh`.
    """
    fitted = estimator._fitted()
    check_savable(estimator)
    old = fitted.labels
    reading = {**estimator._read_alike(), "classes": old.class_names, "repeats": repeats}
    new = data if isinstance(data, Labels) else as_labels(data, **reading)
    match_classes(old, new)
    check_pseudonyms(old, new)
    sifted = sift(old, new, repeats)
    if sifted.new is None:
        return Update(fitted, sifted, np.zeros(0, np.int64), 0)
    old, new = sifted.old, sifted.new
    labels, touched = merge(old, new)
    few = take_items(labels, touched)
    posterior, phi, difficulty = estimator.solve_items(few)
    strangers = labels.n_workers - old.n_workers
    confusion, accuracy = confusion_tables(few, posterior)
    was = fitted.code[touched[touched < old.n_items]]
    sigma = (
        None
        if fitted.sigma is None
        else np.concatenate([fitted.sigma, np.tile(estimator._used()._stranger(), (strangers, 1, 1))])
    )
    if isinstance(fitted.phi, WeakItemCoordinates) and sigma is not None:  # computed when somebody looks
        phi = replace(fitted.phi, labels=labels, log_p=log_softmax(sigma))
    else:
        phi = _patched(fitted.phi, touched, phi, labels.n_items)
    result = replace(
        fitted,
        labels=labels,
        parameters={**fitted.parameters, SINCE: fitted.parameters.get(SINCE, 0) + new.n_labels},
        posterior=_patched(fitted.posterior, touched, posterior, labels.n_items),
        winners=_patched(
            fitted.winners, touched, decide_classes(posterior, fitted.decide, class_values(labels)), labels.n_items
        ),
        # A stranger is described by these few items; of the others the fit knows more.
        confusion=np.concatenate([fitted.confusion, confusion[old.n_workers :]]),
        accuracy=np.concatenate([fitted.accuracy, accuracy[old.n_workers :]]),
        sigma=sigma,
        known=None if fitted.known is None else np.concatenate([fitted.known, np.zeros((strangers, 2))]),
        phi=phi,
        difficulty=_patched(fitted.difficulty, touched, difficulty, labels.n_items),
        pairs=None,
        fitted_place=None,
        objective=None,  # it was that of the labels the workers were fitted to
    )
    estimator.result_ = result
    return Update(result, sifted, touched, int((result.code[touched[: len(was)]] != was).sum()))


def sound(result: Result) -> bool:
    """Return whether a fit can start from these workers: on average, what they say most often of each class is that class.

    A fit to very few labels may have exchanged the classes' names. It would never find back; better start anew.
    """
    counts = np.bincount(result.labels.worker, minlength=result.labels.n_workers)
    pooled = np.tensordot(counts, result.confusion, axes=1)
    return bool(np.array_equal(pooled.argmax(axis=1), np.arange(len(pooled))))


def _patched(values: Any, touched: IntArray, new: Any, n_items: int) -> Any:
    """Return values of all items, those touched replaced by new ones; None where either are not there."""
    if values is None or new is None:
        return None
    values, new = np.asarray(values), np.asarray(new)
    whole = np.empty((n_items, *values.shape[1:]), values.dtype)
    whole[: len(values)] = values
    whole[touched] = new
    return whole
