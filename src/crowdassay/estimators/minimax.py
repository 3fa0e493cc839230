"""Regularised minimax conditional entropy: the paper's method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import QUICK_CELLS, Announce, Engine
from crowdassay.engines.confusion import average_worker
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.place_labels import place_labels
from crowdassay.engines.spark.session import is_spark
from crowdassay.errors import ParameterError
from crowdassay.estimators.assay import Assay
from crowdassay.estimators.base import Estimator, match_rows
from crowdassay.estimators.select import cross_validate, grid, validate
from crowdassay.estimators.votes import MajorityVote
from crowdassay.labels.frames import as_labels
from crowdassay.labels.labels import Facts, Labels
from crowdassay.labels.truth import match_truth
from crowdassay.labels.values import counted
from crowdassay.models.family import Model, centred_metric, check_penalty, penalties_from_gamma, usual_gamma
from crowdassay.models.structures import Basis, Structure, resolve
from crowdassay.results.parameters import check_choice, check_run
from crowdassay.results.result import Result
from crowdassay.results.run import fit
from crowdassay.solvers.algorithm1 import fit_algorithm1
from crowdassay.solvers.empirical import fit_empirical
from crowdassay.solvers.lbfgs import MEMORY_NUMBERS, MEMORY_PAIRS
from crowdassay.solvers.profiled import fit_profiled
from crowdassay.solvers.solution import ByFamily, Progress, Solution

CANDIDATE_TOLERANCE = 1e-6  # scores of candidates differ by far more than fits that stop here
TOLERANCES = {"profiled": 1e-9, "algorithm1": 1e-6}
PAPER_GAMMAS = (0.25, 0.5, 1.0, 2.0, 4.0)
MOST_KEPT_CLASSES = 32  # classes up to which a basis takes less than a megabyte, and is kept
MOST_CENTRED = 40  # classes up to which the metric of the centred penalty, of size K^4, is affordable
GAMMAS = (1 / 256, 1 / 64, 1 / 16, 0.25, 1.0, 4.0)  # wider, since the best of the paper's is nearly always its smallest
ORDERED = frozenset({"ordinal", "distance"})  # structures to which the order of the classes matters
LONG_PASS_CELLS = 2 * 10**7  # cells of a pass beyond which it takes long
WORKING_TABLES = 20.0  # tables of all workers that a fit needs besides the memory of L-BFGS


@dataclass(kw_only=True, eq=False, repr=False)
class MinimaxEntropy(Estimator):
    r"""Give each worker and each item a confusion table of its own (Zhou, Liu, Platt, Meek, Shah 2015).

    .. math::  P(x_{ij} = k \mid y_j = c) \propto \exp[\sigma_i(c, k) + \tau_j(c, k)]

    .. math::  \max_{\sigma, \tau, Q} \sum_{jc} Q_{jc} \sum_i \log P(x_{ij} \mid c) + H(Q)
               - \tfrac\alpha2 |\sigma|^2 - \tfrac\beta2 |\tau|^2

    Parameters
    ----------
    structure : {'nominal', 'ordinal', 'agreement', ...} or Structure
        Features of the workers' tables; 'ordinal' is section 5 of the paper, for ordered classes.
    item_structure : likewise, 'none' or None
        Features of the items' tables. None takes the workers'; 'none' leaves items out.
    gamma : float, 'auto', 'learned' or None
        alpha = gamma K^2 and beta = alpha * (labels per worker) / (labels per item), where these are not given. 'auto'
        chooses among ``gammas`` by cross-validation, section 6.2 of the paper; 'learned' takes the gamma that explains how
        far workers lie apart (empirical Bayes). None takes 1/4, or less where the classes are many and a worker's labels few;
        see `crowdassay.models.family.usual_gamma`.
    alpha, beta : float or None
        Penalties of workers and items; 0 stands for a vanishing one, 0.001.
    centred : bool
        Penalise the workers' tables about their own means, Equation (13) of the paper.
    population : bool
        Let workers shrink towards what they have in common instead of towards random answers; not in the paper.
    prior : {'uniform', 'learned'}
        The class prior; learned with one item added to each class. The paper's is uniform.
    label_entropy : bool
        Without, H(Q) is left out and every label is certain, as in section 2 of the paper.
    solver : {'profiled', 'algorithm1'} or None
        The fast solver, or the paper's alternation taken literally. None takes the fast one where it can; without
        H(Q) the objective has corners and only 'algorithm1' serves.
    gammas : tuple of float
        What 'auto' chooses from, by default powers of 4 from 1/256 to 4; the paper's grid is `PAPER_GAMMAS`.
    folds, seed, reading : int, int, str
        How 'auto' cross-validates; see `crowdassay.estimators.select.cross_validate`.
    starts : int or None
        Starting points of the profiled solver, the best kept; None takes three for up to 30,000 labels
        and 10^6 labels x classes^2, else one.
    max_iter : int
        Passes over the labels; for 'algorithm1' the number of its steps.
    tol : float or None
        Relative change of the objective at which to stop, 1e-9 by default; for 'algorithm1' the largest change of any Q,
        1e-6 by default. The authors' own code stops at 5e-3 or after 50 steps.
    threads : int or None
        None takes all cores.

    Examples
    --------
    >>> from crowdassay import simulate
    >>> labels, truth = simulate(np.random.default_rng(0), n_items=50, skill=2.0)
    >>> fitted = MinimaxEntropy().fit(labels)
    >>> bool((fitted.result_.code == truth).mean() > 0.8)
    True
    >>> fitted.tau_.shape  # a table for each item
    (50, 2, 2)
    """

    method: ClassVar[str] = "minimax"
    memory_tables: ClassVar[tuple[float, float]] = (20.0, 5.5)  # and up to 512 MB that L-BFGS remembers

    structure: str | Structure = "nominal"
    item_structure: str | Structure | None = None
    gamma: float | str | None = None
    alpha: float | None = None
    beta: float | None = None
    centred: bool = False
    population: bool = False
    prior: str = "uniform"
    label_entropy: bool = True
    solver: str | None = None
    gammas: tuple[float, ...] = GAMMAS
    folds: int = 5
    seed: int = 0
    reading: str = "predictive"
    starts: int | None = None
    max_iter: int = 1000
    tol: float | None = None
    threads: int | None = None

    def needs_memory(self) -> str | None:
        """Return why all labels must be in memory; None for the profiled solver with a given gamma and prior."""
        if self.gamma == "auto":
            return "Choosing gamma needs all labels in memory: give a number"
        if self._solver() == "algorithm1":
            return "Algorithm 1 needs all labels in memory: take solver='profiled', with label_entropy"
        if self._learns():
            return "Learning gamma or the prior needs all labels in memory: give a number and prior='uniform'"
        return None

    def needs_order(self) -> bool:
        """Return whether the order of the classes matters to the structure."""
        return structure_name(self.structure) in ORDERED

    def fallback(self) -> Estimator | None:
        """Return the model without items, which can explain any label; then one with a population of workers; then the vote.

        Penalties that were given by themselves are insisted on.
        """
        if self.alpha is not None or self.beta is not None or self.needs_memory() is not None:
            return None
        if self.item_structure != "none":
            return replace(self, item_structure="none")
        return MajorityVote() if self.population else replace(self, population=True)

    def referee(self) -> Estimator | None:
        """Return the default, where there is something to be used instead."""
        return None if self.fallback() is None else Assay(threads=self.threads)

    def _solver(self) -> str:
        solver = self.solver or ("profiled" if self.label_entropy else "algorithm1")
        if solver not in TOLERANCES:
            raise ParameterError(f"solver must be 'profiled' or 'algorithm1', not {self.solver!r}.")
        if solver == "profiled" and not self.label_entropy:
            raise ParameterError("Without label_entropy the objective has corners; take solver='algorithm1'.")
        return solver

    def fit(
        self,
        data: object,
        y: object = None,
        *,
        gold: object = None,
        engine: str = "local",
        validation: object = None,
        progress: Progress | None = None,
        announce: Announce | None = None,
        **reading: object,
    ) -> Self:
        """Fit the labels; with ``validation``, known truths as `gold` takes them, gamma = 'auto' is chosen by these."""
        if validation is None or is_spark(data):
            return super().fit(data, y, gold=gold, engine=engine, progress=progress, announce=announce, **reading)
        if self.gamma != "auto":
            raise ParameterError("A validation set chooses gamma; set gamma='auto' to let it.")
        place = place_labels(data, gold=gold, engine=engine, threads=self.threads, reading=reading)
        labels = place.gather().labels
        chosen, selection, notes = self._choose_gamma(
            labels, match_truth(labels, validation)[0], announce if progress else None
        )
        result = fit(chosen, place, progress=progress, announce=announce, fallbacks=False)
        self.result_ = result.changed(selection=selection, notes=result.notes + notes)
        return self

    def refit(self, data: object, previous: Result | None) -> Self:
        """Fit, going on from the worker tables of an earlier result of the same structure and no stronger penalty.

        A stronger penalty may have flattened the model, and from a flat model nothing moves.
        """
        labels = as_labels(data)
        alike = (
            previous is not None
            and previous.sigma is not None  # as where there is but one class
            and previous.method == self.method
            and self.needs_memory() is None
            and previous.parameters["structure"] == structure_name(self.structure)
            and previous.parameters["alpha"] <= find_penalties(self, labels)[0]
        )
        start = previous.sigma if previous is not None and alike else None
        self.result_ = fit(self, MemoryPlace(labels, threads=self.threads), start=start, fallbacks=False)
        return self

    def count_tables(self, facts: Facts, *, gathered: bool) -> tuple[float, float]:
        """Return how many arrays of workers x classes^2 and of items x classes^2 numbers the fit holds at a time."""
        workers = WORKING_TABLES + min(2.0 * MEMORY_PAIRS, MEMORY_NUMBERS / (facts.n_workers * facts.n_classes**2))
        weak_items = not gathered and self.needs_memory() is None and (self.starts or 1) == 1
        if weak_items and make_model(self, facts).has_weak_items(facts.longest):
            return workers, 0.0
        return workers, self.memory_tables[1]

    def slow(self, facts: Facts) -> str | None:
        """Return a sentence on a fit that will take long, and what would not; None where it will not."""
        if cells(facts) <= LONG_PASS_CELLS or self.item_structure == "none":
            return None
        return (
            f"Every pass takes a table of {facts.n_classes:,} x {facts.n_classes:,} classes for each of "
            f"{counted(facts.n_labels, 'label')}: this may take minutes; the methods assay and dawid-skene are quicker."
        )

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Maximise on any engine by the profiled solver, from the vote shares or from worker tables of an earlier fit.

        Choosing gamma, Algorithm 1 and learning need all labels in memory: see `needs_memory`.
        """
        if self.gamma == "auto":
            local = self._local(engine)
            chosen, selection, notes = self._choose_gamma(local.labels, None, local.announce if progress else None)
            return replace(chosen.solve(engine, progress), selection=selection, notes=notes)
        model = make_model(self, engine)
        if self._solver() == "algorithm1":
            solution = self._solve_literally(self._local(engine), model, progress)
        elif self._learns():
            solution = fit_empirical(
                self._local(engine),
                model,
                penalties=self.gamma == "learned" and self.alpha is None,
                prior=self.prior == "learned",
                progress=progress,
                **self._run(engine, model, start),
            )
        else:
            flat = np.zeros(engine.n_classes)
            solution = fit_profiled(engine, model, flat, progress=progress, **self._run(engine, model, start))
        assert solution.model is not None
        alpha, beta = solution.model.alpha, solution.model.beta if solution.model.item else None
        gamma = alpha / engine.n_classes**2 if self.gamma is None else self.gamma
        settings = {
            "structure": structure_name(self.structure),
            "alpha": alpha,
            "beta": beta,
            "gamma": gamma if self.alpha is None and self.beta is None else None,  # none where penalties were given themselves
            "solver": self._solver(),
        }
        return replace(solution, settings=settings)

    def _choose_gamma(
        self, labels: Labels, truth: np.ndarray | None, announce: Announce | None
    ) -> tuple[MinimaxEntropy, dict[str, Any], tuple[str, ...]]:
        """Return a copy with the best gamma of the grid, the scores, and a note where that lies on the grid's edge.

        Gammas are tried in rising order, each going on from the one before: a weak penalty never starts from a flat model.
        """
        gammas = sorted({check_penalty("gammas", gamma) for gamma in self.gammas})
        candidates = grid(self, gamma=gammas)
        if self.solver != "algorithm1" and self.label_entropy:
            for candidate in candidates:
                candidate.set_params(starts=1, tol=CANDIDATE_TOLERANCE)
        names = [f"gamma = {gamma:g}" for gamma in gammas]
        if truth is None:
            scores = cross_validate(
                candidates, labels, names, n_folds=self.folds, seed=self.seed, reading=self.reading, threads=self.threads,
                announce=announce,
            )  # fmt: skip
        else:
            scores = validate(candidates, labels, names, truth, announce)
        best = gammas[scores.best]
        notes: tuple[str, ...] = ()
        if len(gammas) > 1 and scores.best in (0, len(gammas) - 1):
            side = "smallest" if scores.best == 0 else "largest"
            notes = (f"The best gamma, {best:g}, is the {side} of those tried; the best of all may lie beyond (--gammas).",)
        return replace(self, gamma=best), scores.table(best), notes

    def _solve_literally(self, engine: LocalEngine, model: Model, progress: Progress | None) -> Solution:
        """Run Algorithm 1 of the paper."""
        if self._learns():
            raise ParameterError("Only solver='profiled' learns gamma or the prior.")
        tol = TOLERANCES["algorithm1"] if self.tol is None else self.tol
        check_run(self.max_iter, tol)
        # Q is compared from step to step, so items are solved further than sums need.
        exact = LocalEngine(engine.labels, threads=self.threads, item_tolerance=1e-18, announce=engine.announce)
        return fit_algorithm1(
            exact,
            model,
            np.zeros(engine.n_classes),
            max_steps=self.max_iter,
            tol=tol,
            deterministic=not self.label_entropy,
            progress=progress,
        )

    def _run(self, engine: Engine, model: Model, tables: FloatArray | None) -> dict[str, Any]:
        """Return how the profiled solver is to run, from the vote shares or from worker tables of an earlier fit."""
        tol = TOLERANCES["profiled"] if self.tol is None else self.tol
        check_run(self.max_iter, tol)
        several = engine.gathered and model.item and cells(engine) <= QUICK_CELLS
        starts = (3 if several else 1) if self.starts is None else self.starts
        if starts < 1:
            raise ParameterError(f"starts must be at least 1, not {starts}.")
        return {
            "starts": starts if tables is None else 1,
            "max_iter": self.max_iter,
            "tol": tol,
            "start": None if tables is None else model.worker.coordinates(tables),
        }

    def _learns(self) -> bool:
        """Whether the fit itself learns gamma or the prior."""
        check_choice("prior", self.prior, ("uniform", "learned"))
        return self.prior == "learned" or (self.gamma == "learned" and self.alpha is None)

    def _solve_items(self, labels: Labels) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        fitted = self._fitted()
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        sigma = match_rows(fitted.labels, labels, fitted.sigma, self._stranger())
        # Penalties as they were fitted, not as these labels would have them.
        asked = replace(self, alpha=fitted.parameters["alpha"], beta=fitted.parameters["beta"] or self.beta)
        average = average_worker(fitted.sigma, np.bincount(fitted.labels.worker, minlength=len(fitted.sigma)))
        predict = ByFamily(make_model(asked, labels), sigma, fitted.log_prior, average)
        items = predict(LocalEngine(labels, threads=self.threads))
        return items.posterior, items.phi, items.difficulty

    def _stranger(self) -> FloatArray:
        fitted = self._fitted()
        if self.population and fitted.sigma is not None:
            return np.asarray(fitted.sigma.mean(axis=0))
        return np.zeros((fitted.labels.n_classes,) * 2)

    def _expander(self, labels: Labels) -> Callable[[FloatArray], FloatArray] | None:
        item = item_basis(self, labels.n_classes) if labels.n_classes > 1 else None
        return item.tables if item else None


def cells(sizes: Facts | Engine) -> int:
    """Return the cells that a pass over the labels goes through: squared classes for each label."""
    return sizes.n_labels * sizes.n_classes**2


def make_model(asked: MinimaxEntropy, sizes: Labels | Engine | Facts) -> Model:
    """Return the model that an estimator asks for, for labels or an engine of these sizes."""
    n_classes = sizes.n_classes
    worker = find_basis(asked.structure, n_classes)
    alpha, beta = find_penalties(asked, sizes)
    if asked.centred and n_classes > MOST_CENTRED:
        raise ParameterError(f"The centred penalty takes up to {MOST_CENTRED} classes, not {n_classes}.")
    metric = centred_metric(worker) if asked.centred else None
    return Model(worker, item_basis(asked, n_classes), alpha, beta, metric, asked.population)


def item_basis(asked: MinimaxEntropy, n_classes: int) -> Basis | None:
    """Return the basis of the items' tables: the workers' unless another is asked for, or none."""
    item = asked.structure if asked.item_structure is None else asked.item_structure
    return None if isinstance(item, str) and item == "none" else find_basis(item, n_classes)


def find_basis(structure: str | Structure, n_classes: int) -> Basis:
    """Return the basis of a structure; a small one of a name is kept, since workers and items share it, and so do fits."""
    if isinstance(structure, str) and n_classes <= MOST_KEPT_CLASSES:
        return _keep_basis(structure, n_classes)
    return resolve(structure, n_classes).basis()


@lru_cache(maxsize=16)
def _keep_basis(name: str, n_classes: int) -> Basis:
    return resolve(name, n_classes).basis()


def find_penalties(asked: MinimaxEntropy, sizes: Labels | Engine | Facts) -> tuple[float, float]:
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
