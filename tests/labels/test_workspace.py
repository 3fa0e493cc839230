import subprocess
import sys

import pytest

from crowdassay.errors import FileError
from crowdassay.labels.workspace import workspace

KILLED = """
import os, signal, sys
from crowdassay.labels.workspace import workspace
with workspace(sys.argv[1]) as folder:
    (folder / "labels.parquet").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_is_gone_afterwards(tmp_path):
    def fail():
        with workspace(tmp_path) as folder:
            (folder / "x").write_text("x")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    (left,) = tmp_path.glob("crowdassay-*/labels.parquet")
    with workspace(tmp_path) as folder:
        assert not left.exists()
        with workspace(tmp_path) as other:  # a run beside this one leaves it alone
            assert folder.is_dir()
            assert other != folder
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="--temp-dir"), workspace(tmp_path / "file" / "inside"):
        pass
