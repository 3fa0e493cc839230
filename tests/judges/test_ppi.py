"""Intervals against ppi-python, closed forms and draws with known truth."""

import numpy as np
import pytest
from scipy.stats import norm

from crowdassay.judges.ppi import FEWEST_ITEMS, Sample, estimate_rate, exact, rate_moments, tuned_weight, wilson


def sample_of(truth, predicted, everyone, stratum=None, sizes=None, means=None):
    n = len(truth)
    stratum = np.zeros(n, int) if stratum is None else stratum
    sizes = np.array([len(everyone)]) if sizes is None else sizes
    means = np.array([np.mean(everyone)]) if means is None else means
    return Sample(np.asarray(truth, float), np.asarray(predicted, float), stratum, sizes, means, *np.zeros((3, n)))


def draw(generator, n_items, n, rate=0.5, accuracy=0.8):
    truth = generator.random(n_items) < rate
    predicted = np.where(truth ^ (generator.random(n_items) >= accuracy), accuracy, 1 - accuracy)
    seen = generator.permutation(n_items)[:n]
    return truth, predicted, seen


def test_the_estimate_for_a_process_is_that_of_ppi_python():
    ppi = pytest.importorskip("ppi_py")
    truth, predicted, seen = draw(np.random.default_rng(1), 2000, 200)
    rest = np.setdiff1d(np.arange(2000), seen)
    y = truth[seen].astype(float)
    weight = 0.6
    mine, variance = rate_moments(sample_of(y, predicted[seen], predicted), weight, 0.0, beyond=True)
    # Their weight goes with the unseen items alone, ours with all of them.
    theirs = weight * len(rest) / 2000
    assert mine == pytest.approx(
        float(ppi.ppi_mean_pointestimate(y, predicted[seen], predicted[rest], lam=theirs)[0]), abs=1e-12
    )
    low, high = ppi.ppi_mean_ci(y, predicted[seen], predicted[rest], alpha=0.05, lam=theirs)
    half = norm.ppf(0.975) * np.sqrt(variance)
    assert half == pytest.approx(float(high[0] - low[0]) / 2, rel=0.005)  # they divide by n, we by n - 1
    _, wider = rate_moments(sample_of(y, predicted[seen], predicted), weight, 3.84, beyond=True)
    assert 1 < wider / variance < 1.02  # labels are counted besides for which the prediction is worthless


def test_the_tuned_weight_is_that_of_ppi_python():
    ppi = pytest.importorskip("ppi_py")
    truth, predicted, seen = draw(np.random.default_rng(2), 4000, 400)
    rest = np.setdiff1d(np.arange(4000), seen)
    y, f = truth[seen].astype(float), predicted[seen]
    mine = tuned_weight(y - y.mean(), f - f.mean())
    theirs = float(ppi.ppi_mean_pointestimate(y, f, predicted[rest])[0])
    ours, _ = rate_moments(sample_of(y, f, predicted), mine, 0.0, beyond=True)
    assert ours == pytest.approx(theirs, abs=2e-3)  # they take the variance of predictions from all items


def test_people_alone_have_wilsons_interval():
    y = np.array([1.0] * 30 + [0.0] * 70)
    found = estimate_rate(sample_of(y, np.zeros(100), np.zeros(10**9)[:1000000]), powered=False)
    close = wilson(0.3, 100 / (1 - 100 / 1000000))
    assert (found.low, found.high) == pytest.approx((close.low, close.high), abs=1e-9)


def test_wilson_and_exact_against_scipy():
    from scipy.stats import binomtest

    for hits, n in ((0, 12), (3, 20), (20, 20), (7, 9)):
        theirs = binomtest(hits, n).proportion_ci(method="wilson")
        mine = wilson(hits / n, n)
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
        theirs = binomtest(hits, n).proportion_ci(method="exact")
        mine = exact(hits / n, n)
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_all_items_seen_leave_no_doubt():
    y = np.array([1.0, 0.0] * 25)
    found = estimate_rate(sample_of(y, y, y))
    assert (found.estimate, found.low, found.high) == (0.5, 0.5, 0.5)
    one_class = estimate_rate(sample_of(np.ones(30), np.ones(30), np.ones(30)))
    assert one_class.width == 0


def test_a_worthless_prediction_changes_nothing():
    generator = np.random.default_rng(3)
    y, f, everyone = generator.random(50) < 0.4, np.full(50, 0.4), np.full(500, 0.4)
    sample = sample_of(y, f, everyone)
    assert estimate_rate(sample) == estimate_rate(sample, powered=False)


def test_few_labels_get_an_exact_interval_without_the_prediction():
    y = np.ones(FEWEST_ITEMS - 1)
    found = estimate_rate(sample_of(y, y, np.ones(100)))
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 9), 1.0), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate"), [(20, 0.9), (50, 0.5), (100, 0.97)])
def test_intervals_hold_as_often_as_they_say(n, rate):
    generator = np.random.default_rng(n)
    held, narrower = [], []
    for _ in range(700):
        truth, predicted, seen = draw(generator, 400, n, rate)
        sample = sample_of(truth[seen], predicted[seen], predicted)
        found, alone = estimate_rate(sample), estimate_rate(sample, powered=False)
        held.append(found.low <= truth.mean() <= found.high)
        narrower.append(found.width / alone.width)
    assert 0.93 <= np.mean(held) <= 0.975  # the standard deviation of the share is 0.008
    assert max(narrower) <= 1.05 + 1e-9
    assert np.mean(narrower) < 1


def test_strata_drawn_at_different_rates_are_weighed_by_their_size():
    generator = np.random.default_rng(5)
    held, estimates, plain = [], [], []
    for _ in range(400):
        stratum = np.repeat([0, 1], [300, 100])
        truth = generator.random(400) < np.where(stratum == 0, 0.9, 0.3)
        seen = np.concatenate([generator.permutation(300)[:30], 300 + generator.permutation(100)[:50]])
        sample = sample_of(truth[seen], np.zeros(80), None, stratum[seen], np.array([300, 100]), np.zeros(2))
        found = estimate_rate(sample)
        held.append(found.low <= truth.mean() <= found.high)
        estimates.append(found.estimate - truth.mean())
        plain.append(truth[seen].mean() - truth.mean())
    assert abs(np.mean(estimates)) < 0.01
    assert abs(np.mean(plain)) > 0.1
    assert 0.92 <= np.mean(held) <= 0.98
