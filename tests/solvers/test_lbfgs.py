import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from crowdassay.solvers.lbfgs import maximise
from crowdassay.threads import one_blas_thread


@pytest.fixture(autouse=True)
def quiet_blas():
    """As in every fit: on a busy machine the threads of a linear algebra library wait for one another."""
    with one_blas_thread():
        yield


def test_a_curved_valley_is_climbed_out_of():
    start = np.array([-1.2, 1.0, -0.5, 2.0])
    point, value, history, n_iter, converged = maximise(
        lambda x: (-rosen(x) - 1.0, -rosen_der(x)), start, np.ones(4), max_iter=500, tol=1e-14
    )
    assert converged
    assert n_iter < 200
    assert value == history[-1]
    assert np.diff(history).min() > 0
    np.testing.assert_allclose(point, 1.0, atol=1e-5)


def test_units_take_the_curvature_out():
    """In its own scales a badly scaled bowl is round, and round bowls take a few steps."""
    curvature = np.logspace(0, 6, 30)
    target = np.linspace(-1, 1, 30)

    def bowl(x):
        return -1.0 - 0.5 * float(curvature @ (x - target) ** 2), -curvature * (x - target)

    *_, plain, _ = maximise(bowl, np.zeros(30), np.ones(30), max_iter=2000, tol=1e-12)
    point, *_, scaled, _ = maximise(bowl, np.zeros(30), curvature**-0.5, max_iter=2000, tol=1e-12)
    assert scaled <= 10 < plain
    np.testing.assert_allclose(point, target, atol=1e-5)


@pytest.mark.parametrize("allowed", [1, 2, 5])
def test_a_run_cut_short_keeps_what_it_has(allowed):
    def valley(x):
        return -rosen(x), -rosen_der(x)

    point, value, history, n_iter, converged = maximise(valley, np.array([-1.2, 1.0]), np.ones(2), max_iter=allowed, tol=1e-12)
    assert not converged
    assert n_iter == allowed
    assert value == valley(point)[0] == max(history)


def test_a_summit_is_not_left():
    *_, n_iter, converged = maximise(lambda x: (-1.0, 0 * x), np.ones(3), np.ones(3), max_iter=10, tol=1e-9)
    assert converged
    assert n_iter == 1
