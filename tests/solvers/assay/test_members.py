import numpy as np
import pyarrow as pa
import pytest

from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import Labels
from crowdassay.models.assay.constants import default_constants
from crowdassay.solvers.assay.members import fit_effects, fit_precision, fit_tables, label_weights, make_pool, slipped
from support.crowds import draw_workers


def everybody(label, n_classes):
    """Labels (n_items, n_workers) of workers who have all labelled everything."""
    item, worker = np.indices(label.shape).reshape(2, -1)
    names = [pa.array([str(n) for n in range(size)]) for size in (*label.shape, n_classes)]
    return Labels.from_codes(item, worker, label.ravel(), items=names[0], workers=names[1], classes=names[2])


def test_a_slip_bounds_what_one_label_says():
    rows = slipped(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 5.0]]), np.array([0.5, 0.3, 0.2]), 0.3)
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    assert rows.min() == pytest.approx(0.3 * 0.2)


def test_voices():
    """A spammer has none, a worker as informative as the average a whole one, and nobody more."""
    same, sharp = np.full((2, 2), 0.5), np.array([[0.9, 0.1], [0.1, 0.9]])
    log_p = np.log([same, sharp, [[0.99, 0.01], [0.01, 0.99]], [[0.2, 0.8], [0.2, 0.8]]])
    found = label_weights(log_p, np.log([0.5, 0.5]), np.array([0, 10, 0, 0]))
    np.testing.assert_allclose(found, [0, 1, 1, 0], atol=1e-9)
    np.testing.assert_array_equal(label_weights(np.log([same, same]), np.log([0.5, 0.5]), np.array([3, 3])), 1)


def test_spammers_are_not_heard():
    labels, _, _ = draw_workers(np.random.default_rng(0), spammers=5, n_items=500)
    found = fit_tables(LocalEngine(labels), default_constants(), ordered=False)
    assert found.label_weight[:5].mean() < 0.3
    assert np.median(found.label_weight[5:]) > 0.8


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_step_raises_what_a_member_maximises(n_classes):
    labels, _, _ = draw_workers(np.random.default_rng(2), n_items=80, n_classes=n_classes)
    values = {}
    found = fit_tables(LocalEngine(labels), default_constants(), ordered=False, progress=values.__setitem__)
    assert list(values) == list(range(1, found.n_iter + 1))
    steps = np.diff(list(values.values()))
    assert (steps < 0).sum() == 1  # where the second member begins
    assert steps.min() < -1


@pytest.mark.parametrize(("n_classes", "copied", "share"), [(2, False, 0.0), (3, False, 1.0), (3, True, 0.0)])
def test_logits_grow_with_more_than_two_classes_and_not_where_labels_are_copies(n_classes, copied, share):
    generator = np.random.default_rng(0)
    truth = generator.integers(n_classes, size=(60, 1))
    label = np.where(generator.random((60, 40)) < 0.8, truth, generator.integers(n_classes, size=(60, 40)))
    engine = LocalEngine(everybody(np.repeat(truth, 40, axis=1) if copied else label, n_classes))
    constants = default_constants()
    pool = make_pool(engine, fit_tables(engine, constants, ordered=False), constants, ordered=False)
    assert pool.growth == pytest.approx(share * constants.growth, abs=0.05 * constants.growth)


def test_item_effects_are_believed_where_items_mislead():
    generator, n_items, n_workers = np.random.default_rng(0), 100, 30
    truth, ability = generator.integers(2, size=n_items), generator.normal(1.0, 1.0, n_workers)
    gates = []
    for effect in (0.0, 2.5):
        hard = effect * generator.normal(size=n_items)
        right = generator.random((n_items, n_workers)) < 1 / (1 + np.exp(-(ability + hard[:, None])))
        label = np.where(right, truth[:, None], 1 - truth[:, None]).ravel()
        labels = everybody(label.reshape(n_items, n_workers), 2)
        member = fit_effects(LocalEngine(labels), default_constants())
        gates.append(0.0 if member is None else member.item_effect_weight)
    assert gates[0] < 0.05
    assert gates[1] > 0.5


def test_precise_workers_count_more_on_a_scale():
    generator, n_items = np.random.default_rng(1), 300
    truth, spread = generator.integers(1, 4, n_items), np.array([0.2, 0.2, 1.5, 0.2, 1.5])
    label = np.clip(np.rint(truth[:, None] + spread * generator.normal(size=(n_items, 5))), 0, 4).astype(int).ravel()
    precision = fit_precision(everybody(label.reshape(n_items, 5), 5))
    assert precision[[0, 1, 3]].min() > 2 * precision[[2, 4]].max()
