"""Special functions for small data equal SciPy's, and which of both is used depends on the numbers alone."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.special as sp

from crowdassay import special

RANDOM = np.random.default_rng(0)
SIZES = (1.0, 10.0, 100.0, 10_000.0)


def draw(size):
    return RANDOM.uniform(1e-3, size, 200), RANDOM.uniform(1e-3, size, 200)


def test_normal_and_logistic_functions():
    x = np.concatenate([RANDOM.normal(0, 10, 300), [0.0, -37.0, 40.0, -800.0, 800.0]])
    np.testing.assert_allclose(special.ndtr(x), sp.ndtr(x), rtol=1e-12)
    np.testing.assert_allclose(special.expit(x), sp.expit(x), rtol=1e-14)
    p = RANDOM.uniform(0, 1, 300)
    np.testing.assert_allclose(special.logit(p), sp.logit(p), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_incomplete_gamma(size):
    a, _ = draw(size)
    x = a * np.exp(RANDOM.normal(0, 2, 200) / np.sqrt(a + 1))
    np.testing.assert_allclose(special.gammainc(a, x), sp.gammainc(a, x), rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("least", [0.0, 0.5])
def test_incomplete_beta_and_its_inverse(size, least):
    a, b = (one + least for one in draw(size))
    for p in (0.025, 0.5, 0.975):
        x = special.betaincinv(a, b, p)
        np.testing.assert_allclose(x, sp.betaincinv(a, b, p), rtol=1e-11, atol=1e-290)
        np.testing.assert_allclose(special.betainc(a, b, x), sp.betainc(a, b, x), rtol=1e-11)


def test_many_numbers_are_left_to_scipy(monkeypatch):
    a, b = draw(10.0)
    monkeypatch.setattr(special, "FEW_NUMBERS", 0.0)
    for name, arguments in {"ndtr": (a,), "gammainc": (a, b), "betainc": (a, b, 0.5), "betaincinv": (a, b, 0.5)}.items():
        assert getattr(special, name)(*arguments).tolist() == getattr(sp, name)(*arguments).tolist()


def test_nothing_is_nothing():
    assert special.betaincinv(np.empty(0), np.empty(0), 0.5).shape == special.gammainc(np.empty(0), np.empty(0)).shape == (0,)


def test_few_numbers_do_not_load_scipy():
    code = "import sys, numpy as np; from crowdassay import special as s; x = np.ones(9); "
    code += "s.ndtr(x), s.gammainc(x, x), s.betaincinv(x, x, 0.1), s.expit(x), s.logit(x / 2); sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
