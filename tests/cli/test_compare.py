import itertools
import json

import numpy as np
import pytest

from crowdassay import compare, simulate
from crowdassay.errors import DataError


@pytest.fixture
def simulated(tmp_path, run):
    run("simulate", "--out", tmp_path / "sim", "--items", 80, "--workers", 8, "--classes", 3, "--seed", 4)
    return tmp_path / "sim"


def test_with_truth(run, simulated):
    code, out, _ = run("compare", simulated / "labels.csv", "--truth", simulated / "truth.csv", "--json")
    table = json.loads(out)
    assert code == 0
    assert [row["method"] for row in table["methods"]] == ["majority", "dawid-skene", "minimax", "assay"]
    assert all(0 <= row["error_rate"] <= 1 and row["rmse"] >= row["mae"] for row in table["methods"])
    assert {(row["a"], row["b"]) for row in table["agreement"]} == {
        *itertools.combinations(["majority", "dawid-skene", "minimax", "assay"], 2)
    }
    assert len(table["disputed"]) == table["n_disputed"] > 0
    said = table["disputed"][0]["methods"]
    assert len(set(said.values())) > 1


def test_without_truth_labels_are_held_out(run, simulated):
    table = json.loads(run("compare", simulated / "labels.csv", "--json", "--methods", "majority,minimax")[1])
    assert all(-5 < row["heldout_log_likelihood"] < 0 for row in table["methods"])
    again = json.loads(run("compare", simulated / "labels.csv", "--json", "--methods", "majority,minimax")[1])
    assert [row["heldout_log_likelihood"] for row in again["methods"]] == [
        row["heldout_log_likelihood"] for row in table["methods"]
    ]


def test_the_table_is_shown(run, simulated):
    code, out, _ = run(
        "compare", simulated / "labels.csv", "--truth", simulated / "truth.csv", "--methods", "majority,kos,minimax"
    )
    assert code == 0
    for words in ("same label", "Most disputed items", "The methods disagree on", "Left out: The method 'kos'"):
        assert words in out


@pytest.mark.slow
def test_what_is_better_and_which_is_best_is_said(run, simulated):
    command = ("compare", simulated / "labels.csv", "--methods", "majority,dawid-skene,minimax")
    truth = ("--truth", simulated / "truth.csv")
    for extra, words, name, sign in ((truth, "Lower", "error_rate", 1), ((), "Higher", "heldout_log_likelihood", -1)):
        table = json.loads(run(*command, *extra, "--json")[1])
        best = min(sign * row[name] for row in table["methods"])
        assert table["best"] == [row["method"] for row in table["methods"] if sign * row[name] == best]
        out = " ".join(run(*command, *extra)[1].split())
        assert out.startswith("Read ")
        assert words in out
        ending = "best here." if extra else "ahead;"
        assert f"{' and '.join(table['best'])} {'are' if len(table['best']) > 1 else 'is'} {ending}" in out
    code, _, err = run(*command, *truth, "--gold", truth[1])
    assert code == 1
    assert "every item of the truth is given as gold" in err


def test_unknown_methods_are_refused(run, simulated):
    code, _, err = run("compare", simulated / "labels.csv", "--methods", "majority,magic")
    assert code == 2
    assert "magic" in err


def test_nothing_left_to_compare_is_an_error():
    labels, _ = simulate(np.random.default_rng(0), n_classes=3)
    with pytest.raises(DataError, match="None of these methods"):
        compare(labels, ["kos"])
