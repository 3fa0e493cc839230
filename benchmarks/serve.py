"""How much `crowdassay serve` bears: single labels and labels in bulk a second, and reads while it writes and fits.

    python benchmarks/serve.py [--seconds 10] [--labels 1000000] [--kills 100] [--store postgresql://...]

Server, fit and clients share the machine. Every request is answered only when its labels are on disk. The processor time of the
server says what is left of the figures on a machine that others use as well.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from crowdassay.service.store.labels import count_labels
from crowdassay.service.store.open import open_store

ITEMS_EACH = 5  # labels of an item


def start(store: str) -> tuple[subprocess.Popen[str], int]:
    """Start a server on a free port; return it and the port."""
    code = "import sys; from crowdassay.cli.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "serve", store, "--port", "0", "--token", "none"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"Open http://127.0.0.1:(\d+)/", line):
            port = int(found.group(1))
            break
    asyncio.run(until_up(port))
    return server, port


async def until_up(port: int) -> None:
    """Wait until the server answers."""
    for _ in range(400):
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            status, _ = await ask(reader, writer, port, "GET", "/health")
            writer.close()
            if status == 200:
                return
        except OSError:
            pass
        await asyncio.sleep(0.05)
    raise SystemExit("the server did not start")


async def ask(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    port: int,
    method: str,
    path: str,
    body: bytes = b"",
    kind: str = "json",
) -> tuple[int, bytes]:
    """Send one request on an open connection; return the status and the body."""
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
    if body:
        head += f"content-type: application/{kind}\r\ncontent-length: {len(body)}\r\n"
    writer.write(head.encode() + b"\r\n" + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", answer)
    found = await reader.readexactly(int(length.group(1))) if length else b""
    return int(answer[9:12]), found


async def clients(
    port: int, count: int, seconds: float, make: Callable[[int, int], bytes], kind: str = "json"
) -> tuple[int, list[float]]:
    """Send labels over several connections, each waiting for its answer; return how many were stored, and the waits."""
    until, stored, waits = time.perf_counter() + seconds, 0, []

    async def one(number: int) -> None:
        nonlocal stored
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        turn = 0
        while time.perf_counter() < until:
            body = make(number, turn)
            began = time.perf_counter()
            status, answer = await ask(reader, writer, port, "POST", "/labels", body, kind)
            waits.append(time.perf_counter() - began)
            assert status == 200, answer
            stored += json.loads(answer)["added"]
            turn += 1
        writer.close()

    await asyncio.gather(*(one(number) for number in range(count)))
    return stored, waits


def single(port: int, seconds: float) -> dict[str, float]:
    """Measure requests of one label each, on 64 connections."""

    def make(client: int, turn: int) -> bytes:
        who = f"w{turn % 3}-{client % 7}"
        return f'[{{"item":"s{turn // 3}-{client}","worker":"{who}","label":"{turn % 2}","key":"s-{client}-{turn}"}}]'.encode()

    began = time.perf_counter()
    stored, waits = asyncio.run(clients(port, 64, seconds, make))
    took = time.perf_counter() - began
    return {
        "requests": stored,
        "requests_a_second": stored / took,
        "median_ms": 1000 * np.median(waits),
        "p99_ms": 1000 * np.quantile(waits, 0.99),
    }


def lines(first: int, count: int, prefix: str) -> bytes:
    """Return labels as NDJSON: five of each item, by 1,000 workers who are right four times of five."""
    rows = []
    for n in range(first, first + count):
        item = n // ITEMS_EACH
        worker = (item * 7 + (n % ITEMS_EACH) * 131) % 1000
        right = (n * 2654435761 >> 7) % 5 > 0
        label = (item % 3) if right else (item + n) % 3
        rows.append(f'{{"item":"{prefix}{item}","worker":"w{worker}","label":"c{label}","key":"{prefix}{n}"}}')
    return "\n".join(rows).encode()


def bulk(port: int, count: int, prefix: str, at_once: int = 5000) -> dict[str, float]:
    """Measure labels in requests of 5,000, on two connections."""
    bodies = [lines(first, at_once, prefix) for first in range(0, count, at_once)]
    began = time.perf_counter()

    async def send() -> None:
        async def one(mine: list[bytes]) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
            for body in mine:
                status, answer = await ask(reader, writer, port, "POST", "/labels", body, "x-ndjson")
                assert status == 200, answer
                assert json.loads(answer)["added"] == at_once, answer
            writer.close()

        await asyncio.gather(one(bodies[::2]), one(bodies[1::2]))

    asyncio.run(send())
    return {"labels_a_second": count / (time.perf_counter() - began)}


def reads(port: int, items: int, writes: float) -> dict[str, float]:
    """Measure reads, 100 a second, from the start of a fit to its end, while single labels are written."""
    waits: dict[str, list[float]] = {}

    async def go() -> float:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        status, answer = await ask(reader, writer, port, "POST", "/fits")
        assert status == 202, answer
        fit, began, done = json.loads(answer)["id"], time.perf_counter(), asyncio.Event()

        async def write() -> None:
            other = await asyncio.open_connection("127.0.0.1", port)
            turn = 0
            while not done.is_set():
                body = f'[{{"item":"r{turn % items}","worker":"late{turn % 50}","label":"c{turn % 3}","key":"late-{turn}"}}]'
                await ask(*other, port, "POST", "/labels", body.encode())
                turn += 1
                await asyncio.sleep(max(0.0, began + turn / writes - time.perf_counter()))

        async def read(place: int) -> None:
            other = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
            generator, turn = np.random.default_rng(place), 0
            while not done.is_set():
                kind = (
                    "items/",
                    "items/",
                    "items/",
                    "items/",
                    "items?open=1",
                    "summary",
                    "workers?limit=100",
                    "next?worker=w1",
                )[turn % 8]
                path = f"/{kind}r{generator.integers(items)}" if kind == "items/" else f"/{kind}"
                asked = time.perf_counter()
                status, _ = await ask(*other, port, "GET", path)
                waits.setdefault(kind, []).append(time.perf_counter() - asked)
                assert status == 200, path
                turn += 1
                await asyncio.sleep(max(0.0, 0.04 - (time.perf_counter() - asked)))

        async def watch() -> None:
            while True:
                await asyncio.sleep(0.5)
                _, found = await ask(reader, writer, port, "GET", f"/fits/{fit}")
                if json.loads(found)["state"] not in {"waiting", "running"}:
                    await asyncio.sleep(2)  # the result is loaded now
                    done.set()
                    return

        await asyncio.gather(watch(), write(), *(read(place) for place in range(4)))
        return time.perf_counter() - began

    took = asyncio.run(go())
    everything = np.concatenate(list(waits.values()))
    return {
        "seconds": took, "reads": len(everything), "median_ms": 1000 * float(np.median(everything)),
        "p99_ms": 1000 * float(np.quantile(everything, 0.99)), "longest_ms": 1000 * float(everything.max()),
        **{f"p99_ms {kind}": 1000 * float(np.quantile(found, 0.99)) for kind, found in waits.items()},
    }  # fmt: skip


WRITER = """
import sys
from crowdassay.service.store.open import open_store
store = open_store(sys.argv[1])
for turn in range(int(sys.argv[3])):
    rows = [{"item": f"i{turn}", "worker": f"{sys.argv[2]}-{n}", "label": "yes"} for n in range(500)]
    assert store.add(rows).added == 500
    print(turn, flush=True)
"""


def writers(store: str, labels: int = 100_000) -> dict[str, float]:
    """Let eight processes write to one store at once, and kill one of them; return what was acknowledged and what is there."""
    began = time.perf_counter()
    command = [sys.executable, "-c", WRITER, store]
    turns = labels // 8 // 500
    running = [subprocess.Popen([*command, f"p{n}", str(turns)], stdout=subprocess.PIPE, text=True) for n in range(8)]
    victim = running[0]
    assert victim.stdout is not None
    for _ in range(turns // 2):
        victim.stdout.readline()
    victim.kill()
    told = turns // 2 + sum(len(one.communicate()[0].split()) for one in running)
    with open_store(store).home.read() as session:
        stored = count_labels(session)[0]
        keys = session.one("SELECT COUNT(DISTINCT key) FROM labels")
    assert keys is not None
    return {
        "acknowledged": told * 500, "stored": stored, "lost": max(0, told * 500 - stored), "doubled": stored - keys[0],
        "labels_a_second": stored / (time.perf_counter() - began),
    }  # fmt: skip


def processor_time(pid: int) -> float:
    """Return the seconds of processor time that a process has taken; nan where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--writes", type=float, default=200.0, help="single labels a second while reads are measured")
    parser.add_argument("--kills", type=int, default=0, help="kill the server under load so many times")
    parser.add_argument("--store")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
        store = given.store or str(Path(folder) / "job.db")
        server, port = start(store)
        try:
            before = processor_time(server.pid)
            found = single(port, given.seconds)
            used = processor_time(server.pid) - before
            show("single-label requests", {**found, "processor_ms_each": 1000 * used / found.pop("requests")})
            before, count = processor_time(server.pid), min(given.labels, 200_000)
            found = bulk(port, count, "b")
            show("bulk", {**found, "processor_us_a_label": 1e6 * (processor_time(server.pid) - before) / count})
            show(f"loading {given.labels:,} labels", bulk(port, given.labels, "r"))
            show("reads while writing and fitting", reads(port, given.labels // ITEMS_EACH, given.writes))
        finally:
            server.terminate()
            server.wait()
        show("eight writers, one killed", writers(str(Path(folder) / "writers.db")))
        if given.kills:
            sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
            from faults.server_kills import kill_servers  # noqa: PLC0415

            show("kills under load", dict(kill_servers(given.kills, Path(folder) / "kills.db", seed=0)))


def show(name: str, found: dict[str, float]) -> None:
    """Print one line."""
    print(f"{name}: " + ", ".join(f"{key} {value:,.1f}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
