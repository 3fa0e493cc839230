from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.classes import arrange_classes, binned, class_coder, many_classes


def arrange(values, classes=None, kind=None):
    vocabulary = pa.array(values, kind)
    found, codes, notes = arrange_classes(vocabulary, np.arange(1, len(values) + 1), classes)
    return found.to_pylist(), codes.tolist(), notes


@pytest.mark.parametrize(
    ("seen", "order"),
    [
        (["b", "a", "C"], ["C", "a", "b"]),
        (["10", "9", "-1"], ["-1", "9", "10"]),
        (["10", "9", "a"], ["10", "9", "a"]),
        (["02", "10", "01"], ["01", "02", "10"]),
        ([10, 9, -1], [-1, 9, 10]),
        ([True, False], [False, True]),
    ],
)
def test_order(seen, order):
    found, codes, notes = arrange(seen)
    assert found == order
    assert [found[code] for code in codes] == seen
    assert notes == []


def test_texts_equal_as_numbers_are_one_class_in_shortest_form():
    found, codes, notes = arrange(["1.0", "2.0", "1", "10"])
    assert found == ["1", "2", "10"]
    assert codes == [0, 1, 0, 2]
    assert notes == ["Labels equal as numbers were taken as one class each: '1', '1.0'."]


def test_numerals_stay_as_written_when_none_are_equal():
    assert arrange(["1.0", "2.0"])[0] == ["1.0", "2.0"]


def test_leading_zeros_mean_codes():
    assert arrange(["01", "1", "1.0"]) == (["01", "1", "1.0"], [0, 1, 2], [])


def test_variants_are_kept_apart_with_a_note():
    found, _, notes = arrange(["Yes", "yes ", "no"])
    assert found == ["Yes", "no", "yes "]
    assert len(notes) == 1
    assert "'Yes', 'yes '" in notes[0]
    assert "'no'" not in notes[0]
    assert len(arrange(["e\u0301", "é"])[2]) == 1


def test_given_classes_decide_order_and_keep_unseen_ones():
    assert arrange(["a", "c"], ["c", "b", "a"]) == (["c", "b", "a"], [2, 0], [])


def test_given_classes_are_compared_as_text_and_keep_the_type():
    assert arrange([2, 1], ["1", "2", "3"]) == ([1, 2, 3], [1, 0], [])
    assert arrange(["2.0", "1"], [1, 2]) == (["1", "2"], [1, 0], [])
    assert arrange([True, False], ["True", "False"]) == ([True, False], [0, 1], [])
    assert arrange([1, 2], [1, 2, "unsure"])[0] == ["1", "2", "unsure"]
    assert arrange(["1"], np.array([1.0, 2.0]))[0] == ["1", "2"]


def test_a_label_outside_the_classes_is_named_with_its_count():
    with pytest.raises(DataError, match=r"'maybe' \(rows: 3\).*'no', 'yes'.*`classes`") as error:
        arrange(["no", "never", "maybe"], ["no", "yes"])
    assert "not among them: 1" in str(error.value)


@pytest.mark.parametrize("classes", [[], ["a"], ["a", "a"], ["1", "1.0"], ["a", " "], "ab"])
def test_classes_that_make_no_sense(classes):
    with pytest.raises(ParameterError):
        arrange(["a", "1"], classes)


def test_one_class_is_noted_unless_more_are_given():
    for values, name in ((["x"], "x"), (["1", "1.0"], "1")):
        classes, _, notes = arrange(values)
        assert classes == [name]
        assert notes[-1].startswith(f"Only one class, '{name}', appears in the label column")
    assert arrange(["x"], ["x", "y"])[0] == ["x", "y"]


def test_coder_prefers_the_exact_text():
    code = class_coder(pa.array(["1.0", "2", "yes"]))
    assert [code(text) for text in ("1.0", "1", "2.00", "yes", "Yes", "3")] == [0, 0, 1, 2, -1, -1]
    assert class_coder(pa.array(["01", "2"]))("1") == -1
    assert class_coder(pa.array([False, True]))("True") == 1


@pytest.mark.parametrize(
    ("values", "kind"), [(["-99", "no", "yes"], None), ([-99, 1, 2, 3], None), (["-999.0", "1", "2"], None)]
)
def test_what_surveys_write_where_nobody_answered_is_no_class(values, kind):
    with pytest.raises(
        DataError, match=rf"Some labels are '{values[0]}', by which surveys mean that nobody answered; say `missing`"
    ):
        arrange(values, kind=kind)
    assert len(arrange(values, classes=values, kind=kind)[0]) == len(values)


def test_a_code_beside_other_negative_numbers_is_a_label():
    assert len(arrange(["-10", "-9", "0", "7"])[0]) == 4
    assert len(arrange(["-99"])[0]) == 1


def test_bins_are_not_made_of_what_surveys_write_where_nobody_answered():
    with pytest.raises(DataError, match="nobody answered"):
        binned(pa.array(["-99", "10", "60", "80"]), ("2",))


def test_more_different_labels_than_same_ones_are_noted():
    few = pa.array([f"a{n}" for n in range(8)])
    assert many_classes(few, 12, given=False)[0].startswith("The labels are 8 different texts")
    assert many_classes(few, 16, given=False) == many_classes(few, 12, given=True) == []
