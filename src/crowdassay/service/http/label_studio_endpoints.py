"""Label Studio's own protocols: its webhook comes in, and it asks as it asks an ML backend for predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.responses import Response

from crowdassay.labels.databases.home import Session
from crowdassay.labels.formats.label_studio import find_control, item_of
from crowdassay.labels.formats.parse import as_name
from crowdassay.labels.formats.predictions import AGENT, SCORE_DIGITS
from crowdassay.labels.jsontext import EXACT_DECODER
from crowdassay.labels.values import mapping
from crowdassay.service.fits.item_state import UNLABELLED
from crowdassay.service.fits.job import Job
from crowdassay.service.http.label_studio_events import (
    ANNOTATIONS_DELETED,
    CHANGED,
    TASKS_DELETED,
    entities,
    id_of,
    key_of,
    read_event,
    read_export,
)
from crowdassay.service.http.requests import RefusalError, as_json, text_of
from crowdassay.service.http.service import Call
from crowdassay.service.store.annotations import (
    AnnotationOutcome,
    Delivery,
    annotations_of,
    delete_annotations,
    take_annotations,
)
from crowdassay.service.store.checks import BadRecordError
from crowdassay.service.store.checks import as_name as checked_name

Writing = Callable[[Session], AnnotationOutcome]
ANNOTATIONS_AT_A_TIME = 500  # of an export, in one transaction: others wait no longer


async def post_webhook(call: Call) -> Response:
    """Take what a webhook tells: annotations that were created, updated or deleted, and tasks that were deleted."""
    told, wanted = await json_of(call), call.service.label_studio
    action = as_name(told.get("action"))
    if action is None:
        raise RefusalError(422, "This is no event of Label Studio: it names no action.")
    if action in CHANGED:
        return await _stored(call, [_taking(call, list(read_event(told, wanted)))])
    who = call.identity.name
    if action == ANNOTATIONS_DELETED:
        keys = [key_of(one.get("id")) for one in entities(told, "annotation")]
        return await _stored(call, [lambda session: delete_annotations(session, keys, source=who)])
    if action == TASKS_DELETED:
        tasks = [id_of(one.get("id")) for one in entities(told, "task")]
        return await _stored(call, [lambda session: delete_annotations(session, annotations_of(session, tasks), source=who)])
    return await _stored(call, [])  # whoever is told of everything is also told of what is no label


async def post_annotated_tasks(call: Call) -> Response:
    """Take a JSON export, to make up for what a webhook missed; annotations that are known change nothing."""
    text, wanted = text_of(await call.request.body()), call.service.label_studio
    told = await call.service.run(lambda: list(read_export(text, wanted)))
    parts = range(0, len(told), ANNOTATIONS_AT_A_TIME)
    return await _stored(call, [_taking(call, told[first : first + ANNOTATIONS_AT_A_TIME], first) for first in parts])


def _taking(call: Call, deliveries: list[Delivery], first: int = 0) -> Writing:
    return partial(take_annotations, store=call.service.store, deliveries=deliveries, source=call.identity.name, first=first)


async def _stored(call: Call, writings: Sequence[Writing]) -> Response:
    """Write one transaction after the other; answer with what became of all, 422 if all was refused."""
    refuse_one_worker(call)
    done = AnnotationOutcome()
    for write in writings:
        later = await call.service.write(write)
        done.add(later)
        done.removed += later.removed
    if writings:
        await call.service.run(call.service.job.catch_up)
    refused = done.refused and not (done.added or done.known or done.removed)
    return as_json(done.as_dict(), 422 if refused else 200)


async def get_backend_health(call: Call) -> dict[str, Any]:
    """Return that an ML backend is there, as Label Studio asks. No token is needed."""
    return {"status": "UP", "model_class": AGENT}


async def post_setup(call: Call) -> dict[str, Any]:
    """Take a project's labelling configuration (schema); answer with the version of the predictions, new with every fit."""
    body = await json_of(call)
    find_control(as_name(body.get("schema")) or "", call.service.label_studio.question)
    return {"model_version": model_version(call.service.job)}


async def post_predict(call: Call) -> dict[str, Any]:
    """Predict tasks: the label of each as the result of its question, and how probable it is as the score."""
    body, job, wanted = await json_of(call), call.service.job, call.service.label_studio
    tasks = body.get("tasks")
    if not isinstance(tasks, list):
        raise RefusalError(422, "Send {tasks: [...], label_config: ...}, as Label Studio does.")
    control, version = find_control(as_name(body.get("label_config")) or "", wanted.question), model_version(job)

    def predict(session: Session) -> list[dict[str, Any]]:
        results = []
        for task in tasks:
            state = UNLABELLED
            with suppress(BadRecordError):  # of what cannot be the name of an item nothing is known
                state = job.current(checked_name(as_name(item_of(mapping(task), wanted.item_column)), "item"), session) or state
            result = [] if state.label is None else control.answer(state.label, several=wanted.options == "set")
            results.append({"result": result, "score": round(state.probability, SCORE_DIGITS), "model_version": version})
        return results

    return {"results": await call.service.read(predict), "model_version": version}


def refuse_one_worker(call: Call) -> None:
    """Refuse a token for one worker."""
    if call.identity.worker is not None:
        raise RefusalError(403, "This token is for one worker, and Label Studio speaks for all.")


def model_version(job: Job) -> str:
    """Return the version of the predictions: Label Studio asks anew for those that it has of another one."""
    return f"{AGENT}-{0 if job.snapshot is None else job.snapshot.fit}"


async def json_of(call: Call) -> dict[str, Any]:
    """Return the object that a body holds; numbers stay the text they are, as in exports."""
    data = await call.request.body()
    try:
        value = await call.service.run(lambda: EXACT_DECODER.decode(data.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        raise RefusalError(422, "The body is not valid JSON.") from None
    if not isinstance(value, dict):
        raise RefusalError(422, "The body is no JSON object.")
    refuse_one_worker(call)
    return value
