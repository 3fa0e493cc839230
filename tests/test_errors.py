"""Errors name what the reader can set: options on the command line, parameters in Python."""

import inspect

import pytest

from crowdassay import ManyFacet, read_labels
from crowdassay.cli.main import COMMANDS, cli
from crowdassay.errors import FLAGS, RENAMED, VALUES, ColumnError, in_python
from crowdassay.measurement.ratings import read_ratings
from crowdassay.read_options import READING_OPTIONS


def test_the_command_line_and_python_have_their_own_names(run, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,a,b\n1,2,3\n4,5,6\n")
    code, _, err = run("aggregate", path, "--from", "plain")
    assert code == 2
    assert "--worker-column and --label-column" in err
    with pytest.raises(ColumnError, match="`worker_column` and `label_column`") as error:
        read_labels(path, format="plain")
    assert "--" not in str(error.value)
    with pytest.raises(ColumnError, match=r"There is no column 'team' for the group \(`group_column`\)"):
        ManyFacet(facets=["a", "b"]).fit(path, group_column="team")


def test_every_option_that_is_renamed_exists_on_both_sides():
    commands = [cli.get_command(None, name) for name in COMMANDS]
    options = {name.removeprefix("--") for command in commands for parameter in command.params for name in parameter.opts}
    assert {*FLAGS, *VALUES} <= options
    of_reading = {name for read in (read_labels, read_ratings) for name in inspect.signature(read).parameters}
    names = {RENAMED.get(name, name).replace("-", "_") for name in (*FLAGS, *VALUES)}
    assert set(READING_OPTIONS) <= names
    assert {name.replace("_", "-") for name in names - of_reading} <= options  # those of methods and of other commands


def test_values_that_look_like_options_stay():
    assert in_python("The class '--classes-x' and --item-columns") == "The class '--classes-x' and --item-columns"
