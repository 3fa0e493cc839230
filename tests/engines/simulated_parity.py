"""On a GPU every table and every word is that of memory, in numba's simulator; `test_gpu.py` runs this file with it.

All methods that can leave memory x three datasets, in the way of many labels. Numbers on a GPU have seven digits.
"""

import numpy as np
import pytest

from crowdassay import as_labels
from crowdassay.checks.engines import problems
from crowdassay.checks.simulate import simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.gpu.engine import GpuEngine, GpuPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.errors import CrowdassayError
from crowdassay.estimators.methods import METHODS
from crowdassay.results.run import fit
from support.parity import same_result
from support.simulator import simulated_gpu
from support.spools import spool_labels

ABROAD = [name for name, method in METHODS.items() if method.make().needs_memory() is None]


@pytest.fixture(autouse=True)
def card():
    with simulated_gpu():
        yield


def scale():
    """Three ordered classes, and a truth for some items."""
    labels, truth = simulate(np.random.default_rng(1), n_items=9, n_workers=4, n_classes=3, labels_per_item=3)
    labels = as_labels((labels.label_item, labels.worker, np.array([1, 2, 4])[labels.label]))
    return labels, np.where(np.arange(9) % 2 == 0, truth, -1)


def words():
    """Classes that are words, one of them never chosen; items of one label and of forty; some known ones."""
    labels = problems()["gold"]
    return labels, np.full(labels.n_items, -1)


def ties():
    """Two classes and two labels an item, so that many items are tied; every truth known."""
    labels, truth = simulate(np.random.default_rng(2), n_items=10, n_workers=4, n_classes=2, labels_per_item=2)
    return labels, truth.astype(np.int64)


DATA = {"scale": scale(), "words": words(), "ties": ties()}


def outcome(method, place):
    """A result, or the words of a refusal."""
    try:
        return fit(method, place, gather_below=0)
    except CrowdassayError as error:
        return str(error)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ABROAD)
def test_a_gpu_says_the_same(name, data):
    labels, truth = DATA[data]
    counts = {"items": int((truth >= 0).sum()), "unknown_items": 0}
    options = {"max_iter": 3} if "max_iter" in METHODS[name].make().get_params() else {}
    method = METHODS[name].make(**options)
    assert isinstance(GpuPlace(labels).engine(gathered=False), GpuEngine)
    found, expected = (outcome(method, place(labels, truth, counts)) for place in (GpuPlace, MemoryPlace))
    if isinstance(expected, str):
        assert found == expected
    else:
        same_result(found, expected, atol=1e-4)
        assert found.objective == (None if expected.objective is None else pytest.approx(expected.objective, rel=1e-6))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kos", {}),
        ("minimax", {"gamma": "auto"}),
        ("minimax", {"solver": "algorithm1"}),
        ("minimax", {"prior": "learned"}),
        ("dawid-skene", {"smoothing": 1e308}),
        ("minimax", {"gamma": -1}),
    ],
)
def test_refusals_are_word_for_word(name, options, tmp_path):
    labels, truth = DATA["scale"]
    places = GpuPlace(labels, truth), FilesPlace(spool_labels(labels, tmp_path, size=20, truth=truth))
    said = [outcome(METHODS[name].make(**options), place) for place in places]
    assert said[0] == said[1]
    assert said[0].endswith(".")
