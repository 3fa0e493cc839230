"""What `rank` says where no name tells the columns, and the ways of naming winners that are told or found."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv_of_arrow
import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.files import read_labels
from crowdassay.ranking.pairs import NOBODY_COMPARED, read_pairs

NO_SIDES = "If no column names the two that were compared, add left and right"
DOCS = [{"query": f"q{n // 3}", "doc_A": f"d{n}", "doc_B": f"e{n}", "seconds": n, "radio": "abs"[n % 3]} for n in range(6)]
SCORES = [0.03, 3.19, -2.6, 0.0, 2.19, -0.1, 7.2]


def written(tmp_path, table):
    """Return the path of a file that holds a table."""
    csv_of_arrow.write_csv(table, tmp_path / "table.csv")
    return tmp_path / "table.csv"


def said_of(rows, **given):
    """Return what is said of comparisons after the columns were not found, as the command line has it."""
    with pytest.raises(ColumnError) as error:
        read_pairs(rows, **given)
    return error.value.message


def test_sides_and_a_winner_that_names_do_not_tell_are_proposed(tmp_path):
    said = (
        "; name them with --left-column, --right-column and --winner-column. If 'doc_A' and 'doc_B' are the two that were "
        "compared and 'radio' says who won, say --left-column 'doc_A' --right-column 'doc_B' --winner-column 'radio'."
    )
    path = tmp_path / "docs.csv"
    with path.open("w", newline="") as stream:
        table = csv.DictWriter(stream, [*DOCS[0]])
        table.writeheader()
        table.writerows(DOCS)
    for data in (DOCS, path):
        assert said_of(data).endswith(said)
        named = {"left_column": "doc_A", "right_column": "doc_B", "winner_column": "radio"}
        assert read_pairs(data, **named, winners="s=tie").outcome.tolist() == [0, 1, 2, 0, 1, 2]


def test_what_was_named_or_found_is_kept_in_a_proposal():
    assert said_of(DOCS, left_column="doc_A", right_column="doc_B").endswith(
        "If 'radio' says who won, say --left-column 'doc_A' --right-column 'doc_B' --winner-column 'radio'."
    )
    by_name = [{**row, "left": row["doc_A"], "right": row["doc_B"]} for row in DOCS]
    assert said_of(by_name).endswith(" If 'radio' says who won, say --winner-column 'radio'.")
    won = [{**row, "winner": row["radio"].replace("s", "tie")} for row in DOCS]
    assert said_of(won).endswith(
        "If 'doc_A' and 'doc_B' are the two that were compared, say --left-column 'doc_A' --right-column 'doc_B'."
    )
    assert said_of(by_name, winner_column="doc_C").startswith("There is no column 'doc_C'")


def test_several_that_may_be_meant_are_listed():
    rows = [
        {**row, "from_1": f"f{n % 4}", "from_2": f"f{n % 3 + 4 - n % 2}", "best": "ab"[n % 2]} for n, row in enumerate(DOCS)
    ]
    assert said_of(rows).endswith(
        "If 'from_1' and 'from_2' are the two that were compared, say --left-column 'from_1' --right-column 'from_2', and "
        "choose one of 'radio', 'best' with --winner-column. The two may also be 'doc_A' and 'doc_B'."
    )
    called = [{**row, "Answer.best": row["best"]} for row in rows]
    assert "choose one of 'Answer.best', 'radio', 'best' with" in said_of(called)
    sides = said_of(rows, left_column="doc_A", right_column="doc_B")
    assert "and choose one of 'radio', 'best' with --winner-column, if it says who won." in sides


@pytest.mark.parametrize(
    "columns",
    [
        {"gain_a": [0, -5, 10, 15], "gain_b": [5, 5, -10, 10]},
        {"text_a": ["a text of six words or more"] * 4, "text_b": ["one more text of so many words"] * 4},
        {"vote_1": list("aabb"), "vote_2": list("abab")},
        {"ok_a": ["yes", "no", "yes", "no"], "ok_b": ["no", "yes", "no", "yes"]},
        {"start time a": ["1 May", "2 May", "3 May", "4 May"], "start time b": ["5 May", "6 May", "7 May", "8 May"]},
        {"mood_a": list("xyxy"), "mood_b": list("xyxx")},
        {"task1_label": list("pqpq"), "task2_label": list("rsrs")},
        {"doc_a": list("pqrs"), "doc_b": list("tuvw"), "doc_c": list("xyzp")},
    ],
)
def test_numbers_texts_votes_and_times_are_no_sides(columns):
    assert NO_SIDES in said_of(pa.table({**columns, "radio": list("abab")}))


def test_columns_that_hold_no_sides_say_not_who_won():
    """The one that lost, the option of a quiz, and numbers of turns or clocks are no winners."""
    beside = [
        {
            "doc_a": row["doc_A"], "doc_b": row["doc_B"], "worst": "ab"[n % 2], "quiz": "abc"[n % 3], "turns": n % 2 + 1,
            "drift seconds": n - 2, "order": "ab"[n % 2],
        }
        for n, row in enumerate(DOCS)
    ]  # fmt: skip
    assert said_of(beside).endswith("--right-column 'doc_b', and name the column that says who won with --winner-column.")
    signed = [{**row, "note": score} for row, score in zip(beside, SCORES, strict=False)]
    assert said_of(signed).endswith("--winner-column 'note'.")


def test_ids_that_make_a_side_together_are_proposed_together(tmp_path):
    """Each alone would compare many things with themselves."""
    names = ("Talk ID A", "Line ID A", "Talk ID B", "Line ID B", "Comparison")
    cells = [(33, 5, 537, 5, "A"), (33, 5, 33, 6, "B"), (537, 5, 33, 6, "A"), (33, 6, 537, 5, "Tie"), (537, 5, 33, 5, "A")]
    rows = [dict(zip(names, map(str, row), strict=True)) for row in cells]
    left, right = "Talk ID A,Line ID A", "Talk ID B,Line ID B"
    named = {"left_column": left, "right_column": right, "winner_column": "Comparison"}
    assert said_of(rows).endswith(
        f"If '{left}' and '{right}' are the two that were compared and 'Comparison' says who won, say --left-column '{left}' "
        f"--right-column '{right}' --winner-column 'Comparison'."
    )
    path = tmp_path / "talks.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in (names, *cells)))
    (tmp_path / "long.csv").write_text(path.read_text() + "\n33,5,537,5,A" * 60_000)
    for data in (rows, path, tmp_path / "long.csv"):
        pairs = read_pairs(data, **named)
        assert pairs.items.to_pylist() == ["33 | 5", "33 | 6", "537 | 5"]
        items = pairs.items.to_pylist()
        assert [(items[pairs.left[n]], items[pairs.right[n]]) for n in (0, 1)] == [("33 | 5", "537 | 5"), ("33 | 5", "33 | 6")]
        assert pairs.outcome.tolist()[:5] == [0, 1, 0, 2, 0]
        assert pairs.columns == {"left": left, "right": right, "winner": "Comparison"}
        assert not pairs.dropped
    with pytest.raises(ColumnError, match="'Talk ID A' is named twice for the left; name it once"):
        read_pairs(rows, **{**named, "left_column": "Talk ID A,Talk ID A"})
    with pytest.raises(ColumnError, match="There is no column 'Line' for the left"):
        read_pairs(rows, **{**named, "left_column": "Talk ID A,Line"})


def test_both_sides_may_hold_the_topic_but_no_column_is_both():
    rows = [{"topic": "t", "one": "x", "two": "y", "winner": "left"}, {"topic": "u", "one": "y", "two": "x", "winner": "left"}]
    pairs = read_pairs(rows, left_column="topic,one", right_column="topic,two", question_column="topic")
    assert pairs.items.to_pylist() == ["t | x", "t | y", "u | x", "u | y"]
    assert pairs.question.tolist() == [0, 1]
    with pytest.raises(ColumnError, match="'one' cannot be both the left and the right"):
        read_pairs(rows, left_column="one", right_column="one,topic")


def scored(scores):
    left, right = ([f"{side}{n % 3}" for n in range(len(scores))] for side in "xy")
    return pa.table({"left": left, "right": right, "winner": scores})


def test_numbers_below_and_above_nought_are_winners_where_that_is_told():
    """How large they are does not count."""
    with pytest.raises(DataError) as error:
        read_pairs(scored(SCORES))
    assert error.value.message.endswith(
        "correct it, or, if a number below nought means that the left one is better, say --winners '-=left,0=tie,+=right'; "
        "if the right one, say --winners '-=right,0=tie,+=left'."
    )
    assert read_pairs(scored(SCORES), winners="-=left,0=tie,+=right").outcome.tolist() == [1, 1, 0, 2, 1, 0, 1]
    assert read_pairs(scored(SCORES), winners="-=right,0=tie,+=left").outcome.tolist() == [0, 0, 1, 2, 0, 1, 0]
    texts = scored(["\N{MINUS SIGN}3", "-0.0", "+2", None, "1"])
    assert read_pairs(texts, winners="-=left,0=tie,+=right").outcome.tolist() == [0, 2, 1, 1]


def test_a_sign_is_a_sign_only_where_all_are_numbers():
    assert read_pairs(scored(["-", "+", "-"]), winners="-=left,+=right").outcome.tolist() == [0, 1, 0]
    with pytest.raises(DataError, match=r"data row 1 .*'-2', which is neither"):
        read_pairs(scored(["-2", "even", "3"]), winners="-=left,+=right,even=tie")
    with pytest.raises(DataError, match=r"data row 2 .*'0', which is neither"):
        read_pairs(scored(["-2", "0", "3"]), winners="-=left,+=right")
    assert read_pairs(scored(["-2", "9", "3"]), winners="-=left,+=right,9=tie").outcome.tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("scores", "signs"),
    [(["-2", "-1", "0", "2"], True), (["-3", "3"], True), (["-1", "0", "1", "2"], False), (["-1", "0", "1"], False)],
)
def test_few_numbers_are_codes_unless_they_reach_as_far_below_nought_as_above(scores, signs):
    with pytest.raises(DataError) as error:
        read_pairs(scored(scores))
    assert ("a number below nought" in str(error.value), "codes, say whether" in str(error.value)) == (signs, not signs)


def flags(name, **more):
    won = [True, False, False, True]
    return pa.table({"clip1": list("pqrs"), "clip2": list("qrsp"), name: won, **more})


@pytest.mark.parametrize("name", ["clip1 wins", "clip_1_is_better", "preferred clip1"])
def test_a_column_that_says_whether_one_side_won_is_read(name):
    pairs = read_pairs(flags(name), left_column="clip1", right_column="clip2", winner_column=name)
    assert pairs.outcome.tolist() == [0, 1, 1, 0]
    assert read_pairs(flags(name)).columns == {"left": "clip1", "right": "clip2", "winner": name}
    other = name.replace("1", "2")
    assert read_pairs(flags(other)).outcome.tolist() == [1, 0, 0, 1]
    texts = flags("n").append_column(name, pa.array(["True", "False", "tie", "TRUE"])).drop_columns(["n"])
    told = {"left_column": "clip1", "right_column": "clip2", "winner_column": name}
    with pytest.raises(DataError, match="codes, say whether"):  # ties are in the column as well: who knows what else
        read_pairs(texts, **told)
    assert read_pairs(flags(name), **told, winners="True=right,true=right,false=left").outcome.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("clip1 wins", {"clip2 wins": [False, True, False, False]}),
        ("clip1 wins", {"is_tie": [False, False, True, False]}),
        ("clip1 louder", {}),
        ("clip1 better than clip2", {}),
        ("is clip1", {}),
        ("wins", {}),
    ],
)
def test_true_and_false_say_nothing_of_the_other_side_where_both_or_ties_are_asked_for(name, more):
    with pytest.raises(DataError, match="codes, say whether left, right, tie, both bad or none is meant"):
        read_pairs(flags(name, **more), left_column="clip1", right_column="clip2", winner_column=name)


VOTES = {"left": list("xyzxyz"), "right": list("yzxzxy"), "winner": ["left", "right"] * 3}


@pytest.mark.parametrize(
    ("column", "cells"), [("id", ["7a", "7a", "7a", "9b", "9b", "9b"]), ("subject", list("rrssrr")), ("ID", [4, 5, 6, 4, 5, 6])]
)
def test_who_may_have_compared_is_noted(column, cells):
    pairs = read_pairs(pa.table({**VOTES, column: cells}))
    assert f"Nobody was taken for who compared; if '{column}' is, say --worker-column '{column}'." in pairs.notes
    assert pairs.columns == {"left": "left", "right": "right", "winner": "winner"}
    named = read_pairs(pa.table({**VOTES, column: cells}), worker_column=column)
    assert len(named.workers) == len(set(cells))
    assert not any("Nobody" in note for note in named.notes)


@pytest.mark.parametrize(
    "columns",
    [
        {"id": list("abcdef")},  # every row's own
        {"id": ["a"] * 6},
        {"id": [None] * 6},
        {"id": list("aaabbb"), "worker": list("uvwuvw")},
        {"id": list("aabbcc"), "question": list("ppqqrr")},  # it names the question
        {"identity": list("aaabbb"), "n": [1, 2, 3] * 2},
        {"vote1": ["left"] * 6, "vote2": ["right"] * 6, "id": list("aaabbb")},
    ],
)
def test_nobody_is_noted_who_cannot_have_compared(columns):
    own = {name: cells for name, cells in VOTES.items() if name != "winner" or "vote1" not in columns}
    assert not any("Nobody" in note for note in read_pairs(pa.table({**own, **columns})).notes)


def test_an_id_that_names_the_pair_is_nobody():
    pairs = {"left": list("xxyyzz"), "right": list("yyzzxx"), "winner": ["left", "right"] * 3, "id": list("aabbcc")}
    assert not any("Nobody" in note for note in read_pairs(pa.table(pairs)).notes)


def test_a_column_that_is_only_noted_may_hold_other_letters(tmp_path):
    """Names that are no UTF-8 are refused; one that nobody named is nobody's."""
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"left,right,winner,subject\nx,y,left,Ren\xe9\ny,z,right,Ren\xe9\nz,x,left,Bo\nx,z,left,Bo\n")
    assert read_pairs(path).n_pairs == 4
    np.testing.assert_array_equal(read_pairs(path).worker, -1)


def test_named_columns_hold_the_votes_of_one_worker_each(tmp_path):
    """Exports: ann1, ann2 ... beside the two that were compared, with codes; the message proposes what reads them."""
    rows = [("xyz"[n % 3], "yzx"[n % 3], 1 + n % 2, 2 - n % 2) for n in range(12)]
    path = tmp_path / "pairs.csv"
    path.write_text("model_a,model_b,ann1,ann2\n" + "".join(f"{a},{b},{v},{w}\n" for a, b, v, w in rows))
    with pytest.raises(
        ColumnError, match=r"each of 'ann1', 'ann2' holds the choices of one worker, say .worker_columns. 'ann\*'"
    ):
        read_pairs(path)
    pairs = read_pairs(path, worker_columns="ann*")
    assert pairs.workers.to_pylist() == ["ann1", "ann2"]
    assert pairs.worker.tolist() == [0] * 12 + [1] * 12
    assert pairs.outcome.tolist() == [row[2] - 1 for row in rows] + [row[3] - 1 for row in rows]
    assert pairs.question.tolist() == [*range(12)] * 2
    assert not any("voter" in note for note in pairs.notes)
    turned = read_pairs(path, worker_columns=["ann1", "ann2"], winners="1=right,2=left")
    assert turned.outcome.tolist() == [1 - outcome for outcome in pairs.outcome.tolist()]
    assert read_pairs(path, worker_columns=["ann2"]).workers.to_pylist() == ["ann2"]
    frame = pa.table({"model_a": ["x"], "model_b": ["y"], "ann": ["a"], "bo": ["b"]})
    assert read_pairs(frame, worker_columns="ann,bo").outcome.tolist() == [0, 1]
    with pytest.raises(ColumnError, match="No column is named 'cy'"):
        read_pairs(frame, worker_columns="cy")
    with pytest.raises(ParameterError, match="`winner_column` says nothing"):
        read_pairs(frame, worker_columns="ann,bo", winner_column="ann")


@pytest.mark.parametrize("column", ["observer", "examiner", "Tester", "screener_id", "teacher name"])
def test_people_who_may_have_compared_are_named(column):
    pairs = read_pairs(pa.table({**VOTES, column: list("rrssrr")}))
    assert f"Nobody was taken for who compared; if '{column}' is, say --worker-column '{column}'." in pairs.notes


LONG = {"left": list("xyzxyz") * 4, "right": list("yzxzxy") * 4, "winner": ["left", "right"] * 12}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"crew": list("pq") * 12}, True),
        ({"crew": [n % 3 for n in range(24)]}, True),
        ({"observer": list("pq") * 12, "panelist": list("rst") * 8}, True),  # either may be
        ({"crew": list("pq") * 12, "worker": list("uvw") * 8}, False),
        ({"crew": [f"p{n}" for n in range(24)]}, False),  # every row's own
        ({"crew": list("uvwwuv") * 4}, False),  # one pair each
        ({"crew": ["p"] * 24}, False),
        ({"crew_a": list("pq") * 12, "crew_b": list("qp") * 12}, False),  # beside the sides
        ({"loudness": [0.5, 1.5] * 12}, False),
        ({"n_words": [7, 9] * 12, "label": list("pq") * 12, "task_type": list("pq") * 12}, False),
        ({"again": ["right", "left"] * 12}, False),
        ({"order": list("pq") * 12, "rt": [11, 12] * 12, "ok": ["yes", "no"] * 12}, False),
    ],
)
def test_a_column_that_may_tell_who_compared_is_asked_for(columns, said):
    own = {name: cells for name, cells in LONG.items() if name not in columns}
    assert (NOBODY_COMPARED in read_pairs(pa.table({**own, **columns})).notes) == said
    decided = {"winner": LONG["left"], "loser": LONG["right"]}
    assert (NOBODY_COMPARED in read_pairs(pa.table({**decided, **columns})).notes) == said
    assert not any("worker" in role for role in read_pairs(pa.table({**own, **columns})).columns if "worker" not in columns)


@pytest.mark.parametrize(
    ("left", "right", "name", "winner"),
    [
        ("condition_A", "condition_B", "is_A_selected", 0),
        ("condition_A", "condition_B", "B wins", 1),
        ("left_clip", "right_clip", "prefers_right", 1),
        ("model1", "model2", "is_1_better", 0),
        ("firstWord", "secondWord", "second_picked", 1),
    ],
)
@pytest.mark.parametrize(
    "cells", [[1, 0, 0, 1], ["yes", "no", "no", "yes"], [1.0, 0.0, 0.0, 1.0], ["TRUE", "FALSE", "FALSE", "TRUE"]]
)
def test_a_winner_is_known_by_the_word_in_which_the_sides_differ(left, right, name, winner, cells):
    table = pa.table({right: list("yzxx"), left: list("xyzy"), name: cells})
    pairs = read_pairs(table)
    assert pairs.columns == {"left": left, "right": right, "winner": name}
    assert pairs.outcome.tolist() == [winner, 1 - winner, 1 - winner, winner]
    assert any(
        note.startswith(f"'{name}' was taken to say whether the {('left', 'right')[winner]} one") for note in pairs.notes
    )
    turned = pairs.notes[0].partition("--winners '")[2].rstrip("'.")
    assert read_pairs(table, winners=turned).outcome.tolist() == [1 - won for won in pairs.outcome.tolist()]
    exchanged = read_pairs(table, left_column=right, right_column=left)
    assert exchanged.outcome.tolist() == [1 - won for won in pairs.outcome.tolist()]


@pytest.mark.parametrize(
    ("name", "cells", "more"),
    [
        ("winner_1", [1, 0, 0, 1], {}),  # the first of several winners
        ("is_1", [1, 0, 0, 1], {}),
        ("1_louder", [1, 0, 0, 1], {}),
        ("1_better", [1, 0, 2, 1], {}),
        ("1_better", [1, 0, 0, 1], {"tied": [0, 1, 0, 0]}),
        ("1_better", [1, 0, 0, 1], {"2_better": [0, 0, 1, 0]}),
    ],
)
def test_codes_of_what_may_be_something_else_are_asked_for(name, cells, more):
    table = pa.table({"model1": list("xyzy"), "model2": list("yzxx"), name: cells, **more})
    with pytest.raises(DataError, match=r"codes?, say whether left, right, tie.*'0=\.\.\."):
        read_pairs(table, winner_column=name)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("card_B", "card_A"), "; left is the column 'card_A', right 'card_B'; correct it"),
        (("left", "right"), r"tie or both bad \(4 rows are wrong\); correct it"),
    ],
)
def test_a_message_on_codes_says_which_column_is_left(columns, said):
    table = pa.table({columns[0]: list("yzxx"), columns[1]: list("xyzy"), "winner": list("pqpq")})
    with pytest.raises(DataError, match=said):
        read_pairs(table)
    both = pa.table({"both": ["x,y", "y,z", "z,x"], "winner": list("pqp")})
    with pytest.raises(DataError, match="; left is the first of the two in 'both', right the second; correct it"):
        read_pairs(both, left_column="both", right_column="both")


@pytest.mark.parametrize(
    ("won", "lost"),
    [("chosen", "notChosen"), ("chosen", "unchosen"), ("preferred", "non-preferred"), ("selected", "unselected"),
     ("picked", "not_picked"), ("preferred_item", "dispreferred_item")],
)  # fmt: skip
def test_the_one_that_was_not_chosen_lost(tmp_path, won, lost):
    rows = {"id": range(12), "judge": list("pq") * 6, "task": ["t"] * 12, won: list("xyz") * 4, lost: list("yzx") * 4}
    pairs = read_pairs(pa.table(rows))
    assert {"winner": won, "loser": lost, "worker": "judge"}.items() <= pairs.columns.items()
    with pytest.raises(
        ColumnError, match=f"'{won}' and '{lost}' look like winners and losers, which crowdassay rank reads; if"
    ):
        read_labels(written(tmp_path, pa.table(rows)))
    more = written(tmp_path, pa.table({**rows, "kind": list("pqr") * 4}))
    named = read_labels(more, item_column="id", label_column="kind")
    assert named.n_labels == 12


def test_winners_and_losers_among_other_words_are_proposed_as_such(tmp_path):
    """Sides whose names are in the order of the alphabet, each in its column, and times of both beside them."""
    rows = [
        {
            "user_id": "pq"[n % 2], "pair1": one, "pair2": two, "pair1_ms": n * 3.5, "pair2_ms": n * 2.5,
            "chosen_pair": (one, two)[n % 3 > 0], "unchosen_pair": (two, one)[n % 3 > 0], "chosen_pair_ms": n * 3.5,
            "unchosen_pair_ms": n * 2.5, "slider": n - 12,
        }
        for n, (one, two) in enumerate((f"a{n % 4}", f"b{n % 5}") for n in range(24))
    ]  # fmt: skip
    options = "--left-column 'chosen_pair' --right-column 'unchosen_pair' --winner-column 'chosen_pair'"
    assert said_of(rows).endswith(
        f"If 'chosen_pair' names the one that won and 'unchosen_pair' the one that lost, say {options}."
    )
    with pytest.raises(ColumnError) as refused:
        read_labels(written(tmp_path, pa.Table.from_pylist(rows)))
    assert f"look like winners and losers, which crowdassay rank reads with {options}; if" in refused.value.message
    few = [{**row, "chosen_pair": f"{row['chosen_pair']} {n // 2}"} for n, row in enumerate(rows)]
    with pytest.raises(ColumnError) as refused:
        read_labels(written(tmp_path, pa.Table.from_pylist(few)))
    assert refused.value.message.endswith(f"the one that lost, say {options} to crowdassay rank.")
    named = {"left_column": "chosen_pair", "right_column": "unchosen_pair", "winner_column": "chosen_pair"}
    assert read_pairs(rows, **named).columns["loser"] == "unchosen_pair"
    sides = said_of(rows, left_column="pair1", right_column="pair2")
    assert sides.endswith(
        "If 'chosen_pair' says who won, say --left-column 'pair1' --right-column 'pair2' --winner-column 'chosen_pair'."
    )


def test_sides_hold_no_votes_of_workers():
    """The columns of the two that were compared name one of them in every row, which is no vote."""
    rows = [{"word1": f"a{n % 4}", "word2": f"b{n % 5}", "slider": n - 12} for n in range(24)]
    assert "choices of one worker" not in said_of(rows)


CHOICES = {"word": [f"w{n % 9}" for n in range(24)], "rival": [f"r{n % 7}" for n in range(24)]}
PICKS = [CHOICES[("word", "rival")[n % 3 > 0]][n] for n in range(24)]
OTHERS = [CHOICES[("word", "rival")[n % 3 == 0]][n] for n in range(24)]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({**CHOICES, "pick": PICKS}, True),
        ({**CHOICES, "pick": PICKS, "left_over": OTHERS}, False),  # either may be who won
        ({**CHOICES, "choice": PICKS, "left_over": OTHERS}, True),
        ({**CHOICES, "pick": OTHERS, "lost": PICKS}, True),  # which cannot be who won
        ({**CHOICES, "gold": PICKS}, False),
        ({"coder1": CHOICES["word"], "coder2": CHOICES["rival"], "pick": PICKS}, False),
        ({"Part 1: a": CHOICES["word"], "Part 2: b": CHOICES["rival"], "Part 3: c": PICKS}, False),
        ({"word": list("xyz") * 8, "rival": ["NA"] * 23 + ["y"], "pick": list("xyz") * 8}, False),
    ],
)
def test_what_always_names_one_of_two_others_says_who_won_where_no_other_column_may(columns, found):
    said = said_of(pa.table(columns))
    assert ("are the two that were compared and" in said) == found
    picked = next(name for name in columns if name not in {"word", "rival", "left_over", "lost"})
    assert (f"--left-column 'word' --right-column 'rival' --winner-column '{picked}'" in said) == found


def test_few_classes_agree_by_chance():
    """Questions of a survey and coders without numbers: two of many always differ, and a third names one of them."""
    draw = np.random.default_rng(4)
    for n_rows, classes in ((12, "LRN"), (40, "LR")):
        for _ in range(20):
            codes = draw.integers(len(classes), size=(12, n_rows))
            codes[1] = (codes[0] + draw.integers(1, len(classes), n_rows)) % len(classes)
            codes[2] = np.where(draw.random(n_rows) < 0.5, codes[0], codes[1])
            asked = {f"asks {'abcdefghijkl'[n]}": [classes[code] for code in row] for n, row in enumerate(codes)}
            said = said_of(pa.table({"id": range(n_rows), **asked}))
            assert "are the two that were compared" not in said


IN_ONE_ORDER = {
    "a side of a baseline": [("base", other) for other in "xyz"] * 8,
    "one order for each two": [("x", "y"), ("x", "z"), ("u", "z")] * 8,
}


@pytest.mark.parametrize("kind", IN_ONE_ORDER)
@pytest.mark.parametrize("names", [("model_a", "model_b"), ("shown_a", "shown_b")])
@pytest.mark.parametrize("name", ["verdict", "winner", "is_a_better"])
def test_comparisons_in_one_order_are_ranked_not_combined(tmp_path, kind, names, name):
    left, right = zip(*IN_ONE_ORDER[kind], strict=True)
    shown = {"verdict": ["A", "B", "TIE"] * 8, "winner": [*left[:12], *right[12:]], "is_a_better": [1, 0] * 12}[name]
    rows = {"case_id": [f"c{n // 2}" for n in range(24)], "rater": list("uv") * 12, names[0]: left, names[1]: right}
    path = written(tmp_path, pa.table({**rows, name: shown}))
    with pytest.raises(ColumnError, match=f"'{names[0]}' and '{names[1]}' look like the two sides .* '{name}' says which one"):
        read_labels(path)
    assert read_labels(path, label_column=name).n_labels == 24


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["base"] * 24, ["x"] * 24),  # sides that never change are classes
        ([f"an answer to {n // 6}" for n in range(24)], [f"another to {n // 6}" for n in range(24)]),
        ([f"a question {n // 3}" for n in range(24)], [f"reply {n}" for n in range(24)]),
    ],
)
def test_two_answers_to_each_question_are_labelled(tmp_path, left, right):
    rows = {"case_id": [f"c{n // 2}" for n in range(24)], "rater": list("uv") * 12, "model_a": left, "model_b": right}
    path = written(tmp_path, pa.table({**rows, "verdict": list("AB") * 12}))
    assert read_labels(path).class_names == ("A", "B")
