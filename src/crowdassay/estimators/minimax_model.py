"""Which member of the family the parameters of `MinimaxEntropy` ask for."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from crowdassay.engines.base import Engine
from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model, centred_metric, check_penalty, penalties_from_gamma, usual_gamma
from crowdassay.models.structures import Basis, Structure, resolve

MOST_KEPT = 32  # classes up to which a basis takes less than a megabyte
MOST_CENTRED = 40  # classes up to which the metric of the centred penalty, of size K^4, is affordable


def make_model(asked: Any, sizes: Labels | Engine) -> Model:
    """Return the model that an estimator asks for, for labels or an engine of these sizes."""
    n_classes = sizes.n_classes
    worker = find_basis(asked.structure, n_classes)
    alpha, beta = find_penalties(asked, sizes)
    if asked.centred and n_classes > MOST_CENTRED:
        raise ParameterError(f"The centred penalty takes up to {MOST_CENTRED} classes, not {n_classes}.")
    metric = centred_metric(worker) if asked.centred else None
    return Model(worker, item_basis(asked, n_classes), alpha, beta, metric, asked.population)


def item_basis(asked: Any, n_classes: int) -> Basis | None:
    """Return the basis of the items' tables: the workers' unless another is asked for, or none."""
    item = asked.structure if asked.item_structure is None else asked.item_structure
    return None if isinstance(item, str) and item == "none" else find_basis(item, n_classes)


def find_basis(structure: str | Structure, n_classes: int) -> Basis:
    """Return the basis of a structure; a small one of a name is kept, since workers and items share it, and so do fits."""
    if isinstance(structure, str) and n_classes <= MOST_KEPT:
        return _keep_basis(structure, n_classes)
    return resolve(structure, n_classes).basis()


@lru_cache(maxsize=16)
def _keep_basis(name: str, n_classes: int) -> Basis:
    return resolve(name, n_classes).basis()


def find_penalties(asked: Any, sizes: Labels | Engine) -> tuple[float, float]:
    """Return alpha and beta, as given or by gamma."""
    if asked.alpha is None:
        usual = usual_gamma(sizes.n_classes, sizes.n_workers, sizes.n_items, sizes.n_labels)
        gamma = usual if asked.gamma in (None, "learned") else check_penalty("gamma", asked.gamma)
        alpha, beta = penalties_from_gamma(gamma, sizes.n_classes, sizes.n_workers, sizes.n_items)
    else:
        alpha = check_penalty("alpha", asked.alpha)
        beta = alpha * sizes.n_items / sizes.n_workers
    return alpha, beta if asked.beta is None else check_penalty("beta", asked.beta)


def structure_name(structure: str | Structure) -> str:
    """Return the name of a structure that is given by name or by itself."""
    return structure if isinstance(structure, str) else structure.name
