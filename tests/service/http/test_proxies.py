"""Behind real proxies, as docs/serve.md sets them up: one prefix, HTTPS, clicks, and whose headers are believed (S12)."""

import json
import re
import socket
import ssl
from http.client import HTTPSConnection

import pytest

from crowdassay.service.store.open import open_store
from crowdassay.service.store.records import NewToken
from crowdassay.service.store.tokens import hand_out
from support.proxies import HOST, caddy, nginx, replaced, snippet
from support.service import Answer, serving, wait_for

pytest.importorskip("uvicorn", reason="the extra 'web' is not installed")
pytestmark = pytest.mark.slow
ROWS = [{"item": f"photo {n}", "worker": f"w{k}", "label": "ab"[k % 2]} for n in range(3) for k in range(2)]
DEFAULT_HOST = """server {
    listen 443 ssl; ssl_certificate /etc/ssl/labels.example.pem; ssl_certificate_key /etc/ssl/labels.example.key;
    server_name labels.example; location / { proxy_pass http://127.0.0.1:8765; }
}"""  # what people write who have read no further: the host that is passed on is 127.0.0.1:8765


def options():
    """Return the options of the command that the page shows, but for the store and the token, with the test's host."""
    return replaced(re.search(r"^crowdassay serve job.db (--token store .*)$", page(), re.M).group(1), {
        "labels.example": HOST, "--token store ": "",
    }).split()  # fmt: skip


def page():
    from support.proxies import PAGE

    return PAGE.read_text(encoding="utf-8")


def ask(port, method, path, body=None, **headers):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = HTTPSConnection(HOST, port, timeout=30)
    connection.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30), server_hostname=HOST)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        sent["content-type"] = "application/json"
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    found = connection.getresponse()
    try:
        return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
    finally:
        connection.close()


@pytest.fixture
def job(tmp_path):
    """A store with disputed items, and a token to manage it."""
    store = open_store(tmp_path / "job.db")
    store.add(ROWS)
    with store.home.write() as session:
        _, token = hand_out(session, NewToken("manage", None, "Ann Miller"), source="t")
    store.close()
    return tmp_path / "job.db", token


def logged(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("proxy", [nginx, caddy])
def test_a_job_behind_the_proxy_of_the_page(proxy, job, tmp_path, browser):
    """S12."""
    store, token = job
    log = tmp_path / "service.log"
    with (
        serving(store, *options(), "--log", str(log), token="store") as server,
        proxy(tmp_path, server.port, snippet(proxy.__name__)) as port,
    ):
        assert ask(port, "GET", "/birds").headers["location"].removeprefix(f"https://{HOST}:{port}") == "/birds/"
        found = ask(port, "GET", f"/birds/?token={token}")
        assert (found.status, found.headers["location"]) == (303, "/birds/")
        cookie = found.headers["set-cookie"]
        assert token not in cookie
        for part in ("HttpOnly", "Path=/birds", "SameSite=lax", "Secure"):
            assert f"; {part}" in cookie
        assert ask(port, "GET", "/birds/openapi.json").json["servers"] == [{"url": "/birds"}]
        bearer = f"Bearer {token}"
        assert ask(port, "POST", "/birds/fits", authorization=bearer).headers["location"] == "/birds/fits/1"
        context = browser.new_context(ignore_https_errors=True)
        seen = context.new_page()
        seen.goto(f"https://{HOST}:{port}/birds/?token={token}")
        assert seen.url == f"https://{HOST}:{port}/birds/"
        seen.wait_for_selector("#live.on")
        seen.click("#choices button")
        wait_for(lambda: ask(port, "GET", "/birds/decisions", authorization=bearer).json["decisions"], bool)
        context.close()
        assert ask(port, "POST", "/birds/labels", ROWS, authorization=bearer, x_forwarded_for="6.6.6.6").status == 200
    lines = logged(log)
    assert next(line for line in lines if line["path"] == "/decisions")["who"] == "Ann Miller (token 1)"
    assert {line["client"] for line in lines if line["event"] == "request"} <= {"127.0.0.1", "::1"}
    assert not any(line["status"] in {400, 401, 403} for line in lines)


def test_clicks_pass_whatever_host_the_proxy_names(job, tmp_path):
    """S12."""
    store, token = job
    with (
        serving(store, "--log", str(tmp_path / "log"), token="store") as server,
        nginx(tmp_path, server.port, DEFAULT_HOST) as port,
    ):
        sent = {"authorization": f"Bearer {token}", "origin": f"https://{HOST}:{port}"}
        body = {"item": "photo 1", "label": "a"}
        assert ask(port, "POST", "/decisions", body, **sent, sec_fetch_site="same-origin").status == 201
        assert ask(port, "POST", "/decisions", body, **sent, sec_fetch_site="cross-site").status == 403
        refused = ask(port, "POST", "/decisions", body, **sent)
        assert refused.status == 403
        assert f"(from https://{HOST}:{port}); --allow-host names hosts of this one." in refused.json["error"]
        lines = wait_for(lambda: [line for line in logged(tmp_path / "log") if "why" in line], lambda rows: len(rows) > 1)
        assert [line["why"] for line in lines] == [
            "Requests from pages of other sites are refused (cross-site); --allow-host names hosts of this one.",
            refused.json["error"],
        ]
    with serving(store, "--allow-host", HOST, token="store") as server, nginx(tmp_path, server.port, DEFAULT_HOST) as port:
        sent = {"authorization": f"Bearer {token}", "origin": f"https://{HOST}:{port}"}
        assert ask(port, "POST", "/decisions", body, **sent).status == 201


def test_headers_of_strangers_are_not_believed(job, tmp_path):
    store, token = job
    forged = {"x_forwarded_for": "6.6.6.6", "x_forwarded_proto": "https"}
    for proxies, client, secure in (((), "127.0.0.1", False), (("--trusted-proxies", "10.0.0.0/8"), "127.0.0.1", False),
                                    (("--trusted-proxies", "10.0.0.1, 127.0.0.0/8"), "6.6.6.6", True)):  # fmt: skip
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        with serving(store, *proxies, "--log", str(log), token="store") as server:
            found = server.ask("GET", f"/?token={token}", **forged)
            assert ("Secure" in found.headers["set-cookie"]) is secure
        assert logged(log)[-1]["client"] == client


@pytest.mark.parametrize(
    ("option", "why"),
    [(("--trusted-proxies", "*"), "addresses or networks"), (("--trusted-proxies", "10.0.0.1/8"), "addresses or networks"),
     (("--root-path", "birds"), "begins with /"), (("--root-path", "/a b"), "begins with /")],
)  # fmt: skip
def test_options_that_cannot_be_are_sentences(option, why, run, tmp_path):
    code, _, said = run("serve", tmp_path / "job.db", *option)
    assert (code, why in said) == (2, True)


def test_a_prefix_works_with_and_without_a_proxy_that_cuts_it(job):
    store, token = job
    with serving(store, "--root-path", "/birds/", token="store") as server:
        assert f"http://127.0.0.1:{server.port}/birds/?token=" in server.said
        server.token = token
        for path in ("/summary", "/birds/summary"):
            assert server.get(path)["labels"] == len(ROWS)
        assert server.ask("GET", "/birdsong/summary").status == 404
        moved = server.ask("GET", "/birds?token=x")
        assert (moved.status, moved.headers["location"]) == (308, "/birds/?token=x")


def test_a_link_on_another_site_opens_the_page(job, browser):
    """A mail or chat in the browser is another site: its click brings no strict cookie, and would end at a 401."""
    store, token = job
    with serving(store, token="store") as server:
        page = browser.new_page()
        link = f"http://127.0.0.1:{server.port}/?token={token}"
        page.route(
            "http://mail.localhost/", lambda route: route.fulfill(body=f"<a href='{link}'>go</a>", content_type="text/html")
        )
        page.goto("http://mail.localhost/")
        page.click("a")
        page.wait_for_selector("#live.on")
        assert page.url == f"http://127.0.0.1:{server.port}/"
        page.close()
