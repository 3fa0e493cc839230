"""A fit that went wrong is noticed, said, and left for one that stands."""

import numpy as np
import pytest

from crowdassay import DawidSkene, MajorityVote, MinimaxEntropy, as_labels
from crowdassay.checks.simulate import simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.errors import ParameterError
from crowdassay.estimators.methods import METHODS
from crowdassay.labels.spool import spool_labels
from crowdassay.results.checks import find_trouble
from crowdassay.results.run import fit

LABELS, _ = simulate(np.random.default_rng(0), n_items=200, n_workers=12, n_classes=3, skill=2)


@pytest.mark.parametrize("name", ["assay", "majority", "dawid-skene", "minimax", "minimax-2012", "one-coin", "mace"])
@pytest.mark.parametrize("gather_below", [10**9, 0])
def test_a_class_that_nobody_chose_takes_no_part(name, gather_below, tmp_path):
    codes = [array.tolist() for array in (LABELS.label_item, LABELS.worker, LABELS.label)]
    plain, more = as_labels(tuple(codes)), as_labels(tuple(codes), classes=["0", "1", "2", "99"])
    method = METHODS[name].make()
    places = [MemoryPlace(more)] if method.needs_memory() else [MemoryPlace(more), FilesPlace(spool_labels(more, tmp_path))]
    expected = fit(METHODS[name].make(), MemoryPlace(plain), gather_below=gather_below)
    for place in places:
        found = fit(METHODS[name].make(), place, gather_below=gather_below)
        table = found.posterior_table()
        assert max(table["99"].to_pylist()) < (0.1 if name == "assay" else 1e-12)  # whose votes are one more, split evenly
        assert "99" not in found.labels_table()["label"].to_pylist()
        assert "Nobody chose '99': no item gets that label." in found.notes
        same = np.array(found.labels_table()["label"].to_pylist(), int) == expected.code
        assert same.mean() > 0.98  # with one class more, penalties and smoothing weigh a little differently


class Exchanged(DawidSkene):
    """A model that says of every item the next class, until it learns the prior."""

    def solve(self, engine, progress=None, start=None):
        found = super().solve(engine, progress, start)
        if self.prior == "uniform":
            turned = np.roll(found.sigma, 1, axis=1)
            found = found.__class__(**{**vars(found), "sigma": turned, "predict": type(found.predict)(turned, found.log_prior)})
        return found


@pytest.mark.slow
@pytest.mark.parametrize("gather_below", [10**9, 0])
def test_a_fit_that_contradicts_the_votes_is_left(gather_below, tmp_path):
    for place in (MemoryPlace(LABELS), FilesPlace(spool_labels(LABELS, tmp_path, size=200))):
        result = fit(Exchanged(prior="uniform"), place, gather_below=gather_below)
        assert result.notes[0].startswith("The fit of Exchanged(prior='uniform') contradicts ")
        assert "majorities of two thirds or more. DawidSkene() was used instead." in result.notes[0]
        code = np.array(result.labels_table()["label"].to_pylist(), int)
        np.testing.assert_array_equal(code, fit(DawidSkene(prior="estimated"), MemoryPlace(LABELS)).code)
        insisted = fit(Exchanged(prior="uniform"), place, gather_below=gather_below, fallbacks=False)
        assert "Do not use its labels" in insisted.notes[0]


def test_where_nothing_stands_what_was_asked_for_is_kept_and_said():
    flat = MinimaxEntropy(alpha=1e9, beta=1e9).fit(LABELS).result_
    assert [note[:40] for note in flat.notes] == ["This fit tells no class apart: all proba"]
    assert flat.parameters["alpha"] == 1e9


def test_known_items_may_show_that_the_majority_is_wrong():
    wrong = as_labels((np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40), np.repeat(np.arange(40) % 2, 5)))
    gold = np.where(np.arange(40) < 30, 1 - np.arange(40) % 2, -1)
    result = DawidSkene(smoothing=0.01).fit(wrong.with_gold(gold)).result_
    assert result.notes == ()
    assert (result.code[30:] != MajorityVote().fit(wrong).result_.code[30:]).all()


def test_what_is_no_number_is_refused():
    plain = fit(MajorityVote(), MemoryPlace(LABELS))
    from crowdassay.findings.passes import MajorityCheck

    found = MajorityCheck.of(plain)
    assert find_trouble(found, MemoryPlace(LABELS).facts) is None
    broken = MajorityCheck(found.items, float("nan"), found.clear, found.kept, found.strong, found.strong_kept)
    with pytest.raises(ParameterError, match="The fit overflowed"):
        find_trouble(broken, MemoryPlace(LABELS).facts)
    for parameters in ({"smoothing": 1e308}, {"smoothing": 1e16}):
        with pytest.raises(ParameterError, match="smoothing must be at most 1e"):
            DawidSkene(**parameters).fit(LABELS)
    with pytest.raises(ParameterError, match="gamma must be at most 1e"):
        MinimaxEntropy(gamma=1e308).fit(LABELS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method", "error"), [("labelme", "minimax", 0.25), ("reuters", "dawid-skene", 0.35)])
def test_real_fits_that_collapsed(real, name, method, error):
    labels, truth = real(name)
    options = {"prior": "uniform"} if method == "dawid-skene" else {"gamma": 0.25}  # the default is smaller, and stands
    result = METHODS[method].make(**options).fit(labels).result_
    assert "was used instead" in result.notes[0]
    assert result.score(truth)["error_rate"] < error
