"""One call from labels to their most probable classes."""

from __future__ import annotations

from typing import Any

from crowdassay.estimators.assay import Assay
from crowdassay.estimators.base import Estimator
from crowdassay.read_options import OPTIONS


def aggregate(data: Any, *, gold: Any = None, **options: Any) -> Estimator:
    """Fit the recommended method and return it; its tables are `labels_`, `posterior_`, `workers_` and `items_`.

    Parameters
    ----------
    data : Labels, path, frame, or triple (items, workers, labels)
    gold : frame, mapping or path, optional
        Items whose class is known.
    **options
        Parameters of `Assay`, and how to read the labels, as for `crowdassay.as_labels`: ``item_column="task"`` and so on.

    Examples
    --------
    >>> fitted = aggregate((["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"]))
    >>> fitted.labels_["label"].to_pylist()
    ['no', 'yes']
    """
    reading = {name: options.pop(name) for name in OPTIONS if name in options}
    return Assay(**options).fit(data, gold=gold, **reading)
