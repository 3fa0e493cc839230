from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdassay.labels import repeats
from crowdassay.labels.repeats import RepeatTotals, any_repeats

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=30)


@settings(deadline=None)  # the first call loads what the others find loaded
@given(ROWS, st.sampled_from(["first", "last"]))
def test_agrees_with_counting_by_hand(rows, policy):
    item, worker, label = np.array(rows).T
    pairs = defaultdict(list)
    for row, (i, w, _) in enumerate(rows):
        pairs[i, w].append(row)
    found = RepeatTotals(policy)
    keep = found.add(7, item, worker, label, 3, None)
    again = [row for group in pairs.values() for row in group[1:]]
    if not again:
        assert keep is None
        assert found == RepeatTotals(policy)
        return
    assert found.count == found.left_out == len(again)
    left_out = again if policy == "first" else [row for group in pairs.values() for row in group[:-1]]
    assert np.flatnonzero(~keep).tolist() == sorted(left_out)
    assert found.earliest == (7, *rows[min(again)][:2])
    conflicts = [group[0] for group in pairs.values() if len({rows[row][2] for row in group}) > 1]
    assert found.conflicts == len(conflicts)
    assert found.places == [(7, *rows[row][:2]) for row in sorted(conflicts)[:3]]


@given(ROWS, st.sampled_from([0, 64]))
def test_a_quick_look_agrees(rows, longest):
    item, worker, _ = np.array(sorted(rows)).T
    starts = np.append(0, np.cumsum(np.bincount(item, minlength=4)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "LONGEST_COMPARED", longest)  # by sorting, and by comparing pairs
        assert any_repeats(starts, worker) == (len({(i, w) for i, w, _ in rows}) < len(rows))
