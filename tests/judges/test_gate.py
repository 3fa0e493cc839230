"""Conditions for continuous integration."""

import pytest

from crowdassay.errors import DataError, ParameterError
from crowdassay.judges.gate import check_condition, parse_condition

FACTS = {
    "rate": {"pass": {"estimate": 0.91, "low": 0.85, "high": 0.95}, "v1.2 fail": {"low": 0.1}},
    "worth": 2.5,
    "n_people_labels": 50,
    "judges": [{"judge": "gpt-4.1", "accuracy": {"low": 0.7}, "kappa": None}],
    "by": {"model.a": {"rate": {"pass": {"low": 0.4}}}},
}


@pytest.mark.parametrize(
    ("text", "failed", "value"),
    [
        ("pass_rate.low < 0.9", True, 0.85),
        ("pass_rate.low<0.8", False, 0.85),
        ("rate.pass.high >= 95%", True, 0.95),
        ("pass.estimate > 0.5", True, 0.91),
        ("worth < 3", True, 2.5),
        ("n_people_labels < 30", False, 50),
        ("v1.2 fail_rate.low > 0.05", True, 0.1),
        ("judges.gpt-4.1.accuracy.low < 0.8", True, 0.7),
        ("by.model.a.rate.pass.low <= 0.4", True, 0.4),
    ],
)
def test_conditions_hold_or_not(text, failed, value):
    assert check_condition(parse_condition(text), FACTS) == (failed, value)


@pytest.mark.parametrize("text", ["", "pass_rate.low", "pass_rate.low < high", "< 3", "a << 3"])
def test_what_is_no_condition_is_a_sentence(text):
    with pytest.raises(ParameterError, match=r"pass_rate\.low < 0\.9|there is no"):
        check_condition(parse_condition(text), FACTS)


def test_unknown_and_undefined_names():
    with pytest.raises(ParameterError, match=r"there is no 'pas_rate\.low'"):
        check_condition(parse_condition("pas_rate.low < 1"), FACTS)
    with pytest.raises(DataError, match="could not be told"):
        check_condition(parse_condition("judges.gpt-4.1.kappa < 1"), FACTS)
