"""Fit several methods to the same labels and see where they differ."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from crowdassay.data.labels import Labels
from crowdassay.errors import DataError
from crowdassay.fit.result import Result
from crowdassay.selection.select import Candidate, cross_validate
from crowdassay.solvers.outcome import Announce


class Named(Protocol):
    """A method by name: `crowdassay.estimators.methods.Method`."""

    @property
    def name(self) -> str: ...

    def make(self) -> Candidate:
        """Return its estimator."""
        ...


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Fits of several methods to the same labels.

    Attributes
    ----------
    results : dict of str to Result
    refused : dict of str to str
        Methods that cannot take these labels, and why.
    heldout : dict of str to float
        Mean log-likelihood of labels held out, where it was asked for.
    """

    results: dict[str, Result]
    refused: dict[str, str]
    heldout: dict[str, float]

    def agreement(self) -> dict[tuple[str, str], float]:
        """Return the share of items on which each pair of methods gives the same label."""
        pairs = itertools.combinations(self.results.items(), 2)
        return {(a, b): float((x.code == y.code).mean()) for (a, x), (b, y) in pairs}

    def disputes(self) -> list[dict[str, Any]]:
        """Return the items on which the methods differ, the most evenly split first, with what each says."""
        codes = np.array([result.code for result in self.results.values()])
        largest = np.max([(codes == c).sum(axis=0) for c in range(int(codes.max()) + 1)], axis=0)
        labels = next(iter(self.results.values())).labels
        where = np.flatnonzero(largest < len(codes))
        return [
            {
                "item": labels.items[int(j)].as_py(),
                "methods": {name: labels.class_names[codes[n, j]] for n, name in enumerate(self.results)},
            }
            for j in where[np.argsort(largest[where], kind="stable")]
        ]


def compare(
    methods: Sequence[Named],
    labels: Labels,
    *,
    heldout: bool = False,
    folds: int = 5,
    seed: int = 0,
    announce: Announce | None = None,
) -> MethodComparison:
    """Fit every method; one that cannot take these labels is set aside with its reason.

    Parameters
    ----------
    methods : sequence of Method
    labels : Labels
    heldout : bool
        Cross-validate as well: the log-likelihood of labels held out, ``folds`` more fits a method.
    folds, seed : int
    announce : callable, optional
        Called with a sentence before every fit.
    """
    results: dict[str, Result] = {}
    refused: dict[str, str] = {}
    scores: dict[str, float] = {}
    for method in methods:
        if announce is not None:
            announce(f"Fitting {method.name} ...")
        try:
            results[method.name] = method.make().fit(labels).result_
            if heldout:
                selection = cross_validate([method.make()], labels, names=[method.name], n_folds=folds, seed=seed)
                scores[method.name] = selection.rows[0]["score"]
        except DataError as error:
            results.pop(method.name, None)
            refused[method.name] = error.message
    if not results:
        raise DataError("None of these methods can take these labels: " + " ".join(refused.values()))
    return MethodComparison(results, refused, scores)
