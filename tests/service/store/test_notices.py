"""What others are told is stored once for each item, in both homes."""

from crowdassay.service.store.corrections import remove_item
from crowdassay.service.store.notices import count_waiting, mark_sent, put_notices, told_last, waiting_notices
from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import Notice


def notice(item, kind="settled", label="yes"):
    return Notice(item, kind, label, 0.99, 3, "fit")


def put(store, *notices):
    with store.home.write() as session:
        put_notices(session, notices)


def waiting(store, limit=10):
    with store.home.read() as session:
        return waiting_notices(session, limit)


def test_what_waits_is_told_in_order_and_once(place):
    store = open_store(place)
    put(store, notice("a"), notice("b", "disputed", None))
    put(store, notice("c"))
    first = waiting(store, 2)
    assert [one[:6] for one in first] == [tuple(notice("a"))[:6], tuple(notice("b", "disputed", None))[:6]]
    assert waiting(store, 2) == first  # the same events, under the same ids
    with store.home.write() as session:
        mark_sent(session, first)
    assert [one.item for one in waiting(store)] == ["c"]
    with open_store(place).home.read() as session:
        assert told_last(session) == {"a": ("settled", "yes"), "b": ("disputed", None), "c": ("settled", "yes")}
        assert count_waiting(session) == 1


def test_what_changes_before_it_is_told_is_told_as_it_stands(place):
    store = open_store(place)
    put(store, notice("a"), notice("b"))
    sent = waiting(store)
    put(store, notice("b", "disputed"))
    with store.home.write() as session:
        mark_sent(session, sent)  # on its way while b changed
    (left,) = waiting(store)
    assert (left.item, left.kind, left.event) == ("b", "disputed", 3)
    assert left.event_id not in {one.event_id for one in sent}


def test_nobody_is_told_of_an_item_that_was_removed(place):
    store = open_store(place)
    put(store, notice("a"), notice("b"))
    with store.home.write() as session:
        remove_item(session, "a", source="t")
    assert [one.item for one in waiting(store)] == ["b"]
