import numpy as np
import pytest

from crowdassay.engines.base import Weights
from crowdassay.engines.blocks import ItemSelection
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.sweeps import Blind
from crowdassay.labels.join import join_items, take_items
from support.problems import random_labels
from support.spools import spool_labels


def test_known_items_samples_and_workers():
    labels = random_labels(0, gold=4)
    engine = LocalEngine(labels)
    known = engine.gather(ItemSelection(known=True))
    np.testing.assert_array_equal(known.gold, labels.gold[labels.gold >= 0])
    assert engine.gather(ItemSelection()).n_items == 0
    assert engine.gather(ItemSelection(step=3)).n_items == 4
    by = np.arange(labels.n_workers) == 2
    some = engine.gather(ItemSelection(workers=by))
    assert all((some.worker[some.starts[j] : some.starts[j + 1]] == 2).any() for j in range(some.n_items))
    assert (some.worker == 2).sum() == (labels.worker == 2).sum()


def test_parts_join_to_the_whole():
    labels = random_labels(1, gold=3)
    whole = join_items([take_items(labels, rows, named=False) for rows in (np.arange(5), np.arange(5, 12))])
    for name in ("starts", "worker", "label", "gold"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(labels, name))


@pytest.mark.parametrize("weights", [Weights.FREE, Weights.VOTES])
def test_a_blind_engine_counts_as_if_no_class_were_known(weights):
    labels = random_labels(3, gold=5)
    engine = LocalEngine(labels)
    blind = Blind(engine, engine.gather(ItemSelection(known=True)))
    log_p = np.log(np.random.default_rng(0).dirichlet(np.ones(3), (labels.n_workers, 3)))
    log_prior = np.log([0.5, 0.2, 0.3])
    free = LocalEngine(labels.with_gold(np.full(labels.n_items, -1))).count(log_p, log_prior, weights)
    found = blind.count(log_p, log_prior, weights)
    np.testing.assert_allclose(found.counts, free.counts, atol=1e-12)
    np.testing.assert_allclose(found.totals, free.totals, atol=1e-12)
    assert found.objective == pytest.approx(free.objective)


def test_blocks_on_disk_give_the_same_items(tmp_path):
    labels = random_labels(4, n_items=40, gold=7)
    spool, local = spool_labels(labels, tmp_path, size=20), LocalEngine(labels)
    engine = FilesPlace(spool).engine(gathered=False)
    assert len(spool.sizes) > 3
    for selection in (
        ItemSelection(known=True),
        ItemSelection(step=7),
        ItemSelection(workers=np.arange(labels.n_workers) == 1),
    ):
        one, other = local.gather(selection), engine.gather(selection)
        for name in ("starts", "worker", "label", "gold"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
