"""Tell others, by a signed webhook, when items are settled or disputed: at least once, and in the order of events.

What is to be told is in the store, so that nothing is lost by a restart, and nothing is told anew. Signatures are those of
https://www.standardwebhooks.com, for which there are libraries that check them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from crowdassay.errors import ParameterError
from crowdassay.findings.items import ItemStanding
from crowdassay.service.fits.item_state import UNLABELLED, ItemState, from_fit
from crowdassay.service.fits.job import Job
from crowdassay.service.fits.snapshot import Snapshot
from crowdassay.service.store.notices import count_waiting, mark_sent, put_notices, told_last, waiting_notices
from crowdassay.service.store.records import DISPUTED, REOPENED, SETTLED, Notice
from crowdassay.service.store.writer import Writer
from crowdassay.version import VERSION

LOG = logging.getLogger("crowdassay.service")
EVENTS_IN_A_REQUEST = 500
EVENTS_STORED_AT_A_TIME = 2000  # others wait for the store no longer than these take
NOTICE_PAUSE = 1.0  # seconds between two looks for what has changed
SEND_SECONDS = 10.0  # seconds that a receiver has to answer
FIRST_RETRY, LONGEST_RETRY = 1.0, 3600.0  # seconds until the next try: doubled each time, up to an hour
SECRET_MARK = "whsec_"  # noqa: S105  # nosec B105 - how secrets begin whose rest is base64


class Receiver(NamedTuple):
    """Who is told: an address, and the key with which what is sent is signed."""

    url: str
    key: bytes


def find_receiver(url: str, secret: str) -> Receiver:
    """Check the address and the secret of a receiver.

    >>> find_receiver("https://hooks.example/labels", "whsec_c2VjcmV0").key
    b'secret'
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none
        good = False
    if not good or not url.isascii() or not url.isprintable() or " " in url:
        raise ParameterError("--notify takes an address such as https://hooks.example/labels, http or https.")
    if parts.username is not None:
        raise ParameterError("--notify takes an address without user and password; what is sent is signed instead.")
    if not secret.startswith(SECRET_MARK):
        return Receiver(url, secret.encode())
    try:
        return Receiver(url, base64.b64decode(secret.removeprefix(SECRET_MARK), validate=True))
    except ValueError:
        raise ParameterError(f"A secret that begins with {SECRET_MARK} goes on in base64.") from None


def sign(key: bytes, name: str, seconds: int, body: bytes) -> str:
    """Return the signature of a request: HMAC-SHA256 of its name, its time and its body, in base64.

    >>> sign(b"secret", "msg_1", 1700000000, b"{}")
    'v1,A5oIrJxXPB/PkULSoVu0e4khvPiqpF9vljmhkSKg0FI='
    """
    mac = hmac.new(key, f"{name}.{seconds}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(mac.digest()).decode()}"


def find_notices(
    snapshot: Snapshot | None,
    known: Mapping[str, tuple[str, str]],
    told: Mapping[str, tuple[str, str | None]],
    current: Callable[[str], ItemState | None],
) -> Iterator[Notice]:
    """Yield what has changed since it was told last.

    An item is settled by the fit, or by a person; it is disputed where its labels differ and the fit leaves it open. One that
    was settled and is open again, though nobody disagrees, is reopened. Between fits nothing changes but by persons.
    ``told`` holds the kind and label under which others were told of each item last; ``current`` returns how an item stands.
    """
    for item, (label, basis) in known.items():
        if told.get(item) != (SETTLED, label):
            state = current(item) or UNLABELLED
            yield Notice(item, SETTLED, label, 1.0, state.n_labels, basis)
    if snapshot is None:
        return
    settled, labels = snapshot.standing == ItemStanding.SETTLED, snapshot.estimator.result_.labels
    first, last = (reduce.reduceat(labels.label, labels.starts[:-1]) for reduce in (np.minimum, np.maximum))
    disputed = (first != last) & (snapshot.n_labels > 1)
    for place, item in enumerate(snapshot.names):
        # What was known when the fit began and is not any more is told of after the next.
        if item in known or snapshot.standing[place] == ItemStanding.KNOWN:
            continue
        before = told.get(item)
        if settled[place]:
            kind = SETTLED
        elif disputed[place]:
            kind = DISPUTED
        elif before is None:
            continue
        else:
            kind = REOPENED
        state = from_fit(snapshot, place, whole=False)
        if before is None or before[0] != kind or (kind == SETTLED and before[1] != state.label):
            yield Notice(item, kind, state.label, state.probability, state.n_labels, state.basis)


class Notifier(threading.Thread):
    """A thread that stores what is to be told, and tells it."""

    def __init__(self, job: Job, writer: Writer, receiver: Receiver, title: str) -> None:
        super().__init__(name="notifier", daemon=True)
        self.job, self.writer, self.receiver, self.title = job, writer, receiver, title
        self.failures = 0
        self._told: dict[str, tuple[str, str | None]] | None = None
        self._seen: tuple[int | None, dict[str, tuple[str, str]]] | None = None
        self._ended = threading.Event()

    def stop(self) -> None:
        """End; what was not told is told after the next start."""
        self._ended.set()
        self.join(timeout=1)  # a receiver that does not answer is not waited for

    def waiting(self) -> int:
        """Return of how many items others are still to be told."""
        with self.job.store.home.read() as session:
            return count_waiting(session)

    def look(self) -> float:
        """Store what has changed and tell what waits, one request of it; return in how many seconds to look again."""
        self._gather()
        with self.job.store.home.read() as session:
            notices = waiting_notices(session, EVENTS_IN_A_REQUEST)
        if not notices:
            return NOTICE_PAUSE
        why = self._send(notices)
        if self._ended.is_set():  # nobody writes any more; it is told again after the next start
            return 0.0
        if why is None:
            self.failures = 0
            self.writer.call(partial(mark_sent, notices=notices)).result()
            return 0.0 if len(notices) == EVENTS_IN_A_REQUEST else NOTICE_PAUSE
        pause = min(LONGEST_RETRY, FIRST_RETRY * 2 ** min(self.failures, 20))
        self.failures += 1
        host = urlsplit(self.receiver.url).netloc  # not the path, which may hold a secret
        LOG.warning("notices not delivered", extra={"fields": {"host": host, "why": why, "again_in": pause}})
        return pause

    def _gather(self) -> None:
        """Store what has changed since the last look: by a fit, or by a person."""
        if self._told is None:
            with self.job.store.home.read() as session:
                self._told = told_last(session)
        snapshot, known = self.job.snapshot, dict(self.job.known)
        seen = (None if snapshot is None else snapshot.fit, known)
        if seen == self._seen:
            return
        changed = find_notices(snapshot, known, self._told, self.job.current)
        while some := list(islice(changed, EVENTS_STORED_AT_A_TIME)):
            if self._ended.is_set():
                return
            self.writer.call(partial(put_notices, notices=some)).result()
            self._told.update((one.item, (one.kind, one.label)) for one in some)
        self._seen = seen

    def _send(self, notices: Sequence[Notice]) -> str | None:
        """Send a request; return why it was not taken, None if it was."""
        body = json.dumps({"job": self.title, "events": [one.as_dict() for one in notices]}, ensure_ascii=False).encode()
        name = "msg_" + hashlib.sha256("".join(one.event_id for one in notices).encode()).hexdigest()[:24]
        seconds = int(time.time())
        headers = {
            "content-type": "application/json", "user-agent": f"crowdassay/{VERSION}", "webhook-id": name,
            "webhook-timestamp": str(seconds), "webhook-signature": sign(self.receiver.key, name, seconds, body),
        }  # fmt: skip
        try:
            status = _post(self.receiver.url, body, headers)
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        return None if 200 <= status < 300 else f"status {status}"

    def run(self) -> None:
        """Look again and again."""
        pause = 0.0
        while not self._ended.wait(pause):
            try:
                pause = self.look()
            except Exception:
                LOG.exception("notices could not be stored or read; it is tried again")  # the database may be away
                pause = SEND_SECONDS


def _post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Send a body and return the status of the answer. Nobody is followed elsewhere: a redirection is a status like others."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https":
        secure = http.client.HTTPSConnection(host, parts.port, timeout=SEND_SECONDS, context=ssl.create_default_context())
        connection: http.client.HTTPConnection = secure
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=SEND_SECONDS)
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
        return connection.getresponse().status
    finally:
        connection.close()
