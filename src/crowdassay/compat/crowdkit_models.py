"""crowd-kit's models: DawidSkene, OneCoinDawidSkene, GLAD, KOS and MACE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.compat.crowdkit_frames import Aggregator, Coded, code_frame, pandas, three_columns
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators import coins, dawid_skene, glad, mace, message_passing
from crowdassay.labels.votes import gold_votes, shares
from crowdassay.solvers.em import fit_em
from crowdassay.solvers.m_steps import free_tables


class _EM(Aggregator):
    """What the models that EM fits share: the end of a fit, and an empty frame."""

    def _finish(self, coded: Coded, posterior: FloatArray, history: tuple[float, ...]) -> None:
        self._keep(coded, posterior)
        self.priors_ = coded.series(posterior.mean(axis=0), coded.classes.rename("label"), "prior")
        self.loss_history_ = [value / coded.labels.n_labels for value in history]

    def _keep_nothing(self) -> Self:
        pd = pandas()
        self.probas_, self.errors_ = pd.DataFrame(), pd.DataFrame()
        self.priors_ = pd.Series(dtype=float, name="prior")
        self.labels_ = pd.Series(dtype=float, name="agg_label")
        self.loss_history_ = []
        return self


@dataclass(eq=False)
class DawidSkene(_EM):
    """Give each worker a table of errors, by EM."""

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: Literal["assign", "addition"] | None = None

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Fit a frame of task, worker and label.

        Parameters
        ----------
        data : pandas.DataFrame
        true_labels : pandas.Series, optional
            Known labels by task.
        initial_error : pandas.DataFrame, optional
            By worker and observed label, a column for each true label; see ``initial_error_strategy``.
        """
        data = three_columns(data)
        if not len(data):
            return self._keep_nothing()
        coded = code_frame(data, true_labels)
        posterior, counts = shares(gold_votes(coded.labels)), None
        history: tuple[float, ...] = ()
        if initial_error is not None and self.initial_error_strategy is not None:
            votes = observed_counts(coded.labels, posterior)
            counts = start_counts(coded, votes, initial_error, self.initial_error_strategy)
        if self.n_iter > 0 and counts is None:
            result = dawid_skene.DawidSkene(prior="estimated", max_iter=self.n_iter, tol=self.tol).fit(coded.labels).result_
            posterior, history = result.posterior, result.history
        elif self.n_iter > 0 and counts is not None:
            engine = LocalEngine(coded.labels)
            solution = fit_em(
                engine,
                estimate_prior=True,
                max_iter=self.n_iter - 1,  # the first step is the E-step at the given tables
                tol=self.tol,
                start=free_tables(0.0)(counts)[0],
            )
            posterior, history = solution.predict(engine).posterior, solution.history
        self._finish(coded, posterior, history)
        if counts is not None and self.n_iter == 0:
            self.errors_ = error_frame(coded, data, counts, every=True)
        else:
            self.errors_ = error_frame(coded, data, observed_counts(coded.labels, posterior))
        return self


@dataclass(eq=False)
class OneCoinDawidSkene(_EM):
    """Give each worker one probability of being right, by EM."""

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: Literal["assign", "addition"] | None = None

    def fit(self, data: Any) -> Self:
        """Fit a frame of task, worker and label."""
        data = three_columns(data)
        if not len(data):
            return self._keep_nothing()
        coded = code_frame(data)
        labels = coded.labels
        posterior = shares(gold_votes(labels))
        history: tuple[float, ...] = ()
        if self.n_iter > 0:
            result = coins.OneCoin(prior="estimated", max_iter=self.n_iter, tol=self.tol).fit(labels).result_
            posterior, history = result.posterior, result.history
        self._finish(coded, posterior, history)
        right = np.bincount(labels.worker, posterior[labels.label_item, labels.label], labels.n_workers)
        skill = right / np.bincount(labels.worker, minlength=labels.n_workers)
        self.skills_ = coded.series(skill, coded.workers, "skill")
        eye = np.eye(labels.n_classes)
        wrong = (1 - skill) / max(labels.n_classes - 1, 1)
        self.errors_ = error_frame(coded, data, skill[:, None, None] * eye + wrong[:, None, None] * (1 - eye))
        return self


@dataclass(eq=False)
class GLAD(Aggregator):
    """Give each worker an ability and each task an easiness; ``betas_`` are its logarithms, as in crowd-kit."""

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2

    def fit(self, data: Any) -> Self:
        """Fit a frame of task, worker and label."""
        coded = code_frame(data, classes=None if self.labels_priors is None else self.labels_priors.index, sort_tasks=True)
        if self.labels_priors is not None and np.ptp(np.asarray(self.labels_priors, dtype=float)) > 1e-9:
            raise ParameterError("GLAD here takes all labels as equally probable beforehand: leave labels_priors out.")
        ability = _common("alphas_priors_mean", self.alphas_priors_mean)
        easiness = _common("betas_priors_mean", self.betas_priors_mean)
        result = (
            glad.GLAD(
                ability=ability,
                easiness=easiness,
                max_iter=max(self.n_iter * self.m_step_max_iter, 1),
                tol=min(self.tol, 1e-9),
            )
            .fit(coded.labels)
            .result_
        )
        self._keep(coded, result.posterior)
        # Of a single class nothing is learned.
        self.alphas_ = coded.series(ability if result.sigma is None else result.sigma[:, 0, 0], coded.workers, "alpha")
        self.betas_ = coded.series(easiness if result.phi is None else result.phi[:, 0], coded.tasks, "beta")
        self.betas_ = self.betas_.reindex(data["task"].unique()).rename_axis("task")  # crowd-kit does not sort these
        self.priors_ = coded.series(1.0 / len(coded.classes), coded.classes.rename("label"), "prior")
        self.loss_history_ = [value / len(data) for value in result.history]
        return self


def _common(name: str, means: Any) -> float:
    """Return the prior mean that all share."""
    if means is None:
        return 1.0
    values = np.asarray(means, dtype=float)
    if np.ptp(values) > 1e-9:
        raise ParameterError(f"GLAD here has one prior mean for all: {name} must hold the same number throughout.")
    return float(values.flat[0])


@dataclass(eq=False)
class KOS(Aggregator):
    """Pass messages between tasks and workers; two labels."""

    n_iter: int = 100
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        """Fit a frame of task, worker and label."""
        if not len(three_columns(data)):
            self.labels_ = pandas().Series([], dtype="O", name="agg_label")
            return self
        coded = code_frame(data, sort_tasks=True)
        result = message_passing.KOS(max_iter=max(self.n_iter, 1), seed=self.random_state).fit(coded.labels).result_
        self._keep(coded, result.posterior)
        return self


@dataclass(eq=False)
class MACE(Aggregator):
    """Model workers who know the label or answer by habit; restarts differ, and the one of the highest bound is kept.

    ``spamming_`` (n_workers, 2) holds the probabilities of habit and of knowledge, ``thetas_`` (n_workers, n_labels) the habit,
    workers and labels in order of appearance as in crowd-kit.
    """

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    def fit(self, data: Any) -> Self:
        """Fit a frame of task, worker and label."""
        coded = code_frame(data, sort_labels=False)
        n_workers, n_classes = coded.labels.n_workers, coded.labels.n_classes
        # crowd-kit ignores its argument and takes this; its default here means the same, any other value is taken.
        self.smoothing_ = 0.01 / n_classes if self.smoothing == 0.1 else self.smoothing
        fitted = mace.MACE(
            inference="vb" if self.method == "vb" else "em",
            alpha=self.alpha,
            beta=self.beta,
            smoothing=self.smoothing_,
            restarts=self.n_restarts,
            max_iter=max(self.n_iter, 1),
            seed=self.random_state,
        ).fit(coded.labels)
        self._keep(coded, fitted.result_.posterior)
        self.probas_ = self.probas_.rename_axis(columns=None)  # crowd-kit names the columns of the other models only
        knows = getattr(fitted, "competence_", np.ones(n_workers))  # of a single class nothing is learned
        self.spamming_ = np.column_stack([1.0 - knows, knows])
        habits = getattr(fitted, "habits_", np.ones((n_workers, 1)))
        self.thetas_ = habits[:, coded.classes.get_indexer(data["label"].unique())]
        if self.method == "vb":
            self.theta_priors_ = np.tile([self.alpha, self.beta], (n_workers, 1))
            self.strategy_priors_ = np.full((n_workers, n_classes), fitted.strategy)
        return self


def error_frame(coded: Coded, data: Any, counts: FloatArray, *, every: bool = False) -> Any:
    """Normalise counts (n_workers, true, observed) and lay them out, with rows for the pairs of worker and label that occur.

    ``every`` keeps the rows of all pairs.
    """
    kept = np.maximum(counts, np.finfo(float).eps)
    kept = kept / kept.sum(axis=2, keepdims=True)
    seen = pandas().MultiIndex.from_frame(data[["worker", "label"]].drop_duplicates())
    if every:
        seen = pandas().MultiIndex.from_product([coded.workers, coded.classes], names=["worker", "label"])
    worker = coded.workers.get_indexer(seen.get_level_values("worker"))
    label = coded.classes.get_indexer(seen.get_level_values("label"))
    return pandas().DataFrame(kept[worker, :, label], index=seen, columns=coded.classes)


def start_counts(coded: Coded, counts: FloatArray, initial: Any, strategy: str) -> FloatArray:
    """Return the counts (n_workers, true, observed) that EM starts from, given earlier errors.

    With 'addition' they are added to what the votes say, with 'assign' they replace it.
    """
    if strategy not in ("assign", "addition"):
        raise ParameterError(f"initial_error_strategy must be 'assign' or 'addition', not {strategy!r}.")
    if list(initial.index.names) != ["worker", "label"]:
        raise ParameterError(f"The index of initial_error must be worker and label, not {list(initial.index.names)}.")
    full = pandas().MultiIndex.from_product([coded.workers, coded.classes], names=["worker", "label"])
    earlier = initial.reindex(index=full, columns=coded.classes)
    if strategy == "assign":
        if earlier.isna().any(axis=None):
            raise ParameterError("With 'assign', initial_error must hold every worker and label of the data.")
        if (initial <= 1).all(axis=None) and not np.allclose(initial.groupby("worker").sum(), 1.0):
            raise ParameterError("The sum of each worker's error matrix in initial_error should be 1.0 for every true label.")
    table = earlier.fillna(0.0).to_numpy(dtype=float).reshape(len(coded.workers), len(coded.classes), -1).transpose(0, 2, 1)
    return table if strategy == "assign" else counts + table
