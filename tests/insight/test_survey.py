"""What is said of labels that pass by in blocks is what is said of them in memory."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, as_labels
from crowdassay.engines.spark import SparkEngine
from crowdassay.estimators.blocks import average_worker
from crowdassay.estimators.from_files import fit_spool
from crowdassay.estimators.from_spark import Judge
from crowdassay.insight.connection import Links, connect
from crowdassay.insight.items import join_items, take_items
from crowdassay.insight.spark import survey
from crowdassay.insight.totals import Against, Totals
from crowdassay.io.spool import spool_labels
from crowdassay.report.build import build_report
from crowds import draw_workers
from engines.fake_spark import fake_labels
from problems import random_labels


def story():
    """Spammers, adversaries, copies, a group apart, judgements repeated and items of known class."""
    labels, truth, _ = draw_workers(
        np.random.default_rng(1), n_items=400, n_workers=20, labels_per_item=6, low=0.6, spammers=3, adversaries=2, copies=2
    )
    names = [labels.items.take(pa.array(labels.label_item)), labels.workers.take(pa.array(labels.worker))]
    items, workers = (column.to_pylist() for column in names)
    answers = labels.label.tolist()
    items += ["i3", "i3", "far", "further"]
    workers += [workers[18], workers[18], "alone", "alone"]
    answers += [answers[18], 2 - answers[18] // 2, 0, 1]
    labels = as_labels((items, workers, answers))
    gold = np.full(labels.n_items, -1)
    gold[5:25:4] = truth[5:25:4]
    return labels.with_gold(gold), np.append(truth, [0, 1])


def same(one, other):
    assert one.column_names == other.column_names
    for name in one.column_names:
        values, others = one[name].to_pylist(), other[name].to_pylist()
        if isinstance(others[0], float):
            np.testing.assert_allclose(np.array(values, float), np.array(others, float), atol=1e-8, err_msg=name)
        else:
            assert values == others, name


@pytest.mark.parametrize("method", [MajorityVote(), Assay(items=False), DawidSkene(smoothing=0.5)], ids=lambda m: m.method)
def test_blocks_say_what_memory_says(method, tmp_path):
    labels, _ = story()
    whole = method.fit(labels).result_
    items = []
    found = fit_spool(method, spool_labels(labels, tmp_path, size=150), {name: Kept(name, items) for name in NAMES})
    result, insight = found.result, found.result.insight
    assert {"adversary", "not estimable"} <= set(insight.verdicts)
    assert "spammer" in insight.verdicts or method.method == "majority"  # which takes spammers at their word
    assert {"known", "unidentifiable", "settled"} <= set(whole.insight.standings)
    same(pa.concat_tables([table for name, table in items if name == "items"]), whole.items_table())
    same(result.workers_table(), whole.workers_table())
    same(insight.confusion_table(), whole.insight.confusion_table())
    same(insight.next_table(), whole.insight.next_table())
    assert (insight.notes, insight.copies[1]) == (whole.insight.notes, whole.insight.copies[1])
    assert [(pair.worker, pair.other) for pair in insight.copies[0]] == [
        (pair.worker, pair.other) for pair in whole.insight.copies[0]
    ]
    assert result.labels.n_items < labels.n_items


NAMES = ("labels", "posterior", "items", "workers")


class Kept:
    """A stream that keeps what is written."""

    def __init__(self, name, tables):
        self.name, self.tables = name, tables

    def write(self, table):
        self.tables.append((self.name, table))


def test_the_report_is_that_of_memory(tmp_path):
    labels, truth = story()
    spool = spool_labels(labels, tmp_path, size=150)
    known = [replace_truth(spool, number, truth) for number in range(len(spool.sizes))]
    object.__setattr__(spool, "known", known.__getitem__)
    found = fit_spool(DawidSkene(smoothing=0.5), spool)
    whole = DawidSkene(smoothing=0.5).fit(labels).result_
    pages = build_report(found.result, truth=found.against), build_report(whole, truth=truth)
    one, other = (re.sub(r"\d+\.\d{8,}", lambda number: f"{float(number[0]):.6f}", page) for page in pages)  # the objective
    one, other = (re.sub(r'<p class="files">.*?</p>', "", page) for page in (one, other))  # labels of all items stay in files
    assert one == other


def replace_truth(spool, number, truth):
    first, last = spool.first_item[[number, number + 1]]
    return truth[first:last].astype(np.int32)


@pytest.mark.parametrize("partitions", [3, 70])
def test_executors_say_what_memory_says(partitions):
    labels, _ = story()
    method = DawidSkene(smoothing=0.5)
    whole = method.fit(labels).result_
    engine = SparkEngine(fake_labels(labels, partitions))
    solution = method.solve(engine)
    judge = Judge(solution, average_worker(solution, engine.worker_counts), labels.classes, method.method)
    result, _, tally, judge = survey(engine, judge)
    same(result.workers_table(), whole.workers_table())
    blocks = engine.data.blocks.parts
    made = [judge_all(replace(judge, table="items"), part) for part in blocks]
    same(pa.concat_tables(made).sort_by("item"), whole.items_table().sort_by("item"))
    assert result.insight.notes == whole.insight.notes
    assert (tally.items, tally.tied) == (labels.n_items, int(whole.tied.sum()))
    for name, value in vars(whole.insight.totals).items():
        np.testing.assert_allclose(getattr(result.insight.totals, name), value, err_msg=name)
    assert {row["item"] for row in result.insight.next_table().to_pylist()} == {
        row["item"] for row in whole.insight.next_table().to_pylist()
    }


def judge_all(judge, part):
    return pa.Table.from_batches(list(judge(iter(part))))


def test_a_sample_is_said_to_be_one(tmp_path, monkeypatch):
    monkeypatch.setattr("crowdassay.insight.survey.SAMPLE", 1200)
    labels, _ = story()
    spool = spool_labels(labels, tmp_path, size=150)
    result = fit_spool(DawidSkene(smoothing=0.5), spool).result
    drawn = result.insight.sample
    assert 900 < drawn.n_labels < 1500
    assert f"among {drawn.n_labels:,} labels of {drawn.n_items:,} items drawn at random" in result.insight.notes[-1]
    fit_spool(DawidSkene(smoothing=0.5), spool).report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Copies were looked for among" in page
    assert f"Measured on {drawn.n_items:,} items drawn at random." in page
    assert f"{labels.n_labels:,} labels of {labels.n_items:,} items" in page
    again = fit_spool(DawidSkene(smoothing=0.5), spool).result.insight
    np.testing.assert_array_equal(again.sample.worker, drawn.worker)
    # What is not sampled stays as it is.
    whole = DawidSkene(smoothing=0.5).fit(labels).result_.insight
    pairs = list(zip(again.verdicts, whole.verdicts, strict=True))
    assert all(one == other or "copy" in (one, other) for one, other in pairs)
    assert sum(one == other for one, other in pairs) >= len(pairs) - 4


@pytest.mark.parametrize("seed", range(5))
def test_links_of_parts_are_those_of_the_whole(seed):
    labels, generator = random_labels(seed, gold=2), np.random.default_rng(seed)
    part = generator.integers(4, size=labels.n_items)
    parts = [take_items(labels, np.flatnonzero(part == number)) for number in range(4)]
    joined = Links.of(parts[0])
    for one in parts[1:]:
        joined = joined.join(Links.of(one))
    found, whole = joined.connection(), connect(labels)
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
