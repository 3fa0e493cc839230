"""Rasch, rating scale and partial credit as users meet them."""

import pickle

import numpy as np
import pytest

from crowdassay import DawidSkene, MajorityVote, PartialCredit, Rasch, RatingScale, simulate
from crowdassay.errors import DataError, NotFittedError, ParameterError
from support.draws import draw_scores

STEPS = np.linspace(-1.5, 1.5, 8)[:, None] + np.array([-1.0, 0.2, 0.8])


def column(frame, name):
    return np.array(frame[name])


def within(estimate, error, truth, sigmas=4.0):
    """All within four standard errors, and typically within one and a half."""
    z = (estimate - truth) / error
    assert np.abs(z).max() < sigmas
    assert np.sqrt(np.mean(z**2)) < 1.5


def test_rasch_recovers_what_was_drawn():
    steps = np.linspace(-2, 2, 20)[:, None]
    data, theta, _ = draw_scores(0, 600, steps, spread=1.4, share=0.7)
    fit = Rasch().fit(data)
    within(column(fit.difficulties_, "difficulty"), column(fit.difficulties_, "standard_error"), steps[:, 0])
    order = column(fit.abilities_, "worker")
    within(column(fit.abilities_, "ability"), column(fit.abilities_, "standard_error"), theta[order])
    assert fit.spread_ == pytest.approx(1.4, abs=0.15)


@pytest.mark.parametrize("model", [RatingScale(), PartialCredit()], ids=["rating", "partial"])
def test_graded_models_recover_what_was_drawn(model):
    data, theta, _ = draw_scores(1, 600, STEPS, spread=1.2, share=0.7)
    fit = model.fit(data)
    thresholds, errors = (column(fit.thresholds_, name) for name in ("threshold", "standard_error"))
    if isinstance(model, RatingScale):
        within(thresholds, errors, np.array([-1.0, 0.2, 0.8]))
    else:
        within(thresholds, errors, STEPS.ravel())
    within(column(fit.difficulties_, "difficulty"), column(fit.difficulties_, "standard_error"), STEPS.mean(axis=1))
    within(column(fit.abilities_, "ability"), column(fit.abilities_, "standard_error"), theta[column(fit.abilities_, "worker")])


@pytest.mark.slow
def test_standard_errors_are_the_spread_over_repetitions():
    steps = np.array([[-1.5], [0.0], [0.5], [2.0]])
    fits = [Rasch(prior=None).fit(draw_scores(seed, 100, steps)[0]).difficulties_ for seed in range(60)]
    estimates, claimed = (np.array([column(fit, name) for fit in fits]) for name in ("difficulty", "standard_error"))
    np.testing.assert_allclose(claimed.mean(axis=0), estimates.std(axis=0), rtol=0.25)


def test_the_models_agree_where_they_coincide():
    """With two scores all three are the Rasch model."""
    data, _, _ = draw_scores(3, 200, np.linspace(-1, 1, 6)[:, None])
    rasch, rating, partial = (model(prior=None).fit(data) for model in (Rasch, RatingScale, PartialCredit))
    for other in (rating, partial):
        assert other.log_likelihood_ == pytest.approx(rasch.log_likelihood_, abs=1e-6)
        for name in ("difficulty", "standard_error"):
            np.testing.assert_allclose(column(other.difficulties_, name), column(rasch.difficulties_, name), atol=1e-4)
    np.testing.assert_allclose(column(partial.thresholds_, "threshold"), column(rasch.thresholds_, "threshold"), atol=1e-4)
    assert column(rating.thresholds_, "threshold") == pytest.approx([0.0])


def test_more_parameters_fit_no_worse():
    data, _, _ = draw_scores(4, 300, STEPS)
    assert PartialCredit(prior=None).fit(data).log_likelihood_ > RatingScale(prior=None).fit(data).log_likelihood_


def test_row_order_does_not_matter_and_repeats_are_welcome():
    data, _, _ = draw_scores(5, 60, STEPS)
    data = tuple(np.concatenate([part, part[:40]]) for part in data)
    order = np.random.default_rng(0).permutation(len(data[0]))
    one, two = RatingScale().fit(data), RatingScale().fit(tuple(part[order] for part in data))
    first, second = np.argsort(column(one.difficulties_, "item")), np.argsort(column(two.difficulties_, "item"))
    np.testing.assert_allclose(
        column(one.difficulties_, "difficulty")[first], column(two.difficulties_, "difficulty")[second], atol=1e-4
    )


def test_an_item_all_got_right_is_easy_but_not_infinitely_so():
    data = (["easy"] * 5 + ["hard"] * 5, list("abcde") * 2, [1] * 5 + [1, 0, 0, 1, 0])
    difficulties = Rasch().fit(data).difficulties_
    easy, hard = column(difficulties, "difficulty")
    assert -6 < easy < hard - 1
    assert column(difficulties, "standard_error")[0] > column(difficulties, "standard_error")[1]
    with pytest.raises(DataError, match="'easy' lack a score"):
        Rasch(prior=None).fit(data)


def test_the_prior_does_not_move_the_scale():
    """Items far easier than the average worker: the abilities stay around zero."""
    data, _, _ = draw_scores(7, 100, np.linspace(-4, -1, 40)[:, None], share=0.3)
    fit = Rasch(prior=1.0).fit(data)
    assert column(fit.abilities_, "ability").mean() == pytest.approx(0.0, abs=0.05)
    assert column(fit.difficulties_, "difficulty").mean() == pytest.approx(-2.5, abs=0.4)


def test_items_may_have_scales_of_their_own_in_partial_credit():
    data, _, _ = draw_scores(6, 300, STEPS[:4])
    short, _, _ = draw_scores(6, 300, np.zeros((1, 1)))
    fit = PartialCredit(prior=None).fit(
        (np.concatenate([data[0], short[0] + 4]), np.concatenate([data[1], short[1]]), np.concatenate([data[2], short[2]]))
    )
    assert column(fit.thresholds_, "item").tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    last = column(fit.thresholds_, "threshold")[-1]
    assert last == pytest.approx(column(fit.difficulties_, "difficulty")[-1])
    assert last == pytest.approx(0.0, abs=0.5)


def test_workers_with_nothing_to_tell_have_the_average_ability():
    labels, truth = simulate(np.random.default_rng(0), n_items=100, n_workers=10, labels_per_item=3)
    mine = np.unique(labels.label_item[labels.worker == 0])
    known = {name: str(truth[j]) for j, name in enumerate(labels.items.to_pylist()) if j not in mine}
    fit = Rasch.from_fit(MajorityVote().fit(labels), known)
    row = fit.abilities_.slice(0, 1).to_pylist()[0]
    assert row["n_responses"] == 0
    assert row["ability"] == pytest.approx(0.0, abs=1e-9)
    assert row["standard_error"] == pytest.approx(fit.spread_, rel=1e-6)
    assert fit.difficulties_.num_rows == len(known)


def test_from_fit_marks_labels_right_or_wrong():
    labels, truth = simulate(np.random.default_rng(0), n_items=80, n_workers=12, n_classes=4, labels_per_item=6)
    known = dict(zip(labels.items.to_pylist(), map(str, truth), strict=True))
    estimator = DawidSkene(smoothing=1.0).fit(labels)
    items, workers = (np.array(names.to_pylist()) for names in (labels.items, labels.workers))
    right = (labels.label == truth[labels.label_item]).astype(int)
    by_hand = Rasch().fit((items[labels.label_item], workers[labels.worker], right))
    by_fit = Rasch.from_fit(estimator, known)
    ours = dict(zip(column(by_fit.abilities_, "worker"), column(by_fit.abilities_, "ability"), strict=True))
    for worker, ability in zip(column(by_hand.abilities_, "worker"), column(by_hand.abilities_, "ability"), strict=True):
        assert ours[worker] == pytest.approx(ability, abs=1e-5)
    guessed = Rasch.from_fit(estimator.result_)
    assert np.corrcoef(column(guessed.abilities_, "ability"), column(by_fit.abilities_, "ability"))[0, 1] > 0.6


def test_from_fit_grades_ordered_labels_by_closeness():
    labels, truth = simulate(
        np.random.default_rng(0), n_items=60, n_workers=10, n_classes=4, labels_per_item=6, structure="ordinal"
    )
    known = dict(zip(labels.items.to_pylist(), map(str, truth), strict=True))
    estimator = MajorityVote().fit(labels)
    rating, partial = RatingScale.from_fit(estimator, known), PartialCredit.from_fit(estimator, known)
    responses = rating._responses
    np.testing.assert_array_equal(responses.score, 3 - np.abs(labels.label - truth[labels.label_item]))
    np.testing.assert_array_equal(responses.low, np.where((truth == 0) | (truth == 3), 0, 1))  # inside, no miss by 3
    assert partial.thresholds_.num_rows == (3 - responses.low).sum()
    closeness = np.bincount(responses.worker, weights=responses.score) / np.bincount(responses.worker)
    for fit in (rating, partial):
        assert np.corrcoef(column(fit.abilities_, "ability"), closeness)[0, 1] > 0.9


def test_frames_in_and_out():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    (item, worker, score), _, _ = draw_scores(0, 30, STEPS)
    columns = {"person": worker, "item": item, "score": score}
    one = RatingScale().fit(pandas.DataFrame(columns))
    two = RatingScale().fit(
        polars.DataFrame({"who": worker, "what": item, "how": score}),
        worker_column="who",
        item_column="what",
        score_column="how",
    )
    assert isinstance(one.abilities_, pandas.DataFrame)
    assert isinstance(two.thresholds_, polars.DataFrame)
    np.testing.assert_allclose(column(one.thresholds_, "threshold"), column(two.thresholds_, "threshold"))
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(column(again.difficulties_, "difficulty"), column(one.difficulties_, "difficulty"))


def test_refusals():
    data, _, _ = draw_scores(0, 30, STEPS)
    with pytest.raises(DataError, match="RatingScale or PartialCredit"):
        Rasch().fit(data)
    with pytest.raises(DataError, match="whole numbers from 0"):
        RatingScale().fit((data[0], data[1], data[2] - 1))
    for score, why in (
        ("inf", "at most 1000"),
        ("1e400", "at most 1000"),
        ("1000000", "at most 1000"),
        ("nan", "'nan', by which"),
    ):
        with pytest.raises(DataError, match=why):
            PartialCredit().fit((["a", "a", "b", "b"], ["u", "v", "u", "v"], ["0", score, "1", "0"]))
    with pytest.raises(ParameterError, match="not a int"):
        Rasch.from_fit(5)
    with pytest.raises(DataError, match="No response has the score 1"):
        RatingScale(prior=None).fit((data[0], data[1], 2 * (data[2] > 0)))
    labels, _ = simulate(np.random.default_rng(0), n_items=10, n_workers=4, labels_per_item=1)
    with pytest.raises(DataError, match="Every response has the highest score"):
        Rasch.from_fit(MajorityVote().fit(labels))
    with pytest.raises(ParameterError, match="spread"):
        Rasch(spread=-1.0).fit(data)
    with pytest.raises(NotFittedError, match="call fit"):
        _ = Rasch().abilities_


def test_real_labels(real):
    labels, truth = real("bluebirds")
    names = labels.class_names
    known = {item: names[code] for item, code in zip(labels.items.to_pylist(), truth, strict=True)}
    fit = Rasch.from_fit(MajorityVote().fit(labels), known)
    right = np.bincount(labels.worker, weights=labels.label == truth[labels.label_item]) / np.bincount(labels.worker)
    order = np.argsort(right, kind="stable")
    assert np.diff(column(fit.abilities_, "ability")[order]).min() >= -1e-6  # all did all items: the score says everything
    assert fit.spread_ == pytest.approx(0.81, abs=0.01)
