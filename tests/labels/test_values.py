from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdassay.labels.values import as_text, listed, number_key, number_of, shown, shown_file, text_of


def test_messages_stay_on_one_line_and_short():
    assert shown("a\r\n\0b") == "'a\\r\\n\\x00b'"
    assert len(shown("x" * 10_000)) == 62
    assert shown_file("x" * 200) == f"'{'x' * 200}'"
    assert listed("abcd", limit=2) == "'a', 'b' and 2 more"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1", "1"),
        ("1.0", "1"),
        ("1e2", "100"),
        ("-0", "0"),
        (".50", "0.5"),
        ("+3", "3"),
        ("01", None),
        ("00", None),
        ("0", "0"),
        ("0.5", "0.5"),
        (" 1", None),
        ("1_0", None),
        ("nan", None),
        ("1e999", None),
        ("", None),
        ("١", None),
    ],
)
def test_number_key(text, key):
    assert number_key(text) == key


@given(st.integers())
def test_long_whole_numbers_keep_all_digits(number):
    assert float(number_key(f"{number}.0") or "nan") == float(number)
    if abs(number) < 10**20:
        assert number_key(f"{number}.0") == str(number)


def test_different_long_numbers_have_different_keys():
    digits = "1" * 60
    assert number_key(digits + "1") != number_key(digits + "2")


def test_number_of_ignores_outer_spaces_only():
    assert number_of(" 10 ") == 10
    assert number_of("1 0") is None


@pytest.mark.parametrize("values", [[1, -2], [True, False], ["01", "x"], [1.5, 2.25]])
def test_one_value_and_an_array_are_written_alike(values):
    assert [text_of(value) for value in values] == as_text(pa.array(values)).to_pylist()
