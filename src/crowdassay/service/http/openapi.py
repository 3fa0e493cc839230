"""The description of the interface as OpenAPI 3.1, derived from the records and from the endpoints."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from types import NoneType
from typing import Any, NamedTuple, get_args

from starlette.requests import Request
from starlette.responses import Response

from crowdassay.service.store.records import (
    FitRun,
    HandedOutToken,
    ItemDecision,
    ItemRow,
    NewItem,
    NewToken,
    Refused,
    SentLabel,
    StoredLabel,
    Truth,
    WorkerRow,
    fields_of,
)
from crowdassay.version import VERSION

Schema = dict[str, Any]  # JSON of any depth

TYPE_NAMES = {str: "string", int: "integer", float: "number"}
TEXT_SCHEMA, WHOLE_SCHEMA, NUMBER_SCHEMA = ({"type": name} for name in TYPE_NAMES.values())
# What is None is left out of these, instead of being null.
SENT = {"Label": SentLabel, "NewItem": NewItem, "Truth": Truth, "NewToken": NewToken, "Refused": Refused}
ANSWERED = {
    "StoredLabel": StoredLabel, "Item": ItemRow, "Worker": WorkerRow, "Fit": FitRun, "Decision": ItemDecision,
    "Token": HandedOutToken,
}  # fmt: skip


class Endpoint(NamedTuple):
    """A method of a path: what answers it, who may call it, and how it is described.

    Attributes
    ----------
    method, path : str
        The path as Starlette writes it.
    function : callable
    about : str
        One sentence.
    answer : dict
        JSON schema of the answer.
    roles : tuple of str
        Roles of tokens that are enough; ``manage`` always is.
    parameters : tuple of dict
        Of the query; those of the path are taken from it.
    body : str
        Name of the schema of a record that is sent.
    one : bool
        Whether one record is sent, instead of a list.
    status : int
        Of a good answer.
    media : str
        Type of the answer.
    """

    method: str
    path: str
    function: Callable[[Request], Awaitable[Response]]
    about: str
    answer: Schema = TEXT_SCHEMA
    roles: tuple[str, ...] = ("read",)
    parameters: tuple[Schema, ...] = ()
    body: str = ""
    one: bool = False
    status: int = 200
    media: str = "application/json"


def see(name: str) -> Schema:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def maybe(schema: Schema) -> Schema:
    """Return the schema of a plain value that may be null."""
    return {**schema, "type": [schema["type"], "null"]}


def holding(needed: Iterable[str] = (), **fields: Schema) -> Schema:
    """Return the schema of an object; the ``needed`` fields are always there."""
    required = list(needed)
    return {"type": "object", "properties": fields, **({"required": required} if required else {})}


def page_of(name: str, schema: Schema, after: Schema = WHOLE_SCHEMA) -> Schema:
    """Return the schema of a page of a list, with what to ask for the next by."""
    return holding(**{name: list_of(schema), "next": maybe(after)})


def parameter(name: str, schema: Schema, about: str = "", *, where: str = "query", needed: bool = False) -> Schema:
    """Return the description of a parameter."""
    return {"name": name, "in": where, "schema": schema, "required": needed, "description": about}


def schema_of(record: type, *, nulls: bool) -> Schema:
    """Return the schema of a record; what may be None is null in JSON, or left out of it."""
    fields = {}
    for name, (kind, more, _) in fields_of(record).items():
        plain = next((part for part in get_args(kind) if part is not NoneType), kind)
        schema: Schema = {"enum": list(more.values)} if more.values else {"type": TYPE_NAMES[plain]}
        if nulls and plain is not kind:
            schema = maybe(schema)
        fields[name] = {**schema, "description": more.about} if more.about else schema
    return holding([name for name, (_, _, needed) in fields_of(record).items() if needed], **fields)


def schemas() -> dict[str, Schema]:
    """Return the schemas of all records."""
    counts = {"added": WHOLE_SCHEMA, "known": WHOLE_SCHEMA}
    return {
        **{name: schema_of(record, nulls=False) for name, record in SENT.items()},
        **{name: schema_of(record, nulls=True) for name, record in ANSWERED.items()},
        "Taken": holding((*counts, "refused"), **counts, refused=list_of(see("Refused"))),
        "Error": holding(("error",), error=TEXT_SCHEMA),
    }


def describe(endpoints: Iterable[Endpoint]) -> Schema:
    """Return the whole description."""
    paths: dict[str, Schema] = {}
    for one in endpoints:
        path = re.sub(r":\w+}", "}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "crowdassay", "version": VERSION, "description": "A labelling job: labels in, truth out."},
        "paths": paths,
        "components": {"schemas": schemas(), "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def _operation(one: Endpoint) -> Schema:
    given = {parameter["name"] for parameter in one.parameters}
    in_path = [
        parameter(name, WHOLE_SCHEMA if kind == ":int" else TEXT_SCHEMA, where="path", needed=True)
        for name, kind in re.findall(r"{(\w+)(:\w+)?}", one.path)
        if name not in given
    ]
    operation = {
        "summary": one.about,
        "description": f"For tokens of the role {' or '.join(one.roles)}.",
        "parameters": [*in_path, *one.parameters],
        "responses": {
            str(one.status): {"description": "Done.", "content": {one.media: {"schema": one.answer}}},
            "4XX": {"description": "Refused.", "content": {"application/json": {"schema": see("Error")}}},
        },
    }
    if one.body:
        kinds = {"application/json": {"schema": see(one.body) if one.one else list_of(see(one.body))}}
        if not one.one:
            kinds["application/x-ndjson"] = {"schema": see(one.body)}
        operation["requestBody"] = {"required": True, "content": kinds}
    return operation
