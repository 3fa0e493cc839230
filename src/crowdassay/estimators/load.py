"""Read a fitted model from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crowdassay
from crowdassay.errors import DataError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.methods import METHODS
from crowdassay.labels.raw import refuse_odd_path
from crowdassay.labels.values import shown_file
from crowdassay.results.saved.folder import read_head, read_model
from crowdassay.results.saved.study import read_study

STUDIES = ("BradleyTerry", "ManyFacet", "PartialCredit", "Rasch", "RatingScale")  # public names that stand above the estimators


def load_model(folder: str | Path) -> Any:
    """Read a fitted model from a folder that its `save` wrote; anything else is refused.

    An `Estimator` predicts, takes new labels by `partial_fit` and goes on by `refresh`. A study (`ManyFacet`, `Rasch`,
    `RatingScale`, `PartialCredit`, `BradleyTerry`) has its tables.

    Raises
    ------
    FileError
        If there is no model.
    DataError
        If it is damaged, was changed, or comes from a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from crowdassay import DawidSkene
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     labels = (list("aabbcc"), list("xyxyxy"), [0, 0, 1, 1, 0, 0])
    ...     DawidSkene(smoothing=0.1).fit(labels).save(f"{folder}/model")
    ...     load_model(f"{folder}/model")
    DawidSkene(smoothing=0.1)
    """
    refuse_odd_path(folder)
    head = read_head(Path(folder))
    if (name := head.get("estimator")) in STUDIES:
        return read_study(Path(folder), head, getattr(crowdassay, name))
    return read_model(folder, {method.estimator.__name__: method.estimator for method in METHODS.values()})


def load_estimator(folder: str | Path) -> Estimator:
    """Read a fitted model of labels, likewise; a study is refused."""
    model = load_model(folder)
    if not isinstance(model, Estimator):
        raise DataError(f"The model in {shown_file(Path(folder))} is a {type(model).__name__}, which is not fitted to labels.")
    return model
