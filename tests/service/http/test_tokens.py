"""Who may do what, how often and from where; what is printed at the start; how a server stops."""

import http.client
import json
import re
import socket
import stat
import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import pytest

from crowdassay.service.http import guard
from crowdassay.service.http.job_endpoints import MOST_LISTENERS
from crowdassay.service.http.server import MOST_CONNECTIONS, MOST_HEAD_BYTES
from crowdassay.service.store.open import open_store
from crowdassay.service.store.writer import MOST_LABELS_WAITING
from support.databases import fresh_schema
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
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie  # a plain address, as on this machine
    until = parsedate_to_datetime(re.search("expires=([^;]*)", cookie).group(1)) - datetime.now(UTC)
    assert timedelta(days=6) < until <= timedelta(days=7)
    assert tight.token not in cookie
    assert stranger.ask("GET", "/summary", cookie=cookie.split(";")[0]).status == 200
    assert stranger.ask("GET", "/?token=wrong").status == 401
    stale = "crowdassay_session=old; other={json}"
    assert stranger.ask("GET", "/summary", cookie=stale).status == 401
    assert stranger.ask("GET", f"/?token={tight.token}", cookie=stale).status == 303
    assert stranger.ask("GET", "/summary", cookie=f"broken; {{x}}=[; {cookie.split(';')[0]}").status == 200
    assert stranger.ask("GET", "/summary", cookie=f"crowdassay_session={tight.token}").status == 401


@pytest.mark.slow
def test_tokens_are_handed_out_by_role(tight):
    made = {role: Client(tight.port, tight.post("/tokens", {"role": role})["token"]) for role in ("label", "read", "manage")}
    mine = tight.post("/tokens", {"role": "label", "worker": "ann", "name": "Ann Miller"})
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
    assert ann.ask("POST", "/labels", [row]).status == 401
    assert "token taken back" in {line["action"] for line in tight.get("/audit")["audit"]}


@pytest.mark.slow
@pytest.mark.parametrize("home", ["sqlite", "postgresql"])
def test_tokens_of_the_command_line_work_and_end_at_once(home, run, tmp_path, request):
    """S7: another program takes a token back, and the server that runs does not take it any more."""
    place = tmp_path / "job.db" if home == "sqlite" else fresh_schema(request.getfixturevalue("database"))
    with serving(place, token="store") as server:
        code, printed, said = run("store", "token", place, "--role", "manage", "--name", "Ann Miller", "--days", "0.5")
        assert code == 0
        assert re.fullmatch(r"Token 1, role manage, valid until .* UTC\. `crowdassay store revoke` takes it back\.\n", said)
        ann = Client(server.port, printed.strip())
        cookie = ann.ask("GET", f"/?token={ann.token}").headers["set-cookie"].split(";")[0]
        page = Client(server.port)
        assert page.ask("GET", "/summary", cookie=cookie).status == 200
        assert page.ask("PUT", "/classes", {"classes": ["a", "b"]}, cookie=cookie).status == 200
        assert ann.get("/audit?limit=1")["audit"][0]["who"] == "Ann Miller (token 1)"
        listening = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        listening.request("GET", "/events", headers={"cookie": cookie})
        stream = listening.getresponse()
        stream.readline()
        assert run("store", "revoke", place, "1") == (0, "Token 1 is taken back.\n", "")
        assert ann.ask("GET", "/summary").status == 401
        assert page.ask("GET", "/summary", cookie=cookie).status == 401
        stream.read()  # ends
        listening.close()
        assert run("store", "revoke", place, "1")[0] == 2
        code, printed, _ = run("store", "tokens", place)
        assert printed.split("\t")[:4] == ["1", "manage", "-", "Ann Miller"]
        assert "taken back" in printed


def test_a_token_of_no_store_or_for_nobody_is_a_sentence(run, tmp_path):
    assert run("store", "token", tmp_path / "job.db", "--role", "read")[0] == 1
    assert not (tmp_path / "job.db").exists()
    open_store(tmp_path / "job.db").close()
    for wrong, why in ((("--days", "0"), "above 0"), (("--worker", "ann"), "Only a token of the role label")):
        code, _, said = run("store", "token", tmp_path / "job.db", "--role", "read", *wrong)
        assert (code, why in said) == (2, True)


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
    with serving(tmp_path / "job.db", "--rate", "20", "--log", str(tmp_path / "log")) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        seen = []
        for _ in range(400):
            connection.request("GET", "/health")
            answer = connection.getresponse()
            answer.read()
            seen.append((answer.status, answer.getheader("retry-after")))
        connection.close()
        assert {(200, None), (429, "1")} == set(seen)
        wait_for(lambda: server.ask("GET", "/health").status, lambda status: status == 200)
    refused = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if '"why"' in line]
    assert {(line["status"], line["why"]) for line in refused} == {(429, "Too many requests; wait a moment.")}


@pytest.mark.slow
def test_so_many_pages_may_listen_and_no_more(tmp_path):
    """As docs/serve.md says; whoever leaves makes room."""
    with serving(tmp_path / "job.db") as server:
        pages = []
        for _ in range(MOST_LISTENERS):
            pages.append(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30))
            pages[-1].request("GET", "/events")
            assert pages[-1].getresponse().readline() == b"retry: 2000\n"
        found = server.ask("GET", "/events")
        assert (found.status, found.headers["retry-after"]) == (429, "60")
        for one in pages:
            one.close()
        again = wait_for(lambda: listened(server), lambda status: status == 200)
        assert again == 200


def listened(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/events")
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_limits_of_the_page_are_those_of_the_code():
    table = (Path(__file__).parents[3] / "docs" / "serve.md").read_text(encoding="utf-8").split("| limit |")[1].split("\n\n")[0]
    limits = guard.Limits()
    for shown, value in (
        ("| 128 MB |", limits.body == 128 << 20), ("| 30 |", limits.seconds == 30), ("than 64 KB", MOST_HEAD_BYTES == 1 << 16),
        ("| 10,000, and ten times as many at once |", guard.Buckets(limits.rate).most == 100_000),
        ("| 2,000 | 503 |", MOST_CONNECTIONS == 2000), ("`/events` | 200 |", MOST_LISTENERS == 200),
        ("| 200,000 | 429 |", MOST_LABELS_WAITING == 200_000),
    ):  # fmt: skip
        assert shown in table
        assert value, shown


def test_a_client_has_ten_seconds_of_its_rate_at_once_and_then_the_rate(monkeypatch):
    """As docs/serve.md says, by a clock of our own; other clients have theirs."""
    moment = [100.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: moment[0])
    buckets = guard.Buckets(7.0)

    def taken(client="a", tries=1000):
        return sum(buckets.take(client) for _ in range(tries))

    assert (taken(), taken("b")) == (70, 70)
    for wait, more in ((1.0, 7), (3.0, 21), (0.05, 0), (0.1, 1), (1000.0, 70)):
        moment[0] += wait
        assert taken() == more, wait
    assert sum(buckets.take(f"c{n}") for n in range(guard.MOST_ADDRESSES + 5)) == guard.MOST_ADDRESSES + 5
    assert len(buckets.left) == guard.MOST_ADDRESSES  # those heard of last


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
