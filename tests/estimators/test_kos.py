import numpy as np
import pytest

from crowdassay import KOS, MajorityVote
from crowdassay.checks.simulate import simulate
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.message_passing import first_messages
from crowdassay.estimators.two_classes import label_signs, log_odds_scale
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def by_hand(labels, messages, iterations):
    """The two sums of the paper, label by label."""
    item, worker, sign = labels.label_item, labels.worker, label_signs(labels, "kos")
    n = labels.n_labels
    for _ in range(iterations):
        to_worker = [sum(sign[m] * messages[m] for m in range(n) if item[m] == item[e] and m != e) for e in range(n)]
        messages = [sum(sign[m] * to_worker[m] for m in range(n) if worker[m] == worker[e] and m != e) for e in range(n)]
    return np.array([sum(sign[m] * messages[m] for m in range(n) if item[m] == j) for j in range(labels.n_items)])


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_the_sums_are_those_of_the_paper(iterations):
    labels = random_labels(2, n_items=15, n_classes=2)
    scores = by_hand(labels, first_messages(labels, np.zeros(labels.n_labels), np.random.default_rng(3)), iterations)
    posterior = KOS(max_iter=iterations, seed=3).fit(labels).result_.posterior
    log_odds = np.log(posterior[:, 1] / posterior[:, 0])
    np.testing.assert_allclose(log_odds / np.abs(log_odds).max(), scores / np.abs(scores).max(), atol=1e-9)


def test_better_than_voting_where_a_few_know_and_most_guess():
    """The spammers and hammers of the paper, every item and every worker with the same number of labels."""
    generator = np.random.default_rng(0)
    labels, truth = simulate(
        generator, n_items=1000, n_workers=1000, labels_per_item=15, skill=6.0, worker_spread=0.0, item_spread=0.0, spammers=0.7
    )
    kos, vote = (error_rate(e.fit(labels).result_.winners, truth) for e in (KOS(), MajorityVote()))
    assert kos < 0.5 * vote


def test_the_scale_never_turns_a_label_and_is_honest_on_average():
    labels, truth = simulate(np.random.default_rng(1), n_items=1000, n_workers=300, labels_per_item=7, structure="agreement")
    result = KOS().fit(labels).result_
    assert log_odds_scale(np.array([-2.0, 1.0]), np.array([1.0, 2.0])) == pytest.approx(2 * 3 / 5)
    assert log_odds_scale(np.zeros(2), np.zeros(3)) == 0.0
    assert result.probability.mean() == pytest.approx(1 - error_rate(result.winners, truth), abs=0.1)


def test_renaming_the_classes_turns_the_answer():
    labels, _ = simulate(np.random.default_rng(5), n_items=40, n_workers=9)
    turned = labels.from_codes(
        labels.label_item, labels.worker, 1 - labels.label, items=labels.items, workers=labels.workers, classes=labels.classes
    )
    a, b = KOS().fit(labels).result_.posterior, KOS().fit(turned).result_.posterior
    np.testing.assert_allclose(a, b[:, ::-1], atol=1e-9)


def test_known_items_teach():
    """Where most workers are contrary, a few known items turn the answer the right way round."""
    labels, truth = simulate(
        np.random.default_rng(3),
        n_items=300,
        n_workers=20,
        labels_per_item=6,
        skill=-1.5,
        worker_spread=0.0,
        structure="agreement",
    )
    gold = np.where(np.arange(300) < 30, truth, -1)
    assert error_rate(KOS().fit(labels).result_.winners, truth) > 0.8
    assert error_rate(KOS().fit(labels.with_gold(gold)).result_.winners[30:], truth[30:]) < 0.2


def test_what_makes_no_sense_is_refused():
    with pytest.raises(DataError, match=r"two classes and these labels have 3; use one-coin.*dawid-skene"):
        KOS().fit(random_labels(0))
    with pytest.raises(ParameterError, match="max_iter"):
        KOS(max_iter=0).fit(random_labels(0, n_classes=2))


@pytest.mark.parametrize(("name", "error"), [("bluebirds", 27.78), ("rte", 49.88), ("temp", 42.86)])
def test_errors_on_real_data(real, name, error):
    labels, truth = real(name)
    assert 100 * error_rate(KOS().fit(labels).result_.winners, truth) == pytest.approx(error, abs=0.006)
