"""Tokens to hand out (POST, GET and DELETE /tokens) and the audit log (GET /audit); for whoever manages the job."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.service.store.audit import log, read_log
from crowdassay.service.store.records import BadRecordError, as_name
from crowdassay.service.store.tokens import ROLES, hand_out, list_tokens, revoke
from crowdassay.service.web.body import records
from crowdassay.service.web.guard import RefusalError
from crowdassay.service.web.service import as_json, number_of, service_of


async def post_token(request: Request) -> Response:
    """Hand out a token: {role, worker?, note?}; it is shown this once."""
    values = list(records(await request.body(), "application/json"))
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, dict) or value.keys() - {"role", "worker", "note"} or value.get("role") not in ROLES:
        raise RefusalError(422, "Send {role, worker, note}: the role is label, read or manage, the others may be left out.")
    try:
        worker, note = (None if value.get(name) is None else as_name(value[name], name) for name in ("worker", "note"))
    except BadRecordError as error:
        raise RefusalError(422, str(error)) from None
    if worker is not None and value["role"] != "label":
        raise RefusalError(422, "Only a token of the role label is for one worker.")
    who, role = request.state.holder.name, value["role"]

    def write(session: Session) -> tuple[int, str]:
        number, token = hand_out(session, role, worker, note or "")
        log(session, who, "token handed out", token=number, role=role)
        return number, token

    number, token = await service_of(request).write(write)
    return as_json({"id": number, "token": token, "role": role, "worker": worker, "note": note}, 201)


async def get_tokens(request: Request) -> Response:
    """List the tokens that were handed out, without the tokens themselves."""
    rows = await service_of(request).read(list_tokens)
    names = ("id", "role", "worker", "note", "time", "revoked")
    return as_json({"tokens": [dict(zip(names, row, strict=True)) for row in rows]})


async def delete_token(request: Request) -> Response:
    """Take a token back."""
    number, who = request.path_params["number"], request.state.holder.name

    def write(session: Session) -> bool:
        done = revoke(session, number)
        if done:
            log(session, who, "token taken back", token=number)
        return done

    if not await service_of(request).write(write):
        raise RefusalError(404, "There is no such token, or it was taken back already.")
    return as_json({"id": number, "revoked": True})


async def get_audit(request: Request) -> Response:
    """List who did what, the last first."""
    limit = number_of(request, "limit", 100, 1, 10_000)
    return as_json({"audit": await service_of(request).read(lambda session: read_log(session, limit))})
