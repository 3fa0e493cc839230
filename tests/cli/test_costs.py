"""What it will cost: the same numbers on the terminal, in summary.json, the next table, the report and `plan`."""

import csv
import json
from pathlib import Path

import pytest

REVIEWS = Path(__file__).parents[2] / "examples" / "reviews"
JOB = (REVIEWS / "labels.csv", "--gold", REVIEWS / "gold.csv")
PRICES = ("--cost", 0.05, "--expert-cost", 1, "--currency", "$")


@pytest.fixture
def found(run, tmp_path):
    places = ("--out", tmp_path / "r", "--next", tmp_path / "next.csv", "--report", tmp_path / "page.html")
    code, out, err = run("aggregate", *JOB, *PRICES, *places)
    assert code == 0, err
    return tmp_path, " ".join(out.split())


def test_m13_one_number_wherever_it_is_said(run, found):
    folder, out = found
    cost = json.loads((folder / "r" / "summary.json").read_text())["cost"]
    ways = {way["ask"]: way for way in cost["ways"]}
    both, page = ways["both"], (folder / "page.html").read_text()
    assert f"${both['cost']:,.2f}, would settle what is open" in out
    assert f'"value">${both["cost"]:,.2f}<' in page or f">${both['cost']:,.2f}<" in page
    for way in cost["ways"]:
        assert f"${way['cost']:,.2f}" in out
        assert f"${way['cost']:,.2f}" in page
    with (folder / "next.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert sum(float(row["cost"]) for row in rows) == pytest.approx(both["cost"])
    assert sum(row["ask"] == "expert" for row in rows) == both["answers"]
    assert sum(int(row["labels_needed"]) for row in rows if row["ask"] == "labels") == both["labels"]
    planned = json.loads(run("plan", *JOB, "--label-cost", 0.05, "--expert-cost", 1, "--budget", 5, "--json")[1])
    assert (planned["open_items"], planned["ways"]) == (cost["open_items"], cost["ways"])
    assert planned["estimated_error"] == cost["error"]


def test_m13_what_has_no_price_says_so(run):
    out = " ".join(run("aggregate", *JOB, "--cost", 0.05)[1].split())
    assert "No price of an expert's answer was given (--expert-cost)." in out
    assert "no price given" in out


def test_m13_one_label_an_item_is_no_contradiction(run, tmp_path):
    rows = "".join(f"i{n},w{n % 4},{'xyz'[n % 3]}\n" for n in range(80))
    (tmp_path / "one.csv").write_text("item,worker,label\n" + rows)
    page = tmp_path / "page.html"
    code, out, _ = run("aggregate", tmp_path / "one.csv", "--cost", 0.05, "--report", page)
    assert code == 0
    for text in (" ".join(out.split()), page.read_text()):
        assert "Let a second worker label 50 items (2.50)" in text
        assert "worth asking for" not in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--expert-cost", -1), "An expert's answer must cost between 0 and"),
        (("--currency", "EUR"), "--currency goes with --cost or --expert-cost."),
        (("--cost", 1, "--currency", "a long name"), "A currency is a sign or a few letters"),
    ],
)
def test_prices_are_checked_before_any_work(run, options, words):
    code, _, err = run("aggregate", "nowhere.csv", *options)
    assert code == 2
    assert words in err
