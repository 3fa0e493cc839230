"""POST /truth, and decisions on disputed items: POST /decisions, DELETE /decisions/{id}."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.service.store.audit import log
from crowdassay.service.store.known import Counts, add_truths, decide_item, known_class, list_decisions, undo_decision
from crowdassay.service.store.records import BadRecordError, Refused, as_name
from crowdassay.service.web.body import records
from crowdassay.service.web.guard import RefusalError
from crowdassay.service.web.service import as_json, number_of, service_of


async def post_truth(request: Request) -> Response:
    """Add known classes: {item, label}. One that contradicts a stored one is refused, unless ``?replace=1``."""
    service = service_of(request)
    data = await request.body()
    kind = request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    good, bad = await service.run(lambda: parse_truths(records(data, kind)))
    replace, who = request.query_params.get("replace", "0") not in {"", "0"}, request.state.holder.name

    def write(session: Session) -> tuple[Counts, dict[str, tuple[str, str] | None]]:
        done = add_truths(session, good, source=who, replace=replace)
        if done.added:
            log(session, who, "truth added", items=done.added)
        return done, {item: known_class(session, item) for item in done.changed}

    done, known = await service.write(write)
    service.job.known_changed(known)
    refused = sorted([*bad, *done.refused], key=lambda one: one.index)
    answer = {"added": done.added, "known": done.known, "refused": [one.as_dict() for one in refused]}
    return as_json(answer, 422 if refused and not (done.added or done.known) else 200)


def parse_truths(values: Any) -> tuple[list[tuple[int, str, str]], list[Refused]]:
    """Check records of {item, label}."""
    good, bad = [], []
    for index, value in enumerate(values):
        try:
            if isinstance(value, BadRecordError):
                raise value
            if not isinstance(value, dict) or value.keys() - {"item", "label"}:
                raise BadRecordError("A truth is an object with item and label.")
            good.append((index, as_name(value.get("item"), "item"), as_name(value.get("label"), "label")))
        except BadRecordError as error:
            bad.append(Refused(index, str(error)))
    return good, bad


async def post_decision(request: Request) -> Response:
    """Settle one item: {item, label}. The answer holds the number by which it can be undone."""
    service = service_of(request)
    data = await request.body()
    good, bad = parse_truths(records(data, "application/json"))
    if bad or len(good) != 1:
        raise RefusalError(422, bad[0].reason if bad else "Settle one item at a time.")
    _, item, label = good[0]
    who = request.state.holder.name
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
    service, number, who = service_of(request), request.path_params["number"], request.state.holder.name

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
    rows = await service_of(request).read(lambda session: list_decisions(session, limit))
    names = ("id", "item", "label", "time", "who", "undone")
    return as_json({"decisions": [dict(zip(names, row, strict=True)) for row in rows]})
