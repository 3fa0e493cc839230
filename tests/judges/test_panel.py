"""Each judge against people, the order of choices, and judges to drop."""

import numpy as np
import pytest

from crowdassay import as_labels
from crowdassay.judges.panel import bias_in_words, cohen_kappa, order_bias
from crowdassay.judges.people import gather_people
from crowdassay.judges.ppi import difference, wilson
from crowdassay.judges.rate import rate
from crowdassay.judges.redundancy import judges_to_drop
from crowdassay.judges.verdicts import split_verdicts
from support.panels import judged


def test_kappa_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    one, other = generator.integers(3, size=80), generator.integers(3, size=80)
    other[:50] = one[:50]
    assert cohen_kappa(one, other, 3) == pytest.approx(metrics.cohen_kappa_score(one, other))


def test_judges_are_described_against_people():
    labels, passes = judged(np.random.default_rng(1), 400, (0.9, 0.5), n_seen=200)
    found = rate(labels, people=["person0"])
    good, bad = found.judges
    assert good.accuracy is not None
    assert good.accuracy.low < 0.9 < good.accuracy.high
    assert good.items == 200
    assert good.verdict == "agrees well with people"
    assert bad.verdict in {"hardly better than guessing", "worse than always naming the most common class"}
    assert good.counts.sum() == 200
    record = found.as_dict()["judges"][0]
    assert record["confusion"]["pass"]["pass"] == pytest.approx(0.9, abs=0.08)
    assert sum(record["confusion"]["pass"].values()) == pytest.approx(1, abs=1e-3)
    assert passes.any()


def test_bias_is_told_in_words_and_not_from_few_items():
    classes = ("pass", "fail")
    assert bias_in_words(np.array([[20.0, 0.0], [9.0, 20.0]]), classes, classes)[0] == (
        "says pass for 31 % of what people call fail (9 of 29)"
    )
    assert bias_in_words(np.array([[20.0, 1.0], [1.0, 20.0]]), classes, classes) == ("no clear bias", False)
    assert bias_in_words(np.array([[2.0, 1.0], [1.0, 2.0]]), classes, classes) == ("too few items seen by people", False)


def test_a_judge_whom_people_never_saw_is_named_and_left_open():
    rows = [(f"i{j}", "m", "pass" if j % 3 else "fail") for j in range(60)]
    rows += [(f"i{j}", "n", "pass" if j % 3 else "fail") for j in range(30, 60)]
    rows += [(f"i{j}", "ann", "pass" if j % 3 else "fail") for j in range(25)]
    found = rate(tuple(zip(*rows, strict=True)), people=["ann"])
    assert found.judges[1].accuracy is None
    assert found.droppable == []
    assert found.likeness.judges == 0
    assert found.judges[1].verdict == "never seen by people"
    assert any("'n'" in note and "nothing can be said" in note for note in found.notes)


def ordered(effect, seed=0, n=200):
    """Return verdicts in both orders by a judge who favours what is shown first."""
    generator = np.random.default_rng(seed)
    rows, order = [], []
    for j in range(n):
        for shown in ("ab", "ba"):
            first = generator.random() < effect
            rows.append((f"i{j}", "m", shown[0] if first else "ab"[j % 2]))
            order.append(shown)
    rows += [(f"i{j}", "ann", "ab"[j % 2]) for j in range(20)]
    order += ["ab"] * 20
    return as_labels(tuple(zip(*rows, strict=True))), rows, order


def test_order_bias_is_seen_and_its_absence_too():
    labels, rows, order = ordered(0.3)
    # The order belongs to labels as they stand, item by item.
    place = sorted(range(len(rows)), key=lambda r: [str(i) for i in labels.items.to_pylist()].index(rows[r][0]))
    found = rate(labels, people=["ann"], order=[order[r] for r in place])
    assert found.orders is not None
    bias = found.orders[0]
    assert bias is not None
    assert bias.shift.low > 0.15 or bias.shift.high < -0.15
    assert bias.items == 200
    assert bias.flipped == pytest.approx(0.3, abs=0.08)
    assert "points more often in order ab than in ba" in bias.in_words() or "points less often" in bias.in_words()
    verdicts = split_verdicts(labels, ["ann"])
    same = order_bias(verdicts, np.zeros(len(verdicts.item), int), ("ab",), 0)
    assert same is None


def test_differences_of_shares_have_newcombes_interval():
    # His example (56 of 70 against 48 of 80): 0.0524 to 0.3339.
    found = difference(wilson(56 / 70, 70), wilson(48 / 80, 80))
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_copies_and_guessers_can_be_dropped_the_dearest_first():
    labels, _ = judged(np.random.default_rng(3), 400, (0.9, 0.85, 0.5), n_seen=250)
    verdicts = split_verdicts(labels, ["person0"])
    people = gather_people(verdicts)
    steps = judges_to_drop(verdicts, people, np.ones(3), np.random.default_rng(0))
    assert steps[0].judge == 2
    assert steps[0].bearable
    assert not steps[1].bearable
    labels, _ = judged(np.random.default_rng(4), 400, (0.85,), copies=2, n_seen=250)
    verdicts = split_verdicts(labels, ["person0"])
    steps = judges_to_drop(verdicts, gather_people(verdicts), np.array([1.0, 9.0]), np.random.default_rng(0))
    assert [step.judge for step in steps] == [1]
    assert steps[0].bearable
    assert steps[0].saved == pytest.approx(0.9)


def test_nothing_is_dropped_on_few_labels():
    labels, _ = judged(np.random.default_rng(5), 100, n_seen=20)
    verdicts = split_verdicts(labels, ["person0"])
    assert judges_to_drop(verdicts, gather_people(verdicts), np.ones(3), np.random.default_rng(0)) == ()
