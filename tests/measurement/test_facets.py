"""Many-facet measurement: published values, independent optimisation, coverage, and what is said of bad designs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from crowdassay import ManyFacet
from crowdassay.errors import DataError, ParameterError
from crowdassay.measurement.design import make_design
from crowdassay.measurement.fit import FacetsLikelihood
from crowdassay.measurement.ratings import read_ratings
from support.science import BY_SCORE, CHILDREN, PARTIAL_CREDIT, RATING_SCALE, TAM_JOINT, TAM_MARGINAL

# Section 6 of the Law School Admission Test: how many of 1000 students had each pattern (Bock and Lieberman 1970).
LSAT = {
    "00000": 3, "00001": 6, "00010": 2, "00011": 11, "00100": 1, "00101": 1, "00110": 3, "00111": 4, "01000": 1, "01001": 8,
    "01011": 16, "01101": 3, "01110": 2, "01111": 15, "10000": 10, "10001": 29, "10010": 14, "10011": 81, "10100": 3,
    "10101": 28, "10110": 15, "10111": 80, "11000": 16, "11001": 56, "11010": 21, "11011": 173, "11100": 11, "11101": 61,
    "11110": 28, "11111": 298,
}  # fmt: skip

# How three scientists rated seven younger ones on five traits of creativity (Guilford, Psychometric Methods, 1954, p. 282).
GUILFORD = {
    "Avogadro": "55353 97585 33371 73133 97785 35351 77555",
    "Brahe": "65463 87572 45366 56455 24323 44642 33554",
    "Cavendish": "55573 77575 35555 53331 97777 33353 77757",
}
YOUNGER = ["Anne", "Betty", "Chris", "David", "Edward", "Fred", "George"]


def draw(rng, objects=80, raters=6, criteria=3, each=9, top=3, spread=1.0):
    """Return ratings drawn from the model, and its parameters."""
    theta = rng.normal(0.3, spread, objects)
    severity, hard = rng.normal(0, 0.7, raters), rng.normal(0, 0.5, criteria)
    severity, hard = severity - severity.mean(), hard - hard.mean()
    steps = np.concatenate([[0.0], np.cumsum(np.linspace(-1, 1, top))])
    person = np.repeat(np.arange(objects), each)
    rater, criterion = rng.integers(raters, size=len(person)), rng.integers(criteria, size=len(person))
    logit = np.arange(top + 1) * (theta[person] - severity[rater] - hard[criterion])[:, None] - steps
    score = (logit + rng.gumbel(size=logit.shape)).argmax(axis=1)
    table = pa.table({"essay": person, "rater": rater, "criterion": criterion, "score": score})
    return table, theta, severity, hard, np.diff(steps)


def measured(model, facet):
    table = model.measures_
    rows = [row for row in table.to_pylist() if row["facet"] == facet]
    return np.array([row["measure"] for row in rows]), np.array([row["standard_error"] for row in rows])


def test_published_estimates_of_the_law_school_test():
    answers = np.repeat([[int(c) for c in key] for key in LSAT], list(LSAT.values()), axis=0)
    n = len(answers)
    table = pa.table({"student": np.repeat(np.arange(n), 5), "item": np.tile(np.arange(5), n), "score": answers.ravel()})
    model = ManyFacet(facets=["student", "item"]).fit(table)
    difficulty, _ = measured(model, "item")
    # What R's package ltm prints for summary(rasch(LSAT)); D. Rizopoulos, Journal of Statistical Software 17(5), 2006.
    assert model.log_likelihood_ == pytest.approx(-2466.938, abs=0.001)
    assert model.spread_ == pytest.approx(0.7551, abs=0.001)
    published = np.array([-3.6153, -1.3224, -0.3176, -1.7301, -2.7802])
    np.testing.assert_allclose((difficulty - model.centre_) / model.spread_, published, atol=0.001)
    # Bock and Aitkin 1981, as the BUGS examples quote them: difficulties less their mean.
    np.testing.assert_allclose(difficulty, [-1.26, 0.48, 1.24, 0.17, -0.62], atol=0.01)


def science():
    scores = np.array([[int(answer) for answer in child] for child in CHILDREN])
    assert scores.sum(axis=0).tolist() == [row[0] for row in PARTIAL_CREDIT]  # as published
    n = len(scores)
    child, activity = np.repeat(np.arange(n), 25), np.tile(np.arange(1, 26), n)
    return pa.table({"child": child, "activity": activity, "score": scores.ravel()}), scores.sum(axis=1)


def by_element(model, facet):
    return {int(row["element"]): row for row in model.measures_.to_pylist() if row["facet"] == facet}


def test_partial_credit_estimates_and_fit_equal_those_of_winsteps():
    table, totals = science()
    model = ManyFacet(facets=["child", "activity"], steps="activity", estimation="joint").fit(table)
    activities, published = by_element(model, "activity"), np.array(PARTIAL_CREDIT)
    for name, column, within in (
        ("measure", 1, 0.01), ("infit", 3, 0.01), ("outfit", 4, 0.025), ("infit_z", 5, 0.02), ("outfit_z", 6, 0.06)
    ):  # fmt: skip
        found = [activities[k][name] for k in range(1, 26)]
        np.testing.assert_allclose(found, published[:, column], atol=within, err_msg=name)
    children = by_element(model, "child")
    for total, (measure, error) in BY_SCORE.items():
        row = children[int(np.flatnonzero(totals == total)[0])]
        assert row["measure"] == pytest.approx(measure, abs=0.015)
        assert row["standard_error"] == pytest.approx(error, abs=0.01)


def test_rating_scale_estimates_equal_those_of_winsteps():
    model = ManyFacet(facets=["child", "activity"], estimation="joint").fit(science()[0])
    activities = by_element(model, "activity")
    for place, (measure, error) in RATING_SCALE.items():
        assert activities[place]["measure"] == pytest.approx(measure, abs=0.01)
        # Winsteps' errors take the thresholds for known, ours do not.
        assert activities[place]["standard_error"] == pytest.approx(error, abs=0.012)


@pytest.mark.parametrize(
    ("settings", "published", "within"),
    [({}, TAM_MARGINAL, 0.002), ({"estimation": "joint", "correct": True}, TAM_JOINT, 0.005)],
)
def test_rating_scale_estimates_equal_those_of_tam(settings, published, within):
    table = science()[0]
    model = ManyFacet(facets=["child", "activity"], **settings).fit(table.filter(pc.not_equal(table["activity"], 12)))
    found = [*measured(model, "activity")[0], model.thresholds_["threshold"][-1].as_py()]
    np.testing.assert_allclose(found, published, atol=within)


def test_surplus_of_a_judge_equals_that_of_facets():
    rows = [
        (judge, YOUNGER[k], trait, int(score))
        for judge, line in GUILFORD.items()
        for k, scores in enumerate(line.split())
        for trait, score in enumerate(scores)
    ]
    table = pa.table(dict(zip(("judge", "scientist", "trait", "score"), zip(*rows, strict=True), strict=True)))
    model = ManyFacet(facets=["scientist", "judge", "trait"], estimation="joint").fit(table)
    surplus = {(row["judge"], row["scientist"]): row["surplus"] for row in model.interactions("judge", "scientist").to_pylist()}
    # Tables 9 and 14 of the manual of Facets: the largest residual of five ratings, and how far David is above expectation.
    assert 5 * min(surplus.values()) == 5 * surplus["Brahe", "Edward"] == pytest.approx(-13.002, abs=0.02)
    assert surplus["Brahe", "David"] == pytest.approx(1.54, abs=0.02)


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("steps", [None, 2])
def test_derivatives(joint, steps):
    table, *_ = draw(np.random.default_rng(0), objects=30)
    ratings = read_ratings(table, ["essay", "rater", "criterion"])
    design = make_design(ratings, np.ones(ratings.n_ratings, bool), 0, frozenset([0]), steps)
    if joint:  # only objects with a finite measure
        totals = np.bincount(ratings.code[:, 0], ratings.score)
        counts = np.bincount(ratings.code[:, 0])
        inside = (totals > 0) & (totals < 3 * counts)
        design = make_design(ratings, inside[ratings.code[:, 0]], 0, frozenset([0]), steps)
    problem = FacetsLikelihood(design, joint=joint)
    point = problem.initial_point() + 0.2 * np.random.default_rng(1).normal(size=problem.size)
    _, gradient, matrix = problem.evaluate(point)
    for k in range(0, problem.size, 3):
        shift = np.zeros(problem.size)
        shift[k] = 1e-5
        up, down = problem.evaluate(point + shift), problem.evaluate(point - shift)
        assert (up[0] - down[0]) / 2e-5 == pytest.approx(gradient[k], abs=2e-3)
        np.testing.assert_allclose(-(up[1] - down[1]) / 2e-5, matrix[k], atol=5e-2)


@pytest.mark.slow
def test_joint_estimates_equal_a_plain_maximisation():
    table, *_ = draw(np.random.default_rng(3), objects=25, each=12)
    score, codes = table["score"].to_numpy(), [table[name].to_numpy() for name in ("essay", "rater", "criterion")]
    totals, counts = np.bincount(codes[0], score), np.bincount(codes[0])
    keep = ((totals > 0) & (totals < 3 * counts))[codes[0]]
    table = table.filter(pa.array(keep))
    score, codes = score[keep], [np.unique(code[keep], return_inverse=True)[1] for code in codes]
    sizes = [code.max() + 1 for code in codes]

    def negative(x):
        theta, severity, hard, tau = np.split(x, np.cumsum(sizes))
        z = theta[codes[0]] - (severity - severity.mean())[codes[1]] - (hard - hard.mean())[codes[2]]
        logit = np.arange(4) * z[:, None] - np.concatenate([[0], np.cumsum(tau - tau.mean())])
        return -(logit[np.arange(len(z)), score] - logsumexp(logit, axis=1)).sum()

    found = minimize(negative, np.zeros(sum(sizes) + 3), method="L-BFGS-B", options={"maxfun": 10**6, "ftol": 1e-14})
    theta, severity, hard, tau = np.split(found.x, np.cumsum(sizes))
    model = ManyFacet(facets=["essay", "rater", "criterion"], estimation="joint").fit(table)
    assert model.log_likelihood_ == pytest.approx(-found.fun, abs=1e-3)
    for facet, values in (("essay", theta), ("rater", severity - severity.mean()), ("criterion", hard - hard.mean())):
        np.testing.assert_allclose(measured(model, facet)[0], values, atol=0.01)
    np.testing.assert_allclose([row["threshold"] for row in model.thresholds_.to_pylist()], tau - tau.mean(), atol=0.01)


@pytest.mark.slow
def test_marginal_estimates_equal_a_plain_maximisation():
    table, *_ = draw(np.random.default_rng(4), objects=40, raters=4, criteria=2, each=6)
    score, codes = table["score"].to_numpy(), [table[name].to_numpy() for name in ("essay", "rater", "criterion")]
    node = np.linspace(-5, 5, 61)

    def negative(x):
        severity, hard, tau = np.append(x[:3], -x[:3].sum()), np.array([x[3], -x[3]]), np.append(x[4:6], -x[4:6].sum())
        weight = -0.5 * node**2
        z = x[6] + np.exp(x[7]) * node - (severity[codes[1]] + hard[codes[2]])[:, None]
        logit = np.arange(4) * z[:, :, None] - np.concatenate([[0], np.cumsum(tau)])
        own = np.take_along_axis(logit, score[:, None, None], axis=2)[:, :, 0] - logsumexp(logit, axis=2)
        total = np.zeros((40, len(node)))
        np.add.at(total, codes[0], own)
        return -(logsumexp(total + weight, axis=1) - logsumexp(weight)).sum()

    found = minimize(negative, np.zeros(8), method="BFGS", options={"gtol": 1e-4})
    model = ManyFacet(facets=["essay", "rater", "criterion"]).fit(table)
    assert model.log_likelihood_ == pytest.approx(-found.fun, abs=1e-3)
    np.testing.assert_allclose(measured(model, "rater")[0][:3], found.x[:3], atol=0.002)
    assert model.spread_ == pytest.approx(np.exp(found.x[7]), abs=0.002)
    # Standard errors are those of the inverse Hessian, here by BFGS and so only about.
    np.testing.assert_allclose(measured(model, "rater")[1][:3], np.sqrt(np.diag(found.hess_inv))[:3], rtol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(("estimation", "correct"), [("marginal", False), ("joint", True)])
def test_standard_errors_cover(estimation, correct):
    rng, hits, squares = np.random.default_rng(5), [], []
    for _ in range(60):
        table, _, severity, hard, _ = draw(rng, objects=60, raters=8)
        model = ManyFacet(facets=["essay", "rater", "criterion"], estimation=estimation, correct=correct).fit(table)
        for facet, truth in (("rater", severity), ("criterion", hard)):
            value, error = measured(model, facet)
            hits += list(np.abs(value - truth) < 1.96 * error)
            squares += list(((value - truth) / error) ** 2)
    assert 0.92 < np.mean(hits) < 0.98  # 660 intervals: the standard deviation of the share is 0.008
    assert 0.8 < np.mean(squares) < 1.3


def test_joint_estimates_lie_too_far_apart_and_the_correction_mends_it():
    rng, slopes = np.random.default_rng(6), {}
    for name, settings in {"plain": {}, "corrected": {"correct": True}}.items():
        table, _, severity, _, _ = draw(np.random.default_rng(7), objects=800, raters=10, each=4, top=1)
        model = ManyFacet(facets=["essay", "rater", "criterion"], estimation="joint", **settings).fit(table)
        slopes[name] = np.polyfit(severity, measured(model, "rater")[0], 1)[0]
    assert slopes["plain"] > 1.2
    assert abs(slopes["corrected"] - 1) < 0.1
    assert rng is not None


def test_fit_statistics_are_about_one_and_find_the_careless():
    rng = np.random.default_rng(8)
    table, *_ = draw(rng, objects=150, raters=8)
    score, rater = table["score"].to_numpy().copy(), table["rater"].to_numpy()
    score[rater == 2] = rng.integers(4, size=(rater == 2).sum())
    model = ManyFacet(facets=["essay", "rater", "criterion"]).fit(table.set_column(3, "score", pa.array(score)))
    rows = [row for row in model.measures_.to_pylist() if row["facet"] == "rater"]
    assert np.argmax([row["outfit"] for row in rows]) == 2
    assert rows[2]["infit_z"] > 4
    others = [row["infit"] for n, row in enumerate(rows) if n != 2]
    assert 0.75 < np.mean(others) < 1.1


def test_expected_mean_square_is_one_on_average():
    table, *_ = draw(np.random.default_rng(9), objects=400, raters=10)
    model = ManyFacet(facets=["essay", "rater", "criterion"]).fit(table)
    rows = [row for row in model.measures_.to_pylist() if row["facet"] == "rater"]
    assert np.mean([row["infit"] for row in rows]) == pytest.approx(1.0, abs=0.05)
    assert np.std([row["infit_z"] for row in rows]) < 2


def test_unconnected_designs_are_said():
    table, *_ = draw(np.random.default_rng(10), objects=40, raters=6, criteria=2)
    essay, rater = table["essay"].to_numpy(), table["rater"].to_numpy()
    apart = table.filter(pa.array((essay % 2 == 0) == (rater < 3)))
    joint = ManyFacet(facets=["essay", "rater"], estimation="joint").fit(apart)
    assert not joint.connected_
    assert "2 parts of 20, 20 elements of essay" in " ".join(joint.notes_)
    subset = {row["element"]: row["subset"] for row in joint.measures_.to_pylist() if row["facet"] == "rater"}
    assert len({subset["0"], subset["1"], subset["2"]}) == 1
    assert subset["0"] != subset["5"]
    assert "population" in " ".join(ManyFacet(facets=["essay", "rater"]).fit(apart).notes_)
    assert ManyFacet(facets=["essay", "rater"]).fit(table).connected_


def test_a_rater_nested_in_a_criterion_is_not_connected():
    # Each essay has one rater, who uses one criterion: graphs of pairs are connected, ratings are not.
    rng = np.random.default_rng(11)
    essay = np.repeat(np.arange(40), 4)
    rater = essay % 4
    table = pa.table({"essay": essay, "rater": rater, "criterion": np.tile([0, 1], 80), "score": rng.integers(4, size=160)})
    assert not ManyFacet(facets=["essay", "rater", "criterion"], estimation="joint").fit(table).connected_


def test_extreme_elements_get_a_finite_measure_and_a_note():
    table, *_ = draw(np.random.default_rng(12), objects=30)
    score = table["score"].to_numpy().copy()
    score[table["essay"].to_numpy() == 4] = 3
    score[table["rater"].to_numpy() == 1] = 0
    model = ManyFacet(facets=["essay", "rater", "criterion"], estimation="joint").fit(
        table.set_column(3, "score", pa.array(score))
    )
    rows = {(row["facet"], row["element"]): row for row in model.measures_.to_pylist()}
    assert rows["rater", "1"]["extreme"]
    assert 1 < rows["rater", "1"]["measure"] < 20
    assert (
        rows["essay", "4"]["measure"]
        > max(row["measure"] for key, row in rows.items() if key[0] == "essay" and key[1] != "4") - 3
    )
    assert "lowest or only the highest" in " ".join(model.notes_)


def test_thresholds_in_disorder_are_said():
    rng = np.random.default_rng(13)
    table, *_ = draw(rng, objects=200)
    score = table["score"].to_numpy().copy()
    middle = score == 1
    score[middle & (rng.random(len(score)) < 0.85)] = 2
    model = ManyFacet(facets=["essay", "rater"]).fit(table.set_column(3, "score", pa.array(score)))
    assert any(row["disordered"] for row in model.thresholds_.to_pylist())
    assert "in disorder" in " ".join(model.notes_)


def test_partial_credit_has_thresholds_for_each_element():
    table, *_ = draw(np.random.default_rng(14), objects=300)
    model = ManyFacet(facets=["essay", "rater", "criterion"], steps="criterion").fit(table)
    rows = model.thresholds_.to_pylist()
    assert len(rows) == 9
    for name in ("0", "1", "2"):
        assert sum(row["threshold"] for row in rows if row["element"] == name) == pytest.approx(0, abs=1e-9)
    plain = ManyFacet(facets=["essay", "rater", "criterion"]).fit(table)
    assert plain.log_likelihood_ < model.log_likelihood_ < plain.log_likelihood_ + 15  # four parameters more, and none needed


def test_interactions_groups_and_drift_are_found_and_rarely_invented():
    false = {"interaction": 0, "group": 0, "drift": 0}
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        table, *_ = draw(rng, objects=100)
        table = table.append_column("who", pa.array(np.where(table["essay"].to_numpy() % 2, "x", "y")))
        table = table.append_column("when", pa.array(rng.integers(50, size=table.num_rows)))
        model = ManyFacet(facets=["essay", "rater", "criterion"]).fit(table, group_column="who", time_column="when")
        false["interaction"] += model.interactions("rater", "criterion").to_pylist()[0]["q"] < 0.05
        false["group"] += min(row["q"] for row in model.differences_.to_pylist() if row["q"] is not None) < 0.05
        false["drift"] += model.drift_.to_pylist()[0]["q"] < 0.05
    assert max(false.values()) <= 3, false
    score, rater = table["score"].to_numpy().copy(), table["rater"].to_numpy()
    harsh = (rater == 1) & (table["criterion"].to_numpy() == 2)
    score[harsh] = np.maximum(score[harsh] - 2, 0)
    unfair = (rater == 3) & (table["who"].to_numpy(zero_copy_only=False) == "x")
    score[unfair] = np.maximum(score[unfair] - 2, 0)
    tired = (rater == 4) & (table["when"].to_numpy() > 25)
    score[tired] = np.maximum(score[tired] - 2, 0)
    model = ManyFacet(facets=["essay", "rater", "criterion"])
    model.fit(table.set_column(3, "score", pa.array(score)), group_column="who", time_column="when")
    worst = model.interactions("rater", "criterion").to_pylist()[0]
    assert (worst["rater"], worst["criterion"]) == ("1", "2")
    assert worst["bias"] < -1
    worst = model.differences_.to_pylist()[0]
    assert (worst["element"], worst["rated_lower_in"]) == ("3", "x")
    worst = model.drift_.to_pylist()[0]
    assert worst["element"] == "4"
    assert worst["drift"] > 0


def test_p_values_of_group_differences_are_uniform_without_any():
    p = []
    for seed in range(25):
        rng = np.random.default_rng(200 + seed)
        table, *_ = draw(rng, objects=60, raters=10, each=4)
        table = table.append_column("who", pa.array(np.where(table["essay"].to_numpy() % 2, "x", "y")))
        model = ManyFacet(facets=["essay", "rater", "criterion"]).fit(table, group_column="who")
        p += [row["p"] for row in model.differences_.to_pylist() if row["facet"] == "rater" and row["p"] is not None]
    p = np.array(p)
    assert 0.02 < (p < 0.05).mean() < 0.09  # 250 tests: the standard deviation of the share is 0.014
    assert 0.42 < p.mean() < 0.58


def test_order_of_rows_and_direction_of_facets_do_not_matter():
    table, *_ = draw(np.random.default_rng(15), objects=40)
    one = ManyFacet(facets=["essay", "rater", "criterion"]).fit(table)
    mixed = table.take(np.random.default_rng(0).permutation(table.num_rows))
    two = ManyFacet(facets=["criterion", "rater", "essay"], positive=["essay", "rater"]).fit(mixed)
    np.testing.assert_allclose(measured(one, "essay")[0], measured(two, "essay")[0], atol=1e-5)
    np.testing.assert_allclose(measured(one, "rater")[0], -measured(two, "rater")[0], atol=1e-5)


def test_a_pandas_frame_comes_back_as_one():
    pandas = pytest.importorskip("pandas")
    table, *_ = draw(np.random.default_rng(16), objects=20)
    assert isinstance(ManyFacet(facets=["essay", "rater"]).fit(table.to_pandas()).measures_, pandas.DataFrame)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"facets": ["rater"]}, "At least two facets"),
        ({"facets": ["rater", "rater"]}, "named twice"),
        ({"facets": ["rater", "essay"], "estimation": "both"}, "estimation must be"),
        ({"facets": ["rater", "essay"], "correct": True}, "marginal ones need none"),
        ({"facets": ["rater", "essay"], "steps": "essay"}, "is what is measured"),
        ({"facets": ["rater", "essay"], "steps": "day"}, "not among the facets"),
    ],
)
def test_bad_settings_are_refused(settings, error):
    table, *_ = draw(np.random.default_rng(17), objects=10)
    with pytest.raises(ParameterError, match=error):
        ManyFacet(**settings).fit(table)


def test_options_of_reading_that_would_do_nothing_are_refused():
    table = pa.table({"rater": ["a", "b"] * 2, "task": ["x", "x", "y", "y"], "score": [1, 2, 2, -1]})
    with pytest.raises(ParameterError, match=r"`sheet` goes with workbooks .* and the ratings are in memory"):
        read_ratings(table, ["rater", "task"], sheet="Sheet1")
    with pytest.raises(ParameterError, match="missing says how to read ratings, and these are read already"):
        ManyFacet(facets=["rater", "task"]).fit(read_ratings(table, ["rater", "task"]), missing="-1")


def test_bad_ratings_are_refused():
    table = pa.table({"rater": ["a", "b"], "task": ["x", "x"], "score": ["good", "1"]})
    with pytest.raises(DataError, match=r"data row 1.*'good', which is no number"):
        ManyFacet(facets=["rater", "task"]).fit(table)
    with pytest.raises(DataError, match="Every rating is 1"):
        ManyFacet(facets=["rater", "task"]).fit(pa.table({"rater": ["a", "b"], "task": ["x", "x"], "score": [1, 1]}))
    with pytest.raises(DataError, match="miss a value"):
        ManyFacet(facets=["rater", "task"]).fit(
            pa.table({"rater": ["a", "b", None, None, None], "task": list("xyxyx"), "score": [1, 2, 1, 2, 1]})
        )


@pytest.mark.parametrize("column", ["rater", "score"])
def test_a_column_without_any_value_is_refused(column):
    table = {"rater": ["a", "b"], "task": ["x", "x"], "score": [1, 2]} | {column: pa.nulls(2)}
    with pytest.raises(DataError, match=rf"No ratings found in pyarrow frame: all 2 rows miss a value \(no {column}: 2\)"):
        ManyFacet(facets=["rater", "task"]).fit(pa.table(table))
