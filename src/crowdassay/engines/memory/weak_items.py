"""Sweeps over items that are weak: few labels each against a strong penalty, as on large data; see
`crowdassay.engines.kernels.weak_items`.

Such items carry nothing from sweep to sweep. Their coordinates are not even kept in the end, since on large data they would
take more memory than the labels: `WeakItemCoordinates` computes those that somebody looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import ItemCoordinates, Sums, Weights
from crowdassay.labels.join import slice_items
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model

if TYPE_CHECKING:
    from crowdassay.engines.memory.engine import LocalEngine


@dataclass(frozen=True, eq=False)
class ItemOutputs:
    """What a pass can write down about the items besides their posteriors.

    Attributes
    ----------
    average : ndarray of shape (n_classes, n_classes)
        Probabilities of the average worker's answers, for the difficulty.
    coordinates : ndarray of shape (n_items, size) or (0, size)
    difficulty : ndarray of shape (n_items,) or (0,)
    """

    average: FloatArray
    coordinates: FloatArray
    difficulty: FloatArray


def sweep_weak_items(
    engine: LocalEngine,
    model: Model,
    log_p: FloatArray,
    log_prior: FloatArray,
    weights: Weights,
    tolerance: float,
    posterior: FloatArray | None = None,
    outputs: ItemOutputs | None = None,
) -> Sums:
    """Fit every item at the workers' log probabilities ``log_p`` (n_workers, n_classes, n_classes) and return the sums.

    Filled if given are ``posterior`` (n_items, n_classes) and what `ItemOutputs` asks for.
    """
    data, basis, n_classes = engine.labels, model.item, engine.n_classes
    assert basis is not None
    posterior = np.empty((0, n_classes)) if posterior is None else posterior
    outputs = outputs or ItemOutputs(np.empty((n_classes, n_classes)), np.empty((0, basis.size)), np.empty(0))
    if n_classes == 2 and weights == Weights.FREE:
        from crowdassay.engines.kernels import weak_pairs  # noqa: PLC0415  numba loads on first use

        second = np.exp(log_p[:, :, 1])

        def pair_block(first: int, last: int, sums: FloatArray, totals: FloatArray) -> float:
            return weak_pairs.solve_weak_pairs(
                data.starts, data.worker, data.label, data.gold, first, last, log_p, second, log_prior, model.beta,
                engine._given, engine.item_steps, tolerance, outputs.average, outputs.coordinates, outputs.difficulty,
                sums, totals, posterior,
            )  # fmt: skip

        objective, sums, totals = engine._run("weak pairs", pair_block, (2,), engine._counted)
        outputs.coordinates[:] *= np.diff(basis.columns[:, :, 0], axis=1)[:, 0]  # from half the difference to coordinates
        return Sums(objective, np.stack([-sums, sums], axis=2), totals)
    from crowdassay.engines.kernels import weak_items  # noqa: PLC0415  numba loads on first use

    p = np.exp(log_p)
    p_by_label = np.ascontiguousarray(p.transpose(0, 2, 1)).reshape(-1, n_classes)
    spreads = (1.0 - np.einsum("ick,ick->ic", p, p)) / (n_classes - 1)
    worker, label = (codes.view(f"u{codes.itemsize}") for codes in (data.worker, data.label))

    def block(first: int, last: int, sums: FloatArray, totals: FloatArray) -> float:
        return weak_items.solve_weak_items(
            engine.classes, data.starts, worker, label, engine.cells, data.gold, first, last, log_p, p,
            p_by_label, spreads, log_prior, model.beta, int(weights), engine._given, engine.item_steps, tolerance,
            basis.columns, outputs.average, outputs.coordinates, outputs.difficulty, sums, totals, posterior,
        )  # fmt: skip

    objective, sums, totals = engine._run("weak items", block, (n_classes, n_classes + 1))
    p *= sums[:, :, -1:]
    return Sums(objective, sums[:, :, :-1] - p, totals)


@dataclass(frozen=True, eq=False)
class WeakItemCoordinates(ItemCoordinates):
    """The coordinates of weak items, an array of shape (n_items, size) that is computed when it is read.

    Attributes
    ----------
    labels : Labels
    model : Model
    log_p : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    tolerance : float
    threads : int, optional
    seen : tuple of ndarray, optional
        Probabilities of an average worker (n_classes, n_classes), and the difficulties (n_items,) that go with them.
    """

    labels: Labels
    model: Model
    log_p: FloatArray
    log_prior: FloatArray
    tolerance: float
    threads: int | None = None
    seen: tuple[FloatArray, FloatArray] | None = None
    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.labels.n_items, self.model.item.size if self.model.item else 0

    def __len__(self) -> int:
        return self.labels.n_items

    def __getitem__(self, key: int | slice | IntArray) -> FloatArray:
        if isinstance(key, slice) and key.step is None:
            return self._compute(*key.indices(len(self))[:2])
        return np.asarray(np.asarray(self)[key])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> FloatArray:
        return self._compute(0, len(self)).astype(dtype or self.dtype, copy=False)

    def difficulty(self, average: FloatArray) -> FloatArray:
        """Return the probability that a worker with the probabilities ``average`` gets each item wrong, (n_items,)."""
        if self.seen is not None and np.array_equal(self.seen[0], average):
            return self.seen[1]
        outputs = ItemOutputs(average, np.empty((0, self.shape[1])), np.empty(len(self)))
        self._sweep(self.labels, outputs)
        return outputs.difficulty

    def _compute(self, first: int, last: int) -> FloatArray:
        outputs = ItemOutputs(np.empty((self.labels.n_classes,) * 2), np.zeros((last - first, self.shape[1])), np.empty(0))
        self._sweep(slice_items(self.labels, first, last), outputs)
        return outputs.coordinates

    def _sweep(self, labels: Labels, outputs: ItemOutputs) -> None:
        from crowdassay.engines.memory.engine import LocalEngine  # noqa: PLC0415  it imports this file

        engine = LocalEngine(labels, warm=False, threads=self.threads)
        sweep_weak_items(engine, self.model, self.log_p, self.log_prior, Weights.FREE, self.tolerance, outputs=outputs)
