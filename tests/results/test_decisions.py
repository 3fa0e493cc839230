"""Which class becomes an item's label: the likeliest unless another decision is asked for by name, which is then said (W10)."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, as_labels, load_model
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.spark.place import SparkPlace
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.methods import METHODS
from crowdassay.findings.scores import distance_errors, error_rate
from crowdassay.labels.record import DECISIONS, class_values, decide_classes
from crowdassay.results.run import fit
from crowdassay.service.fits.item_state import from_labels
from crowdassay.service.fits.process import fit_store
from crowdassay.service.fits.snapshot import read_snapshot
from crowdassay.service.store.open import open_store
from support.fake_spark import fake_labels
from support.parity import same_result
from support.rows import one
from support.spools import spool_labels

LEVELS = [1, 2, 3, 4, 5]


def grades(n_items=150, seed=5):
    """Items on a scale of five, by workers of very different precision."""
    generator = np.random.default_rng(seed)
    truth, spread = generator.integers(5, size=n_items), generator.uniform(0.6, 2.2, 7)
    label = np.clip(np.rint(truth[:, None] + spread * generator.normal(size=(n_items, 7))), 0, 4).astype(int)
    item, worker = np.indices(label.shape).reshape(2, -1)
    frame = pd.DataFrame({"item": item, "worker": worker, "label": label.ravel() + 1})
    return frame, truth


FRAME, TRUTH = grades()


def by_likeliest(result):
    return np.array_equal(result.code, result.posterior.argmax(axis=1))


def test_w10_an_ordered_categorical_gives_the_order_and_changes_no_answer():
    words = dict(zip(LEVELS, ["awful", "bad", "fair", "good", "superb"], strict=True))
    plain = FRAME.assign(label=FRAME["label"].map(words))
    scale = plain.assign(label=pd.Categorical(plain["label"], categories=list(words.values()), ordered=True))
    one, other = Assay().fit(plain).result_, Assay().fit(scale).result_
    np.testing.assert_array_equal(one.posterior, other.posterior)
    np.testing.assert_array_equal(one.winners, other.winners)
    assert repr(one) == repr(other)
    assert "rmse" in other.score(TRUTH)  # and yet the order is known


@pytest.mark.parametrize("options", [{}, {"ordered": True}])
def test_w10_the_likeliest_class_is_the_label_unless_another_is_asked_for(options):
    result = Assay(**options).fit(FRAME).result_
    assert by_likeliest(result)
    assert "labels by" not in repr(result)
    for decide in ("median", "mean"):
        other = Assay(**options, decide=decide).fit(FRAME)
        np.testing.assert_array_equal(other.result_.posterior, result.posterior)
        assert not by_likeliest(other.result_)
        assert f"labels by the {decide}" in repr(other.result_)
        assert f"decide='{decide}'" in repr(other)
        assert f"labels by the {decide}" in other._repr_html_()


def test_w10_web_search_is_labelled_alike_as_a_scale(real):
    labels, truth = real("web_search")
    wrong = {
        name: error_rate(model.fit(labels).result_.winners, truth)
        for name, model in {"names": Assay(), "scale": Assay(ordered=True), "mean": Assay(ordered=True, decide="mean")}.items()
    }
    assert wrong["names"] < 0.15
    assert wrong["scale"] < 0.16
    assert wrong["mean"] > 0.25


def test_each_decision_is_best_by_its_own_measure():
    """On average, where the truth is drawn from the probabilities themselves."""
    generator = np.random.default_rng(0)
    posterior = generator.dirichlet(np.full(5, 0.6), 20000)
    truth = (generator.random((20000, 1)) > np.cumsum(posterior, axis=1)).sum(axis=1)
    rows = []
    for decide in DECISIONS:
        winners = decide_classes(posterior, decide, np.arange(5.0))
        rmse, mae = distance_errors(winners, truth)
        rows.append((error_rate(winners, truth), mae, rmse))
    np.testing.assert_array_equal(np.argmin(rows, axis=0), [0, 1, 2])


def test_decisions_do_not_depend_on_which_end_comes_first():
    posterior = np.random.default_rng(1).dirichlet(np.ones(4), 300).round(1)
    posterior = posterior[np.isclose(posterior.sum(axis=1), 1)]
    values = np.array([0.0, 1.0, 2.0, 3.0])
    for decide in DECISIONS:
        there, back = decide_classes(posterior, decide, values), decide_classes(posterior[:, ::-1], decide, values)
        np.testing.assert_array_equal(there, back[:, ::-1])
        assert there.any(axis=1).all()


def test_the_mean_is_that_of_the_numbers_and_a_tie_is_said():
    posterior = np.array([[0.5, 0.3, 0.2], [0.5, 0.0, 0.5]])
    assert decide_classes(posterior, "mean", np.array([1.0, 2.0, 10.0])).tolist() == [
        [False, True, False],
        [False, True, False],
    ]
    assert decide_classes(posterior, "mean", np.array([1.0, 2.0, 3.0]))[0].tolist() == [False, True, False]
    assert decide_classes(posterior, "median", np.arange(3.0)).tolist() == [[True, True, False], [True, False, True]]
    vote = MajorityVote(decide="median").fit((list("aabb"), list("xyxy"), [1, 2, 2, 2])).result_
    assert vote.tied.tolist() == [True, False]


@pytest.mark.parametrize("decide", ["median", "mean"])
@pytest.mark.parametrize("gather_below", [10**9, 0], ids=["gathered", "apart"])
def test_every_place_decides_alike(decide, gather_below, tmp_path):
    labels, truth = as_labels(pa.Table.from_pandas(FRAME)), TRUTH.astype(np.int64)
    counts = {"items": len(truth), "unknown_items": 0}
    places = [
        MemoryPlace(labels, truth, counts),
        FilesPlace(spool_labels(labels, tmp_path, size=100, truth=truth)),
        SparkPlace(fake_labels(labels, 3, 100, truth=truth)),
    ]
    results = [fit(Assay(decide=decide), place, gather_below=gather_below) for place in places]
    expected = decide_classes(results[0].posterior, decide, class_values(labels))
    np.testing.assert_array_equal(results[0].winners, expected)
    for result in results[1:]:
        assert result.decide == decide
        same_result(result, results[0])


@pytest.mark.parametrize("name", ["assay", "majority", "wawa", "dawid-skene", "latent-trait", "kos", "minimax-ordinal"])
def test_every_method_takes_a_decision(name):
    two = FRAME.assign(label=FRAME["label"].gt(2).astype(int)).iloc[:200]
    options = {"max_iter": 5} if "max_iter" in METHODS[name].make().get_params() else {}
    result = METHODS[name].make(decide="median", **options).fit(two).result_
    assert result.decide == "median"


def test_every_estimator_has_the_parameter():
    assert all(method.make(decide="mean").get_params()["decide"] == "mean" for method in METHODS.values())


def test_a_fit_is_judged_by_its_likeliest_classes_whatever_is_decided():
    """A decision that departs from majorities is no fault of the fit, which must not be left for another."""
    frame = FRAME.assign(label=np.where(FRAME["label"] > 3, 5, 1))  # the mean lies between the two
    frame = pd.concat([frame, frame.iloc[:1].assign(label=3)])
    plain, moved = (DawidSkene(decide=decide).fit(frame).result_ for decide in ("likeliest", "mean"))
    assert moved.fallback is plain.fallback is None
    assert plain.notes == moved.notes


def test_new_labels_and_saved_models_keep_the_decision(tmp_path):
    model = Assay(decide="median").fit(FRAME[FRAME["item"] < 100])
    new = FRAME[FRAME["item"].between(90, 120)]
    predicted = model.predict(new)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.result_.decide == "median"
    np.testing.assert_array_equal(again.result_.winners, model.result_.winners)
    assert again.predict(new).equals(predicted)
    again.partial_fit(new)
    result = again.result_
    np.testing.assert_array_equal(result.winners, decide_classes(result.posterior, "median", class_values(result.labels)))
    assert not by_likeliest(result)
    assert again.refresh().result_.decide == "median"


def test_an_order_is_needed_and_nonsense_refused():
    words = (list("aabb"), list("xyxy"), ["good", "bad", "fair", "fair"])
    with pytest.raises(DataError, match=r"The median needs the order of the classes.* `classes`"):
        DawidSkene(decide="median").fit(words)
    assert DawidSkene(decide="median").fit(words, classes=["bad", "fair", "good"]).result_.decide == "median"
    with pytest.raises(ParameterError, match="decide must be 'likeliest' or 'median' or 'mean', not 'mode'"):
        DawidSkene(decide="mode").fit(FRAME)


def test_the_command_line_decides_and_says_so(tmp_path, run):
    FRAME.to_csv(tmp_path / "labels.csv", index=False)
    pd.DataFrame({"item": range(150), "label": TRUTH + 1}).to_csv(tmp_path / "truth.csv", index=False)

    def said(*options):
        code, out, _ = run("aggregate", tmp_path / "labels.csv", "--truth", tmp_path / "truth.csv", *options)
        assert code == 0
        return out

    summaries = {decide: json.loads(said("--ordered", "--decide", decide, "--json")) for decide in DECISIONS}
    assert {decide: summary["decide"] for decide, summary in summaries.items()} == {decide: decide for decide in DECISIONS}
    assert json.loads(said("--ordered", "--json"))["decide"] == "likeliest"
    assert summaries["mean"]["rmse"] < summaries["likeliest"]["rmse"]
    assert "labels by the median" in said("--decide", "median")
    assert "labels by" not in said("--ordered")
    assert run("aggregate", tmp_path / "labels.csv", "--decide", "mode")[0] == 2


def test_the_service_decides_as_it_is_told(tmp_path):
    store = open_store(tmp_path / "job.db")
    few = FRAME[FRAME["item"] < 60].astype(str)
    store.add(one(*row) for row in few.itertuples(index=False))
    store.close()
    fit_store(str(tmp_path / "job.db"), len(few), tmp_path / "model", decide="median")
    parts = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    snapshot = read_snapshot(1, len(few), parts)
    assert snapshot.facts["decide"] == "median"
    answers = [
        list(rows[["worker", "label"]].itertuples(index=False, name=None)) for _, rows in few.groupby("item", sort=False)
    ]
    states = from_labels(snapshot, answers)
    posterior = np.array([list(state.posterior.values()) for state in states])
    expected = decide_classes(posterior, "median", np.arange(1.0, 6.0)).argmax(axis=1)
    assert [state.label for state in states] == [snapshot.classes[code] for code in expected]
    assert [state.probability for state in states] == pytest.approx(posterior[np.arange(60), expected])
    assert (expected != posterior.argmax(axis=1)).any()


def test_a_frame_elsewhere_is_decided_too():
    """Arrow's own ordered categories."""
    column = pa.DictionaryArray.from_arrays([0, 1, 1, 2], ["low", "mid", "high"], ordered=True)
    table = pa.table({"item": list("aabb"), "worker": list("xyxy"), "label": column})
    assert MajorityVote(decide="mean").fit(table).labels_["label"].to_pylist()[0] in {"low", "mid"}
