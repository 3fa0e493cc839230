"""A store is made on first use, brought up to date when it is opened, and nothing else is touched."""

import threading
import uuid

import pytest

from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.service.store import open as opening
from crowdassay.service.store.history import last_parts, read_log
from crowdassay.service.store.open import find_home, open_store, steps
from crowdassay.service.store.records import NewItem
from crowdassay.service.store.tokens import Identity, find_identity
from crowdassay.service.store.truths import find_item, known_classes
from support.rows import one, stored

ADDED_STEP = "ALTER TABLE items ADD COLUMN colour TEXT; UPDATE items SET colour = ''"


def test_a_newer_store_is_refused(place):
    store = open_store(place)
    with store.home.write() as session:
        session.run("UPDATE crowdassay_meta SET value = '99'")
    known = rf"was written by a newer crowdassay \(its tables are version 99, this one knows {len(steps())}\)"
    with pytest.raises(DataError, match=known):
        open_store(place)


def add_step(monkeypatch, step):
    steps = [*opening.steps(), step]
    monkeypatch.setattr(opening, "steps", lambda: steps)


def test_an_older_store_is_brought_up_to_date(place, monkeypatch):
    open_store(place).add([one()])
    add_step(monkeypatch, ADDED_STEP)
    store = open_store(place)
    with store.home.read() as session:
        assert session.rows("SELECT colour FROM items") == []
        assert session.one("SELECT value FROM crowdassay_meta WHERE name = 'schema'") == (str(len(opening.steps())),)
    assert len(stored(store)) == 1
    assert store.add([one("i2")]).added == 1
    assert len(stored(open_store(place))) == 2


def test_a_step_that_fails_leaves_the_store_as_it_was(place, monkeypatch):
    open_store(place).add([one()])
    with monkeypatch.context() as patched:
        add_step(patched, f"{ADDED_STEP}; INSERT INTO nonesuch VALUES (1)")
        with pytest.raises(Exception, match="nonesuch"):
            open_store(place)
    store = open_store(place)
    assert len(stored(store)) == 1
    with pytest.raises(Exception, match="colour"), store.home.read() as session:
        session.rows("SELECT colour FROM items")


def test_many_who_open_a_new_store_at_once_make_it_once(place, monkeypatch):
    add_step(monkeypatch, ADDED_STEP)
    opened, failed = [], []

    def make():
        try:
            opened.append(open_store(place))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test must see it
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(opened), failed) == (6, [])
    assert sum(store.add([one()]).added for store in opened) == 1


FIRST_ROWS = """
INSERT INTO labels (key_short, key, item, worker, round, label, time, added, source) VALUES
    (?, 'i1|ann|1', 'i1', 'ann', 1, 'yes', NULL, '2025-01-01T00:00:00.000000+00:00', 'python');
INSERT INTO items (item_hash, item, text, link, added) VALUES
    (?, 'i1', 'A bird', NULL, '2025-01-01T00:00:00.000000+00:00');
INSERT INTO truths (item_hash, item, label, added, source) VALUES
    (?, 'i2', 'no', '2025-01-01T00:00:00.000000+00:00', 'owner');
INSERT INTO tokens (token_hash, role, worker, note, added) VALUES
    (?, 'label', 'ann', '', '2025-01-01T00:00:00.000000+00:00')
"""
FIRST_KEYS = (  # what the first version wrote for these names, and for the token 'secret'
    b"i1|ann|1",
    bytes.fromhex("68c6aebaa3afe5a00d174ec86a509be3"),
    bytes.fromhex("7204b21381198b4bcc89afcd9a279831"),
    bytes.fromhex("8f64bfc250ac98ecf5a0f6a52cde7ec5"),
)


def test_what_the_first_version_wrote_is_read(place):
    """Rows as the first version of the tables held them, digests and all, written without any code of the store."""
    home = find_home(place)
    with home.write() as session:
        session.run("CREATE TABLE crowdassay_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        session.run("INSERT INTO crowdassay_meta VALUES ('schema', '1')")
        for statement in steps()[0].format(**home.types).rstrip().removesuffix(";").split(";"):
            session.run(statement)
        for statement, key in zip(FIRST_ROWS.split(";"), FIRST_KEYS, strict=True):
            session.run(statement, (key,))
        session.run("INSERT INTO decisions (item, label, added, source) VALUES ('i1', 'maybe', '2025-01-02', 'owner')")
        session.run("INSERT INTO fits (state, reason, started, upto) VALUES ('done', 'asked for', '2025-01-01', 1)")
        session.run("INSERT INTO fit_parts VALUES (1, 'facts.json', ?)", (b"{}",))
        session.run("INSERT INTO audit (added, who, action, detail) VALUES ('2025-01-01', 'owner', 'fit asked for', '{}')")
    store = open_store(place)
    assert store.add([one()]).known == 1
    with store.home.read() as session:
        assert find_item(session, "i1") == NewItem("i1", "A bird")
        assert known_classes(session) == {"i1": ("maybe", "decision"), "i2": ("no", "truth")}
        assert find_identity(session, "secret") == Identity("label", "ann", "token 1", 1)
        fit, parts = last_parts(session)
        assert (fit.id, fit.state, fit.upto, parts) == (1, "done", 1, {"facts.json": b"{}"})
        assert read_log(session, 5) == [{"time": "2025-01-01", "who": "owner", "action": "fit asked for"}]


def test_a_store_that_does_not_say_its_version_is_refused(place):
    store = open_store(place)
    with store.home.write() as session:
        session.run("UPDATE crowdassay_meta SET value = 'new'")
    with pytest.raises(DataError, match="does not say which version its tables are; restore it from a copy"):
        open_store(place)


def test_what_is_no_store_is_left_alone(tmp_path):
    import sqlite3

    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(other.read_bytes()[:1000] + b"x" * 3000)
    text = tmp_path / "labels.csv"
    text.write_text("item,worker,label\n")
    before = other.read_bytes()
    for path in (other, text):
        with pytest.raises(DataError, match="no store"):
            open_store(path)
    with pytest.raises(DataError, match="restore it from a copy"):
        open_store(broken)
    assert other.read_bytes() == before
    assert text.read_text() == "item,worker,label\n"
    with pytest.raises(FileError, match="is a folder"):
        open_store(tmp_path)


def test_places_that_make_no_sense(tmp_path):
    for place in ("", "mysql://host/db", "a\0b"):
        with pytest.raises(ParameterError):
            find_home(place)
    with pytest.raises(ParameterError, match="repeats must be one of"):
        open_store(tmp_path / "a.db", repeats="never")


def test_a_password_is_never_told():
    pytest.importorskip("psycopg")
    with pytest.raises(FileError) as told:
        open_store("postgresql://ann:s3cret@127.0.0.1:1/jobs?password=s3cret")
    assert "ann@127.0.0.1:1/jobs" in str(told.value)
    assert (
        "s3cret"
        not in f"{told.value}{told.value.__cause__}{told.value.__context__ if not told.value.__suppress_context__ else ''}"
    )


def test_the_schema_that_an_address_names_is_made(database):
    """S8: the documented address ``?schema=birds`` works the first time, for a store and for tables."""
    url = f"{database}{'&' if '?' in database else '?'}schema=birds{uuid.uuid4().hex}"
    assert open_store(url).add([one()]).added == 1
    assert open_store(url).add([one()]).known == 1
