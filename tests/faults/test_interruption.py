"""Rows of docs/reliability.md on interruptions: signals, checkpoints, going on."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

from crowdassay.engines.recorded import Recording
from crowdassay.errors import CrowdassayError, DataError, FileError, ParameterError
from crowdassay.estimators.methods import METHODS
from crowdassay.io.journal import Answer, Journal, fingerprint
from crowdassay.model.simulate import simulate

LABELS, _ = simulate(np.random.default_rng(0), n_items=60, n_workers=9, n_classes=3)
PROMPT = 5.0  # seconds: one on an idle machine, but these tests share theirs
RESUMABLE = [name for name, method in METHODS.items() if method.estimator.resumable]


class Stopped(Exception):
    pass


def stop_after(count):
    left = [count]

    def progress(sweeps, objective):
        left[0] -= 1
        if not left[0]:
            raise Stopped

    return progress


@pytest.mark.parametrize(
    ("name", "steps"), [*((name, 2) for name in RESUMABLE), ("dawid-skene", 7), ("minimax", 7), ("assay", 7)]
)
def test_row_22_a_resumed_fit_is_the_unbroken_one(name, steps, tmp_path):
    unbroken = METHODS[name].make().fit(LABELS).result_
    with suppress(Stopped):  # or it is done by then
        METHODS[name].make().fit(LABELS, progress=Recording(Journal(tmp_path, "x", resume=False, every=0), stop_after(steps)))
    journal = Journal(tmp_path, "x", resume=True)
    assert journal.left > 1
    resumed = METHODS[name].make().fit(LABELS, progress=Recording(journal)).result_
    assert np.array_equal(resumed.posterior, unbroken.posterior)
    assert (resumed.objective, resumed.history, resumed.sweeps) == (unbroken.objective, unbroken.history, unbroken.sweeps)


def test_row_22_a_resumed_fit_of_large_data_is_the_unbroken_one(tmp_path):
    """Beyond 100,000 labels items carry nothing from pass to pass, and their coordinates are computed when read."""
    labels, _ = simulate(np.random.default_rng(0), n_items=21_000, n_workers=50, n_classes=2)
    unbroken = METHODS["minimax"].make().fit(labels).result_
    with pytest.raises(Stopped):
        METHODS["minimax"].make().fit(labels, progress=Recording(Journal(tmp_path, "x", resume=False, every=0), stop_after(2)))
    resumed = METHODS["minimax"].make().fit(labels, progress=Recording(Journal(tmp_path, "x", resume=True))).result_
    assert np.array_equal(resumed.posterior, unbroken.posterior)
    assert resumed.objective == unbroken.objective
    np.testing.assert_array_equal(resumed.tau, unbroken.tau)


def test_row_22_known_passes_are_not_computed_again(tmp_path, monkeypatch):
    from crowdassay.engines.local import LocalEngine

    progress = Recording(Journal(tmp_path, "x", resume=False, every=0), stop_after(5))
    with pytest.raises(Stopped):
        METHODS["dawid-skene"].make().fit(LABELS, progress=progress)
    calls, count = [], LocalEngine.count

    def counted(self, *arguments, **options):
        calls.append(options)
        return count(self, *arguments, **options)

    monkeypatch.setattr(LocalEngine, "count", counted)
    result = METHODS["dawid-skene"].make().fit(LABELS, progress=Recording(Journal(tmp_path, "x", resume=True))).result_
    assert len(calls) == result.sweeps - 5 + 1  # and the last pass, which fills the posterior


def test_row_22_a_checkpoint_of_something_else_is_refused(tmp_path):
    journal = Journal(tmp_path, "x", resume=False)
    journal.add(Answer("count", 1, "array", (np.arange(4.0),)), {})
    journal.save()
    with pytest.raises(ParameterError, match="--resume"):
        Journal(tmp_path, "x", resume=False)
    with pytest.raises(ParameterError, match="other labels, another method or other parameters"):
        Journal(tmp_path, "y", resume=True)
    with pytest.raises(DataError, match="does not fit this run"):
        METHODS["dawid-skene"].make().fit(LABELS, progress=Recording(Journal(tmp_path, "x", resume=True)))
    one, other = fingerprint(LABELS, "m", {"a": 1}), fingerprint(LABELS, "m", {"a": 2})
    gold = np.full(LABELS.n_items, -1)
    gold[0] = 1
    assert len({one, other, fingerprint(LABELS.with_gold(gold), "m", {"a": 1})}) == 3


def test_row_25_damaged_checkpoints_are_refused(tmp_path):
    journal = Journal(tmp_path, "x", resume=False)
    journal.add(Answer("count", 1, "array", (np.arange(4.0),)), {"items": np.zeros((2, 2))})
    journal.save()
    index, answers = tmp_path / "checkpoint.json", tmp_path / "answers-00000.arrow"
    good, whole = index.read_text(), answers.read_bytes()
    assert np.array_equal(Journal(tmp_path, "x", resume=True).pop().arrays[0], np.arange(4.0))
    for bad in (whole[:-9], whole[:300] + b"\1" + whole[301:], b""):
        answers.write_bytes(bad)
        with pytest.raises(DataError, match="is damaged"):
            Journal(tmp_path, "x", resume=True)
    for bad in ("", "{}", "[]", good[:-20], good.replace('"version": 1', '"version": 9')):
        index.write_text(bad)
        with pytest.raises(FileError, match=r"no checkpoint of ours|another version"):
            Journal(tmp_path, "x", resume=True)
    index.write_text(good.replace("answers-00000.arrow", "../../etc/passwd"))
    with pytest.raises(DataError, match="is damaged"):
        Journal(tmp_path, "x", resume=True)


def test_row_22_options_of_checkpoints(run, tmp_path):
    labels = write_labels(tmp_path, 60)
    for options, words in (
        (["--resume"], "--checkpoint"),
        (["--method", "kos", "--checkpoint", tmp_path / "c"], "keeps no checkpoints"),
    ):
        code, _, err = run("aggregate", labels, *options)
        assert code == 2
        assert words in err
    code, _, err = run("aggregate", labels, "--checkpoint", tmp_path / "c", "--resume", "--method", "dawid-skene")
    assert code == 0
    assert "starting anew" in err
    assert not list((tmp_path / "c").glob("*"))  # a fit that is done leaves none


def write_labels(folder, n_items, n_labels=5):
    generator = np.random.default_rng(1)
    path = folder / "labels.csv"
    rows = (f"i{n},w{generator.integers(40)},{generator.integers(4)}\n" for n in range(n_items) for _ in range(n_labels))
    path.write_text("item,worker,label\n" + "".join(rows))
    return path


def test_row_22_a_signal_ends_within_a_second_and_the_run_goes_on_later(run, tmp_path):
    labels = write_labels(tmp_path, 200)
    options = ["--method", "dawid-skene", "--tolerance", "0", "--max-sweeps", "40", "--json"]
    arguments = ["aggregate", labels, *options, "--checkpoint", tmp_path / "state"]
    whole = json.loads(run("aggregate", labels, *options)[1])
    # The child slows itself down, so that the signal comes in the middle of the fit.
    slow = (
        "import sys, time\nfrom crowdassay.engines.local import LocalEngine\nfrom crowdassay.cli.main import main\n"
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
    assert "Interrupted; the checkpoint is in" in words
    assert "Traceback" not in words
    code, out, err = run(*arguments, "--resume")
    assert code == 0
    assert "passes are known" in err
    resumed = json.loads(out)
    assert resumed["objective"] == whole["objective"]
    assert resumed["mean_probability"] == whole["mean_probability"]


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


def test_row_22_a_checkpoint_that_cannot_be_saved_is_said(tmp_path, monkeypatch):
    from crowdassay.cli.checkpoint import start_recording
    from crowdassay.cli.ending import Ending

    ending = Ending()
    estimator = METHODS["dawid-skene"].make()
    options = {"checkpoint": tmp_path / "c", "resume": False}
    progress = start_recording(estimator, LABELS, options, ending, stop_after(3), None)
    with pytest.raises(Stopped):
        estimator.fit(LABELS, progress=progress)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert "could not be saved" in ending.last_words()
    assert "go on with --resume" in ending.last_words()
    with pytest.raises(CrowdassayError):
        start_recording(estimator, LABELS, options, ending, None, None)
