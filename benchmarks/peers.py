"""crowd-kit's methods for categorical labels, where it is installed, with its own default settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crowdassay.data.labels import Labels

NAMES = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "MACE", "MMSR", "GLAD", "KOS")
BINARY = ("KOS",)

Fit = Callable[[Labels], tuple[np.ndarray, np.ndarray]]
"""Labels in, class codes (n_items,) and probabilities (n_items, n_classes) out."""


def peers() -> dict[str, Fit]:
    """Return crowd-kit's methods by name, none where it is missing."""
    try:
        from crowdkit import aggregation  # noqa: PLC0415  may be missing
    except ImportError:
        return {}
    return {f"crowd-kit {name}": fitter(getattr(aggregation, name), name in BINARY) for name in NAMES}


def fitter(make: Callable[[], Any], binary: bool) -> Fit:
    """Wrap one of its classes."""
    import pandas as pd  # noqa: PLC0415  needed with crowd-kit only

    def fit(labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        if binary and labels.n_classes != 2:
            raise ValueError("two classes only")
        frame = pd.DataFrame({"task": labels.label_item, "worker": labels.worker, "label": labels.label.astype(int)})
        model = make()
        if hasattr(model, "fit_predict_proba"):
            proba = model.fit_predict_proba(frame)
            chosen = model.labels_ if getattr(model, "labels_", None) is not None else proba.idxmax(axis=1)
            posterior = proba.reindex(range(labels.n_items)).reindex(columns=range(labels.n_classes), fill_value=0.0).to_numpy()
        else:
            chosen, posterior = model.fit_predict(frame), None
        code = chosen.reindex(range(labels.n_items)).to_numpy().astype(int)
        if posterior is None:
            posterior = np.eye(labels.n_classes)[code]
        return code, np.nan_to_num(np.asarray(posterior, float))

    return fit
