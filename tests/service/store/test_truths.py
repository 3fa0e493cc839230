"""What people know is stored once: items, truths and decisions, in both homes."""

import pytest

from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import NewItem, Truth
from crowdassay.service.store.truths import (
    add_items,
    add_truths,
    decide_item,
    find_item,
    item_names,
    known_class,
    known_classes,
    list_decisions,
    undo_decision,
)


def known_of(store, item):
    with store.home.read() as session:
        return known_class(session, item)


def truths(store, *given, **options):
    with store.home.write() as session:
        return add_truths(session, [(place, Truth(*one)) for place, one in enumerate(given)], source="t", **options)


def test_items_are_stored_once_and_text_and_link_are_filled_in(place):
    store = open_store(place)
    with store.home.write() as session:
        first = add_items(session, [(0, NewItem("a", "text")), (1, NewItem("b")), (2, NewItem("a", "text"))])
        assert (first.added, first.known, first.changed) == (2, 1, ["a", "b"])
    with store.home.write() as session:
        again = add_items(session, [(0, NewItem("a")), (1, NewItem("b", None, "https://example.org/b.png"))])
        assert (again.added, again.known, again.changed) == (1, 1, ["b"])
        assert add_items(session, [(0, NewItem("a", None, "https://example.org/a.png"))]).added == 1
    with open_store(place).home.read() as session:
        assert find_item(session, "a") == NewItem("a", "text", "https://example.org/a.png")
        assert find_item(session, "b") == NewItem("b", None, "https://example.org/b.png")
        assert find_item(session, "c") is None
        assert item_names(session) == ["a", "b"]


def test_a_truth_sent_again_is_known_and_another_is_refused(place):
    store = open_store(place)
    done = truths(store, ("a", "yes"), ("a", "yes"), ("a", "no"), ("b", "no"))
    assert (done.added, done.known, done.changed) == (2, 1, ["a", "b"])
    assert [(one.index, one.reason) for one in done.refused] == [
        (2, "The truth of this item is stored as 'yes'; send replace=1 to change it.")
    ]
    assert known_of(store, "a") == ("yes", "truth")
    replaced = truths(store, ("a", "no"), ("b", "no"), replace=True)
    assert (replaced.added, replaced.known, replaced.changed) == (1, 1, ["a"])
    assert known_of(open_store(place), "a") == ("no", "truth")


def test_names_of_any_length_are_told_apart(place):
    store = open_store(place)
    long = "x" * 9_999
    truths(store, (long + "a", "yes"), (long + "b", "no"))
    assert known_of(store, long + "a") == ("yes", "truth")
    assert known_of(store, long + "b") == ("no", "truth")
    assert known_of(store, long) is None


def test_the_last_decision_that_stands_goes_before_the_truth(place):
    store = open_store(place)
    truths(store, ("a", "no"))
    with store.home.write() as session:
        first, second = (decide_item(session, "a", label, source="ann") for label in ("maybe", "yes"))
        assert first < second
        other = decide_item(session, "b", "yes", source="bob")
    assert known_of(store, "a") == ("yes", "decision")
    with store.home.write() as session:
        assert undo_decision(session, second, source="t") == "a"
        assert undo_decision(session, second, source="t") is None
        assert known_classes(session) == {"a": ("maybe", "decision"), "b": ("yes", "decision")}
        assert undo_decision(session, first, source="t") == "a"
        assert undo_decision(session, other + 1, source="t") is None
    assert known_of(store, "a") == ("no", "truth")
    with store.home.read() as session:
        listed = list_decisions(session, 2)
    assert [(one.id, one.item, one.label, one.who, one.undone is None) for one in listed] == [
        (other, "b", "yes", "bob", True),
        (second, "a", "yes", "ann", False),
    ]


def test_what_fails_halfway_is_not_known(place):
    store = open_store(place)

    def fail():
        with store.home.write() as session:
            add_truths(session, [(0, Truth("a", "yes"))], source="t")
            decide_item(session, "b", "yes", source="t")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with store.home.read() as session:
        assert known_classes(session) == {}
