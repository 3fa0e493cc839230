"""What `crowdassay aggregate` prints is one story, in order, said once, with advice that can be followed."""

import csv
import re
from itertools import pairwise

import numpy as np
import pytest

from crowdassay import Assay


def write(path, rows, header=("item", "worker", "label")):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """Labels of 60 items by four workers who are right most of the time, and their classes."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(1)
    truth = generator.choice(list("abc"), 60)
    said = np.where(generator.random((60, 4)) < 0.8, truth[:, None], generator.choice(list("abc"), (60, 4)))
    write("labels.csv", [(f"i{j}", f"w{i}", said[j, i]) for j in range(60) for i in range(4)])
    return [(f"i{j}", truth[j]) for j in range(60)]


def gold(rows, n):
    return write("gold.csv", rows[:n], ("item", "label"))


def test_what_is_known_how_sure_who_what_next_and_what_it_costs(run, crowd):
    code, out, _ = run("aggregate", "labels.csv")
    parts = ("toss of a coin", "expected to be wrong", "Least reliable workers", "What to do next:", "What would settle")
    assert code == 0
    assert [out.index(part) for part in parts] == sorted(out.index(part) for part in parts)


@pytest.mark.parametrize("known", [0, 1])
def test_advice_is_said_once(run, crowd, known):
    out = " ".join(run("aggregate", "labels.csv", *(["--gold", gold(crowd, 1)] if known else []))[1].split())
    step = out.split("What to do next: ")[1].split(". ")[0]
    assert out.count(step) == 1
    assert out.count("given (--cost, --expert-cost)") == 1
    if known:
        assert "1 of 60 labels is settled" in out or "0 of 60 labels are settled" in out or "None is settled" in out


def test_one_unknown_item_is_told_in_the_singular(run, crowd):
    out = " ".join(run("aggregate", "labels.csv", "--gold", gold(crowd, 59))[1].split())
    assert "Fewer than 1 of 60 labels is expected to be wrong." in out
    assert "would narrow it" not in out, "after this answer every class is known"
    assert "i59" in out.split("Hardest items")[1]
    assert " i0 " not in out, "an item whose class is known is not hard"


def test_sheets_that_ask_nothing_say_so(run, crowd):
    sheets = ["--next", "n.csv", "--disputes", "d.csv", "--expert", "e.csv"]
    out = run("aggregate", "labels.csv", "--gold", gold(crowd, 60), *sheets)[1]
    assert "n.csv. It is empty: every item is settled." in out
    assert "d.csv. It is empty: on no item of unknown class do two answers differ." in out
    assert "e.csv. It asks nothing: every class is known." in out
    assert "Let the expert" not in out
    assert "Hardest items" not in out


def test_the_sheet_keeps_the_classes_that_were_known_before(run, crowd):
    run("aggregate", "labels.csv", "--gold", gold(crowd, 3), "--expert", "e.csv")
    with open("e.csv", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["item"], row["label"]) for row in rows if row["label"]] == crowd[:3]
    assert {row["drawn"] for row in rows if row["label"]} == {""}
    assert sum(row["drawn"] == "at random" for row in rows) == 50


def test_the_command_to_type_again_reads_the_labels_alike(run, crowd):
    write("odd.csv", [(j, "x", j, label) for j, label in crowd[:30]], ("a", "b", "c", "d"))
    columns = ["--item-column", "a", "--worker-column", "b", "--label-column", "d", "--pseudonymise", "--salt", "secret"]
    out = run("aggregate", "odd.csv", *columns, "--method", "dawid-skene", "--expert", "e.csv")[1]
    again = out.split("as far as time allows; then\n")[1].split()
    assert again[:3] == ["crowdassay", "aggregate", "odd.csv"]
    given = set(pairwise(again))
    assert {("--item-column", "a"), ("--label-column", "d"), ("--method", "dawid-skene"), ("--gold", "e.csv")} <= given
    assert "--pseudonymise" in again
    assert "secret" not in out


def test_the_list_of_items_to_label_next_says_where_it_is_a_part(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    write("labels.csv", [(f"i{j}", f"w{generator.integers(9)}", label) for j in range(450) for label in "ab"])
    out = run("aggregate", "labels.csv", "--next", "next.csv", "--report", "r.html")[1]
    with open("next.csv", encoding="utf-8") as stream:
        held = len(list(csv.DictReader(stream)))
    assert held < 450
    assert f"next.csv. It holds {held:,} of 450 open items: the least sure and the surest." in out
    with open("r.html", encoding="utf-8") as stream:
        assert f"items to label next ({held:,} of 450)" in stream.read()


def test_a_few_items_that_one_worker_alone_has_seen_do_not_come_first(run, crowd):
    with open("labels.csv", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    write("labels.csv", [*rows, ("lone", "stranger", "a")])
    out = " ".join(run("aggregate", "labels.csv")[1].split())
    assert "What to do next: Let an expert answer 50 items drawn at random." in out
    assert "1 more label would" not in out, "a second worker's label is no way to settle the others"


@pytest.mark.parametrize(("options", "step"), [((), "Name all classes"), (("--classes", "a,b"), "Let an expert answer")])
def test_labels_that_all_say_the_same_do_not_agree_as_if_by_chance(run, tmp_path, options, step):
    path = write(tmp_path / "labels.csv", [(f"i{j}", f"w{i}", "a") for j in range(20) for i in range(3)])
    out = " ".join(run("aggregate", path, *options)[1].split())
    assert f"What to do next: {step}" in out
    assert "no better than chance" not in out
    assert ("(--classes)" in out) == (not options), "who has named the classes need not do so again"
    assert "Hardest items" not in out


def test_a_page_has_no_section_without_anything_in_it(run, tmp_path):
    path = write(tmp_path / "labels.csv", [(f"i{j}", f"w{i}", "a") for j in range(20) for i in range(3)])
    run("aggregate", path, "--report", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert [part for part in ("next", "cost", "workers", "items") if f'<section id="{part}">' in page] == ["next", "workers"]


def test_counts_of_agreement_are_readable():
    generator = np.random.default_rng(0)
    said = np.tile((np.arange(1500) % 2)[:, None], 4)
    said[:, 3], said[::7, 0] = generator.integers(2, size=1500), 1 - said[::7, 0]
    assert "of 1,500 items" in Assay().fit(said).result_.insight.evidence[3]


def test_a_price_where_a_file_is_wanted_is_told_where_it_goes(run, crowd):
    code, _, err = run("plan", "labels.csv", "--budget", 5, "--cost", 0.1)
    assert code == 2
    assert "one price for every label is --label-cost 0.1" in err


def test_agreement_without_anything_to_compare_is_told_once(run, tmp_path):
    path = write(tmp_path / "labels.csv", [(f"i{j}", f"w{j % 3}", "ab"[j % 2]) for j in range(12)])
    out = " ".join(run("agreement", path)[1].split())
    assert out.count("no item has labels by two workers") == 1
    assert "Workers who agree least" not in out


def test_ratings_that_determine_nothing_are_not_called_usable(run, tmp_path):
    path = write(tmp_path / "r.csv", [("a", "r", 1), ("a", "s", 2), ("b", "r", 3), ("b", "s", 3)], ("item", "rater", "score"))
    out = " ".join(run("measure", path, "--facets", "item,rater")[1].split())
    assert "These ratings do not determine the measures" in out
    assert "usable" not in out


def test_nothing_is_shown_as_less_than_zero_by_rounding(run, tmp_path):
    pairs = [("a", "b", "a", "j"), ("a", "b", "b", "j"), ("c", "d", "c", "j"), ("c", "d", "d", "k")]
    path = write(tmp_path / "p.csv", pairs, ("left", "right", "winner", "worker"))
    assert "-0.00" not in run("rank", path, "--report", tmp_path / "p.html")[1]
    assert "each of 4 items could be first" in (tmp_path / "p.html").read_text(encoding="utf-8"), "nothing is called the best"


def test_pages_name_no_options_of_commands(run, crowd):
    judges = [(item, f"m{i}", "ab"[(j + (i == j % 5)) % 2]) for j, (item, _) in enumerate(crowd) for i in range(3)]
    write("v.csv", [*judges, *[(item, "ann", "ab"[j % 2]) for j, (item, _) in enumerate(crowd[:30])]])
    assert "(--next)" in run("rate", "v.csv", "--people", "ann", "--report", "v.html")[1]
    write("r.csv", [(f"i{j}", "r", 1 + j % 5) for j in range(10)], ("item", "rater", "score"))
    assert "raise --max-iter" in run("measure", "r.csv", "--facets", "item,rater", "--report", "r.html")[1]
    for page, said in (("v.html", "would make the interval about"), ("r.html", "usable but not final.")):
        with open(page, encoding="utf-8") as stream:
            text = re.sub(r"<(script|style)\b.*?</\1>", "", stream.read(), flags=re.DOTALL)
        assert said in text
        assert "--next" not in text
        assert "--max-iter" not in text


def test_labels_that_all_say_the_same_and_are_confirmed_are_not_called_chance(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("labels.csv", [(f"i{j}", f"w{i}", "yes") for j in range(12) for i in range(3)])
    for n in (3, 12):
        write("gold.csv", [(f"i{j}", "yes") for j in range(n)], ("item", "label"))
        _, out, _ = run("aggregate", "labels.csv", "--classes", "no,yes", "--gold", "gold.csv")
        assert "chance" not in out
        assert "Check the question" not in out


def test_answers_that_would_leave_nothing_unknown_narrow_nothing(run, crowd):
    gold(crowd, 50)
    assert "would narrow it" not in run("aggregate", "labels.csv", "--gold", "gold.csv")[1]
