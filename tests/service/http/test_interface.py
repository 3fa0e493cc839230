"""The paths of the service, as a client sees them."""

import json
import re
import threading
from urllib.parse import quote

import pytest

from support.service import serving, wait_for

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")


def label(item, worker="ann", label="yes", **more):
    return {"item": item, "worker": worker, "label": label, **more}


@pytest.mark.slow
def test_labels_come_in_as_json_and_ndjson_and_are_listed(tmp_path):
    with serving(tmp_path / "job.db") as server:
        assert server.post("/labels", [label("a"), label("b", key="k", time="2026-01-02")]) == {
            "added": 2,
            "known": 0,
            "refused": [],
        }
        lines = b'{"item":"c","worker":"ann","label":"no"}\n\n{"item":"a","worker":"ann","label":"yes"}\r\nnot json\n'
        done = server.post("/labels", lines, content_type="application/x-ndjson")
        assert (done["added"], done["known"]) == (1, 1)
        assert done["refused"] == [{"index": 2, "reason": "Line 4 is not valid JSON."}]
        assert server.post("/labels", label("one object"))["added"] == 1
        found = server.get("/labels")
        assert [(row["key"], row["item"], row["worker"], row["label"]) for row in found["labels"]] == [
            ("~a|ann|1", "a", "ann", "yes"), ("k", "b", "ann", "yes"), ("~c|ann|1", "c", "ann", "no"),
            ("~one object|ann|1", "one object", "ann", "yes"),
        ]  # fmt: skip
        assert found["labels"][1]["time"] == "2026-01-02T00:00:00.000000+00:00"
        first = server.get("/labels?limit=3")
        assert first["next"] == "~3"
        assert [row["item"] for row in server.get(f"/labels?limit=3&after={first['next'].replace('|', '%7C')}")["labels"]] == [
            "one object"
        ]
        assert server.ask("GET", "/labels?after=nonesuch").status == 404
        assert server.get("/labels?after=4") == {"labels": [], "next": None}
        assert server.ask("GET", "/labels?limit=x").status == 422
        assert server.get("/summary")["labels"] == 4


@pytest.mark.slow
def test_when_all_is_refused_the_status_says_so(shared):
    found = shared.ask("POST", "/labels", [{"item": "x", "worker": "w"}, 7])
    assert found.status == 422
    assert [row["reason"] for row in found.json["refused"]] == [
        "The label is missing.", "A label is an object with item, worker and label.",
    ]  # fmt: skip
    assert shared.post("/labels", []) == {"added": 0, "known": 0, "refused": []}


def test_an_item_says_what_it_is_and_why(shared):
    name = "a/b c?d=é&<script>%2F"
    shared.post("/labels", [label(name, "ann"), label(name, "bob"), label(name, "eve", "no")])
    found = shared.item(name)
    assert (found["item"], found["label"], found["n_labels"]) == (name, "yes", 3)
    assert 0.4 < found["probability"] < 0.8
    assert {row["worker"]: row["label"] for row in found["labels"]} == {"ann": "yes", "bob": "yes", "eve": "no"}
    assert found["why"][0] == "2 of 3 labels say 'yes'."
    assert abs(sum(found["posterior"].values()) - 1) < 0.3
    assert shared.ask("GET", "/items/nonesuch").status == 404


def test_items_have_text_and_links(shared):
    rows = [
        {"item": "p1", "text": "A bird", "link": "https://example.org/1.png"},
        {"item": "p2", "link": "javascript:alert(1)"},
    ]
    done = shared.post("/items", rows)
    assert done["refused"] == [{"index": 1, "reason": "A link begins with https:// or http://."}]
    found = shared.item("p1")
    assert (found["text"], found["link"], found["standing"], found["label"]) == ("A bird", rows[0]["link"], "open", None)
    assert found["why"] == ["Nobody has labelled it yet."]
    assert "p1" in {row["item"] for row in shared.get("/items?open=1&limit=1000")["items"]}


def test_truths_and_decisions(shared):
    shared.post("/labels", [label("t1", "ann", "no"), label("t1", "bob", "no")])
    assert shared.post("/truth", [{"item": "t1", "label": "yes"}]) == {"added": 1, "known": 0, "refused": []}
    assert shared.post("/truth", {"item": "t1", "label": "yes"})["known"] == 1
    assert shared.ask("POST", "/truth", [{"item": "t1", "label": "no"}]).status == 422
    found = shared.item("t1")
    assert (found["label"], found["probability"], found["standing"], found["basis"]) == ("yes", 1.0, "known", "truth")
    made = shared.post("/decisions", {"item": "t1", "label": "no"})
    assert shared.item("t1")["basis"] == "decision"
    assert shared.ask("DELETE", f"/decisions/{made['id']}").status == 200
    assert shared.ask("DELETE", f"/decisions/{made['id']}").status == 404
    assert shared.item("t1")["label"] == "yes"
    assert shared.post("/truth?replace=1", [{"item": "t1", "label": "no"}])["added"] == 1
    assert shared.item("t1")["label"] == "no"
    assert shared.ask("POST", "/decisions", {"item": "nonesuch", "label": "no"}).status == 404
    said = [(row["action"], row.get("item")) for row in shared.get("/audit")["audit"]]
    assert ("item settled", "t1") in said
    assert ("decision undone", "t1") in said


@pytest.mark.slow
def test_next_goes_to_items_the_worker_has_not_labelled_and_nobody_else_has_in_hand(tmp_path):
    with serving(tmp_path / "job.db") as server:
        server.post("/items", [{"item": "new1"}, {"item": "new2"}])
        server.post("/labels", [label("a", "ann"), label("b", "bob")])
        one, two = server.get("/next?worker=ann")["item"], server.get("/next?worker=bob")["item"]
        assert {one, two} == {"new1", "new2"}
        assert server.get("/next?worker=ann")["item"] == one
        got = {row["item"] for row in server.get("/next?worker=ann&n=10")["items"]}
        assert got == {"new1", "new2", "b"}
        server.post("/labels", [label(name, "ann") for name in got])
        assert server.get("/next?worker=ann") == {"worker": "ann", "item": None, "items": []}
        assert server.ask("GET", "/next").status == 422
        server.post("/labels", [label(f"many{n}", "ann") for n in range(320)])
        assert server.get("/next?worker=ann")["item"] is None
        server.post("/labels", [label("other", "bob"), label("other", "eve")])
        assert server.get("/next?worker=ann")["item"] == "other"


def test_tables_can_be_downloaded(shared):
    shared.post("/labels", [label("=1+1", '"quoted", worker')])
    for name, column in (("items", "item"), ("workers", "worker"), ("labels", "key")):
        found = shared.ask("GET", f"/download/{name}.csv")
        assert found.status == 200
        assert found.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
        assert found.body.decode().startswith(column)
    assert "\n'=1+1," in shared.ask("GET", "/download/items.csv").body.decode()
    for name in ("nonesuch", "..%2Fitems", "labels;DROP"):
        assert shared.ask("GET", f"/download/{name}.csv").status == 404


def test_the_price_and_title_are_told(shared):
    seen = shared.get("/summary")
    assert seen["title"] == "Birds <b>"
    assert seen["cost"]["so_far"] == round(seen["labels"] * 0.5, 2)


def test_everything_is_described(shared):
    from crowdassay.service.http.app import ASSETS, routes

    described = shared.get("/openapi.json")
    assert described["openapi"].startswith("3.")
    paths = {re.sub("{(item|key|worker)}", r"{\1:path}", path) for path in described["paths"]}
    served = {route.path for route in routes()} - set(ASSETS) - {"/openapi.json"}
    assert paths == served
    for route in routes():
        if route.path in served:
            named = route.path.replace(":path", "").replace(":int", "")
            assert {method.lower() for method in route.methods} - {"head"} <= set(described["paths"][named])
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(described)))
    assert references <= set(described["components"]["schemas"])


def test_health_and_metrics(shared):
    assert shared.get("/health")["status"] == "ok"
    lines = shared.ask("GET", "/metrics").body.decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert int(values["crowdassay_labels"]) == shared.get("/summary")["labels"]
    assert int(values['crowdassay_http_seconds_bucket{le="+Inf"}']) == int(values["crowdassay_http_seconds_count"]) > 0
    assert int(values['crowdassay_http_requests_total{method="GET",status="200"}']) > 0


@pytest.mark.slow
def test_events_tell_of_new_labels(shared):
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=30)
    connection.request("GET", "/events")
    stream = connection.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")

    def state():
        while not (line := stream.readline()).startswith(b"data: "):
            assert line
        return json.loads(line[6:])

    before = state()["labels"]
    shared.post("/labels", [label("event", "zoe")])
    seen = wait_for(state, lambda found: found["labels"] == before + 1)
    assert seen["feed"][0].pop("seq") == before + 1
    assert seen["feed"][0] == {"item": "event", "worker": "zoe", "label": "yes"}
    connection.close()


def test_long_lists_come_whole(shared):
    shared.post("/labels", [label(f"long {n}", "nat") for n in range(2500)])
    found = shared.get("/labels?limit=1000000")
    assert found["next"] is None
    keys = [row["key"] for row in found["labels"]]
    assert len(keys) == len(set(keys)) == shared.get("/summary")["labels"]
    some, after = [], ""
    while after is not None:
        page = shared.get(f"/labels?limit=1700&after={quote(after)}")
        some += [row["key"] for row in page["labels"]]
        after = page["next"]
    assert some == keys


@pytest.mark.slow
def test_a_body_is_told_by_how_it_begins_and_a_long_one_is_stored_in_parts(shared):
    rows = [json.dumps(label(f"part {n % 50}", f"w{n // 50}")).encode() for n in range(10_100)]
    before = shared.get("/summary")["labels"]
    broken = shared.ask("POST", "/labels", b"[" + b",".join(rows), content_type="application/json")
    assert (broken.status, shared.get("/summary")["labels"]) == (422, before)
    rows[10_050] = b"nonsense"
    done = shared.post("/labels", b"\n".join(rows), content_type="application/json")
    assert (done["added"], done["known"]) == (10_099, 0)
    assert done["refused"] == [{"index": 10_050, "reason": "Line 10051 is not valid JSON."}]
    again = shared.post("/labels", b"[" + b",".join(rows[:3]) + b"]", content_type="application/x-ndjson")
    assert again == {"added": 0, "known": 3, "refused": []}
    assert shared.get("/summary")["labels"] == before + 10_099


def test_many_clients_at_once_are_all_counted_once(shared):
    before = shared.get("/summary")["labels"]
    done = []

    def send(number):
        for turn in range(15):
            done.append(shared.post("/labels", [label(f"m{turn}", f"w{number}"), label("same", "one worker")]))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(row["added"] for row in done) == 121
    assert sum(row["known"] for row in done) == 119
    assert shared.get("/summary")["labels"] == before + 121


@pytest.mark.slow
def test_labels_that_another_program_stores_are_seen(tmp_path):
    from crowdassay.service.store.open import open_store

    with serving(tmp_path / "job.db") as server:
        server.post("/labels", [label("a")])
        open_store(tmp_path / "job.db").add([label("b"), label("a", "bob", "no")])
        wait_for(lambda: server.get("/summary")["labels"], lambda count: count == 3)
        assert server.item("b")["label"] == "yes"
        server.post("/labels", [label("c")])
        assert server.get("/summary")["labels"] == 4
