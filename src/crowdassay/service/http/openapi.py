"""The description of the interface as OpenAPI 3.1, derived from the records and from the endpoints."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
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
Short = str | Mapping[str, str]  # see `schema`

TYPE_NAMES = {str: "string", int: "integer", float: "number"}
# What is None is left out of these, instead of being null.
SENT = {"Label": SentLabel, "NewItem": NewItem, "Truth": Truth, "NewToken": NewToken, "Refused": Refused}
ANSWERED = {
    "StoredLabel": StoredLabel, "Item": ItemRow, "Worker": WorkerRow, "Fit": FitRun, "Decision": ItemDecision,
    "Token": HandedOutToken,
}  # fmt: skip
ITEM_DETAIL = {
    "posterior": "{number}", "labels": "[StoredLabel]", "text": "string?", "link": "string?", "why": "[string]",
}  # fmt: skip


class Parameter(NamedTuple):
    """A parameter of the query, or of the path where that does not say enough."""

    name: str
    kind: str
    about: str = ""
    needed: bool = False


class Endpoint(NamedTuple):
    """A method of a path: what answers it, who may call it, and how it is described.

    Attributes
    ----------
    method, path : str
        The path as Starlette writes it.
    function : callable
    about : str
        One sentence.
    answer : str or dict
        What the answer holds, in the short form of `schema`.
    roles : tuple of str
        Roles of tokens that are enough; ``manage`` always is.
    parameters : tuple of Parameter
    body : str
        Name of the record that is sent.
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
    answer: Short = "string"
    roles: tuple[str, ...] = ("read",)
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    one: bool = False
    status: int = 200
    media: str = "application/json"


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


def describe(endpoints: Iterable[Endpoint]) -> Schema:
    """Return the whole description."""
    paths: dict[str, Schema] = {}
    for one in endpoints:
        path = re.sub(r":\w+}", "}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _operation(one)
    schemas = {
        **{name: schema_of(record, nulls=False) for name, record in SENT.items()},
        **{name: schema_of(record, nulls=True) for name, record in ANSWERED.items()},
        "ItemDetail": {"allOf": [schema("Item"), schema(ITEM_DETAIL)]},
        "Taken": schema(counts := {"added": "integer", "known": "integer", "refused": "[Refused]"}, counts),
        "Error": schema({"error": "string"}, ["error"]),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "crowdassay", "version": VERSION, "description": "A labelling job: labels in, truth out."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


def _operation(one: Endpoint) -> Schema:
    in_path = dict(re.findall(r"{(\w+)(:\w+)?}", one.path))
    named = {name: Parameter(name, "integer" if kind == ":int" else "string") for name, kind in in_path.items()}
    named |= {given.name: given for given in one.parameters}
    operation = {
        "summary": one.about,
        "description": f"For tokens of the role {' or '.join(one.roles)}.",
        "parameters": [
            {
                "name": name,
                "in": "path" if name in in_path else "query",
                "schema": schema(given.kind),
                "required": given.needed or name in in_path,
                "description": given.about,
            }
            for name, given in named.items()
        ],
        "responses": {
            str(one.status): {"description": "Done.", "content": {one.media: {"schema": schema(one.answer)}}},
            "4XX": {"description": "Refused.", "content": {"application/json": {"schema": schema("Error")}}},
        },
    }
    if one.body:
        kinds = {"application/json": {"schema": schema(one.body if one.one else f"[{one.body}]")}}
        if not one.one:
            kinds["application/x-ndjson"] = {"schema": schema(one.body)}
        operation["requestBody"] = {"required": True, "content": kinds}
    return operation
