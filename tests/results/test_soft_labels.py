"""Soft labels in the shape that trainers take, and charts that tell sixteen classes apart (M18)."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from crowdassay import Assay, MajorityVote
from crowdassay.errors import ParameterError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"task": np.repeat(np.arange(40), 4), "worker": np.tile(list("wxyz"), 40), "label": RNG.integers(3, size=160)}
)


def test_a_matrix_is_in_the_order_of_the_tables():
    result = Assay().fit(FRAME).result_
    matrix = result.soft_labels()
    assert matrix.shape == (40, 3)
    np.testing.assert_array_equal(matrix, result.frame("posterior").drop(columns="task").to_numpy())
    matrix[:] = 0.0
    assert result.posterior.sum() == pytest.approx(40)  # a trainer may change what it was given


def test_rows_have_weights_that_add_up_to_one():
    fitted = MajorityVote().fit(FRAME)
    rows = fitted.result_.soft_labels("rows")
    assert list(rows) == ["task", "label", "weight"]
    np.testing.assert_allclose(rows.groupby("task")["weight"].sum(), 1.0)
    assert (rows["weight"] > 0).all()
    features = rows[["task"]].to_numpy() / 40
    trained = LogisticRegression().fit(features, rows["label"], sample_weight=rows["weight"])
    assert trained.predict_proba(features).shape == (len(rows), 3)
    with pytest.raises(ParameterError, match="shape must be 'matrix' or 'rows'"):
        fitted.result_.soft_labels("columns")


def test_datasets_take_the_matrix():
    datasets = pytest.importorskip("datasets")
    fitted = Assay().fit(FRAME)
    made = datasets.Dataset.from_dict({"item": fitted.labels_["task"].tolist(), "label": fitted.result_.soft_labels().tolist()})
    assert len(made) == 40
    assert len(made[0]["label"]) == 3


def test_m18_sixteen_classes_have_sixteen_colours():
    labels = RNG.permuted(np.tile(np.arange(16), (60, 1)), axis=1)[:, :5]
    item, worker = np.indices(labels.shape).reshape(2, -1)
    chart = MajorityVote().fit((item, worker, labels.ravel())).result_.chart.items(40)
    scale = (
        chart.spec["layer"][0]["encoding"]["color"]["scale"]
        if "layer" in chart.spec
        else chart.spec["encoding"]["color"]["scale"]
    )
    assert len(scale["domain"]) == 16
    assert len(set(scale["range"][:16])) == 16
