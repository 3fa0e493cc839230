"""POST /labels and GET /labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crowdassay.service.store.decide import Stored
from crowdassay.service.store.labels import find_place, list_from
from crowdassay.service.store.records import Given, Refused, parse_labels
from crowdassay.service.store.store import Batch, Taken
from crowdassay.service.store.tokens import Holder
from crowdassay.service.web.body import records
from crowdassay.service.web.guard import RefusalError
from crowdassay.service.web.service import Service, as_json, number_of, service_of, stored
from crowdassay.service.web.writer import BusyError

SMALL_BODY = 1 << 14  # bytes that are read where they come in; more would hold up others
LABELS_STORED_AT_A_TIME = 10_000  # labels of a long body that are stored at a time
LABELS_LISTED_AT_A_TIME = 1000  # labels listed at a time
ALL_LABELS = 1 << 40


async def post_labels(request: Request) -> Response:
    """Add labels; the answer comes once they are on disk."""
    service, holder = service_of(request), request.state.holder
    data = await request.body()
    kind = request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    if len(data) <= SMALL_BODY:
        taken = await _store(service, holder, *parse_labels(records(data, kind)))
    else:
        taken = await _store_many(service, holder, data, kind)
    refused = bool(taken.refused) and not (taken.added or taken.known)
    return as_json(taken.as_dict(), 422 if refused else 200)


async def _store(service: Service, holder: Holder, good: list[tuple[int, Given]], bad: list[Refused]) -> Taken:
    if holder.worker is not None:
        good, bad = _of_worker(good, bad, holder.worker)
    try:
        return await stored(service.writer.add(Batch(good, bad, holder.name)))
    except BusyError as error:
        raise RefusalError(429, error.message, {"retry-after": "1"}) from None


async def _store_many(service: Service, holder: Holder, data: bytes, kind: str) -> Taken:
    """Store a long body in parts, so that others are not held up; a list is looked through first, as it counts whole."""

    def look() -> Iterator[Any]:
        if data[:100].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
            for _ in records(data, kind):
                pass
        return records(data, kind)

    values, taken, first = await service.run(look), Taken(), 0
    while True:
        good, bad = await service.run(lambda: parse_labels(islice(values, LABELS_STORED_AT_A_TIME), first))  # noqa: B023 - run at once
        count = len(good) + len(bad)
        if first and not count:
            return taken
        try:
            done = await _store(service, holder, good, bad)
        except RefusalError as error:
            if first:
                error.message = f"Only the first {first:,} labels of this request were dealt with; send all of it again."
            raise
        taken = Taken(taken.added + done.added, taken.known + done.known, [*taken.refused, *done.refused])
        first += count
        if count < LABELS_STORED_AT_A_TIME:
            return taken


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
            rows = list_from(session, seq, min(left, LABELS_LISTED_AT_A_TIME))
        if rows:
            yield head + json.dumps([show(one) for one in rows], ensure_ascii=False, separators=(",", ":")).encode()[1:-1]
            head, last, seq = b",", rows[-1].key, rows[-1].seq
        left -= len(rows)
        if len(rows) < LABELS_LISTED_AT_A_TIME:
            break
    yield (b"" if last is not None else head) + b'],"next":' + json.dumps(last if left == 0 else None).encode() + b"}"


def show(one: Stored) -> dict[str, Any]:
    """Return a label as JSON shows it."""
    return {
        "key": one.key, "item": one.item, "worker": one.worker, "label": one.label, "round": one.round, "time": one.time,
        "seq": one.seq,
    }  # fmt: skip


def _of_worker(good: list[tuple[int, Given]], bad: list[Refused], worker: str) -> tuple[list[tuple[int, Given]], list[Refused]]:
    """Refuse labels in the name of anybody but the one whom the token was given to."""
    others = [
        Refused(place, "This token is for labels by another worker.", one.key) for place, one in good if one.worker != worker
    ]
    return [(place, one) for place, one in good if one.worker == worker], [*bad, *others]
