"""Reading comparisons: arena records, crowd-kit's frames, Label Studio, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import BradleyTerry
from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.sides import BOTH_BAD
from crowdassay.ranking.pairs import read_pairs


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
    assert "In 1 comparison both were bad" in pairs.notes[0]
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
    with pytest.raises(ParameterError, match=r"`sheet` goes with workbooks .* and 'export\.json' is none"):
        read_pairs(path, sheet="Sheet1")
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
    with pytest.raises(
        ColumnError,
        match="No column is called like the left but 'left', which `winner_column` names; name it with `left_column`",
    ):
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
    with pytest.raises(ParameterError, match=r"`sheet` goes with workbooks .* and the comparisons are in memory"):
        read_pairs(table, sheet="Sheet1")


def test_comparisons_that_are_read_take_no_options_of_reading():
    pairs = read_pairs(pa.table({"left": ["x", "y"], "right": ["y", "x"], "winner": ["x", "x"]}))
    for take in (BradleyTerry().fit, BradleyTerry(prior=1.0).fit(pairs).predict_proba):
        with pytest.raises(ParameterError, match="both_bad says how to read pairs, and these are read already"):
            take(pairs, both_bad="drop")


def test_winners_and_losers():
    """M16, exports: sports and preference data name the winner and the loser; no side is known, and none is estimated."""
    for words in (("winner", "loser"), ("chosen", "rejected"), ("winner_name", "loser_name")):
        pairs = read_pairs(pa.table(dict(zip(words, (["x", "y", "z"], ["y", "z", "x"]), strict=True))))
        assert names(pairs) == [("x", "y", 0), ("y", "z", 0), ("z", "x", 0)]
        assert not pairs.sides
        assert "No columns were taken for the left and the right one" in pairs.notes[0]
    table = pa.table({"won": ["x", "y"], "lost": ["y", "z"]})
    named = read_pairs(table, left_column="won", right_column="lost", winner_column="won")
    assert names(named) == [("x", "y", 0), ("y", "z", 0)]
    model = BradleyTerry().fit(pa.table({"winner": ["x"] * 9 + ["y"] * 6, "loser": ["y"] * 6 + ["z"] * 9}))
    assert model.position_bias_ == 0.0
    assert model.ranking_["item"].to_pylist() == ["x", "y", "z"]
    assert not any("both orders" in note for note in model.notes_)


@pytest.mark.parametrize("winners", ["side", "x=left,y=right"])
def test_what_winners_mean_is_no_question_where_losers_are_named(winners):
    table = pa.table({"winner": ["x", "y"], "loser": ["y", "z"]})
    with pytest.raises(ParameterError, match="'winner' of 'pyarrow frame' names them beside the losers, 'loser'; leave it out"):
        read_pairs(table, winners=winners)
    assert names(read_pairs(table, winners="name")) == names(read_pairs(table))


def test_a_row_without_its_winner_or_loser_is_left_out():
    pairs = read_pairs(pa.table({"winner": ["x", None, "y", "x", "z"], "loser": ["y", "x", "x", None, "x"]}))
    assert names(pairs) == [("x", "y", 0), ("y", "x", 0), ("z", "x", 0)]
    assert pairs.dropped == {"no winner": 1, "no loser": 1}


def test_fastchat_pairs(tmp_path):
    """Exports: model_1, model_2 and a winner called model_1, model_2 or tie."""
    pairs = read_pairs(pa.table({"model_1": ["x", "x"], "model_2": ["y", "y"], "winner": ["model_2", "tie"]}))
    assert names(pairs) == [("x", "y", 1), ("x", "y", 2)]


def test_both_orders_in_one_row_are_two_comparisons_of_one_question(tmp_path):
    """Exports: g2_winner names who won when model_2 stood on the left; a judge is a name and a prompt; errors are none."""
    row = {"question_id": 7, "model_1": "x", "model_2": "y", "judge": ["gpt-4", "pair-v2"]}
    rows = [
        row | {"g1_winner": "model_1", "g2_winner": "model_1"},
        row | {"g1_winner": "tie", "g2_winner": "model_2", "question_id": 8},
        row | {"g1_winner": "error", "g2_winner": "model_2", "question_id": 9},
    ]
    path = tmp_path / "gpt-4_pair.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pairs = read_pairs(path)
    assert names(pairs) == [("x", "y", 0), ("x", "y", 2), ("y", "x", 1), ("y", "x", 0), ("y", "x", 0)]
    assert pairs.question.tolist() == [0, 1, 0, 1, 2]
    assert pairs.workers.to_pylist() == ["gpt-4"]
    assert pairs.dropped == {"no winner": 1}
    assert pairs.source == "gpt-4_pair.jsonl"
    without = read_pairs(pa.table({name: [r[name] for r in rows] for name in ("model_1", "model_2", "g1_winner", "g2_winner")}))
    assert without.question.tolist() == [0, 1, 0, 1, 2]  # the row is the question


def test_alpaca_evals_annotations(tmp_path):
    """Exports: a preference between 1 and 2 is a share of a win, and the outputs' lengths may be a style."""
    rows = [
        {"instruction": f"q{n}", "generator_1": "base", "generator_2": "m", "annotator": "gpt", "preference": preference}
        | {"output_1": "a" * (3 + n), "output_2": "a" * (2 + n * n)}
        for n, preference in enumerate([1.0, 2.0, 1.5, 1.25, None])
    ]
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    pairs = read_pairs(path, style=["output"])
    assert pairs.outcome.tolist() == [0, 1, 2, 0, 1]
    assert pairs.weight.tolist() == [1, 1, 1, 0.75, 0.25]
    assert pairs.question.tolist() == [0, 1, 2, 3, 3]
    assert pairs.n_comparisons == 4
    gap = np.array([1, 1, -1, -5, -5])  # characters by which the left one is longer
    np.testing.assert_allclose(pairs.style.ravel() / pairs.style[0, 0], gap)
    model = BradleyTerry(position=False, prior=1.0).fit(read_pairs(path))
    row = model.ranking_.iloc[0]
    assert (row["item"], row["comparisons"]) == ("base", 4)


def test_numbers_of_sides_may_be_written_with_a_point(tmp_path):
    """A column with a gap is written as 1.0 and 2.0, and so are preferences none of which is a share."""
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,winner\nx,y,1.0\ny,x,2.0\nx,y,\nx,y,2.0\n")
    assert read_pairs(path).outcome.tolist() == [0, 1, 1]
    rows = [{"generator_1": "x", "generator_2": "y", "preference": preference} for preference in (1.0, 2.0)]
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert read_pairs(path).outcome.tolist() == [0, 1]


def test_a_share_of_a_win_counts_as_that_share():
    """Exports: 1.25 four times says what three wins and one loss say."""
    rows = {"left": ["x"] * 4, "right": ["y"] * 4}
    shares = BradleyTerry(prior=1.0, position=False).fit(pa.table({**rows, "preference": [1.25] * 4}))
    wins = BradleyTerry(prior=1.0, position=False).fit(pa.table({**rows, "preference": [1, 1, 1, 2]}))
    np.testing.assert_allclose(shares.scores_, wins.scores_, atol=1e-6)


def test_names_that_look_the_same_are_said():
    """M16: 'a' and 'a ' are kept apart, and it is said; so with workers."""
    table = pa.table({"left": ["a", "a "], "right": ["b", "b"], "winner": ["left", "left"], "worker": ["Ann", "ann"]})
    noted = read_pairs(table).notes
    assert "Items whose names look the same" in noted[0]
    assert "'a', 'a '" in noted[0]
    assert "Workers whose names look the same" in noted[1]


def test_votes_of_several_people_in_columns_are_voters():
    """Exports: winner1, winner2 ... are votes on one comparison, also where no column names the question."""
    table = pa.table(
        {
            "model_1": ["x", "y"],
            "model_2": ["y", "x"],
            "winner1": ["model_1", "model_1"],
            "winner2": ["model_2", "tie"],
            "winner_3": ["tie", "model_2"],
        }
    )
    pairs = read_pairs(table)
    votes = [("x", "y", 0), ("y", "x", 0), ("x", "y", 1), ("y", "x", 2), ("x", "y", 2), ("y", "x", 1)]
    assert names(pairs) == votes
    assert pairs.workers.take(pa.array(pairs.worker)).to_pylist() == ["winner1"] * 2 + ["winner2"] * 2 + ["winner_3"] * 2
    assert pairs.question.tolist() == [0, 1] * 3
    assert any("holds the votes of one voter" in note for note in pairs.notes)
    judged = table.append_column("judge", pa.array(["j1", "j2"]))
    assert read_pairs(judged).workers.equals(pairs.workers)
    named = read_pairs(judged, worker_column="judge")
    assert named.workers.to_pylist() == ["j1", "j2"]
    assert named.worker.tolist() == [0, 1] * 3
    assert not any("one voter" in note for note in named.notes)
    assert read_pairs(table, winner_column="winner2").n_pairs == 2


def test_voters_may_be_counted_from_nought_and_none_is_left_out():
    sides = {"left": ["x", "y"], "right": ["y", "x"]}
    pairs = read_pairs(pa.table({**sides, **{f"vote_{n}": ["left", "right"] for n in range(3)}}))
    assert pairs.workers.to_pylist() == ["vote_0", "vote_1", "vote_2"]
    assert read_pairs(pa.table({**sides, **{f"vote_{n}": ["left", "right"] for n in range(50)}})).n_pairs == 100
    for first in (0, 1):
        many = {f"vote_{n}": ["left", "right"] for n in range(first, first + 51)}
        with pytest.raises(DataError, match="more than 50 voters, 'vote_1' and more; give each vote a row"):
            read_pairs(pa.table({**sides, **many}))


def test_voters_need_not_vote_on_every_row():
    """Rows are counted, not votes: one that somebody voted on misses nothing."""
    votes = {f"vote_{n}": ["left" if row % 3 == n else None for row in range(8)] for n in range(3)}
    pairs = read_pairs(pa.table({"left": ["x", "y"] * 4, "right": ["y", "x"] * 4, **votes}))
    assert pairs.n_pairs == 8
    assert sorted(pairs.worker.tolist()) == [0, 0, 0, 1, 1, 1, 2, 2]
    assert pairs.dropped == {}
    without = {name: [None, None, *cells[2:]] for name, cells in votes.items()}
    assert read_pairs(pa.table({"left": ["x", "y"] * 4, "right": ["y", "x"] * 4, **without})).dropped == {"no winner": 2}


@pytest.mark.parametrize("winners", [["P", "I", "P"], ["0", "1", "1"], ["0", "1", "2"], ["-1", "0", "1"], ["-1", "1", "1"]])
def test_codes_of_winners_are_asked_for(winners):
    """A number that is neither 1 nor 2, or a letter, says nothing of sides: 0 may be the left one, or a tie."""
    table = pa.table({"left": ["x", "y", "z"], "right": ["y", "z", "x"], "winner": winners})
    codes = sorted(set(winners), key=lambda code: (len(code) == 1, code))
    with pytest.raises(DataError, match="say whether left, right, tie, both bad or none is meant") as error:
        read_pairs(table)
    assert ",".join(f"{code}=..." for code in codes) in str(error.value)
    meanings = dict(zip(codes, ("right", "tie", "left"), strict=False))
    pairs = read_pairs(table, winners=", ".join(f"{code}={meaning}" for code, meaning in meanings.items()))
    assert pairs.outcome.tolist() == [{"right": 1, "tie": 2, "left": 0}[meanings[code]] for code in winners]


def test_a_number_without_a_meaning_is_no_side_where_others_have_one():
    table = pa.table({"left": ["x", "y"], "right": ["y", "x"], "winner": ["0", "1"]})
    with pytest.raises(DataError, match=r"data row 2 .*'1'"):
        read_pairs(table, winners="0=left")
    with pytest.raises(ParameterError, match="left, right, tie, both bad or none, not 'first one'"):
        read_pairs(table, winners="0=first one,1=right")


@pytest.mark.parametrize(
    ("winners", "said"),
    [
        ("bogus", "`winners` is auto, side or name, or says .*; 'bogus' is none"),
        ("P=left,I", "; 'I' is none of these"),
        ("=left", "; '=left' is none of these"),
        ("P=left,P=right", "`winners` says twice what 'P' means"),
    ],
)
def test_what_winners_are_is_checked_before_anything_is_read(winners, said):
    with pytest.raises(ParameterError, match=said):
        read_pairs(pa.table({"winner": ["x"], "loser": ["y"]}), winners=winners)


@pytest.mark.parametrize("winner", ["z", "P, Q", "it's"])
def test_no_code_is_proposed_where_none_could_be_given(winner):
    table = pa.table({"left": ["x", "y"], "right": ["y", "z"], "winner": [winner, "z"]})
    with pytest.raises(DataError, match=r"tie or both bad; correct it, or leave the cell empty if there was none\.$"):
        read_pairs(table)


def test_a_bad_winner_beside_an_empty_side_names_no_other_pair():
    table = pa.table({"left": [None, "y"], "right": ["y", "z"], "winner": ["skip", "z"]})
    with pytest.raises(DataError, match=r"data row 1 .*\(an empty cell and 'y'\)"):
        read_pairs(table)


def test_texts_are_no_competitors():
    """Answers that are compared once each have no rank, whatever they are called."""
    one, two = ([f"{who} gave a long answer to question number {n}" for n in range(4)] for who in ("She", "He"))
    for columns in (("response_a", "response_b"), ("chosen", "rejected")):
        table = pa.table({columns[0]: one, columns[1]: two, "winner": ["a", "b", "a", "tie"]}).select(
            [*columns, *(["winner"] if columns[0] == "response_a" else [])]
        )
        with pytest.raises(DataError, match=f"'{columns[0]}', '{columns[1]}' of .* hold texts, not competitors: 8 such as"):
            read_pairs(table)
    met = pa.table({"left": one * 2, "right": [*one[1:], one[0], *one[2:], *one[:2]], "winner": ["left"] * 8})
    assert read_pairs(met).n_items == 4


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_an_object_is_no_name_of_a_competitor(tmp_path, suffix):
    rows = [
        {"A": {"tone": n}, "B": {"tone": 3}, "judge": ["j", "prompt"], "preference": "A", "by": {"one": "x", "two": "y"}}
        for n in range(3)
    ]
    path = tmp_path / f"verdicts{suffix}"
    path.write_text("\n".join(map(json.dumps, rows)) if suffix == ".jsonl" else json.dumps(rows), encoding="utf-8")
    with pytest.raises(ColumnError, match="If no column names the two that were compared, add left and right"):
        read_pairs(path)
    pairs = read_pairs(path, left_column="by.one", right_column="by.two")
    assert names(pairs) == [("x", "y", 0)] * 3
    assert pairs.workers.to_pylist() == ["j"]


def test_alpaca_evals_zero_is_a_tie():
    rows = {"generator_1": ["x"] * 3, "generator_2": ["y"] * 3, "preference": [1, 2, 0]}
    assert read_pairs(pa.table(rows)).outcome.tolist() == [0, 1, 2]


def test_fastchats_ties_of_two_orders_that_differ():
    table = pa.table({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["tie (inconsistent)", "model_b"]})
    assert read_pairs(table).outcome.tolist() == [2, 1]


def test_only_what_is_no_side_is_asked_for():
    table = pa.table({"left": ["x", "y"], "right": ["y", "x"], "winner": ["left", "skip"]})
    with pytest.raises(DataError, match=r"data row 2 .*if 'skip' is a code, say"):
        read_pairs(table)


SHOWN = [("x", "y"), ("y", "x"), ("z", "x"), ("y", "z"), ("x", "z"), ("z", "y")]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("shown_a", "shown_b"),
        ("left_model", "right_model"),
        ("a_source", "b_source"),
        ("system 1", "system 2"),
        ("firstSystem", "secondSystem"),
    ],
)
def test_sides_are_known_by_the_word_in_which_their_names_differ(left, right):
    rows = [{left: a, right: b, "choice": "abt"[n % 3].replace("t", "tie")} for n, (a, b) in enumerate(SHOWN)]
    pairs = read_pairs(rows)
    assert names(pairs) == [(a, b, n % 3) for n, (a, b) in enumerate(SHOWN)]
    assert (pairs.columns["left"], pairs.columns["right"]) == (left, right)


def test_columns_that_hold_no_names_or_have_a_third_are_no_sides():
    others = (
        {"n_a": [1, 2, 3, 1, 2, 3], "n_b": [2, 3, 1, 2, 3, 1]},  # numbers
        {"rater_a": list("xyxyxy"), "rater_b": list("yxyxyx")},  # workers
        {"mood_a": list("xyxyxy"), "mood_b": list("xyxyyx")},  # two answers, mostly the same
        {"text_a": [f"a{n}" for n in range(6)], "text_b": [f"b{n}" for n in range(6)]},  # nothing in common
        {"model_x1": list("xyzxyz"), "model_x2": list("yzxyzx"), "model_x3": list("zxyzxy")},
    )
    for columns in others:
        table = pa.table({**columns, "winner": list("ababab")})
        with pytest.raises(ColumnError, match="No left or right column found"):
            read_pairs(table)


def test_two_pairs_of_sides_are_asked_about():
    rows = [{"shown_a": a, "shown_b": b, "from_1": b, "from_2": a, "winner": "a"} for a, b in SHOWN]
    with pytest.raises(
        ColumnError, match=r"'shown_a' and 'shown_b', or 'from_1' and 'from_2'.*name one pair with `left_column`"
    ):
        read_pairs(rows)
    assert read_pairs(rows, left_column="shown_a", right_column="shown_b").n_pairs == 6


def test_where_the_winner_is_empty_in_ties_the_column_that_says_so_is_taken():
    picks = ["a", "b", "tie", "a", "b", "both bad"]
    rows = [
        {"left": a, "right": b, "pick": pick, "winner": {"a": a, "b": b}.get(pick)}
        for (a, b), pick in zip(SHOWN, picks, strict=True)
    ]
    pairs = read_pairs(rows)
    assert (pairs.columns["winner"], pairs.n_pairs, pairs.n_ties) == ("pick", 6, 2)
    assert read_pairs(rows, winner_column="winner").n_pairs == 4
    second = [{**row, "pick": {"a": "b"}.get(row["pick"], row["pick"])} for row in rows]  # another's opinion
    with pytest.raises(ColumnError, match="name the column that says who won with `winner_column`"):
        read_pairs(second)
    for row in rows:
        row["remark"], row["pick"] = row["pick"], "sure" if row["winner"] else row["pick"]
    rows[0]["remark"] = None
    with pytest.raises(
        ColumnError, match="'winner' is empty in rows in which 'pick', 'remark' says that there was a tie; name"
    ):
        read_pairs(rows)
    for row in rows:
        row["pick"], row["remark"] = "sure", "unclear"
    assert read_pairs(rows).columns["winner"] == "winner"


def test_a_winner_and_a_loser_need_no_sides():
    rows = [{"winner": a, "loser": b, "from_a": b, "from_b": a} for a, b in SHOWN]
    assert read_pairs(rows).columns["loser"] == "loser"


def test_a_winner_of_several_words_is_known_where_the_sides_are():
    rows = [{"model_a": a, "model_b": b, "overall_winner": "ab"[n % 2]} for n, (a, b) in enumerate(SHOWN)]
    assert read_pairs(rows).columns["winner"] == "overall_winner"
    rows = [{**row, "style_winner": "a"} for row in rows]
    with pytest.raises(ColumnError, match="No winner column found"):
        read_pairs(rows)


def test_the_better_and_the_worse_are_winner_and_loser():
    pairs = read_pairs(pa.table({"query": ["q", "r"], "better_choice": ["x", "y"], "worse_choice": ["y", "z"]}))
    assert names(pairs) == [("x", "y", 0), ("y", "z", 0)]


def test_a_winner_by_side_is_doubted_where_another_column_names_the_other_one():
    """The sides may be those that were shown, in either order."""
    rows = [{"model_a": "x", "model_b": "y", "order": "rev", "verdict": "B", "better": "x", "who": n % 3} for n in range(12)]
    with pytest.raises(ColumnError, match=r"'verdict' and 'better' say that different ones won in 12 of 12 rows: sides may be"):
        read_pairs(pa.Table.from_pylist(rows))
    pairs = read_pairs(pa.Table.from_pylist(rows), winner_column="better", worker_column="who")
    assert pairs.n_comparisons == 12


def test_the_model_that_judged_is_the_worker_of_a_comparison():
    rows = [{"model_a": "x", "model_b": "y", "judge_model": f"j{n % 2}", "winner": "x"} for n in range(6)]
    assert read_pairs(pa.Table.from_pylist(rows)).workers.to_pylist() == ["j0", "j1"]
