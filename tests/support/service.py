"""A server as users start one, and a client that says what it was answered."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from crowdassay import Labels, simulate
from support.databases import PYTHON, environment

RUN = "import sys; from crowdassay.cli.main import main; main(sys.argv[1:])"


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """Sends requests to a server on this machine, each on a connection of its own."""

    port: int
    token: str | None = None
    timeout: float = 60.0

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request; a body that is no bytes goes as JSON."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("content-type", "application/json")
        if self.token is not None:
            sent.setdefault("authorization", f"Bearer {self.token}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            connection.request(method, path, body, sent)
            found = connection.getresponse()
            return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Any:
        """Return the JSON of an answer that must be good."""
        found = self.ask("GET", path, **headers)
        assert found.status == 200, (path, found.status, found.body[:300])
        return found.json

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Return the JSON of an answer that must be good."""
        found = self.ask("POST", path, body, **headers)
        assert found.status in {200, 201, 202}, (path, found.status, found.body[:300])
        return found.json

    def item(self, name: str) -> Any:
        """Return what is said of an item."""
        return self.get(f"/items/{quote(name, safe='')}")

    def fit(self) -> Any:
        """Fit now; return how the fit ended."""
        number = self.post("/fits")["id"]
        return wait_for(lambda: self.get(f"/fits/{number}"), lambda fit: fit["state"] not in {"waiting", "running"})


def wait_for(look: Any, good: Any, seconds: float = 120.0) -> Any:
    """Look again and again until what is seen is good; return it."""
    until = time.monotonic() + seconds
    while not good(found := look()):
        assert time.monotonic() < until, found
        time.sleep(0.05)
    return found


@dataclass
class Running(Client):
    """A server that runs, and its client."""

    process: Any = None
    said: str = ""

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End the server; return its exit code."""
        self.process.send_signal(how)
        return int(self.process.wait(30))


def start(store: Any, *options: str, token: str = "none") -> Running:
    """Start a server on a free port and wait until it answers."""
    given = [] if token == "made" else ["--token", token]
    command = [PYTHON, "-c", RUN, "serve", str(store), "--port", "0", *given, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"Open http://127.0.0.1:(\d+)/(?:\?token=(\S+))?", line):
            break
    else:
        raise AssertionError(f"the server did not start: {said}")
    running = Running(int(found.group(1)), found.group(2), process=process, said=said)
    if token == "store":
        running.token = None
    elif token not in {"none", "made"}:
        running.token = Path(token).read_text(encoding="utf-8").strip()

    def up() -> bool:
        with suppress(OSError):
            return running.ask("GET", "/health").status == 200
        return process.poll() is not None

    wait_for(up, bool)
    return running


@contextmanager
def serving(store: Any, *options: str, token: str = "none") -> Iterator[Running]:
    """Run a server for the length of a block."""
    running = start(store, *options, token=token)
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.kill(running.process.pid, signal.SIGTERM)
        running.process.wait(30)
        running.process.stdout.close()


@contextmanager
def serving_fitted(folder: Path) -> Iterator[tuple[Running, Labels, pa.Array]]:
    """Run a server with 600 labels of 100 items, fitted; yield it with the labels and their truth."""
    labels, truth = simulate(np.random.default_rng(3), n_items=100, n_workers=12, n_classes=3, labels_per_item=6, spammers=0.2)
    rows = [
        {"item": labels.items[int(j)].as_py(), "worker": labels.workers[int(i)].as_py(), "label": labels.class_names[k]}
        for j, i, k in zip(labels.label_item, labels.worker, labels.label, strict=True)
    ]
    with serving(folder / "job.db") as running:
        assert running.post("/labels", rows)["added"] == len(rows)
        assert running.fit()["state"] == "done"
        wait_for(lambda: running.get("/summary"), lambda seen: seen["fit"]["labels_since"] == 0)
        yield running, labels, truth
