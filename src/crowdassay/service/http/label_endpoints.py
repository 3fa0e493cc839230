"""POST /labels and GET /labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crowdassay.service.http.requests import RefusalError, as_received, body_type, number_of, records_of
from crowdassay.service.http.service import Service, service_of
from crowdassay.service.store.labels import find_place, list_labels
from crowdassay.service.store.open import Batch
from crowdassay.service.store.records import Received, Refused, SentLabel, read_all, read_label
from crowdassay.service.store.tokens import Identity
from crowdassay.service.store.writer import BusyError, NotStoredError

SMALL_BODY = 1 << 14  # bytes that are read where they come in; more would hold up others
LABELS_STORED_AT_A_TIME = 10_000  # of a long body
LABELS_LISTED_AT_A_TIME = 1000
ALL_LABELS = 1 << 40
Sent = list[tuple[int, SentLabel]]


async def post_labels(request: Request) -> Response:
    """Add labels; the answer comes once they are on disk."""
    service, identity = service_of(request), request.state.identity
    data, kind = await request.body(), body_type(request)
    if len(data) <= SMALL_BODY:
        received = await _store(service, identity, *read_all(records_of(data, kind), read_label))
    else:
        received = await _store_many(service, identity, data, kind)
    return as_received(received)


async def _store(service: Service, identity: Identity, good: Sent, bad: list[Refused]) -> Received:
    if identity.worker is not None:
        good, bad = _of_worker(good, bad, identity.worker)
    return await service.writer.add(Batch(good, bad, identity.name))


async def _store_many(service: Service, identity: Identity, data: bytes, kind: str) -> Received:
    """Store a long body in parts, so that others are not held up; a list is looked through first, as it counts whole."""

    def look() -> Iterator[Any]:
        if data[:100].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
            for _ in records_of(data, kind):
                pass
        return records_of(data, kind)

    values, received, first = await service.run(look), Received(), 0
    while True:
        good, bad = await service.run(lambda: read_all(islice(values, LABELS_STORED_AT_A_TIME), read_label, first))  # noqa: B023 - run at once
        count = len(good) + len(bad)
        if first and not count:
            return received
        try:
            done = await _store(service, identity, good, bad)
        except (BusyError, NotStoredError) as error:
            if not first:
                raise
            reason = f"Only the first {first:,} labels of this request were dealt with; send all of it again."
            raise type(error)(reason) from None
        received = Received(received.added + done.added, received.known + done.known, [*received.refused, *done.refused])
        first += count
        if count < LABELS_STORED_AT_A_TIME:
            return received


async def get_labels(request: Request) -> Response:
    """List labels in the order in which they came; ``next`` is the key to go on after."""
    service = service_of(request)
    limit, after = number_of(request, "limit", LABELS_LISTED_AT_A_TIME, 1, ALL_LABELS), request.query_params.get("after", "")
    try:
        start = await service.read(lambda session: find_place(session, after))
    except KeyError:
        raise RefusalError(404, "There is no label with the key that 'after' names.") from None
    return StreamingResponse(_listed(service, start, limit), media_type="application/json")


def _listed(service: Service, seq: int, limit: int) -> Iterator[bytes]:
    """Yield the answer in pieces, however long it is: no read of the database, and no piece of work, takes long."""
    head, last, left = b'{"labels":[', None, limit
    while left > 0:
        with service.store.home.read() as session:
            rows = list_labels(session, seq, min(left, LABELS_LISTED_AT_A_TIME))
        if rows:
            yield head + json.dumps([one.as_dict() for one in rows], ensure_ascii=False, separators=(",", ":")).encode()[1:-1]
            head, last, seq = b",", rows[-1].key, rows[-1].seq
        left -= len(rows)
        if len(rows) < LABELS_LISTED_AT_A_TIME:
            break
    yield (b"" if last is not None else head) + b'],"next":' + json.dumps(last if left == 0 else None).encode() + b"}"


def _of_worker(good: Sent, bad: list[Refused], worker: str) -> tuple[Sent, list[Refused]]:
    """Refuse labels in the name of anybody but the one whom the token was given to."""
    reason = "This token is for labels by another worker."
    others = [Refused(place, reason, one.key) for place, one in good if one.worker != worker]
    return [(place, one) for place, one in good if one.worker == worker], [*bad, *others]
