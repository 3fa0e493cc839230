"""Models fitted by EM: what they share, and Dawid and Skene's model, by its mode, averaged over, and started from moments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import ClassVar, Self

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Engine
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.estimators.base import Estimator
from crowdassay.labels.frames import as_labels
from crowdassay.labels.labels import Labels
from crowdassay.labels.signatures import worker_ranks
from crowdassay.results.parameters import check_choice, check_least, check_run, check_whole
from crowdassay.results.result import Result
from crowdassay.results.run import fit
from crowdassay.solvers.em import Trial, at_vote_shares, dirichlet_prior, dirichlet_update, fit_em, free_tables
from crowdassay.solvers.solution import Progress, Solution, found

OFF_DIAGONAL = tuple(10.0 ** (step / 5) for step in range(-5, 6))  # section 8.2 of the paper
RATIOS = tuple(10.0 ** (step / 10) for step in range(11))
LEAST_MOMENT = 0.01  # moments do not show an answer to be rarer than this, and EM would hardly leave a cell near zero
POWER_STEPS = 100
START_FROM_VOTES = (
    "The spectral start needs items with labels from three groups of workers, more of them than classes, and classes "
    "that their labels tell apart; without, EM began with the vote shares.",
)


class EMEstimator(Estimator):
    """A model whose workers are tables that EM fits: a subclass is its parameters and its M-step.

    Parameters of the subclass are ``max_iter`` and ``tol``, and ``prior`` where the class prior can be estimated.
    """

    max_iter: int
    tol: float
    margin: ClassVar[float] = 0.0
    """Share of the objective by which a later run must be better to be kept."""

    @abstractmethod
    def _trials(self, engine: Engine) -> Sequence[Trial]:
        """Return the runs of EM, for most models one, its M-step; refuse parameters that make no sense."""

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Run EM from the vote shares, from the model's own starts, or from worker tables of an earlier fit; keep the best run.

        A later run must be better by ``margin`` of the objective: runs that end in the same place differ by rounding, which
        must not choose between them.
        """
        prior = getattr(self, "prior", "uniform")
        check_choice("prior", prior, ("uniform", "estimated"))
        check_run(self.max_iter, self.tol)
        if self.needs_memory() is not None:
            self._local(engine)
        trials = self._trials(engine)
        best: tuple[Solution, Trial] | None = None
        highest, done, votes = -np.inf, 0, at_vote_shares(engine)

        def report(n_iter: int, objective: float) -> None:
            if progress is not None:
                progress(done + n_iter, objective)

        for trial in trials:
            run = fit_em(
                engine, estimate_prior=prior == "estimated", max_iter=self.max_iter, tol=self.tol, progress=report,
                update=trial.update, start=trial.start if start is None else start, votes=votes,
            )  # fmt: skip
            done += run.n_iter
            assert run.objective is not None
            if best is None or run.objective > highest + self.margin * abs(highest):
                best, highest = (run, trial), run.objective
        assert best is not None
        solution, chosen = best
        kept_out = ("max_iter", "tol", "threads", "decide")
        asked = {name: value for name, value in self.get_params().items() if name not in kept_out}
        solution = replace(solution, n_iter=done, settings=chosen.settings or asked, notes=chosen.notes)
        return self._finish(solution, chosen, engine)

    def _finish(self, solution: Solution, trial: Trial, engine: Engine) -> Solution:
        """Return the solution with whatever else the best run has found."""
        return solution


@dataclass(kw_only=True, eq=False, repr=False)
class DawidSkene(EMEstimator):
    r"""Give each worker a confusion table and maximise the marginal likelihood by EM.

    .. math::  P(x_{ij} = k \mid y_j = c) = p_i(c, k), \qquad
               L = \sum_j \log \sum_c \pi_c \prod_i p_i(c, x_{ij})

    The member of the family with the nominal structure for workers and no item block.

    Parameters
    ----------
    prior : {'estimated', 'uniform'}
        The class prior pi: estimated as its authors had it, or uniform as in the paper's comparison.
    smoothing : float
        Added to every expected count: the mode under a Dirichlet(1 + smoothing) prior.
    max_iter : int
        Steps of EM. On some data EM crawls; the paper's figures are those of at most 100 steps.
    tol : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    A. P. Dawid, A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM algorithm. 1979.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> fitted = DawidSkene(smoothing=0.1).fit(labels)
    >>> fitted.labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "dawid-skene"
    by_sums: ClassVar[bool] = True

    prior: str = "estimated"
    smoothing: float = 0.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        check_least(0, smoothing=self.smoothing)
        return [Trial(free_tables(self.smoothing))]

    def refit(self, data: object, previous: Result | None) -> Self:
        """Fit, going on from the worker tables of an earlier result whose workers have the same codes."""
        labels = as_labels(data)
        known = previous is not None and previous.method == self.method and previous.labels.n_workers == labels.n_workers
        start = previous.sigma if previous is not None and known else None
        self.result_ = fit(self, MemoryPlace(labels, threads=self.threads), start=start, fallbacks=False)
        return self

    def fallback(self) -> DawidSkene | None:
        """Learn how common the classes are, where they were taken to be equally common."""
        return None if self.prior == "estimated" else replace(self, prior="estimated")


@dataclass(kw_only=True, eq=False, repr=False)
class DawidSkeneMeanField(EMEstimator):
    r"""Average over the workers' confusion tables instead of choosing one: variational Bayes.

    .. math::  p_i(c, \cdot) \sim \text{Dirichlet}(\alpha_c), \qquad \alpha_c(k) = c_1 1[c = k] + c_2 1[c \ne k]

    .. math::  q(y, p) = \prod_j Q_j(y_j) \prod_{ic} \text{Dirichlet}(p_i(c, \cdot);\ \alpha_c + n_i(c, \cdot)), \qquad
               n_i(c, k) = \sum_j Q_{jc} 1[x_{ij} = k]

    EM with the mean of the logarithm, by digamma functions, in place of the logarithm of the mode. The objective is the
    mean-field bound on the marginal likelihood, and the prior is the one of a grid that has the highest bound. The class
    prior is uniform.

    Parameters
    ----------
    diagonal, off_diagonal : float or None
        c1 and c2. None chooses from the paper's grid: c2 from 0.1 to 10 in eleven steps, c1 from c2 to 10 c2 in eleven.
    max_iter : int
        Steps of the alternation for each prior tried.
    tol : float
        Relative change of the bound at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    Q. Liu, J. Peng, A. Ihler. Variational inference for crowdsourcing. 2012.

    Examples
    --------
    >>> data = (["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"])
    >>> DawidSkeneMeanField(diagonal=4, off_diagonal=1).fit(data).labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "dawid-skene-mean-field"

    diagonal: float | None = None
    off_diagonal: float | None = None
    max_iter: int = 500
    tol: float = 1e-10
    threads: int | None = None

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        check_least(0, strictly=True, diagonal=self.diagonal, off_diagonal=self.off_diagonal)
        priors = [
            {"diagonal": float(c1), "off_diagonal": float(c2)}
            for c2 in (OFF_DIAGONAL if self.off_diagonal is None else (self.off_diagonal,))
            for c1 in ([c2 * ratio for ratio in RATIOS] if self.diagonal is None else (self.diagonal,))
        ]
        return [Trial(dirichlet_update(**prior), prior) for prior in priors]

    def _finish(self, solution: Solution, trial: Trial, engine: Engine) -> Solution:
        # The mean of each row is what the worker is expected to do; the tables hold the mean of its logarithm.
        local = self._local(engine)
        labels, posterior = local.labels, solution.predict(local).posterior
        counts = observed_counts(labels, posterior)
        mean = dirichlet_prior(labels.n_classes, **trial.settings) + counts
        mean /= mean.sum(axis=2, keepdims=True)
        expected = counts.sum(axis=2, keepdims=True) * mean
        return replace(solution, predict=found(labels, posterior, expected), confusion=mean)

    def _stranger(self) -> FloatArray:
        from scipy.special import digamma  # noqa: PLC0415  slow to load, seldom needed

        fitted = self._fitted()
        if fitted.labels.n_classes == 1:
            return super()._stranger()
        prior = dirichlet_prior(fitted.labels.n_classes, **fitted.parameters)
        return np.asarray(digamma(prior) - digamma(prior.sum(axis=1, keepdims=True)))


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralDawidSkene(EMEstimator):
    r"""Estimate Dawid and Skene's confusion tables from third moments, then refine them by EM.

    Workers are split into three groups, whose vote shares :math:`z_1, z_2, z_3` on an item are independent given its class
    and have mean :math:`\mu_g^c` for class c. With :math:`z_1, z_2` mapped linearly to :math:`z_1', z_2'` of mean
    :math:`\mu_3^c`,

    .. math::  E[z_1' \otimes z_2'] = \sum_c w_c\, \mu_3^c \otimes \mu_3^c, \qquad
               E[z_1' \otimes z_2' \otimes z_3] = \sum_c w_c\, \mu_3^c \otimes \mu_3^c \otimes \mu_3^c

    Whitening by the first makes the second an orthogonal tensor, whose eigenvectors the power iteration finds. A class is
    given to each eigenvector so that groups are right as often as possible. Worker i's table then solves
    :math:`E[x_i \otimes z_g] = p_i^\top \operatorname{diag}(w)\, \mu_g^\top` for the groups g without the worker.

    Parameters
    ----------
    prior : {'uniform', 'estimated'}
        The class prior of EM.
    smoothing : float
        Added to every expected count in EM.
    restarts : int
        Random starts of each power iteration.
    max_iter : int
        Steps of EM.
    tol : float
        Relative change of the objective at which to stop.
    seed : int
        Of the power iterations' starts.
    threads : int or None
        None takes all cores.

    References
    ----------
    Y. Zhang, X. Chen, D. Zhou, M. I. Jordan. Spectral methods meet EM: a provably optimal algorithm for crowdsourcing. 2014.

    Examples
    --------
    >>> from crowdassay import simulate
    >>> labels, truth = simulate(np.random.default_rng(0))
    >>> fitted = SpectralDawidSkene(smoothing=0.1).fit(labels)
    >>> bool((fitted.result_.code == truth).mean() > 0.8)
    True
    """

    method: ClassVar[str] = "spectral-dawid-skene"

    prior: str = "uniform"
    smoothing: float = 0.0
    restarts: int = 20
    max_iter: int = 100
    tol: float = 1e-10
    seed: int = 0
    threads: int | None = None

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        check_least(0, smoothing=self.smoothing)
        check_whole(restarts=self.restarts)
        start = spectral_tables(self._local(engine).labels, np.random.default_rng(self.seed), self.restarts)
        if start is None:
            return [Trial(free_tables(self.smoothing), notes=START_FROM_VOTES)]
        return [Trial(free_tables(self.smoothing), start=np.log(start))]


def spectral_tables(labels: Labels, generator: np.random.Generator, restarts: int) -> FloatArray | None:
    """Return first confusion tables (n_workers, n_classes, n_classes), or None where the moments do not determine any."""
    n_items, n_classes, group = labels.n_items, labels.n_classes, split_workers(labels)
    cells = (group[labels.worker] * n_items + labels.label_item) * n_classes + labels.label
    votes = np.bincount(cells, minlength=3 * n_items * n_classes).reshape(3, n_items, n_classes)
    shares = votes / np.maximum(votes.sum(axis=2, keepdims=True), 1)  # of each group, zero where it gave no label
    complete = shares.sum(axis=2).min(axis=0) > 0
    if complete.sum() <= n_classes:
        return None
    views = shares[:, complete]
    means, weights = np.empty((3, n_classes, n_classes)), np.empty((3, n_classes))
    for g in range(3):
        pair = group_means(views[(g + 1) % 3], views[(g + 2) % 3], views[g], generator, restarts)
        if pair is None:
            return None
        means[g], weights[g] = pair
    tables = np.empty((labels.n_workers, n_classes, n_classes))
    for g in range(3):
        others = [h for h in range(3) if h != g]
        moments = observed_counts(labels, shares[others].mean(axis=0)).transpose(0, 2, 1)  # by observed class, then share
        mixture = weights[others].mean(axis=0)[:, None] * means[others].mean(axis=0).T
        solved = (moments @ np.linalg.pinv(mixture)).transpose(0, 2, 1)
        tables[group == g] = solved[group == g]
    scale = tables.sum(axis=(1, 2), keepdims=True)  # moments are sums over the worker's labels
    tables = np.maximum(tables / np.where(scale > 0, scale, 1.0) * n_classes, LEAST_MOMENT)
    return np.asarray(tables / tables.sum(axis=2, keepdims=True))


def split_workers(labels: Labels) -> IntArray:
    """Deal workers into groups 0, 1 and 2, the busiest first, so that groups are alike; shape (n_workers,)."""
    n_labels = np.bincount(labels.worker, minlength=labels.n_workers)
    group = np.empty(labels.n_workers, np.int64)
    group[np.lexsort((worker_ranks(labels), -n_labels))] = np.arange(labels.n_workers) % 3
    return group


def group_means(
    first: FloatArray, second: FloatArray, third: FloatArray, generator: np.random.Generator, restarts: int
) -> tuple[FloatArray, FloatArray] | None:
    """Return the third group's mean shares by class (observed, true) and the class weights (n_classes,).

    All three are vote shares of shape (n_items, n_classes) on the same items.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  slow to load, seldom needed

    n_items = len(first)
    cross = first.T @ second / n_items
    onto = np.linalg.pinv(cross)
    z1 = first @ (third.T @ second / n_items @ onto).T
    z2 = second @ (third.T @ first / n_items @ onto.T).T
    pairs = z1.T @ z2 / n_items
    values, vectors = np.linalg.eigh(0.5 * (pairs + pairs.T))
    if not np.isfinite(values).all() or values[0] <= 1e-10 * values[-1]:
        return None
    whiten = (vectors / np.sqrt(values)) @ vectors.T
    unwhiten = (vectors * np.sqrt(values)) @ vectors.T
    tensor = np.einsum("na,nb,nc->abc", z1 @ whiten, z2 @ whiten, third @ whiten, optimize=True) / n_items
    scales, axes = decompose(symmetric(tensor), generator, restarts)
    columns = unwhiten @ axes * scales
    order = linear_sum_assignment(columns, maximize=True)[1]
    weights = 1.0 / np.maximum(scales[order], 1.0) ** 2  # a weight above one is noise
    means = np.maximum(columns[:, order], LEAST_MOMENT)
    return means / means.sum(axis=0), weights / weights.sum()


def symmetric(tensor: FloatArray) -> FloatArray:
    """Average a tensor over the orders of its three axes."""
    return np.asarray(sum(tensor.transpose(order) for order in permutations(range(3))) / 6)


def decompose(tensor: FloatArray, generator: np.random.Generator, restarts: int) -> tuple[FloatArray, FloatArray]:
    r"""Write a symmetric tensor (n, n, n) as :math:`\sum_h s_h\, v_h \otimes v_h \otimes v_h` with orthonormal v, one by one.

    The power iteration :math:`v \leftarrow T(\cdot, v, v)` runs from all random starts at once; the end with the largest
    :math:`T(v, v, v)` is kept and taken away from the tensor. Returns the scales s (n,) and v in the columns of (n, n).
    """
    n = len(tensor)
    rest, scales, axes = tensor.copy(), np.empty(n), np.empty((n, n))
    for h in range(n):
        v = generator.standard_normal((n, restarts))
        for _ in range(POWER_STEPS):
            v = np.einsum("abc,br,cr->ar", rest, v, v)
            v /= np.maximum(np.linalg.norm(v, axis=0), 1e-300)
        heights = np.einsum("abc,ar,br,cr->r", rest, v, v, v, optimize=True)
        best = int(heights.argmax())
        scales[h], axes[:, h] = heights[best], v[:, best]
        rest = rest - heights[best] * np.einsum("a,b,c->abc", v[:, best], v[:, best], v[:, best])
    return scales, axes
