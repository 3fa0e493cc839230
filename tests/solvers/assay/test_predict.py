from dataclasses import replace

import numpy as np
import pytest

from crowdassay.labels.join import take_items
from crowdassay.models.assay.dependence import worth
from crowdassay.solvers.assay.pool import ItemMember, move_mean, parts, predict_proba
from crowdassay.statistics import softmax
from support.pools import a_pool
from support.problems import random_labels


def with_effects(labels, seed=1):
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.ones(2), (labels.n_workers, 2))
    return ItemMember(p, np.log([0.4, 0.6]), 2.0, 0.6, 1.2)


def test_logits_by_hand():
    labels = random_labels(3, n_items=9)
    pool = a_pool(labels)
    for j in range(labels.n_items):
        mine = slice(labels.starts[j], labels.starts[j + 1])
        who, what = labels.worker[mine], labels.label[mine]
        label_weight = pool.label_weight[who]
        share = np.array([label_weight[what == c].sum() for c in range(3)])
        tempered = worth(label_weight.sum(), 0.5) * (pool.tables[who, :, what].sum(axis=0) + pool.offset)
        factor = max(label_weight.sum() / 2.0, 1.0) ** 0.5
        logits = factor * (tempered + 0.3 * np.log((share + 1 / 3) / (share.sum() + 1))) + pool.bias
        np.testing.assert_allclose(predict_proba(labels, pool)[j], softmax(logits[None])[0])


@pytest.mark.parametrize("effects", [False, True])
def test_items_are_judged_one_by_one(effects):
    labels = random_labels(5, n_items=20, n_classes=2)
    pool = a_pool(labels, items=with_effects(labels) if effects else None)
    order = np.random.default_rng(0).permutation(20)
    whole, some = (
        predict_proba(labels, pool),
        [predict_proba(take_items(labels, rows), pool) for rows in np.split(order, [4, 11])],
    )
    np.testing.assert_allclose(np.concatenate(some), whole[order], rtol=1e-9)


def test_many_items_are_judged_in_parts(monkeypatch):
    labels = random_labels(5, n_items=50)
    labels = labels.with_gold(np.where(np.arange(50) % 7, -1, 1))
    whole = predict_proba(labels, a_pool(labels))
    monkeypatch.setattr("crowdassay.solvers.assay.pool.ITEMS_AT_ONCE", 8)
    np.testing.assert_array_equal(predict_proba(labels, a_pool(labels)), whole)


def test_on_labels_that_say_nothing_an_item_does_not_depend():
    """A worker without a weight and with a flat table changes nothing, however often they dissent."""
    labels = random_labels(2, n_items=15)
    pool = a_pool(labels)
    tables, label_weight = pool.tables.copy(), pool.label_weight.copy()
    tables[0], label_weight[0] = 0.0, 0.0
    pool = replace(pool, tables=tables, label_weight=label_weight)
    kept = labels.worker != 0
    less = type(labels).from_codes(
        labels.label_item[kept], labels.worker[kept], labels.label[kept], items=labels.items, workers=labels.workers,
        classes=labels.classes,
    )  # fmt: skip
    np.testing.assert_allclose(predict_proba(labels, pool), predict_proba(less, pool))


def test_tempering_one_member_keeps_the_order_of_the_classes():
    labels = random_labels(7, n_items=30)
    pool = replace(a_pool(labels), vote=0.0, bias=np.zeros(3))
    sharp, soft = (predict_proba(labels, replace(pool, correlation=r)) for r in (0.0, 0.8))
    np.testing.assert_array_equal(np.argsort(sharp, axis=1), np.argsort(soft, axis=1))
    many = np.diff(labels.starts) > 2
    assert (soft.max(axis=1)[many] < sharp.max(axis=1)[many]).all()


def test_growth_keeps_labels_and_makes_items_with_many_labels_surer():
    labels = random_labels(7, n_items=30)
    pool = replace(a_pool(labels), bias=np.zeros(3), few=1.5)
    plain, grown = (predict_proba(labels, replace(pool, growth=growth)) for growth in (0.0, 0.5))
    many = np.bincount(labels.label_item, pool.label_weight[labels.worker], 30) > 1.5
    assert 0 < many.sum() < 30
    np.testing.assert_array_equal(plain.argmax(axis=1), grown.argmax(axis=1))
    assert (grown.max(axis=1)[many] > plain.max(axis=1)[many]).all()
    np.testing.assert_array_equal(grown[~many], plain[~many])


def test_labels_are_never_worth_more_than_one_over_the_correlation():
    counts = np.arange(1, 2000)
    value = counts * worth(counts, 0.4)
    assert value[0] == 1
    assert (np.diff(value) > 0).all()
    assert value[-1] < 1 / 0.4


def test_renaming_classes_renames_probabilities():
    labels = random_labels(11, n_items=12)
    pool, other = a_pool(labels), np.array([2, 0, 1])
    place = np.argsort(other)  # class c is now called other[c]
    renamed = replace(labels, label=other[labels.label].astype(np.int16))
    turned = replace(pool, tables=pool.tables[:, place][:, :, place], offset=pool.offset[place], bias=pool.bias[place])
    np.testing.assert_allclose(predict_proba(renamed, turned)[:, other], predict_proba(labels, pool))


def test_known_classes_are_certain_and_can_be_looked_at_as_if_they_were_not():
    labels = random_labels(4, gold=5)
    known = labels.gold >= 0
    np.testing.assert_array_equal(predict_proba(labels, a_pool(labels))[known], np.eye(3)[labels.gold[known]])
    assert (predict_proba(labels, a_pool(labels), use_gold=False) < 1).all()


def test_strangers_and_old_workers():
    labels = random_labels(6)
    pool = a_pool(labels, precision=np.arange(1.0, 7.0))
    same = pool.of_workers(np.arange(labels.n_workers))
    np.testing.assert_array_equal(same.tables, pool.tables)
    other = pool.of_workers(np.array([2, -1, 99]))
    np.testing.assert_array_equal(other.tables, np.stack([pool.tables[2], pool.stranger, pool.stranger]))
    np.testing.assert_array_equal(other.label_weight, [pool.label_weight[2], 0.7, 0.7])
    np.testing.assert_allclose(other.precision, [3.0, 3.5, 3.5])


def test_believed_workers_leave_the_crowd_and_decide():
    labels = random_labels(8, n_items=10)
    trust = np.full(labels.n_workers, np.nan)
    trust[1] = 50.0
    pool = a_pool(labels, trust=trust)
    posterior = predict_proba(labels, pool)
    for j in range(labels.n_items):
        mine = slice(labels.starts[j], labels.starts[j + 1])
        told = labels.label[mine][labels.worker[mine] == 1]
        if len(set(told)) == 1:
            assert posterior[j, told[0]] > 1 - 1e-9
    without = parts(labels, pool)[0]
    loud = replace(pool, tables=np.where(np.arange(labels.n_workers)[:, None, None] == 1, 9.0, pool.tables))
    np.testing.assert_allclose(parts(labels, loud)[0], without)


def test_the_mean_moves_and_the_rest_stays_as_near_as_can_be():
    generator = np.random.default_rng(0)
    q, mean = generator.dirichlet(np.ones(4), 20), generator.uniform(0.5, 2.5, 20)
    moved = move_mean(q, mean)
    np.testing.assert_allclose(moved @ np.arange(4), mean, atol=1e-9)
    tilt = np.diff(np.log(moved / q), axis=1)  # lambda, the same between all neighbours
    np.testing.assert_allclose(tilt, np.repeat(tilt[:, :1], 3, axis=1), atol=1e-8)
    np.testing.assert_allclose(move_mean(q, q @ np.arange(4)), q, atol=1e-9)
