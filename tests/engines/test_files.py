import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.errors import ParameterError
from crowdassay.estimators.dawid_skene import DawidSkene
from crowdassay.estimators.minimax import MinimaxEntropy
from crowdassay.estimators.scaled import GLAD
from crowdassay.labels.folder import RESULT_TABLES
from crowdassay.models.family import Model
from crowdassay.models.structures import nominal
from crowdassay.results.run import fit
from crowdassay.results.write import write_result
from support.parity import same_table
from support.spools import spool_labels

LABELS = simulate(np.random.default_rng(0), n_items=3000, n_workers=40, n_classes=3)[0]


@pytest.fixture
def spool(tmp_path):
    return spool_labels(LABELS, tmp_path, size=1000)


def test_the_result_does_not_depend_on_the_number_of_threads(spool):
    basis = nominal(3).basis()
    model, sigma = Model(basis, basis, 1.0, 2.0), np.random.default_rng(1).normal(size=(40, 3, 3))
    sums = []
    for threads in (1, 3):
        engine = FilesPlace(spool, threads).engine(gathered=False)
        engine.sweep(model, sigma, np.zeros(3))
        sums.append(engine.sweep(model, sigma / 2, np.zeros(3)))
    assert sums[0].objective == sums[1].objective
    np.testing.assert_array_equal(sums[0].gradient, sums[1].gradient)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_tables_are_those_of_a_fit_in_memory(spool, tmp_path, form):
    results = [fit(DawidSkene(max_iter=20), place, gather_below=0) for place in (MemoryPlace(LABELS), FilesPlace(spool))]
    for number, result in enumerate(results):
        write_result(result, {}, tmp_path / str(number), form)
    for name in sorted(set(RESULT_TABLES) - {"confusion"}):  # which is for more classes
        tables = [read(tmp_path / str(number) / f"{name}.{form}") for number in (0, 1)]
        same_table(*tables, name, atol=1e-8, tied={})


def read(path):
    return pq.read_table(path) if path.suffix == ".parquet" else pyarrow.csv.read_csv(path)


def test_methods_that_need_all_labels_say_so(spool):
    for method, words in (
        (GLAD(), "needs all labels in memory: take another, or take --engine local"),
        (MinimaxEntropy(gamma="auto"), "Choosing gamma"),
        (MinimaxEntropy(starts=2), "Several starts need class weights of every item in memory; take starts=1"),
    ):
        with pytest.raises(ParameterError, match=words):
            fit(method, FilesPlace(spool), gather_below=0)


def test_weak_items_are_those_of_memory(tmp_path):
    """On large data with a strong penalty items go without coordinates, in both engines alike."""
    labels = simulate(np.random.default_rng(3), n_items=25_000, n_workers=50, n_classes=2)[0]
    basis = nominal(2).basis()
    model, sigma = Model(basis, basis, 1.0, 500.0), np.random.default_rng(1).normal(size=(50, 2, 2))
    files = FilesPlace(spool_labels(labels, tmp_path, size=30_000)).engine(gathered=False)
    local = LocalEngine(labels, gathered=False)
    for _ in range(2):
        found, expected = (engine.sweep(model, sigma, np.zeros(2)) for engine in (files, local))
        assert found.objective == pytest.approx(expected.objective, rel=1e-13)
        np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-9)
