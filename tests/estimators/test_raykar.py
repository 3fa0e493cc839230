import pickle

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from crowdassay import DawidSkene, RaykarClassifier, simulate
from crowdassay.checks.estimators import CHECKS
from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.estimators.raykar import fit_logistic, logistic_loss
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def problem(seed=0, n_items=400, labels_per_item=3, n_classes=3):
    """Labels, truth, and two noisy features of the class."""
    generator = np.random.default_rng(seed)
    labels, truth = simulate(
        generator, n_items=n_items, n_workers=20, n_classes=n_classes, labels_per_item=labels_per_item, item_spread=0.0
    )
    centres = generator.normal(0.0, 1.5, (n_classes, 2))
    return labels, truth, centres[truth] + generator.normal(size=(n_items, 2))


class WithFeatures(RaykarClassifier):
    """Features that depend on nothing but the item's id, so that the conformance suite can call plain ``fit``."""

    def fit(self, data, y=None, **options):
        names = data.items.to_pylist()
        features = {"item": data.items, "size": [float(sum(map(ord, name)) % 7) for name in names]}
        return super().fit(data, y, features=pa.table(features), **options)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_conforms(check):
    check(WithFeatures, simulate(np.random.default_rng(1), n_items=60, n_workers=8, n_classes=3)[0])


def test_gradient_of_the_classifier():
    generator = np.random.default_rng(0)
    design = np.column_stack([generator.normal(size=(30, 3)), np.ones(30)])
    target = generator.dirichlet(np.ones(4), 30)
    point = generator.normal(size=16)
    numeric = approx_fprime(point, lambda w: logistic_loss(w, design, target, 0.7)[0], 1e-6)
    np.testing.assert_allclose(logistic_loss(point, design, target, 0.7)[1], numeric, rtol=1e-4, atol=1e-4)


def test_the_classifier_is_that_of_scikit_learn():
    """Soft labels are rows repeated once for each class, weighted."""
    generator = np.random.default_rng(0)
    features, target = generator.normal(size=(200, 3)), generator.dirichlet(np.ones(3), 200)
    ours = fit_logistic(np.column_stack([features, np.ones(200)]), target, 2.0, np.zeros((3, 4)))
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(
        np.tile(features, (3, 1)), np.repeat(np.arange(3), 200), target.T.ravel()
    )
    np.testing.assert_allclose(ours[:, :-1], theirs.coef_, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.5, 2.0])
def test_with_features_that_tell_nothing_it_is_dawid_skene(smoothing):
    labels, _, _ = problem()
    options = {"smoothing": smoothing, "tol": 1e-13, "max_iter": 3000}
    ours = RaykarClassifier(**options).fit(labels, features=np.full((labels.n_items, 2), 7.0)).result_
    theirs = DawidSkene(prior="estimated", **options).fit(labels).result_
    assert ours.objective == pytest.approx(theirs.objective, abs=1e-6)
    np.testing.assert_allclose(ours.posterior, theirs.posterior, atol=1e-5)
    np.testing.assert_allclose(ours.confusion, theirs.confusion, atol=1e-5)
    np.testing.assert_allclose(np.exp(ours.log_prior), np.exp(theirs.log_prior), atol=1e-5)


def test_objective_only_rises_and_is_stationary():
    labels, _, features = problem()
    fit = RaykarClassifier(tol=1e-13, max_iter=3000).fit(labels, features=features)
    assert np.diff(fit.history_).min() > -1e-9
    # At the end of EM no small change of the classifier helps: the marginal likelihood itself, written out, is stationary.
    likelihood = np.zeros((labels.n_items, labels.n_classes))
    np.add.at(likelihood, labels.label_item, fit.sigma_[labels.worker, :, labels.label])
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    design = np.column_stack([scaled, np.ones(labels.n_items)])

    def objective(flat):
        weights = flat.reshape(labels.n_classes, -1)
        logits = design @ weights.T
        log_prior = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        marginal = np.log(np.exp(log_prior + likelihood).sum(axis=1)).sum()
        return marginal + fit.smoothing * fit.sigma_.sum() - 0.5 * np.sum(weights[:, :-1] ** 2)

    weights = fit.weights_ * features.std(axis=0)
    point = np.column_stack([weights, fit.intercept_ + fit.weights_ @ features.mean(axis=0)]).ravel()
    assert objective(point) == pytest.approx(fit.objective_, abs=1e-6)
    assert np.abs(approx_fprime(point, objective, 1e-6)).max() < 1e-2


def test_features_help_and_the_classifier_generalises():
    labels, truth, features = problem(n_items=800)
    train = RaykarClassifier().fit(labels, features=features)
    with_features = error_rate(train.result_.winners, truth)
    without = error_rate(DawidSkene(prior="estimated", smoothing=1.0).fit(labels).result_.winners, truth)
    assert with_features < 0.8 * without
    alone = (train.predict_features(features).argmax(axis=1) != truth).mean()
    best = LogisticRegression().fit(features, truth)  # trained on the truth itself
    assert alone < (best.predict(features) != truth).mean() + 0.02


def test_units_and_a_constant_feature_do_not_matter():
    labels, _, features = problem()
    other = np.column_stack([1e4 * features[:, 0] - 3e5, np.full(labels.n_items, 4.0), 0.001 * features[:, 1]])
    first = RaykarClassifier().fit(labels, features=features)
    second = RaykarClassifier().fit(labels, features=other)
    np.testing.assert_allclose(first.result_.posterior, second.result_.posterior, atol=1e-6)
    np.testing.assert_allclose(first.predict_features(features), second.predict_features(other), atol=1e-6)


def test_frames_are_matched_by_item_and_come_back_in_kind():
    pandas = pytest.importorskip("pandas")
    labels, _, features = problem(n_items=50)
    by_position = RaykarClassifier().fit(labels, features=features)
    order = np.random.default_rng(0).permutation(50)
    names = np.array(labels.items.to_pylist())
    frame = pandas.DataFrame({"b": features[order, 1], "item": names[order], "a": features[order, 0]})
    extra = pandas.concat([frame, pandas.DataFrame({"b": [0.0], "item": ["elsewhere"], "a": [9.0]})])
    by_name = RaykarClassifier().fit(labels, features=extra)
    np.testing.assert_allclose(by_position.result_.posterior, by_name.result_.posterior, atol=1e-6)
    new = by_name.predict_features(frame[["a", "item", "b"]])
    assert list(new.columns) == ["item", "0", "1", "2"]
    assert list(new["item"]) == list(names[order])
    np.testing.assert_allclose(new.iloc[:, 1:], by_position.predict_features(features)[order], atol=1e-6)


def test_gold_is_kept_and_teaches_the_classifier():
    labels, truth, features = problem(n_items=60)
    flipped = {name: str((code + 1) % 3) for name, code in zip(labels.items.to_pylist(), truth, strict=True)}
    fit = RaykarClassifier(penalty=0.01).fit(labels, features=features, gold=flipped)
    wanted = np.eye(3)[(truth + 1) % 3]
    np.testing.assert_array_equal(fit.result_.posterior, wanted)
    assert (fit.predict_features(features).argmax(axis=1) == (truth + 1) % 3).mean() > 0.6


def test_pickle_and_clone():
    labels, _, features = problem(n_items=50)
    fit = RaykarClassifier(penalty=2.0).fit(labels, features=features)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.predict_features(features), fit.predict_features(features))
    assert clone(fit).get_params() == fit.get_params()


def test_refusals():
    labels = random_labels(0)
    table = pa.table({"item": labels.items, "f": np.arange(12.0)})
    with pytest.raises(ParameterError, match="needs features"):
        RaykarClassifier().fit(labels)
    with pytest.raises(DataError, match="no row for the items 'i4', 'i5', 'i6' and 5 more"):
        RaykarClassifier().fit(labels, features=table.slice(0, 4))
    with pytest.raises(DataError, match="several rows for the items 'i0'"):
        RaykarClassifier().fit(labels, features=pa.concat_tables([table, table.slice(0, 1)]))
    with pytest.raises(DataError, match="11 rows for 12 items"):
        RaykarClassifier().fit(labels, features=np.zeros((11, 2)))
    with pytest.raises(DataError, match="the columns 'colour' are not"):
        RaykarClassifier().fit(labels, features=pa.table({"item": labels.items, "colour": ["red"] * 12}))
    with pytest.raises(DataError, match="row '3' are missing"):
        RaykarClassifier().fit(labels, features=np.where(np.arange(24.0).reshape(12, 2) == 5, np.nan, 1.0))
    with pytest.raises(DataError, match=r"row '1' are missing, infinite or beyond 1e100"):
        RaykarClassifier().fit(labels, features=np.full((12, 1), 1e200))
    with pytest.raises(ColumnError, match="named 'item'"):
        RaykarClassifier().fit(labels, features=table.rename_columns(["thing", "f"]))
    with pytest.raises(ParameterError, match="penalty"):
        RaykarClassifier(penalty=-1.0).fit(labels, features=table)
    fit = RaykarClassifier().fit(labels, features=table)
    with pytest.raises(DataError, match="had the features f; these are g"):
        fit.predict_features(pa.table({"item": ["x"], "g": [1.0]}))
