"""What is said of an interruption is true: nothing, something, or either was written."""

import signal
import subprocess
import time

import click
import pytest

from crowdassay.cli.running import Ending, noting
from support.databases import PYTHON, environment
from support.service import RUN


def test_last_words_say_what_was_written():
    ending = Ending()
    assert ending.last_words() == "Interrupted; nothing was written."

    @click.command
    def command():
        with noting("the tables in 'out'"):
            assert ending.last_words() == (
                "Interrupted while writing the tables in 'out': it is the old one or the new one, complete."
            )
        assert ending.last_words() == "Interrupted; the tables in 'out' had been written."
        with noting("'report.html'"):
            pass
        assert ending.last_words() == "Interrupted; the tables in 'out' and 'report.html' had been written."
        with noting("the model in 'm'"):
            raise KeyboardInterrupt

    with pytest.raises(click.exceptions.Abort):
        command.main([], standalone_mode=False, obj=ending)
    assert ending.last_words() == (
        "Interrupted while writing the model in 'm': it is the old one or the new one, complete. "
        "Written before that: the tables in 'out' and 'report.html'."
    )


@pytest.mark.slow
def test_interrupted_updates_say_whether_the_model_is_new(run, tmp_path):
    labels, new, model = (tmp_path / name for name in ("labels.csv", "new.csv", "model"))
    labels.write_text("\n".join(["item,worker,label", *(f"i{j},w{i},{(j * i) % 2}" for j in range(300) for i in range(5))]))
    assert run("aggregate", labels, "--method", "majority", "--save-model", model, "--quiet")[0] == 0
    code = f"import sys\nimport crowdassay.results.saved.merge, crowdassay.estimators.load\nprint('up', flush=True)\n{RUN}"
    told = set()
    for turn in range(4):
        new.write_text(f"item,worker,label\ni0,late{turn},1\n")
        before = (model / "model.json").read_bytes()
        command = [PYTHON, "-c", code, "update", str(model), str(new), "--out", str(tmp_path / "out"), "--quiet"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        process.stdout.readline()
        time.sleep(0.05 + 0.12 * turn)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        changed = (model / "model.json").read_bytes() != before
        told.add(said.partition("'")[0].strip())
        if "nothing was written" in said:
            assert not changed, said
        elif "model in" in said and "had been written" in said and "while writing the model" not in said:
            assert changed, said
    assert told  # at least one of the ways to end was seen
