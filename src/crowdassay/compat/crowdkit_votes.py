"""crowd-kit's weighted votes: MajorityVote, Wawa, ZeroBasedSkill, GoldMajorityVote and MMSR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.compat.crowdkit_frames import Aggregator, code_frame, pandas, share_right, three_columns
from crowdassay.errors import NotFittedError, ParameterError
from crowdassay.estimators import mmsr, votes
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners


@dataclass(eq=False)
class MajorityVote(Aggregator):
    """Count votes, plain or weighted by given skills; ties go to the first label in order."""

    default_skill: float | None = None
    on_missing_skill: str = "error"

    def fit(self, data: Any, skills: Any = None) -> Self:
        """Fit a frame of task, worker and label; ``skills`` is a Series by worker."""
        data = three_columns(data)
        if not len(data):
            self.probas_, self.labels_ = pandas().DataFrame(), pandas().Series([], dtype="O", name="agg_label")
            self.skills_ = pandas().Series([], dtype=float, name="skill")
            return self
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


def _complete(data: Any, skills: Any, on_missing: str, default: float | None) -> Any:
    """Return a skill for every worker that is to vote."""
    if on_missing not in ("error", "ignore", "value"):
        raise ParameterError(f"on_missing_skill must be 'error', 'ignore' or 'value', not {on_missing!r}.")
    if (on_missing == "value") != (default is not None):
        raise ParameterError("default_skill goes with on_missing_skill='value', and the other way round.")
    skills = skills[skills.notna()]
    strangers = ~data["worker"].isin(skills.index)
    if on_missing == "error" and strangers.any():
        raise ParameterError(f"{int(strangers.sum())} labels are by workers without a skill; see on_missing_skill.")
    if on_missing == "ignore":
        lost = data["task"].nunique() - data.loc[~strangers, "task"].nunique()
        if lost:
            raise ParameterError(f"{lost} tasks have no label by a worker with a skill; see on_missing_skill.")
    if on_missing == "value":
        skills = skills.reindex(data["worker"].unique()).fillna(default)
    return skills


class SkilledVote(Aggregator):
    """A vote with skills found by `fit`; crowd-kit offers labels only after `predict`."""

    skills_: Any

    def predict(self, data: Any) -> Any:
        """Return the label of every task with the skills as fitted."""
        return self._vote(data).labels_

    def predict_proba(self, data: Any) -> Any:
        """Return the share of the weights of every class, likewise."""
        return self._vote(data).probas_

    def fit_predict(self, data: Any, *known: Any, **named: Any) -> Any:
        """Fit, and return the label of every task; further arguments are those of `fit`."""
        return self.fit(data, *known, **named).predict(data)

    def fit_predict_proba(self, data: Any, *known: Any, **named: Any) -> Any:
        """Fit, and return the share of the weights of every class, likewise."""
        return self.fit(data, *known, **named).predict_proba(data)

    def _vote(self, data: Any) -> Self:
        if "skills_" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} has not been fitted; call fit(data) first.")
        vote = MajorityVote().fit(data, skills=self.skills_)
        self.probas_, self.labels_ = vote.probas_, vote.labels_
        return self


@dataclass(eq=False)
class Wawa(SkilledVote):
    """Weigh votes by agreement with the majority."""

    def fit(self, data: Any) -> Self:
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

    def fit(self, data: Any) -> Self:
        """Find the skills."""
        coded = code_frame(data, sort_tasks=True)
        if self.n_iter < 1:
            self.skills_ = coded.series(1.0 / len(coded.classes) + self.eps, coded.workers, "skill")
            return self
        fitted = _FirstOfTies(
            rate=self.lr_init,
            rate_steps=self.lr_steps_to_reduce,
            rate_factor=self.lr_reduce_factor,
            max_iter=self.n_iter,
        ).fit(coded.labels)
        self.skills_ = coded.series(
            getattr(fitted, "skills_", 1.0), coded.workers, "skill"
        ).sort_index()  # none where all agree
        return self


@dataclass(eq=False)
class GoldMajorityVote(SkilledVote):
    """Weigh votes by the share of right answers on tasks whose label is known."""

    def fit(self, data: Any, true_labels: Any) -> Self:
        """Find the skills from the known labels, a Series by task."""
        self.skills_ = share_right(data, true_labels)
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class _RandomStart(mmsr.MMSR):
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

    def fit(self, data: Any) -> Self:
        """Find the skills."""
        coded = code_frame(data)
        fitted = _RandomStart(max_iter=max(self.n_iter, 1), tol=self.tol, random_state=self.random_state).fit(coded.labels)
        self.skills_ = coded.series(getattr(fitted, "skills_", 1.0), coded.workers, "skill")  # none where all agree
        self.loss_history_ = list(getattr(fitted, "changes_", ()))
        return self

    def predict_score(self, data: Any) -> Any:
        """Return the share of the weights of every class with the skills as fitted; it may be negative."""
        return self._vote(data).scores_

    def _vote(self, data: Any) -> Self:
        super()._vote(data)
        self.scores_ = self.probas_  # as crowd-kit calls them
        return self

    def fit_predict_score(self, data: Any) -> Any:
        """Fit, and return the share of the weights of every class."""
        return self.fit(data).predict_score(data)
