import numpy as np
import pytest

from crowdassay.findings.scores import calibration, calibration_error
from crowdassay.labels.record import find_winners
from crowdassay.results.result import Result
from support.problems import random_labels


def made(posterior):
    labels = random_labels(0, n_items=len(posterior), n_classes=posterior.shape[1])
    nothing = np.zeros((labels.n_workers, 3, 3))
    return Result(labels, "made", {}, posterior, find_winners(posterior), nothing, nothing[:, 0, 0])


def test_bins_count_and_score():
    result = made(np.array([[0.55, 0.45, 0.0], [0.6, 0.4, 0.0], [0.0, 0.05, 0.95], [0.0, 1.0, 0.0]]))
    records = calibration(result, np.array([0, 2, 2, -1]))
    by_low = {record["low"]: record for record in records}
    assert sum(record["items"] for record in records) == 3
    assert by_low[0.5]["items"] == 2
    assert by_low[0.5]["error_rate"] == 0.5
    assert by_low[0.5]["mean_square_error"] == pytest.approx(2.0)
    assert by_low[0.9]["error_rate"] == 0.0
    assert calibration_error(records) == pytest.approx((2 * abs(0.575 - 0.5) + abs(0.95 - 1)) / 3)


def test_honest_probabilities_have_no_calibration_error():
    generator = np.random.default_rng(0)
    sure = generator.uniform(0.5, 1.0, 20000)
    posterior = np.stack([sure, 1 - sure], axis=1)
    labels = random_labels(0, n_items=20000, n_classes=2)
    nothing = np.zeros((labels.n_workers, 2, 2))
    result = Result(labels, "made", {}, posterior, find_winners(posterior), nothing, nothing[:, 0, 0])
    truth = (generator.random(20000) > sure).astype(int)
    assert calibration_error(calibration(result, truth)) < 0.02
