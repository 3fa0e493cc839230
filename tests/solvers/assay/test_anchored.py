import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, log_softmax, polygamma, psi

from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import Weights
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import Labels
from crowdassay.solvers.assay.anchored import fit_anchored, learn_precision, unexplained_counts
from crowdassay.solvers.assay.population import CONCENTRATION_WIDTH, USUAL_CONCENTRATION, Population
from crowdassay.solvers.solution import ByTables
from crowdassay.special import digamma, trigamma
from support.problems import random_labels


def tables(labels, seed=0):
    generator = np.random.default_rng(seed)
    return np.exp(log_softmax(generator.normal(0.0, 0.7, (labels.n_workers, labels.n_classes, labels.n_classes)), axis=2))


def integrate(labels, precision, anchor=0.3, threads=1):
    p, effects = tables(labels), np.zeros((labels.n_items, labels.n_classes, labels.n_classes))
    engine = LocalEngine(labels, threads=threads)
    return p, effects, engine.integrate(p, np.log(np.full(labels.n_classes, 1 / labels.n_classes)),
                                        anchor=anchor, precision=precision, effects=effects)  # fmt: skip


def test_effects_are_at_their_maximum():
    labels = random_labels(1, n_classes=3)
    p, effects, _ = integrate(labels, 2.0)

    def penalised(j, c, u):
        seen = slice(labels.starts[j], labels.starts[j + 1])
        log_p = log_softmax(np.log(p[labels.worker[seen], c]) + u, axis=1)
        return log_p[np.arange(log_p.shape[0]), labels.label[seen]].sum() - u @ u

    for j, c in ((1, 0), (5, 2)):
        best = effects[j, c]
        slopes = [(penalised(j, c, best + h) - penalised(j, c, best - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
        np.testing.assert_allclose(slopes, 0.0, atol=1e-4)


def test_the_laplace_evidence_is_near_the_integral():
    """Two classes: only the difference of the two components matters, a normal variable of variance 2 / precision."""
    labels = random_labels(2, n_classes=2)
    p, _, found = integrate(labels, 4.0)
    for j in range(1, labels.n_items):
        seen = slice(labels.starts[j], labels.starts[j + 1])
        rows = np.log(p[labels.worker[seen]])

        def integrand(d, c, rows=rows, seen=seen):
            log_p = log_softmax(rows[:, c] + np.array([0.0, d]), axis=1)[np.arange(len(rows)), labels.label[seen]]
            return np.exp(log_p.sum() - d * d) / np.sqrt(np.pi)

        exact = np.array([quad(integrand, -8, 8, args=(c,))[0] for c in range(2)])
        np.testing.assert_allclose(found.posterior[j], exact / exact.sum(), atol=0.01)


def test_without_room_for_effects_the_pass_is_the_plain_e_step():
    labels = random_labels(3, n_classes=3, gold=2)
    p, _, found = integrate(labels, 1e9, anchor=0.0)
    posterior = np.empty((labels.n_items, 3))
    sums = LocalEngine(labels).count(np.log(p), np.log(np.full(3, 1 / 3)), posterior=posterior)
    np.testing.assert_allclose(found.posterior, posterior, atol=1e-6)
    np.testing.assert_allclose(found.observed, sums.counts, atol=1e-6)
    prior = np.full((3, 3), 2.0)
    same = unexplained_counts(p, prior, found)
    np.testing.assert_allclose(same, sums.counts, atol=1e-5)


def test_class_weights_are_a_mean_of_posterior_and_votes():
    labels = random_labels(3, n_classes=3, gold=2)
    _, _, found = integrate(labels, 4.0, anchor=0.3)
    shares = labels.votes() / labels.votes().sum(axis=1, keepdims=True)
    shares[:2] = np.eye(3)[labels.gold[:2]]
    weights = 0.7 * found.posterior + 0.3 * shares
    np.testing.assert_allclose(found.observed, observed_counts(labels, weights), atol=1e-12)
    np.testing.assert_allclose(found.totals, weights.sum(axis=0))


def test_threads_change_nothing():
    labels = random_labels(4, n_items=3000, n_workers=40)
    one, two = (integrate(labels, 4.0, threads=threads)[2] for threads in (1, 2))
    np.testing.assert_array_equal(one.posterior, two.posterior)
    np.testing.assert_array_equal(one.expected, two.expected)


def test_anchor_one_never_leaves_the_votes():
    labels = random_labels(5, n_items=40)
    engine = LocalEngine(labels)
    found = fit_anchored(engine, anchor=1.0, max_iter=10, tol=0.0)
    flat = np.full((labels.n_workers, 3, 3), -np.log(3))
    np.testing.assert_allclose(found.counts, engine.count(flat, flat[0, 0], Weights.VOTES).counts)
    assert found.n_iter == 10


@pytest.mark.slow
@pytest.mark.parametrize("items", [False, True])
def test_it_settles(items):
    labels, _ = simulate(np.random.default_rng(0), n_items=200, n_workers=10, n_classes=3)
    run = {"anchor": 0.3, "items": items, "max_iter": 400}
    found = fit_anchored(LocalEngine(labels), tol=1e-4, **run)
    assert found.converged
    later = fit_anchored(LocalEngine(labels), tol=0.0, **{**run, "max_iter": found.n_iter + 20})
    assert np.abs(np.exp(found.log_p) - np.exp(later.log_p)).mean() < 0.005


def test_without_population_and_anchor_it_is_dawid_and_skene_with_a_flat_prior():
    """Counts plus one in every cell: the posterior mean under Dirichlet(1), alternated with the E-step."""
    labels, _ = simulate(np.random.default_rng(3), n_items=100, n_workers=8, n_classes=3)
    found = fit_anchored(LocalEngine(labels), anchor=0.0, shared=False, learn_prior=False, max_iter=2000, tol=1e-10)
    counts = observed_counts(labels, ByTables(found.log_p, found.log_prior)(LocalEngine(labels)).posterior) + 1.0
    np.testing.assert_allclose(np.exp(found.log_p), counts / counts.sum(axis=2, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(found.log_prior, -np.log(3))


def test_averaging_counts_an_unknown_worker_for_less():
    counts = np.array([[[3.0, 1.0], [1.0, 3.0]], [[300.0, 100.0], [100.0, 300.0]]])
    population = Population(2, shared=False)
    averaged, plugged = population.log_tables(counts), np.log(population.tables(counts))
    assert (averaged <= plugged).all()  # Jensen
    np.testing.assert_allclose(averaged[1], plugged[1], atol=0.01)
    assert (plugged - averaged)[0].max() > 0.1


def test_the_mode_of_the_concentration_is_found_at_once():
    """Newton's steps end where the log-likelihood of the counts and the log-normal prior are flat together."""
    generator = np.random.default_rng(0)
    rows = np.stack([generator.dirichlet(200 * np.array([0.7, 0.3]), 50) for _ in range(2)], axis=1)
    rows[:, 1] = rows[:, 1, ::-1]
    counts = np.array([[generator.multinomial(40, row) for row in worker] for worker in rows]).astype(float)
    population = Population(2)
    for _ in range(5):
        population.learn(counts)
    few = population.concentration.copy()
    for _ in range(50):
        population.learn(counts)
    np.testing.assert_allclose(few, population.concentration, rtol=1e-3)

    def log_posterior(log_s, c):
        prior = np.exp(log_s) * population.mean[c]
        value = (gammaln(counts[:, c] + prior) - gammaln(prior)).sum()
        value -= (gammaln(counts[:, c].sum(axis=1) + np.exp(log_s)) - gammaln(np.exp(log_s))).sum()
        return value - 0.5 * ((log_s - np.log(USUAL_CONCENTRATION)) / CONCENTRATION_WIDTH) ** 2

    for c, at in enumerate(np.log(population.concentration)):
        assert (log_posterior(at + 1e-4, c) - log_posterior(at - 1e-4, c)) / 2e-4 == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.5, 1.5])
def test_the_size_of_the_effects_is_learned(spread):
    """Effects drawn with a known variance, workers known: the precision comes out near its inverse."""
    generator = np.random.default_rng(1)
    n_items, n_workers = 300, 40
    truth = generator.integers(2, size=n_items)
    p = np.tile([[[0.75, 0.25], [0.25, 0.75]]], (n_workers, 1, 1))
    effects = generator.normal(0.0, spread, (n_items, 2))
    item, worker = (cells.ravel() for cells in np.indices((n_items, n_workers)))
    answers = np.exp(log_softmax(np.log(p[worker, truth[item]]) + effects[item], axis=1))
    label = (generator.random(len(item)) < answers[:, 1]).astype(int)
    names = random_labels(0, n_items=n_items, n_workers=n_workers, n_classes=2)
    labels = Labels.from_codes(item, worker, label, items=names.items, workers=names.workers, classes=names.classes)
    engine, found, precision = LocalEngine(labels.with_gold(truth)), np.zeros((n_items, 2, 2)), 4.0
    for _ in range(60):
        sums = engine.integrate(p, np.log([0.5, 0.5]), anchor=0.0, precision=precision, effects=found)
        precision = learn_precision(precision, sums.spread, 2)
    assert precision == pytest.approx(1 / spread**2, rel=0.25)


def test_digamma_is_scipys():
    x = np.geomspace(1e-6, 1e9, 2000)
    np.testing.assert_allclose(digamma(x), psi(x), rtol=1e-13, atol=1e-13)


def test_trigamma_is_scipys():
    x = np.geomspace(1e-4, 1e6, 1000)
    np.testing.assert_allclose(trigamma(x), polygamma(1, x), rtol=1e-11)
