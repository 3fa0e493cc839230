"""GET /items, /items/{id}, /workers and /next, and POST /items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.service.store.decide import Stored
from crowdassay.service.store.known import Item, add_items, find_item
from crowdassay.service.store.labels import by_items, labelled_by
from crowdassay.service.store.records import LONGEST_TEXT, BadRecordError, Refused, as_name
from crowdassay.service.web.body import records
from crowdassay.service.web.guard import RefusalError
from crowdassay.service.web.job import Job
from crowdassay.service.web.judged import FIT, UPDATED, VOTES, Judged
from crowdassay.service.web.labels import show
from crowdassay.service.web.next import LOOKED_AT, next_items
from crowdassay.service.web.service import as_json, number_of, service_of

MOST_ITEMS_LISTED = 1000
TOO_FEW, UNFITTED = "too few labels", "no fit yet"
ADVICE = {  # by the actions of `crowdassay.findings.advice`, which is slow to load
    "remove": "Stop giving them work, and ask others about the items they labelled.",
    "talk to": "Talk to them.",
    "retrain": "Show them worked examples, and look again.",
    "keep": "Keep them.",
    "cannot tell": "Wait for more labels, by others on the same items too.",
}


async def get_items(request: Request) -> Response:
    """List items: the open ones, the least sure first, or all in the order in which they came."""
    service = service_of(request)
    job, query = service.job, request.query_params
    limit, first = number_of(request, "limit", 100, 1, MOST_ITEMS_LISTED), number_of(request, "after", 0, 0, 1 << 40)
    wanted = query.get("q", "").casefold()
    label, standing = query.get("label"), query.get("standing")
    disputed = query.get("disputed", "0") not in {"", "0"}

    def fits(item: str, judged: Judged) -> bool:
        return (
            wanted in item.casefold()
            and (judged.n_labels > 0 or not disputed)
            and (not label or judged.label == label)
            and (not standing or judged.standing == standing)
        )

    def find() -> dict[str, Any]:
        plain = not (wanted or label or standing or disputed)
        if disputed or query.get("open", "0") not in {"", "0"}:
            rows = job.open_items(first + limit + 1 if plain else 1 << 40)
            chosen = [(item, judged) for item, judged in rows if fits(item, judged)][first : first + limit + 1]
        else:
            judged_items = ((item, judged) for item in job.names() if (judged := job.current(item)) is not None)
            chosen = list(islice((row for row in judged_items if fits(*row)), first, first + limit + 1))
        more = first + limit if len(chosen) > limit else None
        return {"items": [judged.as_dict(item) for item, judged in chosen[:limit]], "next": more}

    return await service.answer(find)


async def get_item(request: Request) -> Response:
    """Say what an item's label is, how probable, who said what, and why."""
    service = service_of(request)
    name, job = request.path_params["item"], service.job

    def find(session: Session) -> dict[str, Any] | None:
        judged = job.current(name, session)
        if judged is None:
            return None
        said, about = by_items(session, [name]), find_item(session, name)
        workers = worker_facts(job)
        return {
            **judged.as_dict(name),
            "posterior": {label: round(p, 6) for label, p in judged.posterior.items()},
            "labels": [{**show(one), "accuracy": workers.get(one.worker, {}).get("accuracy")} for one in said],
            "text": None if about is None else about.text,
            "link": None if about is None else about.link,
            "why": why(judged, said, workers),
        }

    about = await service.read(find)
    if about is None:
        raise RefusalError(404, "There is no such item.")
    return as_json(about)


def why(judged: Judged, said: Sequence[Stored], workers: dict[str, dict[str, Any]]) -> list[str]:
    """Explain a label in a few sentences."""
    if judged.basis in {"truth", "decision"}:
        return ["Its class is known." if judged.basis == "truth" else "A person settled it."]
    if not said:
        return ["Nobody has labelled it yet."]
    votes = sum(one.label == judged.label for one in said)
    reasons = [f"{votes} of {len(said)} labels say '{judged.label}'."]
    if judged.basis == VOTES:
        reasons.append("No fit has seen these labels yet, so that all workers count alike.")
    elif judged.basis in {FIT, UPDATED}:
        rates = [workers.get(one.worker, {}).get("accuracy") for one in said if one.label == judged.label]
        known = [rate for rate in rates if rate is not None]
        if known:
            reasons.append(
                f"Those who say so are right {sum(known) / len(known):.0%} of the time on average, as far as is known."
            )
        others = Counter(one.label for one in said if one.label != judged.label)
        if others and max(others.values()) > votes:
            rival = max(sorted(others), key=lambda name: others[name])
            reasons.append(f"More say '{rival}', but they are less reliable, or often wrong in this way.")
    if judged.basis == UPDATED:
        reasons.append("Some of these labels are newer than the last fit; the workers are judged as they were then.")
    return reasons


def worker_facts(job: Job) -> dict[str, dict[str, Any]]:
    """Return what the last fit says of each worker."""
    return {} if job.snapshot is None else job.snapshot.about


async def get_workers(request: Request) -> Response:
    """List the workers: how many labels, how reliable, and what to do about each."""
    service = service_of(request)
    limit, first = number_of(request, "limit", 10_000, 1, 100_000), number_of(request, "after", 0, 0, 1 << 40)

    def find() -> dict[str, Any]:
        facts = worker_facts(service.job)
        verdict = TOO_FEW if service.job.snapshot is not None else UNFITTED
        nothing = {
            "accuracy": None,
            "low": 0.0,
            "high": 1.0,
            "verdict": verdict,
            "action": "cannot tell",
            "evidence": "",
            "looks_like": "",
        }
        names = list(service.job.workers)
        rows = []
        for name in names[first : first + limit]:
            row = {**nothing, **facts.get(name, {}), "worker": name, "labels": service.job.workers[name]}
            rows.append({**row, "advice": ADVICE[row["action"]]})
        return {"workers": rows, "next": first + limit if len(names) > first + limit else None}

    return await service.answer(find)


async def get_next(request: Request) -> Response:
    """Say what a worker should label next."""
    service = service_of(request)
    worker, n = request.query_params.get("worker", ""), number_of(request, "n", 1, 1, 100)
    if not worker.strip() or "\0" in worker:
        raise RefusalError(422, "Say for whom: /next?worker=NAME.")
    if request.state.holder.worker not in {None, worker}:
        raise RefusalError(403, "This token is for another worker.")

    def find(session: Session) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        twin = worker_facts(service.job).get(worker, {}).get("looks_like")
        for most in LOOKED_AT:  # a diligent worker may have labelled all that come first
            looked_at = service.job.open_items(most, whole=True)
            names = [item for item, _ in looked_at]
            labelled = labelled_by(session, worker, names)
            if twin:  # a copy of this worker would only say the same again
                labelled |= labelled_by(session, twin, names)
            rows = next_items(service.job.snapshot, looked_at, service.leases, worker, n, labelled)
            if rows or len(looked_at) < most:
                break
        about = {row["item"]: find_item(session, row["item"]) for row in rows}
        return [
            {**row, "text": getattr(about[row["item"]], "text", None), "link": getattr(about[row["item"]], "link", None)}
            for row in rows
        ]

    rows = await service.read(find)
    return as_json({"worker": worker, "item": rows[0]["item"] if rows else None, "items": rows})


async def post_items(request: Request) -> Response:
    """Add items: {item, text?, link?}."""
    service = service_of(request)
    data = await request.body()
    kind = request.headers.get("content-type", "application/json").split(";")[0].strip().lower()
    good, bad = await service.run(lambda: parse_items(records(data, kind)))
    done = await service.write(lambda session: add_items(session, good))
    service.job.items_added(done.changed)
    answer = {"added": done.added, "known": done.known, "refused": [one.as_dict() for one in bad]}
    return as_json(answer, 422 if bad and not good else 200)


def parse_items(values: Any) -> tuple[list[tuple[int, Item]], list[Refused]]:
    """Check records of {item, text?, link?}."""
    good, bad = [], []
    for index, value in enumerate(values):
        try:
            if isinstance(value, BadRecordError):
                raise value
            if isinstance(value, str | int) and not isinstance(value, bool):
                value = {"item": value}  # noqa: PLW2901
            if not isinstance(value, dict) or value.keys() - {"item", "text", "link"}:
                raise BadRecordError("An item is an object with item, and perhaps text and link.")
            more = {
                name: None if value.get(name) is None else as_name(value[name], name, LONGEST_TEXT) for name in ("text", "link")
            }
            if more["link"] is not None and not more["link"].lower().startswith(("https://", "http://")):
                raise BadRecordError("A link begins with https:// or http://.")
            good.append((index, Item(as_name(value.get("item"), "item"), more["text"], more["link"])))
        except BadRecordError as error:
            bad.append(Refused(index, str(error)))
    return good, bad
