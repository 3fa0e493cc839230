"""What can be said of a result, and what cannot."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import DawidSkene, MajorityVote, as_labels
from crowdassay.findings.connection import Links
from support.crowds import draw_workers
from support.problems import random_labels


def insight(data, method=None):
    return (method or MajorityVote()).fit(data).result_.insight


def test_one_worker_cannot_be_judged():
    found = insight((list("abc"), ["w"] * 3, [0, 1, 0]))
    assert found.verdicts == ["not estimable"]
    assert (found.low.tolist(), found.high.tolist()) == ([0.0], [1.0])
    assert not found.estimable.any()
    assert found.standings == ["unidentifiable"] * 3
    assert "There is only one worker" in found.notes[0]


def test_one_label_an_item_cannot_be_judged():
    found = insight((list("abcd"), list("wwvv"), [0, 1, 0, 1]))
    assert set(found.verdicts) == {"not estimable"}
    assert set(found.standings) == {"unidentifiable"}
    assert "No item has labels by two workers" in found.notes[0]
    assert "2 groups" in found.notes[1]


def test_known_classes_make_one_worker_estimable():
    labels = as_labels((list("abcdefgh"), ["w"] * 8, [0, 1, 0, 1, 0, 1, 0, 1]))
    found = insight(labels.with_gold(np.array([0, 1, 0, 1, 0, 1, 0, -1])))
    assert found.standings == ["known"] * 7 + ["settled"]
    assert found.accuracy[0] > 0.99
    assert found.agreement.compared[0] == 7


def test_groups_apart_are_reported():
    labels, _, _ = draw_workers(np.random.default_rng(0), n_items=60, n_workers=6)
    both = as_labels(
        (
            [*labels.label_item.tolist(), *range(100, 103)],
            [*labels.worker.tolist(), "alone", "alone", "alone"],
            [*labels.label.tolist(), 0, 1, 2],
        )
    )
    connection = Links.of(both).connection()
    assert connection.sizes.tolist() == [300, 3]
    assert connection.identified.tolist() == [True, False]
    found = insight(both)
    assert found.verdicts[-1] == "not estimable"
    assert "not estimable" not in found.verdicts[:-1]
    assert found.standings[-3:] == ["unidentifiable"] * 3
    assert any("3 items and 1 worker share" in note for note in found.notes)
    assert any("2 groups" in note and "300, 3" in note for note in found.notes)


def test_swapped_classes_are_warned_of():
    labels, _, _ = draw_workers(np.random.default_rng(0), n_items=400, n_workers=20, n_classes=2, low=0.9, adversaries=6)
    notes = insight(labels).notes
    assert any("talk to 6 workers" in note for note in notes)
    assert any("may be swapped" in note for note in notes)
    gold = np.full(labels.n_items, -1)
    gold[0] = labels.label[0]
    assert not any("may be swapped" in note for note in insight(labels.with_gold(gold)).notes)


def test_few_labels_give_no_verdict():
    labels, _, _ = draw_workers(np.random.default_rng(0), n_items=40, n_workers=60, n_classes=2, low=0.9)
    found = insight(labels)
    counts = np.bincount(labels.worker, minlength=60)
    few = (counts > 0) & (counts < 5)
    assert few.any()
    assert {verdict for verdict, small in zip(found.verdicts, few, strict=True) if small} == {"too few labels"}


def test_difficulty_needs_labels():
    found = insight((["a"] * 6 + ["b"] * 2, list("uvwxyzuv"), [0] * 6 + [0, 1]))
    low, high, verdict = found.difficulty
    assert verdict[1].as_py() == "too few labels"
    assert 0 < low[0] < high[0] < 0.4
    assert high[1] - low[1] > 0.8


def test_copies_are_found_and_honest_pairs_left_alone():
    labels, _, _ = draw_workers(
        np.random.default_rng(0), n_items=400, n_workers=12, labels_per_item=6, low=0.6, high=0.8, copies=2
    )
    found = insight(labels, DawidSkene(smoothing=0.5))
    pairs, compared = found.copies
    assert {(pair.worker, pair.other) for pair in pairs} == {(8, 10), (9, 11)}
    assert compared == 66
    assert found.looks_like[8:12] == ["w10", "w11", "w8", "w9"]
    assert found.looks_like[:8] == [""] * 8
    assert any("Likely copies: 4 workers; 2 pairs leave the others together" in note for note in found.notes)
    for seed in range(5):
        honest, _, _ = draw_workers(
            np.random.default_rng(seed), n_items=400, n_workers=12, labels_per_item=6, low=0.6, high=0.8
        )
        assert insight(honest, DawidSkene(smoothing=0.5)).copies[0] == []


def test_worth_prefers_what_a_label_can_change():
    labels, _, _ = draw_workers(np.random.default_rng(0), low=0.8)
    result = DawidSkene(smoothing=0.5).fit(labels).result_
    worth = result.insight.next_items
    assert [one.rate for one in worth] == sorted((one.rate for one in worth), reverse=True)
    unsure = {int(j) for j in np.flatnonzero(result.probability < 0.95)}
    assert {one.item for one in worth} == unsure
    for one in worth:
        assert one.expert == pytest.approx(1 - result.probability[one.item])
        assert 0 <= one.rate <= one.expert + 0.05
    sure, torn = max(worth, key=lambda one: -one.expert), max(worth, key=lambda one: one.expert)
    assert (sure.labels or 99) <= (torn.labels or 99)


@pytest.mark.parametrize("seed", range(4))
def test_ragged_labels_give_tables_without_surprises(seed):
    result = DawidSkene(smoothing=0.5).fit(random_labels(seed, gold=2)).result_
    table = result.workers_table()
    for name in ("accuracy_low", "accuracy_high"):
        assert all(0 <= value <= 1 for value in table[name].to_pylist())
    assert result.items_table()["standing"].to_pylist()[:2] == ["known", "known"]


def test_the_order_of_rows_does_not_matter():
    labels, _, _ = draw_workers(np.random.default_rng(5), n_items=80, n_workers=8)
    names = (labels.items, labels.label_item), (labels.workers, labels.worker), (labels.classes, labels.label)
    columns = [words.take(pa.array(codes)) for words, codes in names]
    rows = pa.table(dict(zip(("item", "worker", "label"), columns, strict=True)))
    mixed = rows.take(pa.array(np.random.default_rng(6).permutation(labels.n_labels)))
    one, other = insight(rows), insight(mixed)
    place = {name: n for n, name in enumerate(other.record.labels.workers.to_pylist())}
    order = [place[name] for name in one.record.labels.workers.to_pylist()]
    np.testing.assert_allclose(one.accuracy, other.accuracy[order], atol=1e-9)
    assert one.verdicts == [other.verdicts[n] for n in order]


def test_a_model_that_contradicts_a_workers_labels_is_not_believed():
    labels, _, _ = draw_workers(np.random.default_rng(0), low=0.8)
    result = DawidSkene(smoothing=0.5).fit(labels).result_
    drawn = replace(result, accuracy=np.where(np.arange(30) == 4, 0.01, result.accuracy)).insight
    assert drawn.accuracy[4] == pytest.approx(result.posterior[labels.label_item, labels.label][labels.worker == 4].mean())
    np.testing.assert_array_equal(np.delete(drawn.accuracy, 4), np.delete(result.accuracy, 4))


def test_the_confusion_table_has_intervals():
    labels, _, _ = draw_workers(np.random.default_rng(0), n_items=40, n_workers=6)
    result = DawidSkene(smoothing=0.5).fit(labels).result_
    table = result.insight.confusion_table()
    assert table.num_rows == 6 * 9
    assert table.column_names == ["worker", "true", "observed", "share", "share_low", "share_high", "labels", "sigma"]
    names = table.slice(5, 1).select(["worker", "true", "observed"]).to_pylist()
    assert names == [{"worker": labels.workers[0].as_py(), "true": "c1", "observed": "c2"}]
    low, share, high = (table[name].to_numpy() for name in ("share_low", "share", "share_high"))
    assert ((low <= share) & (share <= high)).all()
    assert table["labels"].to_numpy().sum() == pytest.approx(200)
