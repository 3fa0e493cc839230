"""Agreement with girth, an established package, on simulated responses (items in rows, workers in columns there)."""

import numpy as np
import pytest

from crowdassay import PartialCredit, Rasch
from support.draws import draw_scores

girth = pytest.importorskip("girth", reason="girth, the package compared with, is not installed: pip install girth")

STEPS = np.linspace(-2, 2, 15)[:, None]


@pytest.fixture(scope="module")
def rasch():
    data, _, table = draw_scores(0, 2000, STEPS, spread=1.2)
    return Rasch(prior=None).fit(data), table.T


def test_rasch_by_marginal_likelihood(rasch):
    """girth's one-parameter model has abilities of spread 1 and a common slope: the same model in another unit."""
    fit, table = rasch
    theirs = girth.onepl_mml(table)
    assert fit.spread_ == pytest.approx(theirs["Discrimination"], abs=0.005)
    ours = np.array(fit.difficulties_["difficulty"])
    np.testing.assert_allclose(ours, theirs["Difficulty"] * theirs["Discrimination"], atol=0.01)


def test_rasch_by_conditional_likelihood(rasch):
    """The conditional estimate assumes nothing about abilities; it is free up to a shift."""
    fit, table = rasch
    ours, theirs = np.array(fit.difficulties_["difficulty"]), girth.rasch_conditional(table)["Difficulty"]
    np.testing.assert_allclose(ours - ours.mean(), theirs - theirs.mean(), atol=0.01)


def test_abilities(rasch):
    fit, table = rasch
    slope, ours = fit.spread_, np.array(fit.difficulties_["difficulty"])
    theirs = girth.ability_eap(table, ours / slope, np.full(len(ours), slope)) * slope
    abilities = np.array(fit.abilities_["ability"])[np.argsort(np.array(fit.abilities_["worker"]))]
    np.testing.assert_allclose(abilities, theirs, atol=0.005)


@pytest.mark.slow
def test_partial_credit():
    """girth frees a slope for each item, so on data whose slopes are all one the two differ by noise alone."""
    steps = np.linspace(-1, 1, 6)[:, None] + np.array([-1.0, 0.0, 1.0]) + 0.3 * np.random.default_rng(0).normal(size=(6, 3))
    data, _, table = draw_scores(1, 2000, steps)
    fit, theirs = PartialCredit(prior=None).fit(data), girth.pcm_mml(table.T)
    assert theirs["Discrimination"].mean() == pytest.approx(fit.spread_, abs=0.03)
    ours = np.array(fit.thresholds_["threshold"]).reshape(6, 3)
    difference = ours - theirs["Difficulty"] * theirs["Discrimination"].mean()
    assert np.abs(difference).max() < np.array(fit.thresholds_["standard_error"]).max()
    assert np.sqrt(np.mean(difference**2)) < 0.05
    abilities = np.array(fit.abilities_["ability"])[np.argsort(np.array(fit.abilities_["worker"]))]
    assert np.corrcoef(abilities, theirs["Ability"])[0, 1] > 0.999
