"""The methods of crowd-kit and cleanlab for categorical labels, where they are installed, with their own default settings."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from corpus import Dataset

NAMES = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "MACE", "MMSR", "GLAD", "KOS")
BINARY = ("KOS",)

MOST_CELLS = 20_000_000

Fit = Callable[[Dataset], tuple[np.ndarray, np.ndarray]]
"""A dataset in, class codes (n_items,) and probabilities (n_items, n_classes) out."""


def peers() -> dict[str, Fit]:
    """Return their methods by name, none where they are missing."""
    found: dict[str, Fit] = {}
    try:
        from crowdkit import aggregation  # noqa: PLC0415  may be missing

        found |= {f"crowd-kit {name}": fitter(getattr(aggregation, name), name in BINARY) for name in NAMES}
    except ImportError:
        pass
    return found | ({"cleanlab CROWDLAB": crowdlab} if find_spec("cleanlab") else {})


def crowdlab(one: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Fit cleanlab's CROWDLAB; it wants a classifier's probabilities, and without any item features these are vote shares."""
    import pandas as pd  # noqa: PLC0415  needed with cleanlab only
    from cleanlab.multiannotator import get_label_quality_multiannotator  # noqa: PLC0415  may be missing

    labels = one.labels
    if labels.n_items * labels.n_workers > MOST_CELLS:
        raise ValueError("a table of items by workers would be too large")
    wide = np.full((labels.n_items, labels.n_workers), np.nan)
    seen = np.unique(labels.label)
    wide[labels.label_item, labels.worker] = np.searchsorted(seen, labels.label)  # it wants classes 0 to n without a gap
    votes = labels.votes()
    share = (votes + 1 / labels.n_classes) / (votes.sum(axis=1, keepdims=True) + 1)
    given = np.flatnonzero(votes.sum(axis=1) > 0)
    frame = pd.DataFrame(wide[given]).dropna(axis=1, how="all")
    part = share[given][:, seen]
    found = get_label_quality_multiannotator(
        frame, part / part.sum(axis=1, keepdims=True), verbose=False, return_detailed_quality=False,
        return_annotator_stats=False,
    )["label_quality"]  # fmt: skip
    chosen = seen[found["consensus_label"].to_numpy().astype(int)]
    sure = found["consensus_quality_score"].to_numpy()
    posterior, label = share.copy(), share.argmax(axis=1)
    posterior[given] = ((1 - sure) / max(labels.n_classes - 1, 1))[:, None]
    posterior[given, chosen] = sure
    label[given] = chosen
    return label, posterior


def fitter(make: Callable[[], Any], binary: bool) -> Fit:
    """Wrap one of its classes."""
    import pandas as pd  # noqa: PLC0415  needed with crowd-kit only

    def fit(one: Dataset) -> tuple[np.ndarray, np.ndarray]:
        labels = one.labels
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
