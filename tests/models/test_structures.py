import tracemalloc

import numpy as np
import pytest
import scipy
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from crowdassay.errors import ParameterError
from crowdassay.models.structures import (
    STRUCTURES,
    Structure,
    _same_everywhere,
    agreement,
    nominal,
    ordinal,
    reference_sets,
    resolve,
)

CASES = [(name, n) for name in STRUCTURES for n in (2, 3, 5)]


def random_sets(n_classes):
    return reference_sets(n_classes, [{0}, {0, 1}, {n_classes - 1}])


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_transpose_is_the_transpose_of_tables(name, n_classes):
    basis = resolve(name, n_classes).basis()
    generator = np.random.default_rng(0)
    coordinates, tables = generator.normal(size=(4, basis.size)), generator.normal(size=(4, n_classes, n_classes))
    assert np.sum(basis.tables(coordinates) * tables) == pytest.approx(np.sum(coordinates * basis.transpose(tables)))


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_coordinates_are_the_inverse_of_tables(name, n_classes):
    basis = resolve(name, n_classes).basis()
    coordinates = np.random.default_rng(1).normal(size=(4, basis.size))
    np.testing.assert_allclose(basis.coordinates(basis.tables(coordinates)), coordinates, atol=1e-12)


@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_ridge_on_raw_features_has_the_same_optimum_as_ridge_on_coordinates(name, n_classes):
    """The reduced coordinates lose nothing: same value, same probabilities, for a penalised softmax regression."""
    from scipy.optimize import minimize

    structure = resolve(name, n_classes)
    basis, features = structure.basis(), np.asarray(structure.features.todense())
    counts = np.random.default_rng(1).integers(0, 9, size=(n_classes, n_classes))

    def loss(table, norm):
        return 0.5 * 0.7 * norm - np.sum(counts * log_softmax(table, axis=1))

    raw = minimize(lambda t: loss((features @ t).reshape(n_classes, n_classes), t @ t), np.zeros(features.shape[1]), tol=1e-12)
    reduced = minimize(lambda a: loss(basis.tables(a[None])[0], a @ a), np.zeros(basis.size), tol=1e-12)
    assert raw.fun == pytest.approx(reduced.fun, rel=1e-8)
    np.testing.assert_allclose(
        log_softmax((features @ raw.x).reshape(n_classes, n_classes), axis=1),
        log_softmax(basis.tables(reduced.x[None])[0], axis=1),
        atol=1e-4,
    )


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_sizes_are_ranks(n_classes):
    assert nominal(n_classes).basis().size == n_classes * (n_classes - 1)
    assert ordinal(n_classes).basis().size == 2 * (n_classes - 1)
    assert agreement(n_classes).basis().size == 1


def test_ordinal_regions_are_those_of_the_papers_table_1():
    features = np.asarray(ordinal(4).features.todense()).reshape(4, 4, 12)
    below, above = [0, 1], [2, 3]
    expected = np.zeros((4, 4))
    expected[np.ix_(below, above)] = 1  # the partition with s = 2, the region c < s, k >= s
    np.testing.assert_array_equal(features[:, :, 4 * 1 + 1], expected)
    np.testing.assert_array_equal(features.sum(axis=2), np.full((4, 4), 3.0))  # each cell lies in one region per threshold


def test_two_classes_ordinal_spans_the_nominal_tables():
    generator = np.random.default_rng(2)
    tables = nominal(2).basis().tables(generator.normal(size=(5, 2)))
    basis = ordinal(2).basis()
    gram = basis.transpose(basis.tables(np.eye(2)))
    np.testing.assert_allclose(basis.tables(np.linalg.solve(gram, basis.transpose(tables).T).T), tables, atol=1e-12)


def test_features_constant_in_the_observed_class_are_invisible():
    structure = reference_sets(3, [{0}])
    constant = np.asarray(structure.features.todense()).reshape(3, 3, 4)[:, :, :2].sum(axis=2)
    assert np.all(constant == constant[:, :1])
    assert structure.basis().size == 2


def test_gradient_of_the_softmax_through_the_basis():
    basis = ordinal(4).basis()
    counts = np.random.default_rng(3).integers(0, 5, size=(4, 4)).astype(float)

    def value(a):
        return np.sum(counts * log_softmax(basis.tables(a[None])[0], axis=1))

    a = np.random.default_rng(4).normal(size=basis.size)
    p = np.exp(log_softmax(basis.tables(a[None])[0], axis=1))
    exact = basis.transpose((counts - counts.sum(axis=1, keepdims=True) * p)[None])[0]
    np.testing.assert_allclose(approx_fprime(a, value, 1e-7), exact, atol=1e-4)


@pytest.mark.parametrize("sets", [[], [[]], [[0, 1, 2]], [[3]]])
def test_nonsense_sets_are_refused(sets):
    with pytest.raises(ParameterError, match="set"):
        reference_sets(3, sets)


def test_unknown_structure_names_those_there_are():
    with pytest.raises(ParameterError, match="ordinal"):
        resolve("cubic", 3)
    with pytest.raises(ParameterError, match="3 classes but the labels have 4"):
        resolve(nominal(3), 4)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_axes_do_not_depend_on_which_of_equal_ones_a_processor_returns(name, n_classes):
    """Linear algebra returns any orthogonal axes of a space of equal scales: another processor, other axes."""
    basis, generator = resolve(name, n_classes).basis(), np.random.default_rng(0)
    for _, part, columns in basis.blocks():
        members = np.flatnonzero(basis.offsets == part.start)
        block = basis.columns[members][:, :, : columns.shape[1]].reshape(-1, columns.shape[1])
        scale = np.linalg.norm(block, axis=0)
        turned = np.zeros((len(scale), len(scale)))
        for size in np.unique(scale.round(8)):
            alike = np.flatnonzero(scale.round(8) == size)
            turned[np.ix_(alike, alike)] = np.linalg.qr(generator.standard_normal((len(alike), len(alike))))[0]
        assert np.allclose(_same_everywhere(block / scale @ turned, scale), block)


def test_features_that_a_softmax_cannot_see_have_no_coordinates():
    features = np.zeros((3, 3, 2))
    features[0, :, 0] = features[1, 1, 1] = 1  # the first is the same for every observed class
    assert Structure("partly seen", 3, scipy.sparse.csr_array(features.reshape(9, 2))).basis().size == 1


def test_axes_of_a_hundred_classes_take_no_array_of_all_pairs_of_cells():
    """A share of 101 levels is a scale: a projection of all cells on all would take 10^8 numbers."""
    tracemalloc.start()
    assert resolve("agreement", 101).basis().size == 1
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * 101**4 / 10
