"""Checks of parameters and labels that estimators share."""

from __future__ import annotations

import dataclasses
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.labels import Facts, Labels
from crowdassay.labels.values import listed
from crowdassay.models.family import LARGEST_PENALTY
from crowdassay.models.structures import Structure

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

KINDS: dict[str, tuple[Any, str]] = {
    "float": (Real, "a number"),
    "int": (Integral, "a whole number"),
    "bool": ((bool, np.bool_), "True or False"),
    "str": (str, "text"),
    "None": (type(None), "None"),
    "Structure": (Structure, "a Structure"),
}
MOST_LEVELS = 100  # a longer range is no scale but numbers used as names


def check_types(estimator: DataclassInstance) -> None:
    """Refuse parameters of another kind than the fields of a dataclass say, such as text where a number belongs."""
    for field in dataclasses.fields(estimator):
        value, kinds = getattr(estimator, field.name), str(field.type).split(" | ")
        if not all(kind in KINDS for kind in kinds):
            continue  # a sequence, or a class that is not ours
        wanted = " or ".join(KINDS[kind][1] for kind in kinds)
        good = any(isinstance(value, KINDS[kind][0]) for kind in kinds)
        if field.name == "seed" and good:
            wanted, good = "a whole number of at least 0", value >= 0
        if field.name == "settled" and good and value is not None:
            wanted, good = "a probability such as 0.9, above 0 and at most 1", 0 < value <= 1
        # To Python, True is a whole number.
        if not good or (isinstance(value, bool) and "bool" not in kinds):
            raise ParameterError(f"{field.name} must be {wanted}, not {' '.join(repr(value).split())[:60]}.")


def check_run(max_iter: int, tol: float) -> None:
    """Refuse a number of iterations or a tolerance that makes no sense."""
    check_whole(max_iter=max_iter)
    if not 0 <= tol < np.inf:
        raise ParameterError(f"tol must be zero or a small positive number, not {tol!r}.")


def check_whole(**values: int | None) -> None:
    """Refuse what is no whole number of at least 1, or None where there is none."""
    for name, value in values.items():
        if value is not None and (not isinstance(value, int | np.integer) or value < 1):
            raise ParameterError(f"{name} must be a whole number of at least 1, not {value!r}.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise ParameterError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}.")


def check_least(least: float, *, strictly: bool = False, **values: float | None) -> None:
    """Refuse what is no finite number of at least (or, strictly, above) ``least``; None where there is none."""
    for name, value in values.items():
        if value is None:
            continue
        if (
            not isinstance(value, int | float | np.number)
            or not np.isfinite(value)
            or not (value > least if strictly else value >= least)
        ):
            raise ParameterError(f"{name} must be a number {'above' if strictly else 'of at least'} {least:g}, not {value!r}.")
        if value > LARGEST_PENALTY:
            raise ParameterError(
                f"{name} must be at most {LARGEST_PENALTY:g}, not {value!r}: it would leave nothing of the labels."
            )


def check_order(labels: Facts, what: str = "This method") -> None:
    """Refuse texts whose order nobody gave, where the order matters: alphabetical is no scale."""
    if labels.report.order == "alphabetical" and labels.n_classes > 2:
        raise DataError(
            f"{what} needs the order of the classes, and {listed(labels.class_names, 5)} are no numbers; "
            "give all classes in order with --order, where the labels are read."
        )


def gap_note(labels: Facts) -> tuple[str, ...]:
    """Return a sentence on whole numbers between the classes that nobody chose; they would be levels of a scale."""
    if labels.report.order != "natural" or not labels.numeric:
        return ()
    levels = [float(name) for name in labels.class_names]
    if not all(level.is_integer() for level in levels) or levels[-1] - levels[0] > MOST_LEVELS:
        return ()
    unseen = sorted(set(range(int(levels[0]), int(levels[-1]) + 1)) - {int(level) for level in levels})
    if not unseen:
        return ()
    return (f"Levels that nobody chose are not part of the scale: {listed(unseen, 5)}; to keep them, give all with --order.",)


def match_classes(fitted: Labels, new: Labels) -> None:
    """Refuse labels whose codes stand for other classes than those of the fit."""
    if new.class_names != fitted.class_names:
        raise ParameterError(
            f"These labels have the classes {listed(new.class_names)} but the fit had {listed(fitted.class_names)}; "
            "encode them with classes=estimator.result_.facts.class_names."
        )
