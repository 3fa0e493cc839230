"""What people say, and how often they err."""

import numpy as np
import pytest

from crowdassay import as_labels
from crowdassay.judges.people import gather_people
from crowdassay.judges.rates import Evidence, find_rates
from crowdassay.judges.verdicts import split_verdicts
from support.panels import judged


def seen_by(labels, *people, **more):
    return gather_people(split_verdicts(labels, people, classes=["pass", "fail"], **more))


def test_the_error_rate_comes_from_pairs():
    labels, _ = judged(np.random.default_rng(0), 4000, n_seen=4000, people=(0.9, 0.9, 0.9))
    people = seen_by(labels, "person0", "person1", "person2")
    assert people.pairs == 12000
    assert people.error == pytest.approx(0.1, abs=3 * people.error_se)
    assert 0 < people.error_se < 0.01


@pytest.mark.slow
def test_rates_are_corrected_for_peoples_errors():
    held, naive, corrected = [], [], []
    for seed in range(150):
        labels, passes = judged(np.random.default_rng(seed), 400, (0.7,), n_seen=120, rate=0.9, people=(0.85, 0.85))
        people = seen_by(labels, "person0", "person1")
        flat = np.full((400, 2), 0.5)
        rates = find_rates(Evidence(people, flat, flat, np.zeros(400, int), np.zeros(400, int)), np.ones(400, bool))
        assert rates is not None
        held.append(rates[0].low <= passes.mean() <= rates[0].high)
        naive.append(people.share[:, 0].mean() - passes.mean())
        corrected.append(people.truth[:, 0].mean() - passes.mean())
    assert np.mean(naive) < -0.1
    assert abs(np.mean(corrected)) < 0.015
    assert 0.9 <= np.mean(held) <= 0.99


def test_people_who_agree_no_better_than_chance_are_not_corrected_but_told():
    labels, _ = judged(np.random.default_rng(1), 200, n_seen=200, people=(0.5, 0.5))
    people = seen_by(labels, "person0", "person1")
    assert people.error == 0
    assert any("hardly more than chance" in note for note in people.notes)


def test_a_person_who_contradicts_himself_counts_once():
    rows = [("a", "m", "pass"), ("a", "ann", "pass"), ("a", "ann", "fail"), ("b", "ann", "fail"), ("b", "m", "fail")]
    people = seen_by(as_labels(tuple(zip(*rows, strict=True))), "ann")
    assert people.share.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert people.pairs == 0
    assert people.doubt.tolist() == [[0.25, 0.25], [0.0, 0.0]]
    assert any("contradict themselves on 1 item" in note for note in people.notes)


def test_gold_is_without_error_and_overrules_people():
    rows = [("a", "m", "pass"), ("a", "ann", "fail"), ("b", "m", "fail")]
    people = seen_by(as_labels(tuple(zip(*rows, strict=True))), "ann", gold={"a": "pass", "b": "fail"})
    assert people.share.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert people.n_labels == 2
    assert not people.noise.any()
