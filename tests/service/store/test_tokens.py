"""Tokens are kept as digests, are known by role and name, end, and can be taken back with their sessions, in both homes."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from crowdassay.labels.databases.home import now
from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import NewToken
from crowdassay.service.store.tokens import (
    OWNER,
    Identity,
    find_identity,
    find_session,
    hand_out,
    list_tokens,
    revoke,
    start_session,
)


@pytest.fixture
def store(place):
    opened = open_store(place)
    yield opened
    opened.close()


def hand(store, *wanted):
    with store.home.write() as session:
        made, token = hand_out(session, NewToken(*wanted), source="t")
        return made.id, token


def whose(store, token):
    with store.home.read() as session:
        return find_identity(session, token)


def test_a_token_says_who_sends_a_request(store):
    number, token = hand(store, "label", "ann", "Ann Miller")
    assert whose(store, token) == Identity("label", "ann", f"Ann Miller (token {number})", number)
    other, another = hand(store, "manage")
    assert (another != token, whose(store, another)) == (True, Identity("manage", None, f"token {other}", other))
    third, unnamed = hand(store, "label", "bob")
    assert whose(store, unnamed).name == f"bob (token {third})"
    for wrong in ("", token[:-1], token + "x", token.upper(), "' OR 1=1 --"):
        assert whose(store, wrong) is None


def test_only_a_digest_is_stored(store, place):
    _, token = hand(store, "read", None, "for the dashboard")
    with store.home.read() as session:
        (row,) = session.rows("SELECT * FROM tokens")
        assert list_tokens(session)[0]._asdict().keys() == {"id", "role", "worker", "name", "time", "expires", "revoked"}
    kept = b"|".join(value if isinstance(value, bytes) else str(value).encode() for value in row)
    assert token.encode() not in kept
    if "://" not in place:
        store.close()
        assert not any(token.encode() in path.read_bytes() for path in Path(place).parent.iterdir() if path.is_file())


def test_a_token_taken_back_is_nobodys(store):
    number, token = hand(store, "read")
    _, kept = hand(store, "read")
    with store.home.write() as session:
        assert revoke(session, number, source="t")
        assert not revoke(session, number, source="t")
        assert not revoke(session, number + 100, source="t")
    assert whose(store, token) is None
    assert whose(store, kept) is not None
    with store.home.read() as session:
        assert [one.revoked is None for one in list_tokens(session)] == [False, True]


def end(store, number):
    """Let a token have ended a moment ago."""
    with store.home.write() as session:
        session.run("UPDATE tokens SET expires = ? WHERE seq = ?", (now(), number))


def test_a_token_ends_after_its_days(store):
    number, token = hand(store, "read", None, None, 1.0)
    (listed,) = listing(store)
    assert datetime.fromisoformat(listed.expires) - datetime.fromisoformat(listed.time) == pytest.approx(
        timedelta(days=1), abs=timedelta(seconds=5)
    )
    assert whose(store, token).expires == listed.expires
    end(store, number)
    assert whose(store, token) is None


def listing(store):
    with store.home.read() as session:
        return list_tokens(session)


def page(store, identity, owner="owner's token"):
    with store.home.write() as session:
        return start_session(session, identity, owner)


def at_page(store, key, owner="owner's token"):
    with store.home.read() as session:
        return find_session(session, key, owner)


@pytest.mark.parametrize("ending", ["revoked", "expired"])
def test_a_session_ends_with_its_token(store, ending):
    number, token = hand(store, "manage", None, "Ann", 1.0)
    key, until = page(store, whose(store, token))
    assert (key != token, until) == (True, whose(store, token).expires)  # before the session's own end
    assert at_page(store, key) == whose(store, token)
    assert at_page(store, token) is None
    if ending == "revoked":
        with store.home.write() as session:
            revoke(session, number, source="t")
    else:
        end(store, number)
    assert at_page(store, key) is None


def test_a_session_of_the_owner_goes_with_the_owners_token(store):
    key, until = page(store, OWNER)
    assert until > now()
    assert at_page(store, key) == OWNER
    assert at_page(store, key, "another token") is None
    assert at_page(store, key, "") is None


def test_a_session_ends_by_itself_and_is_cleared_away(store):
    key, _ = page(store, OWNER)
    with store.home.write() as session:
        session.run("UPDATE sessions SET expires = ?", (now(),))
    assert at_page(store, key) is None
    page(store, OWNER)
    with store.home.read() as session:
        assert session.rows("SELECT COUNT(*) FROM sessions") == [(1,)]
