import numpy as np
import pytest

from crowdassay import DawidSkene, SpectralDawidSkene, as_labels
from crowdassay.checks.simulate import simulate
from crowdassay.errors import ParameterError
from crowdassay.estimators.dawid_skene import decompose, group_means, spectral_tables, split_workers, symmetric
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def test_an_orthogonal_tensor_is_taken_apart():
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    scales = np.array([1.2, 2.5, 1.7, 3.0])
    tensor = np.einsum("h,ah,bh,ch->abc", scales, axes, axes, axes)
    np.testing.assert_allclose(symmetric(tensor), tensor)
    found, vectors = decompose(tensor, np.random.default_rng(1), 10)
    order = np.argsort(found)
    np.testing.assert_allclose(found[order], np.sort(scales), atol=1e-9)
    np.testing.assert_allclose(vectors[:, order], axes[:, np.argsort(scales)], atol=1e-9)


def test_moments_of_the_whole_population_give_the_tables_back():
    """Every combination of class and three answers, as often as its probability says: no sampling error at all."""
    weights = np.array([3, 3, 4])
    tables = np.array(
        [[[7, 2, 1], [1, 8, 1], [2, 2, 6]], [[6, 2, 2], [3, 6, 1], [1, 1, 8]], [[5, 3, 2], [2, 7, 1], [0, 1, 9]]]
    )  # by group, true class, answer, in tenths
    cells = np.indices((3, 3, 3, 3)).reshape(4, -1)
    copies = weights[cells[0]] * np.prod([tables[g][cells[0], cells[1 + g]] for g in range(3)], axis=0)
    answers = np.repeat(cells[1:], copies, axis=1)
    views = np.eye(3)[answers]
    means, found = group_means(*views, np.random.default_rng(0), 10)
    np.testing.assert_allclose(found, weights / 10, atol=1e-6)
    np.testing.assert_allclose(
        means.T, np.maximum(tables[2] / 10, 0.01) / (np.maximum(tables[2] / 10, 0.01).sum(axis=1))[:, None], atol=1e-6
    )


def test_tables_of_a_simulation_are_found_before_any_em():
    labels, truth = simulate(
        np.random.default_rng(2),
        n_items=20000,
        n_workers=9,
        n_classes=3,
        labels_per_item=9,
        skill=2.0,
        worker_spread=0.5,
        item_spread=0.0,
    )
    actual = np.zeros((9, 3, 3))
    np.add.at(actual, (labels.worker, truth[labels.label_item], labels.label), 1)
    actual /= actual.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(spectral_tables(labels, np.random.default_rng(0), 10), actual, atol=0.04)


def test_groups_do_not_depend_on_the_order_of_rows():
    rows = [(f"i{n % 7}", f"w{n % 5}", str(n % 2)) for n in range(33)]
    found = []
    for these in (rows, rows[::-1], rows[7:] + rows[:7]):
        labels = as_labels(tuple(map(list, zip(*these, strict=True))))
        found.append({name: int(group) for name, group in zip(labels.workers.to_pylist(), split_workers(labels), strict=True)})
    assert found[0] == found[1] == found[2]
    assert sorted(found[0].values()) == [0, 0, 1, 1, 2]


def test_em_ends_where_dawid_skene_does_when_labels_are_many():
    labels, _ = simulate(
        np.random.default_rng(3), n_items=2000, n_workers=12, n_classes=3, labels_per_item=6, skill=2.0, item_spread=0.0
    )
    spectral = SpectralDawidSkene(max_iter=2000, tol=1e-13).fit(labels).result_
    plain = DawidSkene(prior="uniform", max_iter=2000, tol=1e-13).fit(labels).result_
    assert spectral.notes == ()
    assert spectral.objective == pytest.approx(plain.objective, rel=1e-8)
    np.testing.assert_allclose(spectral.posterior, plain.posterior, atol=1e-3)


def test_too_few_labels_start_from_the_votes_and_say_so():
    labels = as_labels((["i", "i", "j"], ["a", "b", "a"], ["x", "y", "y"]))
    spectral = SpectralDawidSkene().fit(labels).result_
    assert "vote shares" in spectral.notes[0]
    np.testing.assert_allclose(spectral.posterior, DawidSkene(prior="uniform").fit(labels).result_.posterior)


def test_the_objective_only_rises():
    history = SpectralDawidSkene(smoothing=0.5, prior="estimated").fit(random_labels(1, n_items=200, gold=9)).history_
    assert np.diff(history).min() >= -1e-10 * abs(history[-1])


def test_nonsense_is_refused():
    for nonsense in ({"restarts": 0}, {"prior": "flat"}, {"smoothing": -1.0}):
        with pytest.raises(ParameterError, match=next(iter(nonsense))):
            SpectralDawidSkene(**nonsense).fit(random_labels(0))


@pytest.mark.parametrize(
    ("name", "error"),
    [("bluebirds", 10.19), ("rte", 7.25), ("temp", 5.84), ("trec", 29.85), ("dog", 15.74), ("web_search", 17.23)],
)
def test_errors_on_real_data(real, name, error):
    labels, truth = real(name)
    result = SpectralDawidSkene().fit(labels).result_
    assert len(result.notes) == (name == "trec")  # there it differs from a fifth of the majorities, which is said
    assert 100 * error_rate(result.winners, truth) == pytest.approx(error, abs=0.006)
