"""A fit that went wrong is noticed, said, and left for one that stands."""

from functools import partial

import numpy as np
import pytest

from conftest import DATA
from crowdassay import Assay, DawidSkene, MajorityVote, MinimaxEntropy, as_labels
from crowdassay.checks.simulate import simulate
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.errors import ParameterError
from crowdassay.estimators.methods import METHODS
from crowdassay.findings.passes import ExpectedErrors
from crowdassay.results.checks import find_trouble, find_worse
from crowdassay.results.run import fit
from support.spools import spool_labels

FOR_TWO_CLASSES = {"belief-propagation", "kos", "singular-vector", "eigenvector-ratio", "welinder"}
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


def test_m14_a_class_that_only_dropped_repeats_had_is_not_said_to_be_chosen_by_nobody():
    rows = [("i", "u", "a"), ("i", "u", "b"), ("i", "v", "b"), ("j", "u", "c"), ("j", "v", "c")]
    labels = as_labels(tuple(map(list, zip(*rows, strict=True))), repeats="last")
    found = fit(METHODS["majority"].make(), MemoryPlace(labels))
    assert "No label that was kept says 'a': no item gets that label." in found.notes


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name not in FOR_TWO_CLASSES])
@pytest.mark.parametrize("classes", [["-1", "0", "1", "2"], ["0", "0.5", "1", "2"], ["0", "1", "2", "3"]], ids=str)
def test_a_class_that_nobody_chose_takes_no_part_in_any_method(name, classes):
    """W1: at either end of the scale, and between two classes that were chosen."""
    codes = tuple(array.tolist() for array in (LABELS.label_item, LABELS.worker, LABELS.label))
    expected, found = (METHODS[name].make().fit(codes, **more).result_ for more in ({}, {"classes": classes}))
    table = found.posterior_table()
    absent = next(one for one in classes if one not in ("0", "1", "2"))
    assert max(table[absent].to_pylist()) < (0.1 if name == "assay" else 1e-12)
    if (name, absent) != ("latent-trait", "0.5"):  # two steps from 0 to 1 are another scale
        same = np.array(found.labels_table()["label"].to_pylist(), int) == expected.code
        assert same.mean() > 0.95


def test_a_class_that_nobody_chose_does_not_move_thresholds(real):
    """W1: 24.5 % of the labels were wrong."""
    _, truth = real("temp")
    labels = as_labels(str(DATA / "temp" / "labels.csv"), classes=["0", "1", "2"])
    result = METHODS["latent-trait"].make().fit(labels).result_
    assert result.score(truth + 1)["error_rate"] < 0.06


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
        assert "majorities of two thirds or more. Exchanged() was used instead." in result.notes[0]
        code = np.array(result.labels_table()["label"].to_pylist(), int)
        np.testing.assert_array_equal(code, fit(DawidSkene(prior="estimated"), MemoryPlace(LABELS)).code)
        insisted = fit(Exchanged(prior="uniform"), place, gather_below=gather_below, fallbacks=False)
        assert "Do not use its labels" in insisted.notes[0]


class NeverRight(Exchanged):
    """A model that says of every item the next class, whatever it learns; and then the vote."""

    def solve(self, engine, progress=None, start=None):
        return Exchanged(prior="uniform").solve(engine, progress, start)

    def fallback(self):
        return NeverRight(prior="estimated") if self.prior == "uniform" else MajorityVote()

    def referee(self):
        return Assay()


@pytest.mark.parametrize("gather_below", [10**9, 0])
def test_a_fallback_that_is_no_better_than_the_vote_is_not_taken(gather_below, tmp_path):
    """W6."""
    for place in (MemoryPlace(LABELS), FilesPlace(spool_labels(LABELS, tmp_path, size=200))):
        result = fit(NeverRight(prior="uniform"), place, gather_below=gather_below)
        assert result.method == "majority"
        assert result.notes[0].endswith(
            "majorities of two thirds or more. MajorityVote() was used instead, since NeverRight() was no better."
        )
        assert result.labels_table().equals(fit(MajorityVote(), MemoryPlace(LABELS)).labels_table())


def test_a_fit_is_compared_with_the_vote_by_the_probabilities_of_another():
    """W6: a difference must be large and clear before what was asked for is left."""
    votes = fit(MajorityVote(), MemoryPlace(LABELS))
    referee = fit(Assay(), MemoryPlace(LABELS))
    same = MemoryPlace(LABELS).reduce(partial(ExpectedErrors.of, votes._predict, referee._predict))
    assert same.fit == same.vote
    assert same.deviations == 0.0
    assert find_worse(same, margin=True) is find_worse(same, margin=False) is None
    a_little = ExpectedErrors(1000, 102.0, 100.0, 1.0)
    assert find_worse(a_little, margin=True) is None
    assert find_worse(a_little, margin=False) is not None
    unclear = ExpectedErrors(10, 3.0, 2.0, 1.0)
    assert find_worse(unclear, margin=True) is None
    words = "seems to make 50% more errors than the vote, by the probabilities of the default method"
    assert find_worse(ExpectedErrors(1000, 150.0, 100.0, 50.0), margin=True) == words
    assert find_worse(ExpectedErrors(10, 1.0, 0.0, 1.0), margin=False) == words.replace("50% more", "more")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"), [("weather_sentiment", "minimax-ordinal"), ("netflix_dtype", "minimax"), ("fact_eval", "minimax")]
)
def test_real_fits_that_are_worse_than_the_vote_are_left(real, name, method):
    """W6: 37.7, 21.6 and 17.2 % of the labels were wrong; of the vote's 11.8, 2.5 and 9.8."""
    labels, truth = real(name)
    result = METHODS[method].make().fit(labels).result_
    assert "was used instead" in result.notes[0]
    assert result.score(truth)["error_rate"] <= MajorityVote().fit(labels).result_.score(truth)["error_rate"] + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bluebirds", "state_capitals", "css_stance", "trivia", "rte", "web_search"])
def test_real_fits_that_are_better_than_the_vote_are_kept(real, name):
    """W6: they contradict many majorities, and rightly so."""
    labels, truth = real(name)
    result = MinimaxEntropy().fit(labels).result_
    assert result.fallback is None
    assert result.score(truth)["error_rate"] < MajorityVote().fit(labels).result_.score(truth)["error_rate"]


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
    broken = MajorityCheck(found.items, float("nan"), found.clear, found.kept, found.strong, found.strong_kept, found.shared)
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
