"""Draw labels and truth from the family."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import MAX_CLASSES
from crowdassay.memory import available_memory, shown_size
from crowdassay.models.structures import resolve

MOST_DRAWN = 10**12  # items or workers; memory ends long before
STRONGEST_LOGIT = 1000  # in log odds: beyond, chances are 0 or 1 anyway


def simulate(
    generator: np.random.Generator,
    *,
    n_items: int = 200,
    n_workers: int = 20,
    n_classes: int = 2,
    labels_per_item: int = 5,
    structure: str = "nominal",
    skill: float = 1.5,
    worker_spread: float = 1.0,
    item_spread: float = 0.5,
    spammers: float = 0.0,
) -> tuple[Labels, IntArray]:
    r"""Return labels and the true class code of every item.

    Worker and item coordinates are normal around a common skill,

    .. math::  \sigma_i = s\,A + B\,a_i, \quad a_i \sim N(0, w^2), \qquad \tau_j = B\,b_j, \quad b_j \sim N(0, v^2)

    where A is 1[c = k], or -\|c - k\| for the ordinal structure, and B the basis of the structure. Each item goes to
    different workers drawn at random.

    Parameters
    ----------
    generator : numpy.random.Generator
    n_items, n_workers, n_classes, labels_per_item : int
    structure : str
    skill : float
        s: the log odds of the right answer against any one wrong answer, for the average worker and item.
    worker_spread, item_spread : float
        w and v.
    spammers : float
        Share of workers whose table is all zero: they guess.

    Examples
    --------
    >>> labels, truth = simulate(np.random.default_rng(0), n_items=100, n_workers=10, labels_per_item=3)
    >>> labels.n_labels, truth.shape
    (300, (100,))
    """
    if not isinstance(generator, np.random.Generator):
        raise ParameterError("The first argument must be a generator, such as numpy.random.default_rng(0).")
    _check_sizes(n_items, n_workers, n_classes, labels_per_item)
    strengths = {"skill": skill, "spammers": spammers, "worker spread": worker_spread, "item spread": item_spread}
    for name, value in strengths.items():
        if not isinstance(value, int | float | np.number) or not abs(value) <= STRONGEST_LOGIT:
            raise ParameterError(f"{name} must be a number of at most {STRONGEST_LOGIT:,}, not {value!r}.")
    if not 0 <= spammers <= 1 or worker_spread < 0 or item_spread < 0:
        raise ParameterError("spammers must be a share between 0 and 1, and the spreads must not be negative.")
    basis = resolve(structure, n_classes).basis()
    codes = np.arange(n_classes)
    shape = -np.abs(codes[:, None] - codes) if structure == "ordinal" else np.eye(n_classes)
    sigma = skill * shape + basis.tables(worker_spread * generator.standard_normal((n_workers, basis.size)))
    sigma[generator.random(n_workers) < spammers] = 0.0
    truth = generator.integers(n_classes, size=n_items)
    chosen = _choose_workers(generator, n_items, n_workers, labels_per_item)
    label = np.empty((n_items, labels_per_item), np.int64)
    for first in range(0, n_items, 65536):
        part = slice(first, first + 65536)
        tau = basis.tables(item_spread * generator.standard_normal((len(truth[part]), basis.size)))
        own = tau[np.arange(len(tau)), truth[part]]
        label[part] = _draw(generator, sigma[chosen[part], truth[part, None]] + own[:, None, :])
    labels = Labels.from_codes(
        np.repeat(np.arange(n_items), labels_per_item),
        chosen.ravel(),
        label.ravel(),
        items=pa.array([f"i{j + 1}" for j in range(n_items)]),
        workers=pa.array([f"w{i + 1}" for i in range(n_workers)]),
        classes=pa.array([str(c) for c in range(n_classes)]),
    )
    return labels, truth


def _check_sizes(n_items: int, n_workers: int, n_classes: int, each: int) -> None:
    for name, value, least, most in (
        ("items", n_items, 1, MOST_DRAWN),
        ("workers", n_workers, 1, MOST_DRAWN),
        ("classes", n_classes, 2, MAX_CLASSES),
        ("labels per item, each by another worker,", each, 1, n_workers),
    ):
        if not isinstance(value, int | np.integer) or not least <= value <= most:
            raise ParameterError(f"The number of {name} must be a whole number from {least} to {most:,}, not {value}.")
    drawn = n_workers if each**2 > n_workers else 6 * each  # numbers for every item
    needed, room = 8 * (n_classes**2 * (n_classes + n_workers) + n_items * drawn), available_memory()
    if room is not None and needed > room:
        raise ParameterError(
            f"These labels would take {shown_size(needed)} of memory, and there are {shown_size(room)}; draw fewer."
        )


def _draw(generator: np.random.Generator, logits: FloatArray) -> IntArray:
    """Draw one class for each row of logits over the last axis (the largest of logit plus Gumbel noise)."""
    return np.asarray((logits + generator.gumbel(size=logits.shape)).argmax(axis=-1))


def _choose_workers(generator: np.random.Generator, n_items: int, n_workers: int, each: int) -> IntArray:
    """Draw different workers for every item, shape (n_items, each)."""
    if each * each > n_workers:
        return np.asarray(generator.permuted(np.tile(np.arange(n_workers), (n_items, 1)), axis=1)[:, :each])
    chosen = generator.integers(n_workers, size=(n_items, each))
    again = np.arange(n_items)
    while len(again):
        ordered = np.sort(chosen[again], axis=1)
        again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        chosen[again] = generator.integers(n_workers, size=(len(again), each))
    return chosen
