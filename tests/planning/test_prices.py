"""Who can be asked, at what price and for how many labels."""

from __future__ import annotations

import numpy as np
import pytest

from crowdassay import Assay, MajorityVote, plan, simulate
from crowdassay.errors import CrowdassayError
from crowdassay.planning.assign import assign
from crowdassay.planning.prices import ENDLESS, EXPERT, make_offer, read_people
from crowdassay.planning.state import State


@pytest.fixture(scope="module")
def state():
    labels, _ = simulate(np.random.default_rng(3), n_items=80, n_workers=8, labels_per_item=3, skill=0.8)
    return State.of(MajorityVote().fit(labels).result_)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", ["worker,cost,capacity\na,0.5,3\nb,,\n", "Worker;Cost;Capacity\na;0.5;3\nb;;\n"])
def test_a_file_of_people_has_names_prices_and_capacities(tmp_path, text):
    capacity, costs = read_people(write(tmp_path / "people.csv", text))
    assert (list(capacity.items()), costs) == ([("a", 3), ("b", ENDLESS)], {"a": 0.5})


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"), ("name\na\n", "No worker column found"), ("worker\n\n", "no workers found"),
        ("worker,cost\n,1\n", "worker in data row 1 of .* is empty"),
        ("worker,cost\na,1\na,2\n", "named before"), ("worker,cost\na,-1\n", "positive number"),
        ("worker,cost\na,inf\n", "'inf', which is no number"), ("worker,capacity\na,1.5\n", "whole number"),
    ],
)  # fmt: skip
def test_a_bad_file_of_people_is_one_sentence(tmp_path, text, word):
    with pytest.raises(CrowdassayError, match=word):
        read_people(write(tmp_path / "people.csv", text))


def test_a_file_of_prices_needs_prices(tmp_path):
    with pytest.raises(CrowdassayError, match="No cost column found"):
        read_people(write(tmp_path / "prices.csv", "worker\na\n"), need_cost=True)


def test_prices_of_the_price_list_come_first_and_the_rest_cost_the_same(state, tmp_path):
    names = [str(name) for name in state.workers.to_pylist()]
    capacity, costs = read_people(
        write(tmp_path / "people.csv", f"worker,cost,capacity\n{names[0]},2,5\n{names[1]},3,\nnew,,\n")
    )
    costs |= read_people(write(tmp_path / "prices.csv", f"worker,cost\n{names[0]},7\nstranger,1\n"), need_cost=True)[1]
    extended, offer, notes = make_offer(state, capacity=capacity, costs=costs, label_cost=0.1)
    assert extended.workers.to_pylist()[offer.workers[2]] == "new"
    assert offer.cost.tolist() == [7.0, 3.0, 0.1]
    assert offer.capacity.tolist() == [5, ENDLESS, ENDLESS]
    assert any("'stranger'" in note for note in notes)
    assert any("Of 3 workers, 1 has no price" in note for note in notes)


@pytest.mark.parametrize("keywords", [{"label_cost": 0.0}, {"label_cost": np.nan}, {"expert": -1.0}])
def test_prices_that_make_no_sense_are_refused(state, keywords):
    with pytest.raises(CrowdassayError, match="positive number"):
        make_offer(state, **keywords)


def test_an_expert_costs_what_was_said_and_the_money_is_kept(state):
    _, offer, _ = make_offer(state, label_cost=1.0, expert=4.0)
    made = assign(state, 30.0, offer=offer)
    assert set(made.cost[made.worker == EXPERT].tolist()) <= {4.0}
    assert set(made.cost[made.worker != EXPERT].tolist()) <= {1.0}
    assert made.cost.sum() <= 30.0 + 1e-9


@pytest.mark.slow
def test_planned_labels_lower_the_error_more_than_labels_at_random():
    """Both spend the same on the same crowd; the plan's labels go where they are worth most."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        labels, truth = simulate(rng, n_items=150, n_workers=10, labels_per_item=10, skill=0.7)
        order = rng.permutation(labels.n_labels)
        first = np.zeros(labels.n_labels, bool)
        for row in order:  # two labels for each item to begin with
            item = labels.label_item[row]
            first[row] = first[labels.starts[item] : labels.starts[item + 1]].sum() < 2
        begun = keep(labels, first)
        asked = plan(Assay().fit(begun), 150, seed=seed).assignments()
        pairs = set(zip(asked["item"].to_pylist(), asked["worker"].to_pylist(), strict=True))
        items, workers = (names.to_pylist() for names in (labels.items, labels.workers))
        planned = np.array([(items[j], workers[i]) in pairs for j, i in zip(labels.label_item, labels.worker, strict=True)])
        others = np.flatnonzero(~first)
        random = np.zeros(labels.n_labels, bool)
        random[rng.choice(others, int((planned & ~first).sum()), replace=False)] = True
        errors.append(
            [Assay().fit(keep(labels, first | more)).result_.score(truth)["error_rate"] for more in (planned, random)]
        )
    planned_error, random_error = np.mean(errors, axis=0)
    assert planned_error < random_error


def keep(labels, rows):
    """Return the labels of some rows."""
    from crowdassay import as_labels

    items, workers, classes = (names.to_pylist() for names in (labels.items, labels.workers, labels.classes))
    chosen = np.flatnonzero(rows)
    return as_labels(
        (
            [items[labels.label_item[r]] for r in chosen],
            [workers[labels.worker[r]] for r in chosen],
            [classes[labels.label[r]] for r in chosen],
        )
    )
