"""Labels follow the annotations of another tool, in both homes: told twice, late or in any order, the end is the same."""

from itertools import permutations

from crowdassay.service.fits.job import Job
from crowdassay.service.store.annotations import Delivery, annotations_of, delete_annotations, take_annotations
from crowdassay.service.store.open import Batch, open_store
from crowdassay.service.store.records import SentLabel
from crowdassay.service.store.truths import fix_classes
from crowdassay.service.store.writer import Writer
from support.rows import one, stored


def delivery(version, label="warm", *, key="ls/1", worker="ann", item="7", reason=""):
    sent = None if label is None else SentLabel(item, worker, label, key)
    return Delivery(key, item, version, sent, reason)


def tell(store, *deliveries):
    """Return how many were added, known and removed, and why others were refused."""
    with store.home.write() as session:
        done = take_annotations(session, store, deliveries, source="t")
    return done.added, done.known, done.removed, [one.reason for one in done.refused]


def delete(store, *keys):
    with store.home.write() as session:
        return delete_annotations(session, keys, source="t").removed


def test_an_annotation_is_created_changed_and_deleted_once(place):
    store = open_store(place)
    assert tell(store, delivery("1")) == (1, 0, 0, [])
    assert tell(store, delivery("1")) == (0, 1, 0, [])
    assert tell(store, delivery("2", "cold")) == (1, 0, 0, [])
    assert tell(store, delivery("2", "cold"), delivery("1")) == (0, 2, 0, [])
    assert stored(store) == [("ls/1", "7", "ann", "cold")]
    assert (delete(store, "ls/1"), delete(store, "ls/1")) == (1, 0)
    assert tell(store, delivery("3")) == (0, 1, 0, [])  # it was on its way when the annotation was deleted
    assert stored(store) == []


def test_the_order_of_deliveries_does_not_matter(place):
    store = open_store(place)
    for number, order in enumerate(permutations([("1", "warm"), ("2", None), ("3", "cold")])):
        key = f"ls/{number}"
        for version, label in order:
            tell(store, delivery(version, label, key=key, item=key))
    assert stored(store) == sorted((f"ls/{n}", f"ls/{n}", "ann", "cold") for n in range(6))


def test_a_label_goes_when_the_annotation_is_emptied_and_comes_back(place):
    store = open_store(place)
    assert tell(store, delivery("1"), delivery("2", None)) == (1, 0, 1, [])
    assert tell(store, delivery("3", None)) == (0, 1, 0, [])
    assert tell(store, delivery("4", None, reason="Two choices.")) == (0, 0, 0, ["Two choices."])
    assert tell(store, delivery("5", "cold")) == (1, 0, 0, [])
    assert tell(store, delivery("6", "cold", worker="bob")) == (1, 0, 1, [])
    assert stored(store) == [("ls/1", "7", "bob", "cold")]


def test_without_versions_the_last_that_is_told_counts(place):
    store = open_store(place)
    assert tell(store, delivery(""), delivery("", "cold"), delivery("", "cold")) == (2, 1, 0, [])
    tell(store, delivery("5"), delivery(""))
    assert tell(store, delivery("4", "cold")) == (0, 1, 0, [])
    assert stored(store) == [("ls/1", "7", "ann", "warm")]


def test_what_is_refused_may_be_told_again(place):
    store = open_store(place)
    with store.home.write() as session:
        fix_classes(session, ("cold", "hot"), source="t")
    assert tell(store, delivery("1"))[3] == ["There is no class 'warm'; choose one of cold, hot."]
    with store.home.write() as session:
        fix_classes(session, (), source="t")
    assert tell(store, delivery("1")) == (1, 0, 0, [])


def test_the_policy_is_for_other_annotations_only(place):
    store = open_store(place, repeats="error")
    assert tell(store, delivery("1"), delivery("2", "cold")) == (2, 0, 0, [])
    assert "a worker labels an item once" in tell(store, delivery("1", key="ls/2"))[3][0]
    assert stored(store) == [("ls/1", "7", "ann", "cold")]


def test_annotations_of_a_task_are_known_by_it(place):
    store = open_store(place)
    tell(store, delivery("1"), delivery("1", key="ls/2", worker="bob"), delivery("1", key="ls/3", item="8"))
    with store.home.read() as session:
        assert annotations_of(session, ["7", "9"]) == ["ls/1", "ls/2"]


def test_a_job_counts_what_is_written_beside_labels_of_others(place):
    """Labels that are sent, and annotations, may come in one transaction."""
    store = open_store(place)
    job = Job(store)
    writer = Writer(store, job.labels_added)
    batch = Batch([(0, SentLabel("a", "ann", "yes"))], [], "t")
    sent = type("Asked", (), {"batch": batch, "call": None})
    told = type(
        "Asked", (), {"batch": None, "call": lambda session: take_annotations(session, store, [delivery("1")], source="t")}
    )
    _, outcomes, before, after = writer._commit([sent, told])
    writer.close()
    job.labels_added(outcomes, before, after)
    job.catch_up()
    assert (job.n_labels, job.workers, sorted(job.names())) == (2, {"ann": 2}, ["7", "a"])
    assert store.add([one("a", "ann", "yes")]).known == 1
