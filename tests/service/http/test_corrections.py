"""Labels are corrected and taken back by those who may, and whatever has read them forgets them."""

from urllib.parse import quote

import pytest

from support.service import Client, serving, wait_for

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")


def label(item, worker="ann", label="yes", **more):
    return {"item": item, "worker": worker, "label": label, **more}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("desk") / "job.db", token="made") as running:
        yield running


def remove(client, key):
    found = client.ask("DELETE", f"/labels/{quote(key, safe='')}")
    return found.status, found.json.get("removed")


def test_a_label_is_removed_and_forgotten(server):
    """S13."""
    server.post("/labels", [label("a/b", "x|y"), label("a/b", "zoe", "no"), label("only", key="k/1?#")])
    key = "~a/b|x\\|y|1"
    before = server.get("/summary")
    assert {row["item"] for row in server.get("/items")["items"]} >= {"a/b", "only"}
    assert [remove(server, key), remove(server, key)] == [(200, True), (200, False)]
    assert remove(server, "k/1?#") == (200, True)
    after = server.get("/summary")
    assert [before[name] - after[name] for name in ("labels", "items", "workers")] == [2, 1, 2]
    assert [one["worker"] for one in server.item("a/b")["labels"]] == ["zoe"]
    assert server.item("a/b")["label"] == "no"
    assert server.ask("GET", "/items/only").status == 404
    assert "x|y" not in {row["worker"] for row in server.get("/workers")["workers"]}
    assert server.get("/audit?limit=1")["audit"][0]["action"] == "label removed"
    assert server.ask("DELETE", "/labels/%00").status == 422


def test_each_worker_takes_back_and_corrects_what_is_the_workers_own(server):
    server.post("/labels", [label("own", "bob", key="bobs"), label("own", "eve", key="eves")])
    bob, everyone, reader = (
        Client(server.port, server.post("/tokens", wanted)["token"])
        for wanted in ({"role": "label", "worker": "bob"}, {"role": "label"}, {"role": "read"})
    )
    assert [remove(one, "eves")[0] for one in (bob, everyone, reader)] == [403, 403, 403]
    assert bob.ask("POST", "/labels?replace=1", [label("own", "eve", "no", key="eves")]).status == 422
    assert everyone.ask("POST", "/labels?replace=1", [label("own", "eve", "no", key="eves")]).status == 403
    assert bob.ask("POST", "/labels", [label("own", "bob", "no", key="bobs")]).status == 422
    assert bob.post("/labels?replace=1", [label("own", "bob", "no", key="bobs")])["added"] == 1
    assert {one["worker"]: one["label"] for one in server.item("own")["labels"]} == {"bob": "no", "eve": "yes"}
    assert remove(bob, "bobs") == (200, True)
    assert [one["worker"] for one in server.item("own")["labels"]] == ["eve"]


def test_a_fit_forgets_what_was_removed_and_corrected(tmp_path):
    """No label is new, and yet there is something to fit; a server that is started again knows of it, too."""
    place = tmp_path / "job.db"
    with serving(place) as server:
        server.post("/labels", [label(f"i{n}", worker, str(n % 2)) for n in range(8) for worker in ("ann", "bob", "eve")])
        first = wait_for(lambda: server.get("/summary")["fit"], lambda fit: fit["labels_since"] == 0 and fit["id"])
        server.ask("DELETE", f"/labels/{quote('~i0|ann|1')}")
        server.post("/labels?replace=1", [label("i1", "ann", "0")])
        second = wait_for(lambda: server.get("/summary")["fit"], lambda fit: fit["id"] != first["id"] and fit["labels"] == 23)
        assert server.item("i0")["basis"] == "fit"
        server.ask("DELETE", f"/labels/{quote('~i2|ann|1')}")
        assert server.get("/summary")["fit"]["labels_since"] == 1
    with serving(place) as server:
        assert server.item("i2")["n_labels"] == 2
        assert server.get("/summary")["labels"] == 22
        wait_for(lambda: server.get("/summary")["fit"], lambda fit: fit["id"] > second["id"] and fit["labels"] == 22)


def test_the_log_does_not_name_who_is_erased(tmp_path):
    log = tmp_path / "log"
    with serving(tmp_path / "job.db", "--log", str(log)) as server:
        server.post("/labels", [label("a", "Quux"), label("b", "Quux")])
        remove(server, "~a|Quux|1")
        assert server.ask("DELETE", "/workers/Quux").json["labels"] == 1
    said = log.read_text()
    assert '"path": "/workers/..."' in said
    assert "Quux" not in said


def test_items_and_workers_are_removed_by_managers_alone(server):
    server.post(
        "/labels", [label("gone", worker) for worker in ("mia", "noa")] + [label("stays", "mia"), label("stays", "noa")]
    )
    server.post("/items", [{"item": "gone", "text": "A text"}, {"item": "bare"}])
    server.post("/truth", [{"item": "gone", "label": "yes"}])
    mia = Client(server.port, server.post("/tokens", {"role": "label", "worker": "mia"})["token"])
    assert [mia.ask("DELETE", path).status for path in ("/items/gone", "/workers/mia")] == [403, 403]
    before = server.get("/summary")
    for path, labels in (("/items/gone", 2), ("/items/bare", 0)):
        found = server.ask("DELETE", path).json
        assert (found["removed"], found["labels"]) == (True, labels)
        assert server.ask("GET", path).status == 404
        assert not server.ask("DELETE", path).json["removed"]
    after = server.get("/summary")
    assert [before[name] - after[name] for name in ("labels", "items")] == [2, 2]
    assert "gone" not in str(server.get("/items?limit=1000")) + str(server.get("/truth"))

    assert mia.get("/next?worker=mia")["worker"] == "mia"
    found = server.ask("DELETE", "/workers/mia").json
    assert found == {"worker": "mia", "removed": True, "labels": 1}
    assert server.ask("DELETE", "/workers/mia").json == {"worker": "mia", "removed": False, "labels": 0}
    assert mia.ask("GET", "/next?worker=mia").status == 401
    paths = ("/labels", "/workers", "/audit", "/tokens", "/summary", "/items/stays", "/fits", "/download/labels.csv")
    assert not [path for path in paths if "mia" in server.ask("GET", path).body.decode()]
    assert server.item("stays")["n_labels"] == 1


@pytest.mark.slow
def test_a_fit_that_runs_forgets_a_worker_who_is_erased_meanwhile(tmp_path):
    """However the two meet, the fit that is shown in the end does not know the worker, and is there soon."""
    with serving(tmp_path / "job.db") as server:
        rows = [label(f"i{n}", f"w{m}", str((n * m) % 2)) for n in range(60) for m in range(8)]
        server.post("/labels", rows)
        for turn in range(3):
            server.ask("POST", "/fits")
            wait_for(lambda: server.get("/summary")["fit"], lambda fit: fit["running"] is not None)
            assert server.ask("DELETE", f"/workers/w{turn}").json["labels"] == 60
            assert f'"w{turn}"' not in server.ask("GET", "/workers").body.decode()
        left = 480 - 3 * 60
        wait_for(lambda: server.get("/summary")["fit"], lambda fit: fit["labels"] == left and fit["labels_since"] == 0)
        assert {row["worker"] for row in server.get("/workers")["workers"]} == {f"w{m}" for m in range(3, 8)}
        states = wait_for(
            lambda: {fit["state"] for fit in server.get("/fits")["fits"]}, lambda found: not found & {"running", "waiting"}
        )
        assert states <= {"done", "cancelled"}
