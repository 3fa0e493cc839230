"""The application: every path, what answers it, who may call it, and how it is described."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from crowdassay.service.http.guard import Guard
from crowdassay.service.http.item_endpoints import get_item, get_items, get_next, get_workers, post_items
from crowdassay.service.http.job_endpoints import (
    CSV_COLUMNS,
    delete_fit,
    get_download,
    get_events,
    get_fit,
    get_fits,
    get_health,
    get_metrics,
    get_summary,
    post_fit,
)
from crowdassay.service.http.label_endpoints import get_labels, post_labels
from crowdassay.service.http.openapi import Endpoint, Parameter, describe
from crowdassay.service.http.requests import as_json
from crowdassay.service.http.service import Service
from crowdassay.service.http.token_check import COOKIE, Rights, TokenCheck
from crowdassay.service.http.token_endpoints import delete_token, get_audit, get_tokens, post_token
from crowdassay.service.http.truth_endpoints import delete_decision, get_decisions, post_decision, post_truth

ASSETS = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}
YEAR_SECONDS = 365 * 24 * 3600
LABELLERS, MANAGERS = ("label", "manage"), ("manage",)

LIMIT = Parameter("limit", "integer")
PAGE = (LIMIT, Parameter("after", "integer", "The 'next' of the answer before."))
ITEM_FILTERS = (
    Parameter("open", "integer", "1: only those not settled, the least sure first."),
    Parameter("disputed", "integer", "1: only those not settled that have labels."),
    Parameter("q", "string", "Part of the name."),
    Parameter("label", "string"),
    Parameter("standing", "string"),
    *PAGE,
)
TABLES_AS_CSV = (Parameter("table", "|".join(CSV_COLUMNS)),)
ENDPOINTS = (
    Endpoint(
        "POST", "/labels", post_labels, "Add labels; answered once they are stored. 422 if all were refused.", "Taken",
        LABELLERS, body="Label",
    ),
    Endpoint(
        "GET", "/labels", get_labels, "List labels in the order in which they came.",
        {"labels": "[StoredLabel]", "next": "string?"},
        parameters=(LIMIT, Parameter("after", "string", "A key: the labels after that one.")),
    ),
    Endpoint("GET", "/items", get_items, "List items.", {"items": "[Item]", "next": "integer?"}, parameters=ITEM_FILTERS),
    Endpoint("POST", "/items", post_items, "Add items with text or a link.", "Taken", MANAGERS, body="NewItem"),
    Endpoint("GET", "/items/{item:path}", get_item, "An item's label, its probability, and why.", "ItemDetail"),
    Endpoint(
        "GET", "/workers", get_workers, "Workers with verdicts.", {"workers": "[Worker]", "next": "integer?"}, parameters=PAGE
    ),
    Endpoint(
        "GET", "/next", get_next, "What a worker should label next.",
        {"worker": "string", "item": "string?", "items": "[Item]"}, LABELLERS,
        (Parameter("worker", "string", needed=True), Parameter("n", "integer")),
    ),
    Endpoint(
        "POST", "/truth", post_truth, "Add known classes.", "Taken", MANAGERS,
        (Parameter("replace", "integer", "1: in the place of what is stored."),), body="Truth",
    ),
    Endpoint(
        "POST", "/decisions", post_decision, "Settle a disputed item.",
        {"id": "integer", "item": "string", "label": "string"}, MANAGERS, body="Truth", one=True, status=201,
    ),
    Endpoint("GET", "/decisions", get_decisions, "List decisions.", {"decisions": "[Decision]"}, parameters=(LIMIT,)),
    Endpoint("DELETE", "/decisions/{id:int}", delete_decision, "Undo a decision.", {"id": "integer"}, MANAGERS),
    Endpoint("POST", "/fits", post_fit, "Ask for a fit; 429 if one waits already.", "Fit", MANAGERS, status=202),
    Endpoint("GET", "/fits", get_fits, "List fits.", {"fits": "[Fit]"}, parameters=(LIMIT,)),
    Endpoint("GET", "/fits/{id:int}", get_fit, "How a fit stands.", "Fit"),
    Endpoint("DELETE", "/fits/{id:int}", delete_fit, "Cancel a fit.", {"id": "integer", "state": "string"}, MANAGERS),
    Endpoint(
        "GET", "/summary", get_summary, "How the job stands.", {"labels": "integer", "items": "integer", "workers": "integer"}
    ),
    Endpoint("GET", "/events", get_events, "How the job stands, whenever it changes.", media="text/event-stream"),
    Endpoint("GET", "/download/{table}.csv", get_download, "A table as CSV.", parameters=TABLES_AS_CSV, media="text/csv"),
    Endpoint(
        "POST", "/tokens", post_token, "Hand out a token.", {"id": "integer", "token": "string", "role": "string"},  # nosec B105 - a type
        MANAGERS, body="NewToken", one=True, status=201,
    ),
    Endpoint("GET", "/tokens", get_tokens, "List tokens.", {"tokens": "[Token]"}, MANAGERS),
    Endpoint("DELETE", "/tokens/{id:int}", delete_token, "Take a token back.", {"id": "integer"}, MANAGERS),
    Endpoint("GET", "/audit", get_audit, "Who did what.", {"audit": "[object]"}, MANAGERS, (LIMIT,)),
    Endpoint(
        "GET", "/health", get_health, "Whether the service works; no token is needed.",
        {"status": "string", "version": "string"},
    ),
    Endpoint("GET", "/metrics", get_metrics, "Counters for Prometheus.", media="text/plain"),
)  # fmt: skip


def make_app(service: Service, *, token: str | None, hosts: frozenset[str]) -> Guard:
    """Return the guarded application of a service."""

    @asynccontextmanager
    async def lifespan(app: ASGIApp) -> AsyncIterator[None]:
        await service.run(service.start)
        yield
        service.stop()

    # A router alone: the guard answers for whatever goes wrong, and every layer less is time.
    router = Router(routes(), lifespan=lifespan)
    return Guard(router, service, tokens=TokenCheck(token, service.store.home, rights()), hosts=hosts)


def rights() -> Rights:
    """Return what roles other than ``manage`` may do."""
    labelling = frozenset((one.method, one.path) for one in ENDPOINTS if "label" in one.roles)
    return Rights(labelling, frozenset(one.path for one in ENDPOINTS if one.method == "GET" and "read" not in one.roles))


def routes() -> list[Route]:
    """Return every path."""
    answered = [Route(one.path, one.function, methods=[one.method]) for one in ENDPOINTS]
    return [*answered, Route("/openapi.json", get_openapi), *(Route(path, get_asset) for path in ASSETS)]


async def get_openapi(request: Request) -> Response:
    """Return the description of this interface."""
    return as_json(describe(ENDPOINTS))


async def get_asset(request: Request) -> Response:
    """Return the page, its style or its script; the token of the printed address becomes a cookie and leaves the address."""
    if request.url.path == "/" and (token := request.query_params.get("token")):
        answer: Response = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, token, max_age=YEAR_SECONDS, httponly=True, samesite="strict", path="/")
        return answer
    name, kind = ASSETS[request.url.path]
    return Response((files("crowdassay.service.http") / "assets" / name).read_bytes(), media_type=kind)
