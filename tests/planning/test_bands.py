"""Bands: which labels are surer than which, the one estimate of the error shared out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdassay import Assay
from crowdassay.planning.bands import FEWEST_IN_BAND, MOST_BANDS, make_bands, percent, told_bands
from crowdassay.planning.stop import believe, count_doubts, estimate_error


def bands_of(*known):
    """Return the bands of a job and how many labels are likely right."""
    return make_bands(estimate_error(*known), known[2], believe(*known))


@settings(max_examples=30)
@given(st.lists(st.floats(0.0, 0.9), min_size=1, max_size=120), st.integers(0, 40), st.lists(st.booleans(), max_size=30))
def test_they_hold_every_item_and_add_up_to_the_error(doubt, n_known, right):
    doubts, n = count_doubts(np.array(doubt)), len(doubt) + n_known
    checked = np.column_stack([count_doubts(np.full(sum(one is which for one in right), 0.2)) for which in (True, False)])
    limit = estimate_error(n, sum(doubt), doubts, checked)
    bands, likely = bands_of(n, sum(doubt), doubts, checked)
    assert sum(band.items for band in bands) == len(doubt)
    assert sum(band.items * band.error for band in bands) == pytest.approx(n * limit.error, rel=1e-9)
    assert sum(band.items * band.low for band in bands) <= n * limit.error <= sum(band.items * band.high for band in bands)
    assert len(bands) <= min(MOST_BANDS, max(len(doubt) // FEWEST_IN_BAND, 1))
    assert all(0 <= band.low <= band.error <= band.high <= 1 for band in bands)
    assert [band.most for band in bands[1:]] == [band.least for band in bands[:-1]]
    assert len({percent(band.error) for band in bands}) == len(bands)
    assert 0 <= likely <= sum(one < 0.5 for one in doubt) + 1  # a level holds what lies around one half


def test_labels_that_are_equally_sure_are_one_band():
    doubts = count_doubts(np.full(200, 0.1))
    bands, _ = bands_of(200, 20.0, doubts)
    assert [(band.items, band.least, band.most) for band in bands] == [(200, 0.0, 1.0)]
    assert told_bands(bands) == ""


def test_known_items_that_are_wrong_leave_fewer_labels_that_are_likely_right():
    doubts = count_doubts(np.repeat([0.02, 0.1, 0.4], 50))
    wrong, right = (np.column_stack([count_doubts(np.full(k, 0.1)) for k in pair]) for pair in ((5, 25), (29, 1)))
    checked, unchecked, bad = (bands_of(150, 26.0, doubts, one)[1] for one in (right, None, wrong))
    assert checked > unchecked > bad


@pytest.mark.parametrize("name", ["bluebirds", "rte", "temp", "face_sentiment", "css_emotion", "weather_sentiment"])
def test_the_surest_labels_of_real_crowds_are_wrong_least(real, name):
    labels, truth = real(name)
    result = Assay().fit(labels).result_
    known = truth >= 0
    wrong, p = (result.code != truth)[known], result.probability[known]
    shares = [wrong[(p > band.least) & (p <= band.most)].mean() for band in result.insight.bands]
    assert len(shares) > 1
    assert shares[0] < wrong.mean() < shares[-1]
