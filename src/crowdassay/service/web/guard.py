"""What stands before every request: host, origin, token and role, size, time and rate; and headers on every answer."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from starlette.exceptions import HTTPException

from crowdassay.errors import CrowdassayError
from crowdassay.service.store.tokens import LABEL, MANAGE, READ, Holder, find_holder

if TYPE_CHECKING:
    from crowdassay.service.web.service import Service

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOG = logging.getLogger("crowdassay.service")
COOKIE = "crowdassay_token"
SAFE = frozenset({"GET", "HEAD"})
FREE = frozenset({"/health", "/page.css", "/page.js", "/openapi.json"})  # nothing of the job is in these
TYPES = ("application/json", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
LABELLERS = frozenset({("POST", "/labels"), ("GET", "/next")})
# Seconds up to which answers are counted together.
EDGES = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, float("inf"))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' https: http: data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
]


@dataclass(frozen=True)
class Limits:
    """What a client may do.

    Attributes
    ----------
    body : int
        Bytes of one request.
    seconds : float
        Time to send it.
    rate : float
        Requests a second from one address, on average; ten times as many at once.
    """

    body: int = 128 << 20
    seconds: float = 30.0
    rate: float = 10_000.0


@dataclass
class Meter:
    """What was asked and answered, for /metrics."""

    answers: dict[tuple[str, int], int] = field(default_factory=dict)
    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * len(EDGES))

    def note(self, method: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[method, status] = self.answers.get((method, status), 0) + 1
        self.seconds += seconds
        for place, edge in enumerate(EDGES):
            if seconds <= edge:
                self.buckets[place] += 1
                return


class RefusalError(Exception):
    """A request that is answered with a status and a sentence instead of being passed on."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def all_headers(self) -> dict[str, str]:
        """Return the headers of the answer; the rest of a body that is not read would be taken for the next request."""
        return {**self.headers, **({"connection": "close"} if self.status in {408, 413} else {})}


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: Any, service: Service, *, token: str | None, hosts: frozenset[str]) -> None:
        self.app, self.service, self.token, self.hosts = app, service, token, hosts
        self.limits, self.meter = service.limits, service.meter
        self._holders: OrderedDict[str, tuple[float, Holder | None]] = OrderedDict()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, pass it on, and put the headers on the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        try:
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            self._check_host(headers)
            self._check_rate(scope)
            self._check_site(scope["method"], headers)
            scope["app"] = self.service  # as `service_of` finds it
            scope.setdefault("state", {})["holder"] = await self._check_token(scope, headers)
            await self.app(scope, self._limited(scope, headers, receive), answer)
        except Exception as error:
            refusal = _refusal(error)
            if status or refusal.status == 500:
                LOG.exception("%s %s failed", scope["method"], scope["path"])
            if not status:
                await refuse(answer, refusal)
        finally:
            self.meter.note(scope["method"], status or 500, time.perf_counter() - started)

    def _check_host(self, headers: Mapping[bytes, str]) -> None:
        if headers.get(b"host", "").lower() not in self.hosts:
            raise RefusalError(400, "This server does not answer to that host name; --allow-host adds one.")

    def _check_rate(self, scope: Scope) -> None:
        """Take a token from the bucket of this address."""
        address = (scope.get("client") or ("",))[0]
        now, most = time.monotonic(), 10 * self.limits.rate
        left, then = self._buckets.pop(address, (most, now))
        left = min(most, left + (now - then) * self.limits.rate)
        self._buckets[address] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > 10_000:
            self._buckets.popitem(last=False)
        if left < 1:
            raise RefusalError(429, "Too many requests; wait a moment.", {"retry-after": "1"})

    def _check_site(self, method: str, headers: Mapping[bytes, str]) -> None:
        """Refuse what another site's page sends; a browser says so by Origin or Sec-Fetch-Site."""
        if method not in SAFE:
            origin = headers.get(b"origin")
            if origin is not None and urlsplit(origin).netloc.lower() != headers[b"host"].lower():
                raise RefusalError(403, "Requests from other sites are refused.")
            if headers.get(b"sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
                raise RefusalError(403, "Requests from other sites are refused.")
            kind = headers.get(b"content-type", "").split(";")[0].strip().lower()
            if (
                method in {"POST", "PUT", "PATCH"}
                and (kind or headers.get(b"content-length", "0") != "0")
                and kind not in TYPES
            ):
                raise RefusalError(415, "Send application/json, or application/x-ndjson with one object on each line.")

    async def _check_token(self, scope: Scope, headers: Mapping[bytes, str]) -> Holder:
        method, path = scope["method"], scope["path"]
        if self.token is None:
            return Holder(MANAGE, None, "anybody")
        if path in FREE and method in SAFE:
            return Holder(READ, None, "anybody")
        given = _token_of(headers, scope)
        holder = await self._holder(given) if given else None
        if holder is None:
            raise RefusalError(
                401, "A token is needed: open the address that the server printed, or send Authorization: Bearer TOKEN.",
                {"www-authenticate": "Bearer"},
            )  # fmt: skip
        allowed = (
            holder.role == MANAGE
            or (holder.role == READ and method in SAFE and path not in {"/next", "/audit", "/tokens"})
            or (holder.role == LABEL and (method, path) in LABELLERS)
        )
        if not allowed:
            raise RefusalError(403, f"A token of the role '{holder.role}' may not do this.")
        return holder

    async def _holder(self, token: str) -> Holder | None:
        assert self.token is not None
        if secrets.compare_digest(token.encode(), self.token.encode()):
            return Holder(MANAGE, None, "owner")
        kept = self._holders.get(token)
        if kept is None or kept[0] < time.monotonic():
            holder = await asyncio.get_running_loop().run_in_executor(None, self._look_up, token)
            self._holders[token] = kept = (time.monotonic() + 2.0, holder)  # a token that was taken back works 2 s more
            if len(self._holders) > 10_000:
                self._holders.popitem(last=False)
        return kept[1]

    def _look_up(self, token: str) -> Holder | None:
        with self.service.store.home.read() as session:
            return find_holder(session, token)

    def _limited(self, scope: Scope, headers: Mapping[bytes, str], receive: Receive) -> Receive:
        """Return a ``receive`` that refuses a body that is too long or too slow."""
        if scope["method"] in SAFE:
            return receive
        length = headers.get(b"content-length", "0")
        most = self.limits.body
        if not length.isdigit() or int(length) > most:
            raise RefusalError(413, f"The request is longer than {most:,} bytes; send the labels in several.")
        got, complete, until = 0, False, asyncio.get_running_loop().time() + self.limits.seconds

        async def limited() -> MutableMapping[str, Any]:
            nonlocal got, complete
            if complete:  # what is left is to hear of a disconnection
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise RefusalError(408, f"The request was not complete after {self.limits.seconds:.0f} s.") from None
            got += len(message.get("body", b""))
            if got > most:
                raise RefusalError(413, f"The request is longer than {most:,} bytes; send the labels in several.")
            complete = not message.get("more_body")
            return message

        return limited


def _refusal(error: Exception) -> RefusalError:
    """Return what to answer to whatever went wrong."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, HTTPException):  # of the router
        said = {404: "There is no such path; /openapi.json lists all.", 405: "This path does not take this method."}
        return RefusalError(error.status_code, said.get(error.status_code, error.detail), error.headers)
    if isinstance(error, CrowdassayError):  # the database cannot be reached, for instance
        return RefusalError(503, error.message, {"retry-after": "5"})
    return RefusalError(500, f"Something went wrong that should not have ({type(error).__name__}); please report it.")


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
    if scope["path"] == "/" and scope["method"] in SAFE:  # the address that is printed at the start
        return (parse_qs(scope["query_string"].decode("latin-1")).get("token") or [None])[0]
    return None


async def refuse(send: Send, refusal: RefusalError) -> None:
    """Answer with a status and a sentence."""
    body = json.dumps({"error": refusal.message}).encode()
    headers = [(name.encode(), value.encode()) for name, value in refusal.all_headers().items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
