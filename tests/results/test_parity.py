"""The same labels and the same method give the same answer and the same words in memory, from files and in Spark.

Methods that can leave memory x places x datasets. Few labels are gathered everywhere; with ``gather_below=0`` the way of
many labels is taken. Real sessions of Spark, classic and Connect, are in tests/engines/test_spark.py, the GPU in test_gpu.py.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import as_labels
from crowdassay.checks.simulate import simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.engines.spark.place import SparkPlace
from crowdassay.errors import CrowdassayError
from crowdassay.estimators.methods import METHODS
from crowdassay.results.run import fit
from support.crowds import story
from support.fake_spark import fake_labels
from support.parity import same_result
from support.spools import spool_labels

ABROAD = [name for name, method in METHODS.items() if method.make().needs_memory() is None]


def words():
    """Two classes that are words, few labels an item, many ties."""
    labels, truth = simulate(np.random.default_rng(2), n_items=150, n_workers=10, n_classes=2, labels_per_item=2)
    names = [labels.items.take(pa.array(labels.label_item)), labels.workers.take(pa.array(labels.worker))]
    labels = as_labels((*names, np.array(["no", "yes"])[labels.label]))
    return labels, truth.astype(np.int64)


def scale():
    """Five ordered classes, one of them never chosen, items of very different numbers of labels."""
    generator = np.random.default_rng(3)
    labels, truth = simulate(generator, n_items=80, n_workers=15, n_classes=4, labels_per_item=9)
    kept = generator.random(labels.n_labels) < generator.uniform(0.2, 1.0, labels.n_items)[labels.label_item]
    codes = [array[kept] for array in (labels.label_item, labels.worker, np.array([1, 2, 4, 10])[labels.label])]
    labels = as_labels(tuple(codes), classes=["1", "2", "4", "7", "10"])
    known = np.array([0, 1, 2, 4])[truth][labels.items.to_numpy()]
    return labels, np.where(np.arange(labels.n_items) % 3 == 0, known, -1)


DATA = {"story": story(), "words": words(), "scale": scale()}


def places(labels, truth, folder):
    counts = {"items": int((truth >= 0).sum()), "unknown_items": 0}
    yield MemoryPlace(labels, truth, counts)
    yield FilesPlace(spool_labels(labels, folder, size=100, truth=truth))
    yield SparkPlace(fake_labels(labels, 3, 100, truth=truth))


@pytest.mark.slow
@pytest.mark.parametrize("gather_below", [10**9, 0], ids=["gathered", "apart"])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ABROAD)
def test_every_place_says_the_same(name, data, gather_below, tmp_path):
    # To the end on one dataset; on the others a fit that is cut short is compared, which says so.
    short = data != "words" and "max_iter" in METHODS[name].make().get_params()
    method, expected = METHODS[name].make(**({"max_iter": 10} if short else {})), None
    for place in places(*DATA[data], tmp_path):
        try:
            found = fit(method, place, gather_below=gather_below)
        except CrowdassayError as error:
            found = str(error)
        if expected is None:
            expected = found
        elif isinstance(expected, str) or isinstance(found, str):
            assert found == expected
        else:
            assert found.place.in_memory == (gather_below > 0)
            same_result(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method"), [("rte", "assay"), ("bluebirds", "minimax"), ("weather_sentiment", "dawid-skene")])
def test_real_data(name, method, real, tmp_path):
    labels, truth = real(name)
    for gather_below in (10**9, 0):
        expected, *others = (
            fit(METHODS[method].make(), place, gather_below=gather_below) for place in places(labels, truth, tmp_path)
        )
        for found in others:
            same_result(found, expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kos", {}),
        ("glad", {}),
        ("minimax", {"gamma": "auto"}),
        ("minimax", {"solver": "algorithm1"}),
        ("minimax", {"prior": "learned"}),
        ("dawid-skene", {"smoothing": 1e308}),
        ("dawid-skene", {"max_iter": 0}),
        ("minimax", {"gamma": 1e308}),
        ("minimax", {"gamma": -1}),
    ],
)
def test_refusals_are_word_for_word(name, options, tmp_path):
    said = []
    for place in list(places(*DATA["words"], tmp_path))[1:]:
        with pytest.raises(CrowdassayError) as refusal:
            fit(METHODS[name].make(**options), place, gather_below=0)
        said.append(str(refusal.value))
    assert said[0] == said[1]
    assert said[0].endswith(".")


def test_an_order_that_nobody_gave_is_refused_everywhere(tmp_path):
    labels = as_labels((list("aabbcc"), list("xyxyxy"), ["low", "high", "medium", "low", "high", "low"]))
    said = set()
    for place in places(labels, np.full(3, -1), tmp_path):
        with pytest.raises(CrowdassayError, match="needs the order of the classes") as refusal:
            fit(METHODS["minimax-ordinal"].make(), place)
        said.add(str(refusal.value))
    assert len(said) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ABROAD)
def test_one_class_is_said_everywhere(name, tmp_path):
    labels = as_labels((list("aabbc"), list("xyxyx"), ["good"] * 5))
    results = [
        fit(METHODS[name].make(), place, gather_below=gather_below)
        for gather_below in (9, 0)
        for place in places(labels, np.zeros(3, int), tmp_path)
    ]
    for found in results:
        assert found.notes == ("There is only one class: every item gets it, and nothing is learned about items or workers.",)
        same_result(found, results[0])
