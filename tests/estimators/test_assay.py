from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from crowdassay import Assay, MajorityVote, aggregate, as_labels, load_model
from crowdassay.engines.files.place import FilesPlace
from crowdassay.errors import DataError, ParameterError
from crowdassay.findings.scores import error_rate
from crowdassay.labels.labels import Labels
from crowdassay.models.assay.constants import default_constants
from crowdassay.solvers.assay.pool import predict_proba
from support.crowds import draw_workers
from support.problems import random_labels
from support.spools import spool_labels


def misled(seed=0, n_items=600, n_workers=12):
    """Two classes; three workers are right, nine agree among themselves on something else that has little to do with it."""
    generator = np.random.default_rng(seed)
    truth, fancy = generator.integers(2, size=(2, n_items))
    good = np.where(generator.random((n_items, 3)) < 0.9, truth[:, None], 1 - truth[:, None])
    bad = np.where(generator.random((n_items, n_workers - 3)) < 0.9, fancy[:, None], 1 - fancy[:, None])
    item, worker = np.indices((n_items, n_workers)).reshape(2, -1)
    names = [pa.array([f"{kind}{n}" for n in range(size)]) for kind, size in (("i", n_items), ("w", n_workers), ("c", 2))]
    label = np.column_stack([good, bad]).ravel()
    return Labels.from_codes(item, worker, label, items=names[0], workers=names[1], classes=names[2]), truth


def told(labels, truth, size):
    """Make some classes known, drawn at random."""
    gold = np.full(labels.n_items, -1)
    chosen = np.random.default_rng(size).choice(labels.n_items, size, replace=False)
    gold[chosen] = truth[chosen]
    return labels.with_gold(gold)


def test_one_label():
    result = Assay().fit((["a"], ["x"], ["yes"])).result_
    assert result.posterior.tolist() == [[1.0]]


def test_better_than_the_vote_on_workers_of_different_skill():
    labels, truth, _ = draw_workers(np.random.default_rng(0), low=0.35, high=0.95, spammers=6)
    found, vote = (error_rate(method.fit(labels).result_.winners, truth) for method in (Assay(), MajorityVote()))
    assert found < vote - 0.03


def test_row_order_changes_nothing():
    labels, _, _ = draw_workers(np.random.default_rng(1), n_items=60)
    order = np.random.default_rng(0).permutation(labels.n_labels)
    mixed = Labels.from_codes(
        labels.label_item[order], labels.worker[order], labels.label[order], items=labels.items, workers=labels.workers,
        classes=labels.classes,
    )  # fmt: skip
    np.testing.assert_allclose(Assay().fit(mixed).result_.posterior, Assay().fit(labels).result_.posterior, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_renaming_classes_renames_the_answer(n_classes):
    labels, _, _ = draw_workers(np.random.default_rng(2), n_items=80, n_classes=n_classes)
    other = np.random.default_rng(0).permutation(n_classes)
    renamed = replace(labels, label=other[labels.label].astype(np.int16))
    one, two = (Assay().fit(data).result_.posterior for data in (labels, renamed))
    np.testing.assert_allclose(two[:, other], one, atol=1e-7)


def test_a_spammers_dissent_does_not_keep_an_item_open():
    """Of items on which all good workers agree, those with a dissenting spammer are about as sure as the others."""
    generator, n_items = np.random.default_rng(0), 400
    truth = generator.integers(2, size=n_items)
    good = np.where(generator.random((n_items, 20)) < 0.95, truth[:, None], 1 - truth[:, None])
    label = np.column_stack([good, generator.integers(2, size=n_items)])
    item, worker = np.indices(label.shape).reshape(2, -1)
    result = Assay().fit((item, worker, label.ravel())).result_
    agreed = (good == good[:, :1]).all(axis=1)
    joins = label[:, 20] == good[:, 0]
    sure, doubted = (result.probability[agreed & which] for which in (joins, ~joins))
    assert abs(sure.mean() - doubted.mean()) < 0.005
    assert set(np.array(result.insight.standings)[agreed]) == {"settled"}


def test_known_items_stay_and_five_change_little():
    labels, truth, _ = draw_workers(np.random.default_rng(3))
    plain = Assay().fit(labels).result_
    few = told(labels, truth, 5)
    result = Assay().fit(few).result_
    known = few.gold >= 0
    np.testing.assert_array_equal(result.posterior[known], np.eye(3)[truth[known]])
    loss = [-np.log(one.posterior[~known, truth[~known]]).mean() for one in (plain, result)]
    assert loss[1] < loss[0] + 0.02
    assert np.mean(result.code[~known] != plain.code[~known]) < 0.05
    assert result.gold_warning == ""


@pytest.mark.slow
def test_many_known_items_take_over():
    labels, truth = misled()
    errors = {}
    for size in (0, 5, 50, 300):
        data = told(labels, truth, size)
        result = Assay().fit(data).result_
        errors[size] = error_rate(result.winners, np.where(data.gold >= 0, -1, truth))
    assert errors[0] > 0.4
    assert errors[50] < 0.3
    assert errors[300] < 0.1
    assert errors[5] < errors[0] + 0.05


@pytest.mark.slow
def test_where_known_items_contradict_the_crowd_that_comes_first():
    labels, truth = misled()
    result = Assay().fit(told(labels, truth, 100)).result_
    assert result.notes[0] == result.insight.notes[0] == result.gold_warning
    assert "The known items contradict the crowd" in result.gold_warning
    scores = Assay().fit(told(labels, truth, 100)).workers_.to_pydict()
    assert scores["known_labels"] == [100] * 12
    assert min(scores["known_right"][:3]) > 0.8
    assert max(scores["known_right"][3:]) < 0.7


def test_the_fit_does_not_look_at_known_classes():
    """What known items teach is learned from probabilities that have not seen them: the members are those without."""
    labels, truth, _ = draw_workers(np.random.default_rng(4), n_items=80)
    held = replace(default_constants(), ridge_pool=1e9, ridge_class=1e9, ridge_worker=1e9)
    wrong = (truth + 1) % 3
    fits = [Assay(constants=held).fit(data) for data in (labels, told(labels, wrong, 30))]
    np.testing.assert_allclose(*(predict_proba(labels, fit.pool_) for fit in fits), atol=1e-6)


def test_workers_to_be_believed():
    labels, truth = misled()
    plain = error_rate(Assay().fit(labels).result_.winners, truth)
    believed = error_rate(Assay(gold_workers=("w0",)).fit(labels).result_.winners, truth)
    assert plain > 0.4
    assert believed < 0.15
    with pytest.raises(ParameterError, match="No label is by the gold worker 'zoe'"):
        Assay(gold_workers=("w0", "zoe")).fit(labels)
    with pytest.raises(ParameterError, match="names of workers"):
        Assay(gold_workers="w0").fit(labels)


def test_a_scale_is_taken_as_one():
    frame = pd.DataFrame({"item": list("aaabbb"), "worker": list("xyzxyz"), "label": [0, 0, 2, 2, 2, 1]})
    assert not Assay().fit(frame).result_.parameters["ordered"]
    assert Assay(ordered=True).fit(frame).result_.parameters["ordered"]
    words = (list("aab"), list("xyx"), ["good", "bad", "fair"])
    with pytest.raises(DataError, match="needs the order of the classes"):
        Assay(ordered=True).fit(words)
    assert Assay(ordered=True).fit(as_labels(words, classes=["bad", "fair", "good"])).result_.parameters["ordered"]


def test_on_a_scale_the_label_is_nearer_to_the_truth():
    generator, n_items = np.random.default_rng(5), 300
    truth, spread = generator.integers(5, size=n_items), generator.uniform(0.5, 1.8, 8)
    label = np.clip(np.rint(truth[:, None] + spread * generator.normal(size=(n_items, 8))), 0, 4).astype(int)
    item, worker = np.indices(label.shape).reshape(2, -1)
    off = [
        np.mean((Assay(ordered=ordered, decide="mean").fit((item, worker, label.ravel())).result_.code - truth) ** 2)
        for ordered in (False, True)
    ]
    assert off[1] <= off[0]


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gold", [0, 40])
def test_blocks_on_disk_are_judged_as_labels_in_memory(tmp_path, n_classes, gold):
    labels, truth, _ = draw_workers(np.random.default_rng(6), n_classes=n_classes)
    labels = told(labels, truth, gold) if gold else labels
    one = Assay().fit(labels)
    spool = spool_labels(labels, tmp_path, size=300)
    other = Assay()
    solution = other.solve(FilesPlace(spool).engine(gathered=False))
    assert len(spool.sizes) > 3
    posterior = np.concatenate(
        [predict_proba(spool.block(number), solution.predict.pool) for number in range(len(spool.sizes))]
    )
    np.testing.assert_allclose(posterior, one.result_.posterior, atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"ordered": True}, {"gold_workers": ("w1",)}])
def test_a_saved_model_judges_the_same(tmp_path, options):
    labels, _, _ = draw_workers(np.random.default_rng(7), n_items=60, n_classes=2)
    model = Assay(**options).fit(as_labels((labels.label_item, labels.workers.take(pa.array(labels.worker)), labels.label)))
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    new = (["n1", "n1", "n2"], ["w3", "somebody else", "w4"], [0, 1, 1])
    assert again.predict_proba(new).equals(model.predict_proba(new))
    np.testing.assert_array_equal(again.result_.winners, model.result_.winners)
    again.partial_fit(new)
    again.save(tmp_path / "later")
    assert load_model(tmp_path / "later").predict_proba(new).equals(again.predict_proba(new))


def test_items_without_labels_and_pairs_that_repeat():
    labels = random_labels(9, gold=3)
    posterior = Assay().fit(labels).result_.posterior
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert np.isfinite(posterior).all()


@pytest.mark.parametrize("parameters", [{"ordered": "yes"}, {"gold_workers": (3,)}])
def test_nonsense_is_refused(parameters):
    with pytest.raises(ParameterError):
        Assay(**parameters).fit(random_labels(0))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "error"), [("ducks", 12), ("state_capitals", 8), ("rte", 8.5), ("bluebirds", 14)])
def test_errors_on_real_data(real, name, error):
    labels, truth = real(name)
    assert 100 * error_rate(aggregate(labels).result_.winners, truth) < error


@pytest.mark.parametrize("name", ["css_humor", "css_power", "judgebench", "netflix_dtype", "athlete_dtype"])
def test_never_much_worse_than_a_vote(real, name):
    labels, truth = real(name)
    found, vote = (error_rate(method.fit(labels).result_.winners, truth) for method in (Assay(), MajorityVote()))
    assert found < vote + 0.03
