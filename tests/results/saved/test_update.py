"""New labels touch their items and nothing else; on a stream the labels stay those of a fresh fit."""

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import GLAD, Assay, DawidSkene, MajorityVote, MinimaxEntropy, as_labels, simulate
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.join import take_items
from crowdassay.labels.labels import Labels
from crowdassay.results.saved.merge import merge
from crowdassay.results.saved.update import sound, update
from support.problems import random_labels

LABELS = simulate(np.random.default_rng(0), n_items=60, n_workers=8, n_classes=3)[0]
METHODS = [Assay(), DawidSkene(smoothing=0.1), MajorityVote(), MinimaxEntropy(starts=1)]


def rows(labels, positions):
    """Some labels as three columns of names."""
    codes = (labels.label_item[positions], labels.worker[positions], labels.label[positions].astype(np.int64))
    vocabularies = (labels.items, labels.workers, labels.classes)
    return tuple(names.take(pa.array(code)) for names, code in zip(vocabularies, codes, strict=True))


@pytest.mark.parametrize("estimator", METHODS, ids=lambda estimator: estimator.method)
def test_touched_items_are_judged_as_predict_would(estimator):
    fitted = type(estimator)(**estimator.get_params()).fit(LABELS)
    before = fitted.result_
    new = (["i1", "i1", "new"], ["w1", "stranger", "w2"], ["1", "2", "0"])
    done = update(fitted, new)
    assert done.touched.tolist() == [0, 60]
    untouched = np.arange(1, 60)
    np.testing.assert_array_equal(done.result.posterior[untouched], before.posterior[untouched])
    fresh = type(estimator)(**estimator.get_params()).fit(LABELS)
    expected = fresh.predict_proba(take_items(done.result.labels, done.touched))
    np.testing.assert_allclose(done.result.posterior[done.touched], np.array([expected[c] for c in "012"]).T, atol=1e-12)
    assert done.result.labels.n_labels == LABELS.n_labels + 3
    assert done.result.labels.workers.to_pylist()[-1] == "stranger"
    for table in ("labels_table", "posterior_table", "workers_table", "items_table"):
        getattr(done.result, table)()
    again = fitted.partial_fit((["i1"], ["stranger"], ["0"])).result_  # a stranger stays one until the next fit
    assert again.parameters["labels_since_fit"] == 4
    assert np.isfinite(again.posterior).all()


def test_merging_keeps_codes_and_order():
    whole = random_labels(2, n_items=20, gold=2)
    cut = np.random.default_rng(0).random(whole.n_labels) < 0.6
    cut[0] = True
    parts = []
    for keep in (np.flatnonzero(cut), np.flatnonzero(~cut)):
        item, items = np.unique(whole.label_item[keep], return_inverse=True)
        worker, workers = np.unique(whole.worker[keep], return_inverse=True)
        parts.append(
            Labels.from_codes(
                items, workers, whole.label[keep], items=whole.items.take(pa.array(item)),
                workers=whole.workers.take(pa.array(worker)), classes=whole.classes,
            )
        )  # fmt: skip
    merged, touched = merge(*parts)
    assert merged.items.to_pylist()[: parts[0].n_items] == parts[0].items.to_pylist()
    assert set(merged.items.take(pa.array(touched)).to_pylist()) == set(parts[1].items.to_pylist())

    def triples(labels):
        names = rows(labels, np.arange(labels.n_labels))
        return sorted(zip(*(column.to_pylist() for column in names), strict=True))

    assert triples(merged) == triples(whole)
    assert merged.starts[-1] == whole.n_labels


def test_ids_of_numbers_take_numbers_and_texts():
    fitted = MajorityVote().fit(([1, 1, 2], [7, 8, 7], ["no", "yes", "yes"]))
    fitted.partial_fit(([2, 3], [9, 7], ["no", "no"]))
    assert fitted.labels_["item"].to_pylist() == [1, 2, 3]
    fitted.partial_fit((["x"], [9], ["no"]))
    assert fitted.labels_["item"].to_pylist() == ["1", "2", "3", "x"]


def test_labels_that_are_known_are_counted_once_and_others_by_the_policy():
    def fitted():
        return MajorityVote().fit((["a", "a", "b"], ["x", "y", "x"], ["no", "yes", "yes"]))

    same, other = (["a", "b"], ["x", "x"], ["no", "yes"]), (["a"], ["x"], ["yes"])
    assert fitted().partial_fit(same).partial_fit(same).result_.labels.n_labels == 3
    assert [fitted().partial_fit(other, repeats=how).result_.labels.n_labels for how in ("keep", "first", "last")] == [4, 3, 3]
    assert fitted().partial_fit(other, repeats="last").labels_["label"].to_pylist() == ["yes", "yes"]
    model = fitted()
    with pytest.raises(DataError, match="A worker may judge an item once, but the model has another label by worker 'x'"):
        model.partial_fit(other, repeats="error")
    with pytest.raises(ParameterError, match="repeats"):
        model.partial_fit(as_labels(other, classes=["no", "yes"]), repeats="often")
    assert model.result_.labels.n_labels == 3


def test_the_first_labels_are_a_fit():
    assert MajorityVote().partial_fit((["a", "a"], ["x", "y"], ["no", "no"])).converged_


def test_methods_that_cannot_be_updated_say_so():
    fitted = GLAD().fit(simulate(np.random.default_rng(0), n_items=20, n_workers=5)[0])
    with pytest.raises(ParameterError, match="'glad' can be neither saved nor updated"):
        fitted.partial_fit((["i1"], ["w1"], ["1"]))


@pytest.mark.parametrize("classes", [("0", "1"), ("2", "1", "0"), ("0", "1", "2", "3", "4")])
def test_labels_coded_by_other_classes_are_refused(classes):
    """Their codes would be taken for other classes, or point behind the end of the workers' tables."""
    fitted = DawidSkene().fit(LABELS)
    before = fitted.result_
    with pytest.raises(
        ParameterError, match=r"but the fit had '0', '1', '2'; encode them with classes=estimator.result_.facts.class_names"
    ):
        fitted.partial_fit(as_labels((["i1"], ["w1"], ["1"]), classes=classes))
    assert fitted.result_ is before


def test_exchanged_classes_are_not_gone_on_from():
    fitted = DawidSkene().fit(LABELS)
    assert sound(fitted.result_)
    turned = fitted.result_.confusion[:, [1, 0, 2]]
    fitted.result_.confusion[:] = turned
    assert not sound(fitted.result_)
    fitted.refresh()
    assert sound(fitted.result_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "loose"), [(MinimaxEntropy, {"starts": 1}), (DawidSkene, {"smoothing": 0.5})], ids=["minimax", "dawid-skene"]
)
def test_on_a_stream_labels_stay_those_of_a_fresh_fit(make, loose):
    """Labels come about item by item. After every tenth they are taken in, and the workers refreshed in a few sweeps."""
    labels = simulate(np.random.default_rng(0), n_items=4000, n_workers=60, n_classes=2)[0]
    generator = np.random.default_rng(1)
    order = np.argsort(labels.label_item + generator.exponential(100, labels.n_labels))
    tenths = np.array_split(order, 10)
    model = make(tol=1e-4, **loose).fit(rows(labels, tenths[0]))
    sweeps, fresh_sweeps = 0, 0
    for tenth in tenths[1:]:
        for batch in np.array_split(tenth, 4):
            model.partial_fit(rows(labels, batch))
        sweeps += model.refresh().n_iter_
        fresh = make(**loose).fit(model.result_.labels)
        fresh_sweeps += fresh.n_iter_
        agreement = float((model.result_.code == fresh.result_.code).mean())
        assert agreement >= 0.99
    assert sweeps < 0.35 * fresh_sweeps
