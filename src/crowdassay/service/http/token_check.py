"""Tokens are checked here: who sends a request, and whether that role may do what it asks for."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.types import Scope

from crowdassay.labels.databases.home import Home
from crowdassay.service.http.requests import READING, RefusalError
from crowdassay.service.store.tokens import Identity, find_identity

COOKIE = "crowdassay_token"
WITHOUT_TOKEN = frozenset({"/health", "/page.css", "/page.js", "/openapi.json"})  # nothing of the job is in these
REMEMBERED_SECONDS = 2.0  # a token that was taken back works so much longer
MOST_REMEMBERED = 10_000


class Rights(NamedTuple):
    """What roles may do: ``label`` these methods and paths only, ``read`` all that reads but these paths, ``manage`` all."""

    labelling: frozenset[tuple[str, str]]
    not_reading: frozenset[str]


class TokenCheck:
    """Finds out who sends a request by the token that comes with it; ``token`` None asks for none."""

    def __init__(self, token: str | None, home: Home, rights: Rights) -> None:
        self.token, self.home, self.rights = token, home, rights
        self._remembered: OrderedDict[str, tuple[float, Identity | None]] = OrderedDict()

    async def check(self, scope: Scope, headers: Mapping[bytes, str]) -> Identity:
        """Return who sends a request; refuse one without a token (401), or with one that may not do this (403)."""
        method, path = scope["method"], scope["path"]
        if self.token is None:
            return Identity("manage", None, "anybody")
        if path in WITHOUT_TOKEN and method in READING:
            return Identity("read", None, "anybody")
        given = _token_of(headers, scope)
        identity = await self._identify(given, self.token) if given else None
        if identity is None:
            raise RefusalError(
                401, "A token is needed: open the address that the server printed, or send Authorization: Bearer TOKEN.",
                {"www-authenticate": "Bearer"},
            )  # fmt: skip
        if not self._allowed(identity.role, method, path):
            raise RefusalError(403, f"A token of the role '{identity.role}' may not do this.")
        return identity

    def _allowed(self, role: str, method: str, path: str) -> bool:
        return (
            role == "manage"
            or (role == "read" and method in READING and path not in self.rights.not_reading)
            or (role == "label" and (method, path) in self.rights.labelling)
        )

    async def _identify(self, given: str, owner: str) -> Identity | None:
        if secrets.compare_digest(given.encode(), owner.encode()):
            return Identity("manage", None, "owner")
        kept = self._remembered.get(given)
        if kept is None or kept[0] < time.monotonic():
            identity = await asyncio.get_running_loop().run_in_executor(None, self._look_up, given)
            self._remembered[given] = kept = (time.monotonic() + REMEMBERED_SECONDS, identity)
            if len(self._remembered) > MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return kept[1]

    def _look_up(self, token: str) -> Identity | None:
        with self.home.read() as session:
            return find_identity(session, token)


def _token_of(headers: Mapping[bytes, str], scope: Scope) -> str | None:
    given = headers.get(b"authorization", "")
    if given.lower().startswith("bearer "):
        return given[7:].strip()
    if b"cookie" in headers:
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(headers[b"cookie"])
        except Exception:  # noqa: BLE001 - a cookie of somebody else that is no cookie
            return None
        if COOKIE in jar:
            return jar[COOKIE].value
    if scope["path"] == "/" and scope["method"] in READING:  # the address that is printed at the start
        return (parse_qs(scope["query_string"].decode("latin-1")).get("token") or [None])[0]
    return None
