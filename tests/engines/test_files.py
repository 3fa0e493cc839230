import numpy as np
import pyarrow.parquet as pq
import pytest

from crowdassay.engines.files import FilesEngine
from crowdassay.engines.local import LocalEngine
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.assay import Assay
from crowdassay.estimators.dawid_skene import DawidSkene
from crowdassay.estimators.from_files import fit_spool
from crowdassay.estimators.glad import GLAD
from crowdassay.estimators.majority import MajorityVote
from crowdassay.estimators.minimax import MinimaxEntropy
from crowdassay.io.encode import encode
from crowdassay.io.spool import spool_labels
from crowdassay.io.stream import table_streams
from crowdassay.io.tables import TABLES
from crowdassay.model.family import Model
from crowdassay.model.structures import nominal
from crowdassay.simulation.simulate import simulate

LABELS = simulate(np.random.default_rng(0), n_items=3000, n_workers=40, n_classes=3)[0]


@pytest.fixture
def spool(tmp_path):
    return spool_labels(LABELS, tmp_path, size=1000)


def test_the_result_does_not_depend_on_the_number_of_threads(spool):
    basis = nominal(3).basis()
    model, sigma = Model(basis, basis, 1.0, 2.0), np.random.default_rng(1).normal(size=(40, 3, 3))
    sums = []
    for threads in (1, 3):
        engine = FilesEngine(spool, threads=threads)
        engine.sweep(model, sigma, np.zeros(3))
        sums.append(engine.sweep(model, sigma / 2, np.zeros(3)))
    assert sums[0].objective == sums[1].objective
    np.testing.assert_array_equal(sums[0].gradient, sums[1].gradient)


def test_items_go_on_from_where_they_were(spool):
    basis = nominal(3).basis()
    model, generator = Model(basis, basis, 1.0, 2.0), np.random.default_rng(1)
    files, local = FilesEngine(spool), LocalEngine(LABELS)
    for step in range(4):
        sigma = generator.normal(size=(40, 3, 3))
        if step == 2:
            files.restart()
            local.restart()
        found, expected = (engine.sweep(model, sigma, np.zeros(3)) for engine in (files, local))
        assert found.objective == pytest.approx(expected.objective, rel=1e-13)
        np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-10)
    kept = np.concatenate([files.at_block(number, model).coordinates(model) for number in range(len(spool.sizes))])
    np.testing.assert_allclose(kept, local.coordinates(model), atol=1e-10)


@pytest.mark.parametrize(
    "estimator",
    [
        MajorityVote(),
        Assay(items=False),
        DawidSkene(max_iter=20),
        MinimaxEntropy(starts=1, tol=1e-6),
        MinimaxEntropy(item_structure="none"),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_tables_are_those_of_a_fit_in_memory(spool, tmp_path, estimator, form):
    expected = type(estimator)(**estimator.get_params()).fit(LABELS).result_
    out = tmp_path / "out"
    out.mkdir()
    with table_streams(out, TABLES, form) as streams:
        found = fit_spool(estimator, spool, streams)
    if expected.objective is not None:
        assert found.solution.objective == pytest.approx(expected.objective, rel=1e-8)
        assert found.solution.n_iter == expected.n_iter
    assert found.result.parameters.keys() == expected.parameters.keys()
    for name, value in expected.parameters.items():
        assert found.result.parameters[name] == (value if value is None or isinstance(value, str) else pytest.approx(value))
    for name in TABLES:
        table = read(out / f"{name}.{form}")
        whole = getattr(expected, f"{name}_table")()
        assert (table.num_rows, table.column_names) == (whole.num_rows, whole.column_names)
        for column in table.column_names:
            values, others = table[column].to_pylist(), whole[column].to_pylist()
            if isinstance(others[0], float):
                np.testing.assert_allclose(np.array(values, float), np.array(others, float), atol=1e-8, err_msg=column)
            else:
                assert list(map(plain, values)) == list(map(plain, others)), column
    assert found.tally.tied == int(expected.tied.sum())
    assert found.tally.probability == pytest.approx(expected.probability.sum())


def plain(value):
    return "" if value is None else str(value)  # CSV does not tell empty from missing


def read(path):
    if path.suffix == ".parquet":
        return pq.read_table(path)
    import pyarrow.csv

    return pyarrow.csv.read_csv(path)


def test_methods_that_need_all_labels_say_so(spool):
    with pytest.raises(ParameterError, match="needs all labels in memory"):
        fit_spool(GLAD(), spool)
    with pytest.raises(ParameterError, match="Choosing gamma"):
        fit_spool(MinimaxEntropy(gamma="auto"), spool)
    with pytest.raises(ParameterError, match="take starts=1"):
        fit_spool(MinimaxEntropy(starts=2), spool)


def test_an_order_that_nobody_gave_is_refused(tmp_path):
    import pyarrow as pa

    labels = encode(pa.array(list("aab")), pa.array(list("xyx")), pa.array(["low", "high", "medium"]))
    with pytest.raises(DataError, match="in order with `classes`"):
        fit_spool(MinimaxEntropy(structure="ordinal"), spool_labels(labels, tmp_path))


def test_light_items_are_those_of_memory(tmp_path):
    """On large data with a strong penalty items go without coordinates, in both engines alike."""
    labels = simulate(np.random.default_rng(3), n_items=25_000, n_workers=50, n_classes=2)[0]
    basis = nominal(2).basis()
    model, sigma = Model(basis, basis, 1.0, 500.0), np.random.default_rng(1).normal(size=(50, 2, 2))
    files, local = FilesEngine(spool_labels(labels, tmp_path, size=30_000)), LocalEngine(labels)
    for _ in range(2):
        found, expected = (engine.sweep(model, sigma, np.zeros(2)) for engine in (files, local))
        assert found.objective == pytest.approx(expected.objective, rel=1e-13)
        np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-9)
    assert not (tmp_path / "coordinates.f64").exists()
