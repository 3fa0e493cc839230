"""GET /summary, /events, /health and /metrics, and the fits: POST and GET /fits, GET and DELETE /fits/{id}."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crowdassay.service.store.audit import log
from crowdassay.service.web.guard import EDGES, RefusalError
from crowdassay.service.web.service import Service, as_json, number_of, service_of
from crowdassay.service.web.writer import BusyError
from crowdassay.version import VERSION

MOST_LISTENERS = 200
PAUSE = 0.5  # seconds between two events to one page
BEAT = 15.0  # seconds after which a silent stream shows that it is alive


def summarise(service: Service) -> dict[str, Any]:
    """Return how the job stands."""
    job, fits = service.job, service.fits
    sums, snapshot = job.sums(), job.snapshot
    facts = {} if snapshot is None else snapshot.facts
    open_items = sum(sums["standings"][name] for name in ("open", "tied", "unidentifiable"))
    share = facts["settled_by_labels"] / facts["looked_at"] if facts.get("looked_at") else None
    to_come = by_labels = None
    if share is not None:
        by_labels = round(open_items * share)
        to_come = round(open_items * share * (facts["labels_each"] or 0))
    elif snapshot is not None and not open_items:
        to_come = by_labels = 0
    price = service.price
    return {
        "title": service.title,
        "labels": job.n_labels,
        "items": sums["items"],
        "workers": len(job.workers),
        "classes": list(snapshot.classes) if snapshot is not None else [],
        "settled": sums["standings"]["settled"] + sums["standings"]["known"],
        "open": open_items,
        "standings": sums["standings"],
        "expected_errors": sums["expected_errors"],
        "cost": {
            "labels_so_far": job.n_labels,
            "labels_to_come": to_come,
            "items_by_labels": by_labels,  # those that further labels by typical workers would settle; the others need a person
            "price": price,
            "so_far": None if price is None else round(price * job.n_labels, 2),
            "to_come": None if price is None or to_come is None else round(price * to_come, 2),
        },
        "fit": {
            "id": None if snapshot is None else snapshot.fit,
            "labels": 0 if snapshot is None else int(snapshot.n_labels.sum()),
            "labels_since": job.n_labels - (0 if snapshot is None else int(snapshot.n_labels.sum())),
            "method": facts.get("method"),
            "seconds": facts.get("seconds"),
            "running": None if fits.running is None else fits.running.as_dict(),
            "waiting": None if fits.waiting is None else fits.waiting.as_dict(),
            "last": None if fits.last is None else fits.last.as_dict(),
        },
        "notes": facts.get("notes", []),
        "repeats": service.store.repeats,
        "version": job.version,
    }


async def get_summary(request: Request) -> Response:
    """Say how the job stands."""
    service = service_of(request)
    return await service.answer(lambda: summarise(service))


async def get_events(request: Request) -> Response:
    """Stream how the job stands, and the latest labels, whenever something has changed (server-sent events)."""
    service = service_of(request)
    if service.listeners >= MOST_LISTENERS:
        raise RefusalError(429, "Too many pages are open; close one.", {"retry-after": "60"})

    async def stream() -> AsyncIterator[bytes]:
        service.listeners += 1
        seen, quiet = None, 0.0
        try:
            yield b"retry: 2000\n\n"
            while not service.ending():
                mark = (service.job.version, service.fits.running, service.fits.last)
                if mark != seen:
                    seen, quiet = mark, 0.0
                    state = await service.run(lambda: summarise(service))
                    state["feed"] = list(service.job.feed)
                    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
                    yield f"event: state\ndata: {text}\n\n".encode()
                elif quiet >= BEAT:
                    quiet = 0.0
                    yield b": alive\n\n"
                await asyncio.sleep(PAUSE)
                quiet += PAUSE
        finally:
            service.listeners -= 1

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def post_fit(request: Request) -> Response:
    """Ask for a fit; one runs at a time and one may wait."""
    service, who = service_of(request), request.state.holder.name
    if not service.job.n_labels:
        raise RefusalError(409, "There are no labels yet.")
    try:
        fit = await service.run(service.fits.ask)
    except BusyError as error:
        raise RefusalError(429, error.message, {"retry-after": "5"}) from None
    await service.write(lambda session: log(session, who, "fit asked for", fit=fit.id))
    return as_json(fit.as_dict(), 202, location=f"/fits/{fit.id}")


async def get_fits(request: Request) -> Response:
    """List fits, the last first."""
    limit = number_of(request, "limit", 20, 1, 1000)
    service = service_of(request)
    fits = await service.run(lambda: service.fits.listed(limit))
    return as_json({"fits": [fit.as_dict() for fit in fits]})


async def get_fit(request: Request) -> Response:
    """Say how a fit stands."""
    service = service_of(request)
    fit = await service.run(lambda: service.fits.find(request.path_params["number"]))
    if fit is None:
        raise RefusalError(404, "There is no such fit.")
    return as_json(fit.as_dict())


async def delete_fit(request: Request) -> Response:
    """Cancel a fit that runs or waits."""
    service, number, who = service_of(request), request.path_params["number"], request.state.holder.name
    if await service.run(lambda: service.fits.find(number)) is None:
        raise RefusalError(404, "There is no such fit.")
    if not await service.run(lambda: service.fits.cancel(number)):
        raise RefusalError(409, "This fit has ended, or is about to.")
    await service.write(lambda session: log(session, who, "fit cancelled", fit=number))
    return as_json({"id": number, "state": "cancelled"})


async def get_health(request: Request) -> Response:
    """Say whether the service works: the writer lives."""
    alive = service_of(request).writer.alive
    return as_json({"status": "ok" if alive else "failing", "version": VERSION}, 200 if alive else 503)


async def get_metrics(request: Request) -> Response:
    """Return counters in the form that Prometheus reads."""
    service = service_of(request)
    meter, job, fits = service.meter, service.job, service.fits
    lines = [
        *_metric("labels", "gauge", "Labels stored.", [("", job.n_labels)]),
        *_metric("workers", "gauge", "Workers who gave labels.", [("", len(job.workers))]),
        *_metric("labels_waiting", "gauge", "Labels that wait to be stored.", [("", service.writer.waiting)]),
        *_metric("commits_total", "counter", "Transactions written.", [("", service.writer.commits)]),
        *_metric("fit_running", "gauge", "Whether a fit runs.", [("", int(fits.running is not None))]),
        *_metric("pages_open", "gauge", "Pages that listen.", [("", service.listeners)]),
        *_metric(
            "http_requests_total", "counter", "Requests answered.",
            [(f'{{method="{method}",status="{status}"}}', count) for (method, status), count in sorted(meter.answers.items())],
        ),
    ]  # fmt: skip
    total, rows = 0, []
    for edge, count in zip(EDGES, meter.buckets, strict=True):
        total += count
        rows.append(f'crowdassay_http_seconds_bucket{{le="{"+Inf" if edge == EDGES[-1] else edge}"}} {total}')
    lines += ["# HELP crowdassay_http_seconds Time to answer.", "# TYPE crowdassay_http_seconds histogram", *rows]
    lines += [f"crowdassay_http_seconds_sum {meter.seconds:.6f}", f"crowdassay_http_seconds_count {total}"]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _metric(name: str, kind: str, about: str, rows: list[tuple[str, int]]) -> list[str]:
    name = f"crowdassay_{name}"
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *(f"{name}{marks} {value}" for marks, value in rows)]
