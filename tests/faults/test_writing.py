"""Rows of docs/reliability.md on writing: at every moment there is the old result or the complete new one."""

import csv
import errno
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.errors import FileError
from crowdassay.estimators.votes import MajorityVote
from crowdassay.labels import folder as folders
from crowdassay.labels.folder import RESULT_TABLES, check_results
from crowdassay.results.summary import summarise
from crowdassay.results.write import write_result

LABELS, _ = simulate(np.random.default_rng(1), n_items=20, n_workers=6, n_classes=2)
RESULT = MajorityVote().fit(LABELS).result_
KILLS = Path(__file__).with_name("kills.py")
CALLS = ("fsync", "rename", "replace", "mkdir", "link")


def save(folder, mark, form="csv"):
    write_result(RESULT, {**summarise(RESULT, "majority"), "mark": mark}, folder, form)


def mark_of(folder):
    """Return the mark of a complete result; fail if it is not complete."""
    assert sorted(path.name for path in folder.iterdir() if path.name != "notes.txt") == sorted(
        [*(f"{name}.csv" for name in RESULT_TABLES if name != "confusion"), "summary.json"]  # that one is for many classes
    )
    assert len((folder / "labels.csv").read_text().splitlines()) == 21
    return json.loads((folder / "summary.json").read_text())["mark"]


class Shaky(io.BufferedWriter):
    """A file whose methods can be replaced."""


class Faults:
    """Fail the n-th call of the kind of system call that writing needs, as a full or broken disk does."""

    def __init__(self, monkeypatch, nth, error=errno.ENOSPC):
        self.calls, self.nth, self.error = 0, nth, error
        for name in CALLS:
            monkeypatch.setattr(os, name, self.failing(getattr(os, name)))
        monkeypatch.setattr(folders, "_exchange", self.failing(folders._exchange))
        real = Path.open

        def shaky(path, mode="r", *arguments, **options):
            if "x" not in mode:
                return real(path, mode, *arguments, **options)
            stream = Shaky(io.FileIO(path, "x"))
            stream.write = self.failing(stream.write)
            return stream

        monkeypatch.setattr(Path, "open", shaky)

    def failing(self, call):
        def maybe(*arguments, **options):
            self.calls += 1
            if self.calls == self.nth:
                raise OSError(self.error, os.strerror(self.error))
            return call(*arguments, **options)

        return maybe


@pytest.mark.slow
@pytest.mark.parametrize("standing", ["new", "old", "mounted"])
def test_row_23_every_step_may_fail(tmp_path, standing):
    """Fail the first call that writes, then the second, and so on until none is left to fail."""
    nth, failed = 0, 0
    while True:
        nth += 1
        target = tmp_path / str(nth) / "results"
        if standing != "new":
            save(target, "old")
            (target / "notes.txt").write_text("mine")
        with pytest.MonkeyPatch.context() as patch:
            if standing == "mounted":
                patch.setattr(os.path, "ismount", lambda path, target=target: Path(path) == target)
            faults = Faults(patch, nth)
            try:
                save(target, "new")
            except FileError as error:
                failed += "No space left on device" in str(error)
        hidden = [path for path in target.parent.rglob(".*") if path.is_dir()]
        assert not hidden, "a temporary folder stayed"
        if faults.calls < nth:
            break
        if standing == "mounted":  # files are replaced one by one, and the summary says when all of them are
            if (target / "summary.json").exists():
                assert mark_of(target) in {"old", "new"}
        elif standing == "old":
            assert mark_of(target) in {"old", "new"}
            assert (target / "notes.txt").read_text() == "mine"
        elif target.exists():
            assert mark_of(target) == "new"
    assert failed >= 10  # a call that only makes the names durable may fail without harm
    assert mark_of(target) == "new"


def test_row_22_the_old_result_is_there_until_the_new_one_is(tmp_path, monkeypatch):
    target = tmp_path / "results"
    save(target, "old")
    seen = []
    fsync = os.fsync

    def look(handle):
        seen.append(mark_of(target))
        return fsync(handle)

    monkeypatch.setattr(os, "fsync", look)
    save(target, "new")
    assert seen[0] == "old"
    assert seen == sorted(seen, key=["old", "new"].index)
    assert mark_of(target) == "new"


def test_row_22_without_exchange_the_old_folder_steps_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    save(tmp_path / "results", "old")
    save(tmp_path / "results", "new")
    assert mark_of(tmp_path / "results") == "new"
    assert os.listdir(tmp_path) == ["results"]


@pytest.mark.slow
def test_row_22_killed_at_random_moments():
    """A few of the kills of which `python tests/faults/kills.py 100` makes a hundred."""
    ended = subprocess.run([sys.executable, KILLS, "6"], capture_output=True, check=True, text=True)
    told = json.loads(ended.stdout)
    assert told["killed"] == 6
    assert told["broken"] == 0
    assert told["complete"] == 6


def test_row_23_another_format_leaves_nothing_stale(tmp_path):
    save(tmp_path / "results", "old", "parquet")
    save(tmp_path / "results", "new")
    assert mark_of(tmp_path / "results") == "new"


def test_row_23_what_is_not_ours_is_not_overwritten(run, tmp_path, monkeypatch):
    labels = tmp_path / "labels.csv"
    rows = "".join(f"i{n},w{w},{(n + w) % 2}\n" for n in range(6) for w in range(3))
    labels.write_text("item,worker,label\n" + rows)
    code, _, err = run("aggregate", labels, "--out", tmp_path)
    assert code == 2
    assert "holds 'labels.csv' but no summary.json" in err
    assert "i5,w2" in labels.read_text()
    monkeypatch.chdir(tmp_path)
    assert run("aggregate", labels, "--out", ".")[0] == 2
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert run("aggregate", labels, "--out", ".", "--quiet")[0] == 0  # the folder we stand in is filled, not replaced
    assert (Path("labels.csv")).exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_row_23_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="Permission denied"):
        check_results(tmp_path / "results")


def test_row_23_paths_that_cannot_be(run, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("item,worker,label\na,v,x\na,w,y\n")
    for out in (labels, labels / "results"):
        code, _, err = run("aggregate", labels, "--out", out)
        assert code == 2
        assert "is a file" in err
    (tmp_path / "folder.csv").mkdir()
    assert run("aggregate", tmp_path / "folder.csv", "--out", tmp_path / "r")[0] == 2  # a folder where a file should be
    assert run("aggregate", labels, "--truth", tmp_path / "folder.csv")[0] == 2
    assert run("convert", labels, "--out", tmp_path / "gone" / "a.csv")[0] == 0
    code, _, err = run("convert", labels, "--out", tmp_path / "folder.csv")
    assert code == 2
    assert "could not be written" in err
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "gone", "labels.csv"]


def test_row_23_a_vanishing_input(run, tmp_path, monkeypatch):
    from crowdassay.labels import probe

    labels = tmp_path / "labels.csv"
    labels.write_text("item,worker,label\na,v,x\na,w,y\n")
    sniff = probe.sniff

    def sniff_and_vanish(start, path):
        found = sniff(start, path)
        path.unlink()
        return found

    monkeypatch.setattr(probe, "sniff", sniff_and_vanish)
    code, _, err = run("aggregate", labels, "--out", tmp_path / "r")
    assert code == 2
    assert "'labels.csv' cannot be read (No such file or directory)" in err
    assert os.listdir(tmp_path) == []


def test_row_24_out_of_memory_is_a_message(run, tmp_path, monkeypatch):
    labels = tmp_path / "labels.csv"
    labels.write_text("item,worker,label\na,v,x\na,w,y\n")

    def exhausted(*_, **__):
        raise MemoryError

    monkeypatch.setattr(MajorityVote, "solve", exhausted)
    code, _, err = run("aggregate", labels, "--method", "majority")
    assert code == 1
    assert err.startswith("Error: Not enough memory")


def test_row_27_formulas(run, tmp_path):
    names = ["=HYPERLINK(1)", "@SUM", "-1+1", "\tx", "+a", "plain"]
    labels = tmp_path / "labels.csv"
    with labels.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["item", "worker", "label"])
        writer.writerows([item, name, label] for item, label in (("=1", "-1"), ("b", "2")) for name in names)
    for raw in (False, True):
        out = tmp_path / f"results-{raw}"
        options = ["--raw"] if raw else []
        assert run("aggregate", labels, "--method", "majority", "--out", out, *options)[0] == 0
        with (out / "workers.csv").open(newline="") as stream:
            workers = [row["worker"] for row in csv.DictReader(stream)]
        assert workers == (names if raw else ["'" + name if name != "plain" else name for name in names])
        with (out / "labels.csv").open(newline="") as stream:
            assert [row["label"] for row in csv.DictReader(stream)] == ["-1", "2"]
    shutil.rmtree(out)


def test_what_nobody_thought_of_is_one_line(run, tmp_path, monkeypatch):
    labels = tmp_path / "labels.csv"
    labels.write_text("item,worker,label\na,v,x\na,w,y\n")

    def broken(*_, **__):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(MajorityVote, "solve", broken)
    code, _, err = run("aggregate", labels, "--method", "majority")
    assert code == 1
    assert err.startswith("Error: Something went wrong that should not have (ZeroDivisionError: by zero); please report it")
    assert err.count("\n") == 1
