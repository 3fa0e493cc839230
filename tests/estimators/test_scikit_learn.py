"""scikit-learn's scorers, predictions out of fold, pipelines and grid search on wide frames and matrices (M15)."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from crowdassay import Assay, DawidSkene, MajorityVote

RNG = np.random.default_rng(0)
TRUE = RNG.integers(3, size=90)
SAID = np.where(RNG.random((90, 6)) < 0.7, TRUE[:, None], RNG.integers(3, size=(90, 6))).astype(float)
MATRIX = np.where(RNG.random((90, 6)) < 0.15, np.nan, SAID)
NAMES = np.array(["ant", "bee", "cow"])
WIDE = pd.DataFrame(MATRIX, columns=list("abcdef")).map(lambda cell: None if np.isnan(cell) else NAMES[int(cell)])
WIDE.index = pd.Index([f"i{n}" for n in range(90)], name="task")
FOLDS = KFold(3)
DATA = {"matrix": (MATRIX, TRUE), "wide": (WIDE, NAMES[TRUE])}


@pytest.mark.parametrize("data", DATA)
def test_m15_scorers_give_numbers(data):
    x, y = DATA[data]
    found = cross_validate(MajorityVote(), x, y, cv=FOLDS, scoring=["accuracy", "neg_log_loss", "balanced_accuracy"])
    for name in ("accuracy", "neg_log_loss", "balanced_accuracy"):
        assert np.isfinite(found[f"test_{name}"]).all()
    plain = cross_val_score(MajorityVote(), x, y, cv=FOLDS)
    np.testing.assert_allclose(found["test_accuracy"], plain, atol=0.06)  # which counts ties in part
    assert (found["test_accuracy"] > 0.75).all()


@pytest.mark.parametrize("data", DATA)
def test_m15_a_row_is_predicted_as_a_class_and_as_probabilities(data):
    x, y = DATA[data]
    fitted = Assay().fit(x)
    assert fitted.classes_.tolist() == sorted(set(y.tolist()))
    label, chance = fitted.predict(x), fitted.predict_proba(x)
    assert label.shape == y.shape
    assert label.dtype == fitted.classes_.dtype
    assert chance.shape == (90, 3)
    np.testing.assert_allclose(chance, fitted.result_.posterior, atol=1e-9)
    assert (label == fitted.classes_[chance.argmax(axis=1)]).all()
    np.testing.assert_array_equal(Assay().fit_predict(x), label)


@pytest.mark.parametrize("data", DATA)
def test_m15_predictions_out_of_fold_are_those_of_each_fold(data):
    x, y = DATA[data]
    method = DawidSkene(smoothing=0.1)
    found = cross_val_predict(method, x, y, cv=FOLDS)
    chances = cross_val_predict(method, x, y, cv=FOLDS, method="predict_proba")
    assert found.dtype.kind == y.dtype.kind
    first, rest = np.arange(30), np.arange(30, 90)
    take = (lambda rows: x.iloc[rows]) if isinstance(x, pd.DataFrame) else (lambda rows: x[rows])
    fitted = DawidSkene(smoothing=0.1).fit(take(rest))
    np.testing.assert_array_equal(found[first], fitted.predict(take(first)))
    np.testing.assert_allclose(chances[first], fitted.predict_proba(take(first)))
    assert accuracy_score(y, found) > 0.8
    assert log_loss(y, chances) < 0.7


@pytest.mark.parametrize("names", [["low", "medium", "high"], ["2", "9", "10"]])
def test_classes_in_another_order_are_scored_as_scikit_learn_sorts_them(names):
    text = np.array(names)
    wide = pd.DataFrame({f"w{i}": pd.Categorical(text[SAID[:, i].astype(int)], names, ordered=True) for i in range(6)})
    fitted, plain = MajorityVote().fit(wide), MajorityVote().fit(SAID)
    assert list(fitted.result_.facts.class_names) == names
    assert fitted.classes_.tolist() == sorted(names)
    assert log_loss(text[TRUE], fitted.predict_proba(wide)) == pytest.approx(log_loss(TRUE, plain.predict_proba(SAID)))
    assert (fitted.predict(wide) == text[plain.predict(SAID).astype(int)]).all()
    order = np.argsort(text)
    np.testing.assert_array_equal(fitted.confusion_, fitted.result_.confusion[:, order[:, None], order])


def test_m15_pipelines_and_grid_search():
    drop = FunctionTransformer(lambda frame: frame.drop(columns="f"))
    pipeline = make_pipeline(drop, DawidSkene(smoothing=0.1))
    grid = GridSearchCV(pipeline, {"dawidskene__smoothing": [0.1, 1000.0]}, cv=FOLDS, scoring="neg_log_loss")
    grid.fit(WIDE, NAMES[TRUE])
    assert grid.best_params_ == {"dawidskene__smoothing": 0.1}
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert grid.predict(WIDE).shape == (90,)
    np.testing.assert_array_equal(grid.classes_, NAMES)


def test_two_classes_and_a_positive_one():
    x, y = np.where(MATRIX > 0, 1.0, MATRIX), np.minimum(TRUE, 1)
    found = cross_validate(Assay(), x, y, cv=FOLDS, scoring=["roc_auc", "f1", "average_precision", "neg_brier_score"])
    assert all(np.isfinite(values).all() for values in found.values())
    assert (found["test_roc_auc"] > 0.8).all()


def test_rows_without_labels_rows_that_repeat_and_odd_names():
    x = MATRIX.copy()
    x[4] = np.nan
    fitted = DawidSkene(smoothing=0.1).fit(x)
    assert fitted.result_.labels.n_items == 89
    np.testing.assert_allclose(fitted.predict_proba(x)[4], fitted.result_.posterior.mean(axis=0))
    assert fitted.predict(x).shape == (90,)
    wide = DawidSkene(smoothing=0.1).fit(WIDE)
    twice = WIDE.iloc[[0, 0, 5]]
    np.testing.assert_array_equal(wide.predict(twice), wide.predict(WIDE)[[0, 0, 5]])
    floats = WIDE.set_axis(np.arange(90) + 0.0, axis=0)
    np.testing.assert_array_equal(DawidSkene(smoothing=0.1).fit(floats).predict(floats), wide.predict(WIDE))


def test_long_frames_and_polars_keep_their_kind():
    long = WIDE.reset_index().melt("task", var_name="worker", value_name="label").dropna()
    fitted = MajorityVote().fit(long)
    assert isinstance(fitted.predict(long), pd.DataFrame)
    assert isinstance(fitted.predict(), pd.DataFrame)
    wide = pl.from_pandas(WIDE.reset_index())
    assert MajorityVote().fit(wide).predict(wide).tolist() == MajorityVote().fit(WIDE).predict(WIDE).tolist()
    assert isinstance(MajorityVote().fit(wide).labels_, pl.DataFrame)


def test_classes_can_be_handed_on():
    fitted = MajorityVote().fit(WIDE)
    again = MajorityVote().fit(WIDE.iloc[:5], classes=fitted.classes_)
    assert again.classes_.tolist() == NAMES.tolist()
    scores = cross_val_score(
        MajorityVote(), WIDE, NAMES[TRUE], cv=FOLDS, scoring="accuracy", params={"classes": NAMES.tolist()}
    )
    assert np.isfinite(scores).all()
