"""Who won: codes that mean nobody, numbers taken for sides, numbers of both sides, and both names in one cell."""

from __future__ import annotations

import csv

import pyarrow as pa
import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.files import read_labels
from crowdassay.ranking.pairs import read_pairs

LOWER_WINS = "-=left,0=tie,+=right"
GAMES = {
    "home_team": list("xyzxyzx"), "away_team": list("yzxzxyy"), "home_score": ["1", "2", "0", "3", "1", "", "2"],
    "away_score": ["0", "2", "1", "1", "NA", "2", "11"], "city": list("pqrpqrp"),
}  # fmt: skip
SCORES = "home_score,away_score"


def three(winners, left="left", right="right"):
    return pa.table({left: list("xyz"), right: list("yzx"), "winner": winners})


@pytest.mark.parametrize("rest", [["left", "right"], ["x", "z"], ["a", "b"]])
def test_a_code_for_nobody_leaves_the_comparison_out(rest):
    table = three([*rest, "skip"])
    with pytest.raises(DataError, match=r"say whether left, right, tie, both bad or none is meant: `winners` 'skip=\.\.\.'"):
        read_pairs(table)
    pairs = read_pairs(table, winners="skip=none")
    assert pairs.outcome.tolist() == [0, 1]
    assert pairs.dropped == {"nobody was chosen": 1}


def test_names_that_are_numbers_stay_names_beside_a_code_for_nobody():
    table = pa.table({"left": ["4", "5", "6"], "right": ["5", "6", "4"], "winner": ["5", "5", "NA"]})
    assert read_pairs(table, winners="NA=none").outcome.tolist() == [1, 0]
    assert read_pairs(table, winners="NA=tie").outcome.tolist() == [1, 0, 2]


def test_nobody_may_be_chosen_more_often_than_not_and_beside_signs_and_by_some_voters():
    assert read_pairs(three(["skip", "left", "skip"]), winners="skip=none").dropped == {"nobody was chosen": 2}
    assert read_pairs(three(["-2", "5", "NA"]), winners="-=left,+=right,NA=none").outcome.tolist() == [0, 1]
    with pytest.raises(DataError, match=r"nothing can be ranked\. Left out: nobody was chosen \(3 rows\)"):
        read_pairs(three(["skip"] * 3), winners="skip=none")
    votes = {
        "left": list("xyz"),
        "right": list("yzx"),
        "winner1": ["left", "skip", "right"],
        "winner2": ["skip"] * 2 + ["left"],
    }
    assert read_pairs(pa.table(votes), winners="skip=none").outcome.tolist() == [0, 1, 0]
    orders = {"left": list("xyz"), "right": list("yzx"), "g1_winner": ["left", "skip", "right"], "g2_winner": ["skip"] * 3}
    assert read_pairs(pa.table(orders), winners="skip=none").dropped == {"nobody was chosen": 4}


def test_a_winner_called_none_is_asked_about():
    with pytest.raises(DataError, match="'none' is a code"):
        read_pairs(three(["left", "right", "none"]))


@pytest.mark.parametrize("winners", ["0=left,1=right,2=tie", "0.0=left,1.00=right,+2=tie"])
def test_codes_fit_numbers_however_they_are_written(winners):
    for cells in ([0.0, 1.0, 2.0], ["0.0", "1", "2"], [0, 1, 2]):
        assert read_pairs(three(cells), winners=winners).outcome.tolist() == [0, 1, 2]


def test_one_number_has_one_meaning():
    with pytest.raises(ParameterError, match=r"says twice what '0\.0' means"):
        read_pairs(three(["0", "1", "0"]), winners="0=left,0.0=right")


@pytest.mark.parametrize("cells", [["1", "2", "1"], [1.0, 2.0, 2.0], ["2", "tie", "1.0"]])
def test_numbers_taken_for_sides_are_said(cells):
    said = (
        "The winners '{}' and '2' were taken for the left and the right one ('left' and 'right'); if they mean something else, "
        "say what, such as --winners '1=left,2=tie'."
    ).format("1.0" if "1.0" in cells else "1")
    assert said in read_pairs(three(cells)).notes
    for told in ("side", "1=left,2=right"):
        assert not any("taken for" in note for note in read_pairs(three(cells), winners=told).notes)


def test_only_one_number_is_said_and_none_where_sides_are_numbered_or_named():
    assert "The winner '2' was taken for the right one ('right'); if it means" in read_pairs(three(["2", "2", "tie"])).notes[0]
    assert not read_pairs(three(["1", "2", "2"], "model_1", "model_2")).notes
    named = pa.table({"left": ["1", "2", "1"], "right": ["2", "3", "3"], "winner": ["1", "2", "3"]})
    assert not read_pairs(named).notes


def test_a_number_among_others_is_no_side():
    """Scores of 1 and 2 are as wrong as those of 0 and 3."""
    with pytest.raises(DataError, match=r"data row 1 .*'1', .* \(3 rows are wrong\)"):
        read_pairs(three(["1", "2", "4"]))


def test_the_larger_of_two_numbers_wins_where_that_is_said(tmp_path):
    path = tmp_path / "games.csv"
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(GAMES)
        table.writerows(zip(*GAMES.values(), strict=True))
    for data in (pa.table(GAMES), path):
        with pytest.raises(ColumnError) as error:
            read_pairs(data)
        assert error.value.message.endswith(
            "name it with --winner-column. If the larger of 'home_score' and 'away_score' won, say --winner-column "
            "'home_score,away_score'."
        )
        pairs = read_pairs(data, winner_column=SCORES)
        assert pairs.outcome.tolist() == [0, 2, 1, 0, 1]
        assert pairs.columns == {"left": "home_team", "right": "away_team", "winner": SCORES}
        assert pairs.dropped == {"no winner": 2}
        assert f"where the smaller one wins, say --winners '{LOWER_WINS}'" in pairs.notes[0]
        lower = read_pairs(data, winner_column=SCORES, winners=LOWER_WINS)
        assert lower.outcome.tolist() == [1, 2, 0, 1, 0]
        assert not lower.notes


def test_numbers_of_both_sides_are_those_of_their_sides():
    table = pa.table(GAMES)
    with pytest.raises(
        ColumnError, match=r"'away_score' is named like the right side, 'away_team', .* 'home_score,away_score'"
    ):
        read_pairs(table, winner_column="away_score,home_score")
    turned = read_pairs(
        table, left_column="away_team", right_column="home_team", winner_column="away_score,home_score"
    ).outcome.tolist()
    assert turned == [1, 2, 0, 1, 0]
    with pytest.raises(ColumnError, match="`winner_column` 'away_score,home_score'"):
        read_pairs(table, left_column="away_team", right_column="home_team")


def test_numbers_of_both_sides_are_named_rightly():
    table = pa.table(GAMES)
    with pytest.raises(ColumnError, match=r"no column 'home_scor' for the left's number .* did you mean 'home_score'"):
        read_pairs(table, winner_column="home_scor,away_score")
    with pytest.raises(DataError, match=r"The right's number in data row 1 .* is 'p', which is no number"):
        read_pairs(table, winner_column="home_score,city")
    for winners in ("side", "name", "1=left,2=right", "0=tie,+=left,-=right,5=tie"):
        with pytest.raises(ParameterError, match="two columns of numbers, of which the larger one wins; leave"):
            read_pairs(table, winner_column=SCORES, winners=winners)


def test_sides_and_their_numbers_are_proposed_together():
    rows = {
        "doc_A": list("pqrs"),
        "doc_B": list("tuvw"),
        "score_a": [1, 2, 3, 4],
        "score_b": [2, 1, 1, 5],
        "rank_a": [1, 2, 3, 4],
        "id_a": [1, 2, 3, 4],
    }
    with pytest.raises(ColumnError) as error:
        read_pairs(pa.table({**rows, "rank_b": [4, 3, 2, 1], "length_a": [5, 6, 7, 8], "length_b": [8, 7, 6, 6]}))
    assert error.value.message.endswith(
        "If 'doc_A' and 'doc_B' are the two that were compared and the larger of 'score_a' and 'score_b' won, say "
        "--left-column 'doc_A' --right-column 'doc_B' --winner-column 'score_a,score_b'."
    )
    seconds = {
        "left": list("xyz"),
        "right": list("yzx"),
        "time_a": [1, 2, 3],
        "time_b": [2, 1, 1],
        "n_a": [1, 2, 3],
        "n_b": [2, 1, 1],
    }
    with pytest.raises(ColumnError) as error:
        read_pairs(pa.table(seconds))
    assert "larger" not in error.value.message


@pytest.mark.parametrize("names", [("home", "away"), ("HomeTeam", "AwayTeam"), ("home_team", "visitor_team")])
def test_home_and_away_are_sides(names):
    one, two = names
    table = pa.table({one: list("xyzxyz"), two: list("yzxzxy"), "winner": ["home", "away", "draw"] * 2})
    pairs = read_pairs(table)
    assert pairs.columns == {"left": one, "right": two, "winner": "winner"}
    assert pairs.outcome.tolist() == [0, 1, 2] * 2


def test_a_row_is_left_out_once():
    """Each by the first thing that it misses, so that the numbers add up."""
    table = pa.table(
        {
            "left": [None, None, "x", "x", "x", "y", "z", "y"], "right": ["y", None, None, "y", "x", "z", "x", "x"],
            "winner": [None, None, "left", None, "left", "left", "right", "left"],
        }
    )  # fmt: skip
    pairs = read_pairs(table, allow_drops=True)
    assert pairs.dropped == {"no left": 2, "no right": 1, "no winner": 1, "compared with itself": 1}
    assert pairs.n_pairs + sum(pairs.dropped.values()) == len(table)


BOTH = {
    "pair": ["p,q", "q, r", "r,p", "p,q"], "best": ["p", "r", "same", "q"], "worst": ["q", "q", "r", "p"], "n": [1, 2, 3, 4],
}  # fmt: skip


def test_both_names_may_stand_in_one_cell():
    with pytest.raises(ColumnError) as error:
        read_pairs(pa.table({name: BOTH[name] for name in ("pair", "best", "n")}))
    assert error.value.message.endswith(
        "If 'pair' holds the two that were compared and 'best' says who won, say --left-column 'pair' --right-column 'pair' "
        "--winner-column 'best'."
    )
    with pytest.raises(ColumnError, match="choose one of 'best', 'worst', 'again' with `winner_column`"):
        read_pairs(pa.table({**BOTH, "again": BOTH["best"]}))
    named = {"left_column": "pair", "right_column": "pair"}
    for mark in (",", " vs ", ";"):
        pairs = read_pairs(
            pa.table({**BOTH, "pair": [cell.replace(",", mark) for cell in BOTH["pair"]]}), **named, winner_column="best"
        )
        assert pairs.items.to_pylist() == ["p", "q", "r"]
        assert (pairs.left.tolist(), pairs.right.tolist(), pairs.outcome.tolist()) == ([0, 1, 2, 0], [1, 2, 0, 1], [0, 1, 2, 1])
    with pytest.raises(DataError, match=r"'pair' is named for both sides.* 'p' does not"):
        read_pairs(pa.table({**BOTH, "pair": ["p", *BOTH["pair"][1:]]}), **named, winner_column="best")
    gaps = {name: [*BOTH[name], None] for name in ("pair", "best")}
    assert read_pairs(pa.table(gaps), **named, winner_column="best").dropped == {"no left": 1}


def test_comparisons_without_a_header_are_told_and_read_by_number(tmp_path, run):
    path = tmp_path / "pairs.csv"
    rows = [f"2018-11-2{n % 9} 09:53:12,{1542747178902 + n % 3},street{n % 5}x,street{n % 4}y,{n % 3 - 1}" for n in range(24)]
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(
        ColumnError, match=r"The first row of 'pairs\.csv' looks like data, not like names of columns: '2018-11-20"
    ):
        read_pairs(path)
    with pytest.raises(ColumnError, match="looks like data"):
        read_pairs(path, left_column="street0x", right_column="street0y", winner_column="-1")
    named = {"left_column": "3", "right_column": "4", "winner_column": "5", "worker_column": "2"}
    pairs = read_pairs(path, no_header=True, winners="-=left,0=tie,+=right", **named)
    assert (len(pairs.left), len(pairs.workers)) == (24, 3)
    options = [part for role, name in named.items() for part in ("--" + role.replace("_", "-"), name)]
    code, out, _ = run("rank", path, "--no-header", "--winners=-=left,0=tie,+=right", *options)
    assert code == 0
    assert "Read 24 comparisons" in " ".join(out.split())


def test_years_may_name_columns(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,winner,2019,2020\n" + "".join(f"a{n % 3},b{n % 2},left,{n},{n + 1}\n" for n in range(9)))
    assert len(read_pairs(path).left) == 9


def test_winning_and_losing_teams_are_winners_and_losers(tmp_path):
    path = tmp_path / "matches.csv"
    path.write_text("winning_team,losing_team,map\n" + "".join(f"t{n % 4},t{(n + 1) % 4},m{n % 2}\n" for n in range(12)))
    pairs = read_pairs(path)
    assert (len(pairs.left), pairs.items.to_pylist()[:2]) == (12, ["t0", "t1"])


def test_a_column_that_always_names_one_of_two_others_says_who_won(tmp_path):
    path = tmp_path / "forced.csv"
    rows = [f"s{n % 4},{n // 4},odd{n},even{n},{'odd' if n % 3 else 'even'}{n},{'lr'[n % 2]}" for n in range(24)]
    path.write_text("\n".join(["subid,trial,complicated,simple,response,hand", *rows]) + "\n")
    options = "`left_column` 'complicated' `right_column` 'simple' `winner_column` 'response'"
    with pytest.raises(ColumnError, match=f"If 'complicated' and 'simple' are the two that were compared .* say {options}"):
        read_pairs(path)
    with pytest.raises(ColumnError, match=f"say {options} to crowdassay rank"):
        read_labels(path)
    assert len(read_pairs(path, left_column="complicated", right_column="simple", winner_column="response").left) == 24
