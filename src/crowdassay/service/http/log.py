"""What the service logs: one line of JSON for each request, failed fit and error; never a token, a label or a query."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from crowdassay.errors import FileError

LOG = logging.getLogger("crowdassay.service")
NAMING_WORKERS = ("/workers/", "/labels/")  # paths after which a worker is named
SERVER_LOG = logging.getLogger("uvicorn.error")  # what the server under it refuses: heads that are none, connections too many


def without_name(path: str) -> str:
    """Return a path without the worker, or the key of a label, that it names: a log outlives who was erased.

    >>> without_name("/workers/ann"), without_name("/items/photo-7")
    ('/workers/...', '/items/photo-7')
    """
    start = next((start for start in NAMING_WORKERS if path.startswith(start)), None)
    return path if start is None else f"{start}..."


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON: time, level, what happened, and the fields given as ``extra={"fields": ...}``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line.

        >>> record = logging.LogRecord("x", logging.INFO, "", 0, "request", None, None)
        >>> record.created, record.fields = 0.0, {"status": 200}
        >>> JsonLines().format(record)
        '{"time": "1970-01-01T00:00:00.000+00:00", "level": "info", "event": "request", "status": 200}'
        """
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "event": record.getMessage(), **getattr(record, "fields", {})}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to(place: str | None) -> None:
    """Log to a file, or to standard error (``-``); None logs warnings and errors only, to standard error."""
    try:
        to_file = place not in {None, "-"}
        handler = logging.FileHandler(str(place), encoding="utf-8") if to_file else logging.StreamHandler(sys.stderr)
    except OSError as error:
        raise FileError(f"The log '{place}' cannot be written ({error.strerror}); name another file, or - .") from None
    handler.setFormatter(JsonLines())
    for log in (LOG, SERVER_LOG):
        log.handlers[:] = [handler]
        log.propagate = False
    LOG.setLevel(logging.WARNING if place is None else logging.INFO)
