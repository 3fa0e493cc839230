"""Each kind of bad worker is found and named, with a verb and a reason; honest workers are left alone."""

from dataclasses import replace
from functools import cache, reduce
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import DawidSkene, Labels
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.findings.drift import Clock, find_drift
from crowdassay.findings.passes import two_passes
from crowdassay.findings.verdicts import KEEP, REMOVE, RETRAIN, TALK, UNKNOWN, Fault, attention, decide, shown_time
from crowdassay.findings.workers import Behaviour
from crowdassay.labels.join import take_items

PLACE = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"


def bench():
    spec = spec_from_file_location("verdicts", PLACE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def job():
    """One job with every kind of fault, its names and what is found."""
    verdicts = bench()
    labels, names = verdicts.draw_job(np.random.default_rng(3), per_worker=300)
    return labels, names, DawidSkene(smoothing=0.5).fit(labels).result_


EXPECTED = {
    "falls from .93 to .50": ("drifting", TALK, "of the time until"),
    "falls from .93 to .70": ("drifting", TALK, "December 2023, then"),
    "reads neutral as positive (66%)": ("biased", RETRAIN, "of what is neutral (a typical worker:"),
    "reads neutral as positive (40%)": ("biased", RETRAIN, "says positive to"),
    "guesses": ("spammer", REMOVE, "answers as if by chance"),
    "one answer": ("one answer", REMOVE, "says neutral to"),
    "copies another": ("copy", TALK, "w0 gave the same answer"),
    "below par (.65)": ("below par", RETRAIN, "a typical worker would be right"),
    "too fast (1 s)": ("too fast", TALK, "for a label where most take"),
    "contradicts": ("adversary", TALK, "contradicts the others"),
}


@pytest.mark.parametrize("fault", EXPECTED)
def test_every_fault_is_named_with_a_verb_and_a_reason(fault):
    _, names, result = job()
    i, found = names.index(fault), result.insight
    verdict, action, words = EXPECTED[fault]
    assert (found.verdicts[i], found.actions[i]) == (verdict, action)
    assert words in found.evidence[i]
    assert found.reasons[i][0].p < 0.01


def test_the_honest_are_kept():
    _, names, result = job()
    found = result.insight
    honest = [i for i, name in enumerate(names) if not name and i > 0]  # the first is the one who is copied
    assert sum(found.actions[i] != KEEP for i in honest) <= 1
    assert found.verdicts[0] == "copy"


def test_attention_goes_to_the_most_urgent_first():
    _, _, result = job()
    found = result.insight
    actions = [found.actions[i] for i in found.attention]
    assert actions == sorted(actions, key=[REMOVE, TALK, RETRAIN].index)
    assert len(actions) >= len(EXPECTED)


def measured(labels, result):
    return two_passes(MemoryPlace(labels), lambda _: (result, None))


def test_the_change_is_found_where_it_is():
    labels, names, result = job()
    found = measured(labels, result)
    clock = found.first.clock
    drift = find_drift(found.expectation.compare(labels, labels.compared, result.posterior, clock)[1].paces)
    fallen = names.index("falls from .93 to .50")
    assert drift.before[fallen] > 0.85
    assert drift.after[fallen] < 0.62
    assert abs(drift.split[fallen] - clock.n_bins / 2) <= 5


def test_blocks_add_up_to_the_whole():
    labels, _, result = job()
    rows = np.array_split(np.random.default_rng(0).permutation(labels.n_items), 3)
    blocks = [take_items(labels, part) for part in rows]
    clocks = [Clock.of(block.worker, block.n_workers, block.time, block.duration) for block in blocks]
    clock, whole = reduce(Clock.join, clocks), Clock.of(labels.worker, labels.n_workers, labels.time, labels.duration)
    np.testing.assert_array_equal(clock.first, whole.first)
    np.testing.assert_array_equal(clock.took, whole.took)
    expectation = measured(labels, result).expectation
    parts = [
        expectation.compare(block, block.compared, result.posterior[part], clock)[1]
        for block, part in zip(blocks, rows, strict=True)
    ]
    joined, alone = reduce(Behaviour.join, parts), expectation.compare(labels, labels.compared, result.posterior, whole)[1]
    for name in ("sums", "cells", "answers", "paces"):
        np.testing.assert_allclose(getattr(joined, name), getattr(alone, name), atol=1e-9)
    assert joined.sums[:, 0].sum() == labels.n_labels


def test_without_times_nobody_drifts_or_hurries():
    labels, _, _ = job()
    found = DawidSkene(smoothing=0.5).fit(replace(labels, time=None, duration=None)).result_.insight
    assert not {"drifting", "too fast"} & set(found.verdicts)
    missing = np.full(labels.n_labels, np.nan)
    again = DawidSkene(smoothing=0.5).fit(replace(labels, time=missing, duration=missing)).result_.insight
    assert again.verdicts == found.verdicts


def test_what_befalls_everybody_is_held_against_nobody():
    generator = np.random.default_rng(0)
    n_items, each, n_workers = 800, 5, 20
    truth = generator.integers(2, size=n_items)
    worker = np.argsort(generator.random((n_items, n_workers)), axis=1)[:, :each]
    accuracy = np.where(np.arange(n_items) < n_items / 2, 0.95, 0.75)  # later items are harder for all
    label = np.where(generator.random((n_items, each)) < accuracy[:, None], truth[:, None], 1 - truth[:, None])
    labels = Labels.from_codes(
        np.repeat(np.arange(n_items), each), worker.ravel(), label.ravel(),
        items=pa.array([str(j) for j in range(n_items)]), workers=pa.array([str(i) for i in range(n_workers)]),
        classes=pa.array(["a", "b"]), time=np.repeat(np.arange(n_items, dtype=float), each),
    )  # fmt: skip
    assert DawidSkene(smoothing=0.5).fit(labels).result_.insight.verdicts.count("drifting") <= 1


def test_those_who_fail_known_items_are_told():
    labels, names, _ = job()
    truth = DawidSkene(smoothing=0.5).fit(labels).result_.code
    gold = np.where(np.arange(labels.n_items) % 2 == 0, truth, -1)
    found = DawidSkene(smoothing=0.5).fit(labels.with_gold(gold)).result_.insight
    kinds = [str(reason.kind) for reason in found.reasons[names.index("below par (.65)")]]
    assert "fails gold" in kinds
    assert "items whose class is known" in found.evidence[names.index("below par (.65)")]


def test_words_for_people():
    assert shown_time(1714730400.0, 30 * 86400.0) == "3 May 2024"
    assert shown_time(12.5, 100.0) == "12.5"


def test_what_is_decided_of_the_faults_that_were_found():
    found = [[Fault.GUESSES, Fault.WEAK], [], [], [Fault.WEAK]]
    decided = [decide(*worker) for worker in zip(found, ["unclear", "informative", "too few labels", "unclear"], strict=True)]
    verdicts, actions, held = map(list, zip(*decided, strict=True))
    assert verdicts == ["spammer", "informative", "too few labels", "weak"]
    assert actions == [REMOVE, KEEP, UNKNOWN, RETRAIN]
    assert held == [[Fault.GUESSES], [], [], [Fault.WEAK]]
    assert attention(actions, np.array([1, 2, 3, 4])) == [0, 3]
    assert decide([Fault.AGAINST, Fault.GUESSES, Fault.PAR], "unclear") == ("adversary", TALK, [Fault.AGAINST])
    assert decide([Fault.COPY, Fault.PAR], "informative")[1] == TALK
