"""What a server takes before it serves: the store for itself, an address, and connections that end if a head is too slow."""

from __future__ import annotations

import os
import socket
from asyncio import Transport
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from crowdassay.errors import FileError
from crowdassay.labels.databases.home import LOCK, Home, PostgresHome, SqliteHome
from crowdassay.labels.workspace import locked
from crowdassay.service.http.log import LOG

MOST_HEAD_BYTES = 1 << 16
MOST_CONNECTIONS = 2000
IDLE_SECONDS = 30  # after which a connection without a request ends


@contextmanager
def serving_alone(home: Home) -> Iterator[None]:
    """Hold the place of the one server of a store, since two would fit the same labels twice; other programs may add labels.

    The system lets go of it even after a kill -9.
    """
    busy = FileError(f"Another server runs on {home.name}; use that one, or stop it first.")
    with ExitStack() as held:
        if isinstance(home, SqliteHome):
            held.enter_context(locked(home.path.with_name(home.path.name + ".serving"), busy=busy))
        elif isinstance(home, PostgresHome):
            sql, number = "SELECT pg_try_advisory_lock(%s, hashtext(current_schema()))", (LOCK + 1) & 0x7FFFFFFF
            (free,) = held.enter_context(closing(home.connect())).execute(sql, (number,)).fetchone()
            if not free:
                raise busy
        yield


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket bound to an address, before anything else is done, so that one in use is a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((host, port))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "no such host"
            raise FileError(f"{host}:{port} cannot be listened at ({reason}); choose another with --port or --host.") from None
        yield taken


def server_for(app: ASGIApp, seconds: float, proxies: Sequence[str]) -> uvicorn.Server:
    """Return a server of an application; headers on who sends a request, and by HTTPS or not, are taken from these proxies."""
    return uvicorn.Server(
        uvicorn.Config(
            app, log_config=None, log_level="warning", access_log=False, server_header=False, lifespan="on", ws="none",
            proxy_headers=bool(proxies), forwarded_allow_ips=list(proxies), timeout_graceful_shutdown=10,
            timeout_keep_alive=IDLE_SECONDS, limit_concurrency=MOST_CONNECTIONS, http=connection_for(seconds),
        )
    )  # fmt: skip


def connection_for(seconds: float) -> type[HttpToolsProtocol]:
    """Return a kind of connection on which the head of a request must be complete after so many seconds.

    Heads that are too long end it, too. Bodies are checked by `crowdassay.service.http.guard`.
    """

    class TimedConnection(HttpToolsProtocol):
        head = 0  # bytes of a head that is not complete
        seen: RequestResponseCycle | None = None  # the last request when the clock was last looked at

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            """Start the clock."""
            super().connection_made(transport)
            self.loop.call_later(seconds, self.look)

        def data_received(self, data: bytes) -> None:
            """Pass on what came, and count it while it is part of a head."""
            super().data_received(data)
            self.head = self.head + len(data) if self.between() else 0
            if self.head > MOST_HEAD_BYTES and not self.transport.is_closing():
                self.refuse(why := "The head of the request is too long.")
                self.send_400_response(why)

        def refuse(self, why: str) -> None:
            """Log that a connection ends, and why."""
            client = None if self.client is None else self.client[0]
            LOG.warning("connection ended", extra={"fields": {"client": client, "why": why}})

        def between(self) -> bool:
            """Return whether no request is being answered."""
            return self.cycle is None or self.cycle.response_complete

        def look(self) -> None:
            """End the connection if nothing but part of a head has come since the last look; look again later."""
            if self.transport.is_closing():
                return
            waiting = self.between() and self.timeout_keep_alive_task is None  # that ends those between two requests
            if waiting and self.seen is self.cycle:
                if self.head:  # browsers open connections in advance, and send nothing
                    self.refuse(f"The head of a request was not complete after {seconds:.0f} s.")
                self.transport.close()
                return
            self.seen = self.cycle
            self.loop.call_later(seconds, self.look)

    return TimedConnection
