"""Read a fitted model from its folder."""

from __future__ import annotations

from pathlib import Path

from crowdassay.estimators.base import Estimator
from crowdassay.estimators.methods import METHODS
from crowdassay.results.saved.folder import read_model


def load_model(folder: str | Path) -> Estimator:
    """Read a fitted estimator from a folder that `Estimator.save` wrote; anything else is refused.

    It predicts, takes new labels by `partial_fit` and goes on by `refresh`.

    Parameters
    ----------
    folder : str or Path

    Raises
    ------
    FileError
        If there is no model.
    DataError
        If it is damaged, was changed, or comes from a newer version.
    """
    estimator: Estimator = read_model(folder, {method.estimator.__name__: method.estimator for method in METHODS.values()})
    return estimator
