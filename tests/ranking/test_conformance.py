"""Every kind of ranking passes the shipped suite."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import BradleyTerry
from crowdassay.checks.studies import RANKING_CHECKS

SETTINGS = {
    "default": {},
    "rao-kupper": {"ties": "rao-kupper"},
    "half": {"ties": "half", "intervals": "model"},
    "alike": {"reliability": False},
    "fixed prior": {"prior": 0.7},
    "bootstrap": {"intervals": "bootstrap", "resamples": 20},
}


@pytest.fixture(scope="module")
def comparisons():
    rng = np.random.default_rng(0)
    strength, names = np.array([1.0, 0.4, 0.0, -0.5, -0.9]), np.array(list("abcde"))
    left = rng.integers(5, size=300)
    right = (left + rng.integers(1, 5, size=300)) % 5
    won = rng.random(300) < 1 / (1 + np.exp(strength[right] - strength[left] - 0.2))
    winner = np.where(rng.random(300) < 0.15, "tie", np.where(won, "left", "right"))
    worker = [f"w{n}" for n in rng.integers(8, size=300)]
    return pa.table({"left": names[left], "right": names[right], "winner": winner, "worker": worker})


@pytest.mark.parametrize("check", RANKING_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SETTINGS)
def test_rankings_conform(name, check, comparisons):
    check(partial(BradleyTerry, **SETTINGS[name]), comparisons)


def test_a_model_that_looks_at_names_is_caught(comparisons):
    class ByName(BradleyTerry):
        @property
        def ranking_(self):
            table = super().ranking_
            return table.set_column(
                table.column_names.index("score"),
                "score",
                pa.array([-float(ord(name[-1])) for name in table["item"].to_pylist()]),
            )

    caught = []
    for check in RANKING_CHECKS:
        try:
            check(ByName, comparisons)
        except AssertionError:
            caught.append(check.__name__)
    assert {"check_ranking", "check_item_names"} <= set(caught)
