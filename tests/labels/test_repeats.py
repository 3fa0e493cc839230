from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdassay.labels import repeats
from crowdassay.labels.repeats import any_repeats, find_repeats

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=30)


@given(ROWS)
def test_agrees_with_counting_by_hand(rows):
    item, worker, label = np.array(rows).T
    pairs = defaultdict(list)
    for row, (i, w, _) in enumerate(rows):
        pairs[i, w].append(row)
    found = find_repeats(item, worker, label, 3)
    again = [row for group in pairs.values() for row in group[1:]]
    if not again:
        assert found is None
        return
    assert found.count == len(again)
    assert sorted(found.not_first.tolist()) == sorted(again)
    assert sorted(found.not_last.tolist()) == sorted(row for group in pairs.values() for row in group[:-1])
    assert found.earliest == min(again)
    conflicts = [group[0] for group in pairs.values() if len({rows[row][2] for row in group}) > 1]
    assert found.conflicts == len(conflicts)
    assert found.conflict_rows.tolist() == sorted(conflicts)[:3]


@given(ROWS, st.sampled_from([0, 64]))
def test_a_quick_look_agrees(rows, longest):
    item, worker, _ = np.array(sorted(rows)).T
    starts = np.append(0, np.cumsum(np.bincount(item, minlength=4)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeats, "LONGEST_COMPARED", longest)  # by sorting, and by comparing pairs
        assert any_repeats(starts, worker) == (len({(i, w) for i, w, _ in rows}) < len(rows))
