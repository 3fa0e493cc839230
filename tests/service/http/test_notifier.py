"""Others are told of settled and disputed items: signed, at least once, and not more than they need."""

import base64
import hashlib
import hmac
import json
import stat
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

from crowdassay import simulate
from crowdassay.errors import ParameterError
from crowdassay.service.fits.job import Job
from crowdassay.service.fits.process import fit_store
from crowdassay.service.fits.snapshot import read_snapshot
from crowdassay.service.http import notifier
from crowdassay.service.http.notifier import Notifier, find_receiver, sign
from crowdassay.service.store.open import open_store
from crowdassay.service.store.writer import Writer
from support.rows import one
from support.service import serving, wait_for

SECRET = "whsec_" + base64.b64encode(b"a secret that nobody guesses").decode()


class Listener(HTTPServer):
    """A receiver of webhooks that keeps what it was sent, and answers as it is told to."""

    def __init__(self):
        self.got, self.status = [], 200
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/hook?job=1"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def events(self):
        return [event for _, body in self.got for event in json.loads(body)["events"]]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/hook?job=1"
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def listener():
    server = Listener()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """The labels of 60 items and the files of their fit."""
    folder = tmp_path_factory.mktemp("fit")
    crowd = {"n_items": 60, "n_workers": 15, "n_classes": 3, "labels_per_item": 10, "skill": 3.0, "worker_spread": 0.5}
    labels, _ = simulate(np.random.default_rng(5), **crowd)
    names, workers = labels.items.to_pylist(), labels.workers.to_pylist()
    rows = [
        one(names[j], workers[i], labels.class_names[k])
        for j, i, k in zip(labels.label_item, labels.worker, labels.label, strict=True)
    ]
    open_store(folder / "job.db").add(rows)
    fit_store(str(folder / "job.db"), len(rows), folder / "model")
    return rows, {path.name: path.read_bytes() for path in (folder / "model").iterdir()}


@pytest.fixture
def fitted_job(fit, tmp_path):
    rows, parts = fit
    store = open_store(tmp_path / "job.db")
    store.add(rows)
    job = Job(store)
    job.replace_fit(read_snapshot(1, len(rows), parts))
    writer = Writer(store, job.labels_added)
    yield job, writer
    writer.close()


def standings(job):
    """Return what should be told: items settled, and items open with different labels."""
    snapshot = job.snapshot
    labels = snapshot.estimator.result_.labels
    differ = [len(set(labels.label[a:b])) > 1 for a, b in zip(labels.starts[:-1], labels.starts[1:], strict=True)]
    kinds = {name: "item.settled" if code == 1 else "item.disputed" if differ[place] else None
             for place, (name, code) in enumerate(zip(snapshot.names, snapshot.standing, strict=True))}  # fmt: skip
    return {name: kind for name, kind in kinds.items() if kind}


def test_a_fit_is_told_of_once(fitted_job, listener):
    job, writer = fitted_job
    teller = Notifier(job, writer, find_receiver(listener.url, SECRET), "Birds")
    assert teller.look() == notifier.NOTICE_PAUSE
    assert len(listener.got) == 1
    expected = standings(job)
    assert {event["item"]: event["type"] for event in listener.events} == expected
    assert {"item.settled", "item.disputed"} == set(expected.values())
    event = next(event for event in listener.events if event["type"] == "item.settled")
    place = job.snapshot.index[event["item"]]
    assert event["label"] == job.snapshot.classes[job.snapshot.code[place]]
    assert event["probability"] == round(float(job.snapshot.probability[place]), 6)
    assert (event["n_labels"], event["basis"]) == (10, "fit")
    teller.look()
    Notifier(job, writer, find_receiver(listener.url, SECRET), "Birds").look()  # after a restart
    assert len(listener.got) == 1


def test_what_is_sent_is_signed(fitted_job, listener):
    job, writer = fitted_job
    Notifier(job, writer, find_receiver(listener.url, SECRET), "Birds").look()
    headers, body = listener.got[0]
    headers = {name.lower(): value for name, value in headers.items()}
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.digest(b"a secret that nobody guesses", signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["job"] == "Birds"


@pytest.mark.parametrize("status", [500, 302, 404])
def test_what_is_not_taken_is_sent_again_under_the_same_ids(fitted_job, listener, status):
    job, writer = fitted_job
    teller = Notifier(job, writer, find_receiver(listener.url, SECRET), "Birds")
    listener.status = status
    assert [teller.look() for _ in range(4)] == [1.0, 2.0, 4.0, 8.0]
    teller = Notifier(job, writer, find_receiver(listener.url, SECRET), "Birds")  # the server was restarted
    listener.status = 204
    assert teller.look() == notifier.NOTICE_PAUSE
    assert teller.waiting() == 0
    assert len({body for _, body in listener.got}) == 1
    assert len({headers["webhook-id"] for headers, _ in listener.got}) == 1


def test_nobody_there_is_no_error_and_the_pause_grows_to_an_hour(fitted_job, listener):
    job, writer = fitted_job
    listener.server_close()
    teller = Notifier(job, writer, find_receiver("http://127.0.0.1:9/", SECRET), "Birds")
    assert teller.look() == 1.0
    teller.failures = 100
    assert teller.look() == 3600.0
    assert teller.waiting() == len(standings(job))


def test_decisions_are_told_of_at_once_and_dissent_after_a_fit(fitted_job, listener):
    job, writer = fitted_job
    teller = Notifier(job, writer, find_receiver(listener.url, SECRET), "Birds")
    teller.look()
    disputed = next(item for item, kind in standings(job).items() if kind == "item.disputed")
    job.known_changed({disputed: ("1", "decision")})
    teller.look()
    (event,) = json.loads(listener.got[-1][1])["events"]
    assert (event["item"], event["type"], event["label"], event["basis"]) == (disputed, "item.settled", "1", "decision")
    job.known_changed({disputed: None})  # undone: the fit did not know of it, and says what it said before
    teller.look()
    (event,) = json.loads(listener.got[-1][1])["events"]
    assert (event["item"], event["type"]) == (disputed, "item.disputed")
    teller.look()
    assert len(listener.got) == 3


def test_many_events_go_in_several_requests(fitted_job, listener, monkeypatch):
    job, writer = fitted_job
    monkeypatch.setattr(notifier, "EVENTS_IN_A_REQUEST", 10)
    monkeypatch.setattr(notifier, "EVENTS_STORED_AT_A_TIME", 7)
    teller = Notifier(job, writer, find_receiver(listener.url, SECRET), "Birds")
    while teller.look() == 0.0:
        pass
    sizes = [len(json.loads(body)["events"]) for _, body in listener.got]
    assert (max(sizes), sum(sizes)) == (10, len(standings(job)))
    assert len({event["id"] for event in listener.events}) == len(standings(job))


@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "file:///etc/passwd", "https://", "hooks.example", "http://a.example:99999/", "http://a b/"]
)
def test_only_addresses_of_the_web_are_taken(url):
    with pytest.raises(ParameterError, match="--notify takes an address such as https://hooks"):
        find_receiver(url, SECRET)


def test_passwords_and_broken_secrets_are_refused():
    with pytest.raises(ParameterError, match="without user and password"):
        find_receiver("https://ann:secret@hooks.example/", SECRET)
    with pytest.raises(ParameterError, match="goes on in base64"):
        find_receiver("https://hooks.example/", "whsec_no base64!")


@pytest.mark.slow
def test_a_server_tells_of_decisions_and_makes_the_secret(tmp_path, listener):
    file = tmp_path / "secret"
    options = ("--notify", listener.url, "--notify-secret-file", str(file))
    with serving(tmp_path / "job.db", *options) as server:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        server.post("/labels", [one("a", worker) for worker in ("ann", "bob")])
        server.post("/decisions", {"item": "a", "label": "no"})
        wait_for(lambda: listener.events, bool)
        assert b"crowdassay_notices_waiting" in server.ask("GET", "/metrics").body
    (event,) = listener.events
    assert [event[name] for name in ("item", "type", "label", "n_labels")] == ["a", "item.settled", "no", 2]
    key = find_receiver(listener.url, file.read_text().strip()).key
    headers, body = listener.got[0]
    given = {name.lower(): value for name, value in headers.items()}
    assert given["webhook-signature"] == sign(key, given["webhook-id"], int(given["webhook-timestamp"]), body)


def test_an_address_needs_a_secret(run, tmp_path):
    code, _, said = run("serve", tmp_path / "job.db", "--notify", "https://hooks.example/")
    assert (code, "--notify and --notify-secret-file go together" in said) == (2, True)
    assert not (tmp_path / "job.db").exists()
