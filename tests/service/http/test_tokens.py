"""Who may do what, how often and from where; what is printed at the start; how a server stops."""

import http.client
import json
import socket
import stat
import time

import pytest

from support.service import Client, serving, wait_for

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")

ONE = {"item": "a", "worker": "ann", "label": "yes"}


def test_the_printed_address_becomes_a_cookie(tight):
    stranger = Client(tight.port)
    found = stranger.ask("GET", f"/?token={tight.token}")
    assert (found.status, found.headers["location"]) == (303, "/")
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert stranger.ask("GET", "/summary", cookie=cookie.split(";")[0]).status == 200
    assert stranger.ask("GET", "/?token=wrong").status == 401


@pytest.mark.slow
def test_tokens_are_handed_out_by_role(tight):
    made = {role: Client(tight.port, tight.post("/tokens", {"role": role})["token"]) for role in ("label", "read", "manage")}
    mine = tight.post("/tokens", {"role": "label", "worker": "ann", "note": "Ann's"})
    ann = Client(tight.port, mine["token"])
    row = {**ONE, "item": "by role"}
    assert made["label"].post("/labels", [row])["added"] == 1
    assert made["label"].ask("GET", "/summary").status == 403
    assert made["label"].ask("GET", "/labels").status == 403
    assert made["read"].ask("GET", "/summary").status == 200
    assert made["read"].ask("POST", "/labels", [row]).status == 403
    for path in ("/tokens", "/audit", "/next?worker=a"):
        assert made["read"].ask("GET", path).status == 403
    assert made["manage"].ask("GET", "/audit").status == 200
    assert ann.post("/labels", [row, {**row, "worker": "bob"}])["refused"] == [
        {"index": 1, "reason": "This token is for labels by another worker."}
    ]
    assert ann.ask("GET", "/next?worker=bob").status == 403
    assert ann.ask("GET", "/next?worker=ann").status == 200
    assert tight.ask("POST", "/tokens", {"role": "king"}).status == 422
    listed = tight.get("/tokens")["tokens"]
    assert mine["token"] not in json.dumps(listed)
    assert tight.ask("DELETE", f"/tokens/{mine['id']}").status == 200
    wait_for(lambda: ann.ask("POST", "/labels", [row]).status, lambda status: status == 401)
    assert "token taken back" in {line["action"] for line in tight.get("/audit")["audit"]}


def test_every_answer_has_the_headers(tight):
    for path in ("/", "/summary", "/nonesuch", "/page.js"):
        headers = tight.ask("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in headers


@pytest.mark.slow
def test_too_many_requests_are_429(tmp_path):
    with serving(tmp_path / "job.db", "--rate", "20") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        seen = []
        for _ in range(400):
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
            seen.append(answer.status)
        connection.close()
        assert {200, 429} == set(seen)
        wait_for(lambda: server.ask("GET", "/health").status, lambda status: status == 200)


@pytest.mark.slow
def test_a_token_file_is_made_for_its_owner_only(tmp_path):
    path = tmp_path / "token"
    with serving(tmp_path / "job.db", token=str(path)) as server:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert server.token not in server.said
        assert server.get("/summary")["labels"] == 0
        assert server.stop() == 0


@pytest.mark.slow
def test_row_32_an_open_address_is_warned_of(run, tmp_path):
    path = tmp_path / "token"
    path.write_text("short")
    code, _, said = run("serve", tmp_path / "job.db", "--token", path)
    assert (code, "at least 16" in said) == (2, True)
    with serving(tmp_path / "job.db", "--host", "0.0.0.0", "--allow-host", "labels.example") as server:
        assert (
            "other machines can reach this address, and no token is asked for" in server.said + server.process.stdout.readline()
        )
        assert server.ask("GET", "/health", host="labels.example").status == 200
        assert server.ask("GET", "/health", host="other.example").status == 400


def test_a_port_in_use_is_a_sentence(run, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, said = run("serve", tmp_path / "job.db", "--port", taken.getsockname()[1], "--token", "none")
    assert code == 2
    assert "cannot be listened at (Address already in use); choose another with --port or --host" in said


@pytest.mark.slow
def test_a_stop_waits_for_answers_and_ends_streams(tmp_path):
    with serving(tmp_path / "job.db") as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", "/events")
        stream = connection.getresponse()
        stream.readline()
        server.post("/labels", [ONE])
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 15
        assert "Every label that was acknowledged is stored" in server.process.stdout.read()
        connection.close()
    with serving(tmp_path / "job.db") as again:
        assert again.item("a")["label"] == "yes"
