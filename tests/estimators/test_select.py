import numpy as np
import pytest

from crowdassay import DawidSkene, MajorityVote, MinimaxEntropy, grid, select, simulate
from crowdassay.errors import ParameterError
from crowdassay.estimators.select import cross_validate, deal, keep, label_log_likelihood


@pytest.fixture(scope="module")
def drawn():
    return simulate(np.random.default_rng(5), n_items=150, n_workers=12, n_classes=3, labels_per_item=6, item_spread=0.2)


def test_heldout_likelihood_is_the_formula(drawn):
    labels, _ = drawn
    held = deal(labels, 4, np.random.default_rng(0)) == 0
    result = MinimaxEntropy().fit(keep(labels, ~held)).result_
    total, uniform = 0.0, 0.0
    for n in np.flatnonzero(held):
        j, i, x = labels.label_item[n], labels.worker[n], labels.label[n]
        table = np.exp(result.sigma[i] + result.tau[j])
        p = (table / table.sum(axis=1, keepdims=True))[:, x]
        total += np.log(result.posterior[j] @ p)
        uniform += np.log(p.mean())
    assert label_log_likelihood(result, labels, held).mean() == pytest.approx(total / held.sum())
    assert label_log_likelihood(result, labels, held, "uniform").mean() == pytest.approx(uniform / held.sum())
    with pytest.raises(ParameterError, match="reading"):
        label_log_likelihood(result, labels, held, "both")


def test_held_out_labels_are_never_seen(drawn):
    """Changing the held-out labels of one fold changes that fold's score and nothing that was fitted for it."""
    labels, _ = drawn
    fold = deal(labels, 3, np.random.default_rng(0))
    fits = []

    class Spy(MajorityVote):
        def refit(self, data, previous):
            fits.append(data.n_labels)
            return super().refit(data, previous)

    cross_validate([Spy()], labels, ["vote"], n_folds=3)
    assert sorted(fits) == sorted(labels.n_labels - np.bincount(fold))


@pytest.mark.slow
def test_auto_gamma_is_repeatable_and_says_what_it_saw(drawn):
    labels, _ = drawn
    first, second = (MinimaxEntropy(gamma="auto", threads=threads).fit(labels).result_ for threads in (1, 2))
    assert first.selection == second.selection
    assert [row["candidate"] for row in first.selection["rows"]][:2] == ["gamma = 0.00390625", "gamma = 0.015625"]
    assert first.selection["best"] == first.parameters["gamma"]
    assert all(len(row["folds"]) == 5 for row in first.selection["rows"])
    other = MinimaxEntropy(gamma="auto", seed=1).fit(labels).result_
    assert other.selection != first.selection


@pytest.mark.slow
def test_the_edge_of_the_grid_is_said(drawn):
    labels, _ = drawn
    assert "largest" in " ".join(MinimaxEntropy(gamma="auto", gammas=(1e-4, 1e-3)).fit(labels).result_.notes)
    assert "smallest" in " ".join(MinimaxEntropy(gamma="auto", gammas=(5.0, 20.0)).fit(labels).result_.notes)


def test_a_warm_start_changes_the_path_and_not_the_end(drawn):
    labels, _ = drawn
    before = MinimaxEntropy(gamma=0.25).fit(labels).result_
    cold = MinimaxEntropy(gamma=0.3, starts=1).fit(labels).result_
    warm = MinimaxEntropy(gamma=0.3).refit(labels, before).result_
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    assert warm.n_iter < cold.n_iter


def test_a_flat_model_is_never_a_start(drawn):
    labels, _ = drawn
    flat = MinimaxEntropy(gamma=100.0).fit(labels).result_
    assert MinimaxEntropy(gamma=0.25).refit(labels, flat).result_.posterior.max(axis=1).mean() > 0.6


def test_a_validation_set_chooses_by_error(drawn):
    labels, truth = drawn
    known = {labels.items[j].as_py(): str(truth[j]) for j in range(0, 150, 2)}
    fitted = MinimaxEntropy(gamma="auto", gammas=(0.25, 50.0)).fit(labels, validation=known)
    assert fitted.result_.selection["best"] == 0.25
    assert "75 known items" in fitted.result_.selection["criterion"]
    with pytest.raises(ParameterError, match="auto"):
        MinimaxEntropy().fit(labels, validation=known)


@pytest.mark.slow
def test_structures_and_methods_can_be_chosen(drawn):
    labels, _ = drawn
    by_structure = select(grid(MinimaxEntropy(), structure=["nominal", "agreement"]), labels)
    assert len(by_structure.result_.selection["rows"]) == 2
    by_method = select([MajorityVote(), DawidSkene(smoothing=0.5)], labels)
    assert by_method.result_.selection["best"] == "DawidSkene(smoothing=0.5)"
    by_truth = select([MajorityVote(), DawidSkene(smoothing=0.5)], labels, validation={"i1": "0", "i2": "1"})
    assert by_truth.result_.selection["rows"][0]["score"] <= 0
    with pytest.raises(ParameterError, match="nothing to choose"):
        select([], labels)


@pytest.mark.slow
def test_ordered_data_prefer_the_ordinal_structure():
    labels, _ = simulate(
        np.random.default_rng(6),
        n_items=200,
        n_workers=15,
        n_classes=5,
        structure="ordinal",
        worker_spread=0.4,
        item_spread=0.2,
    )
    best = select(grid(MinimaxEntropy(), structure=["nominal", "ordinal"]), labels)
    assert best.structure == "ordinal"
