"""GET /items, /items/{id}, /workers, /expert and /next, and POST /items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.labels.values import counted
from crowdassay.service.fits.item_state import ItemState
from crowdassay.service.fits.next import OPEN_ITEMS_RANKED, next_items
from crowdassay.service.http.requests import RefusalError, as_received
from crowdassay.service.http.service import Call
from crowdassay.service.store.labels import labelled_by, labels_of
from crowdassay.service.store.records import ITEM_STANDINGS, NewItem, StoredLabel, WorkerRow, read_item
from crowdassay.service.store.truths import add_items, find_item

MOST_ITEMS_LISTED = 1000
ADVICE_ON = {  # by the actions of `crowdassay.findings.verdicts`, which is slow to load
    "remove": "Stop giving them work, and ask others about the items they labelled.",
    "talk to": "Talk to them.",
    "retrain": "Show them worked examples, and look again.",
    "keep": "Keep them.",
    "cannot tell": "Wait for more labels, by others on the same items too.",
}


async def get_items(call: Call) -> Response:
    """List items: the open ones, the least sure first, or all in the order in which they came."""
    job = call.service.job
    limit, first = call.number("limit", 100, 1, MOST_ITEMS_LISTED), call.number("after", 0, 0, 1 << 40)
    wanted, label, standing = call.query("q").casefold(), call.query("label"), call.query("standing")
    disputed, only_open = call.flag("disputed"), call.flag("open")
    if standing and standing not in ITEM_STANDINGS:
        raise RefusalError(422, f"There is no such standing; items are {', '.join(ITEM_STANDINGS)}.")

    def matches(item: str, state: ItemState) -> bool:
        return (
            wanted in item.casefold()
            and (state.n_labels > 0 or not disputed)
            and (not label or state.label == label)
            and (not standing or state.standing == standing)
        )

    def find() -> dict[str, Any]:
        plain = not (wanted or label or standing or disputed)
        if disputed or only_open:
            rows = job.open_items(first + limit + 1 if plain else 1 << 40)
            chosen = [(item, state) for item, state in rows if matches(item, state)][first : first + limit + 1]
        else:
            chosen = list(islice((row for row in job.states() if matches(*row)), first, first + limit + 1))
        more = first + limit if len(chosen) > limit else None
        return {"items": [state.as_dict(item) for item, state in chosen[:limit]], "next": more}

    return await call.service.answer(find)


async def get_item(call: Call) -> dict[str, Any]:
    """Return an item's label, its probability, who said what, and why."""
    name, job = call.request.path_params["item"], call.service.job

    def find(session: Session) -> dict[str, Any] | None:
        state = job.current(name, session)
        if state is None:
            return None
        said, about, workers = labels_of(session, [name]), find_item(session, name) or NewItem(name), job.about
        return {
            **state.as_dict(name),
            "posterior": {label: round(p, 6) for label, p in state.posterior.items()},
            "labels": [{**one.as_dict(), "accuracy": accuracy_of(one, workers)} for one in said],
            "text": about.text,
            "link": about.link,
            "why": why(state, said, workers),
        }

    found = await call.service.read(find)
    if found is None:
        raise RefusalError(404, "There is no such item.")
    return found


def why(state: ItemState, said: Sequence[StoredLabel], workers: Mapping[str, WorkerRow]) -> list[str]:
    """Return why an item has its label, in a few sentences."""
    if state.basis in {"truth", "decision"}:
        return ["Its class is known." if state.basis == "truth" else "A person settled it."]
    if not said:
        return ["Nobody has labelled it yet."]
    votes = sum(one.label == state.label for one in said)
    reasons = [f"{votes} of {counted(len(said), 'label says', 'labels say')} '{state.label}'."]
    if state.basis == "votes":
        reasons.append("No fit has seen these labels yet, so that all workers count alike.")
    elif state.basis in {"fit", "update"}:
        rates = [accuracy_of(one, workers) for one in said if one.label == state.label]
        known = [rate for rate in rates if rate is not None]
        if known:
            reasons.append(
                f"Those who say so are right {sum(known) / len(known):.0%} of the time on average, as far as is known."
            )
        others = Counter(one.label for one in said if one.label != state.label)
        if others and max(others.values()) > votes:
            rival = max(sorted(others), key=lambda name: others[name])
            reasons.append(f"More say '{rival}', but they are less reliable, or often wrong in this way.")
    if state.basis == "update":
        reasons.append("Some of these labels are newer than the last fit; the workers are judged as they were then.")
    return reasons


def accuracy_of(one: StoredLabel, workers: Mapping[str, WorkerRow]) -> float | None:
    """Return the accuracy of the worker who gave a label, None where no fit could estimate it."""
    return workers[one.worker].accuracy if one.worker in workers else None


async def get_workers(call: Call) -> Response:
    """List the workers: how many labels, how reliable, and what to do about each."""
    job = call.service.job
    limit, first = call.number("limit", 10_000, 1, 100_000), call.number("after", 0, 0, 1 << 40)

    def find() -> dict[str, Any]:
        facts, names = job.about, list(job.workers)
        verdict = "too few labels" if job.snapshot is not None else "no fit yet"
        rows = []
        for name in names[first : first + limit]:
            row = facts.get(name) or WorkerRow(name, 0, verdict)
            rows.append(row._replace(labels=job.workers[name], advice=ADVICE_ON[row.action])._asdict())
        return {"workers": rows, "next": first + limit if len(names) > first + limit else None}

    return await call.service.answer(find)


async def get_next(call: Call) -> dict[str, Any]:
    """Return what a worker should label next."""
    service, worker, n = call.service, call.query("worker"), call.number("n", 1, 1, 100)
    if not worker.strip() or "\0" in worker:
        raise RefusalError(422, "Say for whom: /next?worker=NAME.")
    if call.identity.worker not in {None, worker}:
        raise RefusalError(403, "This token is for another worker.")

    def find(session: Session) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        about = service.job.about.get(worker)
        twin = "" if about is None else about.looks_like
        for most in OPEN_ITEMS_RANKED:  # a diligent worker may have labelled all that come first
            looked_at = service.job.open_items(most, whole=True)
            names = [item for item, _ in looked_at]
            labelled = labelled_by(session, worker, names)
            if twin:  # a copy of this worker would only say the same again
                labelled |= labelled_by(session, twin, names)
            rows = next_items(service.job.snapshot, looked_at, service.leases, worker, n, labelled)
            if rows or len(looked_at) < most:
                break
        shown = [find_item(session, row["item"]) or NewItem(row["item"]) for row in rows]
        return [{**row, "text": one.text, "link": one.link} for row, one in zip(rows, shown, strict=True)]

    rows = await service.read(find)
    return {"worker": worker, "item": rows[0]["item"] if rows else None, "items": rows}


async def get_expert(call: Call) -> Response:
    """List items drawn at random whose class an expert should give, as POST /truth takes it, in the order to ask for them."""
    from crowdassay.planning.expert import KNOWN_ITEMS, draw_items  # noqa: PLC0415 - slow to load

    job, limit = call.service.job, call.number("limit", KNOWN_ITEMS, 1, MOST_ITEMS_LISTED)

    def find() -> dict[str, Any]:
        states = dict(job.states())
        names = list(states)
        first = [names[place] for place in draw_items(names, KNOWN_ITEMS)] if names else []
        asked = [item for item in first if states[item].standing != "known"]
        return {
            "items": [states[item].as_dict(item) for item in asked[:limit]],
            "answered": len(first) - len(asked),
            "wanted": len(first),
        }

    return await call.service.answer(find)


async def post_items(call: Call) -> Response:
    """Add items with text or a link."""
    good, bad = await call.records(read_item)
    done = await call.service.write(lambda session: add_items(session, good))
    call.service.job.items_added(done.changed)
    return as_received(done.refuse(bad))
