"""What is said of labels that pass by in blocks is what is said of them in memory."""

import re
from dataclasses import replace

import numpy as np
import pytest

from crowdassay import DawidSkene
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.spark.place import SparkPlace
from crowdassay.errors import ParameterError
from crowdassay.findings.connection import Links
from crowdassay.findings.items import Totals
from crowdassay.findings.scores import Against
from crowdassay.labels.join import join_items, take_items
from crowdassay.results.report.build import build_report
from crowdassay.results.run import fit
from support.crowds import story
from support.fake_spark import fake_labels
from support.parity import same_result
from support.problems import random_labels
from support.spools import spool_labels


def spooled(labels, folder, truth=None):
    return FilesPlace(spool_labels(labels, folder, size=150, truth=truth))


@pytest.mark.slow
def test_blocks_say_what_memory_says(tmp_path):
    labels, _ = story()
    whole, found = (
        fit(DawidSkene(smoothing=0.5), place, gather_below=0) for place in (MemoryPlace(labels), spooled(labels, tmp_path))
    )
    insight = found.insight
    assert {"spammer", "adversary", "not estimable"} <= set(insight.verdicts)
    assert {"known", "unidentifiable", "settled"} <= set(whole.insight.standings)
    assert (insight.notes, insight.copies[1]) == (whole.insight.notes, whole.insight.copies[1])
    assert [(pair.worker, pair.other) for pair in insight.copies[0]] == [
        (pair.worker, pair.other) for pair in whole.insight.copies[0]
    ]
    assert insight.record.labels.n_items < labels.n_items


@pytest.mark.slow
def test_the_report_is_that_of_memory(tmp_path):
    labels, truth = story()
    counts = {"items": labels.n_items, "unknown_items": 0}
    places = (spooled(labels, tmp_path, truth), MemoryPlace(labels, truth, counts))
    found, whole = (fit(DawidSkene(smoothing=0.5), place, gather_below=0) for place in places)
    # The file of all labels and the curve of the plan need all items in memory.
    both = (found.insight, replace(whole.insight, partial=True))
    pages = [build_report(insight, truth=insight.against).html() for insight in both]
    one, other = (re.sub(r"\d+\.\d{8,}", lambda number: f"{float(number[0]):.6f}", page) for page in pages)  # the objective
    one, other = (re.sub(r"base64,[A-Za-z0-9+/=]+", "", page) for page in (one, other))  # where numbers have all their digits
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [3, 70])
def test_executors_say_what_memory_says(partitions):
    """Where partitions are many, executors join what they have found before the driver does."""
    labels, _ = story()
    whole, found = (
        fit(DawidSkene(smoothing=0.5), place, gather_below=0)
        for place in (MemoryPlace(labels), SparkPlace(fake_labels(labels, partitions)))
    )
    same_result(found, whole)
    for name, value in vars(whole.insight.totals).items():
        np.testing.assert_allclose(getattr(found.insight.totals, name), value, err_msg=name)


@pytest.mark.slow
def test_what_stays_elsewhere_is_said(tmp_path):
    labels, _ = story()
    result = fit(DawidSkene(smoothing=0.5), spooled(labels, tmp_path), gather_below=0)
    for ask in (
        lambda: result.posterior[0],
        lambda: result.probability,
        lambda: result.code,
        lambda: np.asarray(result.posterior),
        lambda: len(result.winners),
        lambda: result.labels,
        lambda: result.chart.calibration(np.zeros(labels.n_items, int)),
    ):
        with pytest.raises(ParameterError, match=r"^The (labels|\w+ of every item) stay in files; ask for |not in memory"):
            ask()
    assert result.facts.n_items == labels.n_items
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        result.nonsense  # noqa: B018
    assert "held in files" in repr(result)
    assert f"{labels.n_items:,} items" in result._repr_html_()


@pytest.mark.slow
def test_a_sample_is_said_to_be_one(tmp_path, monkeypatch):
    monkeypatch.setattr("crowdassay.findings.passes.LABELS_FOR_COPIES", 1200)
    labels, _ = story()
    place = spooled(labels, tmp_path)
    result = fit(DawidSkene(smoothing=0.5), place, gather_below=0)
    drawn = result.insight.sample
    assert 900 < drawn.n_labels < 1500
    assert f"among {drawn.n_labels:,} labels of {drawn.n_items:,} items drawn at random" in result.insight.notes[-1]
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Copies were looked for among" in page
    assert f"Measured on {drawn.n_items:,} items drawn at random." in page
    assert f"{labels.n_labels:,} labels of {labels.n_items:,} items" in page
    again = fit(DawidSkene(smoothing=0.5), place, gather_below=0).insight
    np.testing.assert_array_equal(again.sample.worker, drawn.worker)
    # What is not sampled stays as it is.
    whole = DawidSkene(smoothing=0.5).fit(labels).result_.insight
    kinds = [
        [[reason.kind for reason in reasons if reason.kind != "copy"] for reasons in one.reasons] for one in (again, whole)
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("seed", range(5))
def test_links_of_parts_are_those_of_the_whole(seed):
    labels, generator = random_labels(seed, gold=2), np.random.default_rng(seed)
    part = generator.integers(4, size=labels.n_items)
    parts = [take_items(labels, np.flatnonzero(part == number)) for number in range(4)]
    joined = Links.of(parts[0])
    for one in parts[1:]:
        joined = joined.join(Links.of(one))
    found, whole = joined.connection(), Links.of(labels).connection()
    for name in ("sizes", "items", "identified"):
        np.testing.assert_array_equal(np.sort(getattr(found, name)), np.sort(getattr(whole, name)))
    pairs = {(int(one), int(other)) for one, other in zip(found.worker, whole.worker, strict=True)}
    assert len(pairs) == len(set(whole.worker.tolist()))  # the same groups, whatever their numbers


def test_counts_of_parts_add_up():
    labels, truth = story()
    result = DawidSkene(smoothing=0.5).fit(labels).result_
    rows = np.split(np.arange(labels.n_items), [100, 101, 390])
    parts = [take(result, part) for part in rows]
    against = Against.of(parts[0], truth[rows[0]])
    for part, chosen in zip(parts[1:], rows[1:], strict=True):
        against = against.join(Against.of(part, truth[chosen]))
    expected = Against.of(result, truth)
    np.testing.assert_array_equal(against.cells, expected.cells)
    for one, other in zip(against.records, expected.records, strict=True):
        assert one == pytest.approx(other)
    totals = Totals.of(result.insight)
    assert (totals.items, totals.labels, totals.bins.sum()) == (labels.n_items, labels.n_labels, labels.n_items)
    assert totals.wrong == pytest.approx((1 - result.probability)[labels.gold < 0].sum())


def take(result, rows):
    return replace(
        result, labels=take_items(result.labels, rows), posterior=result.posterior[rows], winners=result.winners[rows]
    )


def test_items_taken_apart_and_joined_are_the_same():
    labels, _ = story()
    again = join_items([take_items(labels, part) for part in np.split(np.arange(labels.n_items), [3, 200])])
    for name in ("starts", "worker", "label", "gold"):
        np.testing.assert_array_equal(getattr(again, name), getattr(labels, name))
    assert again.items.equals(labels.items)
