import numpy as np
import pyarrow as pa
import pytest

from crowdassay import Labels, MajorityVote, SingularVector, as_labels
from crowdassay.checks.simulate import simulate
from crowdassay.errors import DataError
from crowdassay.estimators.eigenvectors import connected_parts, leading_vector
from crowdassay.estimators.two_classes import first_weights, label_signs, sign_matrix
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def dense(labels):
    matrix = np.zeros((labels.n_items, labels.n_workers))
    np.add.at(matrix, (labels.label_item, labels.worker), label_signs(labels, "test"))
    return matrix


@pytest.mark.parametrize("n_workers", [4, 30])
def test_signs_are_those_of_the_dense_decomposition(n_workers):
    labels, _ = simulate(np.random.default_rng(1), n_items=80, n_workers=n_workers, labels_per_item=4)
    left, scale, right = np.linalg.svd(dense(labels))
    matrix = sign_matrix(labels, label_signs(labels, "test"))
    part = connected_parts(matrix)
    assert set(part[:-1]) == {0}  # the last column is empty and stands alone
    vector, value, converged = leading_vector(lambda v: matrix.T @ (matrix @ v), first_weights(labels), part)
    assert converged
    assert abs(vector[:-1] @ right[0]) == pytest.approx(1.0)
    assert value[0] == pytest.approx(scale[0] ** 2)
    result = SingularVector().fit(labels).result_
    log_odds = np.log(result.posterior[:, 1] / result.posterior[:, 0])
    assert abs(np.corrcoef(log_odds, scale[0] * left[:, 0])[0, 1]) == pytest.approx(1.0)
    assert (labels.label == result.code[labels.label_item]).mean() > 0.5


def test_better_than_voting_where_most_guess():
    labels, truth = simulate(
        np.random.default_rng(0), n_items=500, n_workers=100, labels_per_item=20, skill=4.0, worker_spread=0.0, spammers=0.7
    )
    ours, vote = (error_rate(e.fit(labels).result_.winners, truth) for e in (SingularVector(), MajorityVote()))
    assert ours < 0.6 * vote


def test_parts_that_share_nobody_are_judged_apart():
    big, _ = simulate(np.random.default_rng(1), n_items=40, n_workers=12, labels_per_item=6)
    small = np.array([0, 0, 0, 1, 1, 1])
    both = Labels.from_codes(
        np.concatenate([big.label_item, 40 + small]),
        np.concatenate([big.worker, 12 + np.array([0, 1, 2, 0, 1, 2])]),
        np.concatenate([big.label, [1, 1, 0, 0, 0, 1]]),
        items=pa.array([f"i{j}" for j in range(42)]),
        workers=pa.array([f"w{i}" for i in range(15)]),
        classes=big.classes,
    )
    alone, together = SingularVector().fit(big).result_, SingularVector().fit(both).result_
    np.testing.assert_array_equal(together.code[:40], alone.code)
    np.testing.assert_array_equal(together.code[40:], [1, 0])
    assert not together.tied.any()


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
    assert error_rate(SingularVector().fit(labels).result_.winners, truth) > 0.8
    assert error_rate(SingularVector().fit(labels.with_gold(gold)).result_.winners[30:], truth[30:]) < 0.2


@pytest.mark.parametrize("workers", [["a"], ["a", "b"]])
def test_the_smallest_data_fit(workers):
    labels = as_labels((["i"] * len(workers), workers, ["x", "y"][: len(workers)]), classes=["x", "y"])
    assert np.isfinite(SingularVector().fit(labels).result_.posterior).all()


def test_labels_that_cancel_leave_a_tie():
    labels = as_labels((["i", "i"], ["a", "a"], ["x", "y"]))
    np.testing.assert_allclose(SingularVector().fit(labels).result_.posterior, 0.5)


def test_more_classes_are_refused():
    with pytest.raises(DataError, match="two classes and these labels have 3; use one-coin"):
        SingularVector().fit(random_labels(0))


# The first two are what Zhang and others (2014) report for this method.
@pytest.mark.parametrize(("name", "error"), [("bluebirds", 27.78), ("rte", 49.13), ("temp", 43.29)])
def test_errors_on_real_data(real, name, error):
    labels, truth = real(name)
    assert 100 * error_rate(SingularVector().fit(labels).result_.winners, truth) == pytest.approx(error, abs=0.006)
