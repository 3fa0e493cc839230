"""Fits outlive the server, and a store whose fit cannot be read is served all the same."""

import sqlite3

import pytest

from support.service import serving, wait_for

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")


def rows():
    return [
        {"item": f"i{j}", "worker": f"w{i}", "label": "xy"[(j + (i * j) % 5 // 4) % 2]} for j in range(40) for i in range(5)
    ]


@pytest.mark.slow
def test_a_fit_is_there_after_a_restart_and_a_damaged_one_is_made_anew(tmp_path):
    store = tmp_path / "job.db"
    with serving(store) as server:
        server.post("/labels", rows())
        server.post("/truth", [{"item": "i0", "label": "y"}])
        assert server.fit()["state"] == "done"
        wait_for(lambda: server.item("i1")["basis"], lambda basis: basis == "fit")
        before = server.item("i1")
        made = server.post("/decisions", {"item": "i3", "label": "y"})
    with serving(store) as server:
        assert server.item("i1") == before
        assert server.item("i0")["standing"] == server.item("i3")["standing"] == "known"
        server.ask("DELETE", f"/decisions/{made['id']}")
        assert server.item("i3")["basis"] in {"fit", "update"}
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE fit_parts SET data = x'00' WHERE name = 'model.json'")
    connection.close()
    with serving(store) as server:
        assert server.item("i1")["n_labels"] == 5
        wait_for(lambda: server.item("i1")["basis"], lambda basis: basis == "fit")


@pytest.mark.slow
def test_what_a_person_knew_and_takes_back_is_open_again(tmp_path):
    """Even if the fit that ran meanwhile took it for known."""
    with serving(tmp_path / "job.db") as server:
        server.post("/labels", rows())
        made = server.post("/decisions", {"item": "i2", "label": "y"})
        number = server.post("/fits")["id"]
        wait_for(lambda: server.get(f"/fits/{number}")["state"], lambda state: state == "running")
        server.ask("DELETE", f"/decisions/{made['id']}")
        wait_for(lambda: server.get(f"/fits/{number}")["state"], lambda state: state == "done")
        wait_for(lambda: server.get("/summary")["fit"]["id"], lambda fit: fit is not None and fit >= number)
        assert server.item("i2")["standing"] != "known"


@pytest.mark.slow
def test_a_fit_that_cannot_be_made_says_why(tmp_path):
    with serving(tmp_path / "job.db") as server:
        server.post("/labels", [{"item": f"i{n}", "worker": "w", "label": f"free text {n}"} for n in range(1100)])
        fit = server.fit()
        assert fit["state"] == "failed"
        assert "more than 1000 classes" in fit["message"]
        assert server.item("i7")["label"] == "free text 7"
