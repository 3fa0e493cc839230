"""Every engine under every check; a failure reads engine-check."""

import ast
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import crowdassay
from crowdassay.checks.engines import ENGINE_CHECKS
from crowdassay.checks.simulate import simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.methods import METHODS
from support.fake_engine import FakeEngine
from support.spools import spool_labels

LOCAL = {"local": {}, "one thread": {"threads": 1}, "stateless": {"gathered": False}}
FILES = {"files": {}, "files, one thread": {"threads": 1}}


@pytest.mark.slow
@pytest.mark.parametrize("check", ENGINE_CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", [*LOCAL, *FILES, "fake"])
def test_engines(name, check, tmp_path):
    numbers = count()

    def make(labels):
        if name == "fake":
            return FakeEngine(labels)
        if name in LOCAL:
            return LocalEngine(labels, **LOCAL[name])
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return FilesPlace(spool_labels(labels, folder, size=120), **FILES[name]).engine(gathered=False)

    check(make)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.make().needs_memory() is None])
def test_every_method_that_can_leave_memory_needs_the_protocol_and_nothing_more(name):
    labels = simulate(np.random.default_rng(5), n_items=9, n_workers=6, n_classes=3)[0]
    options = {"max_iter": 10} if "max_iter" in METHODS[name].make().get_params() else {}
    engines = FakeEngine(labels), LocalEngine(labels, gathered=False, item_tolerance=1e-20)
    posteriors = [
        METHODS[name].make(**options).solve(engine).predict(LocalEngine(labels, gathered=False)).posterior for engine in engines
    ]
    np.testing.assert_allclose(*posteriors, atol=1e-8)


def test_a_wrong_engine_is_found_out():
    class Careless(LocalEngine):
        def count(self, log_p, log_prior, weights=0, posterior=None):
            return super().count(log_p, np.zeros_like(log_prior), weights, posterior)

    with pytest.raises(AssertionError, match="binary, FREE: the objective of a count"):
        ENGINE_CHECKS[1](Careless)


def test_solvers_and_models_know_no_place():
    """They import what an engine is, and no place, no frame library and no GPU."""
    modules = ("base", "blocks", "confusion", "kernels.small")
    known = {f"crowdassay.engines.{name}" for name in modules}
    package = Path(crowdassay.__file__).parent
    for path in [*package.glob("solvers/**/*.py"), *package.glob("models/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            assert not {"pyarrow", "pandas", "polars", "cupy"} & {name.split(".")[0] for name in names}, path.name
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crowdassay.engines"):
                assert node.module in known, f"{path.name} imports {node.module}"
