"""Manners in Python: wide frames and matrices, scikit-learn's model selection, warnings, and comparisons."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from crowdassay import (
    Assay,
    CrowdassayWarning,
    DawidSkene,
    MajorityVote,
    aggregate,
    agreement,
    as_labels,
    compare,
    select,
    simulate,
)
from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.files import table_of

LABELS, TRUTH = simulate(np.random.default_rng(0), n_items=60, n_workers=8, n_classes=3)
LONG = table_of(LABELS).to_pandas().rename(columns={"item": "task", "worker": "annotator", "label": "answer"})
WIDE = LONG.pivot(index="task", columns="annotator", values="answer")
CLASS = dict(zip(LABELS.items.to_pylist(), np.array(LABELS.class_names)[TRUTH], strict=True))
TRUE = np.array([CLASS[item] for item in WIDE.index])
MATRIX = WIDE.replace({name: code for code, name in enumerate(LABELS.class_names)}).to_numpy(float)


def answers(labels):
    names = (labels.items, labels.workers, labels.classes)
    codes = (labels.label_item, labels.worker, labels.label)
    rows = zip(
        *(np.array(list(map(str, words.to_pylist())))[code] for words, code in zip(names, codes, strict=True)), strict=True
    )
    return sorted(rows)


@pytest.mark.parametrize(
    "make", [lambda: WIDE, lambda: pl.from_pandas(WIDE.reset_index()), lambda: pa.table(WIDE.reset_index())]
)
def test_a_wide_frame_is_known_by_its_cells(make):
    labels = as_labels(make())
    assert answers(labels) == answers(LABELS)
    assert labels.report.format == "wide"
    assert labels.report.columns["item"] == "task"


def test_results_of_a_wide_frame_are_called_as_its_index_and_columns():
    fitted = MajorityVote().fit(WIDE)
    assert list(fitted.labels_)[:2] == ["task", "label"]
    assert next(iter(fitted.workers_)) == "annotator"
    assert fitted.items_["task"].tolist() == WIDE.index.tolist()


def test_a_matrix_has_numbers_for_names_and_asks_what_minus_one_means():
    labels = as_labels(MATRIX)
    assert labels.items.to_pylist() == list(range(60))
    assert sorted(labels.workers.to_pylist()) == [str(n) for n in range(8)]
    assert labels.n_labels == LABELS.n_labels
    filled = np.where(np.isnan(MATRIX), -1, MATRIX).astype(int)
    with pytest.raises(ParameterError, match=r"holds -1.*`missing='-1'`"):
        as_labels(filled)
    found = as_labels(filled, missing=-1)
    assert (found.n_labels, found.report.dropped) == (labels.n_labels, {})


def test_what_may_be_long_is_not_taken_for_wide():
    odd = pd.DataFrame({"a": [1, 2, 3, 4] * 3, "b": [1, 2, 1, 2] * 3, "c": [1, 1, 2, 2] * 3})
    with pytest.raises(ColumnError, match="looks like an item"):
        as_labels(odd)
    assert as_labels(odd, format="wide").n_workers == 3
    known = WIDE.assign(gold=TRUE)
    with pytest.warns(CrowdassayWarning, match="Not taken as a worker: the column 'gold'"):
        assert as_labels(known).n_workers == 8


def test_wide_categories_keep_their_order():
    kind = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"ann": ["low", "high", None, "low"], "bob": ["low", "high", "high", "low"]}, dtype=kind)
    assert as_labels(frame).class_names == ("low", "mid", "high")


@pytest.mark.slow
def test_scikit_learns_model_selection_over_items():
    method = DawidSkene(smoothing=0.1)
    assert is_classifier(method)
    direct = method.fit(WIDE.iloc[20:]).score(WIDE.iloc[:20], TRUE[:20])
    expected = method.predict(WIDE.iloc[:20]) == TRUE[:20]
    assert direct == pytest.approx(expected.mean())
    splits = [(np.arange(20, 60), np.arange(20))]
    assert cross_val_score(method, WIDE, TRUE, cv=splits).tolist() == [direct]
    found = cross_val_score(method, MATRIX, np.searchsorted(LABELS.class_names, TRUE), cv=splits)
    assert found.tolist() == [direct]
    truth = LONG["task"].map(CLASS)
    assert (cross_val_score(method, LONG, truth, groups=LONG["task"], cv=GroupKFold(3)) > 0.5).all()
    best = GridSearchCV(DawidSkene(), {"smoothing": [0.1, 1000.0]}, cv=splits).fit(WIDE, TRUE)
    assert best.best_params_ == {"smoothing": 0.1}
    assert best.score(WIDE, TRUE) == best.best_estimator_.score(WIDE, TRUE)


def test_score_takes_a_truth_by_item_and_refuses_one_that_does_not_fit():
    fitted = DawidSkene(smoothing=0.1).fit(LONG)
    expected = pytest.approx(1 - fitted.result_.score(CLASS)["error_rate"])
    rows = {"item": list(CLASS), "label": list(CLASS.values())}
    assert [fitted.score(LONG, truth) for truth in (CLASS, pd.DataFrame(rows), pl.DataFrame(rows), pa.table(rows))] == [
        expected
    ] * 4
    with pytest.raises(DataError, match="3 true classes were given for 60 rows"):
        DawidSkene(smoothing=0.1).fit(WIDE).score(WIDE, TRUE[:3])
    with pytest.raises(DataError, match="different labels"):
        fitted.score(LONG, np.where(np.arange(len(LONG)) == 0, "0", "1"))


def test_warnings_are_of_one_class_and_point_at_the_caller():
    rows = pd.concat([LONG, LONG.head(3)]).reset_index(drop=True)
    rows.loc[rows.index[10], "answer"] = None
    rows["answer"] = rows["answer"].replace({LABELS.class_names[0]: "Yes", LABELS.class_names[1]: "yes"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MajorityVote().fit(rows)
    assert {found.category for found in caught} == {CrowdassayWarning}
    assert {found.filename for found in caught} == {__file__}
    words = " ".join(str(found.message) for found in caught)
    assert "Left out 1 row: missing label." in words
    assert "3 labels repeat an item that the same worker had already labelled. All were kept; `repeats='last'`" in words
    assert "'Yes', 'yes'" in words
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MajorityVote().fit(LONG)  # clean labels are silent
        MajorityVote().fit(as_labels(LONG))


@pytest.mark.parametrize(("make", "kind"), [(pd.DataFrame, pd.DataFrame), (pl.from_pandas, pl.DataFrame), (pa.table, pa.Table)])
def test_compare_answers_in_the_callers_kind_of_frame(make, kind):
    methods = ["majority", DawidSkene(smoothing=0.1), DawidSkene(smoothing=5.0)]
    found = compare(make(LONG), methods, truth=CLASS)
    assert isinstance(found.scores_, kind)
    assert isinstance(found.disputes_, kind)
    assert list(found.results) == ["majority", "dawid-skene", "DawidSkene(smoothing=5.0)"]
    rows = {row["method"]: row["error_rate"] for row in found.rows()}
    assert rows["majority"] == pytest.approx(MajorityVote().fit(LONG).result_.score(CLASS)["error_rate"])
    assert found.best == [name for name, error in rows.items() if error == min(rows.values())]
    assert "task" in (found.disputes_.columns if kind is not pa.Table else found.disputes_.column_names)
    assert "majority" in found._repr_html_()


def test_compare_without_truth_holds_labels_out_and_says_what_it_cannot_take():
    found = compare(LONG, ["majority", "kos"], folds=2)
    assert found.scored_by == "heldout_log_likelihood"
    assert found.best == []  # labels held out say nothing against the vote
    assert "two classes" in found.refused["kos"]
    with pytest.raises(ParameterError, match="such as"):
        compare(LONG, "assay")


def test_select_answers_in_the_callers_kind_of_frame():
    best = select([MajorityVote(), DawidSkene(smoothing=0.1)], pl.from_pandas(LONG), folds=2)
    assert isinstance(best.labels_, pl.DataFrame)
    assert isinstance(best.next_, pl.DataFrame)
    assert best.next_.columns[0] == "task"


def test_columns_are_named_in_every_call():
    odd = LONG.rename(columns={"task": "a", "annotator": "b", "answer": "c"})
    names = {"item_column": "a", "worker_column": "b", "label_column": "c"}
    found = aggregate(odd, **names).labels_
    assert list(found)[:2] == ["a", "c"]
    assert select([MajorityVote()], odd, folds=2, **names).labels_["a"].tolist() == found["a"].tolist()
    assert agreement(odd, resamples=0, **names).overall.equals(agreement(LONG, resamples=0).overall)


@pytest.mark.slow
def test_a_fitted_model_shows_itself_as_a_card_with_charts():
    assert Assay()._repr_html_() == "<code>Assay()</code>"
    card = MajorityVote().fit(LONG)._repr_html_()
    assert card.count("<svg") == 2
    for words in ("60 items", "What is known?", "How wrong is it?", "Who needs attention?", "What will it cost?"):
        assert words in card
