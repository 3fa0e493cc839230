"""The description of the interface, as OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from crowdassay.version import VERSION

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}


def _object(needed: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, **({"required": list(needed)} if needed else {})}


def _list(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _maybe(kind: str) -> dict[str, Any]:
    return {"type": [kind, "null"]}


def _see(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


SCHEMAS = {
    "Label": _object(
        ("item", "worker", "label"), item=TEXT, worker=TEXT, label=TEXT,
        key={**TEXT, "description": "Sent again with the same key, a label is known and changes nothing. "
             "Without a key, item, worker and round are its key."},
        time={**TEXT, "description": "ISO 8601, or seconds since 1970."},
        round={**WHOLE, "description": "Which of several labels by this worker on this item."},
    ),
    "StoredLabel": _object(
        ("key", "item", "worker", "label"), key=TEXT, item=TEXT, worker=TEXT, label=TEXT, round=WHOLE, time=_maybe("string"),
        seq=WHOLE,
    ),
    "Taken": _object(
        ("added", "known", "refused"), added=WHOLE, known=WHOLE,
        refused=_list(_object(("index", "reason"), index=WHOLE, reason=TEXT, key=TEXT)),
    ),
    "NewItem": _object(("item",), item=TEXT, text=TEXT, link=TEXT),
    "Truth": _object(("item", "label"), item=TEXT, label=TEXT),
    "Item": _object(
        ("item", "label", "probability", "standing"), item=TEXT, label=_maybe("string"), probability=NUMBER,
        standing={"enum": ["open", "settled", "tied", "unidentifiable", "known"]}, n_labels=WHOLE,
        basis={"enum": ["fit", "update", "votes", "truth", "decision", "nothing"]},
    ),
    "Worker": _object(
        ("worker", "labels", "verdict"), worker=TEXT, labels=WHOLE, accuracy=_maybe("number"), low=NUMBER, high=NUMBER,
        verdict=TEXT, action={"enum": ["remove", "talk to", "retrain", "keep", "cannot tell"]}, evidence=TEXT,
        looks_like=TEXT, advice=TEXT,
    ),
    "Fit": _object(
        ("id", "state"), id=WHOLE, reason=TEXT, started=TEXT, ended=_maybe("string"), upto=WHOLE, message=_maybe("string"),
        state={"enum": ["waiting", "running", "done", "failed", "cancelled", "interrupted"]},
    ),
    "Error": _object(("error",), error=TEXT),
}  # fmt: skip


def _parameter(name: str, kind: dict[str, Any], where: str = "query", about: str = "") -> dict[str, Any]:
    return {"name": name, "in": where, "schema": kind, "required": where == "path", "description": about}


LIMIT = _parameter("limit", WHOLE)
NEXT_PLACE = _parameter("after", WHOLE, about="The 'next' of the answer before.")


def _operation(
    about: str,
    answer: Any,
    *,
    status: str = "200",
    parameters: Any = (),
    body: Any = None,
    one: bool = False,
    role: str = "read",
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": about,
        "description": f"For tokens of the role {role}.",
        "parameters": list(parameters),
        "responses": {
            status: {"description": "Done.", "content": {"application/json": {"schema": answer}}},
            "4XX": {"description": "Refused.", "content": {"application/json": {"schema": _see("Error")}}},
        },
    }
    if body is not None:
        kinds = {"application/json": {"schema": body if one else _list(body)}}
        if not one:
            kinds["application/x-ndjson"] = {"schema": body}
        operation["requestBody"] = {"required": True, "content": kinds}
    return operation


def describe() -> dict[str, Any]:
    """Return the whole description."""
    item = _parameter("item", TEXT, "path")
    number = _parameter("id", WHOLE, "path")
    fit, taken = _see("Fit"), _see("Taken")
    detail = {"allOf": [_see("Item"), _object(
        posterior={"type": "object", "additionalProperties": NUMBER}, labels=_list(_see("StoredLabel")), text=_maybe("string"),
        link=_maybe("string"), why=_list(TEXT),
    )]}  # fmt: skip
    page = (LIMIT, NEXT_PLACE)
    filters = (
        _parameter("open", WHOLE, about="1: only those not settled, the least sure first."),
        _parameter("disputed", WHOLE, about="1: only those not settled that have labels."),
        _parameter("q", TEXT, about="Part of the name."),
        *(_parameter(name, TEXT) for name in ("label", "standing")),
        *page,
    )
    paths = {
        "/labels": {
            "post": _operation(
                "Add labels; answered once they are stored. 422 if all were refused.", taken, body=_see("Label"),
                role="label or manage",
            ),
            "get": _operation(
                "List labels in the order in which they came.",
                _object(labels=_list(_see("StoredLabel")), next=_maybe("string")),
                parameters=(LIMIT, _parameter("after", TEXT, about="A key: the labels after that one.")),
            ),
        },
        "/items": {
            "get": _operation("List items.", _object(items=_list(_see("Item")), next=_maybe("integer")), parameters=filters),
            "post": _operation("Add items with text or a link.", taken, body=_see("NewItem"), role="manage"),
        },
        "/items/{item}": {"get": _operation("An item's label, its probability, and why.", detail, parameters=(item,))},
        "/workers": {
            "get": _operation(
                "Workers with verdicts.", _object(workers=_list(_see("Worker")), next=_maybe("integer")), parameters=page
            )
        },
        "/next": {
            "get": _operation(
                "What a worker should label next.",
                _object(worker=TEXT, item=_maybe("string"), items=_list(_see("Item"))),
                parameters=({**_parameter("worker", TEXT), "required": True}, _parameter("n", WHOLE)),
                role="label or manage",
            )
        },
        "/truth": {
            "post": _operation(
                "Add known classes.", taken, body=_see("Truth"), role="manage",
                parameters=(_parameter("replace", WHOLE, about="1: in the place of what is stored."),),
            )
        },
        "/decisions": {
            "post": _operation(
                "Settle a disputed item.", _object(id=WHOLE, item=TEXT, label=TEXT), status="201", body=_see("Truth"), one=True,
                role="manage",
            ),
            "get": _operation("List decisions.", _object(decisions=_list(_object())), parameters=(LIMIT,)),
        },
        "/decisions/{id}": {"delete": _operation("Undo a decision.", _object(id=WHOLE), parameters=(number,), role="manage")},
        "/fits": {
            "post": _operation("Ask for a fit; 429 if one waits already.", fit, status="202", role="manage"),
            "get": _operation("List fits.", _object(fits=_list(fit)), parameters=(LIMIT,)),
        },
        "/fits/{id}": {
            "get": _operation("How a fit stands.", fit, parameters=(number,)),
            "delete": _operation("Cancel a fit.", _object(id=WHOLE, state=TEXT), parameters=(number,), role="manage"),
        },
        "/summary": {"get": _operation("How the job stands.", _object(labels=WHOLE, items=WHOLE, workers=WHOLE))},
        "/events": {"get": _stream("How the job stands, whenever it changes.", "text/event-stream")},
        "/download/{table}.csv": {
            "get": {**_stream("A table as CSV.", "text/csv"),
                    "parameters": [_parameter("table", {"enum": ["items", "workers", "labels"]}, "path")]}
        },
        "/tokens": {
            "post": _operation(
                "Hand out a token.", _object(id=WHOLE, token=TEXT, role=TEXT), status="201", one=True, role="manage",
                body=_object(("role",), role={"enum": ["label", "read", "manage"]}, worker=TEXT, note=TEXT),
            ),
            "get": _operation("List tokens.", _object(tokens=_list(_object())), role="manage"),
        },
        "/tokens/{id}": {"delete": _operation("Take a token back.", _object(id=WHOLE), parameters=(number,), role="manage")},
        "/audit": {"get": _operation("Who did what.", _object(audit=_list(_object())), parameters=(LIMIT,), role="manage")},
        "/health": {"get": _operation("Whether the service works; no token is needed.", _object(status=TEXT, version=TEXT))},
        "/metrics": {"get": _stream("Counters for Prometheus.", "text/plain")},
    }  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "crowdassay", "version": VERSION, "description": "A labelling job: labels in, truth out."},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def _stream(about: str, kind: str) -> dict[str, Any]:
    return {"summary": about, "responses": {"200": {"description": "Done.", "content": {kind: {"schema": TEXT}}}}}
