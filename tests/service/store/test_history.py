"""The audit log and the fits of a store, in both homes."""

import pytest

from crowdassay.service.store.history import (
    ask_fit,
    end_fit,
    find_fit,
    interrupt_fits,
    last_parts,
    list_fits,
    log,
    read_log,
    start_fit,
)
from crowdassay.service.store.open import open_store
from support.rows import one


@pytest.fixture
def store(place):
    opened = open_store(place)
    yield opened
    opened.close()


def test_the_audit_log_lists_the_last_first_with_every_detail(store):
    with store.home.write() as session:
        log(session, "owner", "item settled", item="ä <b> 'x'", label="yes", decision=3)
        log(session, "token 2", "fit asked for", fit=1)
    with store.home.read() as session:
        lines, last = read_log(session, 10), read_log(session, 1)
    assert [(line["who"], line["action"]) for line in lines] == [("token 2", "fit asked for"), ("owner", "item settled")]
    assert lines[1] == {
        "time": lines[1]["time"], "who": "owner", "action": "item settled", "item": "ä <b> 'x'", "label": "yes", "decision": 3,
    }  # fmt: skip
    assert last == lines[:1]


def test_what_was_not_done_is_not_in_the_audit_log(store):
    def fail():
        with store.home.write() as session:
            log(session, "owner", "item settled", item="a")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with store.home.read() as session:
        assert read_log(session, 10) == []


def test_a_label_that_replaces_another_is_in_the_audit_log(place):
    store = open_store(place, repeats="last")
    store.add([one()], source="token 1")
    store.add([one(), one(label="no")], source="token 2")
    with store.home.read() as session:
        (line,) = read_log(session, 10)
    assert {name: line[name] for name in ("who", "action", "key", "was", "now")} == {
        "who": "token 2", "action": "label replaced", "key": "~i1|ann|1", "was": "yes", "now": "no",
    }  # fmt: skip


def test_a_fit_waits_runs_and_ends(store):
    with store.home.write() as session:
        asked = ask_fit(session, "asked for")
        assert (asked.state, asked.upto, asked.ended, asked.message) == ("waiting", 0, None, None)
    with store.home.write() as session:
        assert start_fit(session, asked.id, 7)[:2] == (asked.id, "running")
    with store.home.write() as session:
        end_fit(session, asked.id, "failed", "There are no labels yet.")
    with store.home.read() as session:
        ended = find_fit(session, asked.id)
        assert (ended.state, ended.upto, ended.message) == ("failed", 7, "There are no labels yet.")
        assert ended.started <= ended.ended
        assert find_fit(session, asked.id + 1) is None
        assert last_parts(session) is None


def test_only_the_files_of_the_last_fit_that_was_done_are_kept(store):
    with store.home.write() as session:
        first, second, third = (ask_fit(session, "new labels").id for _ in range(3))
        end_fit(session, first, "done", None, {"a": b"\0one", "b": b""})
        end_fit(session, second, "done", None, {"a": b"two"})
        end_fit(session, third, "cancelled", "Cancelled.")
    with store.home.read() as session:
        fit, parts = last_parts(session)
        assert (fit.id, parts) == (second, {"a": b"two"})
        assert [one.id for one in list_fits(session, 2)] == [third, second]


def test_fits_that_a_dead_server_left_are_interrupted(store):
    with store.home.write() as session:
        waiting, running, done = (ask_fit(session, "asked for").id for _ in range(3))
        start_fit(session, running, 1)
        end_fit(session, done, "done", None, {})
        assert interrupt_fits(session) == 2
        assert interrupt_fits(session) == 0
        states = {fit.id: (fit.state, fit.message) for fit in list_fits(session, 10)}
    cut_off = ("interrupted", "The server ended before the fit did.")
    assert states == {waiting: cut_off, running: cut_off, done: ("done", None)}
