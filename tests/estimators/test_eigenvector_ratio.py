import numpy as np
import pytest

from crowdassay import EigenvectorRatio, as_labels
from crowdassay.checks.simulate import simulate
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.eigenvectors import find_reliability, off_diagonal
from crowdassay.estimators.two_classes import label_signs, sign_matrix
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def one_coin(seed, **options):
    return simulate(np.random.default_rng(seed), structure="agreement", item_spread=0.0, **options)


@pytest.mark.parametrize("pairs", ["shares", "counts"])
def test_reliabilities_of_a_simulation_are_found(pairs):
    labels, truth = one_coin(0, n_items=20000, n_workers=100, labels_per_item=20)
    actual = 2 * np.bincount(labels.worker, labels.label == truth[labels.label_item]) / np.bincount(labels.worker) - 1
    found = find_reliability(sign_matrix(labels, label_signs(labels, "test")), pairs, np.ones(101))[0][:-1]
    np.testing.assert_allclose(found, actual, atol=0.03)


def test_reliabilities_are_exact_for_a_matrix_of_rank_one():
    """Workers who answer in expectation: agreements are products of reliabilities, but for the diagonal."""
    labels, _ = one_coin(1, n_items=30, n_workers=12, labels_per_item=12)
    matrix = sign_matrix(labels, label_signs(labels, "test"))
    agreements = off_diagonal(matrix).toarray()[:-1, :-1]
    full = matrix.toarray()[:, :-1].T @ matrix.toarray()[:, :-1]
    np.fill_diagonal(full, 0.0)
    np.testing.assert_allclose(agreements, full)
    values, vectors = np.linalg.eigh(full)
    expected = np.sqrt(values[-1] / (30 * 11)) * vectors[:, -1] * np.sqrt(12)  # everyone shares 30 items with 11 others
    found = find_reliability(matrix, "counts", np.ones(13))[0][:-1]
    np.testing.assert_allclose(found, np.sign(expected.sum()) * expected, atol=1e-9)


def test_the_vote_is_the_one_coin_posterior():
    labels, _ = one_coin(2, n_items=50, n_workers=9, labels_per_item=5)
    result = EigenvectorRatio().fit(labels).result_
    weights = result.sigma[:, 1, 1] - result.sigma[:, 1, 0]
    log_odds = np.bincount(labels.label_item, (2.0 * labels.label - 1) * weights[labels.worker])
    np.testing.assert_allclose(np.log(result.posterior[:, 1] / result.posterior[:, 0]), log_odds, atol=1e-9)
    n_labels = np.bincount(labels.worker)
    assert (np.abs(weights) <= np.log(n_labels + 1) + 1e-9).all()


def test_known_items_decide_the_sign():
    labels, truth = simulate(
        np.random.default_rng(3),
        n_items=100,
        n_workers=20,
        labels_per_item=6,
        skill=-1.5,
        worker_spread=0.0,
        structure="agreement",
    )
    gold = np.where(np.arange(100) < 30, truth, -1)
    assert error_rate(EigenvectorRatio().fit(labels).result_.winners, truth) > 0.8
    assert error_rate(EigenvectorRatio().fit(labels.with_gold(gold)).result_.winners[30:], truth[30:]) < 0.2


def test_where_nobody_shares_an_item_it_is_the_majority():
    labels = as_labels((["i", "j", "k"], ["a", "b", "c"], ["x", "y", "y"]))
    np.testing.assert_array_equal(EigenvectorRatio().fit(labels).result_.code, [0, 1, 1])


def test_what_makes_no_sense_is_refused():
    with pytest.raises(DataError, match="two classes and these labels have 3; use one-coin"):
        EigenvectorRatio().fit(random_labels(0))
    with pytest.raises(ParameterError, match="pairs must be 'shares' or 'counts'"):
        EigenvectorRatio(pairs="all").fit(random_labels(0, n_classes=2))


@pytest.mark.parametrize(
    ("name", "shares", "counts"), [("bluebirds", 27.78, 27.78), ("rte", 9.25, 51.38), ("temp", 6.28, 42.86)]
)
def test_errors_on_real_data(real, name, shares, counts):
    labels, truth = real(name)
    for pairs, error in (("shares", shares), ("counts", counts)):
        result = EigenvectorRatio(pairs=pairs).fit(labels).result_
        assert 100 * error_rate(result.winners, truth) == pytest.approx(error, abs=0.006)
