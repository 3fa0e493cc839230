"""Sheets for people: what is disputed, who said what, and what a worker most likely got wrong."""

import numpy as np
import pandas as pd
import pytest

from crowdassay import Assay, MajorityVote, as_labels
from crowdassay.errors import ParameterError
from crowdassay.findings.disputes import NAMED_IN_A_CELL
from crowdassay.results.feedback import sheet_names

ANSWERS = {  # item: the answers of ann, bob, cy, dan
    "agreed": "xxxx",
    "split": "xxyy",
    "clear": "xxxy",
    "known": "xxyy",
}


@pytest.fixture(scope="module")
def frame():
    rows = [
        {"task": item, "who": who, "said": answer, "text": f"text of {item}"}
        for item, answers in ANSWERS.items()
        for who, answer in zip(("ann", "bob", "cy", "dan"), answers, strict=True)
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def result(frame):
    columns = {"item_column": "task", "worker_column": "who", "label_column": "said", "text_column": "text"}
    return MajorityVote().fit(frame, gold={"known": "x"}, **columns).result_


def test_disputed_are_the_items_whose_class_is_not_known_the_least_sure_first(result):
    disputes = result.disputes()
    assert list(disputes.columns) == ["task", "text", "label", "probability", "standing", "n_labels", "said"]
    assert disputes["task"].tolist() == ["split", "clear"]
    assert disputes["said"].tolist() == ["x: ann and bob; y: cy and dan", "x: ann, bob and cy; y: dan"]
    assert disputes["text"].tolist() == ["text of split", "text of clear"]


def test_feedback_is_what_is_improbable_and_says_which_items_are_known():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    right = np.array([0.95, 0.9, 0.9, 0.9, 0.6])
    answers = np.where(rng.random((60, 5)) < right, truth[:, None], 1 - truth[:, None])
    item, worker = np.indices(answers.shape)
    result = Assay().fit((item.ravel(), worker.ravel(), answers.ravel()), gold=dict(enumerate(truth[:10].tolist()))).result_
    table = result.feedback(4)
    items, given = table["item"].to_numpy(), table["given"].to_numpy()
    standing, sure = np.array(table["standing"].to_pylist()), table["sure"].to_numpy()
    known = items < 10
    assert (standing == "known").tolist() == known.tolist()
    assert sorted(items[known]) == [j for j in range(10) if answers[j, 4] != truth[j]]
    assert (given == answers[items, 4]).all()
    assert np.all(np.diff(known.astype(int)) <= 0), "known items come first"
    assert np.all(np.diff(sure[~known]) <= 0)
    assert sure.min() >= 0.8
    assert sure[~known] == pytest.approx(1 - result.posterior[items[~known], given[~known]], abs=1e-4)
    assert len(items) > known.sum(), "mistakes on items that are not known are found as well"
    assert np.mean(truth[items] != given) > 0.9


def test_a_label_given_twice_is_one_mistake():
    rows = [("a", "u", "x"), ("a", "v", "y"), ("a", "v", "y"), ("b", "u", "x"), ("b", "v", "x")]
    labels = as_labels(tuple(map(list, zip(*rows, strict=True))))
    assert MajorityVote().fit(labels, gold={"a": "x"}).result_.feedback("v").num_rows == 1


def test_labels_no_better_than_chance_accuse_nobody_but_on_known_items():
    rng = np.random.default_rng(1)
    item, worker = (code.ravel() for code in np.indices((80, 6)))
    result = Assay().fit((item, worker, rng.integers(4, size=480)), gold={0: 0, 1: 1}).result_
    assert result.insight.chance
    assert set(result.mistakes_table()["standing"].to_pylist()) <= {"known"}


def test_one_label_an_item_accuses_nobody():
    result = Assay().fit((list("abcdef"), list("uvuvuv"), list("xxxxxy"))).result_
    assert result.disputes().num_rows == result.feedback("v").num_rows == 0


def test_a_worker_who_is_not_there(result):
    with pytest.raises(ParameterError, match="no worker 'eve' among the 4 workers"):
        result.feedback("eve")


def test_a_cell_does_not_grow_without_end():
    many = NAMED_IN_A_CELL + 5
    data = (["a"] * (many + 1), [f"w{n}" for n in range(many + 1)], ["x"] * many + ["y"])
    (said,) = MajorityVote().fit(data).result_.disputes()["said"].to_pylist()
    assert "and 5 more; y: w" in said


@pytest.mark.parametrize(
    ("worker", "plain"),
    [
        ("Zoë", True), ("ann@x.org", True), ("A1B2", True), ("con", False), ("nul.txt", False), ("../x", False), ("a/b", False),
        ("", False), (".", False), ("x.", False), ("-rf", False), ("=1+1", False), ("x" * 300, False), ("é" * 90, False),
        ("summary", False), ("Index", False), ("a\nb", False), ("a:b", False), ("b-0123abcd", False), ("\ud800", False),
    ],
)  # fmt: skip
def test_names_of_sheets_are_safe(worker, plain):
    (name,) = sheet_names([worker])
    assert (name == worker) is plain
    assert len(name.encode()) <= 100
    assert not set(name) & set('/\\:*?"<>|\n\0')
    assert name[0] not in ".-= "


def test_names_of_sheets_differ_on_every_system():
    workers = ["Ann", "ann", "a/b", "a:b", "Zoe\u0301", "Zo\u00e9", "x", "sheet-0123abcd"]
    names = sheet_names(workers)
    assert len({name.casefold() for name in names}) == len(workers)
    assert sheet_names(workers[::-1]) == names[::-1], "the order of workers does not count"
