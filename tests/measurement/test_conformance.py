"""Every kind of many-facet measurement passes the shipped suite."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import ManyFacet
from crowdassay.checks.studies import FACET_CHECKS

SETTINGS = {
    "marginal": {},
    "joint": {"estimation": "joint"},
    "joint, corrected": {"estimation": "joint", "correct": True},
    "partial credit": {"steps": "rater"},
}


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(1)
    quality, severity = rng.normal(0, 1, 40), np.array([-0.8, -0.2, 0.3, 0.7])
    essay, rater = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    logit = np.arange(4) * (quality[essay] - severity[rater])[:, None] - np.array([0, -1, -1, 0])
    score = (logit + rng.gumbel(size=logit.shape)).argmax(axis=1)
    return pa.table({"essay": [f"e{n}" for n in essay], "rater": [f"r{n}" for n in rater], "score": score})


@pytest.mark.parametrize("check", FACET_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", SETTINGS)
def test_measurement_conforms(name, check, ratings):
    check(partial(ManyFacet, facets=["essay", "rater"], **SETTINGS[name]), ratings)


def test_a_model_that_depends_on_the_scale_is_caught(ratings):
    class Raw(ManyFacet):
        @property
        def measures_(self):
            table = super().measures_
            return table.set_column(table.column_names.index("measure"), "measure", table["mean_rating"])

    caught = []
    for check in FACET_CHECKS:
        try:
            check(partial(Raw, facets=["essay", "rater"]), ratings)
        except AssertionError:
            caught.append(check.__name__)
    assert {"check_measures", "check_severity", "check_scale", "check_mirror"} <= set(caught)
