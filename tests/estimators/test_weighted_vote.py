import numpy as np
import pytest

from crowdassay import GoldMajority, MajorityVote, Wawa, ZeroBasedSkill, as_labels, simulate
from crowdassay.errors import ParameterError
from crowdassay.estimators.votes import share_right, weighted_shares
from crowdassay.findings.scores import error_rate
from support.problems import random_labels

SPAMMED = [
    ("x", "a", 0),
    ("x", "b", 0),
    ("x", "s", 1),
    ("y", "a", 1),
    ("y", "b", 1),
    ("y", "s", 0),
    ("z", "a", 0),
    ("z", "s", 1),
]


def triple(rows):
    return as_labels(tuple(map(list, zip(*[(item, worker, label) for item, worker, label in rows], strict=True))))


def test_wawa_by_hand():
    vote = Wawa().fit(triple(SPAMMED))
    # On z two classes tie, and each side has won half; else a and b are with the majority and s is not.
    np.testing.assert_allclose(vote.skills_, [5 / 6, 1, 1 / 6])
    np.testing.assert_allclose(vote.result_.posterior, [[11 / 12, 1 / 12], [1 / 12, 11 / 12], [5 / 6, 1 / 6]])


def test_workers_without_weight_leave_the_plain_vote():
    labels = triple([("x", "a", 0), ("x", "b", 1), ("x", "c", 1)])
    np.testing.assert_allclose(weighted_shares(labels, np.zeros(3)), [[1 / 3, 2 / 3]])


def test_the_first_step_of_zero_based_skill_is_wawa():
    labels = random_labels(5, n_items=40, n_workers=8)
    np.testing.assert_allclose(ZeroBasedSkill(max_iter=1).fit(labels).skills_, Wawa().fit(labels).skills_)


def test_zero_based_skill_ends_where_weights_and_winners_agree():
    labels, _ = simulate(np.random.default_rng(2), n_items=200, n_workers=15, n_classes=3)
    vote = ZeroBasedSkill().fit(labels)
    assert vote.converged_
    np.testing.assert_allclose(vote.skills_, share_right(labels, vote.result_.code))


def test_gold_majority_counts_right_answers_on_known_items():
    labels = triple(SPAMMED).with_gold(np.array([1, -1, -1]))
    vote = GoldMajority().fit(labels)
    assert vote.skills_.tolist() == [0.0, 0.0, 1.0]
    assert vote.result_.code.tolist() == [1, 0, 1]
    alone = as_labels((["x", "y"], ["a", "b"], [0, 1])).with_gold(np.array([0, -1]))
    assert GoldMajority().fit(alone).skills_.tolist() == [1.0, 1.0]  # b has no known item: the share of all


def test_gold_majority_without_gold_is_the_majority_and_says_so():
    labels = random_labels(1, n_items=30)
    vote = GoldMajority().fit(labels)
    np.testing.assert_array_equal(vote.result_.posterior, MajorityVote().fit(labels).result_.posterior)
    assert "majority vote" in vote.result_.notes[0]


def test_new_labels_use_the_skills_as_fitted():
    vote = Wawa().fit(triple(SPAMMED))
    new = triple([("n", "a", 0), ("n", "s", 1)])
    np.testing.assert_allclose(vote._predict_proba(new), [[5 / 6, 1 / 6]])


@pytest.mark.parametrize("parameter", ["rate", "rate_steps", "rate_factor", "max_iter"])
def test_nonsense_is_refused(parameter):
    with pytest.raises(ParameterError, match=parameter):
        ZeroBasedSkill(**{parameter: 0}).fit(random_labels(0))


def test_weights_help_on_real_data(real):
    labels, truth = real("web_search")
    errors = [error_rate(method().fit(labels).result_.winners, truth) for method in (MajorityVote, Wawa, ZeroBasedSkill)]
    np.testing.assert_allclose(errors, [0.269, 0.201, 0.180], atol=0.001)


def test_ties_count_in_equal_shares():
    """Of an even vote each side has won half, whatever the classes are called."""
    for names in (["a", "b"], ["b", "a"]):
        vote = Wawa().fit((["i", "i", "j", "j"], ["x", "y", "x", "y"], [names[0], names[1], names[0], names[0]]))
        np.testing.assert_allclose(vote.skills_, [0.75, 0.75])
