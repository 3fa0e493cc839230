"""`crowdassay.plan` and `size_job`, as users call them."""

import numpy as np
import pytest

import crowdassay
from crowdassay import Assay, simulate
from crowdassay.errors import CrowdassayError
from crowdassay.planning.stop import known_needed, limit_of, shipped_law
from crowdassay.results.summary import summarise


@pytest.fixture(scope="module")
def fitted():
    labels, truth = simulate(np.random.default_rng(8), n_items=80, n_workers=8, labels_per_item=3)
    gold = np.full(80, -1)
    gold[:30] = truth[:30]
    return Assay().fit(labels.with_gold(gold))


def test_names_in_and_names_out(fitted):
    names = [str(name) for name in fitted.result_.labels.workers.to_pylist()]
    made = crowdassay.plan(
        fitted, 3, workers={names[0]: 4, names[1]: 2, "new": 9}, worker_costs={names[0]: 0.2}, label_cost=0.5, expert_cost=40
    )
    rows = made.assignments().to_pylist()
    assert {row["worker"] for row in rows} <= {names[0], names[1], "new"}
    assert sum(row["worker"] == names[1] for row in rows) <= 2
    assert all(row["cost"] == (0.2 if row["worker"] == names[0] else 0.5) for row in rows)
    facts = made.summary()
    assert facts["spend"] == pytest.approx(sum(row["cost"] for row in rows))
    assert facts["spend"] <= 3
    assert facts["known_items"] == 30
    assert {row["decision"] for row in made.decisions().to_pylist()} <= {"stop", "label", "wait", "expert"}
    assert made.curve()[0]["spend"] == 0


def test_where_nothing_checks_it_the_error_is_the_one_that_aggregate_says():
    labels, _ = simulate(np.random.default_rng(8), n_items=80, n_workers=8, labels_per_item=3, skill=3)
    fitted = Assay().fit(labels)
    said = summarise(fitted.result_, "assay")["estimated_error"]
    assert crowdassay.plan(fitted, 5).summary()["estimated_error"] == pytest.approx(said["rate"], rel=1e-3)


def test_a_result_is_planned_for_as_its_estimator_is(fitted):
    assert crowdassay.plan(fitted.result_, 5).summary() == crowdassay.plan(fitted, 5).summary()
    assert crowdassay.plan(fitted.result_, 5).summary()["known_items"] == 30
    made = crowdassay.plan(fitted, 5, target_error=0.99)
    assert made.summary()["stop"]
    assert not made.assignments().num_rows


@pytest.mark.parametrize(
    ("keywords", "word"),
    [
        ({"budget": -1}, "budget"), ({"budget": 5, "target_error": 2}, "target-error"), ({"budget": 5, "rate": "x"}, "classes"),
        ({"budget": 5, "workers": []}, "Nobody"), ({"budget": 5, "label_cost": 0}, "label-cost"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(fitted, keywords, word):
    with pytest.raises(CrowdassayError, match=word):
        crowdassay.plan(fitted, **keywords)
    with pytest.raises(CrowdassayError, match="fit first"):
        crowdassay.plan(Assay(), 5)


def test_as_many_known_items_as_are_advised_bring_the_limit_down():
    law = shipped_law()
    limit = limit_of(0.04, law)
    n, high = known_needed(limit, law, target=2 * limit.error)
    assert high <= 2 * limit.error < limit.high
    assert limit_of(0.04, law, wrong=round(n * limit.error), known=n).high == high
    assert known_needed(limit, law, target=limit.error / 2) is None
    assert known_needed(limit, law, target=2 * limit.error, most=n - 1) is None
