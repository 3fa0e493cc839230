"""Tokens are kept as digests, are known by their role, and can be taken back, in both homes."""

from pathlib import Path

import pytest

from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import NewToken
from crowdassay.service.store.tokens import Identity, find_identity, hand_out, list_tokens, revoke


@pytest.fixture
def store(place):
    opened = open_store(place)
    yield opened
    opened.close()


def hand(store, *wanted):
    with store.home.write() as session:
        return hand_out(session, NewToken(*wanted))


def whose(store, token):
    with store.home.read() as session:
        return find_identity(session, token)


def test_a_token_says_who_sends_a_request(store):
    number, token = hand(store, "label", "ann", "Ann's")
    assert whose(store, token) == Identity("label", "ann", f"token {number}")
    other, another = hand(store, "manage")
    assert (another != token, whose(store, another)) == (True, Identity("manage", None, f"token {other}"))
    for wrong in ("", token[:-1], token + "x", token.upper(), "' OR 1=1 --"):
        assert whose(store, wrong) is None


def test_only_a_digest_is_stored(store, place):
    _, token = hand(store, "read", None, "for the dashboard")
    with store.home.read() as session:
        (row,) = session.rows("SELECT * FROM tokens")
        assert list_tokens(session)[0]._asdict().keys() == {"id", "role", "worker", "note", "time", "revoked"}
    kept = b"|".join(value if isinstance(value, bytes) else str(value).encode() for value in row)
    assert token.encode() not in kept
    if "://" not in place:
        store.close()
        assert not any(token.encode() in path.read_bytes() for path in Path(place).parent.iterdir() if path.is_file())


def test_a_token_taken_back_is_nobodys(store):
    number, token = hand(store, "read")
    _, kept = hand(store, "read")
    with store.home.write() as session:
        assert revoke(session, number)
        assert not revoke(session, number)
        assert not revoke(session, number + 100)
    assert whose(store, token) is None
    assert whose(store, kept) is not None
    with store.home.read() as session:
        assert [one.revoked is None for one in list_tokens(session)] == [False, True]
