"""Tokens are checked here: who sends a request, and whether that role may do what it asks for."""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64decode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.requests import cookie_parser
from starlette.types import Scope

from crowdassay.labels.databases.home import Home
from crowdassay.service.http.requests import READING, RefusalError
from crowdassay.service.store.tokens import OWNER, Identity, find_identity, find_session

COOKIE = "crowdassay_session"
LABEL_STUDIO = "/label-studio/"  # how the paths begin that Label Studio calls
# Nothing of the job is in these.
WITHOUT_TOKEN = frozenset({"/health", f"{LABEL_STUDIO}health", "/ready", "/page.css", "/page.js", "/openapi.json"})
ANYBODY = Identity("manage", None, "anybody")  # where no token is asked for
PASSER_BY = Identity("read", None, "anybody")


class Rights(NamedTuple):
    """What roles may do: ``label`` these methods and paths only, ``read`` all that reads but these paths, ``manage`` all.

    Of the paths for ``label`` only the first part is given, since a label's key may follow.
    """

    labelling: frozenset[tuple[str, str]]
    not_reading: frozenset[str]


class Proof(NamedTuple):
    """What a request shows of who sent it: a token, or the session of a page."""

    value: str
    is_session: bool


class TokenCheck:
    """Finds out who sends a request by what comes with it.

    Nothing is remembered, so that a token that was taken back, by whatever program, ends at once. Requests that come while the
    store is being asked share the next question. The token of the ``owner`` may do everything; it is empty where only
    tokens that were handed out count, and None where none is asked for.
    """

    def __init__(self, owner: str | None, home: Home, rights: Rights) -> None:
        self.owner, self.home, self.rights = owner, home, rights
        self._waiting: dict[Proof, asyncio.Future[Identity | None]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def check(self, scope: Scope, headers: Mapping[bytes, str]) -> tuple[Identity, Proof | None]:
        """Return who sends a request, and what shows it; refuse one without a token (401), or that may not do this (403)."""
        method, path = scope["method"], scope["path"]
        if self.owner is None:
            return ANYBODY, None
        if path in WITHOUT_TOKEN and method in READING:
            return PASSER_BY, None
        proof = _proof_of(headers, scope)
        identity = None if proof is None else await self.identify(proof)
        if identity is None:
            raise RefusalError(
                401, "A token is needed, one that is still valid: open the address with ?token=TOKEN, or send Authorization: "
                "Bearer TOKEN.", {"www-authenticate": "Bearer"},
            )  # fmt: skip
        role = identity.role
        allowed = (
            role == "manage"
            or (role == "read" and method in READING and path not in self.rights.not_reading)
            or (role == "label" and (method, first_part(path)) in self.rights.labelling)
        )
        if not allowed:
            raise RefusalError(403, f"A token of the role '{role}' may not do this.")
        return identity, proof

    async def identify(self, proof: Proof | None) -> Identity | None:
        """Return whose token or session this is, None if it is nobody's (any more)."""
        if proof is None:
            return ANYBODY if self.owner is None else None
        if not proof.is_session and self.owner and secrets.compare_digest(proof.value.encode(), self.owner.encode()):
            return OWNER
        future = self._waiting.get(proof)
        if future is None:
            future = self._waiting[proof] = asyncio.get_running_loop().create_future()
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(future)  # others may wait for the same

    async def _ask(self) -> None:
        """Ask the store until nobody waits."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            try:
                found = await loop.run_in_executor(None, self._look_up, list(waiting))
            except Exception as error:  # noqa: BLE001 - whoever waits is told
                for future in waiting.values():
                    future.set_exception(error)
            else:
                for proof, future in waiting.items():
                    future.set_result(found[proof])
        self._asking = None

    def _look_up(self, proofs: Iterable[Proof]) -> dict[Proof, Identity | None]:
        with self.home.read() as session:
            return {
                one: find_session(session, one.value, self.owner or "") if one.is_session else find_identity(session, one.value)
                for one in proofs
            }


def first_part(path: str) -> str:
    """Return the first part of a path.

    >>> first_part("/labels/~photo|ann|1"), first_part("/next")
    ('/labels', '/next')
    """
    return "/" + path[1:].split("/", maxsplit=1)[0]


def _proof_of(headers: Mapping[bytes, str], scope: Scope) -> Proof | None:
    given = headers.get(b"authorization", "")
    if given.lower().startswith("bearer "):
        return Proof(given[7:].strip(), is_session=False)
    if given.lower().startswith("basic ") and scope["path"].startswith(LABEL_STUDIO):  # all that its ML backends may have
        with suppress(ValueError):
            password = b64decode(given[6:].strip(), validate=True).decode().partition(":")[2]
            return Proof(password, is_session=False) if password else None
    if scope["path"] == "/" and scope["method"] in READING:  # the address that is printed at the start
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if tokens:
            return Proof(tokens[0], is_session=False)
    cookie = cookie_parser(headers.get(b"cookie", "")).get(COOKIE)
    return None if cookie is None else Proof(cookie, is_session=True)
