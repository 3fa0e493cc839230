"""Rows of docs/reliability.md on interruptions: signals end a run promptly, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

PROMPT = 5.0  # seconds: one on an idle machine, but these tests share theirs


def write_labels(folder, n_items, n_labels=5):
    generator = np.random.default_rng(1)
    path = folder / "labels.csv"
    rows = (f"i{n},w{generator.integers(40)},{generator.integers(4)}\n" for n in range(n_items) for _ in range(n_labels))
    path.write_text("item,worker,label\n" + "".join(rows))
    return path


@pytest.mark.slow
def test_row_22_a_signal_ends_within_a_second_and_nothing_is_written(tmp_path):
    labels = write_labels(tmp_path, 200)
    options = ["--method", "dawid-skene", "--tol", "0", "--max-iter", "40", "--json"]
    arguments = ["aggregate", labels, *options, "--out", tmp_path / "results"]
    # The child slows itself down, so that the signal comes in the middle of the fit.
    slow = (
        "import sys, time\nfrom crowdassay.engines.memory.engine import LocalEngine\nfrom crowdassay.cli.main import main\n"
        "count = LocalEngine.count\n"
        "def slowly(*a, **k):\n    print('pass', file=sys.stderr, flush=True)\n    time.sleep(0.1)\n    return count(*a, **k)\n"
        "LocalEngine.count = slowly\nmain(sys.argv[1:])\n"
    )
    child = subprocess.Popen([sys.executable, "-c", slow, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
    for _ in range(8):
        child.stderr.readline()
    started = time.monotonic()
    os.kill(child.pid, signal.SIGTERM)
    words = child.communicate(timeout=30)[1]
    assert child.returncode == 3, words
    assert time.monotonic() - started < PROMPT
    assert "Interrupted; nothing was written." in words
    assert "Traceback" not in words
    assert not (tmp_path / "results").exists()


def test_row_22_compiled_code_does_not_delay_the_end(tmp_path):
    """A thread deaf to signals, as compiled code is, holds the process up no longer than a second."""
    deaf = (
        "import ctypes\nfrom crowdassay.cli import main as m\n"
        "def deaf(*a, **k):\n    print('begun', flush=True)\n    ctypes.CDLL(None).sleep(20)\n"
        "m.cli.main = deaf\nm.main(['methods'])\n"
    )
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    started = time.monotonic()
    os.kill(child.pid, signal.SIGINT)
    words = child.communicate(timeout=30)[1]
    assert child.returncode == 3
    assert time.monotonic() - started < PROMPT
    assert "Interrupted; nothing was written." in words


def test_m19_ctrl_c_is_heard_in_tests_whoever_started_them():
    """A shell in the background ignores Ctrl-C, and so does whatever it starts."""
    code = (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nimport conftest\nconftest.pytest_configure()\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
