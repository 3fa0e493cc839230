"""What is taken back is gone for every reader, once, and no number is given twice; in both homes."""

import numpy as np
import pytest

from crowdassay.service.fits.job import Job
from crowdassay.service.store.corrections import corrections_since, remove_item, remove_label
from crowdassay.service.store.history import read_log
from crowdassay.service.store.labels import count_by_worker, count_labels, find_place, last_seq, list_labels
from crowdassay.service.store.labels import place as place_of
from crowdassay.service.store.open import Batch, open_store
from crowdassay.service.store.records import Correction, NewItem, Truth, newest, read_all, read_label
from crowdassay.service.store.truths import add_items, add_truths, decide_item, known_class, list_decisions
from support.rows import one, stored


def removed(store, key):
    with store.home.write() as session:
        return remove_label(session, key, source="owner")


def test_a_label_is_removed_once_and_that_is_written_down(place):
    """S13."""
    store = open_store(place)
    store.add([one(key="k"), one("i2", key="k2")])
    assert [removed(store, "k"), removed(store, "k"), removed(store, "never")] == [True, False, False]
    assert [row[0] for row in stored(store)] == ["k2"]
    with store.home.read() as session:
        (line,) = read_log(session, 9)
    assert (line["who"], line["action"], line["key"], line["label"]) == ("owner", "label removed", "k", "yes")


def test_the_number_of_a_removed_label_is_not_given_again(place):
    """Who has read up to the last label, which is removed, reads the next one too."""
    store = open_store(place)
    store.add([one(key="k1"), one("i2", key="k2")])
    with store.home.read() as session:
        seen = last_seq(session)
    assert removed(store, "k2")
    store.close()
    store = open_store(place)
    store.add([one("i3", key="k2")])
    with store.home.read() as session:
        (new,) = list_labels(session, seen, 9)
        assert new.seq > seen == 2
        assert count_labels(session) == (2, new.seq)


def test_a_place_holds_when_its_label_is_removed_and_sent_again(place):
    """A reader goes on after the place of k1: k1 comes again with a greater number, and what came between is not missed."""
    store = open_store(place)
    store.add([one(f"i{n}", key=f"k{n}") for n in range(4)])
    with store.home.read() as session:
        after = place_of(list_labels(session, 1, 1)[0])
    removed(store, "k1")
    store.add([one("i1", key="k1")])
    with store.home.read() as session:
        assert [row.key for row in list_labels(session, find_place(session, after), 9)] == ["k2", "k3", "k1"]
        with pytest.raises(KeyError):
            find_place(session, "nonesuch")


def test_an_item_goes_with_all_that_is_known_of_it(place):
    store = open_store(place)
    store.add([one(), one(worker="bob", label="no"), one("i2")])
    with store.home.write() as session:
        add_items(session, [(0, NewItem("i1", "A text"))])
        add_truths(session, [(0, Truth("i1", "yes"))], source="owner")
        number = decide_item(session, "i1", "no", source="owner")
        assert remove_item(session, "i1", source="owner") == (2, 3)
        assert not remove_item(session, "i1", source="owner").anything
        assert known_class(session, "i1") is None
        assert [(one.id, one.undone is None) for one in list_decisions(session, 9)] == [(number, False)]
        assert decide_item(session, "i2", "yes", source="owner") > number
    assert [row[1] for row in stored(store)] == ["i2"]


def test_a_label_is_corrected_in_its_place_whatever_the_policy(place):
    for repeats in ("keep", "first", "error"):
        store = open_store(place, repeats=repeats)
        with store.home.write() as session:
            session.run("DELETE FROM labels")
            sent = [(0, read_label(one(label="no", key="k"))), (1, read_label(one("i2")))]
            store.take(session, [Batch(sent, [], "ann")])
            again = [(0, read_label(one(label="yes", key="k"))), (1, read_label(one("i2", label="no")))]
            (outcome,) = store.take(session, [Batch(again, [], "ann", replace=True)])
        assert outcome.received.as_dict() == {"added": 2, "known": 0, "refused": []}
        assert [(row[1], row[3]) for row in stored(store)] == [("i1", "yes"), ("i2", "no")]
        store.close()


def test_a_label_of_the_same_transaction_is_replaced_too(place):
    """Two senders, one transaction: the second one's label stays."""
    store = open_store(place, repeats="last")
    with store.home.write() as session:
        store.take(session, [Batch([(0, read_label(one(label=label)))], [], "ann") for label in ("yes", "no")])
    assert [row[3] for row in stored(store)] == ["no"]


@pytest.mark.parametrize("alone", [True, False])
def test_a_job_counts_as_the_store_does_whatever_is_added_replaced_and_removed(place, alone):
    """Random changes by this server, or by another program between two looks; then all is counted anew."""
    rng, store = np.random.default_rng(7), open_store(place, repeats="last")
    job = Job(store)
    with store.home.write() as session:
        add_items(session, [(0, NewItem("declared"))])
    job.items_added(["declared"])
    for turn in range(40):
        with store.home.write() as session:
            before = last_seq(session)
            rows = [one(f"i{rng.integers(8)}", f"w{rng.integers(4)}", str(rng.integers(2))) for _ in range(rng.integers(4))]
            outcomes = store.take(session, [Batch(*read_all([row], read_label), "t") for row in rows])
            for row in list_labels(session, int(rng.integers(before + 1)), int(rng.integers(4))):
                remove_label(session, row.key, source="t")
            after = last_seq(session)
        if alone:
            job.labels_added(outcomes, before, after)
            job.catch_up()
        elif turn % 3 == 0:
            job.catch_up()
    job.catch_up()
    fresh = Job(store)
    fresh.touch_all()
    with store.home.read() as session:
        assert (job.n_labels, job.seq) == (fresh.n_labels, fresh.seq) == count_labels(session)
        assert job.workers == fresh.workers == count_by_worker(session)
        assert job.corrected == newest(session, Correction) == len(corrections_since(session, 0)) > 5
        numbers = {row.seq for row in list_labels(session, 0, 10_000)}
    assert {row["seq"] for row in job.feed} <= numbers
    assert job.totals().as_dict() == fresh.totals().as_dict()
    assert sorted(item for item in job.names() if job.current(item)) == sorted(item for item in fresh.names())
    assert job.open_items(99) == fresh.open_items(99)
