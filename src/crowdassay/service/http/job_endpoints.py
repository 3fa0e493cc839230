"""How the job stands: GET /summary, /events, /download, /health and /metrics; and fits: POST, GET and DELETE /fits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pyarrow as pa
from starlette.responses import Response, StreamingResponse

from crowdassay.errors import CrowdassayError
from crowdassay.service.http.guard import TIME_EDGES
from crowdassay.service.http.label_endpoints import label_pages
from crowdassay.service.http.requests import RefusalError, as_json
from crowdassay.service.http.service import Call, Service
from crowdassay.service.store.history import log
from crowdassay.service.store.records import FitRun, ItemRow, StoredLabel, fields_of
from crowdassay.version import VERSION

MOST_LISTENERS = 200
EVENT_PAUSE = 0.5  # seconds between two events to one page
EVENT_BEAT = 15.0  # seconds after which a silent stream shows that it is alive
CSV_ROWS_AT_A_TIME = 1000
FITS_LOOKED_AT = 20  # for the last that ended well, and one that failed since
DATABASE_PATIENCE = 5.0  # seconds after which a database that does not answer is taken to be away
CSV_COLUMNS = {
    "items": tuple(fields_of(ItemRow)),
    "workers": ("worker", "labels", "accuracy", "low", "high", "verdict", "action", "evidence"),
    "labels": tuple(name for name in fields_of(StoredLabel) if name != "seq"),
}


def summarise(service: Service) -> dict[str, Any]:
    """Return how the job stands."""
    job, price = service.job, service.price
    totals, snapshot = job.totals().as_dict(), job.snapshot
    standings = totals["standings"]
    open_items = _open_items(standings)
    by_labels, to_come = _labels_to_come(service, open_items)
    return {
        "title": service.title,
        "labels": job.n_labels,
        "items": totals["items"],
        "workers": len(job.workers),
        "classes": list(job.classes or (snapshot.classes if snapshot is not None else ())),
        "settled": standings["settled"] + standings["known"],
        "settled_from": None if snapshot is None else snapshot.settled,
        "open": open_items,
        "standings": standings,
        "expected_errors": totals["expected_errors"],
        "bands": totals["bands"],
        "cost": {
            "labels_so_far": job.n_labels,
            "labels_to_come": to_come,
            "items_by_labels": by_labels,
            "price": price,
            "so_far": None if price is None else round(price * job.n_labels, 2),
            "to_come": None if price is None or to_come is None else round(price * to_come, 2),
        },
        "fit": _summarise_fits(service),
        "advice": [] if snapshot is None else snapshot.facts.get("advice", []),
        "notes": [] if snapshot is None else snapshot.facts.get("notes", []),
        "repeats": service.store.repeats,
        "version": job.version,
    }


def _labels_to_come(service: Service, open_items: int) -> tuple[int | None, int | None]:
    """Return how many open items further labels by typical workers would settle, and with how many labels.

    The others need a person. None where no fit has looked at any item.
    """
    snapshot = service.job.snapshot
    if snapshot is None:
        return None, None
    facts = snapshot.facts
    if not facts.get("looked_at"):
        return (None, None) if open_items else (0, 0)
    share = facts["settled_by_labels"] / facts["looked_at"]
    return round(open_items * share), round(open_items * share * (facts["labels_each"] or 0))


def _summarise_fits(service: Service) -> dict[str, Any]:
    snapshot, fits = service.job.snapshot, service.fits
    facts = {} if snapshot is None else snapshot.facts
    fitted = 0 if snapshot is None else int(snapshot.n_labels.sum())

    def shown(fit: FitRun | None) -> dict[str, Any] | None:
        return None if fit is None else fit._asdict()

    return {
        "id": None if snapshot is None else snapshot.fit,
        "labels": fitted,
        "labels_since": service.job.n_unfitted,
        "method": facts.get("method"),
        "decide": facts.get("decide"),
        "seconds": facts.get("seconds"),
        "running": shown(fits.running),
        "waiting": shown(fits.waiting),
        "last": shown(fits.last),
    }


async def get_summary(call: Call) -> Response:
    """Return how the job stands."""
    return await call.service.answer(lambda: summarise(call.service))


async def get_events(call: Call) -> Response:
    """Stream how the job stands, and the latest labels, whenever something has changed (server-sent events)."""
    service = call.service
    if service.listeners >= MOST_LISTENERS:
        raise RefusalError(429, "Too many pages are open; close one.", {"retry-after": "60"})

    async def stream() -> AsyncIterator[bytes]:
        service.listeners += 1
        seen, quiet = None, 0.0
        try:
            yield b"retry: 2000\n\n"
            while not service.ending() and await call.still_valid():
                mark = (service.job.version, service.fits.running, service.fits.last)
                if mark != seen:
                    seen, quiet = mark, 0.0
                    state = await service.run(lambda: summarise(service))
                    state["feed"] = list(service.job.feed)
                    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
                    yield f"event: state\ndata: {text}\n\n".encode()
                elif quiet >= EVENT_BEAT:
                    quiet = 0.0
                    yield b": alive\n\n"
                await asyncio.sleep(EVENT_PAUSE)
                quiet += EVENT_PAUSE
        finally:
            service.listeners -= 1

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def get_download(call: Call) -> Response:
    """Stream a table as CSV."""
    name = call.request.path_params["table"]
    if name not in CSV_COLUMNS:
        raise RefusalError(404, f"There is no such table; there are {', '.join(CSV_COLUMNS)}.")
    lines = _csv(call.service, name)
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


def _csv(service: Service, name: str) -> Iterator[bytes]:
    from crowdassay.labels.write import csv_lines  # noqa: PLC0415 - slow to load

    columns = CSV_COLUMNS[name]
    yield csv_lines([pa.array([column]) for column in columns], raw=True)
    rows = _rows(service, name)
    while block := list(islice(rows, CSV_ROWS_AT_A_TIME)):
        arrays = [pa.array([row.get(column) for row in block]) for column in columns]
        yield csv_lines(arrays, raw=False)


def _rows(service: Service, table: str) -> Iterator[dict[str, Any]]:
    job = service.job
    if table == "items":
        return (state.as_dict(item) for item, state in job.states())
    if table == "labels":
        return (one.as_dict() for page in label_pages(service) for one in page)
    found = {name: row._asdict() for name, row in job.about.items()}
    return ({**found.get(name, {}), "worker": name, "labels": count} for name, count in list(job.workers.items()))


async def post_fit(call: Call) -> Response:
    """Ask for a fit; one runs at a time and one may wait, 429 if one does already."""
    service, who = call.service, call.identity.name
    if not service.job.n_labels:
        raise RefusalError(409, "There are no labels yet; the first fit begins when some have come.")
    fit = await service.run(service.fits.ask)
    await service.write(lambda session: log(session, who, "fit asked for", fit=fit.id))
    return as_json(fit._asdict(), 202, location=f"{service.root_path}/fits/{fit.id}")


async def get_fits(call: Call) -> dict[str, Any]:
    """List fits, the last first."""
    limit = call.number("limit", 20, 1, 1000)
    fits = await call.service.run(lambda: call.service.fits.listed(limit))
    return {"fits": [fit._asdict() for fit in fits]}


async def get_fit(call: Call) -> dict[str, Any]:
    """Return how a fit stands."""
    fit = await call.service.run(lambda: call.service.fits.find(call.id))
    if fit is None:
        raise RefusalError(404, "There is no such fit.")
    return fit._asdict()


async def delete_fit(call: Call) -> dict[str, Any]:
    """Cancel a fit that runs or waits."""
    await get_fit(call)
    if not await call.service.run(lambda: call.service.fits.cancel(call.id)):
        raise RefusalError(409, "This fit has ended, or is about to.")
    await call.service.write(lambda session: log(session, call.identity.name, "fit cancelled", fit=call.id))
    return {"id": call.id, "state": "cancelled"}


async def get_health(call: Call) -> Response:
    """Return whether the service is alive: its writer is. No token is needed; /ready says whether it can work."""
    alive = call.service.writer.alive
    return as_json({"status": "ok" if alive else "failing", "version": VERSION}, 200 if alive else 503)


async def get_ready(call: Call) -> Response:
    """Return whether the service can work: whether the database answers, how old the last fit is, and what failed. No token."""
    service = call.service
    try:
        fits = await asyncio.wait_for(service.run(lambda: service.fits.listed(FITS_LOOKED_AT)), DATABASE_PATIENCE)
    except Exception as error:  # noqa: BLE001 - whatever it is, the database does not answer
        why = error.message if isinstance(error, CrowdassayError) else type(error).__name__
        return as_json({"status": "failing", "database": f"does not answer ({why})", "writer": service.writer.alive}, 503)
    done = next((fit for fit in fits if fit.state == "done"), None)
    failed = next((fit for fit in fits if fit.state == "failed" and (done is None or fit.id > done.id)), None)
    found = {
        "status": "ready" if service.writer.alive else "failing",
        "database": "answers",
        "writer": service.writer.alive,
        "fit": None if done is None else {"id": done.id, "age_seconds": _age(done)},
        "last_failure": None if failed is None else {"fit": failed.id, "why": failed.message},
    }
    return as_json(found, 200 if service.writer.alive else 503)


def _age(fit: FitRun) -> float:
    """Return the seconds since a fit ended."""
    return round((datetime.now(UTC) - datetime.fromisoformat(fit.ended or fit.started)).total_seconds(), 1)


async def get_metrics(call: Call) -> Response:
    """Return counters in the form that Prometheus reads."""
    service = call.service
    meter, job, fits = service.meter, service.job, service.fits
    ended = [] if fits.last_done is None else [("", _age(fits.last_done))]
    untold = [] if service.notifier is None else [("", await service.run(service.notifier.waiting))]
    answers = [(f'{{method="{method}",status="{status}"}}', count) for (method, status), count in sorted(meter.answers.items())]
    metrics: list[tuple[str, str, str, Sequence[tuple[str, object]]]] = [
        ("labels", "gauge", "Labels stored.", [("", job.n_labels)]),
        ("workers", "gauge", "Workers who gave labels.", [("", len(job.workers))]),
        ("labels_waiting", "gauge", "Labels that wait to be stored.", [("", service.writer.waiting)]),
        ("commits_total", "counter", "Transactions written.", [("", service.writer.commits)]),
        ("items_open", "gauge", "Items that are not settled.", [("", _open_items(job.totals().standings))]),
        ("fits_failed_total", "counter", "Fits that failed since the start.", [("", fits.n_failed)]),
        ("fit_age_seconds", "gauge", "Seconds since the last fit ended.", ended),
        ("fit_running", "gauge", "Whether a fit runs.", [("", int(fits.running is not None))]),
        ("notices_waiting", "gauge", "Items of which others are to be told.", untold),
        ("pages_open", "gauge", "Pages that listen.", [("", service.listeners)]),
        ("http_requests_total", "counter", "Requests answered.", answers),
    ]
    total = 0
    times: list[tuple[str, object]] = []
    for edge, count in zip(TIME_EDGES, meter.buckets, strict=True):
        total += count
        times.append((f'_bucket{{le="{"+Inf" if edge == TIME_EDGES[-1] else edge}"}}', total))
    times += [("_sum", f"{meter.seconds:.6f}"), ("_count", total)]
    lines = []
    for name, kind, about, rows in [*metrics, ("http_seconds", "histogram", "Time to answer.", times)]:
        lines += [f"# HELP crowdassay_{name} {about}", f"# TYPE crowdassay_{name} {kind}"]
        lines += [f"crowdassay_{name}{marks} {value}" for marks, value in rows]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _open_items(standings: Mapping[str, int]) -> int:
    return sum(standings[name] for name in ("open", "tied", "unidentifiable"))
