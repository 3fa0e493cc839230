"""crowd-kit's classification and pairwise classes: change the import line and keep the rest.

>>> from crowdassay.compat.crowdkit import MajorityVote
>>> import pandas as pd
>>> frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": [0, 0, 1]})
>>> MajorityVote().fit_predict(frame).to_dict()
{'a': 0, 'b': 1}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.compat.crowdkit_frames import Aggregator, Coded, code_frame, pandas, share_right, three_columns
from crowdassay.compat.crowdkit_pairwise import BradleyTerry, NoisyBradleyTerry
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import NotFittedError, ParameterError
from crowdassay.estimators import coins, dawid_skene, eigenvectors, message_passing, scaled, votes
from crowdassay.labels.labels import Labels, gold_votes, shares
from crowdassay.labels.record import find_winners
from crowdassay.labels.values import counted
from crowdassay.solvers.em import fit_em, free_tables

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GLAD",
    "KOS",
    "MACE",
    "MMSR",
    "BradleyTerry",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "NoisyBradleyTerry",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
]


@dataclass(eq=False)
class MajorityVote(Aggregator):
    """Count votes, plain or weighted by given skills; ties go to the first label in order."""

    default_skill: float | None = None
    on_missing_skill: str = "error"

    def fit(self, data: pd.DataFrame, skills: pd.Series | None = None) -> Self:
        """Fit a frame of task, worker and label; ``skills`` is a Series by worker."""
        data = three_columns(data)
        if not len(data):
            self.skills_ = pandas().Series([], dtype=float, name="skill")
            return self._keep_nothing("O")
        if skills is not None:
            skills = _complete(data, skills, self.on_missing_skill, self.default_skill)
            data = data[data["worker"].isin(skills.index)]
        coded = code_frame(data, sort_tasks=True)
        if skills is None:
            result = votes.MajorityVote().fit(coded.labels).result_
            posterior, code = result.posterior, result.code
        else:
            score = votes.weigh_votes(coded.labels, skills.reindex(coded.workers).to_numpy(dtype=float))
            total = score.sum(axis=1, keepdims=True)
            posterior = score / np.where(total == 0, np.nan, total)  # as in crowd-kit, weights may be negative
            code = find_winners(np.where(np.isnan(posterior), -np.inf, posterior)).argmax(axis=1)
        self._keep(coded, posterior, code)
        self.skills_ = share_right(data, self.labels_)
        return self


def _complete(data: pd.DataFrame, skills: pd.Series, on_missing: str, default: float | None) -> pd.Series:
    """Return a skill for every worker that is to vote."""
    if on_missing not in ("error", "ignore", "value"):
        raise ParameterError(f"on_missing_skill must be 'error', 'ignore' or 'value', not {on_missing!r}.")
    if (on_missing == "value") != (default is not None):
        raise ParameterError("default_skill goes with on_missing_skill='value', and the other way round.")
    skills = skills[skills.notna()]
    strangers = ~data["worker"].isin(skills.index)
    if on_missing == "error" and strangers.any():
        raise ParameterError(
            f"{counted(int(strangers.sum()), 'label is', 'labels are')} by workers without a skill; see on_missing_skill."
        )
    if on_missing == "ignore":
        lost = data["task"].nunique() - data.loc[~strangers, "task"].nunique()
        if lost:
            raise ParameterError(
                f"{counted(lost, 'task has', 'tasks have')} no label by a worker with a skill; see on_missing_skill."
            )
    if on_missing == "value":
        skills = skills.reindex(data["worker"].unique()).fillna(default)
    return skills


class SkilledVote(Aggregator):
    """A vote with skills found by `fit`; crowd-kit offers labels only after `predict`."""

    skills_: pd.Series

    def predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the label of every task with the skills as fitted."""
        return self._vote(data).labels_

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the share of the weights of every class, likewise."""
        return self._vote(data).probas_

    def _vote(self, data: pd.DataFrame) -> Self:
        if "skills_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} has not been fitted; call fit(data) first.")
        vote = MajorityVote().fit(data, skills=self.skills_)
        self.probas_, self.labels_ = vote.probas_, vote.labels_
        return self


@dataclass(eq=False)
class Wawa(SkilledVote):
    """Weigh votes by agreement with the majority."""

    def fit(self, data: pd.DataFrame) -> Self:
        """Find the skills."""
        self.skills_ = MajorityVote().fit(data).skills_
        return self


class _FirstOfTies(votes.ZeroBasedSkill):
    """As in crowd-kit, of classes that tie the first has won."""

    def _won(self, labels: Labels, posterior: FloatArray) -> FloatArray:
        return votes.share_right(labels, find_winners(posterior).argmax(axis=1))


@dataclass(eq=False)
class ZeroBasedSkill(SkilledVote):
    """Weigh votes by skills that follow the share of a worker's labels that win."""

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def fit(self, data: pd.DataFrame) -> Self:
        """Find the skills."""
        coded = code_frame(data, sort_tasks=True)
        if self.n_iter < 1:
            self.skills_ = coded.series(1.0 / len(coded.classes) + self.eps, coded.workers, "skill")
            return self
        fitted = _FirstOfTies(
            rate=self.lr_init, rate_steps=self.lr_steps_to_reduce, rate_factor=self.lr_reduce_factor, max_iter=self.n_iter
        ).fit(coded.labels)
        skills = getattr(fitted, "skills_", 1.0)  # none where all agree
        self.skills_ = coded.series(skills, coded.workers, "skill").sort_index()
        return self


@dataclass(eq=False)
class GoldMajorityVote(SkilledVote):
    """Weigh votes by the share of right answers on tasks whose label is known."""

    def fit(self, data: pd.DataFrame, true_labels: pd.Series) -> Self:
        """Find the skills from the known labels, a Series by task."""
        self.skills_ = share_right(data, true_labels)
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class _RandomStart(eigenvectors.MMSR):
    """The completion has several fixed points: as in crowd-kit, ``random_state`` says from where it starts."""

    random_state: int | None = 0

    def _start(self, size: int) -> FloatArray:
        return np.append(np.random.RandomState(self.random_state).random_sample(size - 1), 0.5)  # the last: the known items


@dataclass(eq=False)
class MMSR(SkilledVote):
    """Vote with log odds found by robust rank-one completion from a random start."""

    n_iter: int = 10000
    tol: float = 1e-10
    random_state: int | None = 0

    def fit(self, data: pd.DataFrame) -> Self:
        """Find the skills."""
        coded = code_frame(data)
        fitted = _RandomStart(max_iter=max(self.n_iter, 1), tol=self.tol, random_state=self.random_state).fit(coded.labels)
        self.skills_ = coded.series(getattr(fitted, "skills_", 1.0), coded.workers, "skill")  # none where all agree
        self.loss_history_ = list(getattr(fitted, "changes_", ()))
        return self

    def predict_score(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the share of the weights of every class with the skills as fitted; it may be negative."""
        return self._vote(data).scores_

    def _vote(self, data: pd.DataFrame) -> Self:
        super()._vote(data)
        self.scores_ = self.probas_  # as crowd-kit calls them
        return self

    def fit_predict_score(self, data: pd.DataFrame) -> pd.DataFrame:
        """Fit, and return the share of the weights of every class."""
        return self.fit(data).predict_score(data)


@dataclass(eq=False)
class _EM(Aggregator):
    """What the models that EM fits share: parameters, the end of a fit, and an empty frame."""

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: Literal["assign", "addition"] | None = None

    def _finish(self, coded: Coded, posterior: FloatArray, history: tuple[float, ...]) -> None:
        self._keep(coded, posterior)
        self.priors_ = coded.prior(posterior.mean(axis=0))
        self.loss_history_ = [value / coded.labels.n_labels for value in history]

    def _keep_nothing(self, kind: str = "float") -> Self:
        self.errors_, self.priors_ = pandas().DataFrame(), pandas().Series(dtype=float, name="prior")
        self.loss_history_ = []
        return super()._keep_nothing(kind)


@dataclass(eq=False)
class DawidSkene(_EM):
    """Give each worker a table of errors, by EM."""

    def fit(self, data: pd.DataFrame, true_labels: pd.Series | None = None, initial_error: pd.DataFrame | None = None) -> Self:
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
            engine, start = LocalEngine(coded.labels), free_tables(0.0)(counts)[0]
            # The first step is the E-step at the given tables.
            solution = fit_em(engine, estimate_prior=True, max_iter=self.n_iter - 1, tol=self.tol, start=start)
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

    def fit(self, data: pd.DataFrame) -> Self:
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
    labels_priors: pd.Series | None = None
    alphas_priors_mean: pd.Series | None = None
    betas_priors_mean: pd.Series | None = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit a frame of task, worker and label."""
        coded = code_frame(data, classes=None if self.labels_priors is None else self.labels_priors.index, sort_tasks=True)
        if self.labels_priors is not None and np.ptp(np.asarray(self.labels_priors, dtype=float)) > 1e-9:
            raise ParameterError("GLAD here takes all labels as equally probable beforehand: leave labels_priors out.")
        ability = _common("alphas_priors_mean", self.alphas_priors_mean)
        easiness = _common("betas_priors_mean", self.betas_priors_mean)
        steps, tol = max(self.n_iter * self.m_step_max_iter, 1), min(self.tol, 1e-9)
        result = scaled.GLAD(ability=ability, easiness=easiness, max_iter=steps, tol=tol).fit(coded.labels).result_
        self._keep(coded, result.posterior)
        # Of a single class nothing is learned.
        self.alphas_ = coded.series(ability if result.sigma is None else result.sigma[:, 0, 0], coded.workers, "alpha")
        self.betas_ = coded.series(easiness if result.phi is None else result.phi[:, 0], coded.tasks, "beta")
        self.betas_ = self.betas_.reindex(data["task"].unique()).rename_axis("task")  # crowd-kit does not sort these
        self.priors_ = coded.prior(1.0 / len(coded.classes))
        self.loss_history_ = [value / len(data) for value in result.history]
        return self


def _common(name: str, means: pd.Series | None) -> float:
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

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit a frame of task, worker and label."""
        if not len(three_columns(data)):
            return self._keep_nothing("O")
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

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit a frame of task, worker and label."""
        coded = code_frame(data, sort_labels=False)
        n_workers, n_classes = coded.labels.n_workers, coded.labels.n_classes
        # crowd-kit ignores its argument and takes this; its default here means the same, any other value is taken.
        self.smoothing_ = 0.01 / n_classes if self.smoothing == 0.1 else self.smoothing
        fitted = coins.MACE(
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


def error_frame(coded: Coded, data: pd.DataFrame, counts: FloatArray, *, every: bool = False) -> pd.DataFrame:
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


def start_counts(coded: Coded, counts: FloatArray, initial: pd.DataFrame, strategy: str) -> FloatArray:
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
