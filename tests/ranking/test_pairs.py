"""Reading comparisons: arena records, crowd-kit's frames, Label Studio, and what is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.ranking.pairs import BOTH_BAD, read_pairs


def names(pairs):
    items = pairs.items.to_pylist()
    return [
        (items[left], items[right], int(won)) for left, right, won in zip(pairs.left, pairs.right, pairs.outcome, strict=True)
    ]


def test_arena_records(tmp_path):
    rows = [
        {"model_a": "gpt", "model_b": "llama", "winner": "model_a", "judge": "u1"},
        {"model_a": "llama", "model_b": "gpt", "winner": "tie", "judge": "u2"},
        {"model_a": "llama", "model_b": "gpt", "winner": "tie (bothbad)", "judge": None},
        {"model_a": "llama", "model_b": "gpt", "winner": "model_b"},
    ]
    path = tmp_path / "arena.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    pairs = read_pairs(path)
    assert names(pairs) == [("gpt", "llama", 0), ("llama", "gpt", 2), ("llama", "gpt", 2), ("llama", "gpt", 1)]
    assert pairs.worker.tolist() == [0, 1, -1, -1]
    assert "1 comparisons both were bad" in pairs.notes[0]
    dropped = read_pairs(path, both_bad="drop")
    assert dropped.n_pairs == 3
    assert dropped.dropped == {"both bad": 1}
    assert BOTH_BAD not in dropped.outcome
    lines = tmp_path / "arena.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert names(read_pairs(lines)) == names(pairs)


def test_crowd_kits_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"worker": ["w", "v"], "left": ["x", "y"], "right": ["y", "z"], "label": ["y", "y"]})
    assert names(read_pairs(frame)) == [("x", "y", 1), ("y", "z", 0)]


def test_label_studio(tmp_path):
    def task(one, two, selected, who, **data):
        result = [{"from_name": "pw", "to_name": "text1,text2", "type": "pairwise", "value": {"selected": selected}}]
        return {"id": 1, "data": {"text1": one, "text2": two, **data}, "annotations": [{"completed_by": who, "result": result}]}

    path = tmp_path / "export.json"
    path.write_text(
        json.dumps([task("a text", "b text", "left", {"id": 3, "email": "ann@x.org"}), task("b text", "c text", "right", 4)])
    )
    pairs = read_pairs(path)
    assert names(pairs) == [("a text", "b text", 0), ("b text", "c text", 1)]
    assert pairs.workers.to_pylist() == ["4", "ann@x.org"]
    path.write_text(json.dumps([task("t", "u", "left", 1, model_a="gpt", model_b="llama")]))
    assert names(read_pairs(path)) == [("gpt", "llama", 0)]
    with pytest.raises(ColumnError, match="left_column"):
        read_pairs(path, left_column="nothing")
    path.write_text(json.dumps([{"id": 1, "data": {"t": 1}, "annotations": [{"completed_by": 1, "result": []}]}]))
    with pytest.raises(DataError, match="no pairwise answers"):
        read_pairs(path)


def test_winners_that_could_be_sides_or_names():
    same = pa.table({"left": ["a", "b"], "right": ["b", "a"], "winner": ["a", "b"]})
    with pytest.raises(DataError, match="sides or as names"):
        read_pairs(same)
    assert read_pairs(same, winners="name").outcome.tolist() == [0, 0]
    assert read_pairs(same, winners="side").outcome.tolist() == [0, 1]
    clear = pa.table({"left": ["a", "a"], "right": ["b", "b"], "winner": ["a", "b"]})
    assert read_pairs(clear).outcome.tolist() == [0, 1]  # both readings agree


def test_an_item_may_be_called_tie():
    table = pa.table({"left": ["tie", "x"], "right": ["x", "tie"], "winner": ["tie", "x"]})
    assert read_pairs(table, winners="name").outcome.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"left": ["x"], "right": ["y"], "winner": ["z"]}, "data row 1.*'z', which is neither"),
        ({"left": ["x"], "right": ["x"], "winner": ["x"]}, r"No comparison is left.*compared with itself \(1 row\)"),
        ({"left": ["x", None, None], "right": ["y"] * 3, "winner": ["x", "y", "y"]}, "miss a value"),
        ({"left": ["x"], "right": ["y"]}, "No winner column"),
        ({"one": ["x"], "two": ["y"], "winner": ["x"]}, "No left or right column found"),
    ],
)
def test_bad_comparisons_are_refused(table, error):
    with pytest.raises((DataError, ColumnError), match=error):
        read_pairs(pa.table(table))


def test_a_column_that_serves_already_is_said_to():
    table = pa.table({"left": ["x"], "right": ["y"], "winner": ["x"]})
    with pytest.raises(ColumnError, match="The column 'left' was named by `winner_column`; `left_column` needs another"):
        read_pairs(table, winner_column="left")


def test_styles_are_a_column_or_two():
    table = pa.table(
        {"left": ["x", "y"], "right": ["y", "x"], "winner": ["x", "y"], "len_a": [3, 1], "len_b": [1, 2], "gap": [2, -1]}
    )
    one, two = read_pairs(table, style=["len"]), read_pairs(table, style=["gap"])
    assert one.style.ravel().tolist() == two.style.ravel().tolist()
    with pytest.raises(ColumnError, match="nor a pair such as tone_left"):
        read_pairs(table, style=["tone"])
    with pytest.raises(ParameterError, match="both_bad"):
        read_pairs(table, both_bad="x")
