"""The engine on a GPU, as far as it goes without one; its kernels run in numba's simulator."""

import itertools
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from crowdassay import DawidSkene, MinimaxEntropy
from crowdassay.engines.base import Weights
from crowdassay.engines.gpu import device
from crowdassay.engines.gpu import engine as gpu_engine
from crowdassay.engines.gpu import layout as gpu_layout
from crowdassay.engines.gpu import store as gpu_store
from crowdassay.engines.gpu.device import contrasts, unpack
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import DataError, ParameterError
from crowdassay.models.family import Model, centred_metric
from crowdassay.models.structures import nominal, ordinal
from crowdassay.solvers.profiled import GpuProblem, WorkerProblem
from support.problems import random_labels

pytestmark = pytest.mark.slow


def test_kernels_in_the_simulator():
    folder = Path(__file__).parent
    files = [str(folder / name) for name in ("simulated_gpu.py", "simulated_parity.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=folder.parents[1],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.parametrize("block", [1 << 24, 10, 1])
def test_every_label_is_laid_out_once(block, monkeypatch):
    monkeypatch.setattr(gpu_layout, "LAYOUT_LABELS", block)
    monkeypatch.setattr(gpu_layout, "LEAST_GROUP_ITEMS", block)
    monkeypatch.setattr(gpu_layout, "GROUP_BYTES", 16 * block)
    labels = random_labels(0, n_items=40, n_workers=30)
    layout = gpu_layout.lay_out(
        np, lambda codes, counts: np.add.at(counts, codes, 1), np.copy, labels.worker, labels.label, labels.starts, 30, 3, 3
    )
    found = {}
    for group in layout.groups:
        codes = group.codes.reshape(group.length, -1).T if group.threads == 1 else np.split(group.codes, group.starts[1:-1])
        found |= dict(zip(group.items, [sorted(row.tolist()) for row in codes], strict=True))
    assert found == {
        item: sorted((labels.worker[a:b].astype(int) * 3 + labels.label[a:b]).tolist())
        for item, (a, b) in enumerate(itertools.pairwise(labels.starts))
    }
    assert (len(layout.groups) > 5) == (block < 100)
    np.testing.assert_array_equal(layout.label_counts.sum(axis=1), np.bincount(labels.worker, minlength=30))


class GpuArray(np.ndarray):
    """An array on a GPU that is none."""

    def set(self, array, stream):
        stream.done.append("up")
        self[...] = array

    def get(self, stream, out, blocking):
        assert not blocking
        stream.done.append("down")
        out[...] = self


class Stream:
    """A stream that remembers what it was asked for."""

    def __init__(self):
        self.done = []

    def record(self):
        return self

    def wait_event(self, event):
        self.done.append(event)

    def synchronize(self):
        self.done.append("end")


def test_groups_pass_over_the_gpu_one_after_the_other(monkeypatch):
    fake = SimpleNamespace(empty=lambda size, dtype: np.empty(size, dtype).view(GpuArray), cuda=SimpleNamespace(Stream=Stream))
    monkeypatch.setattr(gpu_store, "array_module", lambda: fake)
    monkeypatch.setattr(gpu_store, "simulated", lambda: False)
    store = gpu_store.InMemory()
    groups = [
        {"codes": np.full(3 + n, n, np.uint32), "gold": np.zeros(0, np.int16), "state": np.full((2, n + 1), n, np.float32),
         "found": np.zeros((1, n + 1), np.float32)} for n in range(5)
    ]  # fmt: skip
    for number, here, stream in store.visit(groups, ("state", "found")):
        assert stream is store.streams[number % gpu_store.SLOTS]
        assert here["gold"].size == 0
        stream.done.append("run")
        here["state"] += here["codes"][0] + 1
        here["found"][...] = number
    for number, group in enumerate(groups):
        np.testing.assert_array_equal(group["state"], 2 * number + 1)
        np.testing.assert_array_equal(group["found"], number)
    one, two, three = store.streams
    assert one.done == ["up", "up", "run", "down", "down", "up", "up", three, "run", "down", "down", "end"]
    assert two.done == ["up", "up", one, "run", "down", "down", "up", "up", one, "run", "down", "down", "end"]


def test_packed_sums_come_apart():
    pairs = np.array([[3, -5], [-7, 2], [-1, -1], [2**30, -(2**30)]])
    sums = pairs[:, 0] + pairs[:, 1] * 2**32
    np.testing.assert_array_equal(unpack(np, sums), pairs)


def test_contrasts_are_log_odds():
    for basis in (nominal(3).basis(), ordinal(4).basis()):
        phi = np.random.default_rng(0).normal(size=(1, basis.size))
        tables = basis.tables(phi)[0]
        np.testing.assert_allclose(contrasts(basis)[1] @ phi[0], tables[:, 1:] - tables[:, :1], atol=1e-6)


@pytest.mark.parametrize("population", [False, True])
def test_the_problem_on_the_gpu_is_the_problem(population):
    labels = random_labels(2, n_items=30)
    basis = nominal(3).basis()
    model = Model(basis, basis, 0.7, 2.0, centred_metric(basis), population)
    engine = LocalEngine(labels)
    here, there = WorkerProblem(engine, model, np.zeros(3), 100), GpuProblem(engine, model, np.zeros(3), 100)
    point = np.random.default_rng(0).normal(size=here.origin().shape)
    for one, other in zip(here.evaluate(point, Weights.VOTES), there.evaluate(point, Weights.VOTES), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    climbed = there.maximise(there.origin(), Weights.VOTES, 1e-10)
    assert climbed[1] == pytest.approx(here.maximise(here.origin(), Weights.VOTES, 1e-10)[1], rel=1e-6)


def test_without_a_gpu_the_local_engine_takes_over(monkeypatch):
    monkeypatch.setattr(gpu_engine, "missing", lambda: "There is no GPU.")
    said = []
    assert isinstance(gpu_engine.GpuPlace(random_labels(0)).engine(gathered=False, announce=said.append), LocalEngine)
    assert said == ["There is no GPU."]
    with pytest.warns(UserWarning, match="no GPU"):
        fitted = DawidSkene().fit(random_labels(0), engine="gpu")
    np.testing.assert_array_equal(fitted.result_.posterior, DawidSkene().fit(random_labels(0)).result_.posterior)


def test_this_machine_says_in_a_sentence_what_it_lacks():
    reason = device.missing()
    assert reason is None or reason.endswith("so the local engine takes over.")


def test_labels_stay_in_memory_where_the_gpu_is_too_small_and_too_many_workers_are_refused(monkeypatch):
    pool = SimpleNamespace(free_bytes=lambda: 1e9, used_bytes=lambda: 5e8, get_limit=lambda: 0)
    runtime = SimpleNamespace(memGetInfo=lambda: (7e9, 80e9))
    fake = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, Stream=Stream), get_default_memory_pool=lambda: pool)
    for module in (device, gpu_store):
        monkeypatch.setattr(module, "array_module", lambda: fake)
    said = []
    assert device.free_memory() == 8e9
    assert isinstance(gpu_store.choose_store(10**8, 2 * 10**7, 10**5, 2, said.append), gpu_store.OnGpu)
    assert not said
    assert isinstance(gpu_store.choose_store(10**9, 2 * 10**8, 10**6, 2, said.append), gpu_store.InMemory)
    assert "pass over it in every sweep" in said[0]
    with pytest.raises(DataError, match=r"workers need about 9.8 GB on the graphics card and 8.0 GB are free"):
        gpu_store.choose_store(10**9, 2 * 10**8, 10**7, 2)
    pool.get_limit = lambda: 2e9
    assert device.free_memory() == 1.5e9


def test_memory_that_is_not_pinned_will_do(monkeypatch):
    class Refused(Exception):
        pass

    def refuse(size):
        asked.append(size)
        raise Refused

    asked = []
    runtime = SimpleNamespace(CUDARuntimeError=Refused)
    fake = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime, alloc_pinned_memory=refuse))
    monkeypatch.setattr(device, "array_module", lambda: fake)
    assert device.pinned_memory((2, 3), np.float32).shape == (2, 3)
    assert asked == [24]
    fake.cuda.alloc_pinned_memory = bytearray
    np.testing.assert_array_equal(device.pinned_memory((2, 3), np.int64), np.zeros((2, 3)))


def test_nonsense_is_refused():
    with pytest.raises(ParameterError, match="'local' or 'gpu'"):
        DawidSkene().fit(random_labels(0), engine="abacus")
    with pytest.raises(ParameterError, match=r"Algorithm 1 needs all labels in memory: take solver"):
        MinimaxEntropy(solver="algorithm1").fit(random_labels(0), engine="gpu")


def test_the_command_line_goes_on_without_a_gpu(run, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_engine, "missing", lambda: "There is no GPU.")
    run("simulate", "--out", tmp_path, "--items", 30)
    code, out, error = run("aggregate", tmp_path / "labels.csv", "--method", "dawid-skene", "--engine", "gpu")
    assert code == 0
    assert "There is no GPU." in error
    assert "150 labels" in out
    code, _, error = run("aggregate", tmp_path / "labels.csv", "--method", "kos", "--engine", "gpu")
    assert code == 2
    assert "The method 'kos' needs all labels in memory" in error
