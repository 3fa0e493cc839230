"""Take the address before anything else is done, so that one in use is a sentence."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from crowdassay.errors import FileError


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket bound to an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((host, port))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "no such host"
            raise FileError(f"{host}:{port} cannot be listened at ({reason}); choose another with --port or --host.") from None
        yield taken
    finally:
        taken.close()
