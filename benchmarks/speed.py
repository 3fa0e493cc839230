"""How fast, how lean, and how near to what the machine can do: ours and the peers', side by side.

    python benchmarks/speed.py [--sizes 1e5,1e6] [--classes 2,5] [--cap SECONDS] [--json FILE] [--picture FILE] [--commands]

For every size (labels, 5 to an item, rows shuffled, 300, 1,000 or 5,000 workers right two times in three on average) and
number of classes, a pandas frame with text ids is simulated once, and all methods take turns on it, each in a process of
its own, from the frame to one label per item; the median run of each counts, and a ratio is given with its spread, from the
slowest of ours against the quickest of theirs to the other way round; what a row is compared with, and what has nothing that
ends to be compared with, has none. Loading and compiling come before the clock starts.
Peers stop at the cap; what the whole run would take is then worked out from their measured time per iteration and marked
"~". Install: pip install 'crowdassay[bench]'.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from crowdassay.checks.simulate import simulate
from crowdassay.results.report.chart import save_chart
from speed_commands import COMMANDS_NOTE, measure_commands
from speed_machine import least_seconds, measure
from speed_peers import PEERS
from speed_run import OURS
from speed_tables import as_text, chart

HERE = Path(__file__).parent
PER_ITEM = 5
WORKERS = {100_000: 300, 1_000_000: 1_000, 10_000_000: 5_000}
RIVAL = {"majority vote": "crowd-kit majority vote", "minimax": "crowd-kit majority vote", "GLAD": "crowd-kit GLAD",
         "MMSR": "crowd-kit MMSR", "Dawid-Skene": "crowd-kit Dawid-Skene", "default": "crowd-kit Dawid-Skene",
         "Dawid-Skene of 100 steps": "crowd-kit Dawid-Skene of 100 steps",
         "scipy.sparse Dawid-Skene": "crowd-kit Dawid-Skene"}  # fmt: skip
TURNS = [name for pair in RIVAL.items() for name in pair if "crowd-kit" not in name or name in PEERS]  # ours, theirs, ours ...
LARGEST = {"crowd-kit GLAD": 100_000, "crowd-kit MMSR": 100_000}  # labels beyond which nothing would come back
MOST_CLASSES = {"crowd-kit GLAD": 2, "crowd-kit MMSR": 2}  # with more they take minutes, or end for want of memory again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1e5,1e6", help="numbers of labels")
    parser.add_argument("--classes", default="2,5")
    parser.add_argument("--cap", type=float, default=12.0, help="seconds after which a peer is stopped")
    parser.add_argument("--turns", type=int, default=3, help="times every method runs; the median counts")
    parser.add_argument("--memory", type=float, default=4.0, help="GB beyond which a run is stopped")
    parser.add_argument("--methods", help="only these, separated by commas")
    parser.add_argument("--threads", type=int, default=0, help="threads of ours; all cores by default")
    parser.add_argument("--commands", action="store_true", help="time the command line too, on a CSV of the largest size")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help=".svg or .png")
    arguments = parser.parse_args()
    machine, started = measure(), time.perf_counter()
    report: dict[str, Any] = {"date": datetime.now(UTC).isoformat(timespec="minutes"), **machine, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        for size in (int(float(text)) for text in arguments.sizes.split(",")):
            for n_classes in map(int, arguments.classes.split(",")):
                frame = make_frame(Path(folder), size, n_classes)
                report["rows"] += [
                    finish(row, machine) for row in take_turns(frame, size, n_classes, arguments, report["rows"])
                ]
        if arguments.commands:
            report["commands"] = measure_commands(frame)
    add_ratios(report["rows"])
    report["minutes"] = (time.perf_counter() - started) / 60
    print(as_text(report))
    if arguments.commands:
        print(COMMANDS_NOTE)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2), encoding="utf-8")
    if arguments.picture:
        save_chart(chart(report["rows"]), arguments.picture)


def make_frame(folder: Path, size: int, n_classes: int) -> Path:
    """Write a simulated frame, its rows shuffled, and the truth beside it."""
    generator = np.random.default_rng(0)
    workers = WORKERS.get(size, max(20, size // 1000))
    labels, truth = simulate(
        generator, n_items=size // PER_ITEM, n_workers=workers, n_classes=n_classes, labels_per_item=PER_ITEM,
        skill=np.log(2 * (n_classes - 1)), worker_spread=0.7,
    )  # fmt: skip
    order = generator.permutation(size)
    columns = {"task": (labels.items, labels.label_item), "worker": (labels.workers, labels.worker), "label": (labels.classes, labels.label)}  # fmt: skip  # noqa: E501
    frame = pd.DataFrame({name: pd.array(words.take(codes[order]), dtype="str") for name, (words, codes) in columns.items()})
    path = folder / f"{size}-{n_classes}.feather"
    frame.to_feather(path)
    np.save(path.with_suffix(".npy"), truth)
    return path


def take_turns(
    frame: Path, size: int, n_classes: int, arguments: argparse.Namespace, smaller: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Run every method in turn, several times over; keep the median run of each, with the seconds of all."""
    chosen = arguments.methods.split(",") if arguments.methods else list(dict.fromkeys([*TURNS, *PEERS]))
    runs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(arguments.turns):
        for method in chosen:
            before = runs.setdefault(method, [])
            slow = any("failed" in row or row["seconds"] > arguments.cap / 8 for row in before)
            if size > LARGEST.get(method, size) or n_classes > MOST_CLASSES.get(method, n_classes) or slow:
                continue  # once is enough for what takes long
            row = {"method": method, "labels": size, "classes": n_classes, **run(frame, method, arguments)}
            print(
                f"{size:>10,} K={n_classes:<3} {method:26s} {row.get('failed') or format(row['seconds'], '.3f')}",
                file=sys.stderr,
            )
            before.append(row)
    rows = {method: median_run(each) for method, each in runs.items() if each}
    expect_whole_runs(rows, smaller)
    if "each" in (theirs := rows.get("crowd-kit Dawid-Skene", {})):  # what it takes when its stop rule never holds
        rows["100"] = {**theirs, "method": "crowd-kit Dawid-Skene of 100 steps", "capped": True, "whole": 100}
        lengthen(rows["100"])
        rows["100"].pop("error", None)
    return list(rows.values())


def median_run(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run of median seconds, with the fewest and the most seconds of all of them."""
    failed = [row for row in runs if "failed" in row]
    if failed:
        return failed[0]
    in_order = sorted(runs, key=lambda row: row["seconds"])
    spread = {"least": in_order[0]["seconds"], "most": in_order[-1]["seconds"]}
    return {**in_order[(len(runs) - 1) // 2], **spread, "memory": min(row["memory"] for row in runs), "runs": len(runs)}


def run(frame: Path, method: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure one run in a process of its own."""
    command = [
        sys.executable,
        HERE / "speed_run.py",
        frame,
        frame.with_suffix(".npy"),
        method,
        arguments.cap,
        arguments.threads,
    ]
    limit = int(arguments.memory * 1e9)
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=True, timeout=max(600, 20 * arguments.cap),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": "did not end"}
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or [f"exit code {error.returncode}"]
        memory = "MemoryError" in last[0] or "Unable to allocate" in last[0]
        return {"failed": f"more than {arguments.memory:g} GB" if memory else last[0][:80]}
    return json.loads(done.stdout)


def expect_whole_runs(rows: dict[str, dict[str, Any]], smaller: list[dict[str, Any]]) -> None:
    """Work out what a run stopped at the cap would have taken: the iterations that a smaller one needed, or else ours."""
    for method, row in rows.items():
        if not row.get("capped") or "each" not in row:
            continue
        theirs = [other for other in smaller if (other["method"], other["classes"]) == (method, row["classes"])]
        ours = [rows[name] for name in ("Dawid-Skene", "GLAD") if RIVAL[name] == method and name in rows]
        known = [other["iterations"] for other in theirs if "iterations" in other and "capped" not in other]
        row["whole"] = ([*(other["iterations"] for other in ours), *known] or [100])[-1]
        lengthen(row)


def lengthen(row: dict[str, Any]) -> None:
    """Take a row's times for those of ``whole`` iterations."""
    row["seconds"] = row["least"] = row["most"] = row["before"] + row["each"] * row["whole"]
    row["cpu"] = row["cpu_before"] + row["cpu_each"] * row["whole"]


def finish(row: dict[str, Any], machine: dict[str, Any]) -> dict[str, Any]:
    """Add nanoseconds per label and sweep, and the share of the machine's limit."""
    if "each" in row:
        row["nanoseconds"] = 1e9 * row["each"] / row["labels"]
    least = least_seconds(row["method"], row["classes"], PER_ITEM, row["labels"], machine) if row["method"] in OURS else None
    if least and "each" in row:
        row["share"] = least / row["each"]
    return row


def add_ratios(rows: list[dict[str, Any]]) -> None:
    """Add how many times faster each row is than its rival, in the whole and by iteration."""
    cell = {(row["labels"], row["classes"], row["method"]): row for row in rows}
    for (labels, classes, method), row in cell.items():
        rival = cell.get((labels, classes, RIVAL.get(method, "")), {})
        for name, key in (("ratio", "seconds"), ("ratio_cpu", "cpu"), ("ratio_each", "each")):
            if row.get(key) and rival.get(key):
                row[name] = rival[key] / row[key]
        if "ratio" in row:
            row["ratio_low"], row["ratio_high"] = rival["least"] / row["most"], rival["most"] / row["least"]


if __name__ == "__main__":
    main()
