"""POST and GET /labels, and DELETE /labels/{key}."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from starlette.responses import Response, StreamingResponse

from crowdassay.labels.databases.home import Session
from crowdassay.service.http.requests import RefusalError, as_received, records_of
from crowdassay.service.http.service import Call, Service
from crowdassay.service.store.corrections import remove_label
from crowdassay.service.store.labels import find_label, find_place, list_labels, place
from crowdassay.service.store.open import Batch
from crowdassay.service.store.records import Received, Refused, SentLabel, StoredLabel, read_all, read_label
from crowdassay.service.store.tokens import Identity
from crowdassay.service.store.writer import BusyError, NotStoredError

SMALL_BODY = 1 << 14  # bytes that are read where they come in; more would hold up others
LABELS_STORED_AT_A_TIME = 10_000  # of a long body
LABELS_LISTED_AT_A_TIME = 1000
ALL_LABELS = 1 << 40
OTHER_WORKER = "This token is for labels by another worker."
Sent = list[tuple[int, SentLabel]]


async def post_labels(call: Call) -> Response:
    """Add labels; answered once they are stored. 422 if all were refused."""
    service, identity, replace = call.service, call.identity, call.flag("replace")
    if replace:
        _may_correct(identity)
    data, kind = await call.body()
    if len(data) <= SMALL_BODY:
        received = await _store(service, identity, *read_all(records_of(data, kind), read_label), replace=replace)
    else:
        received = await _store_many(service, identity, data, kind, replace=replace)
    return as_received(received)


def _may_correct(identity: Identity) -> None:
    """Refuse whoever sends labels in the name of any worker: what one labels, another is not to change."""
    if identity.role != "manage" and identity.worker is None:
        raise RefusalError(403, "Labels are corrected and removed with a token for their worker, or by a manager.")


async def delete_label(call: Call) -> dict[str, Any]:
    """Remove a label; sent again, nothing is removed and nothing is wrong. A token for one worker removes that worker's."""
    key, identity = call.named("key"), call.identity
    _may_correct(identity)

    def write(session: Session) -> bool | None:
        if identity.worker is not None:
            label = find_label(session, key)
            if label is not None and label.worker != identity.worker:
                return None
        return remove_label(session, key, source=identity.name)

    removed = await call.service.write(write)
    if removed is None:
        raise RefusalError(403, OTHER_WORKER)
    await call.service.run(call.service.job.catch_up)
    return {"key": key, "removed": removed}


async def _store(service: Service, identity: Identity, good: Sent, bad: list[Refused], *, replace: bool) -> Received:
    if identity.worker is not None:  # nobody labels in the name of another
        bad = [*bad, *(Refused(index, OTHER_WORKER, one.key) for index, one in good if one.worker != identity.worker)]
        good = [(index, one) for index, one in good if one.worker == identity.worker]
    return await service.writer.add(Batch(good, bad, identity.name, replace))


async def _store_many(service: Service, identity: Identity, data: bytes, kind: str, *, replace: bool) -> Received:
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
            done = await _store(service, identity, good, bad, replace=replace)
        except (BusyError, NotStoredError) as error:
            if not first:
                raise
            reason = f"Only the first {first:,} labels of this request were dealt with; send all of it again."
            raise type(error)(reason) from None
        received.add(done)
        first += count
        if count < LABELS_STORED_AT_A_TIME:
            return received


async def get_labels(call: Call) -> Response:
    """List labels in the order in which they came.

    The answer's ``next`` is the place to go on after.
    """
    service, after = call.service, call.query("after")
    limit = call.number("limit", LABELS_LISTED_AT_A_TIME, 1, ALL_LABELS)
    try:
        start = await service.read(lambda session: find_place(session, after))
    except KeyError:
        raise RefusalError(404, "There is no label with the key that 'after' names.") from None
    return StreamingResponse(_listed(service, start, limit), media_type="application/json")


def _listed(service: Service, seq: int, limit: int) -> Iterator[bytes]:
    """Yield the answer in pieces, however long it is: no read of the database, and no piece of work, takes long."""
    head, last, left = b'{"labels":[', None, limit
    for rows in label_pages(service, seq, limit):
        yield head + json.dumps([one.as_dict() for one in rows], ensure_ascii=False, separators=(",", ":")).encode()[1:-1]
        head, last, left = b",", place(rows[-1]), left - len(rows)
    yield (b"" if last is not None else head) + b'],"next":' + json.dumps(last if left == 0 else None).encode() + b"}"


def label_pages(service: Service, seq: int = 0, left: int = ALL_LABELS) -> Iterator[list[StoredLabel]]:
    """Yield labels after a number, a page at a time, each in a read of its own."""
    while left > 0:
        with service.store.home.read() as session:
            rows = list_labels(session, seq, min(left, LABELS_LISTED_AT_A_TIME))
        if rows:
            yield rows
            seq = rows[-1].seq
        left -= len(rows)
        if len(rows) < LABELS_LISTED_AT_A_TIME:
            return
