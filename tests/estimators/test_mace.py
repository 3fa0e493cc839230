from itertools import product

import numpy as np
import pytest

from crowdassay import MACE, OneCoin, as_labels, simulate
from crowdassay.errors import ParameterError
from crowdassay.findings.scores import error_rate
from crowdassay.labels.labels import Labels
from crowdassay.solvers.em import KnowingUpdate
from support.problems import random_labels


def marginal(labels, theta, xi):
    """The log likelihood, class by class and label by label."""
    total = 0.0
    for j in range(labels.n_items):
        mine = slice(labels.starts[j], labels.starts[j + 1])
        i, k = labels.worker[mine], labels.label[mine]
        total += np.log(np.mean([np.prod(theta[i] * (k == c) + (1 - theta[i]) * xi[i, k]) for c in range(labels.n_classes)]))
    return total


def draw(seed, n_items=400, n_workers=12, n_classes=3):
    generator = np.random.default_rng(seed)
    truth = generator.integers(n_classes, size=n_items)
    theta, xi = generator.uniform(0.1, 0.9, n_workers), generator.dirichlet(np.ones(n_classes), n_workers)
    item, worker = (index.ravel() for index in np.indices((n_items, n_workers)))
    habit = (generator.random((n_items, n_workers, 1)) > np.cumsum(xi, axis=1)).sum(axis=2).clip(max=n_classes - 1).ravel()
    label = np.where(generator.random(len(item)) < theta[worker], truth[item], habit)
    labels = as_labels((item.tolist(), [f"w{i:02d}" for i in worker], label.tolist()))
    return labels, truth, theta, xi


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_recovers_competence_and_habits(inference):
    labels, truth, theta, xi = draw(0, n_items=1500)
    mace = MACE(inference=inference).fit(labels)
    assert np.abs(mace.competence_ - theta).max() < 0.08
    spammers = theta < 0.5
    assert np.abs(mace.habits_[spammers] - xi[spammers]).max() < 0.12
    assert (mace.result_.code == truth).mean() > 0.97


@pytest.mark.slow
def test_the_objective_of_em_is_the_likelihood_and_a_maximum():
    labels = random_labels(4, n_items=30, n_workers=5)
    mace = MACE(inference="em", smoothing=0.0, max_iter=3000, tol=1e-14, restarts=1).fit(labels)
    assert mace.objective_ == pytest.approx(marginal(labels, mace.competence_, mace.habits_), rel=1e-9)
    for worker, step in product(range(labels.n_workers), (-1e-3, 1e-3)):
        theta = mace.competence_.copy()
        theta[worker] = np.clip(theta[worker] + step, 0, 1)
        assert marginal(labels, theta, mace.habits_) <= mace.objective_ + 1e-6


def test_the_bound_is_below_the_evidence():
    """With a worker of its own for each of two items the evidence is 1 / n_classes^2, whatever the priors."""
    labels = as_labels((["a", "b"], ["x", "y"], [0, 1]))
    assert MACE().fit(labels).objective_ <= 2 * np.log(0.5) + 1e-12
    assert MACE(strategy=1e6, alpha=1e6, beta=1e6).fit(labels).objective_ == pytest.approx(2 * np.log(0.5), abs=1e-4)


def test_uniform_habits_are_the_one_coin_model():
    labels, _ = simulate(
        np.random.default_rng(3), n_items=150, n_workers=10, n_classes=3, skill=2.5, worker_spread=0.3
    )  # all better than chance, below which only the coin may fall
    mace = MACE(strategy=1e9, alpha=1e-6, beta=1e-6, restarts=1, max_iter=2000, tol=1e-13).fit(labels)
    # p = theta + (1 - theta) / K
    coin = OneCoin(max_iter=2000, tol=1e-13).fit(labels)
    p = mace.competence_ + (1 - mace.competence_) / 3
    right = np.exp(coin.sigma_[:, 0, 0])
    assert np.abs(p - right).max() < 0.01


@pytest.mark.parametrize("variational", [True, False])
def test_expected_counts_add_up(variational):
    counts = np.random.default_rng(0).uniform(0, 5, (4, 3, 3))
    update = KnowingUpdate(
        0.5, 0.5, 2.0, variational=variational,
        right=np.full(4, 0.6), wrong=np.full(4, 0.4), habit=np.full((4, 3), 1 / 3),
    )  # fmt: skip
    log_p, _ = update(counts)
    np.testing.assert_allclose(update.known + update.guessed.sum(axis=1), counts.sum(axis=(1, 2)))
    rows = np.exp(log_p).sum(axis=2)
    assert (rows <= 1 + 1e-12).all() if variational else np.allclose(rows, 1)
    competence, habits = update.means()
    assert ((competence > 0) & (competence < 1)).all()
    np.testing.assert_allclose(habits.sum(axis=1), 1)


@pytest.mark.slow
def test_the_best_restart_is_kept():
    labels = random_labels(8, n_items=60, n_workers=6)
    one, many = (MACE(inference="em", restarts=n).fit(labels).objective_ for n in (1, 20))
    assert many >= one


@pytest.mark.slow
def test_names_not_rows_decide_what_is_drawn():
    labels = random_labels(9, n_items=60, n_workers=6)
    order = np.random.default_rng(0).permutation(labels.n_workers)
    renumbered = Labels.from_codes(
        labels.label_item, np.argsort(order)[labels.worker], labels.label,
        items=labels.items, workers=labels.workers.take(order), classes=labels.classes,
    )  # fmt: skip
    first, second = (MACE(inference="em").fit(data).result_.posterior for data in (labels, renumbered))
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.parametrize(
    "wrong", [{"inference": "gibbs"}, {"alpha": 0}, {"restarts": 0}, {"smoothing": -1}, {"strategy": "much"}]
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        MACE(**wrong).fit(random_labels(0))


@pytest.mark.slow
def test_real_data(real):
    labels, truth = real("bluebirds")
    assert error_rate(MACE(inference="em").fit(labels).result_.winners, truth) == pytest.approx(11 / 108)
