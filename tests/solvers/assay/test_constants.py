import json
from importlib.resources import files

import numpy as np
import pytest
from scipy.special import expit, logit

from crowdassay.models.assay.constants import MOST_WRONG, default_constants, settled_from


@pytest.mark.parametrize("spread", [0.0, 0.4, 0.7, 1.5])
def test_a_label_that_is_just_settled_is_wrong_in_one_of_twenty_datasets(spread):
    """By simulation: datasets whose logits are off by a normal shift."""
    shift = spread * np.random.default_rng(0).normal(size=200_000)
    wrong = [expit(logit(1 - p) + shift).mean() for p in (settled_from(spread), settled_from(spread) - 0.003)]
    assert wrong[0] < MOST_WRONG + 3e-4
    assert wrong[1] > MOST_WRONG


def test_the_farther_datasets_are_off_the_surer_a_label_must_be():
    assert (np.diff([settled_from(spread) for spread in np.linspace(0, 3, 13)]) >= 0).all()


def test_the_shipped_constants_say_where_they_come_from():
    shipped = json.loads(files("crowdassay.models.assay").joinpath("constants.json").read_text(encoding="utf-8"))
    learned = shipped["learned"]
    assert learned["by"] == "python benchmarks/learn_default.py"
    assert learned["groups"] >= 40
    assert len(set(learned["datasets"])) >= 85
    assert set(shipped["constants"]) == set(default_constants().as_dict())
    assert 0.95 < default_constants().settled < 1
