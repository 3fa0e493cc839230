"""Of a worker who was erased no trace is left, in both homes; everybody else's records stay as they are."""

from pathlib import Path

import pytest

from crowdassay.service.fits.job import Job
from crowdassay.service.fits.process import fit_store
from crowdassay.service.fits.snapshot import read_snapshot
from crowdassay.service.store import history
from crowdassay.service.store.corrections import erase_worker, erased_since, remove_label
from crowdassay.service.store.labels import last_seq, list_labels
from crowdassay.service.store.open import Batch, open_store
from crowdassay.service.store.records import Correction, NewToken, newest, read_label
from crowdassay.service.store.tokens import find_identity, hand_out, name_of
from crowdassay.service.store.truths import decide_item
from support.rows import one, stored

NAME = "Zoë|Quux\\7"  # nothing else in a store looks like it


def everything(store):
    """Return all rows of all tables as one text, or the bytes of the file and of what lies beside it."""
    with store.home.read() as session:
        tables = sorted(store.home.tables(session))
        rows = repr([session.rows(f"SELECT * FROM {name}") for name in tables if not name.startswith("sqlite")])
    path = getattr(store.home, "path", None)
    if path is None:
        return rows
    beside = [Path(f"{path}{end}") for end in ("", "-wal", "-shm")]
    return rows + "".join(part.read_bytes().decode("utf-8", "replace") for part in beside if part.exists())


@pytest.fixture
def full(place):
    """A store in which a name stands wherever it can, and the name's token."""
    store = open_store(place, repeats="last")
    rows = [one(f"i{n}", worker, str(n % 2)) for n in range(9) for worker in ("ann", "bob", NAME)]
    store.add(rows, source=NAME)
    store.add([one("i0", NAME, "1"), one("i1", NAME, "0", key=f"job-{NAME}-1"), one("i0", "ann", "1")])
    with store.home.write() as session:
        remove_label(session, list_labels(session, 0, 4)[2].key, source="owner")  # a label that is gone before the worker is
        made, token = hand_out(session, NewToken("label", NAME), source="owner")
        hand_out(session, NewToken("read", None, "Ann's boss"), source="owner")
        store.take(session, [Batch([(0, read_label(one("i9", NAME)))], [], name_of(made))])
        decide_item(session, "i9", "1", source=name_of(made))
        failed = history.ask_fit(session, "asked for")
        history.end_fit(session, failed.id, history.FAILED, f"Worker '{NAME}' is strange.")
        asked = history.ask_fit(session, "asked for")
        upto = last_seq(session)
    folder = Path(place).parent / "model" if "://" not in place else None
    parts = {"facts.json": NAME.encode()}
    if folder is not None:
        fit_store(place, upto, folder)
        parts = {path.name: path.read_bytes() for path in folder.iterdir()}
    with store.home.write() as session:
        history.end_fit(session, asked.id, history.DONE, None, parts)
    return store, token, parts


def test_no_trace_is_left(full):
    """S13."""
    store, token, _ = full
    assert "Quux" in everything(store)
    before = [row for row in stored(store) if row[2] != NAME]
    with store.home.write() as session:
        done = erase_worker(session, NAME, source="owner")
        assert find_identity(session, token) is None
    store.home.scrub()
    assert (done.labels, done.anything) == (9, True)
    assert "Quux" not in everything(store)
    assert stored(store) == before
    with store.home.write() as session:
        lines = history.read_log(session, 99)
        assert (lines[0]["action"], lines[0]["labels"]) == ("worker erased", 9)
        assert {line["worker"] for line in lines if line["action"] == "label replaced"} == {"ann", "(erased)"}
        assert "Ann's boss" in {line.get("name") for line in lines}
        assert not erase_worker(session, NAME, source="owner").anything
        assert [fit.message for fit in history.list_fits(session, 9)][1] == "Worker (erased) is strange."
        assert last_seq(session) == 28


def test_a_name_that_others_records_hold_by_chance_is_left_there(place):
    store = open_store(place)
    store.add([one("ann", "bob", "ann", key="ann-1"), one("i1", "ann", "yes")])
    with store.home.write() as session:
        remove_label(session, "ann-1", source="owner")
        assert erase_worker(session, "ann", source="owner").labels == 1
        (_, line) = history.read_log(session, 9)
        assert [line[name] for name in ("key", "item", "worker", "label")] == ["ann-1", "ann", "bob", "ann"]
        assert erase_worker(session, "owner", source="owner") == (0, 0)


def test_a_job_without_labels_has_no_fit(full):
    store, _, parts = full
    if len(parts) == 1:
        pytest.skip("fitted once is enough")
    job = Job(store)
    job.replace_fit(read_snapshot(2, 28, parts))
    with store.home.write() as session:
        for row in list_labels(session, 0, 99):
            remove_label(session, row.key, source="owner")
    job.catch_up()
    assert (job.n_labels, job.snapshot, job.workers) == (0, None, {})
    assert (job.current("i0"), job.current("i9").basis) == (None, "decision")


def test_a_job_gives_up_its_fit_and_takes_no_older_one(full):
    store, _, parts = full
    if len(parts) == 1:
        pytest.skip("fitted once is enough")
    job, snapshot = Job(store), read_snapshot(2, 28, parts)
    job.replace_fit(snapshot)
    assert NAME in job.snapshot.workers
    assert NAME in job.workers
    with store.home.write() as session:
        erase_worker(session, NAME, source="owner")
        assert erased_since(session, snapshot.corrected)
        assert not erased_since(session, newest(session, Correction))
    job.catch_up()
    assert (job.snapshot, list(job.workers), list(job.feed)) == (None, ["ann", "bob"], [])
    assert job.current("i0").n_labels == 2
    assert job.current("i9").basis == "decision"
    job.replace_fit(snapshot)  # of a fit that began before
    assert job.snapshot is None
