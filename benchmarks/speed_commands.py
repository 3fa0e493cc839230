"""How long the command line takes: to say what it can do, on a small file, after installation, and on a large CSV."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd

EXAMPLE = Path(__file__).parents[1] / "examples" / "labels.csv"
COMMANDS_NOTE = (
    "The small file is examples/labels.csv. The first compile is the same command with an empty cache. The large CSV is the "
    "largest frame above; its commands take turns, three times, and the median counts, with the fewest and the most seconds. "
    "crowd-kit reads it with pandas.read_csv and writes one label per item."
)
READ = "import sys, pandas as pd\npd.read_csv(sys.argv[1])\n"
PANDAS = (
    "import sys, pandas as pd\nfrom crowdkit.aggregation import MajorityVote\n"
    "MajorityVote().fit_predict(pd.read_csv(sys.argv[1])).to_csv(sys.argv[2])\n"
)
TURNS = 3
COMPILED = 400_000  # rows of a file that makes all be compiled that a longer one needs
Seconds = tuple[float, float]


def measure_commands(frame: Path) -> dict[str, list[Seconds]]:
    """Return seconds on the clock and of the processor of every run by command, the best of three for the quick ones."""
    crowdassay = [sys.executable, "-m", "crowdassay"]
    small = [*crowdassay, "aggregate", EXAMPLE, "--quiet"]
    found = {
        "crowdassay --help": [best([*crowdassay, "--help"])],
        "import crowdassay": [best([sys.executable, "-c", "import crowdassay"])],
        "import of nothing": [best([sys.executable, "-c", ""])],
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        cache = {"NUMBA_CACHE_DIR": str(place / "cache")}
        found["small file, first compile"] = [once(small, cache)]
        found["small file, once compiled"] = [best(small, cache)]
        found["small file, minimax, first compile"] = [once([*small, "--method", "minimax"], cache)]
        found["small file, minimax, once compiled"] = [best([*small, "--method", "minimax"], cache)]
        labels = pd.read_feather(frame)
        for table, rows in (("first.csv", COMPILED), ("labels.csv", len(labels))):
            labels.head(rows).to_csv(place / table, index=False)
        for command in large_commands(crowdassay, place / "first.csv", place / "out").values():
            with suppress(subprocess.CalledProcessError):  # crowd-kit may be missing
                once(command)  # compiles
        for _ in range(TURNS):
            for name, command in large_commands(crowdassay, place / "labels.csv", place / "out").items():
                shutil.rmtree(place / "out", ignore_errors=True)
                with suppress(subprocess.CalledProcessError):
                    taken = once(command)
                    found.setdefault(f"large CSV, {name}", []).append(taken)
    return found


def large_commands(crowdassay: list[str], table: Path, out: Path) -> dict[str, list[object]]:
    """Return the commands that a large file is measured by."""
    found: dict[str, list[object]] = {
        f"--method {method}, four tables written": [
            *crowdassay, "aggregate", table, "--quiet", "--out", out, "--method", method,
        ]
        for method in ("majority", "dawid-skene", "assay")
    }  # fmt: skip
    found["--method assay, four tables and the report"] = [
        *found["--method assay, four tables written"], "--report", out.with_suffix(".html"),
    ]  # fmt: skip
    found["agreement with intervals"] = [*crowdassay, "agreement", table, "--json"]
    found["pandas.read_csv alone"] = [sys.executable, "-c", READ, table]
    found["pandas and crowd-kit majority vote"] = [sys.executable, "-c", PANDAS, table, out.with_suffix(".theirs")]
    return found


def best(command: list[object], environment: dict[str, str] | None = None) -> Seconds:
    """Return the quickest of three runs."""
    return min(once(command, environment) for _ in range(3))


def once(command: list[object], environment: dict[str, str] | None = None) -> Seconds:
    """Return the seconds a command takes, and those of all its threads."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env={**os.environ, **(environment or {})})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
