"""Reproduce the paper's tables: its figure, ours and the difference side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from crowdassay.checks import paper
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.methods import find_method
from crowdassay.estimators.minimax import PAPER_GAMMAS, MinimaxEntropy
from crowdassay.findings.scores import calibration, distance_errors, error_rate
from crowdassay.labels.datasets.fetch import cached
from crowdassay.labels.files import read_files
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth
from crowdassay.read_options import ReadOptions
from crowdassay.results.result import Result
from crowdassay.results.run import fit

PAPER_METHODS = {
    "MV": "majority",
    "DS-EM": "dawid-skene",
    "DS-MF": "dawid-skene-mean-field",
    "GLAD": "glad-confusion",
    "LTA": "latent-trait",
}
PAPER_STRUCTURES = {"MMCE(M)": "nominal", "MMCE(O)": "ordinal"}
CUT_SHORT = {"DS-EM": {"max_iter": 10_000}}  # what it takes to converge where the paper's figures are those of 100 steps
PAPER = {"DS-EM": {"prior": "uniform"}}  # what the paper had and the method has otherwise
AUTHORS = {"solver": "algorithm1", "tol": 5e-3, "max_iter": 50}  # the stop rule of the authors' code

Announce = Callable[[str], None]


class Experiments:
    """Data and fits of the paper's experiments, each loaded or run once and kept.

    Parameters
    ----------
    announce : callable, optional
        Called with a sentence before every fit.
    """

    def __init__(self, announce: Announce | None = None) -> None:
        self.announce = announce
        self._data: dict[str, tuple[Labels, np.ndarray] | None] = {}
        self._fits: dict[tuple[str, str, bool], Result] = {}

    def data(self, name: str) -> tuple[Labels, np.ndarray] | None:
        """Return labels and truth codes of one of the paper's datasets, or None where it is not at hand."""
        if name not in self._data:
            folder = cached(paper.FOLDERS[name])
            if folder is None:
                self._data[name] = None
            else:
                labels = read_files([folder / "labels.csv"], ReadOptions())
                self._data[name] = labels, match_truth(labels, folder / "truth.csv")[0]
        return self._data[name]

    def fit(self, name: str, method: str, *, converged: bool) -> Result:
        """Fit a method of the paper, by its protocol or to convergence; the protocol chooses gamma for both."""
        key = name, method, converged and method in (*PAPER_STRUCTURES, *CUT_SHORT)
        if key not in self._fits:
            data = self.data(name)
            assert data is not None
            if self.announce is not None:
                self.announce(f"{name}: {method}{' to convergence' if key[2] else ''} ...")
            options: dict[str, Any]
            if method in PAPER_STRUCTURES:
                gamma = self._gamma(name, method) if converged else "auto"
                options = {} if converged else AUTHORS
                self._fits[key] = self._minimax(data[0], PAPER_STRUCTURES[method], gamma, options)
            else:
                options = (CUT_SHORT[method] if key[2] else {}) | PAPER.get(method, {})
                self._fits[key] = run(find_method(PAPER_METHODS[method]).make(**options), data[0])
        return self._fits[key]

    def _gamma(self, name: str, method: str) -> float:
        return float(self.fit(name, method, converged=False).parameters["gamma"])

    def _minimax(self, labels: Labels, structure: str, gamma: float | str, options: dict[str, Any]) -> Result:
        if gamma != "auto":
            return run(MinimaxEntropy(structure=structure, gamma=gamma, **options), labels)
        # The authors weigh classes uniformly. Candidates are fitted by the fast solver, the chosen one by their rule.
        chosen = run(MinimaxEntropy(structure=structure, gamma="auto", gammas=PAPER_GAMMAS, reading="uniform"), labels)
        return run(MinimaxEntropy(structure=structure, gamma=chosen.parameters["gamma"], **options), labels)


def run(method: Estimator, labels: Labels) -> Result:
    """Fit the method of the paper and no other: one that goes wrong is not left for a stand-in, as users' fits are."""
    return fit(method, MemoryPlace(labels), fallbacks=False)


def missing(name: str) -> str:
    """Return why a dataset's row is empty."""
    if name in paper.NOT_PUBLIC:
        return f"not publicly to be had; fills itself in when CROWDASSAY_DATA holds a folder '{paper.FOLDERS[name]}'"
    return f"not at hand; set CROWDASSAY_DATA, or run: crowdassay datasets fetch {paper.FOLDERS[name]}"


def table_1(experiments: Experiments) -> list[dict[str, Any]]:
    """Return the counts of every dataset."""
    rows = []
    for name, printed in paper.TABLE_1.items():
        data = experiments.data(name)
        for column, figure in zip(("classes", "items", "workers", "labels"), printed, strict=True):
            row: dict[str, Any] = {"dataset": name, "column": column, "paper": figure}
            if data is None:
                row["note"] = missing(name)
            else:
                row["ours"] = getattr(data[0], f"n_{column}")
                row["difference"] = row["ours"] - figure
            rows.append(row)
    return rows


def table_2(experiments: Experiments) -> list[dict[str, Any]]:
    """Return error rates in percent."""
    return _scores(experiments, paper.TABLE_2, lambda result, truth: 100 * error_rate(result.winners, truth), 2)


def table_3(experiments: Experiments) -> list[dict[str, Any]]:
    """Return root mean square errors, which is what the paper's Table 3 prints."""
    return _scores(experiments, paper.TABLE_3, lambda result, truth: distance_errors(result.winners, truth)[0], 3)


def _scores(
    experiments: Experiments,
    printed: dict[str, dict[str, float]],
    score: Callable[[Result, np.ndarray], float],
    digits: int,
) -> list[dict[str, Any]]:
    rows = []
    for name, figures in printed.items():
        data = experiments.data(name)
        for method, figure in figures.items():
            row: dict[str, Any] = {"dataset": name, "column": method, "paper": figure}
            if data is None:
                row["note"] = missing(name)
            else:
                result = experiments.fit(name, method, converged=False)
                row["ours"] = round(score(result, data[1]), digits)
                row["difference"] = round(row["ours"] - figure, digits)
                row["converged"] = round(score(experiments.fit(name, method, converged=True), data[1]), digits)
                if method in PAPER_STRUCTURES:
                    row["gamma"] = result.parameters["gamma"]
            rows.append(row)
    return rows


def table_4(experiments: Experiments) -> list[dict[str, Any]]:
    """Return items, error rate and mean square error in bins of the label's probability, MMCE(O) on web search."""
    data, rows = experiments.data("Web search"), []
    fitted = [[], []] if data is None else [table_4_records(experiments, converged=converged) for converged in (False, True)]
    for n, ((low, high), figures) in enumerate(paper.TABLE_4.items()):
        for column, key, figure in zip(("items", "error rate", "mean square error"), KEYS, figures, strict=True):
            row: dict[str, Any] = {"dataset": f"({low:g}, {high:g})", "column": column, "paper": figure}
            if data is None:
                row["note"] = missing("Web search")
            else:
                row["ours"] = round(fitted[0][n].get(key, 0), 3)
                row["difference"] = round(row["ours"] - figure, 3)
                row["converged"] = round(fitted[1][n].get(key, 0), 3)
            rows.append(row)
    return rows


KEYS = ("items", "error_rate", "mean_square_error")


def table_4_records(experiments: Experiments, *, converged: bool) -> list[dict[str, Any]]:
    """Return the calibration records behind Table 4."""
    data = experiments.data("Web search")
    assert data is not None
    return calibration(experiments.fit("Web search", "MMCE(O)", converged=converged), data[1])


PAPER_TABLES = {
    1: ("Summary of the datasets", table_1),
    2: ("Error rates in percent", table_2),
    3: ("Root mean square errors", table_3),
    4: ("Probabilities and errors, MMCE(O) on web search", table_4),
}


def reproduce(numbers: Iterable[int], announce: Announce | None = None) -> tuple[list[dict[str, Any]], Experiments]:
    """Return the tables asked for, each with its number, title and rows, and the experiments behind them."""
    experiments = Experiments(announce)
    tables = [{"table": n, "title": PAPER_TABLES[n][0], "rows": PAPER_TABLES[n][1](experiments)} for n in numbers]
    return tables, experiments
