"""crowd-kit's pairwise classes."""

from __future__ import annotations

import numpy as np
import pytest

from crowdassay.errors import DataError

pandas = pytest.importorskip("pandas")


def frame(seed=0, n=800):
    rng = np.random.default_rng(seed)
    score = np.array([1.0, 0.0, -1.0])
    left = rng.integers(3, size=n)
    right = (left + rng.integers(1, 3, size=n)) % 3
    won = rng.random(n) < 1 / (1 + np.exp(score[right] - score[left]))
    names = np.array(["x", "y", "z"])
    label = np.where(won, names[left], names[right])
    worker = rng.integers(5, size=n)
    label = np.where(worker == 4, names[left], label)  # always says left
    return pandas.DataFrame({"worker": worker, "left": names[left], "right": names[right], "label": label})


def test_bradley_terry_is_the_maximum_likelihood_one():
    from crowdassay import BradleyTerry as Ours
    from crowdassay.compat.crowdkit import BradleyTerry

    data = frame()
    scores = BradleyTerry(n_iter=1000, tol=1e-10).fit_predict(data)
    assert scores.sum() == pytest.approx(1)
    ours = Ours(prior=None, reliability=False, position=False).fit(data).scores_
    np.testing.assert_allclose(np.log(scores) - np.log(scores).mean(), ours, atol=1e-5)


def test_noisy_bradley_terry_finds_the_one_who_does_not_look():
    from crowdassay.compat.crowdkit import NoisyBradleyTerry

    model = NoisyBradleyTerry(n_iter=500).fit(frame())
    assert list(model.scores_.sort_values(ascending=False).index) == ["x", "y", "z"]
    assert model.skills_.idxmin() == 4
    assert model.biases_[4] > 0.9
    assert (model.scores_.name, model.skills_.name, model.biases_.name) == ("agg_score", "skill", "bias")


def test_items_without_a_win_have_no_score():
    """The numbers are crowd-kit's after ten steps."""
    from crowdassay.compat.crowdkit import BradleyTerry

    rows = [("a", "b", "a"), ("b", "c", "b"), ("c", "a", "a"), ("d", "a", "a"), ("d", "c", "c")]
    scores = BradleyTerry(n_iter=10, tol=0).fit(pandas.DataFrame(rows, columns=["left", "right", "label"])).scores_
    assert scores.name == "agg_score"
    np.testing.assert_allclose(scores[["a", "b", "c", "d"]], [0.857684, 0.128317, 0.013999, 0], atol=1e-6)


def test_bad_frames_are_refused():
    from crowdassay.compat.crowdkit import BradleyTerry

    with pytest.raises(DataError, match="neither of the two"):
        BradleyTerry(n_iter=5).fit(pandas.DataFrame({"left": ["x"], "right": ["y"], "label": ["q"]}))
    with pytest.raises(DataError, match="DataFrame"):
        BradleyTerry(n_iter=5).fit([1])
    assert BradleyTerry(n_iter=5).fit(pandas.DataFrame({"left": [], "right": [], "label": []})).scores_.empty
    assert BradleyTerry(n_iter=5).fit(pandas.DataFrame({"left": [], "right": [], "label": []})).scores_.name == "agg_score"
