"""Nobody is accused who is as right as the others, whatever the worker looks like."""

import numpy as np
import pytest

from crowdassay import Assay, as_labels


def job(seed, share_of_first, n_items=500, each=5, n_workers=20):
    """Return items, workers, labels and truth: most items are of the first of two classes, workers are right 8 times in 10."""
    generator = np.random.default_rng(seed)
    truth = (generator.random(n_items) > share_of_first).astype(int)
    item = np.repeat(np.arange(n_items), each)
    worker = np.argsort(generator.random((n_items, n_workers)), axis=1)[:, :each].ravel()
    label = np.where(generator.random(len(item)) < 0.8, truth[item], 1 - truth[item])
    return item, worker, label, truth


def kinds_of(item, worker, label, gold=None):
    """Return what each worker is accused of, and what to do about it, by number."""
    labels = as_labels((item, [f"w{i}" for i in worker], label))
    found = Assay().fit(labels if gold is None else labels.with_gold(gold)).result_.insight
    numbers = [int(name[1:]) for name in labels.workers.to_pylist()]
    kinds = {i: {str(reason.kind) for reason in reasons} for i, reasons in zip(numbers, found.reasons, strict=True)}
    return kinds, dict(zip(numbers, found.actions, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_one_answer_that_is_as_right_as_the_others_is_no_fault(seed):
    """W21: 85 items in 100 are of one class, and who always says it is right more often than the others."""
    item, worker, label, _ = job(seed, 0.85)
    kinds, actions = kinds_of(item, worker, np.where(worker == 0, 0, label))
    assert "one answer" not in kinds[0]
    assert actions[0] != "remove"


@pytest.mark.parametrize("seed", range(3))
def test_one_answer_to_everything_is_found_where_it_is_wrong(seed):
    """W21: where half of the items are of the other class, the same worker is as wrong as a coin."""
    item, worker, label, _ = job(seed, 0.5)
    kinds, actions = kinds_of(item, worker, np.where(worker == 0, 0, label))
    assert "one answer" in kinds[0]
    assert actions[0] == "remove"
    assert [i for i in kinds if "one answer" in kinds[i]] == [0]


def test_bad_luck_on_known_items_is_outweighed_by_all_others():
    """W21: who fails the known items but agrees with the others on all the rest better than at par is not sent to school."""
    item, worker, label, truth = job(1, 0.5)
    known = np.unique(item[worker == 0])[:15]
    gold = np.full(len(truth), -1)
    gold[known] = truth[known]
    mine, on_known = worker == 0, np.isin(item, known)
    unlucky = np.where(mine & on_known & (item % 5 > 0), 1 - truth[item], np.where(mine, truth[item], label))
    assert "fails gold" not in kinds_of(item, worker, unlucky, gold)[0][0]
    bad = np.where(mine, np.where(item % 3 > 0, 1 - truth[item], truth[item]), label)
    assert kinds_of(item, worker, bad, gold)[0][0] & {"fails gold", "adversary", "spammer"}
