"""crowd-kit's weighted votes: MajorityVote, Wawa, ZeroBasedSkill, GoldMajorityVote and MMSR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.compat.crowdkit_frames import code_frame, fitted, pandas, share_right, three_columns
from crowdassay.errors import ParameterError
from crowdassay.estimators import majority, mmsr, weighted_vote
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners


@dataclass(eq=False)
class MajorityVote:
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
            result = majority.MajorityVote().fit(coded.labels).result_
            posterior, code = result.posterior, result.code
        else:
            score = weighted_vote.weigh_votes(coded.labels, skills.reindex(coded.workers).to_numpy(dtype=float))
            total = score.sum(axis=1, keepdims=True)
            posterior = score / np.where(total == 0, np.nan, total)  # as in crowd-kit, weights may be negative
            code = find_winners(np.where(np.isnan(posterior), -np.inf, posterior)).argmax(axis=1)
        self.probas_, self.labels_ = coded.probabilities(posterior), coded.chosen(code)
        self.skills_ = share_right(data, self.labels_)
        return self

    def fit_predict_proba(self, data: Any, skills: Any = None) -> Any:
        """Fit, and return the share of the votes of every class."""
        return self.fit(data, skills).probas_

    def fit_predict(self, data: Any, skills: Any = None) -> Any:
        """Fit, and return the label of every task."""
        return self.fit(data, skills).labels_


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


@dataclass(eq=False)
class _SkilledVote:
    """A vote with skills found by `fit`; crowd-kit offers labels only after `predict`."""

    def _apply(self, data: Any) -> Self:
        vote = MajorityVote().fit(data, skills=fitted(self, "skills_"))
        self.probas_, self.labels_ = vote.probas_, vote.labels_
        return self

    def predict(self, data: Any) -> Any:
        """Return the label of every task with the skills as fitted."""
        return self._apply(data).labels_

    def predict_proba(self, data: Any) -> Any:
        """Return the share of the weights of every class, likewise."""
        return self._apply(data).probas_


@dataclass(eq=False)
class _SelfSkilledVote(_SkilledVote):
    """A vote whose skills need nothing but the labels."""

    def fit(self, data: Any) -> Self:
        """Find the skills."""
        raise NotImplementedError

    def fit_predict(self, data: Any) -> Any:
        """Fit, and return the label of every task."""
        return self.fit(data).predict(data)

    def fit_predict_proba(self, data: Any) -> Any:
        """Fit, and return the share of the weights of every class."""
        return self.fit(data).predict_proba(data)


@dataclass(eq=False)
class Wawa(_SelfSkilledVote):
    """Weigh votes by agreement with the majority."""

    def fit(self, data: Any) -> Self:
        """Find the skills."""
        self.skills_ = MajorityVote().fit(data).skills_
        return self


class _FirstOfTies(weighted_vote.ZeroBasedSkill):
    """As in crowd-kit, of classes that tie the first has won."""

    def _won(self, labels: Labels, posterior: FloatArray) -> FloatArray:
        return weighted_vote.share_right(labels, find_winners(posterior).argmax(axis=1))


@dataclass(eq=False)
class ZeroBasedSkill(_SelfSkilledVote):
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
class GoldMajorityVote(_SkilledVote):
    """Weigh votes by the share of right answers on tasks whose label is known."""

    def fit(self, data: Any, true_labels: Any) -> Self:
        """Find the skills from the known labels, a Series by task."""
        self.skills_ = share_right(data, true_labels)
        return self

    def fit_predict(self, data: Any, true_labels: Any) -> Any:
        """Fit, and return the label of every task."""
        return self.fit(data, true_labels).predict(data)

    def fit_predict_proba(self, data: Any, true_labels: Any) -> Any:
        """Fit, and return the share of the weights of every class."""
        return self.fit(data, true_labels).predict_proba(data)


@dataclass(kw_only=True, eq=False, repr=False)
class _RandomStart(mmsr.MMSR):
    """The completion has several fixed points: as in crowd-kit, ``random_state`` says from where it starts."""

    random_state: int | None = 0

    def _start(self, size: int) -> FloatArray:
        return np.append(np.random.RandomState(self.random_state).random_sample(size - 1), 0.5)  # the last: the known items


@dataclass(eq=False)
class MMSR:
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

    def _apply(self, data: Any) -> Self:
        vote = MajorityVote().fit(data, skills=fitted(self, "skills_"))
        self.scores_, self.labels_ = vote.probas_, vote.labels_
        return self

    def predict(self, data: Any) -> Any:
        """Return the label of every task with the skills as fitted."""
        return self._apply(data).labels_

    def predict_score(self, data: Any) -> Any:
        """Return the share of the weights of every class, likewise; it may be negative."""
        return self._apply(data).scores_

    def fit_predict(self, data: Any) -> Any:
        """Fit, and return the label of every task."""
        return self.fit(data).predict(data)

    def fit_predict_score(self, data: Any) -> Any:
        """Fit, and return the share of the weights of every class."""
        return self.fit(data).predict_score(data)
