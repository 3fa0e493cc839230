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
    "largest frame above; crowd-kit reads it with pandas.read_csv and writes one label per item."
)
PANDAS = (
    "import sys, pandas as pd\nfrom crowdkit.aggregation import MajorityVote\n"
    "MajorityVote().fit_predict(pd.read_csv(sys.argv[1])).to_csv(sys.argv[2])\n"
)


def measure_commands(frame: Path) -> dict[str, tuple[float, float]]:
    """Return seconds on the clock and of the processor by command, the best of three for the quick ones."""
    crowdassay = [sys.executable, "-m", "crowdassay"]
    small = [*crowdassay, "aggregate", EXAMPLE, "--quiet"]
    found = {
        "crowdassay --help": best([*crowdassay, "--help"]),
        "import crowdassay": best([sys.executable, "-c", "import crowdassay"]),
        "import of nothing": best([sys.executable, "-c", ""]),
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        cache = {"NUMBA_CACHE_DIR": str(place / "cache")}
        found["small file, first compile"] = once(small, cache)
        found["small file, once compiled"] = best(small, cache)
        found["small file, minimax, first compile"] = once([*small, "--method", "minimax"], cache)
        found["small file, minimax, once compiled"] = best([*small, "--method", "minimax"], cache)
        table, out = place / "labels.csv", place / "out"
        pd.read_feather(frame).to_csv(table, index=False)
        for method in ("majority", "dawid-skene", "assay"):
            large = [*crowdassay, "aggregate", table, "--quiet", "--out", out, "--method", method]
            once([*large[:4], EXAMPLE, *large[5:]])  # compiles
            found[f"large CSV, --method {method}, four tables written"] = once(large)
            shutil.rmtree(out)
        with suppress(subprocess.CalledProcessError):  # crowd-kit may be missing
            theirs = [sys.executable, "-c", PANDAS, table, place / "theirs"]
            found["large CSV, pandas and crowd-kit majority vote"] = once(theirs)
    return found


def best(command: list[object], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Return the quickest of three runs."""
    return min(once(command, environment) for _ in range(3))


def once(command: list[object], environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Return the seconds a command takes, and those of all its threads."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, capture_output=True, env={**os.environ, **(environment or {})})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
