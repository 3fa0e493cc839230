"""What labels cost."""

import numpy as np
import pytest

from crowdassay import DawidSkene
from crowdassay.checks.stories import reviews
from crowdassay.errors import ParameterError
from crowdassay.findings.money import count_money, further_labels


@pytest.fixture(scope="module")
def insight():
    labels, _, _ = reviews(np.random.default_rng(5))
    return DawidSkene(smoothing=0.5).fit(labels).result_.insight


def test_everything_that_was_spent_is_counted(insight):
    money = count_money(insight, 0.05)
    assert money.spent == pytest.approx(0.05 * 2400)
    zack = insight.record.labels.workers.to_pylist().index("Zack")
    assert money.spent_on_removed == pytest.approx(0.05 * insight.n_labels[zack])
    assert money.per_settled_item == pytest.approx(money.spent / insight.totals.settled)
    assert money.to_settle == pytest.approx(0.05 * money.labels_to_settle)
    assert money.labels_to_settle >= insight.totals.unsettled - money.for_experts


def test_workers_may_be_paid_differently(insight):
    paid = np.arange(len(insight.n_labels), dtype=float)
    money = count_money(insight, paid)
    assert money.spent == paid.sum()
    assert money.per_label == pytest.approx(paid.sum() / 2400)


def test_labels_to_settle_are_those_of_the_list(insight):
    needed, experts = further_labels(insight)
    rows = insight.next_table()["labels_needed"].to_pylist()
    scale = insight.totals.unsettled / len(rows)  # those looked at stand for the others
    assert needed == round(scale * sum(row for row in rows if row is not None))
    assert experts == round(scale * sum(row is None for row in rows))


@pytest.mark.parametrize("price", [-1, float("nan"), 1e20])
def test_prices_make_sense(insight, price):
    with pytest.raises(ParameterError, match="A label must cost"):
        count_money(insight, price)


def test_payments_are_those_of_the_workers(insight):
    with pytest.raises(ParameterError, match="for each of them"):
        count_money(insight, np.ones(3))
