"""The items that an expert is asked about: a uniform sample that grows, and stays the same whatever the order of rows."""

import numpy as np
import pytest

from crowdassay import as_labels
from crowdassay.errors import ParameterError
from crowdassay.planning.expert import Drawn, draw_items, draw_keys

ITEMS = [f"item-{number}" for number in range(400)]


def test_the_order_of_items_does_not_change_who_is_drawn():
    turned = ITEMS[::-1]
    assert [ITEMS[j] for j in draw_items(ITEMS, 50)] == [turned[j] for j in draw_items(turned, 50)]


def test_more_items_keep_those_that_were_asked():
    assert draw_items(ITEMS, 75)[:50].tolist() == draw_items(ITEMS, 50).tolist()
    assert draw_items(ITEMS[:10], 50).tolist() == draw_items(ITEMS[:10]).tolist()  # there are no more


def test_new_items_come_in_as_often_as_old_ones():
    places = draw_items([*ITEMS, *(f"new-{number}" for number in range(400))], 200)
    assert 70 <= (places >= 400).sum() <= 130


def test_every_item_is_drawn_as_often_as_any_other():
    count = np.zeros(40)
    for draw in range(500):
        count[draw_items(ITEMS[:40], 10, key=str(draw).encode())] += 1
    assert abs(count - 125).max() <= 45


def test_blocks_draw_what_all_items_together_draw():
    labels = as_labels((ITEMS, ["w"] * 400, [0, 1] * 200))
    halves = [as_labels((ITEMS[part], ["w"] * 200, [0, 1] * 100)) for part in (slice(200), slice(200, None))]
    whole, both = Drawn.of(labels, 30), Drawn.of(halves[0], 30).join(Drawn.of(halves[1], 30))
    assert whole.items.to_pylist() == both.items.to_pylist() == [ITEMS[j] for j in draw_items(ITEMS, 30)]
    assert np.array_equal(whole.keys, np.sort(draw_keys(ITEMS))[:30])


def test_known_items_are_left_out():
    gold = np.full(400, -1, np.int32)
    gold[:390] = 0
    labels = as_labels((ITEMS, ["w"] * 400, [0, 1] * 200)).with_gold(gold)
    assert set(Drawn.of(labels, 50).items.to_pylist()) == set(ITEMS[390:])


def test_items_that_come_later_leave_no_answer_out():
    old = ITEMS[:100]
    answered = [old[j] for j in draw_items(old, 20)]
    labels = as_labels((ITEMS, ["w"] * 400, [0, 1] * 200))
    gold = np.where(np.isin(ITEMS, answered), 0, -1).astype(np.int32)
    found = Drawn.of(labels.with_gold(gold), 20, answered).items.to_pylist()
    assert set(answered) <= set(found)
    assert found == [ITEMS[j] for j in draw_items(ITEMS, len(found))]  # all that come before them are asked for as well


def test_no_item_is_refused():
    with pytest.raises(ParameterError, match="one item or more, not 0"):
        draw_items(ITEMS, 0)
