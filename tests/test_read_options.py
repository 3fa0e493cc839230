"""The options of reading are declared once; everything else follows from the declaration."""

import inspect

import pytest

from crowdassay import as_labels, read_labels
from crowdassay.cli.aggregate import aggregate
from crowdassay.cli.agreement import agreement
from crowdassay.cli.compare import compare
from crowdassay.cli.convert import convert
from crowdassay.cli.options import HEADINGS, read_options
from crowdassay.cli.update import update
from crowdassay.errors import ParameterError, in_python
from crowdassay.estimators.votes import MajorityVote
from crowdassay.read_options import PLACES, READING_FLAGS, READING_OPTIONS, ReadOptions, flag

THREE = (["a", "a", "b"], ["u", "v", "u"], ["x", "y", "x"])


@pytest.mark.parametrize("command", [aggregate, agreement, compare, convert, update], ids=lambda command: command.name)
def test_every_command_has_every_option_under_a_heading(command):
    found = {parameter.name: parameter for parameter in command.params}
    placed = {name for names in HEADINGS.values() for name in names}
    for name, option in READING_OPTIONS.items():
        if command is update and name == "classes":
            assert name not in found  # the model's own
            continue
        assert flag(name) in found[name].opts
        assert found[name].help == option.metadata["help"]
        assert name in placed


def test_python_has_the_same_names_and_messages_use_them():
    for function in (read_labels, as_labels):
        parameters = inspect.signature(function).parameters
        assert {name: parameters[name].default for name in READING_OPTIONS} == {
            name: one.default for name, one in READING_OPTIONS.items()
        }
        for name in READING_OPTIONS:
            assert f"\n    {name} : " in function.__doc__
    for name in READING_OPTIONS:
        assert f"`{name}" in in_python(f"say {flag(name)}.")
    assert all(f"`{name}=True`" in in_python(f"say {flag(name)}.") for name in READING_FLAGS)


def test_the_command_lines_defaults_ask_for_nothing():
    given = convert.make_context("convert", ["labels.csv", "--out", "out.csv"], help_option_names=["-h", "--help"]).params
    assert read_options(given).set() == []
    assert read_options({**given, "classes": "no, yes", "bins": "1,2"}).classes == ("no", "yes")


def test_what_a_place_cannot_heed_it_refuses_in_words():
    for place in PLACES:
        assert ReadOptions().refusal(place) is None
        for name, option in READING_OPTIONS.items():
            value = True if name in READING_FLAGS else option.metadata.get("choices", ("x",))[0]
            asked = ReadOptions.of({name: value})
            reason = option.metadata["without"].get(place)
            if asked.set() and reason:
                assert asked.refusal(place).startswith(flag(name))
                assert asked.refusal(place).endswith(".")
            else:
                assert asked.refusal(place) is None


def test_fit_takes_them_too():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"task_name": THREE[0], "who": THREE[1], "said": THREE[2]})
    columns = {"item_column": "task_name", "worker_column": "who", "label_column": "said"}
    fitted = MajorityVote().fit(frame, **columns, missing="y")
    assert fitted.result_.labels.n_labels == 2
    with pytest.raises(TypeError, match="no reading option 'colour'"):
        MajorityVote().fit(frame, colour="red")
    with pytest.raises(ParameterError, match="encoded already"):
        MajorityVote().fit(as_labels(THREE), repeats="last")
