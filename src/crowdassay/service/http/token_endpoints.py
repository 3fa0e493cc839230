"""Tokens to hand out (POST, GET and DELETE /tokens) and the audit log (GET /audit); for whoever manages the job."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.service.http.requests import RefusalError, as_json, number_of, records_of
from crowdassay.service.http.service import service_of
from crowdassay.service.store.history import log, read_log
from crowdassay.service.store.records import BadRecordError, read_token
from crowdassay.service.store.tokens import hand_out, list_tokens, revoke


async def post_token(request: Request) -> Response:
    """Hand out a token: {role, worker?, note?}; it is shown this once."""
    values = list(records_of(await request.body(), "application/json"))
    try:
        wanted = read_token(values[0] if len(values) == 1 and isinstance(values[0], dict) else None)
    except BadRecordError as error:
        raise RefusalError(422, str(error)) from None
    who = request.state.identity.name

    def write(session: Session) -> tuple[int, str]:
        number, token = hand_out(session, wanted)
        log(session, who, "token handed out", token=number, role=wanted.role)
        return number, token

    number, token = await service_of(request).write(write)
    return as_json({"id": number, "token": token, **wanted._asdict()}, 201)


async def get_tokens(request: Request) -> Response:
    """List the tokens that were handed out, without the tokens themselves."""
    tokens = await service_of(request).read(list_tokens)
    return as_json({"tokens": [one._asdict() for one in tokens]})


async def delete_token(request: Request) -> Response:
    """Take a token back."""
    number, who = request.path_params["id"], request.state.identity.name

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
