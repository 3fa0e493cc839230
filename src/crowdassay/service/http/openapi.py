"""The description of the interface as OpenAPI 3.1, derived from the records and from the endpoints."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple, get_args

from crowdassay.service.http.guard import FILE_TYPE
from crowdassay.service.http.service import Call
from crowdassay.service.http.token_check import WITHOUT_TOKEN
from crowdassay.service.store.records import ANSWERED, SENT, fields_of
from crowdassay.version import VERSION

Schema = dict[str, Any]  # JSON of any depth
Short = str | Mapping[str, str]  # see `schema`

TYPE_NAMES = {str: "string", int: "integer", float: "number"}
TAKEN = {"added": "integer", "known": "integer", "refused": "[Refused]"}
FILE = "file"  # the body is a file, as it is
ITEM_DETAIL = {
    "posterior": "{number}", "labels": "[StoredLabel]", "text": "string?", "link": "string?", "why": "[string]",
}  # fmt: skip

# What Label Studio sends and is answered, as far as it is read: the fields, and those that are always there.
ANNOTATIONS_TAKEN = {"added": "integer", "known": "integer", "removed": "integer", "refused": "[Refused]"}
PREDICTION = {"result": "[object]", "score": "number", "model_version": "string"}
LABEL_STUDIO_SCHEMAS: dict[str, tuple[Mapping[str, str], Sequence[str]]] = {
    "LabelStudioEvent": (
        {"action": "string", "annotation": "object", "annotations": "[object]", "task": "object", "project": "object"},
        ["action"],
    ),
    "LabelStudioExport": ({"id": "integer", "data": "object", "annotations": "[object]"}, ["data"]),
    "AnnotationsTaken": (ANNOTATIONS_TAKEN, list(ANNOTATIONS_TAKEN)),
    "LabelStudioSetup": ({"project": "string", "schema": "string"}, ["schema"]),
    "LabelStudioTasks": ({"tasks": "[object]", "label_config": "string", "project": "string"}, ["tasks", "label_config"]),
    "LabelStudioPrediction": (PREDICTION, list(PREDICTION)),
}


class Parameter(NamedTuple):
    """A parameter of the query, or of the path where that does not say enough."""

    name: str
    kind: str
    about: str = ""
    needed: bool = False
    low: int | None = None


class Endpoint(NamedTuple):
    """A method of a path: what answers it, who may call it, and how it is described."""

    method: str
    path: str  # as Starlette writes it
    function: Callable[[Call], Awaitable[object]]  # answers it; the first line of its docstring describes it
    answer: Short = "string"  # what the answer holds, see `schema`
    roles: tuple[str, ...] = ("read",)  # of tokens that are enough; ``manage`` always is
    parameters: tuple[Parameter, ...] = ()
    body: str = ""  # name of the record that is sent
    one: bool = False  # whether one record is sent, instead of a list
    status: int = 200  # of a good answer
    media: str = "application/json"  # type of the answer


def schema(short: Short, needed: Iterable[str] = ()) -> Schema:
    """Return the JSON schema that a short form stands for.

    It is the name of a type or of a record, ``[...]`` for a list, ``{...}`` for values by name, ``...?`` for what may be null,
    ``a|b`` for one of several values, or a dictionary for an object, of which the ``needed`` fields are always there.

    >>> schema({"items": "[Item]", "next": "integer?"})["properties"]["next"]
    {'type': ['integer', 'null']}
    """
    if not isinstance(short, str):
        fields = {name: schema(kind) for name, kind in short.items()}
        return {"type": "object", "properties": fields, **({"required": list(needed)} if needed else {})}
    if short.startswith("["):
        return {"type": "array", "items": schema(short[1:-1])}
    if short.startswith("{"):
        return {"type": "object", "additionalProperties": schema(short[1:-1])}
    if short.endswith("?"):
        return {"type": [short[:-1], "null"]}
    if "|" in short:
        return {"enum": short.split("|")}
    return {"$ref": f"#/components/schemas/{short}"} if short[0].isupper() else {"type": short}


def schema_of(record: type, *, nulls: bool) -> Schema:
    """Return the schema of a record; what may be None is null in JSON, or left out of it."""
    shorts, needed = {}, []
    for name, (kind, more, always) in fields_of(record).items():
        plain = next((part for part in get_args(kind) if part is not NoneType), kind)
        shorts[name] = "|".join(more.values) or TYPE_NAMES[plain] + ("?" if nulls and plain is not kind else "")
        needed += [name] if always else []
    found = schema(shorts, needed)
    for name, (_, more, _) in fields_of(record).items():
        found["properties"][name] |= {"description": more.about} if more.about else {}
    return found


def describe(endpoints: Iterable[Endpoint], root_path: str = "") -> Schema:
    """Return the whole description, of a service that is found at ``root_path``."""
    paths: dict[str, Schema] = {}
    for one in endpoints:
        path = re.sub(r":\w+}", "}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _operation(one)
    schemas = {
        **{name: schema_of(record, nulls=False) for name, record in SENT.items()},
        **{name: schema_of(record, nulls=True) for name, record in ANSWERED.items()},
        "ItemDetail": {"allOf": [schema("Item"), schema(ITEM_DETAIL)]},
        "Taken": schema(TAKEN, TAKEN),
        "Classes": schema({"classes": "[string]"}, ["classes"]),
        **{name: schema(fields, needed) for name, (fields, needed) in LABEL_STUDIO_SCHEMAS.items()},
        "Error": schema({"error": "string"}, ["error"]),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "crowdassay", "version": VERSION, "description": "A labelling job: labels in, truth out."},
        "servers": [{"url": root_path or "/"}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def _operation(one: Endpoint) -> Schema:
    in_path = dict(re.findall(r"{(\w+)(:\w+)?}", one.path))
    named = {name: Parameter(name, "integer" if kind == ":int" else "string") for name, kind in in_path.items()}
    named |= {given.name: given for given in one.parameters}
    operation: Schema = {
        "summary": (one.function.__doc__ or "").splitlines()[0],
        "description": f"For tokens of the role {' or '.join(one.roles)}.",
        "parameters": [
            {
                "name": name,
                "in": "path" if name in in_path else "query",
                "schema": schema(given.kind) | ({} if given.low is None else {"minimum": given.low}),
                "required": given.needed or name in in_path,
                "description": given.about,
            }
            for name, given in named.items()
        ],
        "responses": {
            str(one.status): {"description": "Done.", "content": _content(schema(one.answer), one.media)},
            "4XX": {"description": "Refused.", "content": _content(schema("Error"))},
            "503": {"description": "It cannot work now; try again.", "content": _content({"type": "object"})},
        },
    }
    if one.answer in ("Taken", "AnnotationsTaken"):  # what was refused, and why, if it was all
        either = {"oneOf": [schema(one.answer), schema("Error")]}
        operation["responses"]["422"] = {"description": "All was refused.", "content": _content(either)}
    if one.path in WITHOUT_TOKEN:
        operation["security"] = []
    if one.body == FILE:
        operation["requestBody"] = {"required": True, "content": _content({"type": "string", "format": "binary"}, FILE_TYPE)}
    elif one.body and one.one:
        operation["requestBody"] = {"required": True, "content": _content(schema(one.body))}
    elif one.body:
        kinds = _content(schema(f"[{one.body}]")) | _content(schema(one.body), "application/x-ndjson")
        operation["requestBody"] = {"required": True, "content": kinds}
    return operation


def _content(described: Schema, media: str = "application/json") -> Schema:
    return {media: {"schema": described}}
