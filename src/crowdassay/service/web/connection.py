"""A connection of uvicorn's that ends if the head of a request is too long or too slow; bodies are the guard's business."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 1 << 16  # bytes


def connection_for(seconds: float) -> type[HttpToolsProtocol]:
    """Return a kind of connection on which the head of a request must be complete after so many seconds."""

    class Connection(HttpToolsProtocol):
        head = 0  # bytes of a head that is not complete
        seen: Any = None  # the last request when the clock was last looked at

        def connection_made(self, transport: Any) -> None:
            """Start the clock."""
            super().connection_made(transport)
            self.loop.call_later(seconds, self.look)

        def data_received(self, data: bytes) -> None:
            """Pass on what came, and count it while it is part of a head."""
            super().data_received(data)
            self.head = self.head + len(data) if self.between() else 0
            if self.head > MOST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long.")

        def between(self) -> bool:
            """Tell whether no request is being answered."""
            return self.cycle is None or self.cycle.response_complete

        def look(self) -> None:
            """End the connection if nothing but part of a head has come since the last look; look again later."""
            if self.transport.is_closing():
                return
            waiting = self.between() and self.timeout_keep_alive_task is None  # that ends those between two requests
            if waiting and self.seen is self.cycle:
                self.transport.close()
                return
            self.seen = self.cycle
            self.loop.call_later(seconds, self.look)

    return Connection
