"""Slips on the command line: one sentence, the right exit code, and nothing changed on disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crowdassay.errors import FileError
from crowdassay.labels.write import write_bytes

ROWS = "item,worker,label\na,v,x\na,w,y\nb,v,x\nb,w,x\n"


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def refused(run, tmp_path):
    """Run a command that must be refused as wrong usage, leaving all files as they are; return what it says."""

    def call(*arguments):
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), err
        assert "Traceback" not in err
        assert "should not have" not in err
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        return err.strip().splitlines()[-1]

    return call


def test_an_empty_path_is_not_the_folder_one_stands_in(refused, labels, monkeypatch):
    monkeypatch.chdir(labels.parent)
    assert refused("aggregate", "") == "Error: The path is empty; name a file."
    for command in (("aggregate", labels), ("agreement", labels), ("convert", labels), ("simulate",)):
        assert "the path is empty; was a variable not set?" in refused(*command, "--out", "")
    assert "the path is empty" in refused("update", "", labels)


def test_what_is_read_is_not_written_over(refused, labels, tmp_path):
    os.symlink(labels, tmp_path / "link.csv")
    for out in (labels, tmp_path / "link.csv"):
        assert "is read by this command and would be written over" in refused("convert", labels, "--out", out)
        assert "would be written over" in refused("aggregate", labels, "--method", "majority", "--next", out)


def test_what_somebody_keeps_under_our_names_is_not_simulated_over(refused, run, labels, tmp_path):
    assert "holds 'labels.csv' but no simulation.json" in refused("simulate", "--out", labels.parent)
    (labels.parent / "truth.csv").write_text("item,label\na,x\n")  # the truth beside the labels, as people keep it
    assert "but no simulation.json of ours" in refused("simulate", "--out", labels.parent)
    for _ in range(2):  # what was simulated may be simulated again
        assert run("simulate", "--out", tmp_path / "drawn", "--items", 5)[0] == 0


@pytest.mark.parametrize("name", ["page.txt", "."])
def test_the_papers_page_is_html(refused, tmp_path, name):
    (tmp_path / "page.txt").write_text("mine")
    assert "must end in .html" in refused("reproduce", 1, "--html", tmp_path / name)


def test_items_to_label_next_are_csv(refused, labels, tmp_path):
    assert "must end in .csv" in refused("aggregate", labels, "--next", tmp_path / "next.doc")


def test_a_pipe_or_device_is_neither_read_nor_replaced(refused, labels, tmp_path):
    """A pipe cannot be read twice, so that the command would wait for ever; a device that is replaced breaks the machine."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for arguments in ((pipe,), (labels, pipe), (labels, "--truth", pipe), (labels, "--gold", pipe)):
        assert "is a pipe or a device; write what it gives to a file" in refused("aggregate", *arguments)
    with pytest.raises(FileError, match=r"could not be written \(it is a folder, a pipe or a device\)"):
        write_bytes(b"new", pipe)
    assert "a pipe or a device" in refused("convert", labels, "--out", pipe)
    assert pipe.is_fifo()


def test_paths_that_can_be_none(refused, labels, tmp_path):
    long = tmp_path / ("x" * 300)
    assert "There is no file" in refused("aggregate", f"{long}.csv")
    assert "There is no file" in refused("update", long, labels)
    for command in (("aggregate", labels), ("agreement", labels), ("simulate",)):
        assert "cannot be a folder for results (File name too long)" in refused(*command, "--out", long)
    assert "File name too long" in refused("aggregate", labels, "--method", "majority", "--save-model", long)
    assert "File name too long" in refused("aggregate", labels, "--method", "majority", "--report", f"{long}.html")
    assert "There is nothing at https://127.0.0.1:9/labels.csv" in refused("aggregate", "https://127.0.0.1:9/labels.csv")


def test_no_input_is_left_out_silently(refused, labels, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no file of labels" in refused("aggregate", labels, tmp_path / "empty")
    assert "No file matches" in refused("aggregate", labels, tmp_path / "day-*.csv")


def test_the_nearest_method_is_named(refused, labels):
    assert "did you mean 'dawid-skene'?" in refused("aggregate", labels, "--method", "Dawid-Sken")
    assert "did you mean 'majority'?" in refused("compare", labels, "--methods", "majoriti")


def test_numbers_that_make_no_sense(refused, labels, tmp_path):
    assert "resamples must be at most 1,000,000" in refused("agreement", labels, "--resamples", 10**20)
    assert "seed must be" in refused("agreement", labels, "--seed", -1)
    assert "seed must be" in refused("compare", labels, "--methods", "majority,wawa", "--seed", -1)
    for option, value in (("--items", 10**20), ("--skill", "nan"), ("--spammers", "inf"), ("--classes", 10**9)):
        assert "must be" in refused("simulate", "--out", tmp_path / "drawn", option, value)


def shell(command, **environment):
    """Run a command by the shell; return its exit code and what it says to people."""
    program = f"{sys.executable} -m crowdassay"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command.replace('crowdassay', program, 1)}"],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    return done.returncode, done.stdout.decode("ascii", errors="replace"), done.stderr.decode()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_reader_that_has_seen_enough_and_a_full_disk(labels):
    assert shell(f"crowdassay agreement {labels} --resamples 0 | head -1")[::2] == (0, "")
    if Path("/dev/full").is_char_device():
        code, _, err = shell("crowdassay methods > /dev/full")
        assert (code, err) == (1, "Error: Nothing more can be written (No space left on device); free some space.\n")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_terminal_that_knows_no_more_than_ascii(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(ROWS.replace("b,", "\N{GRINNING FACE},").replace("w,", "wé,"), encoding="utf-8")
    code, out, err = shell(f"crowdassay agreement {path} --resamples 0", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert "w?" in out
