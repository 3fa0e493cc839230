"""What managers do: truths, decisions on disputed items, items and workers to remove, tokens, and the audit log."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.service.http.requests import RefusalError, as_received
from crowdassay.service.http.service import Call
from crowdassay.service.store.corrections import erase_worker, remove_item
from crowdassay.service.store.history import read_log
from crowdassay.service.store.records import Received, read_classes, read_token, read_truth
from crowdassay.service.store.tokens import hand_out, list_tokens, revoke
from crowdassay.service.store.truths import (
    add_truths,
    decide_item,
    fix_classes,
    fixed_classes,
    known_class,
    list_decisions,
    list_truths,
    remove_truth,
    undo_decision,
)


async def post_truth(call: Call) -> Response:
    """Add known classes. One that contradicts a stored one is refused, unless ``?replace=1``."""
    who, replace = call.identity.name, call.flag("replace")
    good, bad = await call.records(read_truth)

    def write(session: Session) -> tuple[Received, dict[str, tuple[str, str] | None]]:
        done = add_truths(session, good, source=who, replace=replace)
        return done, {item: known_class(session, item) for item in done.changed}

    done, known = await call.service.write(write)
    call.service.job.known_changed(known)
    return as_received(done.refuse(bad))


async def get_truths(call: Call) -> dict[str, Any]:
    """List the known classes, in the order in which they came."""
    limit, after = call.number("limit", 1000, 1, 10_000), call.number("after", 0, 0, 1 << 40)
    rows = await call.service.read(lambda session: list_truths(session, after, limit + 1))
    return {"truths": [one._asdict() for one in rows[:limit]], "next": rows[limit - 1].id if len(rows) > limit else None}


async def delete_truth(call: Call) -> dict[str, Any]:
    """Take a known class back; the item is estimated from its labels again. Sent again, nothing is wrong."""
    item, who = call.named("item"), call.identity.name

    def write(session: Session) -> tuple[bool, tuple[str, str] | None]:
        return remove_truth(session, item, source=who), known_class(session, item)

    removed, known = await call.service.write(write)
    if removed:
        call.service.job.known_changed({item: known})
    return {"item": item, "removed": removed}


async def delete_item(call: Call) -> dict[str, Any]:
    """Remove an item with its labels, text, truth and decisions; sent again, nothing is removed and nothing is wrong."""
    item, service, who = call.named("item"), call.service, call.identity.name
    done = await service.write(lambda session: remove_item(session, item, source=who))
    if done.anything:
        service.job.item_removed(item)
        await service.run(service.job.catch_up)
    return {"item": item, "removed": done.anything, "labels": done.labels}


async def delete_worker(call: Call) -> dict[str, Any]:
    """Erase a worker: labels, tokens, the last fit, and the name wherever it stands; sent again, nothing is wrong."""
    worker, service, who = call.named("worker"), call.service, call.identity.name
    done = await service.write(lambda session: erase_worker(session, worker, source=who))
    service.leases.forget(worker)
    if done.anything:
        service.fits.give_up()
        await service.run(service.job.catch_up)
    await service.run(service.store.home.scrub)  # also where it was erased just before the server ended
    return {"worker": worker, "removed": done.anything, "labels": done.labels}


async def get_classes(call: Call) -> dict[str, Any]:
    """Return the classes that are fixed, in their order; none where any may be given."""
    return {"classes": list(await call.service.read(fixed_classes))}


async def put_classes(call: Call) -> dict[str, Any]:
    """Fix the classes: a label of any other is refused from then on. An empty list lets any be given."""
    wanted, who = await call.record(read_classes), call.identity.name
    await call.service.write(lambda session: fix_classes(session, wanted, source=who))
    call.service.job.classes_fixed(wanted)
    return {"classes": list(wanted)}


async def post_decision(call: Call) -> dict[str, Any]:
    """Settle a disputed item. The answer holds the number by which that can be undone."""
    service, who = call.service, call.identity.name
    item, label = await call.record(read_truth)
    if await service.run(lambda: service.job.current(item)) is None:
        raise RefusalError(404, "There is no such item.")
    number = await service.write(lambda session: decide_item(session, item, label, source=who))
    service.job.known_changed({item: (label, "decision")})
    return {"id": number, "item": item, "label": label}


async def delete_decision(call: Call) -> dict[str, Any]:
    """Undo a decision."""
    who, number = call.identity.name, call.id

    def write(session: Session) -> tuple[str | None, tuple[str, str] | None]:
        item = undo_decision(session, number, source=who)
        return item, None if item is None else known_class(session, item)

    item, known = await call.service.write(write)
    if item is None:
        raise RefusalError(404, "There is no such decision, or it was undone already.")
    call.service.job.known_changed({item: known})
    return {"id": call.id, "item": item, "undone": True}


async def get_decisions(call: Call) -> dict[str, Any]:
    """List decisions, the last first."""
    limit = call.number("limit", 100, 1, 10_000)
    decisions = await call.service.read(lambda session: list_decisions(session, limit))
    return {"decisions": [one._asdict() for one in decisions]}


async def post_token(call: Call) -> dict[str, Any]:
    """Hand out a token; it is shown this once."""
    wanted = await call.record(read_token)
    made, token = await call.service.write(lambda session: hand_out(session, wanted, source=call.identity.name))
    return {"token": token, **made._asdict()}


async def get_tokens(call: Call) -> dict[str, Any]:
    """List the tokens that were handed out, without the tokens themselves."""
    return {"tokens": [one._asdict() for one in await call.service.read(list_tokens)]}


async def delete_token(call: Call) -> dict[str, Any]:
    """Take a token back; it ends at once, with the sessions of pages that began with it."""
    number = call.id
    if not await call.service.write(lambda session: revoke(session, number, source=call.identity.name)):
        raise RefusalError(404, "There is no such token, or it was taken back already.")
    return {"id": call.id, "revoked": True}


async def get_audit(call: Call) -> dict[str, Any]:
    """List who did what, the last first."""
    limit = call.number("limit", 100, 1, 10_000)
    return {"audit": await call.service.read(lambda session: read_log(session, limit))}
