"""POST /truth, and decisions on disputed items: POST /decisions, DELETE /decisions/{id}."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.service.http.requests import RefusalError, as_json, as_received, body_type, flag_of, number_of, records_of
from crowdassay.service.http.service import service_of
from crowdassay.service.store.history import log
from crowdassay.service.store.records import Received, read_all, read_truth
from crowdassay.service.store.truths import add_truths, decide_item, known_class, list_decisions, undo_decision


async def post_truth(request: Request) -> Response:
    """Add known classes: {item, label}. One that contradicts a stored one is refused, unless ``?replace=1``."""
    service, who, replace = service_of(request), request.state.identity.name, flag_of(request, "replace")
    data, kind = await request.body(), body_type(request)
    good, bad = await service.run(lambda: read_all(records_of(data, kind), read_truth))

    def write(session: Session) -> tuple[Received, dict[str, tuple[str, str] | None]]:
        done = add_truths(session, good, source=who, replace=replace)
        if done.added:
            log(session, who, "truth added", items=done.added)
        return done, {item: known_class(session, item) for item in done.changed}

    done, known = await service.write(write)
    service.job.known_changed(known)
    return as_received(done.refuse(bad))


async def post_decision(request: Request) -> Response:
    """Settle one item: {item, label}. The answer holds the number by which it can be undone."""
    service = service_of(request)
    good, bad = read_all(records_of(await request.body(), "application/json"), read_truth)
    if bad or len(good) != 1:
        raise RefusalError(422, bad[0].reason if bad else "Settle one item at a time.")
    _, (item, label) = good[0]
    who = request.state.identity.name
    if await service.run(lambda: service.job.current(item)) is None:
        raise RefusalError(404, "There is no such item.")

    def write(session: Session) -> int:
        number = decide_item(session, item, label, source=who)
        log(session, who, "item settled", item=item, label=label, decision=number)
        return number

    number = await service.write(write)
    service.job.known_changed({item: (label, "decision")})
    return as_json({"id": number, "item": item, "label": label}, 201)


async def delete_decision(request: Request) -> Response:
    """Undo a decision."""
    service, number, who = service_of(request), request.path_params["id"], request.state.identity.name

    def write(session: Session) -> tuple[str | None, tuple[str, str] | None]:
        item = undo_decision(session, number)
        if item is None:
            return None, None
        log(session, who, "decision undone", item=item, decision=number)
        return item, known_class(session, item)

    item, known = await service.write(write)
    if item is None:
        raise RefusalError(404, "There is no such decision, or it was undone already.")
    service.job.known_changed({item: known})
    return as_json({"id": number, "item": item, "undone": True})


async def get_decisions(request: Request) -> Response:
    """List decisions, the last first."""
    limit = number_of(request, "limit", 100, 1, 10_000)
    decisions = await service_of(request).read(lambda session: list_decisions(session, limit))
    return as_json({"decisions": [one._asdict() for one in decisions]})
