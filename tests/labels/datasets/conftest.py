"""A server on the loopback interface, and a registry of small datasets that only it has."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from crowdassay.labels.datasets import registry
from crowdassay.labels.datasets.registry import Entry, Raw, checksum, convert

COMMIT = "0" * 40


@dataclass
class Site:
    """What the server has: path to status, body and declared length; and what it was asked for."""

    url: str
    pages: dict[str, tuple[int, bytes, int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, path, body, *, status=200, length=None):
        body = body.encode() if isinstance(body, str) else body
        self.pages[f"/someone/somewhere/{COMMIT}/{path}"] = (status, body, len(body) if length is None else length)


@pytest.fixture
def site(monkeypatch):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            place.asked.append(self.path)
            status, body, length = place.pages.get(self.path, (404, b"", 0))
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        place = Site(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("CROWDASSAY_DATASETS_URL", place.url)
        monkeypatch.setenv("no_proxy", "*")
        yield place
        server.shutdown()
        thread.join()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return the folder that fetched datasets go to; nothing is there, nor in CROWDASSAY_DATA."""
    monkeypatch.delenv("CROWDASSAY_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path / "share" / "crowdassay" / "datasets"


@pytest.fixture
def publish(site, monkeypatch):
    """Return a function that puts raw files on the server and a dataset into the registry."""
    known = {}
    monkeypatch.setattr(registry, "entries", lambda: known)

    def add(name, layout, texts, classes, **options):
        files = tuple(f"data of {name}/{number}.txt" for number in range(len(texts)))
        raw = Raw("someone/somewhere", COMMIT, files, layout, "", "", **options)
        rows = convert(raw, texts)
        raw = Raw("someone/somewhere", COMMIT, files, layout, checksum(rows.labels), checksum(rows.truth), **options)
        counts = (len({row[0] for row in rows.labels}), len({row[1] for row in rows.labels}), len(rows.labels), len(rows.truth))
        for path, text in zip(files, texts, strict=True):
            site.put(path.replace(" ", "%20"), text)
        facts = ("someone/somewhere data", "A paper.", "MIT", "MIT licence.", "Made up.")
        known[name] = Entry(name, "binary", classes, *counts, *facts, raw=raw)
        return known[name]

    return add


@pytest.fixture
def pets(publish):
    labels = "a\t7\t1\na\t9\t2\nb\t9\t2\n"
    return publish("pets", "item-worker-label-tsv", [labels, "a\t1\nb\t2\n"], ("1", "2"))
