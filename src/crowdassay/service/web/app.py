"""The application: paths and what answers them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router

from crowdassay.service.web.download import get_download
from crowdassay.service.web.guard import COOKIE, Guard
from crowdassay.service.web.items import get_item, get_items, get_next, get_workers, post_items
from crowdassay.service.web.known import delete_decision, get_decisions, post_decision, post_truth
from crowdassay.service.web.labels import get_labels, post_labels
from crowdassay.service.web.openapi import describe
from crowdassay.service.web.service import Service, as_json
from crowdassay.service.web.state import (
    delete_fit,
    get_events,
    get_fit,
    get_fits,
    get_health,
    get_metrics,
    get_summary,
    post_fit,
)
from crowdassay.service.web.tokens import delete_token, get_audit, get_tokens, post_token

ASSETS = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}
YEAR = 365 * 24 * 3600


def make_app(service: Service, *, token: str | None, hosts: frozenset[str]) -> Guard:
    """Return the guarded application of a service."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        await service.run(service.start)
        yield
        service.stop()

    # A router alone: the guard answers for whatever goes wrong, and every layer less is time.
    return Guard(Router(routes(), lifespan=lifespan), service, token=token, hosts=hosts)


def routes() -> list[Route]:
    """Return every path."""
    return [
        Route("/labels", post_labels, methods=["POST"]),
        Route("/labels", get_labels),
        Route("/items", get_items),
        Route("/items", post_items, methods=["POST"]),
        Route("/items/{item:path}", get_item),
        Route("/workers", get_workers),
        Route("/next", get_next),
        Route("/truth", post_truth, methods=["POST"]),
        Route("/decisions", post_decision, methods=["POST"]),
        Route("/decisions", get_decisions),
        Route("/decisions/{number:int}", delete_decision, methods=["DELETE"]),
        Route("/fits", post_fit, methods=["POST"]),
        Route("/fits", get_fits),
        Route("/fits/{number:int}", get_fit),
        Route("/fits/{number:int}", delete_fit, methods=["DELETE"]),
        Route("/summary", get_summary),
        Route("/events", get_events),
        Route("/download/{table}.csv", get_download),
        Route("/tokens", post_token, methods=["POST"]),
        Route("/tokens", get_tokens),
        Route("/tokens/{number:int}", delete_token, methods=["DELETE"]),
        Route("/audit", get_audit),
        Route("/health", get_health),
        Route("/metrics", get_metrics),
        Route("/openapi.json", get_openapi),
        *(Route(path, get_asset) for path in ASSETS),
    ]


async def get_openapi(request: Request) -> Response:
    """Return the description of this interface."""
    return as_json(describe())


async def get_asset(request: Request) -> Response:
    """Return the page, its style or its script; the token of the printed address becomes a cookie and leaves the address."""
    if request.url.path == "/" and (token := request.query_params.get("token")):
        answer: Response = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, token, max_age=YEAR, httponly=True, samesite="strict", path="/")
        return answer
    name, kind = ASSETS[request.url.path]
    return Response((files("crowdassay.service.web") / "assets" / name).read_bytes(), media_type=kind)
