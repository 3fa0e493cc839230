"""What stands before every request: host, origin, size, time and rate, with the token check; and headers on every answer."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crowdassay.errors import CrowdassayError
from crowdassay.service.http.requests import READING, RefusalError
from crowdassay.service.http.token_check import TokenCheck
from crowdassay.service.store.writer import BusyError

if TYPE_CHECKING:
    from crowdassay.service.http.service import Service

LOG = logging.getLogger("crowdassay.service")
BODY_TYPES = ("application/json", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
MOST_ADDRESSES = 10_000  # whose rate is remembered
# Seconds up to which answers are counted together.
TIME_EDGES = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, float("inf"))
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' https: http: data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFETY_HEADERS = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
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
    buckets: list[int] = field(default_factory=lambda: [0] * len(TIME_EDGES))

    def note(self, method: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.answers[method, status] = self.answers.get((method, status), 0) + 1
        self.seconds += seconds
        for place, edge in enumerate(TIME_EDGES):
            if seconds <= edge:
                self.buckets[place] += 1
                return


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, service: Service, *, tokens: TokenCheck, hosts: frozenset[str]) -> None:
        self.app, self.service, self.tokens, self.hosts = app, service, tokens, hosts
        self.limits, self.meter = service.limits, service.meter
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, pass it on, and put the headers on the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *SAFETY_HEADERS]
            await send(message)

        try:
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            self._check_host(headers)
            self._check_rate(scope)
            self._check_site(scope["method"], headers)
            scope["app"] = self.service  # as `service_of` finds it
            scope.setdefault("state", {})["identity"] = await self.tokens.check(scope, headers)
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
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)
        if left < 1:
            raise RefusalError(429, "Too many requests; wait a moment.", {"retry-after": "1"})

    def _check_site(self, method: str, headers: Mapping[bytes, str]) -> None:
        """Refuse what another site's page sends; a browser says so by Origin or Sec-Fetch-Site."""
        if method not in READING:
            origin = headers.get(b"origin")
            if origin is not None and urlsplit(origin).netloc.lower() != headers[b"host"].lower():
                raise RefusalError(403, "Requests from other sites are refused.")
            if headers.get(b"sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
                raise RefusalError(403, "Requests from other sites are refused.")
            kind = headers.get(b"content-type", "").split(";")[0].strip().lower()
            if (
                method in {"POST", "PUT", "PATCH"}
                and (kind or headers.get(b"content-length", "0") != "0")
                and kind not in BODY_TYPES
            ):
                raise RefusalError(415, "Send application/json, or application/x-ndjson with one object on each line.")

    def _limited(self, scope: Scope, headers: Mapping[bytes, str], receive: Receive) -> Receive:
        """Return a ``receive`` that refuses a body that is too long or too slow."""
        if scope["method"] in READING:
            return receive
        length = headers.get(b"content-length", "0")
        most = self.limits.body
        if not length.isdigit() or int(length) > most:
            raise RefusalError(413, f"The request is longer than {most:,} bytes; send the labels in several.")
        got, complete, until = 0, False, asyncio.get_running_loop().time() + self.limits.seconds

        async def limited() -> Message:
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
    if isinstance(error, BusyError):
        return RefusalError(429, error.message, {"retry-after": str(error.retry_after)})
    if isinstance(error, CrowdassayError):  # the database cannot be reached, for instance, or has not stored what was sent
        return RefusalError(503, error.message, {"retry-after": "5"})
    return RefusalError(500, f"Something went wrong that should not have ({type(error).__name__}); please report it.")


async def refuse(send: Send, refusal: RefusalError) -> None:
    """Answer with a status and a sentence."""
    body = json.dumps({"error": refusal.message}).encode()
    headers = [(name.encode(), value.encode()) for name, value in refusal.all_headers().items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
