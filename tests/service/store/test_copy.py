"""A store is backed up, restored, copied and checked while it is served, in both homes."""

import sqlite3
import threading

import pytest
from click.testing import CliRunner

from crowdassay.cli.main import cli
from crowdassay.errors import DataError, FileError
from crowdassay.labels.databases.home import STORE_TABLE
from crowdassay.service.store.copy import STORE_TABLES, backup, check, copy
from crowdassay.service.store.open import find_home, open_store
from crowdassay.service.store.records import NewItem, NewToken, Truth
from crowdassay.service.store.tokens import find_identity, hand_out
from crowdassay.service.store.truths import add_items, add_truths, decide_item, fix_classes
from support.rows import one, stored


def rows_of(place):
    with find_home(place).read() as session:
        tables = {name: session.rows(f"SELECT * FROM {name}") for name in (*STORE_TABLES, STORE_TABLE)}
    plain = lambda value: bytes(value) if isinstance(value, memoryview) else value  # noqa: E731
    return {name: sorted(tuple(map(plain, row)) for row in rows) for name, rows in tables.items()}


@pytest.fixture
def full(place):
    """The place of a store that has something in every table but fits, and a token."""
    store = open_store(place)
    store.add([one(f"i{n}", duration=2.5, time=n) for n in range(50)] + [one(key="mine", label="no")])
    with store.home.write() as session:
        add_items(session, [(0, NewItem("i1", "A bird", "https://example.org/1"))])
        add_truths(session, [(0, Truth("i1", "yes"))], source="ann")
        decide_item(session, "i2", "no", source="ann")
        fix_classes(session, ["no", "yes"], source="ann")
        _, token = hand_out(session, NewToken("label", "bob"), source="owner")
        session.run("INSERT INTO fits (state, reason, started, upto) VALUES ('done', 'asked for', '2026-01-01', 51)")
        session.run("INSERT INTO fit_parts VALUES (1, 'facts.json', ?)", (b"{}",))
    store.close()
    return place, token


def test_a_backup_holds_everything_and_comes_back(full, tmp_path):
    """L10."""
    place, token = full
    path = tmp_path / "backup.db"
    assert backup(place, path)["labels"] == 51
    assert sorted(tmp_path.glob("backup*")) == [path]  # one file, without a log beside it
    assert rows_of(str(path)) == rows_of(place)
    restored = str(tmp_path / "again" / "job.db")
    copy(str(path), restored)
    assert rows_of(restored) == rows_of(place)
    assert check(restored) == check(place)
    store = open_store(restored)
    assert store.add([one("i0")]).known == 1
    with store.home.read() as session:
        assert find_identity(session, token).worker == "bob"


def test_a_store_moves_to_postgresql_and_numbers_go_on(full, database, tmp_path):
    from support.databases import fresh_schema

    place, _ = full
    other = fresh_schema(database)
    copy(place, other)
    assert rows_of(other) == rows_of(place)
    assert open_store(other).add([one("new")]).added == 1
    back = str(tmp_path / "back.db")
    copy(other, back)
    assert [row[1] for row in stored(open_store(back))][-1] == "new"


def test_what_is_there_is_never_written_over(full, tmp_path):
    place, _ = full
    path = tmp_path / "backup.db"
    backup(place, path)
    before = path.read_bytes()
    with pytest.raises(FileError, match="exists already; name a new file"):
        backup(place, path)
    with pytest.raises(DataError, match="is not empty; name a new one"):
        copy(str(path), place)
    assert path.read_bytes() == before
    with pytest.raises(DataError, match="is no store"):
        copy(str(tmp_path / "nonesuch.db"), str(tmp_path / "x.db"))
    assert not (tmp_path / "nonesuch.db").exists()


def test_a_backup_made_while_labels_come_in_is_whole(place, tmp_path):
    """L10: a copy by `cp` loses what is in the log; a backup holds all that was acknowledged before it began."""
    store, acknowledged, stop = open_store(place), [], threading.Event()

    def write():
        for n in range(100_000):
            if stop.is_set():
                return
            store.add([one(f"i{n}", f"w{k}") for k in range(20)])
            acknowledged.append(20 * (n + 1))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for turn in range(5):
            while len(acknowledged) < 5 * (turn + 1):
                pass
            before = acknowledged[-1]
            counts = backup(place, tmp_path / f"{turn}.db")
            assert counts["labels"] >= before
            assert counts["labels"] % 20 == 0  # a request is there as a whole or not at all
            assert check(str(tmp_path / f"{turn}.db")) == counts
    finally:
        stop.set()
        writer.join()


def test_damage_is_found(tmp_path):
    path = tmp_path / "job.db"
    store = open_store(path)
    store.add([one(f"i{n}") for n in range(2000)])
    store.close()
    assert check(str(path))["labels"] == 2000
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE labels SET key = 'another' WHERE seq = 7")
    connection.close()
    with pytest.raises(DataError, match="the index does not fit the label 'another'"):
        check(str(path))


def test_the_commands_say_what_they_did(full, tmp_path):
    place, _ = full
    run = lambda *words: CliRunner().invoke(cli, ["store", *map(str, words)])  # noqa: E731
    done = run("backup", place, tmp_path / "b.db")
    expected = "51 labels, 1 item, 1 truth, 1 decision and 1 token."
    assert done.output == f"Backed up to '{tmp_path / 'b.db'}': {expected}\n"
    assert run("restore", tmp_path / "b.db", tmp_path / "c.db").output == f"Restored: {expected}\n"
    assert run("copy", tmp_path / "c.db", tmp_path / "d.db").output == f"Copied: {expected}\n"
    assert run("check", tmp_path / "d.db").output == f"Whole: {expected}\n"
