"""Workers are judged by what the others say."""

import numpy as np
import pyarrow as pa

from crowdassay import Labels
from crowdassay.models.assay.dependence import Dependence
from crowdassay.planning.state import without, worker_tables

ALIKE = Dependence(overlap=0.0)


def posterior_of(labels, tables, prior):
    """Class probabilities by Bayes' rule, labels taken as independent."""
    weights = np.tile(np.log(prior), (labels.n_items, 1))
    np.add.at(weights, labels.label_item, np.log(tables[labels.worker, :, labels.label]))
    weights = np.exp(weights)
    return weights / weights.sum(axis=1, keepdims=True)


def drawn(n_items=60, n_workers=6, seed=0):
    generator = np.random.default_rng(seed)
    tables = generator.dirichlet([1.0, 1.0], (n_workers, 2)) * 0.4 + 0.6 * np.eye(2)
    item, worker = np.divmod(np.arange(n_items * n_workers), n_workers)
    truth = generator.integers(0, 2, n_items)
    label = (generator.random(len(item)) < tables[worker, truth[item], 1]).astype(int)
    words = {name: pa.array(np.arange(n)) for name, n in (("items", n_items), ("workers", n_workers), ("classes", 2))}
    return Labels.from_codes(item, worker, label, **words), tables


def test_taking_a_label_out_gives_the_probabilities_of_the_others():
    labels, tables = drawn()
    prior = np.array([0.4, 0.6])
    mine = labels.worker == 2
    rest = np.flatnonzero(~mine)
    words = {"items": labels.items, "workers": labels.workers, "classes": labels.classes}
    others = Labels.from_codes(labels.label_item[rest], labels.worker[rest], labels.label[rest].astype(int), **words)
    found = without(
        posterior_of(labels, tables, prior), np.log(prior), np.diff(labels.starts),
        np.log(tables[2][:, labels.label[mine]].T), ALIKE,
    )  # fmt: skip
    assert np.allclose(found, posterior_of(others, tables, prior))


def test_who_labels_alone_is_taken_for_typical():
    """Their labels agree with the result every time, since they are the result."""
    item = np.concatenate([np.repeat(np.arange(40), 3), np.arange(40, 80)])
    worker = np.concatenate([np.tile([0, 1, 2], 40), np.full(40, 3)])
    label = np.concatenate([np.repeat(np.arange(40) % 2, 3), np.arange(40) % 2])
    label[2:120:3] = np.arange(40) // 2 % 2  # the third worker guesses
    words = {name: pa.array(np.arange(n)) for name, n in (("items", 80), ("workers", 4), ("classes", 2))}
    labels = Labels.from_codes(item, worker, label, **words)
    posterior = (labels.votes() + 0.5) / (labels.votes().sum(axis=1, keepdims=True) + 1)
    tables, crowd = worker_tables(labels, posterior, np.log([0.5, 0.5]), Dependence(0.5))
    assert np.allclose(tables[3], crowd)
    skill = np.einsum("icc->i", tables) / 2
    assert skill[:2].min() > skill[3] > skill[2]


def test_the_order_of_items_and_the_names_of_classes_change_nothing():
    labels, tables = drawn(seed=1)
    q = posterior_of(labels, tables, np.array([0.5, 0.5]))
    one = worker_tables(labels, q, np.log([0.5, 0.5]), ALIKE)[0]
    words = {"items": labels.items, "workers": labels.workers, "classes": labels.classes}
    turned = Labels.from_codes(labels.n_items - 1 - labels.label_item, labels.worker, 1 - labels.label.astype(int), **words)
    other = worker_tables(turned, q[::-1, ::-1], np.log([0.5, 0.5]), ALIKE)[0]
    assert np.allclose(one, other[:, ::-1, ::-1])
