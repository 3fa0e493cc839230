"""GET /download/{table}.csv: items with their labels, workers, or the labels themselves, as CSV that spreadsheets may open."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crowdassay.service.store.labels import list_labels
from crowdassay.service.web.guard import RefusalError
from crowdassay.service.web.items import worker_facts
from crowdassay.service.web.service import Service, service_of

ROWS_AT_A_TIME = 1000
COLUMNS = {
    "items": ("item", "label", "probability", "standing", "n_labels", "basis"),
    "workers": ("worker", "labels", "accuracy", "low", "high", "verdict", "action", "evidence"),
    "labels": ("key", "item", "worker", "label", "round", "time"),
}


async def get_download(request: Request) -> Response:
    """Stream a table as CSV."""
    name = request.path_params["table"]
    if name not in COLUMNS:
        raise RefusalError(404, f"There is no such table; there are {', '.join(COLUMNS)}.")
    lines = _csv(service_of(request), name)
    headers = {"content-disposition": f'attachment; filename="{name}.csv"'}
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


def _csv(service: Service, name: str) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - slow to load

    from crowdassay.labels.write import csv_lines  # noqa: PLC0415

    columns = COLUMNS[name]
    yield csv_lines([pa.array([column]) for column in columns], raw=True)
    rows = ROWS_OF[name](service)
    while block := list(islice(rows, ROWS_AT_A_TIME)):
        arrays = [pa.array([row.get(column) for row in block]) for column in columns]
        yield csv_lines(arrays, raw=False)


def _items(service: Service) -> Iterator[dict[str, Any]]:
    for item in service.job.names():
        judged = service.job.current(item)
        if judged is not None:
            yield judged.as_dict(item)


def _workers(service: Service) -> Iterator[dict[str, Any]]:
    facts = worker_facts(service.job)
    for name, count in list(service.job.workers.items()):
        yield {**facts.get(name, {}), "worker": name, "labels": count}


def _labels(service: Service) -> Iterator[dict[str, Any]]:
    after = ""
    while True:
        with service.store.home.read() as session:
            page = list_labels(session, after, ROWS_AT_A_TIME)
        for one in page:
            yield {
                "key": one.key,
                "item": one.item,
                "worker": one.worker,
                "label": one.label,
                "round": one.round,
                "time": one.time,
            }
        if len(page) < ROWS_AT_A_TIME:
            return
        after = page[-1].key


ROWS_OF = {"items": _items, "workers": _workers, "labels": _labels}
