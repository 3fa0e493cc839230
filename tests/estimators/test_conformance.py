"""Every method in the table under every check; a failure reads method-check."""

import numpy as np
import pytest
from sklearn.base import clone

from crowdassay.checks.estimators import CHECKS, check_history, check_probabilities, check_tables
from crowdassay.checks.simulate import simulate
from crowdassay.errors import CrowdassayError, DataError
from crowdassay.estimators.methods import METHODS
from support.problems import random_labels

BINARY, _ = simulate(np.random.default_rng(0), n_items=60, n_workers=8, n_classes=2, item_spread=0.3)
THREE, _ = simulate(np.random.default_rng(1), n_items=60, n_workers=8, n_classes=3, item_spread=0.3)
RAGGED = random_labels(3, n_classes=2)


def fits(method, labels):
    try:
        method.make().fit(labels)
    except DataError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", METHODS)
def test_binary(name, check):
    check(METHODS[name].make, BINARY)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", METHODS)
def test_three_classes(name, check):
    if not fits(METHODS[name], THREE):
        pytest.skip(f"{name} takes two classes only")
    check(METHODS[name].make, THREE)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_ragged_labels_with_repeats(name):
    for check in (check_probabilities, check_tables, check_history):
        check(METHODS[name].make, RAGGED)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_refusal_names_alternatives(name):
    if fits(METHODS[name], THREE):
        pytest.skip(f"{name} takes any number of classes")
    with pytest.raises(DataError, match=r"dawid-skene|one-coin") as refusal:
        METHODS[name].make().fit(THREE)
    assert "3" in str(refusal.value)


@pytest.mark.parametrize("name", METHODS)
def test_scikit_learn_can_clone(name):
    estimator = METHODS[name].make()
    assert clone(estimator).get_params() == estimator.get_params()
    with pytest.raises(CrowdassayError, match="no parameter 'nonsense'"):
        estimator.set_params(nonsense=1)


@pytest.mark.parametrize("name", METHODS)
def test_asking_before_the_fit_is_refused(name):
    with pytest.raises(CrowdassayError, match="call fit"):
        METHODS[name].make().predict()
