"""Kill a server under load at random moments and look whether every acknowledged label is there, once.

python tests/faults/server_kills.py 100 [postgresql://...]
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.service import Client, start


def load(port: int, number: int, turn: int, acknowledged: list[str], stop: threading.Event) -> None:
    """Send labels, some of them twice, until the server is gone; note what it acknowledged."""
    client, generator, sent = Client(port, timeout=10), random.Random(number), 0
    while not stop.is_set():
        size = generator.choice([1, 1, 1, 20])
        keys = [f"{turn}-{number}-{sent + n}" for n in range(size)]
        rows = [{"item": f"i{generator.randrange(500)}", "worker": key, "label": "yes", "key": key} for key in keys]
        sent += size
        try:
            for _ in range(1 + (generator.random() < 0.2)):
                done = client.post("/labels", rows)
                assert done["added"] + done["known"] == size, done
        except (OSError, EOFError, json.JSONDecodeError):
            return
        except Exception as error:  # the answer was cut off
            if type(error).__module__ != "http.client":
                raise
            return
        acknowledged += keys


def kill_servers(count: int, store: Any, seed: int, clients: int = 6) -> dict[str, int]:
    """Start and kill; return how many labels were acknowledged, lost and doubled."""
    generator, acknowledged = random.Random(seed), []
    for turn in range(count):
        server, stop = start(store), threading.Event()
        threads = [threading.Thread(target=load, args=(server.port, n, turn, acknowledged, stop)) for n in range(clients)]
        for thread in threads:
            thread.start()
        time.sleep(generator.uniform(0.05, 0.6))
        server.stop(signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join()
        server.process.stdout.close()
    server = start(store)
    stored = [row["key"] for row in server.get("/labels?limit=1000000000")["labels"]]
    told = server.get("/summary")["labels"]
    server.stop()
    server.process.stdout.close()
    return {
        "kills": count,
        "acknowledged": len(acknowledged),
        "stored": len(stored),
        "counted": told,
        "lost": len(set(acknowledged) - set(stored)),
        "doubled": len(stored) - len(set(stored)),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place = sys.argv[2] if len(sys.argv) > 2 else Path(folder) / "job.db"
        print(json.dumps(kill_servers(int(sys.argv[1]), place, seed=int(time.time()))))  # noqa: T201
