"""What stands before every request: host, origin, size, time and rate, with the token check; and headers on every answer."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crowdassay.errors import CrowdassayError, ParameterError
from crowdassay.service.http.log import LOG, without_name
from crowdassay.service.http.requests import READING, RefusalError
from crowdassay.service.store.writer import BusyError

if TYPE_CHECKING:
    from crowdassay.service.http.service import Service

UPLOAD, FILE_TYPE = "/upload", "application/octet-stream"  # where files are sent, and what they are sent as
BODY_TYPES = ("application/json", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines")
EVENT_STREAM = b"text/event-stream; charset=utf-8"
MOST_ADDRESSES = 10_000  # whose rate is remembered
# Seconds up to which answers are counted together.
TIME_EDGES = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, float("inf"))
# What an operator looks for: a proxy that is set up wrongly, clients that are turned away, a database that is away. The reasons
# of others (404, 409, 422) may repeat what was sent.
SAID_IN_THE_LOG = frozenset({400, 401, 403, 408, 413, 415, 429, 503})
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
    """What a client may do."""

    body: int = 128 << 20  # bytes of one request
    seconds: float = 30.0  # to send it
    rate: float = 10_000.0  # requests a second from one address, on average; ten times as many at once


@dataclass
class Meter:
    """What was asked and answered, for /metrics."""

    answers: dict[tuple[str, int], int] = field(default_factory=dict)
    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * len(TIME_EDGES))

    def note(self, method: str, status: int, seconds: float | None) -> None:
        """Count an answer; its time is None where it was a stream, which lasts as long as somebody listens."""
        self.answers[method, status] = self.answers.get((method, status), 0) + 1
        if seconds is not None:
            self.seconds += seconds
            self.buckets[bisect_left(TIME_EDGES, seconds)] += 1


class Buckets:
    """What each address may still send: so many requests a second on average, ten times as many at once."""

    def __init__(self, rate: float) -> None:
        self.rate, self.most = rate, 10 * rate
        self.left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests, and when that was so

    def take(self, address: str) -> bool:
        """Return whether an address may send one more request now."""
        now = time.monotonic()
        left, then = self.left.pop(address, (self.most, now))
        left = min(self.most, left + (now - then) * self.rate)
        self.left[address] = (left - 1 if left >= 1 else left, now)
        if len(self.left) > MOST_ADDRESSES:
            self.left.popitem(last=False)
        return left >= 1


class Guard:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, service: Service, *, hosts: frozenset[str]) -> None:
        self.app, self.service, self.tokens, self.hosts = app, service, service.tokens, hosts
        self.limits, self.meter = service.limits, service.meter
        self.buckets = Buckets(service.limits.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, pass it on, and put the headers on the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status, streamed, why = 0, False, None

        async def answer(message: Message) -> None:
            nonlocal status, streamed
            if message["type"] == "http.response.start":
                status = message["status"]
                streamed = (b"content-type", EVENT_STREAM) in message.get("headers", [])
                message["headers"] = [*message.get("headers", []), *SAFETY_HEADERS]
            await send(message)

        try:
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            self._check_host(scope, headers)
            if not self.buckets.take((scope.get("client") or ("",))[0]):
                raise RefusalError(429, "Too many requests; wait a moment.", {"retry-after": "1"})
            if self.service.root_path:
                self._enter_root(scope)
            self._check_site(scope["method"], scope["path"], headers)
            scope["app"] = self.service  # as `service_of` finds it
            state = scope.setdefault("state", {})
            state["identity"], state["proof"] = await self.tokens.check(scope, headers)
            await self.app(scope, self._limited(scope, headers, receive), answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked is answered
            refusal = _refusal(error)
            if status or refusal.status == 500:
                LOG.exception(
                    "request failed", extra={"fields": {"method": scope["method"], "path": without_name(scope["path"])}}
                )
            elif refusal.status in SAID_IN_THE_LOG:
                why = refusal.message
            if not status:
                await refuse(answer, refusal)
        finally:
            seconds = time.perf_counter() - started
            self.meter.note(scope["method"], status or 500, None if streamed else seconds)
            level = logging.INFO if why is None else logging.WARNING
            if LOG.isEnabledFor(level):
                LOG.log(level, "request", extra={"fields": _facts(scope, status or 500, seconds, why)})

    def _check_host(self, scope: Scope, headers: Mapping[bytes, str]) -> None:
        several = len(headers) < len(scope["headers"])
        if several and sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise RefusalError(400, "The request names two hosts.")
        host = headers.get(b"host", "")
        if not answers_to(self.hosts, host):
            raise RefusalError(400, f"This server does not answer to the host name '{host[:100]}'; --allow-host adds one.")

    def _enter_root(self, scope: Scope) -> None:
        """Take the path that a proxy serves this job at off the path of a request, unless the proxy did so."""
        root, path = self.service.root_path, scope["path"]
        if path == root:  # the page's own addresses are relative to that with the slash
            query = scope["query_string"].decode("latin-1")
            raise RefusalError(308, f"The page is at {root}/.", {"location": f"{root}/{'?' if query else ''}{query}"})
        if path.startswith(f"{root}/"):
            scope["path"] = path.removeprefix(root)

    def _check_site(self, method: str, path: str, headers: Mapping[bytes, str]) -> None:
        """Refuse what another site's page sends.

        Browsers say so by Sec-Fetch-Site, whatever host a proxy names; where they leave it out, as over plain HTTP, by Origin.
        """
        if method not in READING:
            site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
            if site is None and origin is not None:
                place = urlsplit(origin).netloc.lower()
                site = "same-origin" if answers_to(self.hosts, place) else f"from {origin[:100]}"
            if site not in {None, "same-origin", "none"}:
                raise RefusalError(
                    403, f"Requests from pages of other sites are refused ({site}); --allow-host names hosts of this one."
                )  # fmt: skip
            kind = headers.get(b"content-type", "").split(";")[0].strip().lower()
            if (
                method in {"POST", "PUT", "PATCH"}
                and (kind or headers.get(b"content-length", "0") != "0")
                and kind not in BODY_TYPES
                and not (path == UPLOAD and kind == FILE_TYPE)
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


def answers_to(hosts: frozenset[str], host: str) -> bool:
    """Return whether a host name is one of the server's; ``name:*`` among those stands for any port.

    >>> hosts = frozenset({"127.0.0.1:8765", "labels.example", "labels.example:*"})
    >>> [answers_to(hosts, host) for host in ("Labels.example", "labels.example:8443", "127.0.0.1:80", "labels.example:1@evil")]
    [True, True, False, False]
    """
    host = host.lower()
    if host in hosts:
        return True
    name, _, port = host.rpartition(":")
    return port.isdigit() and f"{name}:*" in hosts


def _facts(scope: Scope, status: int, seconds: float, why: str | None) -> dict[str, object]:
    """Return what the log says of a request: without the query and the headers, which may hold a token."""
    identity = scope.get("state", {}).get("identity")
    facts = {
        "method": scope["method"],
        "path": without_name(scope["path"]),
        "status": status,
        "ms": round(1000 * seconds, 2),
        "who": None if identity is None else identity.name,
        "client": (scope.get("client") or (None,))[0],
    }
    return facts if why is None else {**facts, "why": why}


def _refusal(error: Exception) -> RefusalError:
    """Return what to answer to whatever went wrong."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, HTTPException):  # of the router
        said = {404: "There is no such path; /openapi.json lists all.", 405: "This path does not take this method."}
        return RefusalError(error.status_code, said.get(error.status_code, error.detail), error.headers)
    if isinstance(error, BusyError):
        return RefusalError(429, error.message, {"retry-after": str(error.retry_after)})
    if isinstance(error, ParameterError):  # what was sent cannot be done
        return RefusalError(422, error.message)
    if isinstance(error, CrowdassayError):  # the database cannot be reached, for instance, or has not stored what was sent
        return RefusalError(503, error.message, {"retry-after": "5"})
    return RefusalError(500, f"Something went wrong that should not have ({type(error).__name__}); please report it.")


async def refuse(send: Send, refusal: RefusalError) -> None:
    """Answer with a status and a sentence."""
    body = json.dumps({"error": refusal.message}).encode()
    headers = [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
