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
from crowdassay.service.http.openapi import (
    NUMBER_SCHEMA,
    TEXT_SCHEMA,
    WHOLE_SCHEMA,
    Endpoint,
    describe,
    holding,
    list_of,
    maybe,
    page_of,
    parameter,
    see,
)
from crowdassay.service.http.requests import as_json
from crowdassay.service.http.service import Service
from crowdassay.service.http.token_check import COOKIE, Rights, TokenCheck
from crowdassay.service.http.token_endpoints import delete_token, get_audit, get_tokens, post_token
from crowdassay.service.http.truth_endpoints import delete_decision, get_decisions, post_decision, post_truth

ASSETS = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}
YEAR_SECONDS = 365 * 24 * 3600
LABELLERS, MANAGERS = ("label", "manage"), ("manage",)

LIMIT = parameter("limit", WHOLE_SCHEMA)
PAGE = (LIMIT, parameter("after", WHOLE_SCHEMA, "The 'next' of the answer before."))
ITEM_FILTERS = (
    parameter("open", WHOLE_SCHEMA, "1: only those not settled, the least sure first."),
    parameter("disputed", WHOLE_SCHEMA, "1: only those not settled that have labels."),
    parameter("q", TEXT_SCHEMA, "Part of the name."),
    parameter("label", TEXT_SCHEMA),
    parameter("standing", TEXT_SCHEMA),
    *PAGE,
)
ITEM_DETAIL = {
    "allOf": [
        see("Item"),
        holding(
            posterior={"type": "object", "additionalProperties": NUMBER_SCHEMA}, labels=list_of(see("StoredLabel")),
            text=maybe(TEXT_SCHEMA), link=maybe(TEXT_SCHEMA), why=list_of(TEXT_SCHEMA),
        ),
    ]
}  # fmt: skip
NUMBER_ONLY = holding(id=WHOLE_SCHEMA)

ENDPOINTS = (
    Endpoint(
        "POST", "/labels", post_labels, "Add labels; answered once they are stored. 422 if all were refused.", see("Taken"),
        LABELLERS, body="Label",
    ),
    Endpoint(
        "GET", "/labels", get_labels, "List labels in the order in which they came.",
        page_of("labels", see("StoredLabel"), TEXT_SCHEMA),
        parameters=(LIMIT, parameter("after", TEXT_SCHEMA, "A key: the labels after that one.")),
    ),
    Endpoint("GET", "/items", get_items, "List items.", page_of("items", see("Item")), parameters=ITEM_FILTERS),
    Endpoint("POST", "/items", post_items, "Add items with text or a link.", see("Taken"), MANAGERS, body="NewItem"),
    Endpoint("GET", "/items/{item:path}", get_item, "An item's label, its probability, and why.", ITEM_DETAIL),
    Endpoint("GET", "/workers", get_workers, "Workers with verdicts.", page_of("workers", see("Worker")), parameters=PAGE),
    Endpoint(
        "GET", "/next", get_next, "What a worker should label next.",
        holding(worker=TEXT_SCHEMA, item=maybe(TEXT_SCHEMA), items=list_of(see("Item"))), LABELLERS,
        (parameter("worker", TEXT_SCHEMA, needed=True), parameter("n", WHOLE_SCHEMA)),
    ),
    Endpoint(
        "POST", "/truth", post_truth, "Add known classes.", see("Taken"), MANAGERS,
        (parameter("replace", WHOLE_SCHEMA, "1: in the place of what is stored."),), body="Truth",
    ),
    Endpoint(
        "POST", "/decisions", post_decision, "Settle a disputed item.",
        holding(id=WHOLE_SCHEMA, item=TEXT_SCHEMA, label=TEXT_SCHEMA), MANAGERS, body="Truth", one=True, status=201,
    ),
    Endpoint(
        "GET", "/decisions", get_decisions, "List decisions.", holding(decisions=list_of(see("Decision"))), parameters=(LIMIT,)
    ),
    Endpoint("DELETE", "/decisions/{id:int}", delete_decision, "Undo a decision.", NUMBER_ONLY, MANAGERS),
    Endpoint("POST", "/fits", post_fit, "Ask for a fit; 429 if one waits already.", see("Fit"), MANAGERS, status=202),
    Endpoint("GET", "/fits", get_fits, "List fits.", holding(fits=list_of(see("Fit"))), parameters=(LIMIT,)),
    Endpoint("GET", "/fits/{id:int}", get_fit, "How a fit stands.", see("Fit")),
    Endpoint(
        "DELETE", "/fits/{id:int}", delete_fit, "Cancel a fit.", holding(id=WHOLE_SCHEMA, state=TEXT_SCHEMA), MANAGERS
    ),
    Endpoint(
        "GET", "/summary", get_summary, "How the job stands.",
        holding(labels=WHOLE_SCHEMA, items=WHOLE_SCHEMA, workers=WHOLE_SCHEMA),
    ),
    Endpoint("GET", "/events", get_events, "How the job stands, whenever it changes.", media="text/event-stream"),
    Endpoint(
        "GET", "/download/{table}.csv", get_download, "A table as CSV.", media="text/csv",
        parameters=(parameter("table", {"enum": list(CSV_COLUMNS)}, where="path", needed=True),),
    ),
    Endpoint(
        "POST", "/tokens", post_token, "Hand out a token.", holding(id=WHOLE_SCHEMA, token=TEXT_SCHEMA, role=TEXT_SCHEMA),
        MANAGERS, body="NewToken", one=True, status=201,
    ),
    Endpoint("GET", "/tokens", get_tokens, "List tokens.", holding(tokens=list_of(see("Token"))), MANAGERS),
    Endpoint("DELETE", "/tokens/{id:int}", delete_token, "Take a token back.", NUMBER_ONLY, MANAGERS),
    Endpoint("GET", "/audit", get_audit, "Who did what.", holding(audit=list_of(holding())), MANAGERS, (LIMIT,)),
    Endpoint(
        "GET", "/health", get_health, "Whether the service works; no token is needed.",
        holding(status=TEXT_SCHEMA, version=TEXT_SCHEMA),
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
