"""Who labels what."""

from dataclasses import replace

import numpy as np
import pytest

from crowdassay import Assay, MajorityVote, simulate
from crowdassay.errors import ParameterError
from crowdassay.planning.assign import Plan, assign
from crowdassay.planning.prices import EXPERT, Offer, make_offer
from crowdassay.planning.state import State


@pytest.fixture(scope="module")
def state():
    labels, _ = simulate(np.random.default_rng(5), n_items=150, n_workers=15, n_classes=2, labels_per_item=3)
    return State.of(Assay().fit(labels).result_)


def pairs(state):
    return set(zip(state.labels.label_item.tolist(), state.labels.worker.tolist(), strict=True))


def test_nobody_gets_an_item_twice_and_the_budget_is_kept(state):
    made = assign(state, 700, batch_size=80)
    asked = list(zip(made.item.tolist(), made.worker.tolist(), strict=True))
    assert len(set(asked)) == len(asked) == 700
    assert not set(asked) & pairs(state)
    for batch in range(1, made.batch.max() + 1):
        items = made.item[made.batch == batch]
        assert len(set(items)) == len(items)
    assert made.cost.sum() <= 700


def test_the_same_seed_gives_the_same_plan(state):
    one, two = (assign(state.with_workers(["new"]), 60, seed=4).table(state.with_workers(["new"])) for _ in range(2))
    assert one.equals(two)


def test_limits_of_items_and_workers_are_kept(state):
    offer = Offer(np.arange(15), np.ones(15), np.full(15, 4))
    made = assign(state, 100, offer=offer, max_per_item=4)
    assert np.bincount(made.worker).max() <= 4
    assert len(made.item) == 60
    assert np.bincount(made.item).max() == 1
    assert "left" in made.notes[-1]


def test_cheap_workers_are_preferred_if_they_are_as_good(state):
    same = replace(state, tables=np.repeat(state.crowd[None], 15, axis=0))
    cost = np.where(np.arange(15) < 5, 0.1, 1.0)
    made = assign(same, 5, offer=Offer(np.arange(15), cost, np.full(15, 1000)))
    assert (made.worker < 5).mean() > 0.9


def test_bad_workers_are_not_asked():
    labels, _ = simulate(np.random.default_rng(6), n_items=300, n_workers=10, skill=2.5, spammers=0.3, labels_per_item=5)
    state = State.of(Assay().fit(labels).result_)
    skill = np.einsum("icc->i", state.tables) / 2
    made = assign(state, 60)
    assert skill[made.worker].mean() > skill.mean() + 0.05


def test_an_expert_is_asked_where_labels_cannot_help(state):
    everyone = make_offer(state, expert=1.2)[1]
    made = assign(state, 60, offer=everyone)
    experts = made.worker == EXPERT
    assert experts.any()
    assert len(set(made.item[experts])) == experts.sum()
    assert not (assign(state, 60, offer=make_offer(state, expert=1e6)[1]).worker == EXPERT).any()
    guessers = replace(state, tables=np.full_like(state.tables, 0.5), crowd=np.full((2, 2), 0.5))
    assert (assign(guessers, 60, offer=make_offer(state, expert=5.0)[1]).worker == EXPERT).all()


def test_new_workers_get_a_few_settled_items_and_nothing_else(state):
    wider = state.with_workers(["eve", "w1", "fay"])
    assert len(wider.workers) == 17
    made = assign(wider, 100)
    new = np.isin(made.worker, [15, 16])
    assert new.sum() == 10
    assert made.trial[new].all()
    assert not made.trial[~new].any()
    assert wider.probability[made.item[new]].min() >= np.quantile(wider.probability, 0.9)


def test_copies_are_not_asked_about_what_the_other_has_labelled(state):
    copied = replace(state, copies=np.array([[0, 1]]))
    only = Offer(np.array([1]), np.ones(1), np.array([1000]))
    made = assign(copied, 500, offer=only)
    theirs = {item for item, worker in pairs(state) if worker in (0, 1)}
    assert len(made.item)
    assert not set(made.item) & theirs


def test_nothing_is_asked_that_is_worth_less_than_it_costs(state):
    best = float(assign(state, 150).gain.max())
    assert not len(assign(state, 10, least=best * 1.01).item)
    assert (assign(state, 10, least=best * 0.5).gain >= best * 0.5).all()


def test_a_table_of_nothing_has_its_columns(state):
    assert Plan.of().table(state).column_names == ["batch", "item", "worker", "cost", "gain", "reason"]


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf")])
def test_budgets_that_make_no_sense_are_refused(state, budget):
    with pytest.raises(ParameterError, match="budget"):
        assign(state, budget)


def test_many_items_are_planned_for():
    generator = np.random.default_rng(0)
    labels, _ = simulate(generator, n_items=5_000, n_workers=50, labels_per_item=2)
    made = assign(State.of(MajorityVote().fit(labels).result_), 200)
    assert len(made.item) == 200


def test_a_small_budget_tries_new_workers_on_fewer_items(state):
    wider = state.with_workers(["eve", "fay"])
    made = assign(wider, 20)
    assert np.bincount(made.worker[made.trial], minlength=17)[15:].tolist() == [4, 0]
    assert "have to wait: 1" in " ".join(made.notes)


def test_it_says_why_nothing_is_asked(state):
    for said, keywords in [
        ("buys nothing", {"budget": 0.5}),
        ("--max-per-item", {"budget": 5, "max_per_item": 3}),
        ("worth what it costs", {"budget": 5, "least": 10.0}),
    ]:
        made = assign(state, **keywords)
        assert not len(made.item)
        assert said in made.notes[-1]
