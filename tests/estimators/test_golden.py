"""Numbers that need no data folder; `python tests/estimators/test_golden.py` writes them anew, and a change is looked at."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.errors import DataError
from crowdassay.estimators.methods import METHODS

FILE = Path(__file__).with_name("golden.json")


def measure(name: str) -> dict[str, float | None]:
    """Return the objective, the errors and the mean probability of a method on two simulated crowds."""
    found: dict[str, float | None] = {}
    for n_classes in (2, 4):
        labels, truth = simulate(
            np.random.default_rng(n_classes), n_items=80, n_workers=12, n_classes=n_classes, item_spread=0.4
        )
        try:
            result = METHODS[name].make().fit(labels).result_
        except DataError:
            continue  # it takes two classes
        found[f"{n_classes} classes: objective"] = result.objective
        found[f"{n_classes} classes: errors"] = result.score(truth)["error_rate"] * labels.n_items
        found[f"{n_classes} classes: mean probability"] = float(result.probability.mean())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_golden_numbers(name):
    expected, found = json.loads(FILE.read_text())[name], measure(name)
    assert found.keys() == expected.keys()
    for what, value in expected.items():
        assert found[what] == (value if value is None else pytest.approx(value, rel=1e-4, abs=1e-6)), what


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: measure(name) for name in METHODS}, indent=1) + "\n")
