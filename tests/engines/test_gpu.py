"""The engine on a graphics card, as far as it goes without one; its kernels run in numba's simulator."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from crowdassay import DawidSkene, MinimaxEntropy
from crowdassay.engines import choose, gpu_card
from crowdassay.engines.base import Weights
from crowdassay.engines.gpu_layout import lay_out
from crowdassay.engines.local import LocalEngine
from crowdassay.errors import DataError, ParameterError
from crowdassay.kernels.gpu_tables import contrasts, unpack
from crowdassay.model.family import Model, centred_metric
from crowdassay.model.structures import nominal, ordinal
from crowdassay.solvers.ascent import WorkerProblem
from crowdassay.solvers.card import CardProblem
from problems import random_labels


def test_kernels_in_the_simulator():
    file = Path(__file__).with_name("simulated_gpu.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=file.parents[2],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]


def test_every_label_is_laid_out_once():
    labels = random_labels(0, n_items=40, n_workers=30)
    layout = lay_out(
        np, lambda codes, size: np.bincount(codes, minlength=size), labels.worker, labels.label, labels.starts, 30, 3, 3
    )
    assert layout.order is not None
    found = []
    for group in layout.groups:
        codes = group.codes.reshape(group.length, -1).T if group.threads == 1 else np.split(group.codes, group.starts[1:-1])
        found += [sorted(row.tolist()) for row in codes]
    expected = [
        sorted((labels.worker[a:b].astype(int) * 3 + labels.label[a:b]).tolist())
        for a, b in zip(labels.starts[:-1][layout.order], labels.starts[1:][layout.order], strict=True)
    ]
    assert [row for _, row in sorted(zip(_positions(layout), found, strict=True))] == expected
    np.testing.assert_array_equal(layout.label_counts.sum(axis=1), np.bincount(labels.worker, minlength=30))


def _positions(layout):
    return np.concatenate([np.arange(group.first, group.first + group.n_items) for group in layout.groups])


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
def test_the_problem_on_the_card_is_the_problem(population):
    labels = random_labels(2, n_items=30)
    basis = nominal(3).basis()
    model = Model(basis, basis, 0.7, 2.0, centred_metric(basis), population)
    engine = LocalEngine(labels)
    engine.xp = np
    here, there = WorkerProblem(engine, model, np.zeros(3), 100), CardProblem(engine, model, np.zeros(3), 100)
    point = np.random.default_rng(0).normal(size=here.origin().shape)
    for one, other in zip(here.evaluate(point, Weights.VOTES), there.evaluate(point, Weights.VOTES), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    climbed = there.maximise(there.origin(), Weights.VOTES, 1e-10)
    assert climbed[1] == pytest.approx(here.maximise(here.origin(), Weights.VOTES, 1e-10)[1], rel=1e-6)


def test_without_a_card_the_local_engine_takes_over(monkeypatch):
    monkeypatch.setattr(choose, "missing", lambda: "There is no card.")
    said = []
    assert isinstance(choose.make_engine("gpu", random_labels(0), announce=said.append), LocalEngine)
    assert said == ["There is no card."]
    with pytest.warns(UserWarning, match="no card"):
        fitted = DawidSkene(engine="gpu").fit(random_labels(0))
    np.testing.assert_array_equal(fitted.result_.posterior, DawidSkene().fit(random_labels(0)).result_.posterior)


def test_this_machine_says_in_a_sentence_what_it_lacks():
    reason = gpu_card.missing()
    assert reason is None or reason.endswith("so the local engine takes over.")


def test_labels_that_do_not_fit_are_refused_with_the_estimate(monkeypatch):
    runtime = SimpleNamespace(memGetInfo=lambda: (8e9, 80e9))
    pool = SimpleNamespace(free_bytes=lambda: 0)
    card = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), get_default_memory_pool=lambda: pool)
    monkeypatch.setattr(gpu_card, "array_module", lambda: card)
    gpu_card.check_memory(10**8, 2 * 10**7, 10**5, 2)
    with pytest.raises(DataError, match=r"need about 16 GB on the graphics card and 8 GB are free"):
        gpu_card.check_memory(10**9, 2 * 10**8, 10**6, 2)


def test_nonsense_is_refused():
    with pytest.raises(ParameterError, match="'local' or 'gpu'"):
        DawidSkene(engine="abacus").fit(random_labels(0))
    with pytest.raises(ParameterError, match="given gamma"):
        MinimaxEntropy(engine="gpu", solver="algorithm1").fit(random_labels(0))


def test_the_command_line_goes_on_without_a_card(run, tmp_path, monkeypatch):
    monkeypatch.setattr(choose, "missing", lambda: "There is no card.")
    run("simulate", "--out", tmp_path, "--items", 30)
    code, out, error = run("aggregate", tmp_path / "labels.csv", "--method", "dawid-skene", "--engine", "gpu")
    assert code == 0
    assert "There is no card." in error
    assert "150 labels" in out
    code, _, error = run("aggregate", tmp_path / "labels.csv", "--method", "majority", "--engine", "gpu")
    assert code == 2
    assert "The GPU engine runs minimax and dawid-skene" in error
