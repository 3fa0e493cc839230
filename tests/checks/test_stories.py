import numpy as np
import pytest

from crowdassay import DawidSkene, MajorityVote
from crowdassay.checks.simulate import COPYING, LABELS_A_PHOTO, birds
from crowdassay.findings.scores import error_rate

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_vote_loses_the_willow_tits_and_a_model_finds_them(seed):
    labels, truth = birds(np.random.default_rng(seed))
    willow = np.where(truth == 2, truth, -1)
    assert error_rate(MajorityVote().fit(labels).result_.winners, willow) > 0.45
    assert error_rate(DawidSkene(smoothing=0.5).fit(labels).result_.winners, willow) < 0.25


def test_one_copies_another_and_nobody_is_asked_twice():
    labels, _ = birds(np.random.default_rng(0))
    names = labels.workers.to_pylist()
    answers = {
        (item, names[worker]): label for item, worker, label in zip(labels.label_item, labels.worker, labels.label, strict=True)
    }
    copied = [item for item, name in answers if name == COPYING[1]]
    assert copied
    assert all(answers[item, COPYING[0]] == answers[item, COPYING[1]] for item in copied)
    assert len(answers) == labels.n_labels == LABELS_A_PHOTO * labels.n_items
