"""Kill runs of the command line at random moments and look at what they leave: `python tests/faults/kills.py 100`."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

FILES = {"labels.csv", "posterior.csv", "workers.csv", "items.csv", "summary.json"}
N_ITEMS = 3000


def write_labels(path: Path) -> None:
    """Write a file of labels that takes a few moments."""
    rows = "".join(f"item-{n},w{w},{(n * w) % 2}\n" for n in range(N_ITEMS) for w in range(3))
    path.write_text("item,worker,label\n" + rows)


def complete(folder: Path) -> bool:
    """Tell whether a folder holds one whole result."""
    if {path.name for path in folder.iterdir()} != FILES:
        return False
    summary = json.loads((folder / "summary.json").read_text())
    lines = {name: len((folder / name).read_text().splitlines()) for name in FILES - {"summary.json"}}
    return summary["n_items"] == N_ITEMS and lines["labels.csv"] == lines["items.csv"] == lines["posterior.csv"] == N_ITEMS + 1


def warm_up(folder: Path) -> None:
    """Load what a run loads, which takes a second in which nothing is written: the children inherit it."""
    import duckdb  # noqa: F401  its threads would not survive the fork, so that it is not used here

    import crowdassay.cli.places
    import crowdassay.results.report.build
    import crowdassay.results.report.charts  # noqa: F401
    from crowdassay.estimators.votes import MajorityVote
    from crowdassay.labels.frames import as_labels
    from crowdassay.results.summary import summarise
    from crowdassay.results.write import write_result

    result = MajorityVote().fit(as_labels((["a", "a", "b"], ["x", "y", "x"], ["0", "1", "0"]))).result_
    write_result(result, summarise(result, "majority"), folder, "csv")
    shutil.rmtree(folder)


def run_for_ever(arguments: list[str], writer: int) -> None:
    """Run a command again and again, and say when it has run once."""
    from crowdassay.cli.main import main

    try:
        while True:
            try:
                main(arguments)
            except SystemExit as ended:
                if ended.code:
                    os._exit(int(ended.code))
            with suppress(BrokenPipeError):
                os.write(writer, b".")
    finally:
        os._exit(99)


def kill_many(count: int, place: Path, seed: int) -> Counter[str]:
    """Fork runs that write their results over and over; kill each at a random moment and look."""
    warm_up(place / "warm")
    generator, told = random.Random(seed), Counter({"killed": 0, "complete": 0, "broken": 0})
    labels, out = place / "input.csv", place / "results"
    write_labels(labels)
    for _ in range(count):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            run_for_ever(["aggregate", str(labels), "--method", "majority", "--out", str(out), "--quiet"], writer)
        os.close(writer)
        os.read(reader, 1)  # once it is up to speed, a run takes a quarter of a second
        os.close(reader)
        time.sleep(generator.uniform(0.0, 0.5))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        told["killed" if os.WIFSIGNALED(status) else "failed"] += 1
        told["none yet" if not out.exists() else "complete" if complete(out) else "broken"] += 1
    told["cut off while writing"] = sum(1 for _ in place.glob(".*"))
    return told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(kill_many(int(sys.argv[1]), Path(folder), seed=int(time.time()))))  # noqa: T201
