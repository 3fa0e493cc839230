"""What /openapi.json says is what the service takes and answers."""

import json
import re

import pytest

from support.service import Client

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")

KINDS = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "array": list,
    "null": type(None),
    "boolean": bool,
}


def faults(value, schema, schemas, where="answer"):
    """Yield where a value is not as a schema says."""
    if "$ref" in schema:
        yield from faults(value, schemas[schema["$ref"].rsplit("/", 1)[1]], schemas, where)
    for part in schema.get("allOf", ()):
        yield from faults(value, part, schemas, where)
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not isinstance(value, tuple(KINDS[kind] for kind in kinds)) or (isinstance(value, bool) and "boolean" not in kinds):
            yield f"{where}: {value!r} is no {' or '.join(kinds)}"
            return
    if isinstance(value, list):
        for one in value[:20]:
            yield from faults(one, schema.get("items", {}), schemas, f"{where}[]")
    elif isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{where}: {name} is missing"
        for name, more in value.items():
            further = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            yield from faults(more, further, schemas, f"{where}.{name}")


@pytest.fixture(scope="module")
def described(fitted):
    return fitted[0].get("/openapi.json")


def paths_of(described):
    return [(path, method, one) for path, methods in described["paths"].items() for method, one in methods.items()]


def test_every_reference_is_there(described):
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described)))
    assert references == set(described["components"]["schemas"])


def test_answers_are_as_described(fitted, described):
    server, schemas = fitted[0], described["components"]["schemas"]
    name = server.get("/items?open=1")["items"][0]["item"]
    made = server.post("/decisions", {"item": name, "label": server.item(name)["label"]})
    server.post("/tokens", {"role": "label", "worker": "ann"})
    known = {"item": name, "id": server.get("/fits")["fits"][0]["id"]}
    asked = 0
    for path, method, one in paths_of(described):
        content = one["responses"].get("200", {}).get("content", {}).get("application/json")
        if method == "get" and content is not None:
            found = server.get(path.format(**known) + ("?worker=ann" if path == "/next" else ""))
            assert not list(faults(found, content["schema"], schemas)), path
            asked += 1
    assert asked == 17
    answered = described["paths"]["/decisions"]["post"]["responses"]["201"]["content"]["application/json"]["schema"]
    assert not list(faults(made, answered, schemas))
    assert server.ask("DELETE", f"/decisions/{made['id']}").status == 200


@pytest.mark.parametrize(
    ("path", "name", "sample"),
    [
        (
            "/labels",
            "Label",
            {"item": "a", "worker": "w", "label": "x", "key": "k", "time": "2026-01-01", "duration": 2.5, "round": 1},
        ),
        ("/items", "NewItem", {"item": "a", "text": "t", "link": "https://example.org"}),
        ("/truth", "Truth", {"item": "a", "label": "x"}),
    ],
)
def test_what_is_sent_is_taken_as_described(shared, described, path, name, sample):
    schema = described["components"]["schemas"][name]
    assert set(sample) == set(schema["properties"])
    assert not list(faults(sample, schema, {}))
    for left_out in sample:
        own = {"item": f"described {name} {left_out}", "key": f"described {left_out}"}  # no two are the same label
        given = {field: own.get(field, value) for field, value in sample.items() if field != left_out}
        refused = shared.ask("POST", path, [given]).json["refused"]
        reason = f"The {left_out} is missing."
        assert [one["reason"] for one in refused] == ([reason] if left_out in schema["required"] else []), left_out
    assert shared.ask("POST", path, [{**sample, "colour": "red"}]).status == 422


@pytest.mark.slow
def test_every_role_may_do_what_is_described_and_nothing_else(tight, described):
    """A token of each role is let through, or answered 403, as the description says; nothing is sent that could be stored."""
    for wanted in ({"role": "label", "worker": "ann"}, {"role": "read"}):
        role, client = wanted["role"], Client(tight.port, tight.post("/tokens", wanted)["token"])
        for path, method, one in paths_of(described):
            if path in {"/events", "/health", "/ready", "/label-studio/health"}:
                continue  # a stream that never ends, and a path that is free
            roles = re.fullmatch(r"For tokens of the role (.*)\.", one["description"]).group(1).split(" or ")
            status = client.ask(
                method.upper(), path.format(item="nonesuch", key="nonesuch", worker="nonesuch", id=10**9, table="items")
            ).status
            assert (status != 403) == (role in roles), (role, method, path, status)
