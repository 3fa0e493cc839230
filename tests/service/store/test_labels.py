"""Labels are stored once and conflicts follow the policy, in both homes."""

import pytest

from crowdassay.service.store.labels import count_by_worker, count_labels, find_place, labels_of, labels_since, list_labels
from crowdassay.service.store.open import Batch, open_store
from support.rows import one, stored


@pytest.mark.slow
@pytest.mark.parametrize("again", [one(), one(key="k"), one(time="2026-01-01T00:00:00Z"), one(round=2)])
def test_sent_again_it_is_known_and_changes_nothing(place, again):
    store = open_store(place)
    assert store.add([again]).as_dict() == {"added": 1, "known": 0, "refused": []}
    before = stored(store)
    assert store.add([again, again]).as_dict() == {"added": 0, "known": 2, "refused": []}
    assert stored(open_store(place)) == before
    store.close()


def test_keys_are_given_or_made(place):
    store = open_store(place)
    store.add([one(), one(label="no"), one(key="mine", label="no"), one("a|b", "c"), one("a", "b|c"), one(round=7)])
    assert [row[0] for row in stored(store)] == ["~i1|ann|1", "~i1|ann|2", "mine", "~a\\|b|c|1", "~a|b\\|c|1", "~i1|ann|7"]


def test_a_key_that_somebody_gave_to_another_label_is_not_made_again(place):
    store = open_store(place)
    assert store.add([one("other", key="i1|ann|1"), one()]).added == 2
    assert store.add([one("other", key="i1|ann|1"), one()]).known == 2
    assert len({row[0] for row in stored(store)}) == 2


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_nobody_can_take_the_key_of_another_workers_label(place, turn):
    """S6: eve gives a label of her own the key that bob's next label on q will have; he is not locked out."""
    store = open_store(place)
    assert store.add([one("q9", "eve", key=f"q|bob|{turn}")]).added == 1
    (refused,) = store.add([one("q9", "eve", key=f"~q|bob|{turn}")]).refused
    assert refused.reason == "Keys that begin with ~ are made for labels without one; give another."
    for label in ("yes", "no", "maybe"):
        assert store.add([one("q", "bob", label=label)]).added == 1
    assert [row[0] for row in stored(store)] == [f"q|bob|{turn}", "~q|bob|1", "~q|bob|2", "~q|bob|3"]


def test_what_is_listed_can_be_sent_back(place):
    """Labels as GET /labels shows them, keys that were made among them, are known where they are stored."""
    store = open_store(place)
    store.add([one(), one(label="no"), one("i2", key="mine")])
    with store.home.read() as session:
        listed = [
            {"key": old.key, "item": old.item, "worker": old.worker, "label": old.label} for old in list_labels(session, 0, 9)
        ]
    assert store.add(listed).known == 3


def test_durations_are_stored(place):
    """S10."""
    store = open_store(place, repeats="last")
    assert store.add([one(duration=2), one("i2", duration=0.5), one("i3")]).added == 3
    store.add([one(label="no", duration=7.25)])
    for bad in (-1, "2 s", True, 1e300):
        (refused,) = store.add([one("i4", duration=bad)]).refused
        assert refused.reason == "The duration is a number of seconds from 0 to 31,536,000."
    with store.home.read() as session:
        assert [old.duration for old in list_labels(session, 0, 9)] == [7.25, 0.5, None]


def test_a_key_never_stands_for_two_labels(place):
    store = open_store(place, repeats="last")
    store.add([one(key="k")])
    (refused,) = store.add([one("i2", key="k")]).refused
    assert refused.reason == "The key is that of another label (item 'i1', worker 'ann')."
    assert [row[1] for row in stored(store)] == ["i1"]


@pytest.mark.parametrize(
    ("repeats", "kept", "counts"),
    [
        ("keep", ["yes", "no"], (1, 0, 0)),
        ("first", ["yes"], (0, 0, 1)),
        ("last", ["no"], (1, 0, 0)),
        ("error", ["yes"], (0, 0, 1)),
    ],
)
def test_conflicts_follow_the_policy(place, repeats, kept, counts):
    open_store(place).add([one()])
    store = open_store(place, repeats=repeats)  # what is stored already counts
    done = store.add([one(label="no")])
    assert (done.added, done.known, len(done.refused)) == counts
    assert [row[3] for row in stored(store)] == kept
    assert store.add([one(label=kept[-1])]).known == 1
    together = store.add([one("i2"), one("i2", label="no")])  # and within one request
    assert (together.added, together.known, len(together.refused)) == (1 + counts[0], 0, counts[2])
    assert [row[3] for row in stored(store) if row[1] == "i2"] == kept


@pytest.mark.parametrize("repeats", ["keep", "first", "error"])
def test_another_label_with_the_same_key_is_refused(place, repeats):
    store = open_store(place, repeats=repeats)
    store.add([one(key="k")])
    done = store.add([one(key="k", label="no")])
    assert (done.added, len(done.refused), done.refused[0].key) == (0, 1, "k")
    assert [row[3] for row in stored(store)] == ["yes"]


def test_the_last_is_the_last_by_time(place):
    store = open_store(place, repeats="last")
    store.add([one(time="2026-03-02T00:00:00Z")])
    assert store.add([one(label="no", time="2026-03-01T23:00:00-05:00")]).added == 1
    assert store.add([one(label="maybe", time="2026-03-01")]).refused[0].reason == (
        "A later label by this worker, 'no', is stored already."
    )
    with store.home.read() as session:
        (found,) = list_labels(session, 0, 10)
        assert (found.label, found.time) == ("no", "2026-03-02T04:00:00.000000+00:00")
        said = session.one("SELECT action, detail FROM audit")
    assert said == ("label replaced", '{"key": "~i1|ann|1", "now": "no", "was": "yes", "worker": "ann"}')


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (7, "A label is an object with item, worker and label."),
        ({"item": "i", "worker": "w"}, "The label is missing."),
        (one(item=" "), "The item is empty."),
        (one(item=["a"]), "The item must be text or a number."),
        (one(label="a\0b"), "The label holds a NUL character."),
        (one(worker="\ud800"), "The worker is not valid text: it holds half of a surrogate pair."),
        (one(label="x" * 10_001), "The label has 10,001 characters; at most 10,000 are taken."),
        (one(time="yesterday"), "The time must be ISO 8601 text or seconds since 1970."),
        (one(time=1.7e18), "The time must be ISO 8601 text or seconds since 1970."),
        (one(round=0), "The round is a whole number from 1 to 1,000,000."),
        (
            one(colour="red"),
            "There is no field 'colour'; a label has item, worker, label, and may have key, time, duration and round.",
        ),
        (one(label=float("nan")), "The label must be text or a number."),
    ],
)
def test_what_is_no_label_is_refused_and_the_others_are_not(tmp_path, bad, reason):
    store = open_store(tmp_path / "job.db")
    done = store.add([one(), bad, one("i2")])
    assert (done.added, [(row.index, row.reason) for row in done.refused]) == (2, [(1, reason)])


def test_names_of_any_kind_are_kept_as_they_are(place):
    names = [
        "<script>alert(1)</script>",
        "'; DROP TABLE labels; --",
        "=1+1",
        "x" * 10_000,
        "é",
        "e\u0301",
        "\u202eabc",
        "007",
        "%s ?",
    ]
    store = open_store(place)
    rows = [one(name, name[::-1] or "w", name, key=f"{name}-k"[:10_000]) for name in names]
    assert store.add(rows).added == len(names)
    assert store.add(rows).known == len(names)
    assert [row[1] for row in stored(store)] == names
    with store.home.read() as session:
        assert [row.item for row in labels_of(session, [names[1]])] == [names[1]]
    assert store.add([one(7, True, 1.0)]).added == 1
    assert stored(store)[-1][1:] == ("7", "true", "1")


def test_labels_are_listed_after_a_key(place):
    store = open_store(place)
    store.add([one(f"i{n}") for n in range(5)])
    with store.home.read() as session:
        assert [row.item for row in list_labels(session, find_place(session, "~i1|ann|1"), 2)] == ["i2", "i3"]
        assert [row.item for row in list_labels(session, find_place(session, "3"), 10)] == ["i3", "i4"]
        assert count_labels(session) == (5, 5)
        assert count_by_worker(session) == {"ann": 5}
        assert [row[1] for block in labels_since(session, 2, 4) for row in block] == ["i2", "i3"]
        with pytest.raises(KeyError):
            find_place(session, "no such key")


def test_a_failed_transaction_leaves_nothing(place):
    store = open_store(place)
    store.add([one()])

    def fail():
        with store.home.write() as session:
            store.take(session, [Batch([], [], "t")])
            session.run("DELETE FROM labels")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert len(stored(store)) == 1
