"""Parameters of the wrong kind are refused by every estimator in one sentence, before anything is computed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import crowdassay
from crowdassay import DawidSkene, MinimaxEntropy, Rasch, simulate
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.results.parameters import KINDS, check_types

LABELS = simulate(np.random.default_rng(0), n_items=20, n_workers=6)[0]
PUBLIC = [getattr(crowdassay, name) for name in crowdassay.__all__]
ESTIMATORS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, Estimator)]
WRONG = (object(), b"text", [1], {}, np.array([[1.0, 2.0], [3.0, 4.0]]), 1j)


@pytest.mark.parametrize("kind", [*ESTIMATORS, Rasch], ids=lambda kind: kind.__name__)
def test_another_kind_of_value_is_one_sentence(kind):
    for field in dataclasses.fields(kind):
        if not all(part in KINDS for part in str(field.type).split(" | ")):
            continue
        for value in (*WRONG, *([] if "str" in str(field.type) else ["1"]), *([] if "None" in str(field.type) else [None])):
            features = {"features": np.eye(20)} if kind.__name__ == "RaykarClassifier" else {}
            with pytest.raises(ParameterError, match=rf"^{field.name} must be .*, not .*\.$") as error:
                kind(**{field.name: value}).fit(LABELS, **features)
            assert "\n" not in str(error.value)


def test_true_is_no_number_and_a_seed_is_not_negative():
    for parameters in ({"max_iter": True}, {"smoothing": True}, {"threads": 1.0}):
        with pytest.raises(ParameterError, match="number"):
            DawidSkene(**parameters).fit(LABELS)
    with pytest.raises(ParameterError, match="seed must be a whole number of at least 0, not -1"):
        MinimaxEntropy(gamma="auto", seed=-1).fit(LABELS)


def test_numbers_of_numpy_are_numbers():
    check_types(DawidSkene(smoothing=np.float32(0.5), max_iter=np.int64(3), threads=np.int32(1)))
    found = DawidSkene(smoothing=np.float32(0.5), max_iter=np.int64(3)).fit(LABELS)
    np.testing.assert_allclose(
        found.result_.posterior, DawidSkene(smoothing=0.5, max_iter=3).fit(LABELS).result_.posterior, rtol=1e-12
    )


def test_annotations_that_are_no_text_are_left_alone():
    made = dataclasses.make_dataclass("Made", [("x", float, "much"), ("seed", list[int], ()), ("y", "float", 1.0)])
    check_types(made())
    with pytest.raises(ParameterError, match="y must be a number"):
        check_types(made(y="much"))
