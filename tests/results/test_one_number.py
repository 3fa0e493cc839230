"""One quantity, one number: terminal, report, page, summary.json, tables, notebook, Python, `plan` and the service (M12)."""

import json
import os
import re
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

from crowdassay import Assay, MinimaxEntropy, load_model, plan, read_labels, simulate
from crowdassay.results.report.overview import cards

DATA = Path(os.environ.get("CROWDASSAY_DATA", Path(__file__).parents[3] / "shared" / "data"))
SIX = ("bluebirds", "rte", "temp", "valence", "face_sentiment", "wsd")
KNOWN = 30  # items given as known where any are
ABOUT = re.compile(
    r"About ([\d,]+) of ([\d,]+) labels are expected to be wrong; "
    r"nine times in ten the number is between ([\d,]+) and ([\d,]+)\."
)
PAGE_CARD = "How wrong is it?"


def numbers(text):
    """Return what a sentence says: wrong labels, items, and both limits."""
    found = ABOUT.search(re.sub(r"\s+", " ", text))
    assert found, text
    return [int(one.replace(",", "")) for one in found.groups()]


@pytest.fixture(params=[(name, known) for name in SIX for known in (0, KNOWN)], ids=lambda one: f"{one[0]}-{one[1]}")
def told(request, tmp_path, run):
    """All that one run says: the terminal's text, the folder, the page, and the fitted method in Python."""
    name, n_known = request.param
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"the dataset {name} is not at hand: set CROWDASSAY_DATA to the folder that holds it")
    options = []
    if n_known:
        lines = (folder / "truth.csv").read_text(encoding="utf-8").splitlines()
        chosen = np.random.default_rng(1).choice(np.arange(1, len(lines)), n_known, replace=False)
        (tmp_path / "gold.csv").write_text("\n".join([lines[0], *(lines[i] for i in chosen)]) + "\n", encoding="utf-8")
        options = ["--gold", tmp_path / "gold.csv"]
    code, text, _ = run(
        "aggregate", folder / "labels.csv", *options, "--out", tmp_path / "out", "--report", tmp_path / "page.html"
    )
    assert code == 0, text
    _, planned, _ = run("plan", folder / "labels.csv", *options, "--budget", 5, "--json")
    gold = tmp_path / "gold.csv" if n_known else None
    fitted = Assay().fit(read_labels(folder / "labels.csv"), gold=gold)
    return text, tmp_path, json.loads(planned), fitted


def check_bands(summary, insight, probability, standing):
    """Check that bands are what summary.json, the items of labels.csv and the one estimate of the error say."""
    bands, error = insight.bands, insight.error
    assert summary["bands"] == [pytest.approx(band.as_dict()) for band in bands]
    wrong, low, high = (sum(getattr(band, name) * band.items for band in bands) for name in ("error", "low", "high"))
    assert wrong == pytest.approx(error.error * insight.totals.items, rel=1e-9)
    assert low <= wrong <= high
    open_items = probability[np.array(standing) != "known"]
    for band in bands:
        assert ((open_items > band.least) & (open_items <= band.most)).sum() == band.items
        if not summary["n_gold"]:  # nothing has checked the probabilities, which are then what is expected
            inside = open_items[(open_items > band.least) & (open_items <= band.most)]
            assert band.error == pytest.approx(1 - inside.mean(), abs=5e-3)
    assert [band.error for band in bands] == sorted(band.error for band in bands)
    assert summary["n_likely_right"] == insight.likely_right


@pytest.mark.filterwarnings("ignore::crowdassay.CrowdassayWarning")
def test_every_place_says_the_same_numbers(told):
    """M12."""
    text, folder, planned, fitted = told
    insight, summary = fitted.result_.insight, json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    error, n = insight.error, insight.totals.items
    three = [error.error, error.low, error.high]
    assert list(summary["estimated_error"].values()) == pytest.approx(three)
    assert [planned[key] for key in ("estimated_error", "lower_limit", "upper_limit")] == pytest.approx(three)
    assert plan(fitted, 5).summary()["estimated_error"] == error.error
    page = (folder / "page.html").read_text(encoding="utf-8")
    rounded = [round(error.error * n), n, round(error.low * n), round(error.high * n)]
    (wrong,) = [card for card in cards(insight, None, None) if card["title"] == PAGE_CARD]
    for said in (text, page, wrong["text"], fitted.result_._repr_html_()):
        assert numbers(said) == rounded
    assert wrong["value"] == f"{error.error:.1%}"
    items = pc.read_csv(folder / "out" / "items.csv").to_pydict()
    settled = sum(standing in {"settled", "known"} for standing in items["standing"])
    bars = sum(row["items"] for row in fitted.result_.chart.confidence().records if row["state"] == "settled")
    assert settled == summary["n_settled"] == planned["items_settled"] == bars == insight.totals.settled
    finished = next(card for card in cards(insight, None, None) if card["title"] == "What is known?")
    first = (f"{settled:,} of {n:,} labels are settled", f"{insight.likely_right:,} of {n:,} labels can be told", "None of")
    assert finished["text"].startswith(first[0] if settled else first[1] if insight.likely_right else first[2])
    assert f": at least {100 * summary['settled_from']:g}% sure, or known." in finished["text"]
    assert finished["value"] == f"{settled or insight.likely_right:,} of {n:,}"
    assert summary["next_steps"] == fitted.result_.next_steps()
    assert all(step in unescape(page) for step in summary["next_steps"])
    assert f"What to do next: {summary['next_steps'][0]}" in " ".join(text.split())
    for said in (text, unescape(page), fitted.result_._repr_html_()):
        assert insight.told_known in " ".join(said.split())
        assert insight.told_bands in " ".join(said.split())
    check_bands(summary, insight, pc.read_csv(folder / "out" / "labels.csv")["probability"].to_numpy(), items["standing"])
    workers = pc.read_csv(folder / "out" / "workers.csv").to_pydict()
    parameters = fitted.result_.parameters_table().to_pylist()
    for row in parameters[:: max(len(parameters) // 40, 1)]:
        place = [str(name) for name in workers["worker"]].index(str(row["worker"]))
        assert workers[f"confusion:{row['true']}:{row['observed']}"][place] == pytest.approx(row["share"], abs=1e-6)
    assert workers["accuracy"] == pytest.approx(insight.accuracy.tolist(), abs=1e-6)
    for row in fitted.result_.chart.workers().records:
        place = [str(name) for name in workers["worker"]].index(str(row["worker"]))
        assert row["accuracy"] == pytest.approx(workers["accuracy"][place], abs=1e-3)
    curve = plan(fitted, 5).curve()
    assert curve[0]["error"] == pytest.approx(error.error, abs=2e-3)


def write(path, rows):
    """Write rows of item, worker and label."""
    path.write_text("\n".join(["item,worker,label", *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


ONE_CLASS = [(f"i{j}", f"w{w}", "yes") for j in range(60) for w in range(3)]
ONE_LABEL = [(f"i{j}", f"w{j % 7}", "yes" if j % 3 else "no") for j in range(200)]
ONE_WORKER = [(f"i{j}", "ann", "yes" if j % 3 else "no") for j in range(60)]
TELLING = [(f"i{j}", f"w{w}", "yes" if (j % 2) ^ ((j + w) % 5 == 0) else "no") for j in range(60) for w in range(4)]
NO_ESTIMATE = [
    ("one class", ONE_CLASS, [], "name the same class"),
    ("one class of two", ONE_CLASS, ["--classes", "yes,no"], "name the same class"),
    ("one label an item", ONE_LABEL, [], "shows who is right"),
    ("one worker", ONE_WORKER, [], "shows who is right"),
    ("another method", TELLING, ["--method", "dawid-skene"], "the default gives one"),
    ("the vote", TELLING, ["--method", "majority"], "the default gives one"),
]


@pytest.mark.parametrize(("rows", "options", "why"), [case[1:] for case in NO_ESTIMATE], ids=[case[0] for case in NO_ESTIMATE])
def test_without_an_estimate_every_place_says_so_and_why(tmp_path, run, rows, options, why):
    """M11, W24, W25."""
    path = write(tmp_path / "labels.csv", rows)
    code, out, failed = run(
        "aggregate", path, *options, "--out", tmp_path / "out", "--report", tmp_path / "page.html",
        "--fail-if", "estimated_error > 50%",
    )  # fmt: skip
    assert code == 1
    assert "expected to be wrong" not in out
    assert why in re.sub(r"\s+", " ", out)
    assert why in failed.split("cannot be told.")[1]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["estimated_error"] is None
    assert why in summary["why_no_estimated_error"]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert why in page
    assert not ABOUT.search(page)
    planned = json.loads(run("plan", path, *options, "--budget", 5, "--target-error", 0.4, "--json")[1])
    assert not planned["stop"]
    assert planned["estimated_error"] is planned["upper_limit"] is planned["expected_error_after"] is None
    assert any(why in note for note in planned["notes"])
    code, out, _ = run("plan", path, *options, "--budget", 5, "--target-error", 0.4)
    assert code == 0
    assert "The error is unknown." in out
    assert "Stop" not in out
    code, _, _ = run("plan", path, *options, "--budget", 5, "--out", tmp_path / "next.csv", "--curve", tmp_path / "curve.svg")
    assert code == 1
    assert not (tmp_path / "next.csv").exists()


def test_where_everything_is_known_nothing_is_wrong(tmp_path, run):
    """M11: the neighbour in which every class is given."""
    path = write(tmp_path / "labels.csv", TELLING)
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\n" + "".join(f"i{j},{'yes' if j % 2 else 'no'}\n" for j in range(60)), encoding="utf-8")
    assert "Every class is known, so that no label is wrong." in run("aggregate", path, "--gold", gold)[1]
    planned = json.loads(run("plan", path, "--gold", gold, "--budget", 5, "--json")[1])
    assert (planned["estimated_error"], planned["upper_limit"], planned["known_items"]) == (0.0, 0.0, 60)


def test_labels_that_nobody_else_gave_are_marked_in_python():
    """W25."""
    items, workers, labels = zip(*ONE_LABEL, strict=True)
    result = Assay().fit((list(items), list(workers), list(labels))).result_
    assert "nothing shows who is right" in repr(result)
    assert any("nothing shows who is right" in note for note in result.notes)
    assert set(result.items_table()["standing"].to_pylist()) == {"unidentifiable"}


def test_a_saved_model_says_the_same_error(tmp_path):
    """M12."""
    labels, truth = simulate(np.random.default_rng(3), n_items=80, n_workers=9, labels_per_item=4)
    gold = np.where(np.arange(80) < 25, truth, -1)
    fitted = Assay().fit(labels.with_gold(gold))
    fitted.save(tmp_path / "model")
    again = load_model(tmp_path / "model").result_.insight
    assert fitted.result_.insight.error.known == 25
    assert again.error == fitted.result_.insight.error


def test_two_of_three_votes_on_one_item_settle_nothing():
    """W26: a class prior learned from one item must not rule out all other classes."""
    for n_items in (1, 2, 10):
        rows = [(f"i{j}", f"w{j}{k}", "no" if k < 2 else "yes") for j in range(n_items) for k in range(3)]
        result = Assay().fit(tuple(map(list, zip(*rows, strict=True)))).result_
        assert result.probability.max() < 0.85


def test_labels_that_never_differ_count_for_little_more_than_one():
    """W26: agreement beyond that of any real crowd is no evidence."""
    rows = [(f"i{j}", f"w{k}", "no" if j % 2 else "yes") for j in range(500) for k in range(7)]
    result = Assay().fit(tuple(map(list, zip(*rows, strict=True)))).result_
    assert result.insight.totals.settled == 0
    assert any("hardly ever differ" in note for note in result.notes)
    few = Assay().fit(tuple(map(list, zip(*rows[:70], strict=True)))).result_  # ten items may well be easy
    assert few.insight.totals.settled == 10


def test_the_error_that_known_items_show_is_heeded():
    """W26: unanimous workers, a third of whose answers are wrong; thirty known items of five hundred show it."""
    rng = np.random.default_rng(0)
    truth, wrong = rng.integers(0, 2, 500), rng.random(500) < 1 / 3
    rows = [(f"i{j:03}", f"w{k}", str(truth[j] ^ wrong[j])) for j in range(500) for k in range(7)]
    known = rng.choice(500, 30, replace=False)
    gold = pa.table({"item": [f"i{j:03}" for j in known], "label": [str(truth[j]) for j in known]})
    result = Assay().fit(tuple(map(list, zip(*rows, strict=True))), gold=gold).result_
    insight = result.insight
    assert insight.totals.settled == 30
    assert insight.error.low < np.mean(result.code != truth) < insight.error.high
    assert insight.error.error > 0.15


def test_other_methods_give_no_estimate_in_python():
    """W24."""
    labels, _ = simulate(np.random.default_rng(3), n_items=60, n_workers=9, labels_per_item=4)
    fitted = MinimaxEntropy().fit(labels)
    assert fitted.result_.insight.error is None
    assert "minimax" in fitted.result_.insight.why_no_error
    made = plan(fitted, 5, target_error=0.4)
    assert not made.summary()["stop"]
    assert made.assignments().num_rows == 5
