"""Kill a server under load at random moments and look whether every acknowledged label, correction and removal is there, once.

Backups are taken all the while, and hold whatever was acknowledged before they began.

python tests/faults/server_kills.py 100 [postgresql://...]
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1]))

from crowdassay.errors import CrowdassayError
from crowdassay.service.store.copy import backup, check
from crowdassay.service.store.labels import labels_since
from crowdassay.service.store.open import find_home
from support.service import Client, start

CUT_OFF = (OSError, EOFError, json.JSONDecodeError, http.client.HTTPException)  # the server has gone


@dataclass
class Ledger:
    """What was acknowledged: labels by key, keys of removed labels; and what was sent last and not answered."""

    labels: dict[str, str] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    backups: int = 0
    missing: int = 0

    def sure(self) -> dict[str, str]:
        """Return the labels that must be there."""
        return {key: label for key, label in list(self.labels.items()) if key not in self.removed and key not in self.unsure}


def load(port: int, number: int, turn: int, ledger: Ledger, stop: threading.Event) -> None:
    """Send labels, some of them twice, correct and remove some, until the server is gone; note what it acknowledged."""
    client, generator, sent = Client(port, timeout=10), random.Random(number), 0
    with suppress(*CUT_OFF):
        while not stop.is_set():
            size = generator.choice([1, 1, 1, 20])
            keys = [f"{turn}-{number}-{sent + n}" for n in range(size)]
            rows = [{"item": f"i{generator.randrange(500)}", "worker": key, "label": "yes", "key": key} for key in keys]
            sent += size
            for _ in range(1 + (generator.random() < 0.2)):
                done = client.post("/labels", rows)
                assert done["added"] + done["known"] == size, done
            ledger.labels.update(dict.fromkeys(keys, "yes"))
            key, chance = keys[0], generator.random()
            if chance < 0.4:
                ledger.unsure.add(key)
                if chance < 0.2:
                    assert client.ask("DELETE", f"/labels/{quote(key)}").json["removed"]
                    ledger.removed.add(key)
                else:
                    assert client.post("/labels?replace=1", [{**rows[0], "label": "no"}])["added"] == 1
                    ledger.labels[key] = "no"
                ledger.unsure.discard(key)


def back_up(store: str, folder: Path, ledger: Ledger, stop: threading.Event) -> None:
    """Take backups until told to stop; count labels that one should hold and does not."""
    while not stop.is_set():
        path = folder / f"backup-{ledger.backups}.db"
        before = ledger.sure()
        try:
            backup(store, path)
        except CrowdassayError:  # there is no store yet
            ledger.missing += len(before)
            continue
        check(str(path))
        held = stored_keys(str(path))
        ledger.missing += sum(key not in held for key in before if key not in ledger.removed and key not in ledger.unsure)
        ledger.backups += 1
        path.unlink()


def stored_keys(place: str) -> Counter[str]:
    """Return the workers of a store's labels, who are named as their labels' keys are."""
    home = find_home(place, shared=True)
    try:
        with home.read() as session:
            return Counter(row[2] for block in labels_since(session, 0) for row in block)
    finally:
        home.close()


def kill_servers(count: int, store: Any, seed: int, clients: int = 6) -> dict[str, int]:
    """Start and kill; return how much was acknowledged, and how much of it is not as it was acknowledged."""
    generator, ledger, ended = random.Random(seed), Ledger(), threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        saver = threading.Thread(target=back_up, args=(str(store), Path(folder), ledger, ended))
        saver.start()
        for turn in range(count):
            server, stop = start(store), threading.Event()
            threads = [threading.Thread(target=load, args=(server.port, n, turn, ledger, stop)) for n in range(clients)]
            for thread in threads:
                thread.start()
            time.sleep(generator.uniform(0.05, 0.6))
            server.stop(signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join()
            server.process.stdout.close()
        ended.set()
        saver.join()
    server = start(store)
    stored = [(row["key"], row["label"]) for row in server.get("/labels?limit=1000000000")["labels"]]
    told = server.get("/summary")["labels"]
    server.stop()
    server.process.stdout.close()
    found, sure = dict(stored), ledger.sure()
    return {
        "kills": count,
        "acknowledged": len(ledger.labels),
        "removed": len(ledger.removed),
        "corrected": sum(label == "no" for label in ledger.labels.values()),
        "backups": ledger.backups,
        "stored": len(stored),
        "counted": told,
        "lost": sum(key not in found for key in sure),
        "doubled": len(stored) - len(found),
        "risen": len(ledger.removed & found.keys()),
        "not_corrected": sum(found.get(key, label) != label for key, label in sure.items()),
        "missing_in_backups": ledger.missing,
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place = sys.argv[2] if len(sys.argv) > 2 else Path(folder) / "job.db"
        print(json.dumps(kill_servers(int(sys.argv[1]), place, seed=int(time.time()))))  # noqa: T201
