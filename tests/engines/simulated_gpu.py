"""What the kernels for a GPU compute, in numba's simulator; `test_gpu.py` runs this file with it switched on."""

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import Assay
from crowdassay.engines.base import Weights
from crowdassay.engines.blocks import ItemSelection
from crowdassay.engines.gpu import engine as gpu
from crowdassay.engines.gpu import layout as gpu_layout
from crowdassay.engines.gpu import store as gpu_store
from crowdassay.engines.gpu.engine import GpuEngine
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model
from crowdassay.models.structures import nominal, reference_sets, resolve
from crowdassay.solvers.assay.pool import ByPool, Pool
from support import reference
from support.problems import random_labels
from support.simulator import simulated_gpu


class Small:
    """Let groups be of a few items, and the GPU so small that they pass over it, or not."""

    def __init__(self, patch):
        patch.setattr(gpu_layout, "LAYOUT_LABELS", 6)
        patch.setattr(gpu_layout, "LEAST_GROUP_ITEMS", 2)
        patch.setattr(gpu_layout, "GROUP_BYTES", 64)
        self.patch = patch

    def engine(self, labels, *, streamed):
        room = gpu_store.memory_streamed(labels.n_workers, labels.n_classes) if streamed else np.inf
        self.patch.setattr(gpu_store, "free_memory", lambda: room)
        engine = GpuEngine.of(labels, item_tolerance=1e-11)
        assert isinstance(engine.store, gpu_store.InMemory if streamed else gpu_store.OnGpu)
        assert len(engine.layout.groups) > gpu_store.SLOTS
        return engine


@pytest.fixture
def small(monkeypatch):
    return Small(monkeypatch)


@pytest.fixture(autouse=True)
def few_threads():
    with simulated_gpu():
        yield


def item_basis(name, n_classes):
    if name is None:
        return None
    return (reference_sets(n_classes, [{0}, {0, 1}]) if name == "sets" else resolve(name, n_classes)).basis()


def compare(labels, basis, *modes, beta=0.8):
    """Hold a sweep against the readable one."""
    n_classes, generator = labels.n_classes, np.random.default_rng(0)
    sigma = generator.normal(size=(labels.n_workers, n_classes, n_classes)) + np.eye(n_classes)
    log_prior = np.log(generator.dirichlet(np.ones(n_classes)))
    model = Model(nominal(n_classes).basis(), basis, 1.0, beta)
    engine = GpuEngine.of(labels, item_tolerance=1e-11)
    held = generator.dirichlet(np.ones(n_classes), size=labels.n_items)
    held[np.flatnonzero(labels.gold >= 0)] = np.eye(n_classes)[labels.gold[labels.gold >= 0]]
    engine.set_weights(held)
    votes = labels.votes() / np.maximum(labels.votes().sum(axis=1, keepdims=True), 1)
    fixed = {Weights.FREE: None, Weights.VOTES: votes, Weights.GIVEN: held}
    for weights in modes:
        engine.restart()
        objective, gradient, posterior, phi = reference.sweep(labels, sigma, log_prior, basis, beta, fixed[weights])
        sums = engine.sweep(model, sigma, log_prior, weights)
        assert sums.objective == pytest.approx(objective, rel=1e-6)
        np.testing.assert_allclose(sums.gradient, gradient, atol=3e-5)
        np.testing.assert_allclose(sums.totals, posterior.sum(axis=0), atol=3e-5)
        if basis is not None:
            np.testing.assert_allclose(engine.coordinates(model), phi, atol=1e-4)
    return engine, model, sigma


@pytest.mark.parametrize(
    ("name", "n_classes"), [("nominal", 2), ("nominal", 3), ("ordinal", 3), ("sets", 3), (None, 2), (None, 4)]
)
def test_items_of_a_thread_equal_the_reference(name, n_classes):
    labels = random_labels(n_classes, n_items=6, n_classes=n_classes, gold=1)
    compare(labels, item_basis(name, n_classes), *Weights)


@pytest.mark.parametrize("most", [1, 32])
def test_weak_items_equal_the_reference(most, monkeypatch):
    monkeypatch.setattr(gpu, "MOST_THREAD_LABELS", most)  # of an item of a thread; others have a block
    labels = random_labels(3, n_items=5, n_classes=4, gold=1)
    steps = []
    judge = Model.has_weak_items
    monkeypatch.setattr(Model, "has_weak_items", lambda *given: steps.append(judge(*given)) or steps[-1])
    compare(labels, item_basis("nominal", 4), *Weights, beta=2.0 * np.diff(labels.starts).max())
    assert all(steps)
    assert len(steps) == len(Weights)


@pytest.mark.parametrize("name", ["nominal", None])
def test_twelve_classes_equal_the_reference(name):
    labels = random_labels(4, n_items=2, n_classes=12)
    engine, _, _ = compare(labels, item_basis(name, 12), Weights.FREE)
    fits = [32 * 4 * 12 * 11 * group.length <= gpu.SHARED_BYTES for group in engine.layout.groups]
    assert True in fits  # some items' rows are kept in shared memory, and some are too many
    assert False in fits


@pytest.mark.parametrize(("name", "n_classes"), [("nominal", 2), ("ordinal", 3), (None, 2)])
def test_items_of_a_block_equal_the_reference(name, n_classes, monkeypatch):
    monkeypatch.setattr(gpu, "MOST_THREAD_LABELS", 2)
    monkeypatch.setattr(gpu_layout, "LONG_ITEM", 4)
    labels = random_labels(0, n_items=4, n_classes=n_classes, gold=1)
    engine, _, _ = compare(labels, item_basis(name, n_classes), Weights.FREE)
    assert {group.threads for group in engine.layout.groups} == {1, 2, 3}


def test_a_worker_of_many_places_has_one_sum(monkeypatch):
    monkeypatch.setattr(gpu_layout, "LEAST_CAP", 2)
    generator = np.random.default_rng(0)
    worker = np.where(generator.random(24) < 0.7, 1, generator.integers(20, size=24))
    names = [pa.array([str(n) for n in range(size)]) for size in (8, 20, 2)]
    labels = Labels.from_codes(
        np.repeat(np.arange(8), 3), worker, generator.integers(2, size=24), items=names[0], workers=names[1], classes=names[2]
    )
    engine, _, _ = compare(labels, item_basis("nominal", 2), Weights.FREE)
    assert engine.layout.n_places > 20
    compare(labels, None, Weights.FREE)


def test_a_class_that_is_ruled_out_forgets_its_coordinates():
    labels = random_labels(2, n_items=5)
    sigma = np.random.default_rng(0).normal(size=(labels.n_workers, 3, 3))
    model = Model(nominal(3).basis(), nominal(3).basis(), 1.0, 0.8)
    engine, fresh = GpuEngine.of(labels), GpuEngine.of(labels)
    engine.set_weights(np.full((5, 3), 1 / 3))
    engine.sweep(model, sigma, np.zeros(3), Weights.GIVEN)
    assert np.all(engine.coordinates(model) != 0)
    sums = []
    for part in (engine, fresh):
        part.set_weights(np.eye(3)[[0, 1, 2, 0, 1]])
        sums.append(part.sweep(model, sigma, np.zeros(3), Weights.GIVEN))
    np.testing.assert_allclose(sums[0].gradient, sums[1].gradient, atol=3e-5)
    np.testing.assert_allclose(engine.coordinates(model), fresh.coordinates(model), atol=1e-4)
    assert np.all(engine.coordinates(model)[0, 2:] == 0)


def test_sums_do_not_depend_on_the_order_of_additions(monkeypatch):
    labels = random_labels(1, n_items=8, n_classes=2)
    engine, model, sigma = compare(labels, item_basis("nominal", 2), Weights.FREE)
    one = engine.sweep(model, sigma, np.zeros(2)).gradient
    engine, model, sigma = compare(labels, item_basis("nominal", 2), Weights.FREE)
    monkeypatch.setattr(gpu, "LAUNCH_BLOCKS", 1)
    monkeypatch.setattr(gpu, "LAUNCH_THREADS", 2)
    np.testing.assert_array_equal(engine.sweep(model, sigma, np.zeros(2)).gradient, one)


@pytest.mark.parametrize("name", ["nominal", None])
def test_labels_that_pass_over_the_gpu_give_the_same_sums_to_the_last_bit(name, small, monkeypatch):
    monkeypatch.setattr(gpu, "MOST_THREAD_LABELS", 3)
    labels = random_labels(5, n_items=9, n_classes=2, gold=2)
    generator = np.random.default_rng(0)
    sigma, held = generator.normal(size=(labels.n_workers, 2, 2)), generator.dirichlet(np.ones(2), size=9)
    model = Model(nominal(2).basis(), item_basis(name, 2), 1.0, 0.8)
    found = []
    for streamed in (False, True):
        engine = small.engine(labels, streamed=streamed)
        engine.set_weights(held)
        sums = [engine.sweep(model, sigma, np.zeros(2), weights) for weights in (Weights.VOTES, Weights.GIVEN, Weights.FREE)]
        last, posterior = engine.posteriors(model, 0.9 * sigma, np.zeros(2))  # items go on from where they are
        parts = [value for part in (*sums, last) for value in vars(part).values()]
        found.append([*parts, posterior, engine.coordinates(model)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


class Sweep:
    """Codes of labels of three classes, and what an engine on a GPU makes of them; worker tables stay the same."""

    def __init__(self, name):
        generator = np.random.default_rng(3)
        self.item = np.repeat(np.arange(7), [1, 2, 2, 3, 4, 3, 1])
        self.worker, self.label = generator.integers(5, size=16), generator.integers(3, size=16)
        self.sigma = generator.normal(size=(5, 3, 3)) + np.eye(3)
        self.model = Model(nominal(3).basis(), item_basis(name, 3), 1.0, 0.8)
        self.log_prior = np.log([0.2, 0.3, 0.5])

    def __call__(self, item=None, worker=None, label=None, sigma=None, gold=None, held=None):
        item = self.item if item is None else item
        n_items, sigma = item.max() + 1, self.sigma if sigma is None else sigma
        sizes = (n_items, len(sigma), 3)
        items, workers, classes = (pa.array([str(n) for n in range(size)]) for size in sizes)
        labels = Labels.from_codes(
            item, self.worker if worker is None else worker, self.label if label is None else label,
            items=items, workers=workers, classes=classes,
        )  # fmt: skip
        engine = GpuEngine.of(labels if gold is None else labels.with_gold(gold))
        if held is not None:
            engine.set_weights(held)
        return engine.sweep(self.model, sigma, self.log_prior, Weights.FREE if held is None else Weights.GIVEN)


@pytest.fixture(params=["nominal", None])
def swept(request):
    return Sweep(request.param)


def test_neither_the_order_of_rows_nor_that_of_items_matters(swept):
    plain, shuffle = swept(), np.random.default_rng(0).permutation(16)
    turned = swept(item=6 - swept.item)
    np.testing.assert_array_equal(turned.gradient, plain.gradient)
    assert turned.objective == pytest.approx(plain.objective, rel=1e-12)
    shuffled = swept(swept.item[shuffle], swept.worker[shuffle], swept.label[shuffle])
    np.testing.assert_allclose(shuffled.gradient, plain.gradient, atol=2e-6)
    assert shuffled.objective == pytest.approx(plain.objective, rel=1e-6)


def test_workers_may_have_other_names(swept):
    name = np.array([3, 0, 4, 2, 1])
    renamed = swept(worker=name[swept.worker], sigma=swept.sigma[np.argsort(name)])
    np.testing.assert_array_equal(renamed.gradient[name], swept().gradient)


def test_classes_may_have_other_names(swept):
    plain, name = swept(), np.array([2, 0, 1])
    other, swept.log_prior = np.argsort(name), swept.log_prior[np.argsort(name)]
    renamed = swept(label=name[swept.label], sigma=swept.sigma[:, other][:, :, other])
    np.testing.assert_allclose(renamed.gradient[:, name][:, :, name], plain.gradient, atol=2e-5)
    assert renamed.objective == pytest.approx(plain.objective, rel=1e-6)


def test_sums_of_two_halves_of_the_items_add_up(swept):
    whole, first = swept(), swept.item < 4
    parts = [
        swept(swept.item[half] - start, swept.worker[half], swept.label[half]) for half, start in ((first, 0), (~first, 4))
    ]
    np.testing.assert_allclose(parts[0].gradient + parts[1].gradient, whole.gradient, atol=1e-6)
    np.testing.assert_allclose(parts[0].totals + parts[1].totals, whole.totals, rtol=1e-12)
    assert parts[0].objective + parts[1].objective == pytest.approx(whole.objective, rel=1e-7)


def test_two_workers_alike_are_one_heavy_worker(swept, monkeypatch):
    monkeypatch.setattr(gpu_layout, "LEAST_CAP", 2)  # the heavy one has several places
    sigma = swept.sigma.copy()
    sigma[:3] = sigma[0]
    three, one = swept(sigma=sigma), swept(worker=np.where(swept.worker < 3, 0, swept.worker), sigma=sigma)
    np.testing.assert_allclose(one.gradient[0], three.gradient[:3].sum(axis=0), atol=1e-6)
    np.testing.assert_allclose(one.gradient[3:], three.gradient[3:], atol=1e-6)
    assert one.objective == pytest.approx(three.objective, rel=1e-9)


def test_a_known_class_is_a_held_one(swept):
    gold = np.array([0, 2, 1, 1, 0, 2, 2])
    known, held = swept(gold=gold), swept(held=np.eye(3)[gold])
    np.testing.assert_array_equal(known.gradient, held.gradient)
    assert known.objective == held.objective < swept().objective
    some = swept(gold=np.where(np.arange(7) < 3, gold, -1))
    assert held.objective < some.objective < swept().objective


def test_extreme_tables_stay_finite():
    labels = random_labels(3, n_items=6)
    model = Model(nominal(3).basis(), nominal(3).basis(), 1.0, 1.0)
    sigma = 1e4 * np.random.default_rng(0).normal(size=(labels.n_workers, 3, 3))
    sums, posterior = GpuEngine.of(labels).posteriors(model, sigma, np.zeros(3))
    assert np.isfinite(sums.objective)
    assert np.isfinite(sums.gradient).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_pool_judges_as_in_memory(n_classes, streamed, small, monkeypatch):
    monkeypatch.setattr(gpu, "MOST_THREAD_LABELS", 2)
    monkeypatch.setattr(gpu_layout, "LEAST_CAP", 2)
    labels, draw = random_labels(n_classes, n_items=12, n_classes=n_classes, gold=2), np.random.default_rng(0)
    pool = Pool(
        tables=np.log(draw.dirichlet(np.ones(n_classes), size=(labels.n_workers, n_classes))),
        stranger=np.zeros((n_classes, n_classes)), offset=draw.normal(size=n_classes), bias=draw.normal(size=n_classes),
        vote=0.4, correlation=0.5, many=50.0, label_weight=draw.random(labels.n_workers), stranger_weight=1.0,
        few=1.5, growth=0.7,
    )  # fmt: skip
    card, memory = ByPool(pool)(small.engine(labels, streamed=streamed)), ByPool(pool)(LocalEngine(labels))
    np.testing.assert_allclose(card.posterior, memory.posterior, atol=1e-5)
    np.testing.assert_allclose(card.expected, memory.expected, atol=1e-4)
    np.testing.assert_array_equal(card.winners, memory.winners)


@pytest.mark.parametrize("streamed", [False, True])
def test_items_come_back_from_the_gpu(streamed, small, monkeypatch):
    monkeypatch.setattr(gpu, "MOST_THREAD_LABELS", 2)
    monkeypatch.setattr(gpu_layout, "LEAST_CAP", 2)
    labels = random_labels(3, n_items=15, gold=4)
    engine = small.engine(labels, streamed=streamed)
    engine.labels = None
    workers = np.arange(labels.n_workers) == labels.worker[0]
    asked = [{}, {"known": True}, {"step": 4}, {"workers": workers}, {"known": True, "step": 5, "workers": workers}]
    for selection in (ItemSelection(**one) for one in asked):
        card, memory = engine.gather(selection), selection.take(labels)
        for name in ("starts", "gold", "worker", "label"):
            np.testing.assert_array_equal(getattr(card, name), getattr(memory, name), err_msg=f"{name} {selection}")
        assert (card.n_workers, card.n_classes) == (memory.n_workers, memory.n_classes)


def test_the_default_runs_on_arrays_of_the_gpu():
    labels = random_labels(5, n_items=30, n_workers=8, n_classes=3)
    arrays = GpuEngine(labels.worker, labels.label, labels.starts, 8, 3)
    on_card, in_memory = Assay().solve(arrays), Assay().solve(LocalEngine(labels))
    np.testing.assert_allclose(on_card.sigma, in_memory.sigma, atol=1e-4)
    np.testing.assert_allclose(on_card.predict(arrays).posterior, in_memory.predict(LocalEngine(labels)).posterior, atol=1e-4)
