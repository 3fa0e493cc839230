"""What an operator relies on: the service is right from the first label, says whether it can work, and logs."""

import http.client
import json
import time
from urllib.parse import urlsplit

import pytest

from support.databases import fresh_schema
from support.service import serving, wait_for

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")


def label(item, worker="ann", label="yes", **more):
    return {"item": item, "worker": worker, "label": label, **more}


@pytest.mark.slow
def test_the_first_label_is_fitted(tmp_path):
    """S9: one label, one class so far: a fit that says what it waits for, never one that failed."""
    with serving(tmp_path / "job.db") as server:
        assert server.ask("POST", "/fits").status == 409
        server.post("/labels", [label("bird-17", "ann", "duck")])
        assert server.fit()["state"] == "done"
        wait_for(lambda: server.item("bird-17"), lambda item: item["basis"] == "fit")
        assert any("one class" in note for note in server.get("/summary")["notes"])
        server.post("/labels", [label("bird-17", "bob", "goose"), label("bird-18", "bob", "duck")])
        assert server.fit()["state"] == "done"
        assert server.get("/ready")["last_failure"] is None


@pytest.mark.slow
def test_times_and_durations_reach_the_fit(tmp_path):
    """S10: a worker who hurries is found by the service as by `aggregate`."""
    rows = [
        label(f"i{j}", f"w{i}", "yn"[(j + (i * j) % 7 // 6) % 2], duration=1.0 if i == 0 else 20.0 + j % 5, time=1.7e9 + 60 * j)
        for j in range(60) for i in range(7)
    ]  # fmt: skip
    with serving(tmp_path / "job.db") as server:
        assert server.post("/labels", rows)["added"] == len(rows)
        assert server.fit()["state"] == "done"
        found = {row["worker"]: row for row in server.get("/workers")["workers"]}
        assert found["w0"]["verdict"] == "too fast"
        assert {row["verdict"] for name, row in found.items() if name != "w0"} == {"informative"}


@pytest.mark.slow
def test_numbers_that_no_row_can_have_are_404(shared):
    """S7, on SQLite."""
    huge = "9" * 24
    for method, path in (("GET", "/fits/"), ("DELETE", "/fits/"), ("DELETE", "/tokens/"), ("DELETE", "/decisions/")):
        assert shared.ask(method, path + huge).status == 404, path
        assert shared.ask(method, path + str(2**63 - 1)).status == 404, path
        assert shared.ask(method, path + "9" * 5000).status == 404, path  # more digits than Python reads


def test_a_standing_that_does_not_exist_is_422(shared):
    """S7."""
    found = shared.ask("GET", "/items?standing=xyz")
    assert (found.status, found.json["error"]) == (
        422, "There is no such standing; items are open, settled, tied, unidentifiable, known.",
    )  # fmt: skip
    assert shared.ask("GET", "/items?standing=open").status == 200


def test_two_hosts_in_one_request_are_refused(shared):
    """S7."""
    connection = http.client.HTTPConnection("127.0.0.1", shared.port)
    connection.putrequest("GET", "/health", skip_host=True)
    connection.putheader("Host", "evil.example")
    connection.putheader("Host", f"127.0.0.1:{shared.port}")
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()


@pytest.mark.slow
def test_a_token_that_is_taken_back_ends_at_once(tight):
    """S7."""
    for _ in range(3):
        made = tight.post("/tokens", {"role": "read"})
        bearer = {"authorization": f"Bearer {made['token']}"}
        assert tight.ask("GET", "/summary", **bearer).status == 200
        assert tight.ask("DELETE", f"/tokens/{made['id']}").status == 200
        assert tight.ask("GET", "/summary", **bearer).status == 401


def test_truths_are_listed(shared):
    """S13."""
    shared.post("/truth", [{"item": f"known {n}", "label": "yes"} for n in range(3)])
    rows = shared.get("/truth")["truths"]
    assert {f"known {n}" for n in range(3)} <= {row["item"] for row in rows}
    first = shared.get("/truth?limit=1")
    assert shared.get(f"/truth?limit=1&after={first['next']}")["truths"] == rows[1:2]


def test_a_truth_can_be_taken_back(shared):
    """S13."""
    shared.post("/labels", [label("t/1", "ann", "no"), label("t/1", "bob", "no")])
    shared.post("/truth", [{"item": "t/1", "label": "yes"}])
    assert shared.item("t/1")["standing"] == "known"
    assert shared.ask("DELETE", "/truth/t%2F1").json["removed"]
    assert not shared.ask("DELETE", "/truth/t%2F1").json["removed"]
    assert (shared.item("t/1")["label"], shared.item("t/1")["standing"]) != ("yes", "known")
    assert shared.get("/audit?limit=1")["audit"][0]["action"] == "truth removed"


@pytest.mark.slow
def test_ready_says_when_the_database_is_away(database, tmp_path):
    """S11: alive is not ready."""
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE DATABASE leaves")
    place = fresh_schema(urlsplit(database)._replace(path="/leaves").geturl())
    with serving(place) as server:
        server.post("/labels", [label("a")])
        assert server.fit()["state"] == "done"
        ready = server.get("/ready")
        assert (ready["status"], ready["database"], ready["fit"]["id"]) == ("ready", "answers", 1)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("ALTER DATABASE leaves ALLOW_CONNECTIONS false")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'leaves'")
        away = wait_for(lambda: server.ask("GET", "/ready"), lambda found: found.status == 503)
        assert away.json["status"] == "failing"
        assert server.ask("GET", "/health").status == 200


@pytest.mark.slow
def test_requests_are_logged_without_tokens(tmp_path):
    """S11."""
    log = tmp_path / "service.log"
    with serving(tmp_path / "job.db", "--log", str(log), token="made") as server:
        server.post("/labels", [label("a")])
        server.ask("GET", f"/?token={server.token}")
        assert server.ask("GET", "/nonesuch").status == 404
        lines = wait_for(lambda: [json.loads(line) for line in log.read_text().splitlines()], lambda rows: len(rows) > 3)
        assert server.token not in log.read_text()
    posted = next(row for row in lines if row["path"] == "/labels")
    assert (posted["event"], posted["method"], posted["status"], posted["who"]) == ("request", "POST", 200, "owner")
    assert {row["status"] for row in lines} >= {200, 404}


@pytest.mark.slow
def test_metrics_leave_out_streams_and_count_fits(shared):
    """S11: how long a page stays open is no latency."""
    shared.post("/labels", [label("m1"), label("m1", "bob", "no")])
    assert shared.fit()["state"] == "done"

    def figures():
        rows = (line.split(" ") for line in shared.ask("GET", "/metrics").body.decode().splitlines() if line[0] != "#")
        return {name: float(value) for name, value in rows}

    assert figures()["crowdassay_fits_failed_total"] == 0
    assert 0 <= figures()["crowdassay_fit_age_seconds"] < 600
    assert figures()["crowdassay_items_open"] >= 1
    before = figures()["crowdassay_http_seconds_sum"]
    stream = http.client.HTTPConnection("127.0.0.1", shared.port)
    stream.request("GET", "/events")
    stream.getresponse().readline()
    wait_for(lambda: figures()["crowdassay_pages_open"], lambda pages: pages >= 1)
    time.sleep(1.5)
    stream.close()
    assert figures()["crowdassay_http_seconds_sum"] - before < 1.0


@pytest.mark.slow
def test_classes_that_are_fixed_are_the_only_ones(tmp_path):
    """S13: a label of any other class is 422 and says which exist."""
    with serving(tmp_path / "job.db", "--classes", "duck, goose,swan") as server:
        assert server.get("/classes") == {"classes": ["duck", "goose", "swan"]}
        done = server.post("/labels", [label("a", label="duck"), label("b", label="dukc"), label("c", label="duck ")])
        reason = "did you mean 'duck'? The classes are duck, goose, swan."
        assert done["added"] == 1
        assert [row["reason"] for row in done["refused"]] == [
            f"There is no class '{bad}'; {reason}" for bad in ("dukc", "duck ")
        ]
        assert server.ask("POST", "/labels", [label("b", label="dog")]).status == 422
        assert server.ask("POST", "/truth", [{"item": "a", "label": "dog"}]).status == 422
        refused = server.ask("POST", "/decisions", {"item": "a", "label": "dog"})
        assert (refused.status, refused.json["error"]) == (422, "There is no class 'dog'; choose one of duck, goose, swan.")
        assert server.fit()["state"] == "done"
        assert wait_for(lambda: server.item("a"), lambda item: item["basis"] == "fit")["posterior"].keys() == {
            "duck",
            "goose",
            "swan",
        }
        assert server.ask("PUT", "/classes", {"classes": ["goose", "swan"]}).status == 422  # a duck is stored
        assert server.ask("PUT", "/classes", {"classes": ["duck", "dog"]}).status == 200
        assert server.post("/labels", [label("b", label="dog")])["added"] == 1
        assert server.get("/summary")["classes"] == ["duck", "dog"]
    with serving(tmp_path / "job.db") as server:  # they stay
        assert server.ask("POST", "/labels", [label("b", label="swan")]).status == 422
        assert server.ask("PUT", "/classes", {"classes": []}).status == 200
        assert server.post("/labels", [label("b", "bob", label="swan")])["added"] == 1
        assert [row["action"] for row in server.get("/audit")["audit"]].count("classes fixed") == 3
