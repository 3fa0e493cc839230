"""What labels cost, and what labels and an expert would settle for which price."""

from pathlib import Path

import numpy as np
import pytest

from crowdassay import Assay, DawidSkene
from crowdassay.checks.simulate import reviews
from crowdassay.errors import ParameterError
from crowdassay.findings.money import Ask, Way, count_money, in_order
from crowdassay.findings.money_words import advice, headline, missing_prices, spending
from crowdassay.planning.plan import plan

REVIEWS = Path(__file__).parents[2] / "examples" / "reviews"


@pytest.fixture(scope="module")
def result():
    return Assay().fit(str(REVIEWS / "labels.csv"), gold=str(REVIEWS / "gold.csv")).result_


@pytest.fixture(scope="module")
def insight(result):
    return result.insight


def fitted(item, worker, label):
    return Assay().fit((list(item), list(worker), list(label))).result_.insight


@pytest.fixture(scope="module")
def one_label_each():
    return fitted(range(90), [f"w{n % 5}" for n in range(90)], [n % 3 for n in range(90)])


@pytest.fixture(scope="module")
def all_settled():
    item, worker = (code.ravel() for code in np.indices((40, 5)))
    return Assay(settled=0.6).fit((item, worker, item % 2)).result_.insight


def test_everything_that_was_spent_is_counted():
    labels, _, _ = reviews(np.random.default_rng(5))
    insight = DawidSkene(smoothing=0.5).fit(labels).result_.insight
    money = count_money(insight, 0.05)
    assert money.spent == pytest.approx(0.05 * 2400)
    zack = insight.record.labels.workers.to_pylist().index("Zack")
    assert money.spent_on_removed == pytest.approx(0.05 * insight.n_labels[zack])
    assert money.per_settled_item == pytest.approx(money.spent / insight.totals.settled)
    assert money.open_items == insight.totals.items - insight.totals.settled


def test_workers_may_be_paid_differently(insight):
    paid = np.arange(len(insight.n_labels), dtype=float)
    money = count_money(insight, paid)
    assert money.spent == paid.sum()
    assert money.per_label == pytest.approx(paid.sum() / 2400)


def test_m13_labels_and_an_expert_stand_side_by_side_with_price_and_worth(insight):
    money = count_money(insight, 0.05, expert=1.0)
    assert [way.ask for way in money.ways] == [Ask.LABELS, Ask.ONE_EACH, Ask.EXPERT, Ask.BOTH]
    labels, one_each, expert, both = money.ways
    assert labels.cost == pytest.approx(0.05 * labels.labels)
    assert one_each.labels == money.open_items
    assert (expert.answers, expert.cost, expert.settles) == (money.open_items, money.open_items, money.open_items)
    assert both.cost <= expert.cost
    assert both.settles == money.open_items
    assert expert.error_after < labels.error_after < money.error
    assert expert.error_after < one_each.error_after < money.error


def test_m13_the_worth_is_that_of_the_list(insight):
    money = count_money(insight)
    assert money.open_items == len(insight.next_items) <= 400, "all open items are listed"
    labels, expert = money.way(Ask.LABELS), money.way(Ask.EXPERT)
    needed = [one for one in insight.next_items if one.labels is not None]
    assert labels.labels == sum(one.labels for one in needed)
    assert labels.settles == len(needed)
    fall = insight.error.factor / insight.totals.items
    assert money.error - labels.error_after == pytest.approx(fall * sum(one.by_labels for one in needed), abs=1e-9)
    assert money.error - expert.error_after == pytest.approx(fall * sum(one.expert for one in insight.next_items), abs=1e-9)


def test_m13_an_expert_is_worth_as_much_to_a_plan(result):
    money = result.money(1.0, expert_cost=1e-6)
    planned = plan(result, 1.0, label_cost=1000.0, expert_cost=1e-6).summary()
    assert planned["planned_experts"] >= money.open_items
    every = money.error - money.way(Ask.EXPERT).error_after
    assert planned["estimated_error"] - planned["expected_error_after"] >= every - 1e-9


def test_m13_the_headline_settles_everything_that_can_be(insight):
    money = count_money(insight, 0.05)
    assert money.best.ask == Ask.BOTH
    assert money.best.answers > money.best.on_items
    assert headline(money) == f"{money.best.answers} answers", "what settles most, not the 2.45 that settles 4 items"
    assert missing_prices(money) == "No price of an expert's answer was given (--expert-cost)."
    priced = count_money(insight, 0.05, expert=1.0, currency="$")
    assert headline(priced) == f"${priced.best.cost:,.2f}"
    assert not missing_prices(priced)
    assert spending(priced).startswith("Spent so far: $120.00, ")


def test_m13_lists_begin_with_what_settles_most_or_removes_most_for_the_money(insight):
    rows = in_order(insight, count_money(insight, 0.05))
    asks = [ask for _, ask, _ in rows]
    assert asks == sorted(asks, key=lambda ask: -asks.count(ask)), "what settles more items comes first"
    for ask in set(asks):
        gains = [one.by_labels / one.labels if ask == Ask.LABELS else one.expert for one, of, _ in rows if of == ask]
        assert gains == sorted(gains, reverse=True)
    assert all((cost is None) == (ask == Ask.EXPERT) for _, ask, cost in rows)
    priced = in_order(insight, count_money(insight, 0.05, expert=0.5))
    worth = [(one.by_labels if ask == Ask.LABELS else one.expert) / cost for one, ask, cost in priced]
    assert worth == pytest.approx(sorted(worth, reverse=True), abs=1e-8)
    assert all(ask == Ask.EXPERT or cost <= 0.5 for _, ask, cost in priced)


def test_m13_one_label_an_item_asks_for_a_second_worker(one_label_each):
    money = count_money(one_label_each, 0.05)
    assert headline(money) == "a second label"
    assert "Let a second worker label 50 items (2.50)" in advice(money)
    assert [(way.ask, way.cost) for way in money.ways] == [(Ask.SECOND_WORKER, pytest.approx(2.5)), (Ask.EXPERT, None)]
    table = one_label_each.next_table(money)
    assert set(table["ask"].to_pylist()) == {"second worker"}
    assert table["labels_needed"].null_count == table.num_rows


def test_m13_nothing_to_buy_where_all_is_settled(all_settled):
    money = count_money(all_settled, 0.05)
    assert (money.ways, headline(money), advice(money)) == ((), "nothing", "Every item is settled.")


def test_m13_chance_is_no_reason_to_buy_labels():
    rng = np.random.default_rng(1)
    item, worker = (code.ravel() for code in np.indices((80, 6)))
    money = count_money(fitted(item, worker, rng.integers(4, size=480)), 0.05, expert=1)
    assert headline(money) == "unknown"
    assert [way.ask for way in money.ways] == [Ask.EXPERT]


def test_m13_known_items_come_first_where_nothing_is_known():
    labels, _, _ = reviews(np.random.default_rng(5))
    money = Assay().fit(labels).result_.money(0.05, expert_cost=2.0, currency="EUR")
    assert money.way(Ask.KNOWN) == Way(Ask.KNOWN, 0, 0, 50, 100.0, 50, pytest.approx(money.error * (1 - 50 / 480)))
    assert headline(money) == "100.00 EUR"


@pytest.mark.parametrize("price", [-1, float("nan"), 1e20])
def test_prices_make_sense(insight, price):
    with pytest.raises(ParameterError, match="A label must cost"):
        count_money(insight, price)
    with pytest.raises(ParameterError, match="An expert's answer must cost"):
        count_money(insight, expert=price)


@pytest.mark.parametrize("currency", ["x" * 9, "a\n"])
def test_currencies_are_short(insight, currency):
    with pytest.raises(ParameterError, match="A currency is"):
        count_money(insight, currency=currency)


def test_payments_are_those_of_the_workers(insight):
    with pytest.raises(ParameterError, match="for each of them"):
        count_money(insight, np.ones(3))
