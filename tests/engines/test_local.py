import numpy as np
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import Weights
from crowdassay.engines.blocks import block_edges
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.models.family import Model
from crowdassay.models.structures import nominal
from support.problems import random_labels


@pytest.fixture(scope="module")
def many():
    return simulate(np.random.default_rng(0), n_items=22_000, n_workers=40, n_classes=3)[0]  # enough for several blocks


@pytest.mark.slow
def test_result_does_not_depend_on_the_number_of_threads(many):
    basis = nominal(3).basis()
    model = Model(basis, basis, 1.0, 2.0)
    sigma = np.random.default_rng(1).normal(size=(40, 3, 3))
    one, four = (LocalEngine(many, threads=threads, warm=True).posteriors(model, sigma, np.zeros(3)) for threads in (1, 4))
    assert one[0].objective == four[0].objective
    np.testing.assert_array_equal(one[0].gradient, four[0].gradient)
    np.testing.assert_array_equal(one[1], four[1])


def test_blocks_cover_every_item_once(many):
    for labels in (many, random_labels(0), random_labels(1, n_items=2)):
        edges = block_edges(labels)
        assert [first for first, _ in edges] == [0, *(last for _, last in edges[:-1])]
        assert edges[-1][1] == labels.n_items
    assert len(block_edges(many)) > 3


@pytest.mark.slow
def test_a_sweep_without_items_is_the_gradient_of_counts(many):
    model = Model(nominal(3).basis(), None, 1.0, 0.0)
    sigma = np.random.default_rng(2).normal(size=(40, 3, 3))
    sums = LocalEngine(many).sweep(model, sigma, np.zeros(3))
    strong = Model(nominal(3).basis(), nominal(3).basis(), 1.0, 1e12)  # items that cannot move
    with_items = LocalEngine(many).sweep(strong, sigma, np.zeros(3))
    assert sums.objective == pytest.approx(with_items.objective, rel=1e-9)
    np.testing.assert_allclose(sums.gradient, with_items.gradient, atol=1e-6)


def test_warm_items_start_where_they_were(many):
    basis = nominal(3).basis()
    model = Model(basis, basis, 1.0, 2.0)
    engine = LocalEngine(many, warm=True)
    sigma = np.eye(3) + np.zeros((40, 3, 3))
    engine.sweep(model, sigma, np.zeros(3))
    before = engine.coordinates(model)
    assert np.abs(before).max() > 0.1
    engine.e_step(model, sigma, np.zeros(3))
    np.testing.assert_array_equal(before, engine.coordinates(model))
    engine.restart()
    np.testing.assert_array_equal(engine.coordinates(model), 0.0)


def test_vote_weights_are_vote_shares(many):
    counts = LocalEngine(many).count(np.zeros((40, 3, 3)), np.zeros(3), Weights.VOTES)
    votes = many.votes()
    np.testing.assert_allclose(counts.totals, (votes / votes.sum(axis=1, keepdims=True)).sum(axis=0))
    assert counts.counts.sum() == pytest.approx(many.n_labels)


def test_no_threads_is_refused():
    with pytest.raises(ParameterError, match="threads"):
        LocalEngine(random_labels(0), threads=0)


def test_a_slow_first_use_is_announced(monkeypatch):
    from crowdassay.engines.memory import engine as local

    monkeypatch.setattr(local, "SILENT_SECONDS", 0.0)
    said = []
    engine = LocalEngine(random_labels(0), announce=said.append)
    model = Model(nominal(3).basis(), nominal(3).basis(), 1.0, 1.0)
    with engine._waiting("a kernel"):
        import time

        time.sleep(0.05)
    engine.sweep(model, np.zeros((6, 3, 3)), np.zeros(3))
    assert "Compiling" in said[0]


@pytest.mark.slow
def test_kernels_are_cached_where_the_package_cannot_be_written(tmp_path):
    """A plain file in the way of the cache folder stands for a package that is read-only."""
    import os
    import shutil
    import subprocess
    import sys
    from pathlib import Path

    import crowdassay

    package = tmp_path / "site" / "crowdassay"
    shutil.copytree(Path(crowdassay.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "engines" / "kernels" / "__pycache__").touch()
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment |= {"HOME": str(home), "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    use = "import numpy as np; from crowdassay.engines.kernels import compiled; compiled.floored_exp(*np.zeros((2, 1, 2, 2)))"
    subprocess.run([sys.executable, "-c", use], env=environment, check=True, cwd=tmp_path)
    assert list(home.rglob("compiled.floored_exp*.nbc"))
