"""The application: every path, what answers it, who may call it, and how it is described."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from crowdassay.read_options import READING_FLAGS, READING_OPTIONS
from crowdassay.service.http import file_endpoints as files_sent
from crowdassay.service.http import item_endpoints as items
from crowdassay.service.http import job_endpoints as job
from crowdassay.service.http import label_endpoints as labels
from crowdassay.service.http import label_studio_endpoints as studio
from crowdassay.service.http import manager_endpoints as managers
from crowdassay.service.http.guard import Guard
from crowdassay.service.http.openapi import FILE, TAKEN, Endpoint, Parameter, describe
from crowdassay.service.http.requests import as_json
from crowdassay.service.http.service import Call, Service
from crowdassay.service.http.token_check import COOKIE, LABEL_STUDIO, Rights, TokenCheck, first_part
from crowdassay.service.store.records import ITEM_STANDINGS
from crowdassay.service.store.tokens import start_session

ASSETS = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}
LABELLERS, MANAGERS = ("label", "manage"), ("manage",)

LIMIT = Parameter("limit", "integer", low=1)
PAGE = (LIMIT, Parameter("after", "integer", "The 'next' of the answer before.", low=0))
ITEM_FILTERS = (
    Parameter("open", "integer", "1: only those not settled, the least sure first."),
    Parameter("disputed", "integer", "1: only those not settled that have labels."),
    Parameter("q", "string", "Part of the name."),
    Parameter("label", "string"),
    Parameter("standing", "|".join(("", *ITEM_STANDINGS))),
    *PAGE,
)
HOW_TO_READ = tuple(
    Parameter(name, "integer" if name in READING_FLAGS else "string", READING_OPTIONS[name].metadata["help"])
    for name in files_sent.UPLOAD_OPTIONS
)
TABLES_AS_CSV = (Parameter("table", "|".join(job.CSV_COLUMNS)),)
ENDPOINTS = (
    Endpoint(
        "POST", "/labels", labels.post_labels, "Taken", LABELLERS,
        (Parameter("replace", "integer", "1: in the place of the worker's last label on the item."),), body="Label",
    ),
    Endpoint(
        "GET", "/labels", labels.get_labels, {"labels": "[StoredLabel]", "next": "string?"},
        parameters=(LIMIT, Parameter("after", "string", "The last answer's 'next', or a key: labels after that.")),
    ),
    Endpoint(
        "POST", "/upload", files_sent.post_upload, {**TAKEN, "file": "string", "items": "integer", "truths": "integer"},
        MANAGERS, (Parameter("name", "string", "How the file is called.", needed=True), *HOW_TO_READ), body=FILE,
    ),
    Endpoint("DELETE", "/labels/{key:path}", labels.delete_label, {"key": "string", "removed": "boolean"}, LABELLERS),
    Endpoint("GET", "/items", items.get_items, {"items": "[Item]", "next": "integer?"}, parameters=ITEM_FILTERS),
    Endpoint("POST", "/items", items.post_items, "Taken", MANAGERS, body="NewItem"),
    Endpoint("GET", "/items/{item:path}", items.get_item, "ItemDetail"),
    Endpoint(
        "DELETE", "/items/{item:path}", managers.delete_item, {"item": "string", "removed": "boolean", "labels": "integer"},
        MANAGERS,
    ),
    Endpoint(
        "DELETE", "/workers/{worker:path}", managers.delete_worker,
        {"worker": "string", "removed": "boolean", "labels": "integer"}, MANAGERS,
    ),
    Endpoint("GET", "/workers", items.get_workers, {"workers": "[Worker]", "next": "integer?"}, parameters=PAGE),
    Endpoint(
        "GET", "/expert", items.get_expert, {"items": "[Item]", "answered": "integer", "wanted": "integer"}, MANAGERS, (LIMIT,)
    ),
    Endpoint(
        "GET", "/next", items.get_next, {"worker": "string", "item": "string?", "items": "[Item]"}, LABELLERS,
        (Parameter("worker", "string", needed=True), Parameter("n", "integer", low=1)),
    ),
    Endpoint(
        "POST", "/truth", managers.post_truth, "Taken", MANAGERS,
        (Parameter("replace", "integer", "1: in the place of what is stored."),), body="Truth",
    ),
    Endpoint("DELETE", "/truth/{item:path}", managers.delete_truth, {"item": "string", "removed": "boolean"}, MANAGERS),
    Endpoint("GET", "/classes", managers.get_classes, {"classes": "[string]"}),
    Endpoint("PUT", "/classes", managers.put_classes, {"classes": "[string]"}, MANAGERS, body="Classes", one=True),
    Endpoint("GET", "/truth", managers.get_truths, {"truths": "[StoredTruth]", "next": "integer?"}, parameters=PAGE),
    Endpoint(
        "POST", "/decisions", managers.post_decision, {"id": "integer", "item": "string", "label": "string"}, MANAGERS,
        body="Truth", one=True, status=201,
    ),
    Endpoint("GET", "/decisions", managers.get_decisions, {"decisions": "[Decision]"}, parameters=(LIMIT,)),
    Endpoint("DELETE", "/decisions/{id:int}", managers.delete_decision, {"id": "integer"}, MANAGERS),
    Endpoint("POST", "/fits", job.post_fit, "Fit", MANAGERS, status=202),
    Endpoint("GET", "/fits", job.get_fits, {"fits": "[Fit]"}, parameters=(LIMIT,)),
    Endpoint("GET", "/fits/{id:int}", job.get_fit, "Fit"),
    Endpoint("DELETE", "/fits/{id:int}", job.delete_fit, {"id": "integer", "state": "string"}, MANAGERS),
    Endpoint("GET", "/summary", job.get_summary, {"labels": "integer", "items": "integer", "workers": "integer"}),
    Endpoint("GET", "/events", job.get_events, media="text/event-stream"),
    Endpoint("GET", "/download/{table}.csv", job.get_download, parameters=TABLES_AS_CSV, media="text/csv"),
    Endpoint(
        "POST", "/tokens", managers.post_token, {"id": "integer", "token": "string", "role": "string"},  # nosec B105 - a type
        MANAGERS, body="NewToken", one=True, status=201,
    ),
    Endpoint("GET", "/tokens", managers.get_tokens, {"tokens": "[Token]"}, MANAGERS),
    Endpoint("DELETE", "/tokens/{id:int}", managers.delete_token, {"id": "integer"}, MANAGERS),
    Endpoint("GET", "/audit", managers.get_audit, {"audit": "[object]"}, MANAGERS, (LIMIT,)),
    Endpoint("GET", "/health", job.get_health, {"status": "string", "version": "string"}),
    Endpoint("GET", "/ready", job.get_ready, {"status": "string", "database": "string", "writer": "boolean"}),
    Endpoint(
        "POST", f"{LABEL_STUDIO}webhook", studio.post_webhook, "AnnotationsTaken", LABELLERS, body="LabelStudioEvent", one=True,
    ),
    Endpoint(
        "POST", f"{LABEL_STUDIO}tasks", studio.post_annotated_tasks, "AnnotationsTaken", LABELLERS, body="LabelStudioExport",
    ),
    Endpoint("GET", f"{LABEL_STUDIO}health", studio.get_backend_health, {"status": "string", "model_class": "string"}),
    Endpoint(
        "POST", f"{LABEL_STUDIO}setup", studio.post_setup, {"model_version": "string"}, LABELLERS, body="LabelStudioSetup",
        one=True,
    ),
    Endpoint(
        "POST", f"{LABEL_STUDIO}predict", studio.post_predict,
        {"results": "[LabelStudioPrediction]", "model_version": "string"}, LABELLERS, body="LabelStudioTasks", one=True,
    ),
    Endpoint("GET", "/metrics", job.get_metrics, media="text/plain"),
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
    service.tokens = TokenCheck(token, service.store.home, rights())
    return Guard(router, service, hosts=hosts)


def rights() -> Rights:
    """Return what roles other than ``manage`` may do."""
    labelling = frozenset((one.method, first_part(one.path)) for one in ENDPOINTS if "label" in one.roles)
    return Rights(labelling, frozenset(one.path for one in ENDPOINTS if one.method == "GET" and "read" not in one.roles))


def routes() -> list[Route]:
    """Return every path."""
    # Numbers are read by `Call.id`: Starlette would stumble over one with thousands of digits.
    answered = [Route(one.path.replace(":int}", "}"), partial(answer, one), methods=[one.method]) for one in ENDPOINTS]
    return [*answered, Route("/openapi.json", get_openapi), *(Route(path, get_asset) for path in ASSETS)]


async def answer(endpoint: Endpoint, request: Request) -> Response:
    """Answer a request: what an endpoint finds becomes JSON, unless it is a response already."""
    found = await endpoint.function(Call(request))
    return found if isinstance(found, Response) else as_json(found, endpoint.status)


async def get_openapi(request: Request) -> Response:
    """Return the description of this interface."""
    return as_json(describe(ENDPOINTS, Call(request).service.root_path))


async def get_asset(request: Request) -> Response:
    """Return the page, its style or its script; the token of the printed address begins a session and leaves the address."""
    if request.scope["path"] == "/" and "token" in request.query_params:
        return await start_page(Call(request))
    name, kind = ASSETS[request.scope["path"]]
    return Response((files("crowdassay.service.http") / "assets" / name).read_bytes(), media_type=kind)


async def start_page(call: Call) -> Response:
    """Go to the page, with a cookie that holds a session; the token itself stays with whoever has it."""
    service, identity = call.service, call.identity
    page = RedirectResponse(f"{service.root_path}/", 303)
    if (owner := service.tokens.owner) is not None:
        key, end = await service.write(lambda session: start_session(session, identity, owner))
        secure = call.request.scope["scheme"] == "https"
        # Not strict: who follows a link in a mail comes from another site, and would be sent on without the cookie.
        page.set_cookie(
            COOKIE, key, expires=datetime.fromisoformat(end), path=service.root_path or "/", httponly=True, samesite="lax",
            secure=secure,
        )  # fmt: skip
    return page
