"""Rows 28 to 32 of the faults: uploads, names, several at once, restarts, other sites. The server stays up through all."""

import gzip
import io
import json
import signal
import socket
import sqlite3
import subprocess
import time
import zipfile

import pytest

from support.databases import PYTHON, environment
from support.service import RUN, Client, serving, start, wait_for

pytest.importorskip("starlette", reason="the extra 'web' is not installed")
pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")

ONE = {"item": "a", "worker": "ann", "label": "yes"}


def raw(port, text, *, more=b"", seconds=10.0):
    """Send bytes as they are; return what comes back until the connection ends or falls silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode() + more)
        found = b""
        try:
            while part := connection.recv(65536):
                found += part
                if b"\r\n\r\n" in found and b"content-length" in found.lower():
                    break
        except TimeoutError:
            pass
    return found


# Row 28: archives are no labels.


def bomb():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../labels.csv", b"0" * 1_000_000)
    return stream.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["application/zip", "application/gzip", "multipart/form-data; boundary=x", "text/csv", "text/plain"]
)
def test_row_28_archives_and_forms_are_refused_unread(tight, kind):
    found = tight.ask("POST", "/labels", bomb(), content_type=kind)
    assert found.status == 415
    assert "application/json" in found.json["error"]


def test_row_28_a_packed_body_is_not_unpacked(tight):
    body = gzip.compress(json.dumps([ONE] * 20_000).encode())
    found = tight.ask("POST", "/labels", body, content_type="application/json", content_encoding="gzip")
    assert found.status == 422
    assert "not UTF-8" in found.json["error"]
    assert tight.ask("POST", "/labels", bomb(), content_type="application/json").status == 422


# Row 29: too long, too slow, of a wrong type, empty.


def test_row_29_a_body_above_the_limit_is_413(tight):
    assert tight.ask("POST", "/labels", [ONE] * 1000).status == 413
    head = f"POST /labels HTTP/1.1\nhost: 127.0.0.1:{tight.port}\nauthorization: Bearer {tight.token}\n"
    chunks = b"".join(b"400\r\n" + b" " * 1024 + b"\r\n" for _ in range(6))  # whose length nobody announced
    found = raw(tight.port, head + "content-type: application/json\ntransfer-encoding: chunked\n\n", more=chunks)
    assert found.startswith(b"HTTP/1.1 413"), found


@pytest.mark.slow
def test_row_29_a_slow_body_is_408_and_others_are_served_meanwhile(tight):
    head = (
        f"POST /labels HTTP/1.1\nhost: 127.0.0.1:{tight.port}\nauthorization: Bearer {tight.token}\n"
        "content-type: application/json\ncontent-length: 400\n\n[{"
    )
    slow = [socket.create_connection(("127.0.0.1", tight.port), timeout=20) for _ in range(20)]
    for connection in slow:
        connection.sendall(head.replace("\n", "\r\n").encode())
    assert tight.get("/health")["status"] == "ok"
    for connection in slow:
        assert connection.recv(4096).startswith(b"HTTP/1.1 408")
        connection.close()


@pytest.mark.slow
def test_row_29_a_head_that_is_too_slow_or_too_long_ends_the_connection(tight):
    with socket.create_connection(("127.0.0.1", tight.port), timeout=10) as silent:
        with socket.create_connection(("127.0.0.1", tight.port), timeout=10) as slow:
            slow.sendall(b"GET /health HTTP/1.1\r\nx: ")
            assert b"too long" in raw(tight.port, "GET /health HTTP/1.1\nx: ", more=b"y" * 100_000)
            assert slow.recv(100) == b""
        assert silent.recv(100) == b""
    assert tight.get("/health")["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 422), (b" \n", "application/x-ndjson", 422), (b"[{]", "application/json", 422),
        (b'[{"item":"a","worker":"w","label":"x"}', "application/json", 422), (b"[1,]", "application/json", 422),
        (b"[NaN]", "application/json", 422), (b"[" * 3000, "application/json", 422), (b"\xff\xfe[", "application/json", 422),
        (b'[{"item":"a","worker":"w","label":"x"}] tail', "application/json", 422), (b'"text"', "application/json", 422),
        (b"[]", "", 415), (b"a=b", "application/x-www-form-urlencoded", 415),
    ],
)  # fmt: skip
def test_row_29_what_is_no_json_is_refused_whole(tight, body, kind, status):
    before = tight.get("/summary")["labels"]
    found = tight.ask("POST", "/labels", body, **({"content_type": kind} if kind else {}))
    assert found.status == status, found.body
    assert found.json.get("error") or found.json["refused"]
    assert tight.get("/summary")["labels"] == before


def test_row_29_a_connection_that_breaks_off_stores_nothing(tight):
    before = tight.get("/summary")["labels"]
    text = json.dumps([ONE])
    head = (
        f"POST /labels HTTP/1.1\r\nhost: 127.0.0.1:{tight.port}\r\nauthorization: Bearer {tight.token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(text) + 10}\r\n\r\n{text}"
    )
    with socket.create_connection(("127.0.0.1", tight.port)) as connection:
        connection.sendall(head.encode())
    time.sleep(0.2)
    assert tight.get("/summary")["labels"] == before


# Row 30: paths and SQL in names.


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/items/..%2F..%2Fetc%2Fpasswd", "/fits/1%27%20OR%201=1", "/fits/abc", "/fits/99999", "/page.css/..",
     "/x",     "/decisions/0", "/items/", "/items/%00", "/download/../job.db"],
)  # fmt: skip
def test_row_30_there_is_nothing_behind_odd_paths(tight, path):
    found = tight.ask("GET", path)
    assert found.status in {404, 405}
    assert b"root:" not in found.body


@pytest.mark.slow
def test_row_30_sql_in_names_is_text(tmp_path):
    names = ["'; DROP TABLE labels; --", '" OR ""="', "%s", "?", ":a", "$1"]
    with serving(tmp_path / "job.db") as server:
        assert (
            server.post("/labels", [{"item": name, "worker": name, "label": name, "key": name} for name in names])["added"] == 6
        )
        assert [server.item(name)["label"] for name in names] == names
        assert {row["worker"] for row in server.get("/workers")["workers"]} == set(names)
        assert [row["key"] for row in server.get("/labels")["labels"]] == names


# Row 31: several at once, and restarts.


def many(n_items=300):
    return [
        {"item": f"i{j}", "worker": f"w{i}", "label": str((j + (i == j % 5)) % 2)} for j in range(n_items) for i in range(5)
    ]


@pytest.mark.slow
def test_row_31_one_fit_runs_one_waits_and_a_third_is_429(tmp_path):
    with serving(tmp_path / "job.db") as server:
        assert server.ask("POST", "/fits").status == 409
        server.post("/labels", many())
        answers = [server.ask("POST", "/fits") for _ in range(4)]
        assert {found.status for found in answers} == {202, 429}
        assert all(found.headers["retry-after"] for found in answers if found.status == 429)
        if waiting := server.get("/summary")["fit"]["waiting"]:
            answer = server.ask("DELETE", f"/fits/{waiting['id']}")
            assert (answer.status, server.get(f"/fits/{waiting['id']}")["state"]) == (200, "cancelled") or answer.status == 409

        def cancel() -> int | None:
            """Cancel a fit that runs; None where it ended before."""
            server.ask("POST", "/fits")
            number = wait_for(lambda: server.get("/summary")["fit"]["running"], bool)["id"]
            return number if server.ask("DELETE", f"/fits/{number}").status == 200 else None

        number = wait_for(cancel, bool)
        ended = wait_for(lambda: server.get(f"/fits/{number}"), lambda fit: fit["state"] not in {"running", "waiting"})
        assert ended["state"] == "cancelled"
        assert server.ask("DELETE", f"/fits/{number}").status == 409
        assert server.item("i0")["label"] is not None


@pytest.mark.slow
def test_row_31_a_fit_that_a_kill_cut_off_is_interrupted_and_never_runs_for_ever(tmp_path):
    first = start(tmp_path / "job.db")
    first.post("/labels", many())
    number = wait_for(lambda: first.get("/summary")["fit"]["running"], bool)["id"]
    first.stop(signal.SIGKILL)
    first.process.stdout.close()
    with sqlite3.connect(tmp_path / "job.db") as connection:
        assert connection.execute("SELECT state FROM fits WHERE seq = ?", (number,)).fetchone() == ("running",)
    connection.close()
    with serving(tmp_path / "job.db") as second:
        assert second.get(f"/fits/{number}")["state"] == "interrupted"
        assert second.get("/summary")["labels"] == 1500


@pytest.mark.slow
def test_row_31_one_server_for_a_store(tmp_path):
    with serving(tmp_path / "job.db"):
        command = [PYTHON, "-c", RUN, "serve", str(tmp_path / "job.db"), "--port", "0", "--token", "none"]
        second = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60, check=False)
    assert second.returncode == 2
    assert "Another server runs on" in second.stderr


# Row 32: other sites, other hosts, other people.


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:1", "", "localhost:80@evil.example"])
def test_row_32_another_host_name_is_refused(tight, host):
    for path in ("/health", "/", "/summary"):
        assert tight.ask("GET", path, host=host).status == 400
    assert tight.ask("GET", "/health", host=f"localhost:{tight.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"},
     {"origin": "http://127.0.0.1:1"}],
)  # fmt: skip
def test_row_32_another_site_cannot_send(tight, headers):
    for method, path in (("POST", "/labels"), ("POST", "/truth"), ("POST", "/fits"), ("DELETE", "/decisions/1")):
        assert tight.ask(method, path, [ONE], **headers).status == 403
    own = {"origin": f"http://127.0.0.1:{tight.port}", "sec_fetch_site": "same-origin"}
    assert tight.post("/labels", [{**ONE, "item": "own page"}], **own)["refused"] == []


def test_row_32_nothing_is_said_without_the_token(tight):
    stranger = Client(tight.port)
    for path in (
        "/",
        "/summary",
        "/labels",
        "/items",
        "/workers",
        "/next?worker=a",
        "/events",
        "/metrics",
        "/download/labels.csv",
    ):
        found = stranger.ask("GET", path)
        assert found.status == 401, path
        assert found.headers["www-authenticate"] == "Bearer"
    for token in ("wrong", tight.token + "x", tight.token[:-1], "é"):
        assert stranger.ask("GET", "/summary", authorization=f"Bearer {token}".encode().decode("latin-1")).status == 401
    assert stranger.ask("POST", "/labels", [ONE]).status == 401
    assert stranger.ask("GET", f"/summary?token={tight.token}").status == 401  # addresses are written down everywhere
    assert stranger.ask("GET", "/health").status == 200
